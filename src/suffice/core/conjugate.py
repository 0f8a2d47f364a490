"""What pairs a family with its priors: the update, the predictive, the prior that a name stands for."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from suffice.core.formulas import Formulas
from suffice.core.learner import Learner
from suffice.errors import UnsupportedError
from suffice.types import Alert, Array

NO_ROWS = SimpleNamespace(a=0.0, b=0.0, alpha=0.0, shape=0.0, rate=0.0)  # the limit of conjugate priors of no rows


@dataclass(frozen=True, eq=False, repr=False)
class Conjugate(Learner):
    """A family with conjugate priors gives ``conjugates``, ``update`` and ``predict_with``."""

    conjugates: ClassVar[tuple[type[Formulas], ...]] = ()  # the priors that `update` takes
    belief_about: ClassVar[str] = ""  # the one parameter that those priors speak of

    def update(self, stats: Any, prior: Any) -> Any:
        """The conjugate posterior of a stack: the prior plus the statistics."""
        raise self._cannot("be paired with a conjugate prior")

    def reference_belief(self, stats: Any) -> Any:
        """The belief of a stack under its reference prior (:mod:`suffice.bayes.reference`)."""
        return self.update(stats, NO_ROWS)

    def predict_with(self, belief: Any) -> Any:
        """The distribution of a new row, the parameters averaged over the belief."""
        raise self._cannot("be paired with a conjugate prior")

    def log_prior(self, prior: Any) -> Array:
        """Log density of a conjugate prior at this value's parameters, cell by cell."""
        stack, belief = self.stacked, getattr(prior, "belief", prior).stacked
        point = {name: getattr(stack, name) for name in stack.free}
        return np.asarray(belief.log_cell(point.get(self.belief_about) if len(point) == 1 else point))

    def weak_prior(self, stats: Any, part: float = 1.0) -> Any:
        """The prior that ``prior="weak"`` means, which :mod:`suffice.distributions.weak_priors` states for each family.

        ``part`` is the part of the variances of these rows that is expected within a component.
        """
        del stats, part
        raise self._cannot("choose a weak prior by itself, as none gives its mode: give prior= a density")

    def weak_alerts(self, stats: Any) -> tuple[Alert, ...]:
        """What to know of a belief that began with ``prior="weak"``."""
        del stats
        return ()

    def default_prior(self, rows: Any, weights: Any, part: float = 1.0) -> Any:
        """The weak prior of a component, from all rows.

        None where the family has none that it can be estimated under.
        """
        one = self.unstacked[0]
        try:
            found = one.weak_prior(one.first_statistics(rows, weights), part)
            self.estimate(self.suffstats(rows[:2]), found)
        except UnsupportedError:
            return None
        return found

    def resolve_prior(self, prior: Any, rows: Any, weights: Any) -> Any:
        """The prior that a name stands for, where it must be known before the first pass."""
        del rows, weights
        return prior

    def resolve_block_prior(self, prior: Any, rows: Any, weights: Any, part: float = 1.0) -> Any:
        """The conjugate prior of the components of a mixture, by name or as given, or the reason why it is none.

        ``part`` is the part of the variances of all rows that is expected within a component.
        """
        if prior is None or not isinstance(prior, str):
            belief = getattr(prior, "belief", prior)
            if prior is None or isinstance(belief, self.conjugates):
                return prior
            known = [
                one for one in self.conjugates if not any(o is not one and issubclass(o, one) for o in self.conjugates)
            ]
            kinds = " or ".join(one.__name__ for one in known) or "none"
            got = "a function" if callable(prior) else f"{prior!r:.60}"
            msg = (
                f"a component of a mixture takes a conjugate prior, and {self.name} has {kinds}; got {got}. Give that, "
                "'weak', or no prior; a density as a function is for a distribution that is not a mixture."
            )
            raise UnsupportedError(msg)
        check_named(prior)
        return self.default_prior(rows, weights, part)

    def blocks_without_prior(self, prior: Any) -> tuple[str, ...]:
        """The parts that a prior says nothing of."""
        return (self.name,) if prior is None and self.free else ()


@dataclass(frozen=True, eq=False, repr=False)
class Belief(Learner):
    """What a posterior asks of the distribution that is its belief about parameters."""

    inward: ClassVar[str] = "a density that is 0 there"  # what keeps an estimate off the boundary, as a prior

    def expected(self) -> Any:
        """The mean, as a belief about a parameter."""
        return self.mean

    def spread(self) -> Any:
        """The standard deviation, as a belief about a parameter."""
        return self.std

    def point(self) -> Any:
        """A parameter at which this belief has a finite density."""
        return self.expected()


@dataclass(frozen=True, eq=False, repr=False)
class Variational(Learner):
    """The expected log density under a belief about the parameters, as a component and an offset."""

    def expected_component(self, belief: Any) -> tuple[Any, Array]:
        """Components m and offsets (k, d) with E[log p(x | θ)] = log m(x) + offset of each cell, θ under the belief.

        They stand at the expected natural parameter, so the offset is A(E η) − E A(η) ≤ 0.
        """
        raise self._cannot(f"average its log density over {belief.name}")

    def exposure(self, x: Any) -> Array | None:
        """How many times the offset of each cell counts, (n, d); None: once everywhere. Missing cells have none."""
        axes = tuple(range(2, x.ndim))
        if np.isfinite(x.sum()):
            return None
        missing = np.isnan(x).any(axis=axes) if axes else np.isnan(x)
        return np.where(missing, 0.0, 1.0) if missing.any() else None

    def exposed(self, stats: Any) -> Array:
        """The exposure of the rows that statistics were gathered from, (k, d)."""
        return np.asarray(stats.weight).reshape(len(stats.weight), -1)


def check_named(prior: str) -> None:
    """Refuse names of priors that are not known."""
    if prior != "weak":
        msg = f"prior={prior!r} is not known; priors by name are 'weak' and, in sf.posterior, 'reference'."
        raise UnsupportedError(msg)
