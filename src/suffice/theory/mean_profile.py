r"""The profile of one mean of a MultivariateNormal.

With mean j held at a distance δ from its estimate, the other means are best on the regression line through the
estimate, at :math:`\delta\,\Sigma_{ij}/\Sigma_{jj}`: that is least in δᵀΣ⁻¹δ, and so in the determinant of the
covariance about the held mean. With any covariance, log L falls by :math:`\frac n2 \log(1 + \delta^2/\Sigma_{jj})`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.parameters import REAL
from suffice.errors import ParameterError, UnsupportedError
from suffice.statistics.weights import Weights
from suffice.theory.paths import Path, display_name, parameter_at
from suffice.types import Rows


def is_mean_of_columns(model: Family, path: Path) -> bool:
    """Whether a path names parameters of a MultivariateNormal."""
    return model.is_gaussian and model.row_vector and path[0] in model.specs()


class MeanProfile:
    """Log L at a value of one mean, the other means and the covariance at their best."""

    improved = False
    rounding = 9e-16  # relative accuracy of the ends of an interval
    period = None
    domain = REAL

    def __init__(self, model: Any, rows: Rows, weights: Weights, path: Path) -> None:
        if path[0] != "mean" or np.ndim(parameter_at(model, path)):
            msg = (
                f"{model.name} has a profile of one mean, named by its column as ('mean', 0); "
                f"got {display_name(path)}. An "
                "entry of the covariance has none here: not every value of it leaves a covariance."
            )
            raise UnsupportedError(msg)
        if "mean" in model.fixed:
            msg = "mean is fixed, so it has no profile; give a prototype that leaves it free."
            raise ParameterError(msg)
        self.stats = model.suffstats(rows, weights)
        if not self.stats.exact:
            msg = (
                f"the profile of {display_name(path)} needs rows without missing cells: "
                "what is expected of those depends on "
                "all parameters. Leave out rows with missing cells, or take standard errors of sf.fit."
            )
            raise UnsupportedError(msg)
        self.best = model.estimate(self.stats)
        cov = np.asarray(self.best.cov)
        self.column, self.name = path[1] % len(cov), display_name(path)
        self.slopes = cov[self.column] / cov[self.column, self.column]
        self.at, self.scale = float(self.best.mean[self.column]), float(np.sqrt(cov[self.column, self.column]))
        self.highest = self(self.at)

    def __call__(self, value: float) -> float:
        """Log L at the value."""
        mean = np.asarray(self.best.mean) + (value - self.at) * self.slopes
        mean[self.column] = value
        held = replace(self.best, mean=mean)
        if "cov" in held.free:
            held = held.fix("mean").estimate(self.stats)
        with np.errstate(all="ignore"):
            return float(held.log_likelihood(self.stats))
