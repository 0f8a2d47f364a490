"""What ``prior="weak"`` means, for every family: about as much as one row says.

A weak prior keeps an estimate proper where the data alone would not (a level that nobody had, a spread of 0), and is
otherwise not noticed: the distance to the maximum-likelihood estimate falls as 1/n, and so is a small part of the
standard error, which falls as 1/√n.

============================  ============================================  ===========================================
family                        worth                                         centre
============================  ============================================  ===========================================
Bernoulli, Binomial,          one trial, shared equally by its outcomes:    every outcome as probable as the others
Geometric                     Beta(3/2, 3/2)
Categorical, Multinomial      one row, shared equally by the L levels:      every level as probable as the others
                              Dirichlet(1 + 1/L)
Poisson, Exponential          half an event: Gamma(3/2, …)                  the rate of the data
mean of a Normal or a         a hundredth of a row, because components      the mean of the data
MultivariateNormal            lie far from it
spread of a Normal, or        one row: the estimate is (S + Σ)/(n + 1)      the spread Σ of the data, correlations and
covariance of d columns                                                     all; within the groups, where there are any
LogNormal                     as of the Normal of its logarithms            as of that Normal
shape of a Gamma              one row: Gamma(3/2, …); nothing about the     the shape of the data
                              mean
size of a NegativeBinomial    one row: Gamma(3/2, …); nothing about the     the size of the data, or the largest that n
                              mean                                          rows tell from a Poisson: mean·√(n/2)
values of a Hurdle that are   as of their family                            as of their family
not zero
weights of a mixture of k     one row, shared equally: Dirichlet(1 + 1/k)   every component as probable as the others
============================  ============================================  ===========================================

Priors of a LogNormal, a Gamma and a NegativeBinomial give the mode of the posterior alone, in :func:`suffice.fit`.

*Labels of classes.* A classifier multiplies what every column says, and a level that a class happened to lack would
decide alone: there probabilities have one row of each outcome (Laplace's rule), Beta(2, 2) and Dirichlet(2).

*Within the groups.* A classifier knows its classes: Σ is the pooled scatter about their means. A mixture does not know
its components. If k of them share out the volume of the data over d columns, each has the variances of the data divided
by k^(2/d), as in mclust's ``priorControl`` (Fraley and Raftery 2007, J. Classif. 24, 155–181, from where the hundredth
of a row is, too). This is a bound: components that lie apart are narrower, and a centre that is too wide does more
harm than one that is too narrow, as the log-density has Σ/σ² on one side and log σ² on the other. So half of that
spread is the centre, a quarter of the variances. With iris and three components the log-likelihood then is 1.7 below
its maximum, and 12.7 without the quarter.

*Beliefs about spreads* have the fewest degrees of freedom that make them proper, d. Their mode is that of the rows and
one pseudo-row (``mode_offset`` of :class:`NormalInverseWishart`); that of the density of (μ, Σ) would divide by 2d + 2
rows more, whatever the scale.

*Rows that do not span all columns* have a singular covariance, which would make no proper belief: a part d/(n + d) of
their correlations is left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.distributions.beta import Beta
from suffice.distributions.compact_covariance import RELATIVE_FLOOR
from suffice.distributions.dirichlet import Dirichlet
from suffice.types import Array, Prior

ROWS = 1.0  # that it is worth, about probabilities and spreads
MEAN_ROWS = 0.01  # about a mean
EVENTS = 0.5  # about a rate
HALF = 0.5  # the spread of a component, of the greatest that it can have if all are alike


def shared_row(outcomes: float) -> float:
    """The concentration of each of several outcomes that share one row: the mode counts what is above 1."""
    return 1.0 + ROWS / outcomes


def of_classes(prior: Prior) -> Any:
    """The weak prior of a family where its components are classes: one row of each outcome."""
    if isinstance(prior, dict):  # of a hurdle: the probability of zero, and the others
        return {name: of_classes(one) for name, one in prior.items()}
    if isinstance(prior, Beta):
        return Beta(1 + ROWS, 1 + ROWS)
    if isinstance(prior, Dirichlet):  # 0 is padding
        return Dirichlet(np.where(np.asarray(prior.alpha) > 0, 1 + ROWS, 0.0))
    return prior


def part_of_variance(components: int, columns: int) -> float:
    """The part of the variances of all rows that one of several components is expected to have."""
    return 1.0 if components == 1 else float(HALF**2 * components ** (-2.0 / max(columns, 1)))


def spanning(cov: Array, least: Array, rows: float) -> Array:
    """Covariances (k, d, d) as they are, or with smaller correlations where some column follows from the others.

    Variances are at least ``least``² (k, d).
    """
    d = cov.shape[-1]
    variances = np.maximum(np.einsum("kii->ki", cov), np.square(least))
    spread = np.sqrt(variances)
    outer = spread[:, :, None] * spread[:, None, :]
    correlation = cov / outer
    correlation[:, np.arange(d), np.arange(d)] = 1.0
    singular = np.linalg.eigvalsh(correlation)[:, 0] < 4 * RELATIVE_FLOOR * d
    kept = np.where(singular, rows / (rows + d), 1.0)[:, None, None]
    return np.asarray(np.where(np.eye(d) > 0, 1.0, kept * correlation) * outer)
