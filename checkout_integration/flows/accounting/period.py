"""The days of the books: those of the project's time zone, whoever looks at them, as instants for the database.

A database need not know time zones: the day of an instant is that of the instant plus the zone's offset from UTC, and the few
changes of the offset in a period are found here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Any, Final, Self

from django.db.models import Case, DateField, Expression, F, Func, When
from django.utils.timezone import get_default_timezone

MOST_DAYS: Final = 366
DAY: Final = timedelta(days=1)
SECOND: Final = timedelta(seconds=1)
YEARS: Final = range(1971, 9999)


@dataclass(frozen=True, kw_only=True)
class Period:
    """Days of the books, both ends included. Raises ``ValueError`` for none, for more than 366, or far-off years.

    Attributes:
        first: the first day.
        last: the last day.

    """

    first: date
    last: date

    @classmethod
    def last_days(cls, count: int) -> Self:
        """Return so many days, of which today is the last one."""
        today = datetime.now(get_default_timezone()).date()
        return cls(first=today - (count - 1) * DAY, last=today)

    def __post_init__(self) -> None:
        if not 0 < self.days <= MOST_DAYS:
            raise ValueError(f"A period has between 1 and {MOST_DAYS} days.")
        if not {self.first.year, self.last.year} <= set(YEARS):
            raise ValueError("There are no books of these years.")

    def __iter__(self) -> Iterator[date]:
        return (self.first + number * DAY for number in range(self.days))

    @property
    def days(self) -> int:
        """The number of days."""
        return (self.last - self.first).days + 1

    @property
    def begin(self) -> datetime:
        """The instant at which the first day begins."""
        return _midnight(self.first)

    @property
    def end(self) -> datetime:
        """The instant at which the last day is over; the first one of the next day."""
        return _midnight(self.last + DAY)

    def day_of(self, instant: str) -> Expression:
        """Return the day of a column or annotation with instants, as an expression for the database."""
        *earlier, (_end, offset) = self._offsets()
        cases = [When(**{f"{instant}__lt": until}, then=DayOf(instant, before)) for until, before in earlier]
        return Case(*cases, default=DayOf(instant, offset)) if cases else DayOf(instant, offset)

    def _offsets(self) -> Iterator[tuple[datetime, timedelta]]:
        """Yield each offset of the zone from UTC, with the instant until which it stands."""
        instants = [self.begin + number * DAY for number in range(self.days)]
        for low, high in pairwise([*instants, self.end]):
            if _offset(low) != _offset(high):
                yield _change(low, high), _offset(low)
        yield self.end, _offset(self.end - SECOND)


class DayOf(Func):
    """The day of an instant at an offset from UTC. Instants are in UTC on every database (`InstantField`)."""

    def __init__(self, instant: str, offset: timedelta) -> None:
        """Remember the offset in seconds."""
        super().__init__(F(instant), output_field=DateField())
        self.seconds = int(offset.total_seconds())

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **context: Any) -> Any:
        """Return the SQL of the database."""
        template = DAYS[connection.vendor].format(seconds=self.seconds)
        return super().as_sql(compiler, connection, template=template, **context)


DAYS: Final = {
    "postgresql": "CAST(%(expressions)s AT TIME ZONE 'UTC' + INTERVAL '{seconds} seconds' AS date)",
    "mysql": "DATE(%(expressions)s + INTERVAL {seconds} SECOND)",
    "sqlite": "DATE(%(expressions)s, '{seconds:+d} seconds')",
}
"""The day of an instant on each database; MariaDB's is MySQL's."""


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=get_default_timezone()).astimezone(UTC)


def _offset(instant: datetime) -> timedelta:
    return instant.astimezone(get_default_timezone()).utcoffset() or timedelta()


def _change(low: datetime, high: datetime) -> datetime:
    """Return the second at which the offset of ``high`` begins; that of ``low`` is another one."""
    while high - low > SECOND:
        middle = low + (high - low) // (2 * SECOND) * SECOND
        low, high = (middle, high) if _offset(middle) == _offset(low) else (low, middle)
    return high
