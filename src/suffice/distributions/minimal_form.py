"""The minimal form of labels and counts: probabilities against that of the last level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import ParameterError
from suffice.numerics.lazy import special
from suffice.types import Array, Data


@dataclass(frozen=True)
class MinimalForm:
    """p(x) = h(x)·exp(η·u(x) − A(η)) with one entry of u less than there are levels, so that η is unique.

    η_j = log p_j/p_L against the last level L, u the indicators (or counts) of the others, and
    A = n·log(1 + Σ e^η), n the number of trials, 1 for a single label. ∂A/∂η = E u and ∂²A/∂η² = Cov u, which has an
    inverse. The form of the distribution itself, with η = log p and A = 0, has an entry for each level.

    Parameters
    ----------
    distribution : Categorical or Multinomial
        Whose form it is.

    Examples
    --------
    >>> form = sf.Categorical(["a", "b", "c"], [0.2, 0.3, 0.5]).minimal_form()
    >>> form.natural().round(3), round(float(form.log_partition()), 3)
    (array([-0.916, -0.511]), 0.693)
    """

    distribution: Any

    @property
    def _probs(self) -> Array:
        probs = np.asarray(self.distribution.params["probs"], dtype=float)
        if not (probs[..., -1] > 0).all():
            msg = (
                f"{self.distribution.name}: the minimal form compares with the last level, whose probability is 0; "
                "put a level that is possible last."
            )
            raise ParameterError(msg)
        return probs

    @property
    def trials(self) -> Array:
        """How many labels a row counts: n."""
        return np.asarray(np.sum(self.distribution.mean_statistic(), axis=-1))

    def natural(self) -> Array:
        """η_j = log p_j/p_L, (…, L − 1)."""
        probs = self._probs
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(probs[..., :-1]) - np.log(probs[..., -1:]))

    def log_partition(self, eta: Array | None = None) -> Array:
        """A = n·log(1 + Σ e^η), at the distribution's η or another."""
        at = self.natural() if eta is None else np.asarray(eta, dtype=float)
        padded = np.concatenate([at, np.zeros((*at.shape[:-1], 1))], axis=-1)
        return np.asarray(self.trials * special.logsumexp(padded, axis=-1))

    def statistic(self, x: Data) -> Array:
        """u(x): the indicators or counts of all levels but the last."""
        return np.asarray(self.distribution.statistic(x))[..., :-1]

    def mean_statistic(self) -> Array:
        """E u = ∂A/∂η."""
        return np.asarray(self.distribution.mean_statistic())[..., :-1]

    def covariance_statistic(self) -> Array:
        """Cov u = ∂²A/∂η²."""
        return np.asarray(self.distribution.covariance_statistic())[..., :-1, :-1]

    def from_natural(self, eta: Array) -> Any:
        """The distribution with another η, (…, L − 1)."""
        at = np.asarray(eta, dtype=float)
        padded = np.concatenate([at, np.zeros((*at.shape[:-1], 1))], axis=-1)
        return self.distribution.from_natural(padded)
