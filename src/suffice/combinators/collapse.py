"""Members that are no clusters: points, planes, duplicates, or nobody's."""

from __future__ import annotations

from collections import Counter
from math import log
from typing import Any

import numpy as np

from suffice.combinators.mixture_beliefs import LEAST_WEIGHT
from suffice.combinators.order import twins
from suffice.core.distribution import Alert
from suffice.core.parameters import Array
from suffice.core.readings import count

EMPTY = 1e-8  # share of the rows below which a member has none
NARROW = 1e-4  # of the variance of all rows in some direction: a hundredth of their spread, and rows there are a chance
ENOUGH = 5  # times the rows that a member needs: so many are no chance, however narrow it is
EQUAL = 1e-6  # relative difference of members that are the same
SPIKE = log(1e5)  # how much denser than all rows a member can be in each column: floors are at 1e-5 of their spread
SHOWN = 3  # alerts of one sort, or members, that are told one by one
COLLAPSED = {"collapsed", "singular"}


def accidents(mixture: Any, stats: Any) -> Array:
    """Which members (k,) are an accident of a few rows.

    On the floor; or with too few rows to have a spread; or narrow in some direction and resting on few rows, which
    happen to lie near a plane: such members are maxima of the likelihood, and no clusters. A narrow cluster of many
    rows is one.
    """
    few = stats.rows < _needed(mixture)
    lonely = (few | narrow(mixture, stats)) & ~without_rows(stats)
    return np.asarray(mixture.components.held(mixture.floors) | lonely)


def without_rows(stats: Any) -> Array:
    """Which members (k,) have next to no rows."""
    return np.asarray(stats.count <= EMPTY * stats.count.sum())


def owed(mixture: Any, stats: Any) -> float:
    """How much of the log-likelihood accidents can have brought: what their rows gain by lying on the floor.

    One that is worth more holds rows which are far from all others, and without it they would spoil another member.
    """
    return float(stats.count[accidents(mixture, stats)].sum() * (mixture.columns or 1) * SPIKE)


def narrow(mixture: Any, stats: Any) -> Array:
    """Which members (k,) are nearly singular and rest on few rows."""
    few = stats.rows < ENOUGH * max(_needed(mixture), 2.0)
    if not few.any():
        return np.zeros(len(few), bool)
    return np.asarray(few & (mixture.components.narrowness(stats.members) < NARROW))


def _needed(mixture: Any) -> float:
    """Rows that a member needs: one more than it has columns, where it learns how they vary together."""
    columns = mixture.columns
    return float(columns + 1) if columns and mixture.components.row_vector and not mixture.components.blocks else 1.0


def mixture_alerts(mixture: Any, stats: Any) -> tuple[Alert, ...]:
    """What to know of the members before trusting them."""
    found: list[Alert] = []
    members = mixture.components.snapped(stats.members, stats.row).alerts(stats.members)
    held, empty = mixture.components.held(mixture.floors), without_rows(stats)
    for index in np.flatnonzero(held & ~empty):
        text = (
            f"member {index} ({_rows(stats, index)}) shrank until it reached the floor under its spread: it "
            "describes repeated, nearly repeated or far-off rows, not a cluster, and the likelihood owes to it. Use "
            "fewer components, a structure that shares its spread, or a prior; look at rows that are far off."
        )
        found.append(("collapsed", text))
    lonely = accidents(mixture, stats) & ~held & ~empty
    few = stats.rows < _needed(mixture)
    for index in np.flatnonzero(lonely & ~few):
        text = (
            f"member {index} rests on {_rows(stats, index)} and is nearly singular: in some direction its "
            f"variance is less than {NARROW:g} of that of all rows. It may be an accident. Use fewer components, a "
            "structure that shares its spread, or a prior."
        )
        found.append(("near-singular", text))
    for index in np.flatnonzero(lonely & few):
        text = (
            f"member {index} rests on {_rows(stats, index)}, too few to tell a cluster from an accident. Use "
            "fewer components or a prior."
        )
        found.append(("few rows", text))
    if empty.any():
        verb, whose = ("has", "its") if empty.sum() == 1 else ("have", "their")
        text = f"{_named(empty)} {verb} no rows: {whose} parameters mean nothing. Use fewer components."
        found.append(("empty", text))
    edge = np.abs(mixture.weights - LEAST_WEIGHT) <= 1e-6 * LEAST_WEIGHT
    if edge.any() and "weights" not in mixture.fixed:
        text = (
            f"the weight of {_named(edge)} was held at {LEAST_WEIGHT:g}: under a Dirichlet below 1 the density is "
            "infinite at 0, and the posterior has no maximum. Use fewer components, or a Dirichlet of at least 1."
        )
        found.append(("boundary", text))
    told = {code for code, _ in found}
    found.extend(alert for alert in members if not (alert[0] in COLLAPSED and told & COLLAPSED))
    for group in twins(mixture, ~empty, EQUAL):
        which = _named(np.isin(np.arange(mixture.n), group))
        found.append(("unidentified", f"{which} are equal, so the data do not tell them apart. Use fewer components."))
    return _brief(found)


def _rows(stats: Any, index: Any) -> str:
    """The rows of a member, to three digits."""
    return count(float(f"{stats.rows[index]:.3g}"), "row")


def _named(which: Array) -> str:
    """Members in words: "member 3", "members 1 and 2", "members 1, 2, 3 and 7 more"."""
    names = [str(index) for index in np.flatnonzero(which)]
    if len(names) == 1:
        return f"member {names[0]}"
    more = f"{len(names) - SHOWN} more" if len(names) > SHOWN + 1 else names[-1]
    return f"members {', '.join(names[: SHOWN if more != names[-1] else -1])} and {more}"


def _brief(alerts: list[Alert]) -> tuple[Alert, ...]:
    """The first alerts of each sort, and how many more there are."""
    seen = Counter(code for code, _ in alerts)
    kept: list[Alert] = []
    told: Counter[str] = Counter()
    for code, text in alerts:
        told[code] += 1
        if told[code] <= SHOWN or seen[code] == SHOWN + 1:
            kept.append((code, text))
        elif told[code] == SHOWN + 1:
            kept.append((code, f"and {seen[code] - SHOWN} more members likewise."))
    return tuple(kept)
