"""The two doors to beliefs of any shape: from exact statistics, and by passes over the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.bayes.coordinates import Axis, Space
from suffice.bayes.density_posterior import MOST, DensityPosterior
from suffice.bayes.posterior import ONLY_A_MODE
from suffice.bayes.prior_function import in_order, of_candidates
from suffice.core.distribution import Distribution
from suffice.core.family import Family
from suffice.core.likelihood import score_of_rows, score_of_statistics
from suffice.errors import ParameterError, SufficeError, UnsupportedError
from suffice.statistics.sums import Statistics
from suffice.statistics.weights import Weights
from suffice.types import Array, Prior


def is_density(likelihood: Family, prior: Prior) -> bool:
    """Whether a prior is used as a density: a function, or for one parameter any distribution of a number."""
    if callable(prior):
        return True
    belief = getattr(prior, "belief", prior)
    if not isinstance(belief, Distribution) or isinstance(belief, likelihood.conjugates):
        return False
    parts = getattr(belief, "parts", (belief,))  # of a mixture its components
    if not all(_about_a_number(one) for one in parts) or len(likelihood.free) != 1 or likelihood.blocks:
        return False
    # A belief about positive numbers is a slip where a probability is meant; one about any number is cut to the domain.
    domain = likelihood.specs()[likelihood.free[0]].domain
    return all(
        (domain.low <= one.support.low and one.support.high <= domain.high)
        or bool(np.isinf([one.support.low, one.support.high]).all())
        for one in parts
    )


def _about_a_number(belief: Any) -> bool:
    """Whether a distribution is one of a single number that is not counted."""
    wide = not belief.lone or belief.batch or belief.row_vector or belief.blocks
    return not wide and not belief.discrete


def density_posterior(likelihood: Family, stats: Statistics, prior: Prior, *, mode_only: bool = False) -> Any:
    """The posterior of a likelihood with exact statistics under any prior density.

    ``prior`` takes the free parameters by position (or all by their names), as arrays, and returns an array of
    densities. With ``mode_only`` its integral may be infinite: then only the mode has a meaning.
    """
    model = likelihood.for_statistics(stats)
    prior = in_order(prior, model.free) if callable(prior) else prior
    space = _space(model, prior)
    seen = bool(np.asarray(stats.weight).any())
    starts = _starts(space, lambda: model.estimate(stats)) if seen else []
    score = of_candidates(model, score_of_statistics(stats)) if seen else _flat
    return DensityPosterior(model, prior, score, space, tuple(starts), mode_only)


def data_posterior(
    prototype: Family, rows: Array, weights: Weights, prior: Prior, learn: Callable[[], Any], *, mode_only: bool = False
) -> Any:
    """The posterior of a likelihood without finite statistics, by passes over the rows.

    ``learn`` finds the maximum-likelihood estimate, near which the posterior is looked for.
    """
    if isinstance(prior, str):
        prototype.weak_prior(prototype.suffstats(rows, weights))  # or says why there is none
        raise UnsupportedError(ONLY_A_MODE.format(prototype.name))
    prior = in_order(prior, prototype.free) if callable(prior) else prior
    space = _space(prototype, prior)
    starts: list[Array] = []
    seen = bool(len(rows)) and bool(np.asarray(prototype.suffstats(rows, weights).weight).any())  # or names a bad row
    if seen:
        starts = _starts(space, learn)
    score = of_candidates(prototype, score_of_rows(rows, weights)) if seen else _flat
    return DensityPosterior(prototype, prior, score, space, tuple(starts), mode_only)


def _flat(theta: Array) -> Array:
    """The log-likelihood of no rows."""
    return np.zeros(len(theta))


def _starts(space: Space, learn: Callable[[], Any]) -> list[Array]:
    """The maximum-likelihood estimate as a place to look, where there is one."""
    try:
        learned = learn()
    except SufficeError:
        return []
    theta = np.array([float(np.asarray(getattr(learned, axis.name)).ravel()[0]) for axis in space.axes])
    return [space.coordinates(theta)]


def _space(model: Family, prior: Prior) -> Space:
    """The free parameters as axes, or the reason why a density cannot speak of them."""
    names = model.free
    if not set(names) <= set(model.specs()):
        msg = f"{model.name} is made of distributions, and a density as a function speaks of the parameters of one."
        raise UnsupportedError(model.refusal(prior) if hasattr(model, "refusal") else msg)
    if not names:
        msg = f"every parameter of {model!r} is fixed, so a prior has nothing to speak of."
        raise UnsupportedError(msg)
    wide = not model.lone or model.row_vector or model.batch not in ((), (1,))
    vectors = [name for name in names if model.specs()[name].domain.core]
    if wide or vectors or len(names) > MOST:
        size = f"this one has {len(names)} in {model.batch or (1,)} columns"
        what = f"its {vectors[0]} is a vector" if vectors else size
        msg = (
            f"a prior density speaks of one to {MOST} numbers of a distribution over one column; {model.name}: {what}. "
            "Fix parameters with .fix(…), take the columns one by one, or use a conjugate prior."
        )
        raise UnsupportedError(msg)
    if not callable(prior) and not (hasattr(getattr(prior, "belief", prior), "log_prob") and len(names) == 1):
        msg = (
            f"{model.name} cannot use {prior!r:.60} as a prior. It takes any density of ({', '.join(names)}) as a "
            "function, "
            "and for one parameter a distribution of it."
        )
        raise UnsupportedError(msg)
    if isinstance(prior, DensityPosterior) and prior.names != names:
        msg = f"the prior speaks of {', '.join(prior.names)}, but {model.name} has {', '.join(names)} to learn."
        raise ParameterError(msg)
    return Space(tuple(Axis(name, model.specs()[name].domain) for name in names))
