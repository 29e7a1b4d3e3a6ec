"""Accept one notification; answer user.validate."""
