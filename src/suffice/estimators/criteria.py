"""What a number of components costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.types import Array, Data


class Criteria:
    """What a number of components costs: for estimators whose ``score_samples`` is a log density."""

    distribution_: Any
    score_samples: Callable[[Any], Array]

    def bic(self, X: Data) -> float:
        """Schwarz's criterion on the rows, p log n − 2 log L: lower is better."""
        scores = self.score_samples(X)
        return float(self.distribution_.n_parameters * np.log(len(scores)) - 2.0 * scores.sum())

    def aic(self, X: Data) -> float:
        """Akaike's criterion on the rows, 2p − 2 log L: lower is better."""
        return float(2.0 * self.distribution_.n_parameters - 2.0 * self.score_samples(X).sum())
