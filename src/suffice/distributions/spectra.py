"""Variances along the axes of components: what volume and shape may share, solved for a (k, d) table.

Σ_k = D_k diag(v_k) D_kᵀ with v_k = λ_k a_k, Π_j a_kj = 1. Given the axes D_k, all that the likelihood knows of the
rows is s_kj = (D_kᵀ S_k D_k)_jj; each rule here finds the v that minimises Σ_k (w_k Σ_j log v_kj + Σ_j s_kj/v_kj),
subject to v ≥ ``least``. The first letter of a rule is the volume λ, the second the shape a: E equal, V variable,
I all 1.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from suffice.types import Array

TOLERANCE = 1e-8  # relative: how far from the rule a given value may be
LIFT = 1e-3  # above the floor, to begin behind a barrier
TINY = 1e-30  # of the least variance, so that logarithms exist
BARRIERS = 0.01 ** np.arange(1, 7)  # the last is what an estimate under a floor may lack of the maximum, per row
MOST_STEPS, SHORTEST = 30, 1e-8  # of each


def lifted(volume: Array, shape: Array, least: Array | float) -> Array:
    """λ_k a_j ≥ least: a column that is too small even in the largest component rises in all, then each volume."""
    v = np.asarray(volume[:, None] * shape)
    if (v >= least).all():
        return v
    low = np.broadcast_to(least, v.shape)
    shape = np.maximum(shape, (low / volume.max()).min(axis=0))
    return np.asarray(np.maximum(volume, (low / shape).max(axis=1))[:, None] * shape)


class Spectrum:
    """Each component has its own volume and shape: VV."""

    equal_volume: ClassVar[bool] = False
    equal_shape: ClassVar[bool] = False
    round: ClassVar[bool] = False  # no shape
    needs_least: ClassVar[bool] = False  # where a 0 in the table leaves no maximum

    @property
    def coupled(self) -> bool:
        """Whether the variances of one component depend on those of another."""
        return self.equal_volume or self.equal_shape

    def fit(self, s: Array, w: Array, least: Array | float, guess: Array | None = None) -> Array:
        """The best variances (k, d), or (1, d) where all components have the same; ``guess`` (k, d) is a start."""
        return np.maximum(s / w[:, None], least)

    def count(self, k: int, d: int) -> int:
        """Number of free parameters."""
        return k * d

    def holds(self, v: Array, doubt: Array | None = None) -> bool:
        """Whether variances (k, d), in the order of the axes, obey the rule; ``doubt`` is their relative rounding."""
        if not (self.coupled or self.round):
            return True
        log_v = np.log(v)
        off = np.abs(log_v - self.ruled(log_v))
        if off.max() <= TOLERANCE or doubt is None:
            return bool(off.max() <= TOLERANCE)
        spread = doubt + doubt.mean(axis=1, keepdims=True) + doubt.mean(axis=0) + doubt.mean()
        return bool((off <= TOLERANCE + spread).all())

    def ruled(self, log_v: Array) -> Array:
        """The nearest table (k, d) that obeys the rule."""
        return log_v

    def spread(self, k: int, d: int, w: Array) -> Array:
        """The covariance of the logarithms of one component's estimated variances, (k, d, d)."""
        return np.eye(d) * (2 / w)[:, None, None]

    def level(self, least: Array) -> Array:
        """Least standard deviations (k, d), made equal where the rule makes variances equal."""
        return least

    def profile(self, s: Array, w: Array) -> tuple[float, Array]:
        """What the best v leaves to be minimised, up to a constant, and its derivatives by log s: (k,)."""
        return float(w @ np.log(s).sum(axis=1)), w

    def bend(self, slope: Array, pull: Array) -> Array:
        """The second derivative of the profile by log s, beyond that of Σ w log s, times ``slope`` (k, d)."""
        return np.zeros_like(slope)


class VolumeOnly(Spectrum):
    """Each component is round and has its own volume: VI."""

    round = True

    def fit(self, s: Array, w: Array, least: Array | float, guess: Array | None = None) -> Array:
        each = np.maximum(s.mean(axis=1) / w, np.max(np.broadcast_to(least, s.shape), axis=1))
        return np.broadcast_to(each[:, None], s.shape)

    def count(self, k: int, d: int) -> int:
        return k

    def ruled(self, log_v: Array) -> Array:
        return np.asarray(log_v.mean(axis=1, keepdims=True))

    def spread(self, k: int, d: int, w: Array) -> Array:
        return np.broadcast_to((2 / (w * d))[:, None, None], (k, d, d))

    def level(self, least: Array) -> Array:
        return np.broadcast_to(least.max(axis=1, keepdims=True), least.shape)


