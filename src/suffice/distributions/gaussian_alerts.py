"""What to know of Gaussian components before trusting them: covariances without full rank, and columns without news."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.distributions.compact_covariance import RELATIVE_FLOOR
from suffice.distributions.covariance_algebra import deficiency, flattest
from suffice.distributions.floors import rounding_floor
from suffice.message_parts import Columns
from suffice.statistics.moments import Scatter
from suffice.types import Alert

NEARLY_SINGULAR = 1e-4  # least eigenvalue of a correlation matrix from which on it is asked whether it falls for ever
FALLING = 1e-3  # relative fall of it in one step, which is more than a maximum has


def singular(family: Any, stats: Any) -> tuple[Alert, ...]:
    """Covariances of less than full rank, and columns of which too little is known."""
    stack, found = family.stacked, list[Alert]()
    found.extend(never_together(family, stats))
    least = family.form.equalize(rounding_floor(np.asarray(stack.mean)))
    for index in np.flatnonzero(stats.weight > 0)[: 1 if family.shared else None]:
        rank, columns = deficiency(stack.matrices[index], least[index])
        if columns:
            component = None if family.lone or family.shared else int(index)
            who = "" if component is None else f"component {component}: "
            rest = (
                f"{' are constant or follow from others' if columns[1:] else ' is constant'}. It was raised to the "
                "smallest that can be inverted. Drop a column, choose a simpler structure, or give a prior."
            )
            text = (f"{who}the covariance has rank {rank} of {stack.columns}: ", Columns(tuple(columns)), rest)
            found.append(Alert("singular", text, component=component))
    if not stats.exact and len(found) == 0:
        found.extend(unbounded(family, stats))
    return tuple(found)


def raised(family: Any) -> bool:
    """Whether some covariance was raised to the smallest that can be inverted."""
    if family.scatter_kind == "diagonal" or "cov" not in family.free:
        return False
    return bool((flattest(np.asarray(family.stacked.cov)) <= 2 * RELATIVE_FLOOR * int(family.columns or 0)).any())


def unbounded(family: Any, stats: Any) -> tuple[Alert, ...]:
    """Columns that rows with holes bring ever nearer to a correlation of ±1: the likelihood has no maximum."""
    if family.scatter_kind == "diagonal" or not family.lone:
        return ()
    now = flattest(np.asarray(family.stacked.cov))[0]
    if (
        not RELATIVE_FLOOR < now < NEARLY_SINGULAR
        or flattest(family.estimate(stats).stacked.cov)[0] > (1 - FALLING) * now
    ):
        return ()
    _, columns = deficiency(family.stacked.cov[0], np.zeros(int(family.columns or 0)), NEARLY_SINGULAR)
    rest = (
        " come ever nearer to following from each other: too few rows have them together, and it has no maximum. "
        "Drop a column, choose a simpler structure, or give a prior."
    )
    return (Alert("singular", ("the likelihood still rises while ", Columns(tuple(columns)), rest)),)


def never_together(family: Any, stats: Any) -> tuple[Alert, ...]:
    """Columns that no row has together, where the structure has a covariance of them."""
    if stats.exact or family.scatter_kind == "diagonal":
        return ()
    both = stats.pairs.sum(axis=0)
    seen = np.diagonal(both) > 0
    pairs = np.argwhere(np.triu((both == 0) & seen & seen[:, None], 1)).tolist()
    if not pairs:
        return ()
    more = f", and so are {len(pairs) - 1} other pairs" if pairs[1:] else ""
    rest = (
        f" are never seen in one row{more}: nothing but the other columns tells how they vary together, and where "
        "those do not, their covariance is that of the start."
    )
    return (Alert("unidentified", (Columns(tuple(pairs[0]), between=" and "), rest)),)


def constant_columns(family: Family, stats: Scatter) -> tuple[Alert, ...]:
    """Columns that tell the components nothing, where the structure takes no harm from them."""
    if family.lone:
        return ()
    whole = stats.pooled()
    flat = whole.variances <= np.square(2 * rounding_floor(whole.mean)) * whole.weight
    if not whole.weight[0] > 0 or not flat.any():
        return ()
    where = tuple(np.flatnonzero(flat[0]).tolist())
    says = "is constant: it tells" if len(where) == 1 else "are constant: they tell"
    drop = "it" if len(where) == 1 else "them"
    return (Alert("constant", (Columns(where), f" {says} no component from another. Drop {drop}.")),)
