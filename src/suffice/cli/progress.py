"""How a fit goes: one live line on a terminal, a few plain lines in a pipe."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from suffice.cli.group import check_interrupt
from suffice.cli.terminal import console, note

if TYPE_CHECKING:
    from rich.status import Status

    from suffice.em.trace import Pass

OFTEN = 10.0  # seconds after which a pipe gets a line again
STEPS = (1, 2, 5)  # passes that a pipe gets a line for, times powers of ten


class Progress:
    """What a fit or a selection says of itself, as `callback`s of `sf.fit` and `sf.select`."""

    def __init__(
        self, rows: int, starts: int = 1, candidates: int = 0, live: Status | None = None, kind: str = "component"
    ) -> None:
        """Know the size of the work, and the live line where there is one; ``kind``: what candidates have many of."""
        self.kind = kind
        self.rows, self.starts, self.candidates, self.live = rows, starts, candidates, live
        self.start, self.found, self.before = 0, 0, float("nan")
        self.resumed = False  # a checkpoint does not tell how many starts there were
        self.begun = self.last = time.monotonic()

    def passed(self, seen: Pass) -> None:
        """One pass of a fit."""
        if self.before != self.before and self.start == 0:
            check_interrupt()
        if seen.number == 1:
            self.start, self.before = self.start + 1, float("nan")
        change = seen.log_likelihood - self.before
        self.before = seen.log_likelihood
        self.resumed = self.resumed or self.start == 0
        which = "resumed" if self.start == 0 else "next start" if self.resumed else f"start {self.start}/{self.starts}"
        pieces = [which] if self.starts > 1 or self.start == 0 else []
        pieces += [f"pass {seen.number}", f"log L {seen.log_likelihood:,.2f}"]
        pieces += [f"change {change:+.3g}"] if not math.isnan(change) else []  # as at the first pass
        pieces += [f"{_short(self.rows / seen.seconds)} rows/s"] if seen.seconds > 0 else []
        self._tell(" · ".join([*pieces, *memory()]), rarely=_round(seen.number))

    def chosen(self, row: dict[str, Any]) -> None:
        """One candidate of a selection."""
        if self.found == 0:
            check_interrupt()
        self.found += 1
        k, structure = row["n_components"], row["structure"]
        what = f"{k} {self.kind}{'s'[: k != 1]}{f' {structure}' if structure else ''}"
        pieces = [f"candidate {self.found}/{self.candidates}: {what}", f"log L {row['log_likelihood']:,.2f}"]
        pieces += [f"BIC {row['bic']:,.2f}", f"{time.monotonic() - self.begun:.1f} s", *memory()]
        self._tell(" · ".join(pieces), rarely=True)

    def _tell(self, text: str, *, rarely: bool) -> None:
        if self.live is not None:
            self.live.update(text)
        elif rarely or time.monotonic() - self.last > OFTEN:
            self.last = time.monotonic()
            note(text)


@contextmanager
def progress(
    *, rows: int, starts: int = 1, candidates: int = 0, quiet: bool = False, kind: str = "component"
) -> Iterator[Progress | None]:
    """The progress of one piece of work; None where nobody wants to hear of it."""
    check_interrupt()
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with console(error=True).status("reading the rows", spinner="dots") as live:
            yield Progress(rows, starts, candidates, live, kind)
    else:
        yield Progress(rows, starts, candidates, kind=kind)


def memory() -> list[str]:
    """The most memory that the process has held, where the system tells."""
    try:
        import resource
    except ImportError:  # Windows
        return []
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return [f"{most / (1 << 20 if sys.platform == 'darwin' else 1 << 10):,.0f} MB"]


def _round(number: int) -> bool:
    """1, 2, 5, 10, 20, 50, …."""
    digits = str(number)
    return int(digits[0]) in STEPS and set(digits[1:]) <= {"0"}


def _short(amount: float) -> str:
    for unit, sign in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if amount >= unit:
            return f"{amount / unit:.3g}{sign}"
    return f"{amount:.3g}"
