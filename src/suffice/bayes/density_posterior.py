"""Beliefs of any shape: a prior density of one to three parameters, updated by adaptive quadrature."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice.bayes.coordinates import Bulk, LogDensity, Space, candidates, find_bulk, maximise_from, polish
from suffice.bayes.integral import TOLERANCES, ImproperError, Integral, integrate, refuse_improper
from suffice.bayes.integral_tails import Tails, refuse_bulk_at_an_end, refuse_improper_tails
from suffice.bayes.predictive import Averaged
from suffice.bayes.prior_function import at_points, called, of_function, refuse_overflow
from suffice.bayes.probability import Probability, by_parameter, holds
from suffice.core.family import Family
from suffice.display.posterior_summary import Belief
from suffice.engines.once import cached_property
from suffice.errors import ParameterError
from suffice.types import Alert, Array, Seed

MOST = 3  # parameters that a density may speak of
IMPROPER = (
    "the posterior is proper, but the evidence is undefined.",
    "the estimate is the mode of likelihood × prior, and the log-posterior leaves out the constant of the prior.",
)


@dataclass(frozen=True, eq=False, repr=False)
class DensityPosterior(Belief):
    """What is believed of one to three parameters after the data, from a prior density of any shape.

    Where prior and likelihood are smooth the answers are right to about 1e-10; where they jump, to 1e-10 for one
    parameter, 1e-8 for two and 1e-6 for three.

    It has the face of :class:`suffice.Posterior`, and is itself a density: it is accepted wherever a prior is.
    Answers about one parameter are numbers or arrays; about several, dictionaries by parameter name.
    """

    likelihood: Family
    prior: Any
    log_likelihood: LogDensity = field(repr=False)
    space: Space = field(repr=False)
    starts: tuple[Array, ...] = field(repr=False, default=())
    mode_only: bool = field(repr=False, default=False)  # then a prior without a finite integral will do
    column_names: tuple[Any, ...] | None = field(repr=False, default=None)

    def __post_init__(self) -> None:
        """Look at the prior, so that a wrong one is refused at once."""
        if self.improper is not None and not self.mode_only:
            self._refuse_improper_posterior()
        if not np.isfinite(self.bulk.log_peak):
            names = ", ".join(self.names)
            msg = (
                f"prior and data exclude each other: no value of ({names}) was found that has a positive prior density "
                "and a positive likelihood. Widen the prior."
            )
            raise ParameterError(msg)

    # ---- the parts of Bayes' rule ---------------------------------------------------------------------------------
    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that the belief speaks of."""
        return tuple(axis.name for axis in self.space.axes)

    @cached_property
    def _log_prior(self) -> LogDensity:
        if isinstance(self.prior, DensityPosterior):
            return self.prior.log_density
        if callable(self.prior):
            return of_function(self.prior, self.space, capped=self.improper is not None)
        belief = getattr(self.prior, "belief", self.prior)
        return lambda theta: np.asarray(belief.log_prob(theta[:, 0]))

    @cached_property
    def _prior_bulk(self) -> Bulk:
        if isinstance(self.prior, DensityPosterior):
            return self.prior.bulk
        prior = of_function(self.prior, self.space) if callable(self.prior) else self._log_prior
        bulk = find_bulk(self.space.lift(prior), self.space, list(self.starts))
        if not np.isfinite(bulk.log_peak):
            msg = (
                f"the prior is 0 at every value of ({', '.join(self.names)}) that was tried. "
                "Check its range, and that it returns a density and not its logarithm."
            )
            raise ParameterError(msg)
        return bulk

    @cached_property
    def _beyond(self) -> float:
        if isinstance(self.prior, DensityPosterior):
            return -np.inf
        prior = of_function(self.prior, self.space) if callable(self.prior) else self._log_prior
        return refuse_improper(self.space.lift(prior), self.space, self._prior_bulk)

    @cached_property
    def improper(self) -> str | None:
        """Why the integral of the prior is infinite; None where it is finite."""
        try:
            _ = self._beyond
        except ImproperError as error:
            return str(error)
        return None

    def _refuse_improper_posterior(self) -> None:
        """Refuse an improper prior where likelihood × prior has no finite integral, or no value in its bulk."""
        refuse_bulk_at_an_end(self.space, self.bulk)
        _ = self._tails
        refuse_overflow(self.prior, self._nodes[0], self.names)

    @cached_property
    def _tails(self) -> tuple[Tails, ...]:
        """How each parameter's density ends under an improper prior, the others integrated out."""
        return tuple(refuse_improper_tails(self._marginal(j)) for j in range(self.space.size))

    @cached_property
    def _log_prior_total(self) -> float:
        """The log of the prior's integral: 0 for a density, and by convention for one that has none."""
        if isinstance(self.prior, DensityPosterior) or self.improper is not None:
            return 0.0
        return integrate(self.space.lift(self._log_prior), self.space, self._prior_bulk).log_total

    def _log_joint(self, theta: Array) -> Array:
        """Log prior (as given) + log-likelihood."""
        prior = self._log_prior(theta)
        possible = prior > -np.inf
        out = np.full(len(theta), -np.inf)
        if possible.any():
            out[possible] = prior[possible] + self.log_likelihood(theta[possible])
        return out

    @cached_property
    def bulk(self) -> Bulk:
        """Where the belief is, in coordinates."""
        starts = list(self.starts) if self.improper is not None else [*self.starts, self._prior_bulk.centre]
        return find_bulk(self.space.lift(self._log_joint), self.space, starts)

    @property
    def _others(self) -> tuple[Bulk, ...]:
        """Where else to look closely: where the prior has its bulk, if it has one."""
        return () if self.improper is not None else (self._prior_bulk,)

    @cached_property
    def _integral(self) -> Integral:
        return self._marginal(0)

    def _marginal(self, axis: int, loose: float = 1.0) -> Integral:
        done = self.__dict__.setdefault("_marginals", {})
        if (axis, loose) not in done:
            lifted = self.space.lift(self._log_joint)
            done[axis, loose] = integrate(lifted, self.space, self.bulk, self._others, axis, loose)
        found: Integral = done[axis, loose]
        return found

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        """Parameters (N, p) and their shares: the belief as a fine mixture of points."""
        t, shares = self._integral.rule.all_nodes(self._integral.panels)
        return self._integral.points(t), shares

    # ---- answers ----------------------------------------------------------------------------------------------------
    def _answer(self, values: list[Any]) -> Any:
        return values[0] if self.space.size == 1 else dict(zip(self.names, values, strict=True))

    @property
    def log_evidence(self) -> float:
        """Log ∫ likelihood × prior, the prior normalised; NaN under an improper prior, which has no constant."""
        if self.improper is not None:
            return float("nan")
        return self._integral.log_total - self._log_prior_total

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        theta, shares = self._nodes
        mean = shares @ theta
        std = np.sqrt(shares @ np.square(theta - mean))
        if self.improper is not None:
            lost = np.where([axis.bounded == (False, False) for axis in self.space.axes], np.nan, np.inf)
            mean = np.where([one.has_moment(1) for one in self._tails], mean, lost)
            std = np.where([one.has_moment(2) for one in self._tails], std, np.inf)
        return mean, std

    @property
    def mean(self) -> Any:
        """The expected parameter."""
        return self._answer(self._moments[0].tolist())

    @property
    def std(self) -> Any:
        """The standard deviation of the parameter."""
        return self._answer(self._moments[1].tolist())

    @property
    def mode(self) -> Any:
        """The most probable parameter: the MAP estimate."""
        return self._answer(self._peak[0].tolist())

    @cached_property
    def _peak(self) -> tuple[Array, str | None]:
        """The mode, and the parameter (if any) whose bound it touches."""

        def log_g(u: Array) -> Array:
            return self._log_joint(self.space.values(u))

        starts = [self.bulk.centre, *self.starts]
        best = maximise_from(log_g, self.space, candidates(self.space, starts))
        log_peak, central = log_g(np.stack([best, self.bulk.centre]))
        if central >= log_peak - 1e-12 * (1 + abs(log_peak)):  # flat: any point is a mode, the middle one is returned
            best = self.bulk.centre
        best = polish(log_g, best, self.bulk.scale)
        theta, log_peak = self.space.values(best[None])[0], float(log_g(best[None])[0])
        if self.improper is not None and self.mode_only:
            self._refuse_endless(best)
        touched = None
        for j, axis in enumerate(self.space.axes):
            for side, bound in enumerate((axis.domain.low, axis.domain.high)):
                if not np.isfinite(bound):
                    continue
                near = abs(best[j]) > 30.0 and (best[j] > 0) == bool(side)
                trial = np.where(np.arange(self.space.size) == j, bound, theta)
                value = self._at_bound(trial) if axis.domain.closed[side] else -np.inf
                if value > log_peak + 1e-9 or (near and value >= log_peak - 1e-9):
                    theta, touched = trial, axis.name
                elif near:
                    touched = axis.name
        return theta, touched

    def _refuse_endless(self, best: Array) -> None:
        """Refuse a product of likelihood and prior that rises for ever: it has no mode."""
        for j, axis in enumerate(self.space.axes):
            for side, bound in enumerate((axis.domain.low, axis.domain.high)):
                near = abs(best[j] - axis.limits[side]) < 1e-6 * abs(axis.limits[side])
                if near and not axis.domain.closed[side]:
                    msg = (
                        f"likelihood × prior has no maximum: it rises without end as {axis.name} goes to {bound:g}, "
                        "and the integral of the prior diverges. Give a proper density."
                    )
                    raise ParameterError(msg)

    def _at_bound(self, theta: Array) -> float:
        """Log prior + log-likelihood on a bound, where a density may well be infinite or undefined."""
        if callable(self.prior) and not isinstance(self.prior, DensityPosterior):
            with np.errstate(all="ignore"):
                prior = float(np.log(called(self.prior, [theta[i : i + 1] for i in range(len(theta))], self.names))[0])
        else:
            prior = float(self._log_prior(theta[None])[0])
        value = prior + float(self.log_likelihood(theta[None])[0])
        return -np.inf if np.isnan(value) else value

    def interval(self, level: float = 0.95) -> Any:
        """The central credible interval (low, high) of each parameter by itself."""
        if not 0 < level < 1:
            msg = f"interval needs a level strictly between 0 and 1; got {level!r}."
            raise ParameterError(msg)
        ends = np.array([(1 - level) / 2, (1 + level) / 2])
        found = []
        for j in range(self.space.size):
            whole = self._marginal(j)
            low, high = whole.marginal(whole.panels.quantile(np.zeros(2, int), ends, 1)).tolist()
            found.append((low, high))
        return self._answer(found)

    def marginal_density(self, name: str, values: Array) -> Array:
        """The density of one parameter by itself, the others integrated out."""
        whole, axis = self._marginal(self.names.index(name)), self.space.axes[self.names.index(name)]
        u = np.array([axis.coordinate(float(value)) for value in np.ravel(values)])
        centre, scale = self.bulk.centre[whole.order[0]], self.bulk.scale[whole.order[0]]
        t = np.arcsinh((u - centre) / scale)
        stretch = np.exp(axis.log_slope(u)) * scale * np.cosh(t)
        density = whole.rule.inner(t[:, None]) / float(whole.panels.masses.sum()) / stretch
        return np.asarray(density.reshape(np.shape(values)))

    def cdf(self, t: float | None = None, /, **named: Any) -> Any:
        """P(θ ≤ t | data), of the only parameter, or by name of each by itself, the others integrated out."""

        def below(name: str, value: Array) -> Any:
            j = self.names.index(name)
            whole, axis = self._marginal(j), self.space.axes[j]
            flat = np.ravel(value)
            inside = (flat > axis.domain.low) & (flat < axis.domain.high)
            found = np.where(flat >= axis.domain.high, 1.0, 0.0)
            u = np.array([axis.coordinate(float(one)) for one in flat[inside]])
            found[inside] = whole.panels.cumulative(np.arcsinh((u - self.bulk.centre[j]) / self.bulk.scale[j]))
            return float(found[0]) if np.ndim(value) == 0 else found.reshape(np.shape(value))

        return by_parameter(below, self.names, t, named)

    def prob(self, predicate: object, random_state: Seed = None) -> Probability:
        """P(statement about θ | data), by quadrature; ``predicate`` takes the parameters by position, as arrays."""
        del random_state
        names = self.names

        def log_joint(theta: Array) -> Array:
            true = holds(predicate, names, [np.ascontiguousarray(column) for column in theta.T])
            out = np.full(len(theta), -np.inf)
            if true.any():
                out[true] = self._log_joint(theta[true])
            return out

        found = integrate(self.space.lift(log_joint), self.space, self.bulk, self._others)
        error = max(self._integral.error, TOLERANCES[self.space.size][0])
        return Probability(float(np.exp(found.log_total - self._integral.log_total)), error)

    def sample(self, n: int = 1, random_state: Seed = None) -> Any:
        """Draw parameters: (n,), or a dictionary of (n,) arrays."""
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            msg = f"sample needs a whole number of draws of at least 0; got {n!r}."
            raise ParameterError(msg)
        rng = np.random.default_rng(random_state)
        levels = rng.random((self.space.size, n))
        whole = self._integral if self.space.size == 1 else self._marginal(0, 1e3)
        t = whole.panels.quantile(np.zeros(n, int), levels[0], 1)[:, None]
        for j in range(1, self.space.size):  # each further parameter given those drawn before
            drawn = []
            for i in range(0, n, 256):
                panels = whole.rule.panels(t[i : i + 256])
                count = len(t[i : i + 256])
                drawn.append(panels.quantile(np.arange(count), levels[j, i : i + 256], count))
            t = np.column_stack([t, np.concatenate(drawn)]) if drawn else np.zeros((0, j + 1))
        return self._answer(list(whole.points(t).T))

    def log_density(self, theta: Array) -> Array:
        """Log density of the belief at parameters (N, p); −inf outside their domains."""
        inside = np.all([axis.domain.contains(theta[:, i]) for i, axis in enumerate(self.space.axes)], axis=0)
        out = np.full(len(theta), -np.inf)
        if inside.any():
            out[inside] = self._log_joint(theta[inside]) - self._integral.log_total
        return out

    def log_prob(self, parameter: object) -> Any:
        """Log density of the belief at a parameter, or at a dictionary of them."""
        values = [parameter[name] for name in self.names] if isinstance(parameter, dict) else [parameter]
        if len(values) != self.space.size:
            msg = f"this belief speaks of {', '.join(self.names)}: give log_prob a dictionary of them."
            raise ParameterError(msg)
        arrays = np.broadcast_arrays(*(np.asarray(value, dtype=float) for value in values))
        out = self.log_density(np.stack([array.ravel() for array in arrays], axis=1)).reshape(arrays[0].shape)
        return float(out) if out.ndim == 0 else out

    def __call__(self, *parameters: Any) -> Any:
        """The density itself, the parameters by position: this belief as a prior."""
        return np.exp(self.log_prob(dict(zip(self.names, parameters, strict=True))))

    def prior_density(self, values: Array) -> Array:
        """The (normalised) prior of a belief about one parameter."""
        points = np.reshape(np.asarray(values, dtype=float), (-1, 1))
        return np.asarray(np.exp(self._log_prior(points) - self._log_prior_total).reshape(np.shape(values)))

    def log_prior(self, learned: Family) -> float:
        """Log density of the (normalised) prior at the parameters of a likelihood."""
        theta = np.array([float(getattr(learned, name)) for name in self.names])
        value = self._at_bound(theta) - float(self.log_likelihood(theta[None])[0])
        return value - self._log_prior_total

    def predictive(self) -> Any:
        """The distribution of a new row, the parameters averaged over the belief."""
        theta, shares = self._nodes
        order = np.argsort(shares)
        order = order[np.cumsum(shares[order]) > 1e-15]
        theta, shares = theta[order], shares[order]
        stack = at_points(self.likelihood, theta)
        if self.likelihood.support.integer and (self.likelihood.support.low, self.likelihood.support.high) == (0, 1):
            # Over 0 and 1 an average of components is a component.
            mean = np.reshape(shares @ np.asarray(stack.mean)[:, 0], (1, 1))
            return self.likelihood.like(replace(self.likelihood.stacked, fixed=frozenset()).from_mean(mean))
        return Averaged(stack, shares)

    def estimate(self) -> Any:
        """The likelihood at the mode of the belief."""
        return replace(self.likelihood, **dict(zip(self.names, self._peak[0].tolist(), strict=True)))

    @cached_property
    def alerts(self) -> tuple[Alert, ...]:
        """What to know before trusting the answers."""
        found: list[Alert] = []
        if self.improper is not None:
            found.append(Alert("improper", f"the integral of the prior diverges: {IMPROPER[self.mode_only]}"))
        total = float(np.exp(self._log_prior_total))
        if self.improper is None and abs(total - 1) > 1e-6:
            share = f"has {total:.6g} of its probability where {self.names[0]} may lie"
            what = f"integrates to {total:.6g}, not to 1" if callable(self.prior) else share
            found.append(Alert("normalised", f"the prior {what}; it was divided by that."))
        if self._peak[1]:
            found.append(Alert("boundary", f"the most probable {self._peak[1]} lies on the boundary of its domain."))
        if self.improper is not None and self.mode_only:
            return tuple(found)
        if self.improper is None:
            beyond = float(np.exp(self._beyond - self._log_prior_total))
        else:
            beyond = max(one.beyond for one in self._tails)
        doubt = max(self._integral.error, beyond)
        if doubt > max(1e-7, 10 * TOLERANCES[self.space.size][0]):
            found.append(Alert("inexact", f"the quadrature leaves a relative error of about {doubt:.1g}."))
        return tuple(found)

    def __repr__(self) -> str:
        """Show what is believed, and the evidence."""
        mean = ", ".join(f"{name} {m:.4g} ± {s:.2g}" for name, m, s in zip(self.names, *self._moments, strict=True))
        return f"Posterior({mean} of {self.likelihood.name}, log_evidence={self.log_evidence:.6g})"
