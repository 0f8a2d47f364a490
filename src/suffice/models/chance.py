r"""How much log-likelihood a component can gain by chance.

A likelihood has many maxima in which some component describes a few rows that happen to lie near a point or a plane.
How much such a component can gain follows from how many ways there are to choose its rows.

Let n rows come from one normal distribution, and give m of them a normal of their own. For *given* rows the
log-likelihood rises by the statistic of the likelihood-ratio test that this normal is that of all rows,

.. math:: G = \tfrac m2 \{\operatorname{tr} S + \bar x^\top \bar x - d - \log |S|\},

with the mean x̄ and the covariance S of the m rows in units of the n. Its moments are known in closed form
(Anderson 2003, *An Introduction to Multivariate Statistical Analysis*, 3rd ed., §10.9): for 0 ≤ s < (m − d)/m

.. math::
   \log E\,e^{sG} = -\tfrac{mds}2 \log\tfrac{2e}m - \tfrac{md(1-s)}2 \log(1-s)
       + \sum_{i=1}^d \{\log\Gamma(\tfrac{m-i-ms}2) - \log\Gamma(\tfrac{m-i}2)\} = K(s).

By Markov's inequality P(G ≥ t) ≤ exp(K(s) − st), and since there are C(n, m) ways to choose the rows, the number of
choices with G ≥ t is on average at most C(n, m) exp(K(s) − st). It falls below 1 at

.. math:: t_m = \min_s \{\log C(n, m) + K(s)\} / s.

A mixture also pays for knowing which rows belong to the component: Σ log π over all rows is about −log C(n, m). So
t_m − log C(n, m) is what the log-likelihood of a mixture can gain by chance. It grows without bound as m falls to d,
and comes near p/2 (1 + log(2 log C(n, m)/p)), as for a test of p parameters, when m is large. Components with
independent columns, or with nothing but a volume of their own, have other degrees of freedom and the same formula.

``python -m benchmarks.chance`` seeks the highest maxima on noise. With 15 starts for each size they reached between a
quarter and three quarters of the bound for their number of rows, and none passed it: it is an upper bound, not tight.
"""

from __future__ import annotations

import numpy as np

from suffice.numerics.lazy import special
from suffice.types import Array

GRID = 1.0 - np.geomspace(1e-9, 0.95, 48)  # of s below its largest value: the minimum is flat, so that these are enough


def log_choices(rows: Array, total: float) -> Array:
    """The log of the number of ways to choose so many of all rows."""
    rows = np.minimum(rows, total)
    found = special.gammaln(total + 1) - special.gammaln(rows + 1) - special.gammaln(total - rows + 1)
    return np.asarray(found)


def chance_gain(rows: Array, total: float, degrees: Array) -> Array:
    """What components of so many rows (k,) can gain by chance, in nats; infinite where they need more rows.

    Parameters
    ----------
    rows
        Rows m of each component.
    total
        Rows n of all components.
    degrees
        (q, 2) as in :class:`~suffice.statistics.separation.Separation`:
        columns and lost degrees of freedom of each variance.

    Examples
    --------
    >>> from suffice.models.chance import chance_gain
    >>> chance_gain(np.array([2.5, 10.0, 50.0]), 100.0, np.array([[1.0, 1.0]])).round(1)
    array([12.9,  8.4,  6.7])
    """
    cells = np.multiply.outer(np.asarray(rows, dtype=float), degrees[:, 0])  # (k, q)
    freedom = cells - degrees[:, 1]
    found = np.full(len(cells), np.inf)
    enough = np.flatnonzero((freedom > 0).all(axis=1))
    if not len(enough) or not len(degrees):
        return found
    cells, freedom = cells[enough, None], freedom[enough, None]
    s = GRID * (freedom / cells).min(axis=2)  # (k, grid)
    at = s[:, :, None]
    moments = -(cells * at / 2) * np.log(2 * np.e / cells) - (cells * (1 - at) / 2) * np.log1p(-at)
    moments += special.gammaln((freedom - cells * at) / 2) - special.gammaln(freedom / 2)
    ways = log_choices(np.asarray(rows, dtype=float)[enough], total)
    found[enough] = ((ways[:, None] + moments.sum(axis=2)) / s).min(axis=1) - ways
    return found
