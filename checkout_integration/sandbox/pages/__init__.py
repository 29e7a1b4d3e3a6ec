"""The HTML of the pages: templates, style, script. The form renders through this room.

- `rendering`: templates rendered with escaped values
- `templates/`: the pages
- `assets/`: style sheet, script of the form, the operator's page with its script, client-side object
"""
