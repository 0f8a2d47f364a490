"""The posterior of a family under a prior: conjugate, a mixture of conjugate ones, or any density."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.bayes.density_prior import density_posterior, is_density
from suffice.bayes.mixed_posterior import is_mixed, mixed_posterior
from suffice.bayes.posterior import ONLY_A_MODE, Posterior, at
from suffice.core.family import Family
from suffice.errors import UnsupportedError
from suffice.statistics.sums import Statistics
from suffice.types import Alert, Prior


def conjugate_posterior(likelihood: Family, stats: Statistics, prior: Prior) -> Any:
    """Pair a likelihood with its updated conjugate prior; the evidence follows from Bayes' rule at any one point."""
    alerts: tuple[Alert, ...] = ()
    if isinstance(prior, str):
        if prior != "weak":
            msg = f"prior={prior!r} is not known; priors by name are 'weak' and, in sf.posterior, 'reference'."
            raise UnsupportedError(msg)
        alerts, prior = likelihood.weak_alerts(stats), likelihood.weak_prior(stats)
        if not isinstance(prior, likelihood.conjugates):
            raise UnsupportedError(ONLY_A_MODE.format(likelihood.name))
    if is_mixed(likelihood, prior):
        return mixed_posterior(likelihood, prior, lambda one: conjugate_posterior(likelihood, stats, one))
    if is_density(likelihood, prior):
        return density_posterior(likelihood, stats, prior)
    prior = getattr(prior, "belief", prior)
    if not isinstance(prior, likelihood.conjugates):
        raise UnsupportedError(_refusal(likelihood, prior))
    if not likelihood.free:
        msg = f"every parameter of {likelihood!r} is fixed, so a prior has nothing to speak of; free one."
        raise UnsupportedError(msg)
    model = likelihood.for_statistics(stats)
    if model.n_components > 1 and model.tied & set(model.free):
        tied = ", ".join(sorted(model.tied))
        msg = f"{likelihood.name}: components that share {tied} have no conjugate posterior each; untie or fix it."
        raise UnsupportedError(msg)
    stack, before = model.stacked, prior.stacked
    after = stack.update(stats, before)
    point = after.point()
    cells = at(stack, point).likelihood_cells(stats) + before.log_cell(point) - after.log_cell(point)
    evidence = np.asarray(cells).sum(axis=-1)
    axes = model.lacking
    return Posterior(model, after.squeezed(axes), float(evidence[0]) if model.lone else evidence, alerts, prior)


def _refusal(likelihood: Family, prior: Prior) -> str:
    kinds = likelihood.conjugates  # of a kind and its own sort, as Normal and NormalPrior, the sort is named
    accepted = [
        one.__name__ for one in kinds if not any(other is not one and issubclass(other, one) for other in kinds)
    ]
    offer = f"It takes {' or '.join(accepted)}," if accepted else "It takes"
    got = repr(prior) if hasattr(prior, "specs") else f"{type(prior).__name__} {prior!r:.60}"
    names = ", ".join(likelihood.free) or "its parameters"
    or_mixed = "a mixture of these, or " if accepted else ""
    return f"{likelihood.name} cannot use {got} as a prior. {offer} {or_mixed}any density of ({names}) as a function."
