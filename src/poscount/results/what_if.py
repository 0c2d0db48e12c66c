"""What if: an answer under each assumption that the data cannot settle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

from poscount.results import notebook
from poscount.results.distribution import Distribution, Interval

Code = Literal["typical", "recognisable", "both"]
# In the order in which they are told.
ASSUMPTIONS: dict[Code, str] = {
    "typical": "the labelled positives are typical, and other rows may look like them",
    "recognisable": "nothing else looks like them, but their kinds may have other shares here",
    "both": "the labelled positives are typical, and nothing else looks like them",
}
QUESTION = (
    "Somebody who knows the field can say which it is: could they nearly always tell a positive "
    "from these columns, and were the labelled positives drawn at random from such as are in the "
    "sample?"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer under one of `ASSUMPTIONS`.

    Attributes
    ----------
    code : {"typical", "recognisable", "both"}
    value : float
        The prevalence.
    distribution : Distribution
        How likely each prevalence is.
    level : float
        Of the interval.
    """

    code: Code
    value: float
    distribution: Distribution
    level: float

    @property
    def interval(self) -> Interval:
        """Range for the prevalence."""
        return self.distribution.interval(self.level)

    def __str__(self) -> str:
        low, high = map(notebook.percent, self.interval)
        return f"If {ASSUMPTIONS[self.code]}: {notebook.percent(self.value)} % ({low} to {high} %)."

    def to_dict(self) -> dict[str, Any]:
        """Its numbers and its assumption, in types that JSON knows."""
        return {
            "code": self.code,
            "assumes": ASSUMPTIONS[self.code],
            "prevalence": self.value,
            "interval": asdict(self.interval),
        }


class WhatIf:
    """An answer under each assumption that the data cannot settle, as a sequence of `Reading`.

    From one sample, look-alikes among the negatives and kinds of positives that have become more
    frequent cannot be told apart. Somebody who knows the field often can.

    Parameters
    ----------
    read : callable
        Makes the readings, when they are first asked for: of thousands of answers, hardly any is.

    Examples
    --------
    >>> import numpy as np
    >>> answer = Reading("both", 0.25, Distribution(np.linspace(0.2, 0.3, 49)), 0.95)
    >>> print(WhatIf(lambda: [answer]))  # doctest: +NORMALIZE_WHITESPACE
    If the labelled positives are typical, and nothing else looks like them: 25.0 % (21.0 to
    29.0 %).
    Somebody who knows the field can say which it is: could they nearly always tell a positive from
    these columns, and were the labelled positives drawn at random from such as are in the sample?
    """

    def __init__(self, read: Callable[[], Sequence[Reading]]) -> None:
        self._read = read

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """The readings, in the order of `ASSUMPTIONS`."""
        return tuple(
            sorted(self._read(), key=lambda reading: list(ASSUMPTIONS).index(reading.code))
        )

    def __len__(self) -> int:
        return len(self.readings)

    def __iter__(self) -> Iterator[Reading]:
        return iter(self.readings)

    def __eq__(self, other: object) -> bool:
        return self.readings == other.readings if isinstance(other, WhatIf) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, code: Code) -> Reading:
        return next(reading for reading in self.readings if reading.code == code)

    def having(self, *more: Reading) -> WhatIf:
        """The same with other readings besides, or instead of those with the same codes."""
        codes = {reading.code for reading in more}
        kept = [reading for reading in self if reading.code not in codes]
        return WhatIf(lambda: [*kept, *more])

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_readings, (self.readings,)

    def __str__(self) -> str:
        return "\n".join([*map(str, self), QUESTION])

    def __repr__(self) -> str:
        return f"WhatIf({', '.join(f'{each.code}: {each.value:.3f}' for each in self)})"

    def to_dict(self) -> dict[str, Any]:
        """The readings and the question, in types that JSON knows."""
        return {"readings": [reading.to_dict() for reading in self], "question": QUESTION}

    def _repr_html_(self) -> str:
        rows = [
            (
                f"If {ASSUMPTIONS[reading.code]}",
                notebook.Share(reading.value, *reading.interval),
                f"{notebook.percent(reading.value)} %",
            )
            for reading in self
        ]
        return notebook.piece(
            notebook.table(["assumption", "", "share"], rows, ["share"], len(rows)),
            notebook.paragraph(QUESTION, small=True),
        )


def _of_readings(readings: tuple[Reading, ...]) -> WhatIf:
    return WhatIf(lambda: readings)