class OneVolume(Spectrum):
    """All components are round and of one volume: EI."""

    equal_volume = equal_shape = round = True

    def fit(self, s: Array, w: Array, least: Array | float, guess: Array | None = None) -> Array:
        return np.full((1, s.shape[1]), max(s.mean(axis=1).sum() / w.sum(), np.max(least)))

    def count(self, k: int, d: int) -> int:
        return 1

    def ruled(self, log_v: Array) -> Array:
        return np.asarray(log_v.mean(keepdims=True))

    def spread(self, k: int, d: int, w: Array) -> Array:
        return np.full((k, d, d), 2 / (np.nansum(w) * d))

    def level(self, least: Array) -> Array:
        return np.full_like(least, least.max())


class OneSpectrum(Spectrum):
    """All components have one volume and one shape: EE."""

    equal_volume = equal_shape = True

    def fit(self, s: Array, w: Array, least: Array | float, guess: Array | None = None) -> Array:
        return np.asarray(np.maximum(s.sum(axis=0) / w.sum(), np.max(np.atleast_2d(least), axis=0))[None])

    def count(self, k: int, d: int) -> int:
        return d

    def ruled(self, log_v: Array) -> Array:
        return np.asarray(log_v.mean(axis=0, keepdims=True))

    def spread(self, k: int, d: int, w: Array) -> Array:
        return np.broadcast_to(np.eye(d) * (2 / np.nansum(w)), (k, d, d))

    def level(self, least: Array) -> Array:
        return np.broadcast_to(least.max(axis=0), least.shape)


class OneShape(Spectrum):
    """All components have one shape, each its own volume: VE.

    With v_kj = λ_k a_j and λ at its best, d Σ w_k log Σ_j s_kj/a_j + Σ w Σ_j log a_j remains: convex in log a.
    """

    equal_shape = needs_least = True

    def fit(self, s: Array, w: Array, least: Array | float, guess: Array | None = None) -> Array:
        d, total = s.shape[1], w.sum()
        if d == 1:
            return np.maximum(s / w[:, None], least)
        low = s < w[:, None] * least
        log_s = np.log(np.where(low, w[:, None] * least, s))
        whole = np.logaddexp.reduce(log_s, axis=1)
        first = (
            np.log(np.exp(log_s - whole[:, None]).T @ w)
            if guess is None
            else np.log(np.maximum(guess, least)).mean(axis=0)
        )
        log_a = first - first.mean()

        def share(log_a: Array) -> tuple[float, Array, Array]:
            terms = log_s - log_a
            top = terms.max(axis=1, keepdims=True)
            parts = np.exp(terms - top)
            sums = parts.sum(axis=1, keepdims=True)
            log_sums = (top + np.log(sums))[:, 0]
            return float(w @ log_sums) * d / total + log_a.sum(), parts / sums, log_sums

        value, parts, log_sums = share(log_a)
        for _ in range(200):
            linear = d / total * (parts.T @ w)
            hessian = np.diag(linear) - d / total * (parts.T * w) @ parts + 1 / d
            step = np.linalg.solve(hessian + 1e-13 * np.eye(d), linear - 1)
            step -= step.mean()
            gain = float((linear - 1) @ step)
            if gain <= 1e-15:
                break
            size = min(1.0, 4.0 / np.abs(step).max())
            while (tried := share(log_a + size * step))[0] > value - 1e-4 * size * gain and size > 1e-6:
                size /= 2
            if tried[0] >= value:
                break
            log_a = log_a + size * step
            value, parts, log_sums = tried
        volume, shape = np.exp(log_sums - np.log(d * w)), np.exp(log_a)
        v = np.asarray(volume[:, None] * shape)
        if not low.any() and (v >= least).all():
            return v
        return self.above(s, w, np.broadcast_to(least, s.shape), lifted(volume, shape, least))

    def above(self, s: Array, w: Array, least: Array, v: Array) -> Array:
        """The best variances under an active floor, from some above it: Newton steps behind a falling barrier.

        The barrier of a component weighs as much as the component does, so that one without rows is not pushed away.
        """
        (k, d), part = s.shape, (w / w.sum())[:, None]
        log_v = np.log(v)
        at = np.concatenate([log_v.mean(axis=1) + LIFT, (log_v - log_v.mean(axis=1, keepdims=True))[0]])
        linear = np.concatenate([d * part[:, 0], np.ones(d)])
        seen, log_least = np.maximum(s, 0.0) / (w.sum() * least), np.log(least)
        fixed = np.outer(*[np.repeat([1.0, -1.0], [k, d])] * 2)  # a factor that volumes and shape may exchange

        def room(at: Array) -> Array:
            return np.asarray(at[:k, None] + at[k:] - log_least)

        def objective(at: Array, force: float) -> float:
            over = room(at)
            if over.min() <= 0:
                return np.inf
            return float(linear @ at + (seen * np.exp(-over)).sum() - force * (part * np.log(over)).sum())

        for force in BARRIERS:
            here = objective(at, force)
            for _ in range(MOST_STEPS):
                over = room(at)
                pull, push = seen * np.exp(-over), force * part / over
                slope, bend = -pull - push, pull + push / over
                slopes = linear + np.concatenate([slope.sum(axis=1), slope.sum(axis=0)])
                bends = np.block([[np.diag(bend.sum(axis=1)), bend], [bend.T, np.diag(bend.sum(axis=0))]])
                unit = 1 / np.sqrt(np.diag(bends))
                system = bends * (unit[:, None] * unit) + fixed / (k + d) + 1e-12 * np.eye(k + d)
                step = -unit * np.linalg.solve(system, unit * slopes)
                gain = -float(slopes @ step)
                if gain <= 1e-2 * force:
                    break
                size = min(1.0, 4.0 / float(np.abs(step).max()))
                while (tried := objective(at + size * step, force)) > here - 1e-4 * size * gain and size > SHORTEST:
                    size /= 4
                if tried >= here:
                    break
                at, here = at + size * step, tried
        return np.asarray(np.exp(at[:k, None] + at[k:]))

    def count(self, k: int, d: int) -> int:
        return k + d - 1

    def ruled(self, log_v: Array) -> Array:
        return np.asarray(log_v.mean(axis=1, keepdims=True) + log_v.mean(axis=0) - log_v.mean())

    def spread(self, k: int, d: int, w: Array) -> Array:
        total = np.nansum(w)
        return np.asarray(2 / (w * d)[:, None, None] + (np.eye(d) - 1 / d) * (2 / total))


