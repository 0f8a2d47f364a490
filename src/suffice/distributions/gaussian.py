"""Gaussian components and the rows that they see: parameters, scores, and the statistics of an E-step.

What is learned of the statistics is in `gaussian_learning`; the family is `multivariate_normal`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

import numpy as np

from suffice import kernels
from suffice.core.exponential_family import ExponentialFamily
from suffice.core.parameters import COVARIANCE, VECTOR, described, parameter
from suffice.core.responsibilities import EStep
from suffice.core.value import replace_valid
from suffice.distributions import gaussian_missing, gaussian_pass
from suffice.distributions.compact_covariance import Whitening
from suffice.distributions.covariance_algebra import diagonal_whitening, whitening_of_m_step
from suffice.distributions.covariance_structures import structure
from suffice.distributions.floors import rounding_floor
from suffice.distributions.gaussian_natural import GaussianNatural
from suffice.distributions.gaussian_pass import PASSES, e_step_blank, e_step_with_missing, without
from suffice.distributions.normal import Normal
from suffice.distributions.structure_base import Structure
from suffice.engines.once import cached_property
from suffice.errors import ParameterError
from suffice.message_parts import Cell
from suffice.numerics.low_rank import MANY_COLUMNS, LowRank, OnDemand, diagonal, diagonals, replace
from suffice.statistics.moments import Scatter
from suffice.statistics.weights import Weights
from suffice.tables.rows import too_large
from suffice.types import Array, Data

FAR = 1e8  # squared spreads between means: beyond it differences of log densities are taken one by one
APART = 1e3  # spreads that cancel where rows are whitened for all components: those that are left keep 12 digits
WIDE = 4  # columns from which on it is worth while to whiten rows once for all components
NEAR = 1e3  # of scores: what may be subtracted from them without the loss of a digit that counts
NOBODY = 1e-18  # a share of the rows that no sum of them can tell from none, and no mean survives


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(GaussianNatural, register=False):
    """Means and covariances (of a ``structure``) of components, as rows meet them: scored, shared out and gathered."""

    mean: Any = parameter(VECTOR, typical=(-3.0, 3.0))
    cov: Any = parameter(COVARIANCE, typical=(0.3, 2.0))
    structure: str = field(default="full", metadata=described("str", "Restricts the covariance, as above."))

    is_gaussian = True
    row_vector = True
    _in_place = True

    def __post_init__(self) -> None:
        """Fill in the standard value of what was not given, and check that the covariance has its structure."""
        form, cov = structure(self.structure), self.matrices
        given = self.mean if self.mean is not None else cov
        if given is not None and np.ndim(given):
            d = np.shape(given)[-1]
            object.__setattr__(self, "mean", np.zeros(d) if self.mean is None else self.mean)
            object.__setattr__(self, "cov", self._identity(d) if cov is None else cov)
        super().__post_init__()
        if not self.ready:
            return
        cov = self.matrices
        if cov.shape[-2:] != (np.shape(self.mean)[-1],) * 2:
            msg = f"{self.name}: mean has {np.shape(self.mean)[-1]} columns, but cov has shape {cov.shape}."
            raise ParameterError(msg)
        if not form.holds(cov.reshape(-1, *cov.shape[-2:])):
            msg = f"{self.name}: cov does not have the structure {self.structure!r}; give one that has, or none."
            raise ParameterError(msg)
        if form.scatter_kind == "diagonal" and not isinstance(cov, LowRank):
            object.__setattr__(self, "cov", LowRank(diagonals(cov)))

    def _identity(self, d: int) -> Any:
        form = structure(self.structure)
        return diagonal(np.ones(d), compact=form.scatter_kind == "diagonal" or (form.compact and d >= MANY_COLUMNS))

    @property
    def matrices(self) -> Any:
        """The covariances as they are kept: an array, or a `LowRank` of those that need no d × d numbers."""
        found = self.__dict__.get("cov")
        return found if not isinstance(found, LowRank) or structure(self.structure).compact else found.dense()

    @property
    def form(self) -> Structure:
        """The structure as an object."""
        return _form(self.structure, "cov" in self.tied)

    @property
    def shared(self) -> bool:
        """Whether all components have one covariance."""
        return _form(self.structure, "cov" in self.tied).shared

    @property
    def scatter_kind(self) -> str:
        """What an E-step keeps of the scatter: ``full`` matrices, the ``diagonal``, or one ``pooled`` matrix."""
        return _form(self.structure, "cov" in self.tied).scatter_kind

    @property
    def is_quadratic(self) -> bool:
        return self.form.learned and not self.fixed and not self.tied

    @property
    def columns(self) -> int | None:
        return None if self.mean is None else int(np.shape(self.mean)[-1])

    @property
    def var(self) -> Any:
        """The variance of each column."""
        return diagonals(self.matrices)

    def read(self, x: Data) -> Any:
        return x if isinstance(x, gaussian_missing.Preprocessed) else super().read(x)

    def preprocess(self, rows: Array) -> Any:
        return gaussian_missing.Preprocessed.of(rows)

    def for_data(self, rows: Data) -> Self:
        return self.of_width(rows.shape[1])

    def of_width(self, d: int) -> Self:
        """The prototype for d columns."""
        if self.columns is not None:
            return self
        found: Self = replace_valid(self, mean=np.zeros(d), cov=self._identity(d))
        return found

    def stack(self, k: int) -> Any:
        if self.columns is None:
            msg = (
                f"{self.name}() does not know its number of columns yet, so it cannot be stacked: give mean and cov, "
                "or take the prototype for your rows first, as in prototype.for_data(rows).stack(k)."
            )
            raise ParameterError(msg)
        return super().stack(k)

    def for_statistics(self, stats: Scatter) -> Self:
        if self.mean is not None and self.batch == stats.weight.shape:
            return self
        return super(Gaussian, self.of_width(stats.centre.shape[1])).for_statistics(stats)

    @cached_property
    def roots(self) -> Whitening | None:
        """As `whitening`, applied to rows without d × d numbers; None where those are kept."""
        return Whitening(self.matrices) if isinstance(self.matrices, LowRank) else None

    @cached_property
    def log_det(self) -> Array:
        """−½ log|Σ| of each component, (k,)."""
        return self.whitening[1] if self.roots is None else self.roots.log_det

    @cached_property
    def whitening(self) -> tuple[Array, Array]:
        """W with W Σ Wᵀ = I of each component, and log|W|."""
        cov = np.asarray(self.cov)
        cov = cov[None] if cov.ndim == 2 else cov
        whiten, log_det = diagonal_whitening(cov) if self.scatter_kind == "diagonal" else whitening_of_m_step(cov)
        whiten.flags.writeable = log_det.flags.writeable = False
        return whiten, log_det

    # ---- scores -------------------------------------------------------------------------------------------------
    def log_density(self, x: Array) -> Array:
        x = np.asarray(x)
        if self.scatter_kind == "diagonal":
            return kernels.normal_log_prob(x, self.mean, np.sqrt(self.var))
        with np.errstate(invalid="ignore", over="ignore"):
            out = self._shared_density(x) if self.shared and self.n_components > 1 and x.shape[1] >= WIDE else None
            if out is None:
                roots, mean = self.roots, np.asarray(self.mean)
                out = (
                    kernels.gaussian_log_prob(x, mean, *self.whitening) if roots is None else roots.log_density(x, mean)
                )
        return (
            out
            if np.isfinite(out.sum())
            else gaussian_missing.score(out, x, np.asarray(self.mean), np.asarray(self.cov))
        )

    def _shared_density(self, x: Array) -> Array | None:
        """Where components share Σ, rows are whitened once for all; None where so much cancels that it tells."""
        about = np.asarray(self.mean).mean(axis=0)
        away = np.asarray(self.mean) - about
        if self.roots is not None:
            places, z = self.roots(0, away), self.roots(0, x - about)
            if not (np.abs(places) < APART).all():
                return None
        else:
            whiten = self.whitening[0][0]
            if not (np.abs(away) @ np.abs(whiten).T < APART).all():
                return None
            places, z = away @ whiten.T, (x - about) @ whiten.T
        out: Array = kernels.normal_log_prob(z, places, np.ones_like(places))
        out += self.log_det[0]
        out[np.isnan(z[:, -1])] = np.nan  # each cell is in the last: rows with holes are scored by themselves
        return out

    def log_cell(self, x: Array) -> Array:
        """Log density of whole rows (n, d) under one component, (n,)."""
        return np.asarray(self.log_prob(np.asarray(x)))

    def linear_form(self, about: Array) -> tuple[Array, Array]:
        """Slopes (k, d) and offsets (k,) where components share Σ: log p(x) = slopes · (x − about) + offset + a rest.

        The rest is the same for all components: slopes are Σ⁻¹(mean − about), offsets −½ (mean − about) · slopes.
        """
        away = np.asarray(self.stacked.mean) - about
        if self.roots is None:
            whiten = self.whitening[0][0]
            away = away @ whiten.T
            slopes = np.asarray(away @ whiten)
        else:
            away = self.roots(0, away)
            slopes = self.roots.back(0, away)
        return slopes, -0.5 * np.einsum("kd,kd->k", away, away)

    def relative_density(self, x: Array) -> Array:
        if not self.shared or self.n_components == 1 or self.scatter_kind == "diagonal":
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

    def log_odds_by_column(self, x: Array, first: int, second: int) -> list[tuple[Any, Array]]:
        """Where components share Σ, w · (x − middle) column by column: w = Σ⁻¹(difference of the means)."""
        if not self.shared or np.isnan(x).any():
            return super().log_odds_by_column(x, first, second)
        mean = np.asarray(self.mean)
        middle = mean[second] + 0.5 * (mean[first] - mean[second])
        slopes, _ = self.linear_form(middle)
        cells = (x - middle) * (slopes[first] - slopes[second])
        return [((column,), cells[:, column]) for column in range(cells.shape[1])]

    def exposure(self, x: Array) -> Array | None:
        """Rows without any cell have none.

        Cells that others predict are as hidden as the component, so they have it.
        """
        if np.isfinite(x.sum()):
            return None
        missing = np.isnan(x).all(axis=1, keepdims=True)
        return np.where(missing, 0.0, 1.0) if missing.any() else None

    # ---- statistics ---------------------------------------------------------------------------------------------
    def gather(self, x: Array, w: Weights) -> Scatter:
        return self._scatter(x, w, gaussian_pass.scatter)

    def gather_together(self, x: Array, w: Weights) -> Scatter:
        return self._scatter(
            x, w, gaussian_pass.shared_scatter if self.scatter_kind == "pooled" else gaussian_pass.scatter
        )

    def _scatter(self, x: Array, w: Weights, gather: Callable[..., Scatter]) -> Scatter:
        split = x.split if isinstance(x, gaussian_missing.Preprocessed) else None
        x = np.asarray(x)
        if split is None:
            stats = gather(self.form, x, w)
            if stats.finite:
                return stats
            split = gaussian_missing.Split.of(x)
        if split.infinite:
            kept = w.per_row() > 0
            wrong = np.isinf(x) & kept[:, None]
            if wrong.any():
                row, column = np.argwhere(wrong)[0].tolist()
                raise self._bad_value(x[row, column], Cell(row + w.offset, column))
            w, split = gaussian_missing.chosen(w, np.flatnonzero(kept)), gaussian_missing.Split.of(x[kept])
        stats = gather(self.form, split.rows, gaussian_missing.chosen(w, split.whole))
        held = gaussian_missing.chosen(w, split.some)
        if (held.per_row() > 0).any():
            stats = stats + self._expected(split, held, pooled=len(stats.kept) < self.n_components)
        if not stats.finite:
            row, column = map(int, np.unravel_index(np.nanargmax(np.abs(x)), x.shape))
            raise too_large(self.name, x[row, column], Cell(row + w.offset, column))
        return stats

    def _expected(self, split: gaussian_missing.Split, w: Weights, *, pooled: bool) -> Scatter:
        """The statistics of rows with holes, as these parameters complete them."""
        mean = np.asarray(self.mean)
        if self.scatter_kind == "diagonal":
            return gaussian_missing.gather_columns(split.cells, w, mean, np.sqrt(self.var))
        cov = np.asarray(self.cov)
        return gaussian_missing.gather(split, w, mean, cov[:1] if self.shared else cov, pooled=pooled)

    def first_statistics(self, x: Array, weights: Data = None) -> Any:
        """With holes: as the mean and variance of each column, in whoever has cells of it, complete the rows."""
        rows, prepared, model = self._prepare(x, weights)
        if not np.isnan(rows).any():
            return self.suffstats(rows, prepared)
        stack = model.stacked
        columns = Normal().widened(rows.shape[1]).suffstats(rows, prepared)
        every = columns.pooled()
        mean = np.where(columns.weight > 0, columns.mean, np.where(every.weight > 0, every.mean, stack.mean))
        var = np.where(every.weight > 0, np.maximum(every.var, np.square(rounding_floor(every.mean))), stack.var)
        var = np.where(columns.var > np.square(rounding_floor(mean)), columns.var, var)
        whole = diagonal(var, compact=self.scatter_kind == "diagonal")
        plain = type(self)(mean, whole, "diag" if self.scatter_kind == "diagonal" else "full")
        return self.tag_family(plain.suffstats(rows, prepared))

    def e_step(self, x: Array, log_weights: Array, weights: Array | None = None) -> EStep:
        split = x.split if isinstance(x, gaussian_missing.Preprocessed) else None
        x = np.asarray(x)
        if split is None:
            found = self._fused(x, log_weights, weights)
            if np.isfinite(found.log_likelihood):
                return found
            if not np.isnan(x).any():
                return super(ExponentialFamily, self).e_step(x, log_weights, weights)
            split = gaussian_missing.Split.of(x)
        return self._e_step_in_parts(x, split, np.asarray(log_weights), weights)

    def _e_step_in_parts(
        self, x: Array, split: gaussian_missing.Split, log_weights: Array, weights: Array | None
    ) -> EStep:
        """Complete rows as always, those with holes by what they have, and those without any cell by the weights."""

        def part(which: Array) -> tuple[Array, Array | None]:
            logs = log_weights if log_weights.ndim == 1 else log_weights[which]
            return logs, None if weights is None else weights[which]

        found = self.e_step(split.rows, *part(split.whole))
        if split.infinite and np.isinf(split.cells).any():
            found = found + super(ExponentialFamily, self).e_step(x[split.some], *part(split.some))
        elif len(split.some):
            found = found + e_step_with_missing(self, split, *part(split.some))
        if len(split.blank):
            likelihood, entropy, count = e_step_blank((len(split.blank), self.n_components), *part(split.blank))
            found = replace(
                found,
                log_likelihood=found.log_likelihood + likelihood,
                entropy=found.entropy + entropy,
                count=found.count + count,
            )
        return _without_degenerate(found)

    def _fused(self, x: Array, log_weights: Array, weights: Array | None) -> EStep:
        with np.errstate(invalid="ignore", over="ignore"):
            found = PASSES[self.scatter_kind](self, x, log_weights, weights)
            gone = _is_degenerate(found)
            if gone.any():
                found = without(found, gone)
            if not found.statistics.finite:
                found = PASSES[self.scatter_kind](self, x, np.where(gone, -np.inf, log_weights), weights)
        return found


Gaussian.cov = OnDemand("cov")


@cache
def _form(name: str, tied: bool) -> Structure:  # noqa: FBT001
    form = structure(name)
    return structure(form.tied_version) if tied else form


def _is_degenerate(found: EStep) -> Array:
    """Which components (k,) got so little of the rows that it is nothing."""
    return np.asarray((found.count > 0) & (found.count < NOBODY * found.count.sum()))


def _without_degenerate(found: EStep) -> EStep:
    """The E-step without what components got that is nothing."""
    gone = _is_degenerate(found)
    return without(found, gone) if gone.any() else found
