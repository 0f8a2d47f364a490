"""Fewer passes: EM extrapolated in the space of statistics, where the loop checks every step.

EM maps the statistics that gave the parameters to the statistics that these parameters gather; at a solution both are
equal. Far from it, two EM steps in a row tell how far to leap along them (SQUAREM). Near it, the combination of the
last passes with the smallest difference between the two is found by least squares (Anderson). Families whose statistics
are gathered given parameters take part with the parameters themselves (`parameter_space`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from suffice.core.responsibilities import Joint
from suffice.em.linear_statistics import from_raw, pilot, raw
from suffice.em.parameter_space import needs_estimate, with_parameters
from suffice.em.training import Iterate, TrainingData
from suffice.errors import SufficeError
from suffice.statistics.sums import Statistics
from suffice.types import Array

NEAR = 1e-4  # relative gain of the objective in a pass below which the solution is near
DEPTH = 8  # passes that are combined
RIDGE = 1e-4  # of the least squares: differences that are nearly parallel must not explode
RETREAT = 2  # leaps after a combination that was refused
LONGEST, GROWTH = 4.0, 4.0  # how far a leap goes at first, and how much farther after one that went so far


class Accelerator:
    """Proposes parameters that may be ahead of the next EM step."""

    def __init__(self, stats: Statistics, distribution: object = None) -> None:
        self.about = pilot(stats if distribution is None else linear_statistics(stats, distribution))
        self.given: list[Array] = []  # statistics that parameters were estimated from
        self.gathered: list[Array] = []  # statistics gathered under them
        self.chain: list[Array] = []  # statistics in a row, each gathered under the estimate of the one before
        self.source: Array | None = None  # what the parameters at hand were estimated from
        self.objective = -np.inf
        self.longest = LONGEST
        self.leaps = 0  # to be made before combinations are tried again
        self.combining = False

    def propose(self, current: Iterate, data: TrainingData) -> Any:
        """Parameters beyond the EM step from the current ones; None where there is nothing to go by."""
        if self.about is None:
            return None
        statistics = current.statistics
        if depends_on_parameters(statistics):
            statistics = linear_statistics(statistics, data.m_step(current))
        gathered = raw(statistics, self.about)
        near = current.objective - self.objective < NEAR * current.size
        self.objective = current.objective
        if self.source is not None:
            self.given, self.gathered = [*self.given, self.source][-DEPTH:], [*self.gathered, gathered][-DEPTH:]
            self.chain = self.chain or [self.source]
        self.chain = [*self.chain, gathered][-3:]  # as many as tell a leap
        self.source = gathered
        self.combining = near and self.leaps <= 0 and len(self.given) > 1
        for vector in self._anderson_steps() if self.combining else self._squarem_steps():
            stats = from_raw(statistics, vector, self.about)
            if stats is None:
                continue
            try:
                with np.errstate(all="ignore"):  # what no rows could have gathered may have no estimate either
                    proposed = current.distribution.estimate(stats, data.prior)
            except (SufficeError, np.linalg.LinAlgError):
                continue
            self.source, self.chain = vector, []
            self.leaps -= not self.combining
            return proposed
        return None

    def _anderson_steps(self) -> Iterator[Array]:
        given, gathered = np.array(self.given), np.array(self.gathered)
        away = gathered - given
        steps = np.diff(away, axis=0)
        size = np.array([_length(step) for step in steps])
        size = np.where(size > 0, size, 1.0)
        left, values, right = np.linalg.svd((steps / size[:, None]).T, full_matrices=False)
        damped = values / (values**2 + RIDGE * values[0] ** 2 + 1e-300)
        mix = right.T @ (damped * (left.T @ away[-1])) / size
        yield gathered[-1] - mix @ np.diff(gathered, axis=0)

    def _squarem_steps(self) -> Iterator[Array]:
        """The farthest leap first, then shorter ones."""
        if len(self.chain) < 3:
            return
        first, second, third = self.chain
        step = second - first
        bend = (third - second) - step
        turn = _length(bend)
        length = _length(step) / turn if turn > 0 else np.inf
        if length >= self.longest:
            length, self.longest = self.longest, self.longest * GROWTH
        while length > 1.01:
            yield first + 2 * length * step + length**2 * bend
            length = (length + 1) / 2

    def stepped(self, *, refused: bool) -> None:
        """A plain EM step follows; after a refusal the way ahead is another than it seemed."""
        if not refused:
            return
        self.source = self.gathered[-1] if self.gathered else None
        self.chain = [] if self.source is None else [self.source]
        if self.combining:
            self.leaps = RETREAT
            self.given, self.gathered = self.given[-1:], self.gathered[-1:]
        else:
            self.longest = max(self.longest / GROWTH, 1.5)


def linear_statistics(stats: Statistics, distribution: object) -> Any:
    """Statistics that can be combined: of a mixture with the parameters in place of what depends on them."""
    return with_parameters(stats, distribution) if depends_on_parameters(stats) else stats


def depends_on_parameters(stats: Statistics) -> bool:
    """Whether these are statistics of a mixture of families that gather theirs given parameters."""
    return isinstance(stats, Joint) and needs_estimate(stats)


def _length(vector: Array) -> float:
    """The norm of a vector in any unit of weight: its square may be more than float64 holds, or less."""
    unit = np.ldexp(1.0, int(np.frexp(np.abs(vector).max())[1]) - 1)  # a power of two costs no digit
    return float(unit * np.linalg.norm(vector / unit))