class OneSize(Spectrum):
    """All components have one volume, each its own shape: EV.

    Without a floor v_k = λ s_k/g_k with g_k the geometric mean of s_k and λ = Σ g/Σ w. Under a floor
    v_kj = max(least, s_kj/μ_k), where Π_j v_kj = λᵈ fixes μ_k and Σ μ = Σ w fixes λ.
    """

    equal_volume = needs_least = True

    def fit(self, s: Array, w: Array, least: Array | float, guess: Array | None = None) -> Array:
        log_s = np.log(np.maximum(s, np.maximum(TINY * w[:, None] * least, 1e-300)))
        means = log_s.mean(axis=1)
        top = means.max()
        log_v = log_s - means[:, None] + (top + np.log(np.exp(means - top).sum() / w.sum()))
        log_least = np.log(np.broadcast_to(least, s.shape))
        return np.exp(log_v if (log_v >= log_least).all() else self.above(log_s, float(w.sum()), log_least))

    def above(self, log_s: Array, total: float, log_least: Array) -> Array:
        """Log variances under an active floor: bisection on Σ_j log v_kj, the same for all components."""
        rise = np.sort(log_least - log_s, axis=1)  # where each axis leaves the floor as −log μ grows
        order = np.argsort(log_least - log_s, axis=1)
        d = log_s.shape[1]
        counts = np.arange(1, d + 1)
        free = np.cumsum(np.take_along_axis(log_s, order, axis=1), axis=1)
        held = log_least.sum(axis=1, keepdims=True) - np.cumsum(np.take_along_axis(log_least, order, axis=1), axis=1)
        knots = free + held + counts * rise  # Σ_j log v at each such place

        def levels(volume: float) -> Array:
            active = np.maximum((knots <= volume).sum(axis=1), 1) - 1
            rows = np.arange(len(log_s))
            return np.asarray((volume - free[rows, active] - held[rows, active]) / counts[active])

        def excess(volume: float) -> float:
            return float(np.logaddexp.reduce(-levels(volume))) - float(np.log(total))

        low = float(log_least.sum(axis=1).max())
        high = max(low, float(knots[:, -1].max())) + d * max(0.0, excess(low)) + 1.0
        while excess(high) > 0:
            high += high - low
        for _ in range(200 if excess(low) > 0 else 0):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return np.asarray(np.maximum(log_least, log_s + levels(low)[:, None]))

    def count(self, k: int, d: int) -> int:
        return 1 + k * (d - 1)

    def ruled(self, log_v: Array) -> Array:
        return np.asarray(log_v - log_v.mean(axis=1, keepdims=True) + log_v.mean())

    def spread(self, k: int, d: int, w: Array) -> Array:
        return np.asarray((np.eye(d) - 1 / d) * (2 / w)[:, None, None] + 2 / (np.nansum(w) * d))

    def profile(self, s: Array, w: Array) -> tuple[float, Array]:
        means, d, total = np.log(s).mean(axis=1), s.shape[1], w.sum()
        top = means.max()
        parts = np.exp(means - top)
        return float(total * d * (top + np.log(parts.sum()))), total * parts / parts.sum()

    def bend(self, slope: Array, pull: Array) -> Array:
        d, total = slope.shape[1], pull.sum()
        each = slope.sum(axis=1)
        return np.broadcast_to((pull / d * (each - pull @ each / total))[:, None], slope.shape)


SPECTRA: dict[str, Spectrum] = {
    "VV": Spectrum(),
    "VI": VolumeOnly(),
    "EI": OneVolume(),
    "EE": OneSpectrum(),
    "VE": OneShape(),
    "EV": OneSize(),
}
