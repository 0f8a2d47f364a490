"""Components that are not clusters: degenerate ones, those that chance explains, equal ones, and those without rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.display.values import count
from suffice.em.order import equal_components
from suffice.message_parts import Columns
from suffice.models.boundary import on_boundary_if_near, without_rows
from suffice.models.chance import chance_gain, log_choices
from suffice.models.mixture_priors import LEAST_WEIGHT
from suffice.statistics.sums import Statistics
from suffice.types import Alert, Array

EQUAL = 1e-6  # relative difference of components that are the same
SPIKE = log(
    1e5
)  # how much denser than all rows a component on its floor can be in a column: floors are at 1e-5 of them
ALONE = 1.5  # rows: fewer are a single one
LITTLE = 1.0  # nats: a smaller discount would only reorder ends that are equally good
SHOWN = 3  # alerts of one sort, or components, that are shown one by one
COLLAPSED = {"collapsed", "singular"}


@dataclass(frozen=True)
class Diagnosis:
    """What speaks against each component of a mixture, all (k,).

    Attributes
    ----------
    degenerate
        On the floor under its spread, in a direction in which the rows together vary: the likelihood has no bound.
    few
        With fewer rows than a covariance of its own needs.
    by_chance
        So good that BIC would take it for a component, and yet no better than chance makes the best of so few rows.
    discount
        Nats of the log-likelihood that are discounted. Of a component that is degenerate or has too few rows: all that
        it gains by being narrower than all rows, m/2 log(|Σ of all|/|Σ|), or where all components are degenerate than
        the widest of them. Of one that chance explains: what chance can
        bring a component of so few rows beyond what it can bring one of half of the rows, which every end may owe it.
    """

    degenerate: Array
    few: Array
    by_chance: Array
    discount: Array

    @property
    def spurious(self) -> Array:
        """Which components are not clusters."""
        return np.asarray(self.degenerate | self.few | self.by_chance)


def diagnose(mixture: Any, stats: Any) -> Diagnosis:
    """What speaks against the components, which the end of a run is asked several times."""
    if mixture.diagnosed.get("stats") is not stats:
        mixture.diagnosed.update(stats=stats, found=_diagnose(mixture, stats))
    return mixture.diagnosed["found"]  # type: ignore[no-any-return]


def _diagnose(mixture: Any, stats: Any) -> Diagnosis:
    """What speaks against the components: see :mod:`suffice.models.chance` for what chance can do.

    A component of m rows is explained by chance where m times its divergence from the nearest other component, or from
    all rows together, is no more than the best m of n rows would reach on noise.
    """
    stack, floors, rows = mixture.components, mixture.floors, stats.rows
    some = ~without_rows(stats)
    degenerate = np.asarray(stack.degenerate(floors, stats.components)) & some
    no, nothing = np.zeros(len(rows), bool), np.zeros(len(rows))
    if len(rows) == 1 and not degenerate.any():
        return Diagnosis(degenerate, no, no, nothing)
    separation = stack.separation(stats.components, floors)
    if separation is None:
        spike = rows * (mixture.columns or 1) * SPIKE
        return Diagnosis(degenerate, no, no, np.where(degenerate, spike, 0.0) * stats.row)
    few = (rows < separation.needed_rows) & some if len(rows) > 1 else no
    narrow = np.maximum(-0.5 * separation.log_volume, 0.0) + separation.others * SPIKE
    if (
        some.any() and (degenerate | ~some).all()
    ):  # rows that are a few points: what all components share is not by chance that of one
        narrow = np.maximum(narrow - narrow[some].min(), 0.0)
    by_chance, discount = no, np.where(degenerate | few, rows * narrow, 0.0)
    if len(separation.degrees) and len(rows) > 1:
        total = float(rows.sum())
        gains = chance_gain(np.append(rows, total / 2), total, separation.degrees)
        with np.errstate(invalid="ignore"):
            excess = np.nan_to_num(gains[:-1] - gains[-1], nan=0.0, posinf=0.0)
        away = separation.divergence.copy()
        away[:, :-1][np.eye(len(rows), dtype=bool)] = np.inf
        away[:, :-1][:, degenerate] = np.inf
        net = rows * np.nan_to_num(away, nan=np.inf).min(axis=1) - log_choices(rows, total)
        explained = (net <= gains[:-1]) & some & ~degenerate & ~few
        by_chance = explained & (net > 0.5 * separation.own_parameters * np.log(total))
        discount = np.where(explained & (excess > LITTLE), excess, discount)
    return Diagnosis(degenerate, few, by_chance, discount * stats.row)


def is_spurious(mixture: Family, stats: Statistics) -> bool:
    """Whether some component is degenerate, or no more than chance explains."""
    return bool(diagnose(mixture, stats).spurious.any())


def spurious_gain(mixture: object, stats: Statistics, *, chance: bool = True) -> float:
    """How much of the log-likelihood is discounted; without ``chance`` only degenerate components and few rows."""
    found = diagnose(mixture, stats)
    return float(found.discount[slice(None) if chance else found.degenerate | found.few].sum())


def mixture_alerts(mixture: Any, stats: Any, prior: Any = None) -> tuple[Alert, ...]:
    """What to know of the components, as estimated under a ``prior``, before trusting them."""
    found: list[Alert] = []
    belief = mixture.priors(prior).get("components")
    components = on_boundary_if_near(mixture.components, stats.components, stats.row, belief).alerts_under(
        stats.components, belief
    )
    doubts, empty = diagnose(mixture, stats), without_rows(stats)
    for index in np.flatnonzero(doubts.degenerate):
        where = collapsed_columns(mixture, [int(index)])
        cure = "fewer components, a structure that shares its spread, or a prior; look at rows that are far off"
        if str(where):
            cure = "prior='weak', another family for such a column (labels, a Hurdle), or fewer components"
        sentence = (
            f"component {index} ({_rows(stats, index)}) shrank until it reached the floor under its spread",
            where,
            (
                ": it describes repeated, nearly repeated or far-off rows, not a cluster, and inflates the likelihood. "
                f"Use {cure}."
            ),
        )
        found.append(Alert("collapsed", sentence, component=int(index)))
    for index in np.flatnonzero(doubts.by_chance & ~doubts.degenerate):
        text = (
            f"component {index} rests on {_rows(stats, index)}, and chance explains it: the best so many rows of noise "
            "look as much like a cluster. Use fewer components, a structure that shares its spread, or a prior."
        )
        found.append(Alert("spurious", text, component=int(index)))
    for index in np.flatnonzero((doubts.few | _alone(mixture, stats)) & ~doubts.degenerate & ~empty):
        text = (
            f"component {index} rests on {_rows(stats, index)}, too few to tell a cluster from chance. Use "
            "fewer components or a prior."
        )
        found.append(Alert("few rows", text, component=int(index)))
    if not doubts.degenerate.any():
        found.extend(_singular(mixture, stats))
    if empty.any():
        verb, whose = ("has", "its") if empty.sum() == 1 else ("have", "their")
        text = f"{_named(empty)} {verb} no rows: {whose} parameters mean nothing. Use fewer components."
        found.append(Alert("empty", text))
    edge = np.abs(mixture.weights - LEAST_WEIGHT) <= 1e-6 * LEAST_WEIGHT
    if edge.any() and "weights" not in mixture.fixed:
        text = (
            f"the weight of {_named(edge)} was held at {LEAST_WEIGHT:g}: under a Dirichlet below 1 the density is "
            "infinite at 0, and the posterior has no maximum. Use fewer components, or a Dirichlet of at least 1."
        )
        found.append(Alert("boundary", text))
    codes = {alert.code for alert in found}
    found.extend(alert for alert in components if not (alert.code in COLLAPSED and codes & COLLAPSED))
    for group in equal_components(mixture, ~empty, EQUAL):
        which = _named(np.isin(np.arange(mixture.n), group))
        text = f"{which} are equal, so the data do not tell them apart. Use fewer components."
        found.append(Alert("unidentified", text))
    return _brief(found)


def collapsed_columns(mixture: Any, components: list[int]) -> Columns:
    """In which columns some components lie on their floor, as far as it is known."""
    found = tuple(dict.fromkeys(one for k in components for one in mixture.components.floor_columns(mixture.floors, k)))
    labels = None if mixture.column_names is None else tuple(map(repr, found))
    return Columns(found, labels, before=" in ", most=SHOWN, implied=(mixture.columns or 1) < 2)


def _alone(mixture: Any, stats: Any) -> Array:
    """Which components (k,) of vectors are a single row: allowed where they share a covariance, and no cluster."""
    vectors = mixture.components.row_vector and not mixture.components.blocks
    return np.asarray((stats.rows < ALONE) & bool(vectors and mixture.n > 1))


def _singular(mixture: Any, stats: Any) -> tuple[Alert, ...]:
    """What to know of columns that follow from others in all rows: no component can help it."""
    if not mixture.components.on_floor(mixture.floors).any():
        return ()
    return tuple(mixture.components.singular_alerts(mixture.floors, stats.components))


def _rows(stats: Any, index: Any) -> str:
    """The rows of a component, to three digits."""
    return count(float(f"{stats.rows[index]:.3g}"), "row")


def _named(which: Array) -> str:
    """Components in words: "component 3", "components 1 and 2", "components 1, 2, 3 and 7 more"."""
    names = [str(index) for index in np.flatnonzero(which)]
    if len(names) == 1:
        return f"component {names[0]}"
    more = f"{len(names) - SHOWN} more" if len(names) > SHOWN + 1 else names[-1]
    return f"components {', '.join(names[: SHOWN if more != names[-1] else -1])} and {more}"


def _brief(alerts: list[Alert]) -> tuple[Alert, ...]:
    """The first alerts of each sort, and how many more there are."""
    seen = Counter(alert.code for alert in alerts)
    kept: list[Alert] = []
    shown: Counter[str] = Counter()
    for alert in alerts:
        shown[alert.code] += 1
        if shown[alert.code] <= SHOWN or seen[alert.code] == SHOWN + 1:
            kept.append(alert)
        elif shown[alert.code] == SHOWN + 1:
            kept.append(Alert(alert.code, f"and {seen[alert.code] - SHOWN} more components likewise."))
    return tuple(kept)
