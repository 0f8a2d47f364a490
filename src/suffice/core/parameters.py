"""Parameters as data: a domain and a typical range drive validation, documentation and tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from suffice.arguments import has_complex
from suffice.errors import ParameterError
from suffice.numerics.low_rank import LowRank
from suffice.types import Array

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Domain:
    """A set of values: of a parameter, or of the rows that a distribution can produce.

    ``low`` and ``high`` bound it; ``closed`` says which of the two bounds belong to it; ``core`` is the number
    of axes that one value has (0 a number, 1 a vector, 2 a matrix); ``rule`` is a further condition.
    """

    words: str
    low: float = -np.inf
    high: float = np.inf
    closed: tuple[bool, bool] = (False, False)
    integer: bool = False
    core: int = 0
    rule: Callable[[Array], Array] | None = None
    labels: bool = False  # yes and no, or words, rather than amounts

    def contains(self, value: Array) -> Array:
        """Whether each entry (each vector or matrix where ``core`` > 0) lies in the domain; infinities never do."""
        above = value >= self.low if self.closed[0] else value > self.low
        below = value <= self.high if self.closed[1] else value < self.high
        inside: Array = above & below
        if self.integer:
            inside &= value == np.floor(value)
        if self.core:
            inside = np.asarray(inside.all(axis=tuple(range(-self.core, 0))))
        if self.rule is not None:
            inside = inside & self.rule(value)
        return inside

    def clip(self, value: Array) -> Array:
        """Each entry moved to the nearest bound where it lies beyond; the diagonal of a covariance ends at 0."""
        inside = np.clip(value, self.low, self.high)
        if self.rule is _positive_definite:
            inside = np.where(np.eye(value.shape[-1], dtype=bool), np.maximum(inside, 0.0), inside)
        return np.asarray(inside)

    def nearest_inside(self, value: Array) -> Array:
        """Each entry moved to the nearest number of the domain where rounding put it on an open bound or beyond."""
        largest = np.finfo(float).max
        low = self.low if self.closed[0] else np.nextafter(self.low, np.inf)
        high = self.high if self.closed[1] else np.nextafter(self.high, -np.inf)
        return np.clip(value, max(low, -largest), min(high, largest))

    def on_boundary_if_near(self, value: Array, within: Array) -> Array:
        """Each entry on the bound that belongs to the domain and is nearer than ``within``; shares still sum to 1."""
        found = np.where((value - self.low < within) & self.closed[0], self.low, value)
        if self.core and self.rule is not None:
            whole = found.sum(axis=-1, keepdims=True)
            return np.asarray(found / np.where(whole > 0, whole, 1.0))
        return np.asarray(np.where((self.high - value < within) & self.closed[1], self.high, found))

    def on_boundary(self, value: Array) -> Array:
        """Whether each entry sits exactly on a bound that belongs to the domain."""
        on_low = (value == self.low) if self.closed[0] else np.zeros(value.shape, bool)
        on_high = (value == self.high) if self.closed[1] else np.zeros(value.shape, bool)
        return np.asarray(on_low | on_high)


def _sums_to_one(value: Array) -> Array:
    return np.asarray(np.abs(value.sum(axis=-1) - 1.0) <= 1e-8)


def _positive_definite(value: Array) -> Array:
    """Judged on the correlation matrix, so that columns may have very different scales."""
    variances = np.einsum("...ii->...i", value)
    positive = (variances > 0).all(axis=-1)
    spread = np.sqrt(np.where(variances > 0, variances, 1.0))
    scaled = np.where(np.isfinite(value), value, 0.0) / spread[..., :, None] / spread[..., None, :]
    symmetric = np.abs(scaled - np.swapaxes(scaled, -2, -1)).max(axis=(-2, -1), initial=0.0) <= 1e-8
    return np.asarray(positive & symmetric & (surely_above(scaled, 1e-14) or np.linalg.eigvalsh(scaled)[..., 0] > 0))


def surely_above(matrices: Array, least: float) -> bool:
    """Whether all eigenvalues of symmetric matrices (…, d, d) pass d × ``least``, by a Cholesky root, which is faster.

    False proves nothing: it may be rounding.
    """
    d = matrices.shape[-1]
    try:
        np.linalg.cholesky(matrices - least * d * np.eye(d))
    except np.linalg.LinAlgError:
        return False
    return True


REAL = Domain("a finite number")
POSITIVE = Domain("a number above 0", low=0.0)
NONNEGATIVE = Domain("a number of at least 0", low=0.0, closed=(True, False))
UNIT = Domain("a number from 0 to 1", low=0.0, high=1.0, closed=(True, True))
OPEN_UNIT = Domain("a number strictly between 0 and 1", low=0.0, high=1.0)
SUCCESS = Domain("a number above 0 and at most 1", low=0.0, high=1.0, closed=(False, True))
BINARY = Domain("0 or 1 (or False or True)", low=0.0, high=1.0, closed=(True, True), integer=True, labels=True)
LABEL = Domain("a label", labels=True)
COUNT = Domain("a whole number of at least 0", low=0.0, closed=(True, False), integer=True)
NATURAL = Domain("a whole number of at least 1", low=1.0, closed=(True, False), integer=True)
SIMPLEX = Domain("probabilities that sum to 1", low=0.0, high=1.0, closed=(True, True), core=1, rule=_sums_to_one)
OPEN_SIMPLEX = Domain(
    "positive shares that sum to 1", low=0.0, high=1.0, closed=(False, True), core=1, rule=_sums_to_one
)
POSITIVE_VECTOR = Domain("a vector of numbers above 0", low=0.0, core=1)
COUNT_VECTOR = Domain("a vector of whole numbers of at least 0", low=0.0, closed=(True, False), integer=True, core=1)
VECTOR = Domain("a vector of finite numbers", core=1)
COVARIANCE = Domain("a symmetric positive definite matrix", core=2, rule=_positive_definite)


@dataclass(frozen=True)
class Parameter:
    """What is known of a parameter before any data: its domain, its typical range, whether it is ever learned."""

    domain: Domain
    typical: tuple[float, float]
    learned: bool = True
    period: float | None = None  # of an angle
    estimated: bool = False  # what an estimate sets beside the parameters that it learns
    unit: int | None = None  # the power of the rows' unit that it is measured in, where its name does not say it

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...], width: int = 3) -> Array:
        """Typical values of the given batch shape; vectors and matrices get ``width`` entries a side."""
        low, high = self.typical
        if self.domain.rule is _sums_to_one:
            return rng.dirichlet(np.full(width, 3.0), shape)
        if self.domain.core == 2:
            root = rng.normal(size=(*shape, width, width + 2)) * np.sqrt(high / (width + 2))
            return np.asarray(root @ np.swapaxes(root, -2, -1) + low * np.eye(width))
        shape = (*shape, width) if self.domain.core else shape
        if self.domain.integer:
            return rng.integers(int(low), int(high) + 1, shape).astype(float)
        return rng.uniform(low, high, shape)


def parameter(
    domain: Domain,
    *,
    default: Any = None,
    typical: tuple[float, float],
    learned: bool = True,
    period: float | None = None,
    estimated: bool = False,
    unit: int | None = None,
) -> Any:
    """Declare a dataclass field as a parameter."""
    found = Parameter(domain, typical, learned, period, estimated, unit)
    return field(default=default, metadata={"parameter": found})


def described(kind: str, words: str) -> dict[str, tuple[str, str]]:
    """Metadata of a dataclass field that is not a parameter: its type and what it means, for the docstring."""
    return {"described": (kind, words)}


def as_parameter(owner: str, name: str, value: Any, domain: Domain) -> Array:
    """A checked, read-only float64 array of a parameter, or an error that names owner, parameter and value."""
    if isinstance(value, LowRank):
        if domain.rule is _positive_definite and value.finite and (value.diagonal > 0).all():
            return cast("Array", value)
        value = value.dense()
    try:
        whole = np.asarray(value)
        raw = _distinct(whole) if 0 in whole.strides else whole
        objects = raw.dtype.kind == "O" and not has_complex(raw)
        array: Array = raw.astype(np.float64, casting="unsafe" if objects else "same_kind")  # else text is read
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"{owner}: {name} must be {domain.words}; got {value!r:.200}, which is not numeric."
        raise ParameterError(msg) from error
    if array.ndim < domain.core:
        msg = f"{owner}: {name} must be {domain.words}; got {value!r} with {array.ndim} axes instead of {domain.core}."
        raise ParameterError(msg)
    inside = domain.contains(array)
    if not inside.all():
        worst = np.argwhere(~inside)[0]
        where = f" at position {tuple(worst.tolist())}" if worst.size else ""
        got = array[tuple(worst)]
        shown = f"{got:g}" if np.ndim(got) == 0 else np.array2string(got, precision=4, threshold=8)
        msg = f"{owner}: {name} must be {domain.words}; got {shown}{where}."
        raise ParameterError(msg)
    array.flags.writeable = False
    return np.broadcast_to(array, whole.shape) if array.shape != whole.shape else array


def _distinct(array: Array) -> Array:
    """The array without the repetitions that broadcasting made: what all components share is checked and kept once."""
    steps = zip(array.strides, array.shape, strict=True)
    return array[tuple(slice(None) if step or size < 2 else slice(1) for step, size in steps)]
