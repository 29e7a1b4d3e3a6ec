"""A Django project with everything that is compared: this app, dj-stripe, one INSERT and a bare view."""
