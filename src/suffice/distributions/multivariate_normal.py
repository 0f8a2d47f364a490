"""Columns that vary together."""

from __future__ import annotations

from dataclasses import Field, dataclass
from typing import Any, Self

import numpy as np

from suffice.core.family import Family
from suffice.distributions.covariance_algebra import given_some, root
from suffice.distributions.floors import HALF_LOG_TAU, rounding_floor
from suffice.distributions.gaussian_learning import GaussianLearning
from suffice.distributions.gaussian_missing import Patterns
from suffice.distributions.normal import Normal
from suffice.distributions.normal_inverse_wishart import NormalInverseWishart
from suffice.distributions.weak_priors import MEAN_ROWS, ROWS, spanning
from suffice.errors import DataError, ParameterError, UnsupportedError
from suffice.numerics.lazy import special
from suffice.numerics.low_rank import LowRank, replace
from suffice.queries.conditional import ConditionalColumn
from suffice.statistics.moments import Scatter
from suffice.statistics.weights import Weights
from suffice.types import Array, Prior


@dataclass(frozen=True, eq=False, repr=False)
class MultivariateNormal(GaussianLearning):
    r"""Columns that vary together: :math:`p(x) = e^{-(x-\mu)^T\Sigma^{-1}(x-\mu)/2} / \sqrt{|2\pi\Sigma|}`.

    Statistic (x, xxᵀ), natural parameter (Σ⁻¹μ, −½Σ⁻¹), log-partition ½(μᵀΣ⁻¹μ + log|Σ|); conjugate prior
    :class:`NormalInverseWishart`. ``structure`` restricts the covariance: "full", "diag", "spherical", "identity"
    (fixed), "tied" (one for all components), or three letters for volume, shape and orientation, each equal in all
    components (E), variable (V) or the identity (I): "EII" … "VVV". A singular estimate is floored, with an alert:
    variances at four times the resolution of float64 around the mean, eigenvalues of the correlation matrix at
    d·10⁻¹². A row without any cell is missing; ``log_prob`` of a row with holes is that of the cells that it has. A fit
    of such rows maximises the likelihood of those cells, by EM: the others are expected given what was seen.

    References
    ----------
    Celeux, G. and Govaert, G. (1995). Gaussian parsimonious clustering models. Pattern Recognition 28, 781-793.

    >>> sf.fit(sf.MultivariateNormal(), [[0.0, 1.0], [2.0, 1.0], [1.0, 4.0]]).distribution.mean
    array([1., 2.])
    """

    conjugates = (NormalInverseWishart,)
    belief_about = "mean"

    # ---- some columns -------------------------------------------------------------------------------------------
    def marginal_columns(self, columns: list[int]) -> Self:
        """The marginal of some columns, by position."""
        mean, kept = np.asarray(self.mean)[..., columns], self.matrices
        if isinstance(kept, LowRank):
            cov: Any = kept.marginal_columns(columns)
        else:
            cov = kept[..., columns, :][..., columns]
        return replace(self, mean=mean, cov=cov, structure=self.form.marginal_structure or self.structure)

    @property
    def marginals(self) -> Any:
        stack = self.stacked
        return Normal(np.asarray(stack.mean), np.sqrt(stack.var))

    def marginal_column(self, label: int) -> Normal:
        """The marginal of one column: a Normal number."""
        place = label if self.lone else [label]
        return Normal(np.asarray(self.mean)[..., place], np.asarray(self.std)[..., place])

    def conditional(self, known: dict[int, Any]) -> Any:
        """The other columns, given some by place: Normal as well, around a linear function of what is known."""
        rest = [column for column in range(int(self.columns or 0)) if column not in known]
        slopes, left, _ = given_some(np.asarray(self.stacked.cov), list(known), rest)
        mean = np.asarray(self.mean)
        moved = mean[rest] + slopes[0] @ (np.array(list(known.values()), dtype=float) - mean[list(known)])
        form = self.form.marginal_structure or self.structure
        found = replace(self, mean=moved, cov=left[0] @ left[0].T, structure=form)
        return found if rest[1:] else found.marginal_column(0)

    def conditional_column(self, x: Array, label: int) -> list[ConditionalColumn]:
        """Normal, around a linear function of the cells that a row has; one for each set of them."""
        means, stds = np.empty((2, self.n_components, len(x)))
        seen = ~np.isnan(x)
        seen[:, label] = False
        for rows, columns in Patterns.where(seen).unstacked:
            known = columns.tolist()
            slopes, left, _ = given_some(np.asarray(self.cov), known, [label])
            part = x[rows][:, known]
            self._refuse_infinite(part, known)
            for j, mean in enumerate(np.asarray(self.mean)):
                means[j, rows] = mean[label] + (part - mean[known]) @ slopes[j, 0]
            stds[:, rows] = left[:, 0]
        return [ConditionalColumn.of(len(x), Normal(mean, std)) for mean, std in zip(means, stds, strict=True)]

    def _refuse_infinite(self, part: Array, known: list[int]) -> None:
        """Name a cell from which nothing follows."""
        wrong = np.isinf(part)
        if wrong.any():
            row, column = np.argwhere(wrong)[0].tolist()
            cell = f"a cell of column {known[column]} is {part[row, column]:g}"
            msg = f"{self.name}: {cell}, from which nothing follows; correct it, or mark it missing."
            raise DataError(msg)

    # ---- asking -------------------------------------------------------------------------------------------------
    def draw(self, n: int, rng: np.random.Generator) -> Array:
        z = rng.standard_normal((n, *np.shape(self.mean)))
        cov = self.matrices
        if isinstance(cov, LowRank):
            x = self.mean + np.sqrt(cov.diagonal) * z
            for index, own in enumerate(cov.factors):
                x[:, index] += rng.standard_normal((n, len(own))) @ own
            return np.asarray(x)
        return np.asarray(self.mean + np.einsum("kij,nkj->nki", root(np.asarray(self.cov)), z))

    def cumulative(self, x: Array) -> Array:
        return np.asarray(special.ndtr((x - self.mean) / self.std))

    def inverse(self, q: Array) -> Array:
        return np.asarray(self.mean + self.std * special.ndtri(q))

    @property
    def mode(self) -> Any:
        """The point of highest density: the mean."""
        return self.mean

    def scale_of(self, name: str) -> Any:
        return self.std if name == "mean" else self.std[..., :, None] * self.std[..., None, :]

    def entropy_cell(self) -> Any:
        log_det = self.log_det.reshape(self.batch)
        return np.asarray(np.shape(self.mean)[-1] * (HALF_LOG_TAU + 0.5) - log_det)[..., None]

    def kl(self, other: Family) -> Any:
        """D(self‖other) in closed form; a float, or (k,) component by component."""
        self.require_ready("be compared")
        if not isinstance(other, MultivariateNormal) or other.columns != self.columns or other.batch != self.batch:
            msg = f"{self.name} is compared with one of as many components and columns; got {other!r:.80}."
            raise UnsupportedError(msg)
        whiten, log_det = other.whitening
        away = np.einsum("kij,kj->ki", whiten, np.asarray(other.stacked.mean) - self.stacked.mean)
        mixed = whiten @ root(np.asarray(self.stacked.cov))
        squares = np.einsum("kij,kij->k", mixed, mixed) + (away**2).sum(axis=1)
        total = 0.5 * (squares - whiten.shape[-1]) + self.whitening[1] - log_det
        return float(total[0]) if self.lone else total

    def label(self, name: str, place: tuple[int, ...]) -> str:
        mirrored = name == "cov" and place[-1] < place[-2]
        return "" if mirrored else super().label(name, place)

    def _is_shown(self, f: Field[Any]) -> bool:
        return super()._is_shown(f) and (f.name != "structure" or self.structure != "full")

    # ---- believing ----------------------------------------------------------------------------------------------
    def update(self, stats: Any, prior: Any) -> Any:
        if self.fixed or self.tied or not prior.suits(self.form):
            msg = (
                "NormalInverseWishart is the belief about a free mean and a full covariance of each component; with "
                f"{self!r:.60} it has no closed posterior. Use sf.fit(…, prior=…) for the mode."
            )
            raise UnsupportedError(msg)
        return prior.after(stats)

    def reference_belief(self, stats: Scatter) -> NormalInverseWishart:
        if self.fixed or self.tied or not self.form.unrestricted:
            msg = "it is for a free mean and a full covariance."
            raise ParameterError(msg)
        return NormalInverseWishart(stats.mean, stats.weight, stats.weight - 1, stats.scatter)

    def predict_with(self, belief: Any) -> Any:
        return belief.predictive_of(self)

    def expected_component(self, belief: Any) -> tuple[Self, Array]:
        component, offset = belief.expected_of(self)
        return component, offset

    def log_prior(self, prior: NormalInverseWishart) -> Array:
        stack, belief = self.stacked, getattr(prior, "belief", prior).stacked
        about_mean, about_cov = belief.relative_parts({"mean": stack.mean, "cov": stack.cov})
        return np.asarray(about_mean.sum() + (about_cov[0] if self.shared else about_cov.sum()))

    def resolve_prior(self, prior: Prior, rows: Array, weights: Weights) -> Any:
        """A name stands for what the first look at the rows says: it may not change from pass to pass."""
        return self.resolve_block_prior(prior, rows, weights) if isinstance(prior, str) else prior

    def weak_prior(self, stats: Scatter, part: float = 1.0) -> NormalInverseWishart:
        """A hundredth of a row at the mean of the data, and one row of a ``part`` of their covariance."""
        weight = stats.weight if len(stats.scatter) == len(stats.weight) else stats.weight.sum(keepdims=True)
        cov = stats.scatter / np.where(weight > 0, weight, 1.0)[:, None, None]
        d = stats.centre.shape[1]
        scale = ROWS * part * spanning(cov, rounding_floor(stats.mean), float(stats.weight.sum()))
        belief = NormalInverseWishart(stats.mean, MEAN_ROWS, float(d), scale, mode_offset=ROWS - d)
        return belief.squeezed(1) if len(stats.weight) == 1 else belief
