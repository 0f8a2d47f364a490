"""The kernels: densities on [−1, 1] (the Gaussian: everywhere) that a bandwidth stretches.

A compact kernel is written as Σₚ Aₚ(v) Bₚ(u) of target v and point u, so that sums over points need only Σ w Bₚ(u).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, inf, log, pi, sqrt

import numpy as np
from scipy.special import ndtr

from suffice.types import Array


@dataclass(frozen=True)
class Kernel:
    """A symmetric density K with its roughness ∫K², its variance ∫z²K and its radius."""

    name: str
    roughness: float
    variance: float
    radius: float

    @property
    def canonical(self) -> float:
        """What a Gaussian bandwidth is multiplied by to smooth as much (Marron and Nolan, 1988)."""
        return float((2 * sqrt(pi) * self.roughness / self.variance**2) ** 0.2)

    def log(self, z: Array) -> Array:
        """Log K(z)."""
        raise NotImplementedError

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Random numbers of density K."""
        raise NotImplementedError


@dataclass(frozen=True)
class Gaussian(Kernel):
    """The standard normal density; the bandwidth is its standard deviation."""

    def log(self, z: Array) -> Array:
        return np.asarray(-0.5 * np.square(z) - 0.5 * log(2 * pi))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        return rng.standard_normal(shape)

    def cumulative(self, z: Array) -> Array:
        """Φ(z)."""
        return np.asarray(ndtr(z))


@dataclass(frozen=True)
class Compact(Kernel):
    """A kernel that is 0 beyond the bandwidth."""

    def density(self, z: Array) -> Array:
        """K(z) for |z| < 1."""
        raise NotImplementedError

    def features(self, u: Array, *, integrated: bool) -> Array:
        """Bₚ(u), (p, n)."""
        raise NotImplementedError

    def slopes(self, v: Array, side: int, *, integrated: bool) -> Array:
        """Aₚ(v), (p, n), for points below (1) or above (−1) the target; of ∫K where ``integrated``."""
        raise NotImplementedError

    def log(self, z: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(np.where(np.abs(z) < 1, self.density(np.clip(z, -1, 1)), 0.0))


@dataclass(frozen=True)
class Polynomial(Compact):
    """A polynomial of |z|, by its coefficients."""

    coefficients: tuple[float, ...]

    def density(self, z: Array) -> Array:
        return np.asarray(np.polynomial.polynomial.polyval(np.abs(z), self.coefficients))

    def _series(self, side: int, *, integrated: bool) -> list[float]:
        """Coefficients of z, where z has the sign ``side``."""
        own = [c * side**k for k, c in enumerate(self.coefficients)]
        return [0.5, *(c / (k + 1) for k, c in enumerate(own))] if integrated else own

    def features(self, u: Array, *, integrated: bool) -> Array:
        return np.power(u, np.arange(len(self.coefficients) + integrated)[:, None])

    def slopes(self, v: Array, side: int, *, integrated: bool) -> Array:
        series = self._series(side, integrated=integrated)
        rows = []
        for p in range(len(series)):
            shifted = [(-1.0) ** p * comb(k, p) * series[k] for k in range(p, len(series))]
            rows.append(np.polynomial.polynomial.polyval(v, shifted))
        return np.array(np.broadcast_arrays(*rows))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """By rejection under the highest value of K, at 0."""
        found = np.empty(int(np.prod(shape)))
        left = np.arange(len(found))
        while len(left):
            z = rng.uniform(-1, 1, len(left))
            kept = rng.uniform(0, self.coefficients[0], len(left)) < self.density(z)
            found[left[kept]] = z[kept]
            left = left[~kept]
        return found.reshape(shape)


@dataclass(frozen=True)
class Cosine(Compact):
    """π/4 · cos(πz/2), which angles' sums take apart."""

    def density(self, z: Array) -> Array:
        return np.asarray(pi / 4 * np.cos(pi / 2 * z))

    def features(self, u: Array, *, integrated: bool) -> Array:
        return np.array([np.cos(pi / 2 * u), np.sin(pi / 2 * u), np.ones_like(u)][: 2 + integrated])

    def slopes(self, v: Array, side: int, *, integrated: bool) -> Array:
        cosine, sine = np.cos(pi / 2 * v), np.sin(pi / 2 * v)
        if integrated:
            return np.array([0.5 * sine, -0.5 * cosine, np.full_like(v, 0.5)])
        return np.array([pi / 4 * cosine, pi / 4 * sine])

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        return np.asarray(2 / pi * np.arcsin(rng.uniform(-1, 1, shape)))


KERNELS: dict[str, Kernel] = {
    one.name: one
    for one in (
        Gaussian("gaussian", 1 / (2 * sqrt(pi)), 1.0, inf),
        Polynomial("epanechnikov", 3 / 5, 1 / 5, 1.0, (0.75, 0.0, -0.75)),
        Polynomial("triangular", 2 / 3, 1 / 6, 1.0, (1.0, -1.0)),
        Polynomial("tophat", 1 / 2, 1 / 3, 1.0, (0.5,)),
        Polynomial("biweight", 5 / 7, 1 / 7, 1.0, (15 / 16, 0.0, -15 / 8, 0.0, 15 / 16)),
        Cosine("cosine", pi**2 / 16, 1 - 8 / pi**2, 1.0),
    )
}
