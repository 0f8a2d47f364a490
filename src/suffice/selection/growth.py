"""Larger mixtures from smaller ones: each size of `select` also begins where the one before it ended.

A mixture of k components is one of k + 1 of which two are equal, so that the likelihood need never fall with the size.
Components are split where their rows spread most, across that direction and into a core and a rim; what is better than
what the larger size found by itself takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from suffice.em.init.split_merge import LEAN, halved, widest
from suffice.em.restarts import robust_objective_of
from suffice.em.result import Fit
from suffice.engines import blas
from suffice.models.mixture import Mixture
from suffice.selection.trials import Found, Group, Trials
from suffice.tables.sketch import points
from suffice.tables.streams import Streamed
from suffice.types import Array

SPLIT = 2  # components, those with the largest spread, that are split; the first of them in two ways
FAINT = 1e-3  # how much more of a row a half gets, where the two are to stay nearly equal
NONE = 1e-9  # relative difference of two likelihoods that is rounding


def grown(line: Sequence[tuple[Group, Found]]) -> list[Found]:
    """Candidates that differ in their size alone, by rising size, each no worse than those before it."""
    with blas.one_thread():  # as in the search
        kept: list[Found] = []
        smaller: Found | None = None
        for group, found in line:
            best = found if smaller is None else _from_smaller(group, smaller, found)
            kept.append(best)
            smaller = smaller if best.fit.distribution.is_spurious(best.fit.statistics) else best  # nothing to build on
        return kept


def _from_smaller(group: Group, smaller: Found, found: Found) -> Found:
    """The better of what was found, and of what splitting components of a smaller mixture leads to."""
    small, w = group.subsample_rows
    trials = Trials(group, found.candidate)
    trials.resume(found.fit.distribution)
    before, held = trials.best, w.dense()[:, 0]
    responsibilities = np.asarray(smaller.fit.distribution.predict_proba(small))
    trials.borrow(list(_splits(responsibilities, np.asarray(points(small, held)), held, found.candidate.n)))
    if trials.best is not before:
        found = _better(group, found, trials.learned())
    objective = float(found.fit.trace.objective[-1])
    if isinstance(group.rows, Streamed):  # responsibilities of all rows are not for memory
        return found
    if _nested(found) and objective < smaller.fit.log_likelihood - NONE * abs(smaller.fit.log_likelihood):
        found = _better(group, found, trials.learned(_double(group, smaller.fit.distribution, found.candidate.n)))
    return found


def _better(group: Group, found: Found, other: Fit) -> Found:
    """What was found, or another fit in its place."""
    return found if robust_objective_of(other) <= robust_objective_of(found.fit) else found.with_fit(group, other)


def _nested(found: Found) -> bool:
    """Whether the likelihood of a smaller mixture is one of this, too."""
    mixture = found.candidate.mixture
    return found.fit.prior is None and not mixture.hard and "weights" not in mixture.fixed


# ---- splits ----------------------------------------------------------------------------------------------------------
def _splits(responsibilities: Array, places: Array, held: Array, n: int) -> Iterator[Array]:
    """Responsibilities (rows, n) in which some components are split; those with the largest spread first."""
    wide = [int(j) for j in widest(responsibilities, places, held)[:SPLIT]]
    for first, core in ((wide[0], True), *((j, False) for j in wide)):
        found = halved(responsibilities, places, held, first, LEAN, core=core)
        while found.shape[1] < n:
            found = halved(found, places, held, int(widest(found, places, held)[0]), LEAN)
        yield found


def _double(group: Group, mixture: Mixture, n: int) -> Array:
    """Responsibilities (rows, n) that are as good as the smaller mixture: its widest component twice, nearly."""
    held = group.weights.dense()[:, 0]
    places, responsibilities = np.asarray(points(group.rows, held)), np.asarray(mixture.predict_proba(group.rows))
    while responsibilities.shape[1] < n:
        responsibilities = halved(responsibilities, places, held, int(widest(responsibilities, places, held)[0]), FAINT)
    return responsibilities
