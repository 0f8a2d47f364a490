"""Names for components that have none: a canonical order, and the matching of two fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.value import settings
from suffice.errors import ParameterError, SufficeError
from suffice.types import Array

if TYPE_CHECKING:
    from suffice.core.family import Family

PAIRS = 24  # components of which every pair is compared
ROUNDED = 1e-9  # of the extent of a column: places that are closer are the same, so that a last digit changes no order


def canonical(mixture: Any) -> Array:
    """The order of the components by their means, column after column; by falling weight where they have none.

    Components of different kinds, or with means of different columns, keep the order in which they were given.
    """
    components = mixture.components.unstacked
    means = [_mean(one) for one in components]
    if len({(type(one), len(mean)) for one, mean in zip(components, means, strict=True)}) > 1:
        return np.arange(mixture.n)
    return by_place(np.array(means), mixture.weights)


def by_place(places: Array, weights: Array) -> Array:
    """The order of points (k, d) column after column, and by falling weight where they are equal up to rounding."""
    if not np.isfinite(places).all():
        return np.argsort(-weights, kind="stable")
    low, reach = places.min(axis=0), np.ptp(places, axis=0)
    apart = reach > ROUNDED * np.abs(places).max(axis=0)
    steps = np.rint((places - low) / np.where(apart, ROUNDED * reach, np.inf))
    return np.lexsort([-weights, *steps.T[::-1]])


def exchangeable(mixture: Any, priors: dict[str, Any]) -> bool:
    """Whether the caller said the same of every component, so that their order means nothing."""
    alpha = getattr(priors.get("weights"), "alpha", 0.0)
    parameters = [alpha, mixture.weights] if "weights" in mixture.fixed else [alpha]
    first, *others = mixture.components.unstacked
    return (
        all(np.ptp(one) == 0 for one in parameters)
        and all(alike(first, one) for one in others)
        and _same_for_all(priors.get("components"))
    )


def alike(one: Any, other: Any) -> bool:
    """Whether two components have the same family, options and fixed values."""
    if type(one) is not type(other) or (one.fixed, one.tied) != (other.fixed, other.tied):
        return False
    if hasattr(one, "log_weights"):  # mixtures
        same = one.n == other.n and one.hard == other.hard
        fixed = "weights" not in one.fixed or np.array_equal(one.weights, other.weights)
        pairs = zip(one.components.unstacked, other.components.unstacked, strict=True) if same else ()
        return bool(same and fixed and all(alike(*pair) for pair in pairs))
    if one.blocks:
        return one.blocks.keys() == other.blocks.keys() and all(
            alike(block, other.blocks[key]) for key, block in one.blocks.items()
        )
    return all(_same(getattr(one, name), getattr(other, name)) for name in settings(one))


def equal_components(mixture: Any, kept: Array, tol: float) -> list[list[int]]:
    """Components that are equal, in groups: ``kept`` (k,) are those to look at."""
    each = mixture.components.unstacked
    places = [int(j) for j in canonical(mixture) if kept[j]]
    reach = len(places) if len(places) <= PAIRS else 4  # of many, neighbours in order
    groups: list[list[int]] = []
    for at, a in enumerate(places):
        if any(a in group for group in groups):
            continue
        others = places[at + 1 : at + reach]
        found = [b for b in others if alike(each[a], each[b]) and each[a].free and each[a].distance(each[b]) < tol]
        groups += [sorted([a, *found])] if found else []
    return groups


def _same(left: Any, right: Any) -> bool:
    arrays = isinstance(left, np.ndarray) or isinstance(right, np.ndarray)
    return bool(np.array_equal(left, right) if arrays else left == right)


def _same_for_all(prior: Any) -> bool:
    """Whether a prior of the components says the same of each."""
    if isinstance(prior, (list, tuple)):
        return all(one == prior[0] and _same_for_all(one) for one in prior)
    if isinstance(prior, dict):
        return all(map(_same_for_all, prior.values()))
    belief = getattr(prior, "belief", prior)
    return not hasattr(belief, "n_components") or belief.lone or belief.n_components == 1


def _mean(component: Family) -> Array:
    """The mean of a component's columns, as far as they have one."""
    if component.blocks:
        return np.concatenate([_mean(block) for block in component.blocks.values()])
    try:
        return np.asarray(component.mean, dtype=float).ravel()
    except (SufficeError, AttributeError, TypeError, ValueError):
        return np.empty(0)


def align(a: object, b: object, data: Array | None = None) -> Array:
    """Which component of ``b`` corresponds to each component of ``a``.

    ``b.permuted(align(a, b))`` stands in the order of a.

    Components are matched so that the sum of their divergences D(i‖j) + D(j‖i) is smallest. Where families have none,
    so that both most often give the same rows to matching components: of ``data``, or else of rows drawn from both.

    Parameters
    ----------
    a, b : Distribution
        Mixtures, or fits of them. Where ``a`` has more components, those without a partner get −1.
    data : array, frame, columns by name, or files
        Rows by which to match.

    Returns
    -------
    array of int
        For each component of ``a`` the number of its partner in ``b``.

    Examples
    --------
    >>> a = sf.Mixture([sf.Normal(0, 1), sf.Normal(5, 1)])
    >>> b = sf.Mixture([sf.Normal(4.8, 1), sf.Normal(0.1, 1)])
    >>> sf.align(a, b)
    array([1, 0])
    """
    from scipy.optimize import linear_sum_assignment

    left, right = (_mixture(one) for one in (a, b))
    cost = None if data is not None else _divergences(left, right)
    if cost is None:
        cost = -_overlap(left, right, data)
    places, partners = linear_sum_assignment(cost)
    order = np.full(left.n, -1)
    order[places] = partners
    return order


def _mixture(one: object) -> Any:
    found = getattr(one, "distribution", one)
    if not hasattr(found, "parts") or not hasattr(found, "weights"):
        msg = f"align takes two mixtures or fits of them; got {one!r:.60}."
        raise ParameterError(msg)
    return found


def _divergences(left: Any, right: Any) -> Array | None:
    """D(i‖j) + D(j‖i), (k, k); None where components cannot be compared so."""
    cost = np.empty((left.n, right.n))
    try:
        for i, one in enumerate(left.parts):
            for j, other in enumerate(right.parts):
                if type(one) is not type(other):
                    return None
                cost[i, j] = float(one.kl(other)) + float(other.kl(one))
    except (SufficeError, AttributeError, TypeError, ValueError):
        return None
    return None if np.isnan(cost).any() else np.minimum(cost, 1e12)


def _overlap(left: Any, right: Any, data: Any, draws: int = 2000) -> Array:
    """How much of the rows both give to components i and j, (k, k)."""
    if data is not None:
        return np.asarray(left.predict_proba(data).T @ right.predict_proba(data))
    both = [one.sample(draws, np.random.default_rng(0)) for one in (left, right)]
    return np.asarray(sum(left.predict_proba(x).T @ right.predict_proba(x) for x in both))
