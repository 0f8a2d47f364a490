"""`posterior`: data and a prior in, a belief about the parameters out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.bayes.density_prior import data_posterior, density_posterior
from suffice.bayes.finite_posterior import finite_posterior, is_finite
from suffice.bayes.reference import reference_posterior
from suffice.core.combinators import approximate_posterior
from suffice.core.distribution import Distribution
from suffice.core.family import Family
from suffice.em.loop import run_em
from suffice.em.options import check_options, prepare
from suffice.em.trace import Pass
from suffice.em.training import TrainingData
from suffice.errors import UnsupportedError
from suffice.statistics.weights import Weights
from suffice.tables.column_names import names_of_data, with_column_names_in_errors
from suffice.types import Data, Prior, Seed


@with_column_names_in_errors
def posterior(
    distribution: Distribution,
    data: Data,
    *,
    prior: Prior,
    weights: Data = None,
    random_state: Seed = None,
    n_init: int = 1,
    max_iter: int = 1000,
    tol: float | None = None,
    start: Data = None,
    accelerate: bool = True,
    callback: Callable[[Pass], Any] | None = None,
) -> Any:
    """What to believe of a distribution's parameters after seeing the data.

    ``prior`` is conjugate, a mixture of conjugate priors, an earlier posterior, ``"weak"``, ``"reference"`` (improper:
    :mod:`suffice.bayes.reference`), or any density of the free parameters as a function. It takes them as arrays, by
    position in the order of the distribution (or by name, if its arguments have exactly their names), and returns an
    array; it may be improper, as ``1 / std``, where the posterior is proper. For one parameter any distribution does.

    A prior over finitely many values is ``sf.Categorical(values, probabilities)`` for one parameter, and
    ``{distribution: weight, …}`` for any: the posterior has a weight for each, and sums where others integrate.

    That of a mixture of conjugate families is variational: beliefs about weights and components, each conjugate and
    independent of each other, that come nearest to the truth. Its ``log_evidence`` is a lower bound. The prior is
    ``{"weights": Dirichlet(…) or StickBreaking(…), "components": prior of a component}`` or ``"weak"``, where the
    weights may be left out: with a small concentration, 1/k by default, superfluous components empty themselves. The
    other arguments are those of :func:`fit`, and matter to mixtures alone.

    Parameters
    ----------
    distribution, data, weights : Distribution, array or frame, array
        A prototype, rows, and one number of at least 0 per row, as in :func:`fit`.
    prior : distribution, dict or "weak", optional
        As above.
    random_state, n_init, max_iter, tol, start, accelerate, callback : as of fit
        As in :func:`fit`, for mixtures.

    Returns
    -------
    Posterior
        Or what answers like one: by quadrature for a density, by sums for finitely many values, variational for a
        mixture. It has ``mean``, ``interval``, ``sample``, ``predictive`` and ``log_evidence``.

    References
    ----------
    Attias, H. (2000). A variational Bayesian framework for graphical models. Advances in Neural Information Processing
    Systems 12, 209-215.

    Examples
    --------
    >>> post = sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=sf.Beta(1, 1))
    >>> post.mean, post.predictive()
    (0.6, Bernoulli(p=0.6))
    >>> prior = sf.Categorical([0.2, 0.5, 0.9], [0.3, 0.4, 0.3])
    >>> sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=prior).weights.round(3)
    array([0.114, 0.596, 0.29 ])
    """
    check_options(distribution, n_init, max_iter, tol)
    rows, checked, prototype = prepare(distribution, data, weights, empty=True)
    options = {
        "random_state": random_state,
        "n_init": n_init,
        "max_iter": max_iter,
        "tol": tol,
        "start": start,
        "accelerate": accelerate,
        "callback": callback,
    }
    if is_finite(prior):
        near = finite_posterior(prototype, rows, checked, prior)
    elif prototype.is_latent and not prototype.blocks:
        near = approximate_posterior(prototype, rows, checked, prior, options)
    else:
        near = None
    found = believe(prototype, rows, checked, prior) if near is None else near
    names = names_of_data(data, without=weights)
    if names is None or prototype.column_names is not None or len(names) != (prototype.columns or 1):
        return found
    return found.with_column_names(names)


def believe(prototype: Family, rows: Any, weights: Weights, prior: Any, *, mode_only: bool = False) -> Any:
    """The posterior; ``mode_only``: that of a density which need not have a finite integral."""
    if not prototype.exact:

        def learn() -> Any:
            first = prototype.start(rows, weights, np.random.default_rng(0))
            return run_em(first, TrainingData(rows, weights), max_iter=200, tol=1e-9).distribution

        return data_posterior(prototype, rows, weights, prior, learn, mode_only=mode_only)
    stats = prototype.suffstats(rows, weights)
    if not stats.exact:
        msg = (
            f"{prototype.name}: with missing cells there is no closed posterior, since what to expect of them depends "
            "on the parameters. Use sf.fit(…, prior=…) for the mode, or sf.posterior(sf.Mixture(prototype, 1), …), "
            "which comes near."
        )
        raise UnsupportedError(msg)
    if isinstance(prior, str) and prior == "reference":
        return reference_posterior(prototype, stats)
    if mode_only:
        return density_posterior(prototype, stats, prior, mode_only=True)
    return prototype.posterior(stats, prior)
