"""Bells with heavy tails."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.iterative_family import newton_step, weighted_median
from suffice.core.parameters import POSITIVE, REAL, parameter
from suffice.display.values import ColumnSummary, decimals, number, rounded, spreads
from suffice.distributions.floors import HALF_LOG_TAU, rounding_floor
from suffice.distributions.location_scale import LocationScale
from suffice.numerics.derivatives import errors_from_information
from suffice.numerics.lazy import special
from suffice.numerics.special import t_quantile, trigamma
from suffice.statistics.sums import Sums
from suffice.types import Alert, Array

NAMES = ("df", "loc", "scale")
OFFSETS = (0.0, -2.8, -0.6, 0.6, 2.8)  # candidates of log df around the current
SHORT = {
    "df": 0.4,
    "loc": 0.2,
    "scale": 0.2,
}  # a Newton step this short, in log df, loc/scale, log scale, raises the likelihood
PLUNGE = 10.0  # a candidate of log scale, this far below the current: a collapse should be quick
FARTHEST = 1e70  # the largest r whose powers float64 holds
LOWEST, HIGHEST = 1e-2, 1e8  # of df; beyond the highest float64 cannot tell the tails from a Normal's
# log Γ(ν/2+½)/Γ(ν/2) − ½ log(ν/2) = Σ c ν^−p, exact from ν = 30 on
SERIES = ((1, -1 / 4), (3, 1 / 24), (5, -1 / 20), (7, 17 / 112), (9, -31 / 36))


def log_constant(df: Array | float) -> tuple[Array, Array, Array]:
    """Log of the density at the centre for scale 1, and its first two derivatives in ``df``, without cancellation."""
    df = np.asarray(df, dtype=float)
    far, small = np.maximum(df, 30.0), np.minimum(df, 30.0)
    series = [
        sum(c * np.prod([-(p + i) for i in range(order)]) * far ** -(p + order) for p, c in SERIES)
        for order in range(3)
    ]
    near = [
        special.gammaln((small + 1) / 2) - special.gammaln(small / 2) - 0.5 * np.log(small * np.pi),
        (special.digamma((small + 1) / 2) - special.digamma(small / 2) - 1 / small) / 2,
        (trigamma((small + 1) / 2) - trigamma(small / 2)) / 4 + 0.5 / small**2,
    ]
    value, first, second = (np.where(df < 30, a, b) for a, b in zip(near, series, strict=True))
    return value - np.where(df < 30, 0.0, HALF_LOG_TAU), first, second


@dataclass(frozen=True, eq=False, repr=False)
class StudentT(LocationScale):
    r"""A bell with heavy tails: :math:`p(x) \propto (1 + r^2/\nu)^{-(\nu+1)/2}`, r = (x − loc)/scale, ν = ``df``.

    A Normal whose precision differs from row to row. A pass gathers the sums of an EM step for a fan of df, and the
    exact gradient and Hessian at the current value; the step is Newton's when it is short, else the best EM step.
    Rows far out weigh little, so outliers hardly move loc.

    References
    ----------
    Liu, C. and Rubin, D. B. (1995). ML estimation of the t distribution using EM and its extensions, ECM and ECME.
    Statistica Sinica 5, 19-39.

    >>> sf.fit(sf.StudentT(df=3).fix("df"), [1.0, 2.0, 3.0, 4.0, 90.0]).distribution
    StudentT(df=3, loc=2.56174, scale=2.43795).fix('df')
    """

    df: Any = parameter(POSITIVE, default=5.0, typical=(3.0, 12.0))
    loc: Any = parameter(REAL, default=0.0, typical=(-3.0, 3.0))
    scale: Any = parameter(POSITIVE, default=1.0, typical=(0.3, 3.0))

    terms_per_cell = 27

    def log_cell(self, x: Array) -> Array:
        away = np.abs(x - self.loc)
        r = np.minimum(away / self.scale, FARTHEST)
        tail = np.log1p(r * r / self.df)
        if (r == FARTHEST).any():  # r² may be no float, but its log is
            with np.errstate(divide="ignore"):
                tail = np.where(r < FARTHEST, tail, 2 * (np.log(away) - np.log(self.scale)) - np.log(self.df))
        return np.asarray(log_constant(self.df)[0] - np.log(self.scale) - 0.5 * (self.df + 1.0) * tail)

    def guess(self, x: Array, weights: Array) -> dict[str, float]:
        """The median, and the median distance from it."""
        loc, df = weighted_median(x, weights), float(np.clip(np.mean(self.df), LOWEST, HIGHEST))
        reach = weighted_median(np.abs(x - loc), weights)
        if reach == 0:
            reach = float(np.average(np.abs(x - loc), weights=weights))
        return {
            "df": df,
            "loc": loc,
            "scale": max(reach / special.stdtrit(df, 0.75), float(rounding_floor(np.asarray(loc)))),
        }

    @property
    def candidates(self) -> Array:
        """The df that a pass scores, the current one first, on a last axis."""
        df = np.asarray(self.df, dtype=float)[..., None]
        return df if "df" in self.fixed else np.clip(df * np.exp(OFFSETS), LOWEST, HIGHEST)

    def terms(self, x: Array) -> Array:
        """Log1p(r²/ν), τ, τr, τr² of every candidate ν (τ: the expected precision), then those of the Hessian."""
        r = np.clip((x - self.loc) / self.scale, -FARTHEST, FARTHEST)
        square = r * r
        columns = []
        for df in np.moveaxis(self.candidates, -1, 0):
            tau = (df + 1) / (df + square)
            columns += [np.log1p(square / df), tau, tau * r, tau * square]
        df = np.asarray(self.df)
        far = df + square
        slope = columns[3] / far  # τ r² / (ν + r²)
        cross = df * r * (1 - square) / far**2
        bend = 0.5 * df * square / far * (2 - (df + 1) * (2 * df + square) / (df * far))
        plunge = np.log1p(square * np.exp(2 * PLUNGE) / df)
        return np.stack([*columns, plunge, slope, slope * r, slope * square, cross, cross * r, bend], axis=-1)

    @property
    def _unit(self) -> Array:
        """The length in which moves of loc are measured: the scale, one for all components where loc is tied."""
        scale = np.asarray(self.scale)
        return np.broadcast_to(scale.min(axis=0), scale.shape) if "loc" in self.tied else scale

    def _derivatives(self, stats: Sums) -> tuple[Array, Array]:
        """Σ w of gradient and Hessian in the free ones of log df, loc in units, log scale."""
        weight, df = stats.weight, np.asarray(self.df)
        log, tau, one, two = np.moveaxis(stats.total[..., :4], -1, 0)
        slope0, slope1, slope2, cross0, cross1, bend = np.moveaxis(stats.total[..., -6:], -1, 0)
        _, first, second = log_constant(df)
        by_df = weight * df * first + 0.5 * (two - df * log)
        of_df = by_df + weight * df**2 * second + bend
        of_loc, across, of_scale = 2 * slope0 - tau, 2 * (slope1 - one), 2 * (slope2 - two)
        rows = [[of_df, -cross0, -cross1], [-cross0, of_loc, across], [-cross1, across, of_scale]]
        size = np.stack([np.ones(weight.shape), self._unit / self.scale, np.ones(weight.shape)], axis=-1)
        gradient = np.stack([by_df, one, two - weight], axis=-1) * size
        hessian = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2) * size[..., :, None] * size[..., None, :]
        pick = [NAMES.index(name) for name in self.free]
        return gradient[..., pick], hessian[..., pick, :][..., pick]

    def maximise(self, stats: Sums) -> Self:
        safe = self._e_step(stats)
        gradient, hessian = self._derivatives(stats)
        df, scale = np.asarray(self.df), np.asarray(self.scale)
        rest = safe["df"] == df
        if "df" in self.free:  # at a bound that the likelihood pushes against, only the others move
            held = ((df <= LOWEST) | (df >= HIGHEST)) & rest
            gradient[held, 0], hessian[held, 0, :], hessian[held, :, 0] = 0.0, 0.0, 0.0
            hessian[held, 0, 0] = -stats.weight[held]
        limits = np.array([SHORT[name] for name in self.free])
        step, trust = newton_step(gradient, hessian, stats.weight, self.free, self.tied, limits)
        moves = {name: step[..., index] for index, name in enumerate(self.free)}
        moved = {
            "df": np.clip(df * np.exp(moves.get("df", 0.0)), min(LOWEST, df.min()), max(HIGHEST, df.max())),
            "loc": self.loc + self._unit * moves.get("loc", 0.0),
            "scale": scale * np.exp(moves.get("scale", 0.0)),
        }
        # Where the fan has nothing better and EM only creeps, even a cut Newton step gets further.
        near = np.abs(safe["loc"] - self.loc) < SHORT["loc"] * scale
        take = (trust == 1) | (rest & near & (np.abs(np.log(safe["scale"] / scale)) < SHORT["scale"]))
        if self.tied:
            take = np.broadcast_to(take.all(axis=0), take.shape)
        values: dict[str, Any] = {name: np.where(take, moved[name], safe[name]) for name in NAMES}
        if "scale" in self.free and not self.tied:
            gain = stats.weight * PLUNGE - 0.5 * (df + 1) * (stats.total[..., -7] - stats.total[..., 0])
            plunge = (trust < 0.1) & rest & (gain > 0)
            values = {name: np.where(plunge, getattr(self, name), value) for name, value in values.items()}
            values["scale"] = np.where(plunge, scale * np.exp(-PLUNGE), values["scale"])
        if "scale" in self.free:
            around = np.maximum(np.abs(values["loc"]), np.abs(self.loc))  # the old loc rounds the step away from it
            values["scale"] = np.maximum(values["scale"], rounding_floor(around))
        for name in self.tied:  # the same number for all, without the rounding of each one's own units
            values[name] = np.broadcast_to(values[name][:1], values[name].shape)
        return self.choose(stats.weight == 0, replace(self, **values))

    def _e_step(self, stats: Sums) -> dict[str, Array]:
        """The best df of the fan, and loc and scale after an EM step that begins there."""
        weight, candidates = stats.weight, self.candidates
        sums = stats.total[..., : 4 * candidates.shape[-1]].reshape((*candidates.shape, 4))
        value = weight[..., None] * log_constant(candidates)[0] - 0.5 * (candidates + 1) * sums[..., 0]
        if "df" in self.tied:
            value = np.broadcast_to(value.sum(axis=0), value.shape)
        best = value.argmax(axis=-1)[..., None]
        _, tau, one, two = np.moveaxis(np.take_along_axis(sums, best[..., None], -2)[..., 0, :], -1, 0)
        tau = np.where(weight > 0, tau, 1.0)
        shift = np.zeros(weight.shape)
        if "loc" not in self.fixed:
            shift = one / tau
            if "loc" in self.tied:
                precision = np.where(weight > 0, tau, 0.0) / np.square(self.scale)
                pooled = (precision * shift * self.scale).sum(axis=0) / np.maximum(precision.sum(axis=0), 1e-300)
                shift = pooled / self.scale
        spread = np.maximum(two - 2 * shift * one + np.square(shift) * np.where(weight > 0, tau, 0.0), 0.0)
        scale = np.asarray(self.scale)
        if "scale" in self.tied:
            pooled = (spread * np.square(scale)).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
            scale = np.broadcast_to(np.sqrt(pooled), weight.shape)
        elif "scale" not in self.fixed:  # dividing by Σ τ rather than Σ w raises the likelihood too, and faster
            scale = scale * np.sqrt(spread / (np.where(weight > 0, weight, 1.0) if "loc" in self.tied else tau))
        df = np.take_along_axis(candidates, best, -1)[..., 0]
        return {"df": df, "loc": self.loc + self.scale * shift, "scale": np.maximum(scale, 1e-300)}

    def error_cells(self, stats: Sums) -> dict[str, Array]:
        _, hessian = self._derivatives(stats)
        units = {"df": np.asarray(self.df), "loc": self._unit, "scale": np.asarray(self.scale)}
        unit = np.stack([units[name] for name in self.free], axis=-1)
        information = -hessian / unit[..., :, None] / unit[..., None, :]
        far = np.asarray(self.df) > 0.9 * HIGHEST
        if "df" in self.free:  # there is no curvature at infinity
            information[far, 0, :] = information[far, :, 0] = 0.0
            information[far, 0, 0] = 1.0
        errors = errors_from_information(information, self.free, self.tied)
        if "df" in self.free:
            errors["df"] = np.where(far, np.nan, errors["df"])
        return errors

    def alerts(self, stats: Sums) -> tuple[Alert, ...]:
        found = super().alerts(stats)
        stack = self.stacked
        df = np.asarray(stack.df)[stats.weight > 0]
        if "df" in self.free and (df > 0.9 * HIGHEST).any():
            text = (
                f"the tails are no heavier than a Normal's, so df grows without bound; it was held at {HIGHEST:g}, "
                "where loc and scale are the Normal's mean and std. Use sf.Normal(), or fix df."
            )
            found = (*found, Alert("boundary", text))
        flat = self.at_rounding_floor(stats)
        if ("scale" in self.free and flat.any()) or ("df" in self.free and (df <= LOWEST).any()):
            text = (
                "so many values are equal that the density grows without bound there; the scale was held at the "
                "smallest that float64 resolves. Fix scale, or add data."
            )
            found = (*found, Alert("collapsed", text))
        return found

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.loc + self.scale * rng.standard_t(self.df, (n, *self.batch)))

    def cumulative(self, x: Array) -> Array:
        return np.asarray(special.stdtr(self.df, (x - self.loc) / self.scale))

    def inverse(self, q: Array) -> Array:
        return np.asarray(self.loc + self.scale * t_quantile(self.df, q))

    def column_summaries(self) -> list[list[ColumnSummary]]:
        """Location and scale, which it has whatever its tails are, and how heavy these are."""
        stack = self.stacked
        columns = zip(spreads(stack.loc, stack.scale), np.asarray(stack.df).T, strict=True)
        return [[_with_tails(one, float(df)) for one, df in zip(*column, strict=True)] for column in columns]

    @property
    def mean(self) -> Any:
        """The mean: loc, and undefined where df ≤ 1."""
        mean = np.where(np.asarray(self.df) > 1, self.loc, np.nan)
        return float(mean) if mean.ndim == 0 else mean

    @property
    def var(self) -> Any:
        """The variance: infinite where df ≤ 2, undefined where df ≤ 1."""
        df = np.asarray(self.df)
        with np.errstate(all="ignore"):
            var = np.where(df > 2, np.square(self.scale) * df / (df - 2), np.where(df > 1, np.inf, np.nan))
        return float(var) if var.ndim == 0 else var

    @property
    def mode(self) -> Any:
        """The point of highest density: loc."""
        return self.loc

    def entropy_cell(self) -> Any:
        value, first, _ = log_constant(self.df)
        return 0.5 * (self.df + 1) * (2 * first + 1 / self.df) - value + np.log(self.scale)

    def scale_of(self, name: str) -> Any:
        return self.scale


def _with_tails(one: ColumnSummary, df: float) -> ColumnSummary:
    """Location, scale and df by their names, and the standard deviation where there is one."""
    loc, scale = one.numbers.values()
    places = decimals(scale)
    pieces = (f"{rounded(loc, places)}, scale {rounded(scale, places)}", f"df {number(df, 2)}")
    numbers = {"loc": loc, "scale": scale, "df": df}
    if not df > 2:
        return ColumnSummary(pieces, numbers)
    std = scale * float(np.sqrt(df / (df - 2)))
    return ColumnSummary((*pieces, f"std {number(std, 3)}"), {**numbers, "std": std})
