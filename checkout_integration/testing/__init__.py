"""Tools for a shop's own tests: ``pip install checkout-integration[testing]``.

The pytest plug-in is loaded by itself and brings the fixtures ``checkout_sandbox``, ``checkout_deliver`` and
``checkout_orderings``; `cases` has mixins for Django's own runner. Import the rest where it is needed: `payloads` (documents
as the service writes them), `factories` (rows), `assertions`, `interruption`.
"""
