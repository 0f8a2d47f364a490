"""Two fits of one prototype as one: their statistics are added, and the parameters estimated again."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.value import settings
from suffice.em.fit import resolved
from suffice.em.order import align
from suffice.em.problem import log_prior_at
from suffice.em.result import Fit
from suffice.em.trace import Trace
from suffice.errors import ArgumentError, DataError, ParameterError, UnsupportedError
from suffice.statistics.sums import Additive, Statistics, picked
from suffice.tables.labels import in_order
from suffice.types import Alert, Prior

if TYPE_CHECKING:
    from suffice.core.family import Family

SAME = 1e-6  # relative: how far an estimate from the statistics alone may lie from the fit


def merge(first: object, *others: Any) -> Any:
    """What was learned from several parts of the rows, as if it had been learned from all of them.

    Where statistics are exact it is the fit of the union, without the rows. Mixtures and others that decide who made a
    row by their parameters are aligned, added, and take one M-step; an alert says so, and how to go on.

    Parameters
    ----------
    first, *others : model
        Fits of the same prototype under the same prior, or estimators with the same options. None of them is changed.

    Returns
    -------
    Fit or estimator
        A new one of the kind that was given. A merged Fit has no rows.

    References
    ----------
    Chan, T. F., Golub, G. H. and LeVeque, R. J. (1983). Algorithms for computing the sample variance. The American
    Statistician 37, 242-247.

    Examples
    --------
    >>> a, b = (sf.fit(sf.Normal(), x) for x in ([1.0, 2.0], [3.0, 4.0, 5.0]))
    >>> sf.merge(a, b).distribution == sf.fit(sf.Normal(), [1.0, 2.0, 3.0, 4.0, 5.0]).distribution
    True
    """
    if not others:
        msg = "merge takes two fits or more, as in sf.merge(a, b)."
        raise ArgumentError(msg)
    return reduce(_merged, others, first)


def _merged(a: object, b: object) -> Any:
    if isinstance(a, Fit) and isinstance(b, Fit):
        return _fits(a, b)
    if type(a) is type(b) and hasattr(a, "get_params"):
        if not hasattr(a, "merge"):
            msg = f"{type(a).__name__} keeps no statistics of its rows, so two of them cannot be merged; fit all rows."
            raise UnsupportedError(msg)
        return copy.copy(a).merge(b)
    what = " and ".join(type(one).__name__ for one in (a, b))
    msg = f"merge takes fits (sf.fit) of one prototype, or estimators of one kind; got {what}."
    raise ParameterError(msg)


def _fits(a: Fit, b: Fit) -> Fit:
    _check_alike(a.distribution, b.distribution, "")
    names = [getattr(one, "names", None) for one in (a, b)]
    if names[0] != names[1]:
        msg = f"merge adds fits of the same columns; here are {names[0]}, there {names[1]}. Give both the same names."
        raise DataError(msg)
    named = a.prior_name == b.prior_name and bool(a.prior_name)
    if not named and not _same_prior(a.prior, b.prior):
        msg = f"merge adds fits under the same prior; here is {a.prior!r:.80}, there {b.prior!r:.80}."
        raise ParameterError(msg)
    if callable(a.prior) and not hasattr(a.prior, "specs"):
        msg = "a prior that is a function is believed of rows, which fits do not keep; fit all rows again."
        raise UnsupportedError(msg)
    stats = added(a.distribution, b.distribution, a.statistics, b.statistics)
    if stats.exact:
        return _exact(a, b, stats, a.prior_name if named else a.prior)
    if named:
        msg = f"prior={a.prior_name!r} was chosen from the rows of each fit, and differs; give both the prior itself."
        raise UnsupportedError(msg)
    learned = a.distribution.estimate(stats, a.prior)
    return _concluded(a, b, learned, stats, a.prior, Alert("merged", _advice(learned)))


def _exact(a: Fit, b: Fit, stats: Statistics, prior: Prior) -> Fit:
    """The fit of the union."""
    for one in (a, b):
        again = one.distribution.estimate(one.statistics, one.prior)
        if not again.distance(one.distribution) <= SAME:
            msg = (
                "a fit does not follow from its statistics and its prior alone, as where it was made with ddof=1 or "
                f"its parameters were changed: {one.distribution!r:.80}. Fit all rows again."
            )
            raise UnsupportedError(msg)
    learned = _relevelled(a.distribution.estimate(stats, prior), a.distribution, b.distribution)
    return _concluded(a, b, learned, stats, resolved(a.distribution, prior, stats), None)


def _relevelled(learned: Any, mine: Any, theirs: Any) -> Any:
    """The estimate with its levels in sorted order, where both fits have them so: as one that learned them all."""
    if learned.blocks:
        whole = zip(learned.blocks.values(), mine.blocks.values(), theirs.blocks.values(), strict=True)
        return learned.rebuilt(_relevelled(*one) for one in whole)
    known = [one.named for one in (mine, theirs) if hasattr(one, "named")]
    if not known or any(levels != in_order(levels) for named in known for levels in named):
        return learned
    named = [in_order(levels) for levels in learned.named]
    if tuple(named) == learned.named:
        return learned
    probs = np.zeros((*np.shape(learned.probs)[:-1], max(map(len, named))))
    for column, (old, new) in enumerate(zip(learned.named, named, strict=True)):
        places = [old.index(level) for level in new]
        cells = (..., column, slice(len(new))) if learned.batch else (..., slice(len(new)))
        probs[cells] = learned.probs[(*cells[:-1], places)]
    return replace(learned, levels=tuple(named) if learned.batch else named[0], probs=probs)


def _concluded(a: Fit, b: Fit, learned: Family, stats: Statistics, prior: Prior, note: Alert | None) -> Fit:
    likelihood = float(np.sum(learned.log_likelihood(stats)))
    seen = np.array([likelihood])
    return replace(
        a,
        distribution=learned,
        statistics=stats,
        log_likelihood=likelihood,
        log_posterior=likelihood + log_prior_at(learned, prior, learned),
        n=a.n + b.n,
        missing=a.missing + b.missing,
        prior=prior,
        trace=Trace(seen, seen, np.zeros(1)),
        converged=note is None,
        alerts=(*(() if note is None else (note,)), *learned.alerts_under(stats, prior)),
        _data=None,
        _mark=None,
    )


def _advice(learned: Family) -> str:
    return (
        f"two fits of a {learned.name} were aligned, added, and took one M-step: who made which row was decided by the "
        "parameters of each. log_likelihood is a lower bound of that of all rows; where these are at hand, "
        "sf.fit(…, start=merged.distribution) goes on from here."
    )


def added(mine: Family, theirs: Family, left: Additive, right: Additive) -> Any:
    """The statistics of both, those of ``theirs`` with the components in the order of ``mine``."""
    _check_alike(mine, theirs, "")
    return left + _aligned(mine, theirs, right)


def _aligned(mine: Any, theirs: Any, stats: Any) -> Any:
    if hasattr(mine, "log_weights"):
        if getattr(mine, "labels", None) is not None:
            return stats
        order = align(mine, theirs)
        components, stack = picked(stats.components, order), theirs.components.take_components(order)
        return replace(stats, count=stats.count[order], components=_aligned(mine.components, stack, components))
    if mine.is_chain:
        order = align(mine.row_distribution, theirs.row_distribution)
        moved, stack = stats.permuted(order), theirs.emissions.take_components(order)
        return replace(moved, components=_aligned(mine.emissions, stack, moved.components))
    if mine.blocks:
        whole = zip(mine.blocks.values(), theirs.blocks.values(), stats.parts, strict=True)
        return replace(stats, parts=tuple(_aligned(*one) for one in whole))
    if not mine.exact and mine.free:
        msg = (
            f"{mine.name} takes several passes over the rows, and what it keeps of them is told from its own "
            "parameters, which differ between two fits; fit all rows again."
        )
        raise UnsupportedError(msg)
    return stats


# ---- whether they may be added ---------------------------------------------------------------------------------------
def _check_alike(mine: Any, theirs: Any, where: str) -> None:
    """Refuse two models of which the prototypes differ: in families, structure, columns, or what is fixed and tied."""
    if type(mine) is not type(theirs):
        raise _unlike(where, f"here is a {mine.name}, there a {theirs.name}")
    if (mine.fixed, mine.tied) != (theirs.fixed, theirs.tied):
        raise _unlike(where, "not the same parameters are fixed and tied")
    if hasattr(mine, "log_weights"):
        _check_mixtures(mine, theirs, where)
    elif mine.is_chain:
        _check_chains(mine, theirs, where)
    elif mine.blocks:
        if list(mine.blocks) != list(theirs.blocks):
            raise _unlike(where, f"here are the columns {list(mine.blocks)}, there {list(theirs.blocks)}")
        for key, block in mine.blocks.items():
            _check_alike(block, theirs.blocks[key], f"{where}{key!r}: ")
    else:
        _check_family(mine, theirs, where)


def _check_mixtures(mine: Any, theirs: Any, where: str) -> None:
    if mine.n != theirs.n:
        raise _unlike(where, f"here are {mine.n} components, there {theirs.n}")
    if mine.hard != theirs.hard:
        raise _unlike(where, "one of them gives each row to one component as a whole (hard=True), the other does not")
    if mine.fixed and not np.allclose(np.sort(mine.weights), np.sort(theirs.weights)):
        raise _unlike(where, "the fixed weights differ")
    _check_alike(mine.components, theirs.components, f"{where}components: ")


def _check_chains(mine: Any, theirs: Any, where: str) -> None:
    if mine.n != theirs.n:
        raise _unlike(where, f"here are {mine.n} states, there {theirs.n}")
    if mine.from_stationary != theirs.from_stationary:
        raise _unlike(where, "one of them begins by the stationary distribution")
    if any(not np.array_equal(getattr(mine, name), getattr(theirs, name)) for name in mine.fixed):
        raise _unlike(where, f"the fixed {' or '.join(sorted(mine.fixed))} differ")
    _check_alike(mine.emissions, theirs.emissions, f"{where}emissions: ")


def _check_family(mine: Any, theirs: Any, where: str) -> None:
    if mine.columns != theirs.columns:
        raise _unlike(where, f"here are {mine.columns or 1} columns, there {theirs.columns or 1}")
    free = {"batch", *mine.free}
    if mine.specs() and getattr(mine, "pool", None) is None:  # a pool stands for other labels where levels differ
        free |= {"levels"}
    for name in (name for name in settings(mine) if name not in free):
        if not _same(getattr(mine, name), getattr(theirs, name)):
            shown = f"here {getattr(mine, name)!r:.60}, there {getattr(theirs, name)!r:.60}"
            raise _unlike(where, f"{name} of {mine.name} differs: {shown}")


def _unlike(where: str, why: str) -> DataError:
    return DataError(f"merge adds fits of one prototype: {where}{why}. Fit both with the same one.")


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return bool(np.array_equal(left, right))
    return bool(left == right)


def _same_prior(left: Family | None, right: Family | None) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same_prior(one, right[key]) for key, one in left.items())
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(_same_prior, left, right))
    return left is right or (type(left) is type(right) and bool(left == right))
