"""Columns that vary together.

Over 400 lines: one family that is fitted, shared, restricted, floored, conditioned on what is seen, completed where
cells are missing, and believed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from suffice import kernels
from suffice.core.distribution import Alert
from suffice.core.errors import DataError, ParameterError, UnsupportedError
from suffice.core.exponential import ExponentialFamily
from suffice.core.foretold import Foretold
from suffice.core.information import Knowledge
from suffice.core.latent import Expectation
from suffice.core.lazy import special
from suffice.core.moments import Scatter
from suffice.core.parameters import COVARIANCE, VECTOR, Array, parameter
from suffice.core.statistics import share
from suffice.core.weights import Weights
from suffice.distributions import holes
from suffice.distributions.covariance import deficiency, floored, given_some, patterns, root, traces, whitening
from suffice.distributions.gaussian_pass import PASSES, expect_blank, expect_with_holes, without
from suffice.distributions.normal import HALF_LOG_TAU, Normal, spread_floor, wide_floor
from suffice.distributions.normal_inverse_wishart import NormalInverseWishart
from suffice.distributions.structures import Structure, structure
from suffice.engines import local

FAR = 1e8  # squared spreads between means: beyond it differences of log densities are taken one by one
NEAR = 1e3  # of scores: what may be subtracted from them without the loss of a digit that counts
NOBODY = 1e-18  # a share of the rows that no sum of them can tell from none, and no mean survives


@dataclass(frozen=True, eq=False, repr=False)
class MultivariateNormal(ExponentialFamily):
    r"""Columns that vary together: :math:`p(x) = e^{-(x-\mu)^T\Sigma^{-1}(x-\mu)/2} / \sqrt{|2\pi\Sigma|}`.

    Statistic (x, xxᵀ), natural parameter (Σ⁻¹μ, −½Σ⁻¹), log-partition ½(μᵀΣ⁻¹μ + log|Σ|); conjugate prior
    :class:`NormalInverseWishart`. ``structure`` restricts the covariance: "full", "diag", "spherical", "identity"
    (fixed), "tied" (one for all members), or three letters for volume, shape and orientation, each equal in all
    members (E), variable (V) or the identity (I): "EII" … "VVV". A singular estimate is floored, with an alert:
    variances at four times the resolution of float64 around the mean, eigenvalues of the correlation matrix at
    d·10⁻¹². A row without any cell is missing; ``log_prob`` of a row with holes is that of the cells that it has. A fit
    of such rows maximises the likelihood of those cells, by EM: the others are expected given what was seen.

    >>> sf.fit(sf.MultivariateNormal(), [[0.0, 1.0], [2.0, 1.0], [1.0, 4.0]]).distribution.mean
    array([1., 2.])
    """

    mean: Any = parameter(VECTOR, typical=(-3.0, 3.0))
    cov: Any = parameter(COVARIANCE, typical=(0.3, 2.0))
    structure: str = "full"

    row_vector = True
    conjugates = (NormalInverseWishart,)
    belief_about = "mean"

    in_place = True

    def __post_init__(self) -> None:
        """Fill in the standard value of what was not given, and check that the covariance has its structure."""
        form = structure(self.structure)
        given = self.mean if self.mean is not None else self.cov
        if given is not None and np.ndim(given):
            d = np.shape(given)[-1]
            object.__setattr__(self, "mean", np.zeros(d) if self.mean is None else self.mean)
            object.__setattr__(self, "cov", np.eye(d) if self.cov is None else self.cov)
        super().__post_init__()
        if not self.ready:
            return
        if np.shape(self.cov)[-2:] != (np.shape(self.mean)[-1],) * 2:
            msg = f"{self.name}: mean has {np.shape(self.mean)[-1]} columns, but cov has shape {np.shape(self.cov)}."
            raise ParameterError(msg)
        cov = np.asarray(self.cov).reshape(-1, *np.shape(self.cov)[-2:])
        if not form.holds(cov):
            msg = f"{self.name}: cov does not have the structure {self.structure!r}; give one that has, or none."
            raise ParameterError(msg)

    @property
    def form(self) -> Structure:
        """The structure as an object."""
        form = structure(self.structure)
        return form.joint if "cov" in self.tied else form

    @property
    def shared(self) -> bool:
        """Whether all members have one covariance."""
        return self.form.shared

    @property
    def coupled(self) -> bool:
        return super().coupled or ("cov" in self.free and self.form.coupled)

    @property
    def free(self) -> tuple[str, ...]:
        return tuple(name for name in super().free if name != "cov" or self.form.learned)

    @property
    def columns(self) -> int | None:
        return None if self.mean is None else int(np.shape(self.mean)[-1])

    def read(self, x: Any) -> Any:
        return x if isinstance(x, holes.Staged) else super().read(x)

    def staged(self, rows: Any) -> Any:
        return holes.Staged.of(rows)

    def shaped(self, rows: Any) -> Self:
        return self.of_width(rows.shape[1])

    def of_width(self, d: int) -> Self:
        """The prototype for d columns."""
        return replace(self, mean=np.zeros(d), cov=np.eye(d)) if self.columns is None else self

    def stack(self, k: int) -> Any:
        if self.columns is None:
            msg = (
                f"{self.name}() does not know its number of columns yet, so it cannot be stacked: give mean and cov, "
                "or take the prototype for your rows first, as in prototype.shaped(rows).stack(k)."
            )
            raise ParameterError(msg)
        return super().stack(k)

    def for_statistics(self, stats: Any) -> Self:
        return super(MultivariateNormal, self.of_width(stats.centre.shape[1])).for_statistics(stats)

    def of_columns(self, columns: list[int]) -> Self:
        """The marginal of some columns, by position."""
        mean, cov = np.asarray(self.mean)[..., columns], np.asarray(self.cov)[..., columns, :][..., columns]
        return replace(self, mean=mean, cov=cov, structure=self.form.marginal or self.structure)

    @property
    def marginals(self) -> Any:
        stack = self.stacked
        return Normal(np.asarray(stack.mean), np.sqrt(np.diagonal(stack.cov, axis1=-2, axis2=-1)))

    def of_column(self, label: int) -> Normal:
        """The marginal of one column: a Normal number."""
        place = label if self.lone else [label]
        return Normal(np.asarray(self.mean)[..., place], np.asarray(self.std)[..., place])

    def conditional(self, known: dict[int, Any]) -> Any:
        """The other columns, given some by place: Normal as well, around a linear function of what is known."""
        rest = [column for column in range(int(self.columns or 0)) if column not in known]
        slopes, left, _ = given_some(np.asarray(self.stacked.cov), list(known), rest)
        mean = np.asarray(self.mean)
        moved = mean[rest] + slopes[0] @ (np.array(list(known.values()), dtype=float) - mean[list(known)])
        form = self.form.marginal or self.structure
        found = replace(self, mean=moved, cov=left[0] @ left[0].T, structure=form)
        return found if rest[1:] else found.of_column(0)

    def foretell(self, x: Array, label: int) -> list[Foretold]:
        """Normal, around a linear function of the cells that a row has; one for each set of them."""
        means, stds = np.empty((2, self.members, len(x)))
        seen = ~np.isnan(x)
        seen[:, label] = False
        for known, rows in patterns(seen):
            slopes, left, _ = given_some(np.asarray(self.cov), known, [label])
            part = x[rows][:, known]
            self._refuse_infinite(part, known)
            for j, mean in enumerate(np.asarray(self.mean)):
                means[j, rows] = mean[label] + (part - mean[known]) @ slopes[j, 0]
            stds[:, rows] = left[:, 0]
        return [Foretold.of(len(x), Normal(mean, std)) for mean, std in zip(means, stds, strict=True)]

    def _refuse_infinite(self, part: Array, known: list[int]) -> None:
        """Name a cell from which nothing follows."""
        wrong = np.isinf(part)
        if wrong.any():
            row, column = np.argwhere(wrong)[0].tolist()
            cell = f"a cell of column {known[column]} is {part[row, column]:g}"
            msg = f"{self.name}: {cell}, from which nothing follows; correct it, or mark it missing."
            raise DataError(msg)

    def _told(self, f: Any) -> bool:
        return super()._told(f) and (f.name != "structure" or self.structure != "full")

    # ---- the exponential family ---------------------------------------------------------------------------------
    def statistic(self, x: Array) -> Array:
        return np.concatenate([x, (x[..., :, None] * x[..., None, :]).reshape(*x.shape[:-1], -1)], axis=-1)

    def log_base(self, x: Array) -> Array:
        return np.full(np.shape(x)[:-1], -HALF_LOG_TAU * np.shape(x)[-1])

    def natural(self) -> Array:
        precision, mean = np.linalg.inv(self.cov), np.asarray(self.mean)
        flat = -0.5 * precision.reshape(*mean.shape[:-1], -1)
        return np.concatenate([(precision @ mean[..., None])[..., 0], flat], axis=-1)

    def log_partition(self) -> Array:
        whiten, log_det = self.whitening
        z = np.einsum("kij,kj->ki", whiten, np.asarray(self.stacked.mean))
        return np.asarray((0.5 * (z**2).sum(axis=1) - log_det).reshape(self.batch))

    def mean_statistic(self) -> Array:
        mean = np.asarray(self.mean)
        second = np.asarray(self.cov) + mean[..., :, None] * mean[..., None, :]
        return np.concatenate([mean, second.reshape(*mean.shape[:-1], -1)], axis=-1)

    def from_mean(self, mean: Array) -> Self:
        d = int(self.columns or 0)
        first = mean[..., :d]
        second = mean[..., d:].reshape(*first.shape, d)
        return replace(self, mean=first, cov=second - first[..., :, None] * first[..., None, :])

    @cached_property
    def whitening(self) -> tuple[Array, Array]:
        """W with W Σ Wᵀ = I of each member, and log|W|."""
        whiten, log_det = whitening(np.asarray(self.stacked.cov))
        whiten.flags.writeable = log_det.flags.writeable = False
        return whiten, log_det

    # ---- rows ---------------------------------------------------------------------------------------------------
    def gather(self, x: Array, w: Weights) -> Scatter:
        return self._scatter(x, w, kernels.scatter)

    def gather_together(self, x: Array, w: Weights) -> Scatter:
        return self._scatter(x, w, kernels.shared_scatter if self.keeps == "pooled" else kernels.scatter)

    @property
    def keeps(self) -> str:
        """What an E-step keeps of the scatter: ``full`` matrices, the ``diagonal``, or one ``pooled`` matrix."""
        return self.form.keeps

    def _scatter(self, x: Array, w: Weights, kernel: Callable[..., Any]) -> Scatter:
        split = x.split if isinstance(x, holes.Staged) else None
        x = np.asarray(x)
        if split is None:
            stats = Scatter(*kernel(x, **w.arguments))
            if np.isfinite(stats.scatter).all():
                return stats
            split = holes.Split.of(x)
        if split.infinite:
            kept = w.per_row() > 0
            wrong = np.isinf(x) & kept[:, None]
            if wrong.any():
                row, column = np.argwhere(wrong)[0].tolist()
                raise DataError(self._bad_value(x[row, column], row + w.offset, column, 2))
            w, split = holes.chosen(w, np.flatnonzero(kept)), holes.Split.of(x[kept])
        stats = Scatter(*kernel(split.rows, **holes.chosen(w, split.whole).arguments))
        held = holes.chosen(w, split.some)
        if (held.per_row() > 0).any():
            stats = stats + self._expected(split, held, pooled=len(stats.scatter) < self.members)
        if not np.isfinite(stats.scatter).all():
            msg = f"{self.name}: the squares of the data exceed the range of float64; divide the columns by a constant."
            raise DataError(msg)
        return stats

    def _expected(self, split: holes.Split, w: Weights, *, pooled: bool) -> Scatter:
        """The statistics of rows with holes, as these parameters complete them."""
        mean, cov = np.asarray(self.mean), np.asarray(self.cov)
        if self.keeps == "diagonal":
            return holes.gather_columns(split.cells, w, mean, np.sqrt(self.var))
        return holes.gather(split, w, mean, cov[:1] if self.shared else cov, pooled=pooled)

    def first_statistics(self, x: Any, weights: Any = None) -> Any:
        """With holes: as the mean and variance of each column, in whoever has cells of it, complete the rows."""
        rows, prepared, model = self.prepared(x, weights)
        if not np.isnan(rows).any():
            return self.suffstats(rows, prepared)
        stack = model.stacked
        columns = Normal().widened(rows.shape[1]).suffstats(rows, prepared)
        every = columns.pooled()
        mean = np.where(columns.weight > 0, columns.mean, np.where(every.weight > 0, every.mean, stack.mean))
        var = np.where(every.weight > 0, np.maximum(every.var, np.square(spread_floor(every.mean))), stack.var)
        var = np.where(columns.var > np.square(spread_floor(mean)), columns.var, var)
        plain = MultivariateNormal(mean, var[:, :, None] * np.eye(rows.shape[1]))
        return self.owned(plain.suffstats(rows, prepared))

    def log_density(self, x: Array) -> Array:
        x = np.asarray(x)
        if self.keeps == "diagonal":
            return kernels.normal_log_prob(x, self.mean, np.sqrt(self.var))
        with np.errstate(invalid="ignore", over="ignore"):
            out = kernels.gaussian_log_prob(x, self.mean, *self.whitening)
        return holes.score(out, x, np.asarray(self.mean), np.asarray(self.cov))

    def linear_form(self, about: Array) -> tuple[Array, Array]:
        """Slopes (k, d) and offsets (k,) where members share Σ: log p(x) = slopes · (x − about) + offset + a rest.

        The rest is the same for all members: slopes are Σ⁻¹(mean − about), offsets −½ (mean − about) · slopes.
        """
        whiten = self.whitening[0][0]
        away = (np.asarray(self.stacked.mean) - about) @ whiten.T
        return np.asarray(away @ whiten), -0.5 * np.einsum("kd,kd->k", away, away)

    def relative_density(self, x: Array) -> Array:
        if not self.shared or self.members == 1 or self.keeps == "diagonal":
            return self.log_density(x)
        about = np.asarray(self.mean).mean(axis=0)
        slopes, offsets = self.linear_form(about)
        if not (offsets > -FAR).all():
            return self.log_density(x)
        near = bool((np.abs(slopes) @ np.abs(about) < NEAR).all())
        offsets = offsets - slopes @ about if near else offsets
        with np.errstate(invalid="ignore", over="ignore"):
            out = np.asarray((x if near else x - about) @ slopes.T)
        out += offsets
        return out if np.isfinite(out).all() else self.log_density(x)

    def contrasts(self, x: Array, first: int, second: int) -> list[tuple[Any, Array]]:
        """Where members share Σ, w · (x − middle) column by column: w = Σ⁻¹(difference of the means)."""
        if not self.shared or np.isnan(x).any():
            return super().contrasts(x, first, second)
        mean = np.asarray(self.mean)
        middle = mean[second] + 0.5 * (mean[first] - mean[second])
        slopes, _ = self.linear_form(middle)
        cells = (x - middle) * (slopes[first] - slopes[second])
        return [((column,), cells[:, column]) for column in range(cells.shape[1])]

    def expect(self, x: Array, log_weights: Array, weights: Array | None = None) -> Expectation:
        split = x.split if isinstance(x, holes.Staged) else None
        x = np.asarray(x)
        if split is None:
            found = self._fused(x, log_weights, weights)
            if np.isfinite(found.log_likelihood):
                return found
            if not np.isnan(x).any():
                return super(ExponentialFamily, self).expect(x, log_weights, weights)
            split = holes.Split.of(x)
        return self._expect_in_parts(x, split, np.asarray(log_weights), weights)

    def _expect_in_parts(self, x: Array, split: holes.Split, log_weights: Array, weights: Array | None) -> Expectation:
        """Complete rows as always, those with holes by what they have, and those without any cell by the weights."""

        def part(which: Array) -> tuple[Array, Array | None]:
            logs = log_weights if log_weights.ndim == 1 else log_weights[which]
            return logs, None if weights is None else weights[which]

        found = self.expect(split.rows, *part(split.whole))
        if split.infinite and np.isinf(split.cells).any():
            found = found + super(ExponentialFamily, self).expect(x[split.some], *part(split.some))
        elif len(split.some):
            found = found + expect_with_holes(self, split, *part(split.some))
        if len(split.blank):
            likelihood, entropy, count = expect_blank((len(split.blank), self.members), *part(split.blank))
            found = replace(
                found,
                log_likelihood=found.log_likelihood + likelihood,
                entropy=found.entropy + entropy,
                count=found.count + count,
            )
        return _told(found)

    def _fused(self, x: Array, log_weights: Array, weights: Array | None) -> Expectation:
        with np.errstate(invalid="ignore", over="ignore"):
            found = PASSES[self.keeps](self, x, log_weights, weights)
            gone = _gone(found)
            if gone.any():
                found = without(found, gone)
            if not np.isfinite(found.statistics.scatter).all():
                found = PASSES[self.keeps](self, x, np.where(gone, -np.inf, log_weights), weights)
        return found

    def floor(self) -> Any:
        """A small multiple of the variances of all rows, as a matrix (d, d)."""
        std = np.sqrt(np.diagonal(self.stacked.cov[0]))
        return np.diag(np.square(wide_floor(self.stacked.mean[0], std)))

    def raised(self, floor: Any) -> Self:
        if floor is None or "cov" not in self.free:
            return self
        if isinstance(floor, float):  # a ridge, as scikit-learn adds it
            return replace(self, cov=self.cov + floor * np.eye(self.cov.shape[-1])) if floor else self
        cov = self.form.raised(np.asarray(self.stacked.cov), floor)
        return self if cov is self.stacked.cov else self.like(replace(self.stacked, cov=cov))

    def estimate_above(self, stats: Any, prior: Any, floor: Any) -> Any:
        """The floor is a constraint of the structure's own M-step, so that the best above it is found."""
        if floor is None or isinstance(floor, float) or "cov" not in self.free:
            return super().estimate_above(stats, prior, floor)
        if prior is not None and not isinstance(prior, NormalInverseWishart):
            return super().estimate_above(stats, prior, floor)
        found = self.estimate(stats, prior, floor)
        closed = (
            prior is None and not self.form.coupled and not self.tied
        )  # a formula, which nothing can be better than
        return found if closed else self.no_worse(found, stats, prior)

    def held(self, floor: Any) -> Array:
        if floor is None or "cov" not in self.free:
            return super().held(floor)
        if isinstance(floor, float):  # no spread of its own beside what was added
            return np.asarray(np.linalg.eigvalsh(self.stacked.cov)[:, 0] <= 2 * floor)
        return self.form.held(np.asarray(self.stacked.cov), floor)

    def narrowness(self, stats: Any) -> Array:
        if "cov" not in self.free or not stats.weight.sum() > 0:
            return super().narrowness(stats)
        whole = stats.pooled()
        cov = floored(whole.scatter / whole.weight, spread_floor(whole.mean))
        whiten = whitening(cov)[0][0]
        seen = np.asarray(stats.weight > 0)  # the covariance of a member without rows may be anything
        found = np.ones(len(seen))
        found[seen] = np.linalg.eigvalsh(whiten @ self.stacked.cov[seen] @ whiten.T)[:, 0]
        return found

    def log_cell(self, x: Array) -> Array:
        """Log density of whole rows (n, d) under one member, (n,)."""
        return np.asarray(self.log_prob(np.asarray(x)))

    # ---- learning -----------------------------------------------------------------------------------------------
    def likelihood_cells(self, stats: Any) -> Array:
        whiten, log_det = self.whitening
        about = stats.about(np.asarray(self.mean))
        squares = traces(whiten[: len(about)], about)
        if len(about) < self.members:  # kept of all members together: each by its weight
            squares = squares * share(stats.weight, stats.weight.sum())
        constant = log_det - HALF_LOG_TAU * whiten.shape[-1]
        return np.asarray(stats.weight * constant - 0.5 * squares + stats.hidden)[:, None]

    def estimate(self, stats: Any, prior: Any = None, floor: Array | None = None) -> Self:
        """As every family does; with a ``floor`` (d, d) that no covariance may fall under."""
        self.check_owner(stats)
        prior = (
            self.weak_prior(stats) if isinstance(prior, str) and prior == "weak" else getattr(prior, "belief", prior)
        )
        if prior is None and floor is not None:
            model = self.for_statistics(stats)
            return model.like(model.stacked.maximise(stats, floor))
        if not isinstance(prior, NormalInverseWishart):
            return super().estimate(stats, prior)
        if "mean" in self.fixed:
            msg = "NormalInverseWishart speaks of mean and cov together; with the mean fixed give a density instead."
            raise UnsupportedError(msg)
        model, before = self.for_statistics(stats), prior.stacked
        mean = before.after(stats).mean
        away = mean - before.mean
        believed = (before.count * away.T).T[:, :, None] * away[:, None, :]
        about = stats.about(mean)
        about = about + (believed.sum(axis=0, keepdims=True) if len(about) < len(mean) else believed)
        return model.like(model.stacked.solve(mean, about, stats.weight + 1, before, floor))

    def maximise(self, stats: Any, floor: Array | None = None) -> Self:
        mean = np.asarray(self.mean) if "mean" in self.fixed else stats.mean
        current = self.choose(stats.weight == 0, self.solve(mean, stats.about(mean), stats.weight, None, floor))
        if "mean" not in self.tied or "mean" in self.fixed or self.members == 1:
            return current
        for _ in range(200):  # a shared mean and the covariances take turns; each turn climbs
            precision = stats.weight[:, None, None] * np.linalg.inv(current.cov)
            shared = np.linalg.solve(precision.sum(axis=0), np.einsum("kij,kj->i", precision, stats.mean))
            moved = np.abs(shared - current.mean).max() / np.sqrt(np.einsum("kii->ki", current.cov)).min()
            mean = np.broadcast_to(shared, stats.mean.shape)
            current = self.solve(mean, stats.about(mean), stats.weight, None, floor)
            if moved < 1e-13:
                break
        return current

    def solve(self, mean: Array, scatter: Array, divisor: Array, prior: Any = None, floor: Array | None = None) -> Self:
        """The stack at ``mean`` with the structure's covariance of the scatter around it, floored.

        A prior adds its scale and its degrees to the scatter, which is pooled first where members share.
        """
        if "cov" not in self.free:
            return replace(self, mean=mean)
        (k, d), form = mean.shape, self.form
        least = form.common(spread_floor(mean))
        if form.shared:
            scatter, divisor = scatter.sum(axis=0, keepdims=True), divisor.sum(keepdims=True)
            least = least[:1]
        if prior is not None:
            scatter, divisor = scatter + prior.scale[: len(scatter)], divisor + prior.df[: len(divisor)] + d + 1
        cov = form.floored(form.project(scatter, divisor, np.asarray(self.cov), floor), least)
        return replace(self, mean=mean, cov=np.broadcast_to(cov, (k, d, d)))

    def choose(self, keep: Array, other: Self) -> Self:
        """The stack itself where ``keep`` (k,) holds, else ``other``; covariances that share anything: the other's."""
        if not keep.any():
            return other
        mean = np.where(keep[:, None], self.mean, other.mean)
        cov = other.cov if self.form.coupled else np.where(keep[:, None, None], self.cov, other.cov)
        return self if keep.all() else replace(other, mean=mean, cov=cov)

    def placed(self, values: dict[str, Any], shares: Array) -> Self:
        mean, cov = (np.asarray(values.get(name, getattr(self, name))) for name in ("mean", "cov"))
        if "cov" not in values or self.form.holds(cov):
            return replace(self, **values)
        weight = np.maximum(shares, 1e-12)
        return self.solve(mean, cov * weight[:, None, None], weight)

    def unbiased(self, stats: Any, ddof: float) -> Self:
        if stats is None or "cov" not in self.free:
            return self
        weight, k = stats.weight, self.members
        weight, ddof = (weight.sum(keepdims=True), ddof * k) if self.form.equal_volume else (weight, ddof)
        if not (weight > ddof).all():
            msg = f"ddof={ddof:g} needs more than {ddof:g} rows; there are {np.min(weight):g}. Lower it or add rows."
            raise ParameterError(msg)
        factor = weight / (weight - ddof)
        return replace(self, cov=self.cov * (float(factor[0]) if self.lone else factor[:, None, None]))

    @property
    def n_parameters(self) -> int:
        k, d = self.members, self.columns or 0
        mean = 0 if "mean" in self.fixed else d if "mean" in self.tied else k * d
        return mean + (self.form.count(k, d) if "cov" in self.free else 0)

    def seen_cells(self, stats: Any) -> Array:
        return np.asarray(stats.cells)

    def needs_rows(self, stats: Any) -> bool:
        return not stats.exact

    def rounding(self, stats: Any) -> float:
        """What is lost where a covariance that is all but singular is inverted."""
        cov = np.asarray(self.stacked.cov)
        spread = np.sqrt(np.einsum("kii->ki", cov))
        least = np.linalg.eigvalsh(cov / (spread[:, :, None] * spread[:, None, :]))[:, 0]
        lost = stats.weight * np.finfo(float).eps * cov.shape[-1] / np.maximum(least, np.finfo(float).eps)
        return float(lost.sum())

    def standard_errors(self, stats: Any) -> dict[str, Any]:
        """From exact statistics; with holes they need the rows, and are NaN where those are not at hand."""
        if stats.exact:
            return super().standard_errors(stats)
        self.check_owner(stats)
        return {
            name: np.full(np.shape(value), 0.0 if name not in self.free else np.nan)
            for name, value in self.params.items()
        }

    def errors_from(self, stats: Any, data: Any) -> dict[Any, Any]:
        """With holes: from the observed information of the cells that were seen."""
        if stats.exact or data is None:
            return self.standard_errors(stats)
        from suffice.distributions.gaussian_chart import GaussianChart

        (rows, weights), known = data, GaussianChart(self.stacked)
        width = rows.shape[1]  # long slices: each looks at every pattern of holes
        with np.errstate(all="ignore"):
            found = local.reduce(lambda part: known.information(rows[part], weights[part].dense()), len(rows), width)
            errors = known.errors(Knowledge.of(found))
        lead = (0,) * (self._full - len(self.batch))
        return {name: value[lead] for name, value in errors.items()}

    def error_cells(self, stats: Any) -> dict[str, Array]:
        cov, weight = np.asarray(self.cov), np.where(stats.weight > 0, stats.weight, np.nan)
        if "mean" in self.tied:
            whole = np.nansum(weight[:, None, None] * np.linalg.inv(cov), axis=0)
            variance = np.broadcast_to(np.diag(np.linalg.inv(whole)), self.mean.shape)
        else:
            variance = np.einsum("kii->ki", cov) / weight[:, None]
        return {"mean": np.sqrt(variance), "cov": self.form.errors(cov, stats.weight)}

    def alerts(self, stats: Any) -> tuple[Alert, ...]:
        stack, found = self.stacked, list[Alert]()
        if "cov" not in self.free:
            return self._idle(stats)
        found.extend(self._apart(stats))
        least = self.form.common(spread_floor(np.asarray(stack.mean)))
        for index in np.flatnonzero(stats.weight > 0)[: 1 if self.shared else None]:
            rank, columns = deficiency(stack.cov[index], least[index])
            if columns:
                which = f"columns {', '.join(map(str, columns))} are constant or follow from others"
                which = which if columns[1:] else f"column {columns[0]} is constant"
                who = "" if self.lone or self.shared else f"member {index}: "
                text = (
                    f"{who}the covariance has rank {rank} of {stack.columns}: {which}. It was raised to the smallest "
                    "that can be inverted. Drop a column, choose a simpler structure, or give a prior."
                )
                found.append(("singular", text))
        return tuple(found) or self._idle(stats)

    def _apart(self, stats: Any) -> tuple[Alert, ...]:
        """Columns that no row has together, where the structure has a covariance of them."""
        if stats.exact or self.keeps == "diagonal":
            return ()
        both = stats.pairs.sum(axis=0)
        seen = np.diagonal(both) > 0
        pairs = np.argwhere(np.triu((both == 0) & seen & seen[:, None], 1)).tolist()
        if not pairs:
            return ()
        more = f", and so are {len(pairs) - 1} other pairs" if pairs[1:] else ""
        text = (
            f"columns {pairs[0][0]} and {pairs[0][1]} are never seen in one row{more}: nothing but the other columns "
            "tells how they vary together, and where those do not, their covariance is that of the start."
        )
        return (("unidentified", text),)

    def _idle(self, stats: Any) -> tuple[Alert, ...]:
        """Columns that tell the members nothing, where the structure takes no harm from them."""
        whole = stats.pooled()
        flat = np.einsum("kii->ki", whole.scatter) <= np.square(2 * spread_floor(whole.mean)) * whole.weight
        if self.lone or not whole.weight[0] > 0 or not flat.any():
            return ()
        which = ", ".join(map(str, np.flatnonzero(flat[0])))
        return (("constant", f"column {which} is constant: it tells no member from another. Drop it."),)

    def label(self, name: str, place: tuple[int, ...]) -> str:
        mirrored = name == "cov" and place[-1] < place[-2]
        return "" if mirrored else super().label(name, place)

    # ---- asking -------------------------------------------------------------------------------------------------
    def draw(self, n: int, rng: np.random.Generator) -> Array:
        z = rng.standard_normal((n, *np.shape(self.mean)))
        return np.asarray(self.mean + np.einsum("kij,nkj->nki", root(np.asarray(self.cov)), z))

    def cumulative(self, x: Array) -> Array:
        return np.asarray(special.ndtr((x - self.mean) / self.std))

    def inverse(self, q: Array) -> Array:
        return np.asarray(self.mean + self.std * special.ndtri(q))

    @property
    def var(self) -> Any:
        """The variance of each column."""
        return np.einsum("...ii->...i", np.asarray(self.cov))

    @property
    def mode(self) -> Any:
        """The point of highest density: the mean."""
        return self.mean

    def scale_of(self, name: str) -> Any:
        return self.std if name == "mean" else self.std[..., :, None] * self.std[..., None, :]

    def entropy_cell(self) -> Any:
        log_det = self.whitening[1].reshape(self.batch)
        return np.asarray(np.shape(self.mean)[-1] * (HALF_LOG_TAU + 0.5) - log_det)[..., None]

    def kl(self, other: Any) -> Any:
        """D(self‖other) in closed form; a float, or (k,) member by member."""
        self._require_ready("be compared")
        if not isinstance(other, MultivariateNormal) or other.columns != self.columns or other.batch != self.batch:
            msg = f"{self.name} is compared with one of as many members and columns; got {other!r:.80}."
            raise UnsupportedError(msg)
        whiten, log_det = other.whitening
        away = np.einsum("kij,kj->ki", whiten, np.asarray(other.stacked.mean) - self.stacked.mean)
        mixed = whiten @ root(np.asarray(self.stacked.cov))
        squares = np.einsum("kij,kij->k", mixed, mixed) + (away**2).sum(axis=1)
        total = 0.5 * (squares - whiten.shape[-1]) + self.whitening[1] - log_det
        return float(total[0]) if self.lone else total

    # ---- believing ----------------------------------------------------------------------------------------------
    def update(self, stats: Any, prior: Any) -> Any:
        if self.fixed or self.tied or not prior.suits(self.form):
            msg = (
                "NormalInverseWishart is the belief about a free mean and a full covariance of each member; with "
                f"{self!r:.60} it has no closed posterior. Use sf.fit(…, prior=…) for the mode."
            )
            raise UnsupportedError(msg)
        return prior.after(stats)

    def predict_with(self, belief: Any) -> Any:
        return belief.predictive_of(self)

    def expected_member(self, belief: Any) -> tuple[Self, Array]:
        member, offset = belief.expected_of(self)
        return member, offset

    def exposure(self, x: Array) -> Array | None:
        """Rows without any cell have none; cells that others foretell are as hidden as the member, so they have it."""
        if np.isfinite(x.sum()):
            return None
        missing = np.isnan(x).all(axis=1, keepdims=True)
        return np.where(missing, 0.0, 1.0) if missing.any() else None

    def log_prior(self, prior: Any) -> Array:
        stack, belief = self.stacked, getattr(prior, "belief", prior).stacked
        about_mean, about_cov = belief.log_parts({"mean": stack.mean, "cov": stack.cov})
        return np.asarray(about_mean.sum() + (about_cov[0] if self.shared else about_cov.sum()))

    def settle_prior(self, prior: Any, rows: Any, weights: Any) -> Any:
        """A name stands for what the first look at the rows says: it may not change from pass to pass."""
        return self.settle_part(prior, rows, weights) if isinstance(prior, str) else prior

    def weak_prior(self, stats: Any) -> NormalInverseWishart:
        """A hundredth of a row at the mean of the data, and d degrees of freedom whose mode is their variances.

        So the estimate keeps the variances and shrinks the covariances by n/(n + 2d + 2).
        """
        weight = stats.weight if len(stats.scatter) == len(stats.weight) else stats.weight.sum(keepdims=True)
        weight = np.where(weight > 0, weight, 1.0)[:, None]
        variances = np.maximum(np.einsum("kii->ki", stats.scatter) / weight, np.square(spread_floor(stats.mean)))
        d = stats.centre.shape[1]
        belief = NormalInverseWishart(stats.mean, 1e-2, float(d), (2 * d + 2) * variances[:, :, None] * np.eye(d))
        return belief.squeezed(1) if len(stats.weight) == 1 else belief


def _gone(found: Expectation) -> Array:
    """Which members (k,) got so little of the rows that it is nothing."""
    return np.asarray((found.count > 0) & (found.count < NOBODY * found.count.sum()))


def _told(found: Expectation) -> Expectation:
    """The E-step without what members got that is nothing."""
    gone = _gone(found)
    return without(found, gone) if gone.any() else found
