"""The score: the gradient of the log-likelihood by every parameter."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.em.result import Fit
from suffice.errors import DataError, UnsupportedError
from suffice.models.information import lone
from suffice.statistics.weights import Weights
from suffice.theory.models import as_distribution
from suffice.types import Data
from suffice.uncertainty.information import Chart, chart


def score(distribution: Distribution | Fit, data: Data, *, weights: Data = None) -> dict[Any, Any]:
    """The score ∂ log L/∂θ at the parameters of a distribution: 0 at a maximum.

    Parameters
    ----------
    distribution : Distribution or Fit
        Any model whose likelihood is differentiable in its parameters, mixtures and products included.
    data : array, frame, columns by name, or files
        Rows. Missing cells are left out.
    weights : array (n,), optional
        A weight for each row.

    Returns
    -------
    dict
        In the layout of ``params``. Fixed parameters have 0; what lies on the boundary of its domain has NaN.

    Notes
    -----
    An entry of probabilities (``probs``, mixing ``weights``) moves while the others keep their proportions, so that
    its score is (c/p − n)/(1 − p), of two levels that of a Bernoulli. Of a covariance it is the matrix G with
    d log L = Σ G dΣ, for a full one ½(Σ⁻¹SΣ⁻¹ − nΣ⁻¹), else its part along the structure. A parameter that components
    share (``tie``) has the sum of their scores. Multivariate normals and mixing weights are in closed form; other
    parameters by central differences of eighth order, with an error of about 1e-10 of the largest term. Where a density
    has kinks, as Laplace's has in ``loc``, it is the mean of both sides, to about 1e-8.

    Examples
    --------
    >>> round(sf.theory.score(sf.Bernoulli(0.5), [1, 0, 1, 1])["p"], 6)  # 3/0.5 - 1/0.5
    4.0
    """
    model = as_distribution(distribution, "score")
    if not model.lone:
        msg = "a score is that of a single distribution; pick one of a stack with .each."
        raise UnsupportedError(msg)
    model.require_ready("have a score")
    rows = model.read(model.materialize(data))
    if not len(rows):
        msg = "a score needs at least one row."
        raise DataError(msg)
    checked = Weights.of(weights, len(rows))
    if checked.n_components > 1:
        msg = f"a score takes one weight for each row; got shape {np.shape(weights)}."
        raise DataError(msg)
    model = model.for_data(rows)
    model.suffstats(rows, checked)  # names a row that the model cannot take
    found = chart(model.stacked)
    refuse_jumps(model, found)
    with np.errstate(all="ignore"):
        slope = found.gradient(rows, checked.dense())
    if model.is_mixture:
        return slope
    answer: dict[Any, Any] = lone(model, slope)
    return model.by_key(answer) if model.blocks else answer


def refuse_jumps(model: Distribution, found: Chart) -> None:
    """Refuse a model whose likelihood jumps as its parameters move."""
    if found.smoothness < 1:
        msg = (
            f"{model.name} has no score: its likelihood jumps where a bound passes a row, and its maximum lies at such "
            "a jump. theory.likelihood shows it."
        )
        raise UnsupportedError(msg)
