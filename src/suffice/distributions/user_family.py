"""A user's own exponential family, from u, h and A alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field, replace
from typing import Any, Self

import numpy as np

from suffice.core import exponential_family
from suffice.core.family import Family
from suffice.core.parameters import REAL, VECTOR, parameter
from suffice.distributions.user_support import display_name, domain_of, inside
from suffice.errors import ParameterError
from suffice.numerics import quadrature
from suffice.numerics.derivatives import first_derivative, hessian
from suffice.statistics.sums import Sums
from suffice.types import Alert, Array

# Lengths on which A may be smooth around η, in units of |η| and of 1; the one on which halving changes least is taken.
RATIOS = (4.0, 1.0, 0.25)
DEPENDENT = 1e-9  # least eigenvalue of Cov u in units of the largest: below it, central differences see noise
LENGTHS = (4.0, 1.0, 0.25, 2.0**-6, 2.0**-10, 2.0**-14)


@dataclass(frozen=True, eq=False, repr=False)
class ExponentialFamily(exponential_family.ExponentialFamily, register=False):
    r"""A family of your own: :math:`p(x) = h(x)\, e^{\eta \cdot u(x) - A(\eta)}`.

    Fitting, weights, missing cells, stacks, standard errors, sampling, moments, entropy and quantiles follow from the
    three functions; the derivatives of A are taken numerically, and E u = ∂A/∂η, Cov u = ∂²A/∂η².

    Parameters
    ----------
    u : callable
        The statistic of an array of values: an array of the same shape, or a list of several such arrays.
    h : callable
        The base measure itself (not its logarithm), vectorised; values where it is 0 lie outside the support.
    A : callable
        The log-partition of η, vectorised. With several statistics η comes with them on its first axis, so that
        ``lambda eta: f(eta[0], eta[1])`` is vectorised.
    support : tuple or str
        ``(low, high)``, an interval; ``(low, high, int)``, the whole numbers in it; a ``range``; or ``"integers"``.
        Finite ends belong to the support where h is positive and u finite.
    start : array or callable
        A natural parameter η at which A is finite: a number, or a list for several statistics. Fitting begins there.
    eta : array
        The natural parameter itself, where it is known; a fit sets it.
    fixed, tied : set of str
        Names of parameters that are not learned, and that components share; ``fix`` and ``tie`` set them.

    Examples
    --------
    Rayleigh's distribution, whose scale is √(−1/2η):

    >>> rayleigh = sf.ExponentialFamily(
    ...     lambda x: x**2, lambda x: x, lambda eta: -np.log(-2 * eta), support=(0, np.inf), start=-0.5)
    >>> round(sf.fit(rayleigh, [1.0, 2.0, 3.0]).distribution.eta, 6)
    -0.214286
    """

    u: Any = field(kw_only=False)
    h: Any = field(kw_only=False)
    A: Any = field(kw_only=False)
    support: Any = field(default=(-np.inf, np.inf), kw_only=True)  # type: ignore[misc] # every user has another one
    start: InitVar[Any] = field(default=None, kw_only=True)  # kept as eta; `start` of a family is the verb
    eta: Any = field(default=None, kw_only=True, metadata=parameter(REAL, typical=(-1.0, 1.0)).metadata)

    def __new__(cls, *functions: Any, **options: Any) -> Self:
        """Take the class for several statistics where ``start`` is a vector."""
        made = super().__new__(cls, *functions, **options)
        several = cls is ExponentialFamily and np.ndim(options.get("start", 0.0)) > 0
        return object.__new__(SeveralStatistics) if several else made  # type: ignore[return-value] # a subclass

    def __post_init__(self, start: object) -> None:
        """Check the functions against each other once, when the family is first made."""
        new = self.eta is None
        if new:
            self._check_functions(start)
            object.__setattr__(self, "support", domain_of(self))
            object.__setattr__(self, "eta", start)
        super().__post_init__()
        if new:
            self._check_shapes(start)
            self._check_mass(start)

    @property
    def name(self) -> str:
        return "ExponentialFamily"

    @property
    def discrete(self) -> bool:  # type: ignore[override] # of this family, not of the class
        """Whether the support is made of whole numbers."""
        return bool(self.support.integer)

    # ---- the five formulas --------------------------------------------------------------------------------------
    def statistic(self, x: Array) -> Array:
        return np.asarray(self.u(x), dtype=float)

    def log_base(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.log(np.broadcast_to(np.asarray(self.h(x), dtype=float), np.shape(x))))

    def natural(self) -> Array:
        return np.asarray(self.eta)

    def from_natural(self, eta: Array) -> Self:
        return replace(self, eta=eta)

    def log_partition(self) -> Array:
        return self._partition(np.asarray(self.eta)[..., None] if self._numbers == 0 else np.asarray(self.eta))

    def from_mean(self, mean: Array) -> Self:
        eta = np.broadcast_to(np.asarray(self.eta), mean.shape)
        wide = (eta[..., None], mean[..., None]) if self._numbers == 0 else (eta, mean)
        solved = self._newton(*wide)
        return replace(self, eta=solved[..., 0] if self._numbers == 0 else solved)

    # ---- the log-partition and its derivatives ------------------------------------------------------------------
    @property
    def _numbers(self) -> int:
        """Axes of η beyond the batch: 0 for one statistic, 1 for several."""
        return self.specs()["eta"].domain.core

    def _partition(self, eta: Array) -> Array:
        """A of η (…, m)."""
        with np.errstate(all="ignore"):
            out = self.A(eta[..., 0] if self._numbers == 0 else np.moveaxis(eta, -1, 0))
        return np.asarray(np.broadcast_to(np.asarray(out, dtype=float), eta.shape[:-1]))

    def _slope(self, eta: Array) -> Array:
        """∂A/∂η (…, m)."""
        out = np.empty(eta.shape)
        for i in range(eta.shape[-1]):

            def along(value: Array, i: int = i) -> Array:
                return self._partition(np.where(np.arange(eta.shape[-1]) == i, value[..., None], eta))

            def slope(scale: Array, i: int = i, along: Callable[..., Any] = along) -> Array:
                return first_derivative(along, eta[..., i], scale[..., i])[..., None]

            out[..., i] = _steadiest(slope, eta)[..., 0]
        return out

    def _curvature(self, eta: Array) -> Array:
        """∂²A/∂η² (…, m, m)."""
        m = eta.shape[-1]
        flat = _steadiest(lambda scale: hessian(self._partition, eta, scale).reshape(*scale.shape[:-1], m * m), eta)
        return flat.reshape(*eta.shape, m)

    def _newton(self, eta: Array, mean: Array) -> Array:
        """Maximise η·mean − A(η), which is concave; steps are halved until A is finite and the objective rises."""
        eta, active = np.array(eta), np.ones(eta.shape[:-1], bool)
        value = (eta * mean).sum(axis=-1) - self._partition(eta)
        for _ in range(100):
            gradient, curvature = mean - self._slope(eta), self._curvature(eta)
            good = np.isfinite(curvature).all(axis=(-2, -1)) & np.isfinite(gradient).all(axis=-1) & active
            safe = np.where(good[..., None, None], curvature, np.eye(eta.shape[-1]))
            step = np.where(good[..., None], _newton_step(safe, gradient), 0.0)
            limit = 1e3 * (1 + np.abs(eta))
            step = np.clip(step, -limit, limit)
            for _ in range(60):
                trial = eta + step
                with np.errstate(all="ignore"):
                    after = (trial * mean).sum(axis=-1) - self._partition(trial)
                    worse = ~(np.isfinite(after) & (after >= value - 1e-14 * (1 + np.abs(value))))
                if not worse.any():
                    break
                step[worse] /= 2
            eta, value = np.where(worse[..., None], eta, trial), np.where(worse, value, after)
            active = good & ~worse & (np.abs(step) > 1e-12 * np.abs(eta)).any(axis=-1)
            if not active.any():
                break
        return eta

    def mean_statistic(self) -> Array:
        eta = self.natural()
        return self._slope(eta[..., None])[..., 0] if self._numbers == 0 else self._slope(eta)

    def covariance_statistic(self) -> Array:
        """Cov u(X) = ∂²A/∂η²: the variance of one statistic, else (…, m, m)."""
        eta = self.natural()
        return self._curvature(eta[..., None])[..., 0, 0] if self._numbers == 0 else self._curvature(eta)

    # ---- learning -----------------------------------------------------------------------------------------------
    def maximise(self, stats: Sums) -> Self:
        if "eta" not in self.tied or self.n_components == 1:
            return super().maximise(stats)
        pooled = replace(stats, weight=_pooled(stats.weight), total=_pooled(stats.total), base=_pooled(stats.base))
        return super().maximise(pooled)

    def error_cells(self, stats: Sums) -> dict[str, Array]:
        weight = _pooled(stats.weight) if "eta" in self.tied else stats.weight
        with np.errstate(all="ignore"):
            information = np.asarray(self.covariance_statistic())
            if self._numbers == 0:
                return {"eta": np.sqrt(1 / np.where(weight > 0, weight * information, np.nan))}
            information = weight[..., None, None] * np.where(np.isfinite(information), information, 0.0)
            usable = np.linalg.eigvalsh(information)[..., 0] > 0
            safe = np.where(usable[..., None, None], information, np.eye(information.shape[-1]))
            variance = np.diagonal(np.linalg.inv(safe), axis1=-2, axis2=-1)
            return {"eta": np.sqrt(np.where(usable[..., None], variance, np.nan))}

    def alerts(self, stats: Sums) -> tuple[Alert, ...]:
        found, stack = list(super().alerts(stats)), self.stacked
        seen = stats.weight > 0
        if "eta" not in self.fixed and seen.any() and stack.runs_off(stats)[seen].any():
            text = (
                "no finite η reproduces the mean of u in the data: it lies on the edge of what the family can mean, "
                "and η runs off. Add data, or fix eta."
            )
            found.append(Alert("boundary", text))
        if (
            "eta" not in self.fixed
            and self._numbers
            and _singular(np.asarray(stack.covariance_statistic()))[seen].any()
        ):
            text = (
                "the statistics depend on each other linearly (Cov u is singular), so only some combinations of eta "
                "are identified; the others keep their start. Leave a statistic out."
            )
            found.append(Alert("not identified", text))
        total = np.max(np.abs(np.log(np.asarray(quadrature.cellwise(self, _mass)))))
        if total > 1e-6:
            text = (
                f"at the estimate h·exp(η·u − A) adds up to {np.exp(total):.6g} or its inverse instead of 1: A does "
                "not belong to u and h there, so neither the estimate nor its likelihood is to be trusted."
            )
            found.append(Alert("not normalised", text))
        return tuple(found)

    def runs_off(self, stats: Sums) -> Array:
        """Whether a cell (k, d) has no maximum: its η misses the mean statistic, or rows no longer inform about it."""
        if "eta" in self.tied:
            stats = replace(stats, weight=_pooled(stats.weight), total=_pooled(stats.total))
        eta, mean = self.natural(), self.mean_statistic()
        var = self.covariance_statistic()
        var = var if self._numbers == 0 else np.diagonal(var, axis1=-2, axis2=-1)
        weight = stats.weight.reshape(stats.weight.shape + (1,) * self._numbers)
        with np.errstate(all="ignore"):
            missed = ~(np.abs(stats.mean - mean) <= 1e-6 * np.sqrt(var) + 1e-9 * np.abs(mean))
            blind = ~(weight * var * np.maximum(eta**2, 1.0) > 1e-6)
        return np.asarray((missed | blind).reshape(*stats.weight.shape, -1).any(axis=-1))

    @property
    def mean(self) -> Any:
        """The mean, by quadrature or summation."""
        return quadrature.moment(self, 1)

    # ---- checks -------------------------------------------------------------------------------------------------
    def _check_functions(self, start: object) -> None:
        for name in ("u", "h", "A"):
            if not callable(getattr(self, name)):
                several = " For several statistics give one that returns a list: lambda x: [x, x**2]."
                msg = (
                    f"{self.name}: {name} is a function of arrays; got {type(getattr(self, name)).__name__} "
                    f"{getattr(self, name)!r:.60}.{several if name == 'u' else ''}"
                )
                raise ParameterError(msg)
        if start is None:
            msg = f"{self.name} needs start=, a natural parameter η at which A is finite."
            raise ParameterError(msg)

    def _check_shapes(self, start: object) -> None:
        """Refuse functions that are not vectorised, or a start that A cannot take."""
        x = inside(self.support)
        shapes = {"u": (*x.shape, *np.shape(self.eta)), "h": x.shape}
        for name, formula in (("u", self.statistic), ("h", self.log_base)):
            try:
                with np.errstate(all="ignore"):
                    got = formula(x).shape
            except Exception as error:
                msg = (
                    f"{self.name}: {name} must take an array and answer cell by cell; it raised "
                    f"{type(error).__name__}: {error}. Use NumPy's functions, such as np.log, or np.vectorize."
                )
                raise ParameterError(msg) from error
            if got != shapes[name]:
                msg = (
                    f"{self.name}: {name} of an array of shape {x.shape} has shape {got}, but {shapes[name]} is needed "
                    f"for start={start!r}. Return one number per cell, or a list: an array for each entry of η."
                )
                raise ParameterError(msg)
        self._check_layout()
        if not np.isfinite(self.log_partition()).all():
            msg = f"{self.name}: A is {self.log_partition()} at start={start!r}; start where A is finite."
            raise ParameterError(msg)

    def _check_layout(self) -> None:
        """Refuse an A that is not vectorised, or that looks for the entries of η on another axis than the first."""
        count = np.size(self.eta)
        batch = (count + 1, count + 2)
        eta = np.broadcast_to(np.asarray(self.eta), (*batch, *np.shape(self.eta)))
        entries = ", ".join(f"eta[{i}]" for i in range(min(count, 3))) + (", …" if count > 3 else "")
        layout = (
            "A takes an array of η and answers cell by cell"
            if self._numbers == 0
            else f"A takes one array η of shape ({count}, …), whose entries are {entries}, and answers with the shape …"
        )
        remedy = "Use NumPy's functions, such as np.log, or np.vectorize."
        try:
            with np.errstate(all="ignore"):
                got = np.shape(self.A(np.moveaxis(eta, -1, 0) if self._numbers else eta))
        except Exception as error:
            msg = f"{self.name}: {layout}; it raised {type(error).__name__}: {error}. {remedy}"
            raise ParameterError(msg) from error
        if got not in ((), batch):
            msg = f"{self.name}: {layout}; for … = {batch} it answered with the shape {got}. {remedy}"
            raise ParameterError(msg)

    def _check_mass(self, start: object) -> None:
        total = _mass(self)
        if not abs(np.log(total)) < 1e-6:
            msg = (
                f"{self.name}: at η = {start!r} h·exp(η·u − A) adds up to {total:.8g} over the support, not to 1. "
                f"Correct u, h, A or the support; to keep the others, A must change by {np.log(total):+.6g} there."
            )
            raise ParameterError(msg)

    def __repr__(self) -> str:
        """Show the functions by name."""
        functions = (getattr(f, "__name__", repr(f)) for f in (self.u, self.h, self.A))
        eta = np.array2string(np.asarray(self.eta), precision=6, separator=", ", threshold=12)
        marks = "".join(f".{verb}('eta')" for verb, names in (("fix", self.fixed), ("tie", self.tied)) if names)
        return f"ExponentialFamily({', '.join(functions)}, support={display_name(self.support)}, eta={eta}){marks}"


ExponentialFamily.start = exponential_family.ExponentialFamily.start  # type: ignore[method-assign]


@dataclass(frozen=True, eq=False, repr=False)
class SeveralStatistics(ExponentialFamily, register=False):
    """A user's family whose η is a vector: one entry for each statistic."""

    eta: Any = field(default=None, kw_only=True, metadata=parameter(VECTOR, typical=(-1.0, 1.0)).metadata)

    def statistic(self, x: Array) -> Array:
        return np.stack([np.broadcast_to(np.asarray(part, dtype=float), np.shape(x)) for part in self.u(x)], axis=-1)


