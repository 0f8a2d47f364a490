"""What estimators print where a caller asks them to tell how it goes."""

from __future__ import annotations

import sys

from suffice.em.loop import EMResult
from suffice.em.result import Fit
from suffice.em.trace import Pass


def say(text: str) -> None:
    """Print a line that the caller asked for."""
    sys.stdout.write(f"{text}\n")


class VerboseCallback:
    """Prints the passes of a run."""

    def __init__(self, verbose: int, interval: int, total: float, number: int) -> None:
        self.verbose, self.interval, self.total, self.last = verbose, interval, total, float("nan")
        say(f"Initialization {number}")

    def __call__(self, one: Pass) -> None:
        """Print a pass, where it is its turn."""
        value = one.objective / self.total
        if one.number % self.interval == 0:
            more = f"\t lower bound {value:.5f}\t change {value - self.last:.5f}" if self.verbose >= 2 else ""
            say(f"  Iteration {one.number}{more}")
        self.last = value

    def end(self, path: EMResult | Fit) -> None:
        """Print how it ended."""
        state = "converged" if path.converged else "did not converge"
        say(f"Initialization {state}. lower bound {path.trace.objective[-1] / self.total:.5f}")
