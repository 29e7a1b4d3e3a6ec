"""The HTML of the pages: templates, style, script. Form and operator render through this room.

- `rendering`: templates rendered with escaped values
- `templates/`: the pages
- `assets/`: style sheet, script of the pages, client-side object
"""

from __future__ import annotations

from checkout_integration.sandbox.pages.rendering import FORM_TOKEN, TO_OPERATOR, message_page, render

__all__ = [
    "FORM_TOKEN",
    "TO_OPERATOR",
    "message_page",
    "render",
]
