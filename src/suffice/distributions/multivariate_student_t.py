"""Columns that vary together when mean and covariance are uncertain themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.core.family import Family
from suffice.core.parameters import COVARIANCE, POSITIVE, VECTOR, parameter
from suffice.distributions.covariance_algebra import given_some, root, whitening
from suffice.distributions.gaussian_missing import Patterns, score_by_marginals
from suffice.distributions.student_t import StudentT
from suffice.engines.once import cached_property
from suffice.errors import ParameterError, UnsupportedError
from suffice.numerics.lazy import special
from suffice.numerics.special import t_quantile
from suffice.queries.conditional import ConditionalColumn
from suffice.statistics.weights import Weights
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class MultivariateStudentT(Family, register=False):
    r"""A Normal vector of uncertain scale: :math:`p(x) \propto (1 + (x-m)^T S^{-1} (x-m)/\nu)^{-(\nu+d)/2}`.

    The predictive of :class:`MultivariateNormal` under a :class:`NormalInverseWishart` belief: scored and sampled, not
    fitted. A row with holes is scored by the marginal of the cells that it has.

    >>> sf.MultivariateStudentT(5, [0, 0], [[1, 0], [0, 4]]).std.round(3)
    array([1.291, 2.582])
    """

    df: Any = parameter(POSITIVE, default=1.0, typical=(3.5, 12.0))
    loc: Any = parameter(VECTOR, typical=(-2.0, 2.0))
    scale: Any = parameter(COVARIANCE, typical=(0.3, 2.0))

    row_vector = True

    def __post_init__(self) -> None:
        """Check that location and scale have one width."""
        if self.loc is None or self.scale is None:
            msg = f"{self.name} needs df, loc (d,) and scale (d, d)."
            raise ParameterError(msg)
        super().__post_init__()
        if np.shape(self.scale)[-1] != np.shape(self.loc)[-1]:
            msg = f"{self.name}: loc has {np.shape(self.loc)[-1]} columns, but scale has shape {np.shape(self.scale)}."
            raise ParameterError(msg)

    @property
    def columns(self) -> int:
        return int(np.shape(self.loc)[-1])

    @cached_property
    def _whitening(self) -> tuple[Array, Array]:
        return whitening(np.asarray(self.stacked.scale))

    def marginal_columns(self, columns: list[int]) -> Self:
        """The marginal of some columns, by position."""
        return replace(
            self, loc=np.asarray(self.loc)[..., columns], scale=np.asarray(self.scale)[..., columns, :][..., columns]
        )

    @property
    def marginals(self) -> Any:
        stack = self.stacked
        scale = np.sqrt(np.diagonal(stack.scale, axis1=-2, axis2=-1))
        return StudentT(np.asarray(stack.df)[:, None], np.asarray(stack.loc), scale)

    def marginal_column(self, label: int) -> StudentT:
        """The marginal of one column: Student's t."""
        place: Any = label if self.lone else [label]
        df = np.asarray(self.df) if self.lone else np.asarray(self.df)[:, None]
        return StudentT(df, np.asarray(self.loc)[..., place], self._marginal_scale()[..., place])

    def conditional(self, known: dict[int, Any]) -> Any:
        """The other columns, given some by place: with more degrees, and wider the further off the known ones are."""
        rest = [column for column in range(self.columns) if column not in known]
        slopes, left, whiten = given_some(np.asarray(self.stacked.scale), list(known), rest)
        loc, df = np.asarray(self.loc), float(self.df)
        away = np.array(list(known.values()), dtype=float) - loc[list(known)]
        wider = (df + np.square(whiten[0] @ away).sum()) / (df + len(known))
        found = replace(self, df=df + len(known), loc=loc[rest] + slopes[0] @ away, scale=wider * (left[0] @ left[0].T))
        return found if rest[1:] else found.marginal_column(0)

    def conditional_column(self, x: Array, label: int) -> list[ConditionalColumn]:
        """Student's t, by the cells that a row has; one regression for each set of them."""
        df, loc, scale = np.empty((3, self.n_components, len(x)))
        seen = ~np.isnan(x)
        seen[:, label] = False
        for rows, columns in Patterns.where(seen).unstacked:
            known = columns.tolist()
            slopes, left, whiten = given_some(np.asarray(self.scale), known, [label])
            part = x[rows][:, known]
            for j, middle in enumerate(np.asarray(self.loc)):
                away, degrees = part - middle[known], float(self.df[j])
                squares = np.square(away @ whiten[j].T).sum(axis=1)
                df[j, rows] = degrees + len(known)
                loc[j, rows] = middle[label] + away @ slopes[j, 0]
                scale[j, rows] = left[j, 0] * np.sqrt((degrees + squares) / (degrees + len(known)))
        return [ConditionalColumn.of(len(x), StudentT(*one)) for one in zip(df, loc, scale, strict=True)]

    def log_density(self, x: Array) -> Array:
        whiten, log_det = self._whitening
        df, d = np.asarray(self.df), x.shape[1]
        out = np.empty((len(x), self.n_components))
        constant = special.gammaln((df + d) / 2) - special.gammaln(df / 2) - 0.5 * d * np.log(np.pi * df) + log_det
        for j in range(self.n_components):
            with np.errstate(invalid="ignore", over="ignore"):
                z = (x - self.loc[j]) @ whiten[j].T
                out[:, j] = constant[j] - 0.5 * (df[j] + d) * np.log1p(np.einsum("nd,nd->n", z, z) / df[j])
        return score_by_marginals(out, x, self.marginal_columns)

    def gather(self, x: Array, w: Weights) -> Any:
        msg = (
            f"{self.name} is the predictive of a MultivariateNormal and is not fitted itself: take the posterior of "
            "sf.MultivariateNormal() under prior=sf.NormalInverseWishart(…) and ask for its .predictive()."
        )
        raise UnsupportedError(msg)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        z = rng.standard_normal((n, *np.shape(self.loc)))
        shrink = np.sqrt(rng.chisquare(self.df, (n, *self.batch)) / self.df)[..., None]
        return np.asarray(self.loc + np.einsum("kij,nkj->nki", root(np.asarray(self.scale)), z) / shrink)

    def _marginal_scale(self) -> Array:
        return np.asarray(np.sqrt(np.einsum("...ii->...i", np.asarray(self.scale))))

    def cumulative(self, x: Array) -> Array:
        return np.asarray(special.stdtr(np.asarray(self.df)[..., None], (x - self.loc) / self._marginal_scale()))

    def inverse(self, q: Array) -> Array:
        return np.asarray(self.loc + self._marginal_scale() * t_quantile(np.asarray(self.df)[..., None], q))

    @property
    def mean(self) -> Any:
        """The location; undefined where df ≤ 1."""
        return np.where(np.asarray(self.df)[..., None] > 1, self.loc, np.nan)

    @property
    def cov(self) -> Any:
        """The covariance, scale·df/(df − 2); infinite where df ≤ 2."""
        df = np.asarray(self.df, dtype=float)[..., None, None]
        with np.errstate(all="ignore"):
            return np.where(df > 2, self.scale * (df / (df - 2)), np.inf)

    @property
    def var(self) -> Any:
        """The variance of each column."""
        return np.einsum("...ii->...i", self.cov)

    @property
    def mode(self) -> Any:
        """The point of highest density: the location."""
        return self.loc

    def entropy_cell(self) -> Any:
        df, d = np.asarray(self.df, dtype=float), self.columns
        both = (df + d) / 2
        spent = both * (special.digamma(both) - special.digamma(df / 2))
        constant = special.gammaln(df / 2) - special.gammaln(both) + 0.5 * d * np.log(np.pi * df)
        return np.asarray(constant + spent - self._whitening[1].reshape(self.batch))[..., None]
