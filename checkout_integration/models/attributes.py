"""Fields of the specification that have no column of their own, as typed attributes of the row."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class SnapshotAttribute(Generic[Value]):
    """The attribute of the same name of the row's ``snapshot``; None if the service did not send it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, row: None, owner: type) -> SnapshotAttribute[Value]: ...

    @overload
    def __get__(self, row: object, owner: type) -> Value | None: ...

    def __get__(self, row: Any, owner: type) -> SnapshotAttribute[Value] | Value | None:
        """Return the attribute's value, or the descriptor itself on the class."""
        if row is None:
            return self
        value: Value | None = getattr(row.snapshot, self.name)
        return value