def _mass(cell: Family) -> float:
    """What the density adds up to."""
    return quadrature.expectation(cell, np.ones_like)


def _singular(matrices: Array) -> Array:
    """Whether matrices (…, m, m) of second derivatives are singular, to what central differences can tell."""
    size = np.sqrt(np.abs(np.einsum("...ii->...i", matrices)))
    scaled = matrices / np.where(size > 0, size, 1.0)[..., :, None] / np.where(size > 0, size, 1.0)[..., None, :]
    usable = np.asarray(np.isfinite(scaled).all(axis=(-2, -1)))
    values = np.linalg.eigvalsh(np.where(usable[..., None, None], scaled, np.eye(matrices.shape[-1])))
    return np.asarray(usable & (values[..., 0] < DEPENDENT * values[..., -1]))


def _newton_step(curvature: Array, gradient: Array) -> Array:
    """Solve curvature · step = gradient; the shortest step where statistics depend on each other."""
    if gradient.shape[-1] == 1:
        return np.asarray(np.linalg.solve(curvature, gradient[..., None])[..., 0])
    flat = _singular(curvature)
    safe = np.where(flat[..., None, None], np.eye(gradient.shape[-1]), curvature)
    step = np.linalg.solve(safe, gradient[..., None])[..., 0]
    if flat.any():
        inverse = np.linalg.pinv(curvature[flat], rcond=DEPENDENT, hermitian=True)
        step[flat] = (inverse @ gradient[flat][..., None])[..., 0]
    return np.asarray(step)


def _pooled(cells: Array) -> Array:
    return np.broadcast_to(cells.sum(axis=0, keepdims=True), cells.shape)


def _steadiest(derivative: Callable[[Array], Array], eta: Array) -> Array:
    """The derivative on the length scale where halving it changes least; all scales stand on a first axis."""
    size = np.where(eta != 0, np.abs(eta), 1.0)
    scales = np.stack([ratio * size for ratio in RATIOS] + [length * np.ones_like(eta) for length in LENGTHS])
    with np.errstate(all="ignore"):
        values, finer = derivative(np.stack([scales, scales / 2]))
        change = np.abs(values - finer).max(axis=-1)
    steadiest = np.where(np.isnan(change), np.inf, change).argmin(axis=0)
    return np.asarray(np.take_along_axis(values, steadiest[None, ..., None], axis=0)[0])
