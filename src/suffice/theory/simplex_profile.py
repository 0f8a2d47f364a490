"""The profile of one probability among several: the others are best in proportion to their own estimates."""

from __future__ import annotations

import numpy as np

from suffice.core.family import Family
from suffice.core.parameters import UNIT
from suffice.errors import ParameterError, UnsupportedError
from suffice.statistics.weights import Weights
from suffice.theory.paths import Path, display_name, parameter_at, with_parameter
from suffice.types import Rows


def is_entry_of_simplex(model: Family, path: Path) -> bool:
    """Whether a path names one entry of a vector of probabilities of a family."""
    if len(path) < 2 or model.blocks or path[0] not in model.specs():
        return False
    domain = model.specs()[path[0]].domain
    return bool(domain.core == 1 and domain.rule is not None)


class SimplexProfile:
    """Log L at a value v of one probability, Σ_i c_i log p_i with p_i = (1 − v) c_i / Σ_{i≠j} c_i for the others."""

    improved = False
    rounding = 9e-16  # relative accuracy of the ends of an interval
    period = None
    domain = UNIT
    scale = 1.0

    def __init__(self, model: Family, rows: Rows, weights: Weights, path: Path) -> None:
        if path[0] in model.fixed:
            msg = f"{path[0]} is fixed, so it has no profile; give a prototype that leaves it free."
            raise ParameterError(msg)
        if not model.exact:
            msg = f"the profile of {display_name(path)} needs counts, and {model.name} has no exact statistics."
            raise UnsupportedError(msg)
        self.stats, self.path = model.suffstats(rows, weights), path
        self.best = model.for_statistics(self.stats).estimate(self.stats)
        at = parameter_at(self.best, path)
        if np.ndim(at):
            msg = f"a profile is of one number; say which entry of {display_name(path)}, as in ({path[0]!r}, 0)."
            raise UnsupportedError(msg)
        self.at, self.highest = float(at), self(float(at))

    def __call__(self, value: float) -> float:
        """Log L at the value."""
        with np.errstate(all="ignore"):
            log_likelihood = float(with_parameter(self.best, self.path, value).log_likelihood(self.stats))
        return -np.inf if np.isnan(log_likelihood) else log_likelihood
