"""Amounts and counts with many zeros: nothing with one probability, otherwise another family."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from suffice.core.family import Family
from suffice.core.iterative_family import IterativeFamily
from suffice.core.parameters import COUNT, NONNEGATIVE, POSITIVE, REAL, SUCCESS, UNIT, parameter
from suffice.display.values import ColumnSummary, chance
from suffice.distributions.bernoulli import Bernoulli
from suffice.distributions.beta import Beta
from suffice.distributions.gamma import Gamma
from suffice.distributions.hurdle_prior import estimate_others, log_prior_of_others, weak_prior_of_others
from suffice.distributions.lognormal import LogNormal
from suffice.distributions.normal import Normal
from suffice.distributions.zero_truncated import ZeroTruncatedNegativeBinomial, ZeroTruncatedPoisson
from suffice.errors import ParameterError
from suffice.numerics.special import binary_divergence
from suffice.statistics.estimated import Estimated
from suffice.statistics.moments import Moments
from suffice.statistics.sums import Parts, Sums, pooled
from suffice.types import Alert, Array, Prior

if TYPE_CHECKING:
    from suffice.statistics.weights import Weights


@dataclass(frozen=True, eq=False, repr=False)
class HurdleFamily(Family, register=False):
    r"""Zero with probability ``zero``, otherwise a value of another family.

    The statistics are those of a :class:`Bernoulli` (zero or not) and of the other family over the values that are not
    zero: as exact as that family's.
    """

    zero: Any = parameter(UNIT, default=0.5, typical=(0.1, 0.6))

    other: ClassVar[Any]  # the family of values that are not zero
    names: ClassVar[dict[str, str]]  # of its parameters: here, and there
    atoms: ClassVar[tuple[float, ...]] = (0.0,)

    # ---- the two parts ------------------------------------------------------------------------------------------
    @property
    def is_zero(self) -> Bernoulli:
        """Whether a value is zero, as a distribution."""
        marks = [frozenset({"p"} if "zero" in names else ()) for names in (self.fixed, self.tied)]
        return Bernoulli(self.zero, fixed=marks[0], tied=marks[1])

    @property
    def nonzero(self) -> Any:
        """The distribution of values that are not zero."""
        values: dict[str, Any] = {there: getattr(self, here) for here, there in self.names.items()}
        fixed, tied = (
            frozenset(there for here, there in self.names.items() if here in marked)
            for marked in (self.fixed, self.tied)
        )
        return self.other(**values, fixed=fixed, tied=tied)

    def with_parts(self, is_zero: Any, nonzero: Family) -> Self:
        """The family with these two parts."""
        values: dict[str, Any] = {here: getattr(nonzero, there) for here, there in self.names.items()}
        return replace(self, zero=is_zero.p, **values)

    @property
    def exact(self) -> bool:
        """Whether one pass is enough."""
        return bool(self.nonzero.exact)

    # ---- rows ---------------------------------------------------------------------------------------------------
    def log_cell(self, x: Array) -> Array:
        zero = np.asarray(self.zero)
        inside = np.where(x == 0, np.nan, x)
        with np.errstate(all="ignore"):
            other = np.where(zero < 1, np.log1p(-zero) + self.nonzero.log_cell(inside), -np.inf)
            return np.where(x == 0, np.log(zero), other)

    def gather(self, x: Array, w: Weights) -> Parts:
        x, _ = self.check_support(x, w)
        outside = ~self.support.contains(x)  # missing, or of rows that count for nobody
        yes = np.where(outside, np.nan, np.asarray(x == 0, dtype=float))
        other = np.where(outside | (x == 0), np.nan, np.asarray(x, dtype=float))
        is_zero, nonzero = self.is_zero, self.nonzero
        parts = is_zero.tag_family(is_zero.gather(yes, w)), nonzero.tag_family(nonzero.gather(other, w))
        return Parts(parts, np.asarray(parts[0].weight))

    # ---- learning -----------------------------------------------------------------------------------------------
    def maximise(self, stats: Parts) -> Self:
        first, second = stats.parts
        is_zero, nonzero = self.is_zero, self.nonzero
        if nonzero.free:
            nonzero = nonzero.maximise(second)
            none = (second.weight == 0) & (second.weight > 0).any(axis=0)  # a component that has seen nothing but zeros
            if none.any():
                nonzero = self.of_all(nonzero, second).stack(self.n_components).choose(none, nonzero)
        return self.with_parts(is_zero.maximise(first) if is_zero.free else is_zero, nonzero)

    def of_all(self, nonzero: Family, stats: Moments | Sums) -> Any:
        """What a component without a value other than zero has in common with the others, which are estimated."""
        return nonzero.unstacked[0].estimate(pooled(stats))

    def likelihood_cells(self, stats: Parts) -> Array:
        first, second = stats.parts
        return np.asarray(self.is_zero.likelihood_cells(first) + self.nonzero.likelihood_cells(second))

    def error_cells(self, stats: Parts) -> dict[str, Array]:
        first, second = stats.parts
        nonzero = self.nonzero
        errors = nonzero.error_cells(second) if nonzero.free else {}
        found = {here: errors[there] for here, there in self.names.items() if there in errors}
        return {"zero": self.is_zero.error_cells(first)["p"], **found} if "zero" in self.free else found

    def alerts(self, stats: Parts) -> tuple[Alert, ...]:
        own = replace(self, fixed=self.fixed | self.names.keys())
        return (*Family.alerts(own, stats), *self.nonzero.alerts(stats.parts[1]))

    def unbiased(self, stats: Any, ddof: float) -> Self:
        nonzero = self.nonzero.unbiased(None if stats is None else stats.parts[1], ddof)
        return self.with_parts(self.is_zero, nonzero)

    # ---- as components of a mixture --------------------------------------------------------------------------------
    @property
    def peak_precision(self) -> Array | None:
        found: Array | None = self.nonzero.peak_precision
        return found

    def widen(self, by: Array) -> Self:
        return self.with_parts(self.is_zero, self.nonzero.widen(by))

    def rounding(self, stats: Parts) -> float:
        return float(self.nonzero.rounding(stats.parts[1]))

    # ---- believing ----------------------------------------------------------------------------------------------
    def estimate(self, stats: Any, prior: Prior = None) -> Self:
        """Parameters from statistics.

        A prior is a :class:`Beta` of ``zero``, ``{"zero": Beta, "others": prior of the base}``, or ``"weak"``.
        """
        if prior is None or "zero" in self.fixed or isinstance(stats, Estimated):
            return super().estimate(stats)
        self.check_family(stats)
        model = super().estimate(stats)
        zero, others = self._beliefs(self.weak_prior(stats) if isinstance(prior, str) else prior)
        stack = model.stacked
        nonzero = stack.nonzero
        if others is not None:
            nonzero = nonzero if self.exact else self.for_statistics(stats).stacked.nonzero  # which gathered them
            nonzero = estimate_others(nonzero, stats.parts[1], others)
        return model.like(stack.with_parts(stack.is_zero.estimate(stats.parts[0], zero).stacked, nonzero))

    def weak_prior(self, stats: Any, part: float = 1.0) -> Any:
        """Of ``zero`` as of a :class:`Bernoulli`, and of the others as of their family."""
        zero: Beta = Bernoulli().weak_prior(stats.parts[0])
        others = weak_prior_of_others(self.nonzero, stats.parts[1], part)
        return zero if others is None else {"zero": zero, "others": others}

    def log_prior(self, prior: Prior) -> Array:
        zero, others = self._beliefs(prior)
        found = self.is_zero.log_prior(zero)
        return found if others is None else found + log_prior_of_others(self.stacked.nonzero, others)

    def _beliefs(self, prior: Prior) -> tuple[Any, Any]:
        """The prior of ``zero``, and that of the others, or None."""
        parts = prior if isinstance(prior, dict) else {"zero": prior}
        zero, others = (getattr(parts.get(name), "belief", parts.get(name)) for name in ("zero", "others"))
        return zero, others

    def resolve_block_prior(self, prior: Any, rows: Any, weights: Any, part: float = 1.0) -> Any:
        if isinstance(prior, dict) or isinstance(getattr(prior, "belief", prior), Beta):
            return prior
        return super().resolve_block_prior(prior, rows, weights, part)

    # ---- asking -------------------------------------------------------------------------------------------------
    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.where(rng.random((n, *self.batch)) < self.zero, 0.0, self.nonzero.draw(n, rng))

    def cumulative(self, x: Array) -> Array:
        return np.asarray((1 - np.asarray(self.zero)) * self.nonzero.cumulative(x) + np.where(x >= 0, self.zero, 0.0))

    def inverse(self, q: Array) -> Array:
        zero, nonzero = np.asarray(self.zero, dtype=float), self.nonzero
        rest = np.where(zero < 1, 1 - zero, 1.0)
        below = (1 - zero) * nonzero.cumulative(np.zeros(np.shape(zero)))
        left, right = np.clip(q / rest, 0, 1), np.clip((q - zero) / rest, 0, 1)
        other = nonzero.inverse(np.where(q < below, left, right))
        return np.where((q >= below) & (q <= below + zero) & (zero > 0), 0.0, other)

    @property
    def mean(self) -> Any:
        """The expected value."""
        return (1 - self.zero) * self.nonzero.mean

    @property
    def var(self) -> Any:
        """The variance."""
        nonzero, rest = self.nonzero, 1 - self.zero
        return rest * nonzero.var + self.zero * rest * np.square(nonzero.mean)

    def kl(self, other: Family) -> Any:
        """D(self‖other) in nats: how much worse ``other`` describes rows that this one makes."""
        if type(other) is not type(self):
            return super().kl(other)
        total = np.sum(np.maximum(self.divergence_cells(other), 0.0), axis=-1)
        return float(total) if np.ndim(total) == 0 else total

    def divergence_cells(self, other: Any) -> Array:
        """Of zero or not, and of the others."""
        rest = self.nonzero.divergence_cells(other.nonzero)
        return np.asarray(
            binary_divergence(self.zero, other.zero) + np.where(self.zero < 1, (1 - self.zero) * rest, 0.0)
        )

    def entropy_cell(self) -> Any:
        return self.is_zero.entropy_cell() + (1 - self.zero) * self.nonzero.entropy_cell()

    def column_summaries(self) -> list[list[ColumnSummary]]:
        """The probability of zero, and what there is to say of the others."""
        stack = self.stacked
        zeros = np.asarray(stack.zero).T
        return [
            [ColumnSummary((*one.pieces, f"zero {chance(p)}"), {**one.numbers, "zero": float(p)}) for one, p in pairs]
            for pairs in (zip(a, b, strict=True) for a, b in zip(stack.nonzero.column_summaries(), zeros, strict=True))
        ]

    def scale_of(self, name: str) -> Any:
        return self.nonzero.scale_of(self.names[name])


@dataclass(frozen=True, eq=False, repr=False)
class HurdleNormal(HurdleFamily):
    r"""Zero with probability ``zero``, otherwise :class:`Normal` with mean ``loc`` and standard deviation ``scale``.

    >>> sf.fit(sf.Hurdle(sf.Normal()), [0.0, 0.0, 1.0, -3.0]).distribution
    HurdleNormal(zero=0.5, loc=-1, scale=2)
    """

    loc: Any = parameter(REAL, default=0.0, typical=(-3.0, 3.0))
    scale: Any = parameter(POSITIVE, default=1.0, typical=(0.3, 3.0))

    support = REAL
    other = Normal
    names: ClassVar[dict[str, str]] = {"loc": "mean", "scale": "std"}


@dataclass(frozen=True, eq=False, repr=False)
class HurdleLogNormal(HurdleFamily):
    r"""An amount that is zero with probability ``zero``, otherwise :class:`LogNormal`.

    >>> sf.fit(sf.Hurdle(sf.LogNormal()), [0.0, *np.exp([1.0, 3.0])]).distribution
    HurdleLogNormal(zero=0.333333, mu=2, sigma=1)
    """

    mu: Any = parameter(REAL, default=0.0, typical=(-2.0, 2.0))
    sigma: Any = parameter(POSITIVE, default=1.0, typical=(0.3, 1.2))

    support = NONNEGATIVE
    other = LogNormal
    names: ClassVar[dict[str, str]] = {"mu": "mu", "sigma": "sigma"}


@dataclass(frozen=True, eq=False, repr=False)
class HurdleGamma(HurdleFamily):
    r"""An amount that is zero with probability ``zero``, otherwise :class:`Gamma`.

    >>> sf.HurdleGamma(0.25, shape=3, rate=2).mean
    1.125
    """

    shape: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 6.0))
    rate: Any = parameter(POSITIVE, default=1.0, typical=(0.2, 5.0))

    support = NONNEGATIVE
    other = Gamma
    names: ClassVar[dict[str, str]] = {"shape": "shape", "rate": "rate"}


@dataclass(frozen=True, eq=False, repr=False)
class HurdlePoisson(HurdleFamily):
    r"""A count that is zero with probability ``zero``, otherwise :class:`Poisson` given that it is not zero.

    Where zeros are more frequent than e^−rate, it is the zero-inflated Poisson; they may be less frequent as well.

    >>> np.exp(sf.HurdlePoisson(0.5, rate=2).log_prob([0, 1])).round(4)
    array([0.5   , 0.1565])
    """

    rate: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 8.0))

    support = COUNT
    discrete = True
    other = ZeroTruncatedPoisson
    names: ClassVar[dict[str, str]] = {"rate": "rate"}
    atoms: ClassVar[tuple[float, ...]] = ()


@dataclass(frozen=True, eq=False, repr=False)
class HurdleNegativeBinomial(HurdleFamily, IterativeFamily):
    r"""A count that is zero with probability ``zero``, otherwise :class:`NegativeBinomial` given that it is not zero.

    Where zeros are more frequent than p^size, it is the zero-inflated negative binomial; they may be less frequent.

    >>> np.exp(sf.HurdleNegativeBinomial(0.5, size=2, p=0.5).log_prob([0, 1])).round(4)
    array([0.5   , 0.1667])
    """

    size: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 6.0))
    p: Any = parameter(SUCCESS, default=0.5, typical=(0.15, 0.8))

    support = COUNT
    discrete = True
    other = ZeroTruncatedNegativeBinomial
    names: ClassVar[dict[str, str]] = {"size": "size", "p": "p"}
    atoms: ClassVar[tuple[float, ...]] = ()
    terms_per_cell = 12
    monotone_from_anywhere = True

    def guess(self, x: Array, weights: Array) -> dict[str, float]:
        others = x != 0
        zero = 1 - float(np.average(others, weights=weights))
        found = self.nonzero.guess(x[others], weights[others]) if others.any() else {"size": 1.0, "p": 0.5}
        return {"zero": zero, **found}

    def of_all(self, nonzero: Any, stats: Any) -> Any:
        """The parameters of the component with most values: sums that depend on parameters cannot be pooled."""
        most = np.argmax(stats.weight, axis=0)[None]
        values = {name: np.take_along_axis(np.asarray(getattr(nonzero, name)), most, 0)[0] for name in self.names}
        return replace(nonzero.unstacked[0], **values)

    def resolve_prior(self, prior: Prior, rows: Array, weights: Weights) -> Any:
        return self.default_prior(rows, weights) if isinstance(prior, str) else prior

    def default_prior(self, rows: Array, weights: Weights, part: float = 1.0) -> Any:
        begun = self.unstacked[0].start(rows, weights)
        return begun.weak_prior(begun.suffstats(rows, weights), part)

    def kl(self, other: Family) -> Any:
        """D(self‖other) in nats, by summation: two sizes have no closed form."""
        return IterativeFamily.kl(self, other)


OF: dict[str, type[HurdleFamily]] = {
    "Normal": HurdleNormal,
    "LogNormal": HurdleLogNormal,
    "Gamma": HurdleGamma,
    "Poisson": HurdlePoisson,
    "NegativeBinomial": HurdleNegativeBinomial,
}


def Hurdle(base: Family, zero: float = 0.5) -> HurdleFamily:  # noqa: N802 (it stands for a family)
    """A family with many zeros: zero with one probability, otherwise ``base``.

    Parameters
    ----------
    base : Distribution
        Normal, LogNormal, Gamma, Poisson or NegativeBinomial, with its parameters and what of them is fixed or tied.
        Counts that are not zero are those of a Poisson or NegativeBinomial given that it is not zero.
    zero : Bernoulli
        The probability of zero.

    Returns
    -------
    HurdleFamily
        A prototype, or a value, like any other: HurdleNormal, HurdleLogNormal, HurdleGamma, HurdlePoisson or
        HurdleNegativeBinomial.

    Examples
    --------
    >>> sf.Hurdle(sf.LogNormal(2, 1), zero=0.3)
    HurdleLogNormal(zero=0.3, mu=2, sigma=1)
    """
    kind = OF.get(getattr(base, "name", ""))
    if kind is None:
        msg = f"Hurdle takes one of {', '.join(OF)}, as in Hurdle(LogNormal()); got {base!r:.60}."
        raise ParameterError(msg)
    values: dict[str, Any] = {here: getattr(base, there) for here, there in kind.names.items()}
    marked = [frozenset(h for h, there in kind.names.items() if there in names) for names in (base.fixed, base.tied)]
    return kind(zero, **values, fixed=marked[0], tied=marked[1])
