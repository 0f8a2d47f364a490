"""Fewer passes: Anderson's extrapolation of EM in the space of statistics, where every step is checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.errors import SufficeError
from suffice.core.linear import from_raw, pilot, raw
from suffice.core.parameters import Array

DEPTH = 8  # passes that are combined
RIDGE = 1e-12  # of the least squares, relative: differences that are nearly parallel must not explode


class Anderson:
    """Proposes parameters from the statistics of the last passes.

    EM maps the statistics that gave the parameters to the statistics that these parameters gather; at a solution both
    are equal. From several such pairs the combination with the smallest difference is found by least squares.
    """

    def __init__(self, stats: Any) -> None:
        self.about = pilot(stats)
        self.given: list[Array] = []  # statistics that parameters were estimated from
        self.gathered: list[Array] = []  # statistics gathered under them
        self.source: Array | None = None  # what the parameters at hand were estimated from
        self.patience = 0

    def propose(self, here: Any, prior: Any) -> Any:
        """Parameters that may be ahead of the next EM step; None where there is nothing to go by."""
        if self.about is None:
            return None
        gathered = raw(here.statistics, self.about)
        if self.source is not None:
            self.given.append(self.source)
            self.gathered.append(gathered)
            del self.given[: -DEPTH - 1], self.gathered[: -DEPTH - 1]
        self.source = gathered
        if len(self.given) < 2:
            return None
        combined = self._combined()
        stats = from_raw(here.statistics, combined, self.about)
        if stats is None:
            return None
        try:
            proposed = here.distribution.estimate(stats, prior)
        except (SufficeError, np.linalg.LinAlgError, FloatingPointError):
            return None
        self.source = combined
        return proposed

    def _combined(self) -> Array:
        given, gathered = np.array(self.given), np.array(self.gathered)
        away = gathered - given
        steps = np.diff(away, axis=0)
        size = np.linalg.norm(steps, axis=1)
        size = np.where(size > 0, size, 1.0)
        gram = (steps / size[:, None]) @ (steps / size[:, None]).T
        gram[np.diag_indices(len(gram))] += RIDGE * len(gram)
        mix = np.linalg.solve(gram, (steps / size[:, None]) @ away[-1]) / size
        combined: Array = gathered[-1] - mix @ np.diff(gathered, axis=0)
        return combined

    def stepped(self, *, refused: bool) -> None:
        """A plain EM step follows: after a refusal what was learned is of little use."""
        if self.gathered:
            self.source = self.gathered[-1]
        if refused:
            self.given, self.gathered = self.given[-1:], self.gathered[-1:]
