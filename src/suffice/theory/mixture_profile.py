"""The profile of one parameter of a mixture: EM with that parameter held, from the maximum next to the given one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from suffice.core.parameters import UNIT, Domain
from suffice.em.fit import fit
from suffice.em.loop import run_em
from suffice.em.training import TrainingData
from suffice.errors import DataError, ParameterError, UnsupportedError
from suffice.models.mixture import Mixture
from suffice.models.stack import Stack
from suffice.statistics.sums import Statistics
from suffice.statistics.weights import Weights
from suffice.theory.paths import Path, display_name, domain_at, family_at, parameter_at, with_parameter
from suffice.types import Array, Rows

PASSES = 1000
HIGHER = 1e-7  # relative rise of log L that is another maximum, not the end of the same run
STARTS = 3  # maxima from which EM is begun
ROUNDS = 5  # times that a profile is begun again because a higher maximum was found
TOLERANCE = 1e-10  # relative change of log L at which a run ends


@dataclass(frozen=True, eq=False, repr=False)
class HeldWeight(Mixture, register=False):
    """A mixture with one weight held; the M-step gives the others what is left, in proportion to their rows."""

    held: Any = field(default=None, kw_only=True)  # (component, weight)

    def estimate(self, stats: Statistics, prior: Any = None) -> Self:
        """M-step under the held weight."""
        learned = super().estimate(stats, prior)
        found: Self = with_parameter(learned, ("weights", self.held[0]), self.held[1])
        return found


class MixtureProfile:
    """Log L at a value of one parameter of a mixture, the others at their best."""

    rounding = 1e-6  # relative accuracy of the ends of an interval: runs end where log L is flat

    def __init__(self, mixture: Mixture, rows: Rows, weights: Weights, path: Path) -> None:
        """Find the maximum next to the given mixture; where its components are equal, that of a fit."""
        self.path, self.name = path, display_name(path)
        self.rows, self.weights = rows, weights
        if mixture.is_symmetric:
            mixture = fit(mixture, rows, weights=weights.values, random_state=0).distribution
        value = parameter_at(mixture, path)
        self._check(mixture, value)
        start = mixture.initialize(rows, weights, np.random.default_rng(0), mixture, None)[0]
        self.maxima: list[Any] = []  # that were found, the highest last: EM is begun at each of the last few
        self._adopt(self._learn(start))
        domain = domain_at(self.best, path)
        self.domain: Domain = UNIT if domain.core == 1 and domain.rule is not None else domain
        self.period: float | None = None
        self.improved = False  # a higher maximum was found on the way, and is the best now

    def _adopt(self, best: Mixture) -> None:
        self.best, self.at = best, float(parameter_at(best, self.path))
        self.maxima = [*self.maxima[1 - STARTS :], best]
        self.highest = self._log_likelihood(best)

    def _check(self, mixture: Mixture, value: Array | float) -> None:
        family, name = family_at(mixture, self.path)
        if np.ndim(value):
            msg = f"a profile is of one number; {self.name} has {np.size(value)} of them: say which, as in .params[…]."
            raise UnsupportedError(msg)
        if name not in family.free:
            msg = f"{self.name} is fixed, so it has no profile; give a prototype that leaves it free."
            raise ParameterError(msg)
        number = not family.is_mixture
        if number and (family.specs()[name].domain.core or family.row_vector or self._column() != "one"):
            msg = (
                f"a profile of a mixture is of one of its weights, or of a number of a component over one column; "
                f"{self.name} is neither. theory.likelihood gives its curve with the other parameters held."
            )
            raise UnsupportedError(msg)

    def _column(self) -> str:
        numbers = [step for step in self.path if not isinstance(step, str)]
        return "one" if len(numbers) == 1 and len(self.path) == 2 else "several"

    @property
    def scale(self) -> float:
        """A length on which the parameter moves."""
        family, name = family_at(self.best, self.path)
        if family.is_mixture:
            return 0.1
        return float(np.ravel(np.asarray(self._component(self.best).scale_of(name), dtype=float))[0])

    def _component(self, mixture: Mixture) -> Any:
        return mixture.parts[self._place()]

    def _place(self) -> int:
        return int(next(step for step in self.path if not isinstance(step, str)))

    def _hold(self, start: Mixture, value: float) -> Any:
        moved = with_parameter(start, self.path, value)
        if self.path[0] == "weights":
            return HeldWeight(moved.components, weights=moved.weights, floors=moved.floors, held=(self.path[1], value))
        name = next(step for step in self.path if isinstance(step, str))
        if name in getattr(moved.components, "tied", ()):
            return replace(moved, components=moved.components.fix(name))
        parts = list(moved.parts)
        parts[self._place()] = parts[self._place()].fix(name)
        return replace(moved, components=Stack(tuple(parts)), n=None)

    def _learn(self, start: Mixture) -> Any:
        data = TrainingData.read(start, self.rows, self.weights)
        return run_em(start, data, max_iter=PASSES, tol=TOLERANCE).distribution

    def _log_likelihood(self, mixture: Mixture) -> float:
        rows = mixture.read(self.rows) if mixture.components.heterogeneous else self.rows
        with np.errstate(all="ignore"):
            return float(mixture.measured_log_likelihood(mixture.suffstats(rows, self.weights)))

    def __call__(self, value: float) -> float:
        """Log L at the value."""
        if not bool(self.domain.contains(np.asarray(value, dtype=float))):
            msg = f"{self.name} must be {self.domain.words}; got {value!r}."
            raise ParameterError(msg)
        return max(self._log_likelihood_from(start, value) for start in self.maxima)

    def _log_likelihood_from(self, start: Mixture, value: float) -> float:
        """Log L at the value, where EM begins at one of the maxima."""
        try:
            learned = self._learn(self._hold(start, value))
        except DataError:  # this value excludes some rows
            return -np.inf
        log_likelihood = self._log_likelihood(learned)
        if log_likelihood > self.highest + HIGHER * (1 + abs(self.highest)):
            freed = replace(
                self.best, components=self.best.components.with_parameters_of(learned.parts, learned.weights)
            )
            self._adopt(self._learn(replace(freed, weights=learned.weights)))
            self.improved = True
        return -np.inf if np.isnan(log_likelihood) else log_likelihood
