"""Commands of ``manage.py``: doors for operators."""
