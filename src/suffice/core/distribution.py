"""What users meet: a distribution over rows, with its parameters, answers and questions, on one page.

How the answers come about is in :mod:`suffice.core.family` and the small classes that it is made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from suffice.arguments import check_level
from suffice.core.parameters import REAL, Domain
from suffice.errors import UnsupportedError
from suffice.queries import given as questions
from suffice.types import Array

REGISTRY: dict[str, type[Distribution]] = {}


class Distribution:
    """A distribution over rows, or a stack of k of them: an immutable value.

    Parameters are numbers (one column), arrays (d,) of independent columns, or arrays (k, d) of a stack. Families and
    models derive from :class:`suffice.core.family.Family`, which has all of this in terms of a few formulas.
    """

    support: ClassVar[Domain] = REAL  # what one cell (or one event) may be
    fixed: frozenset[str]  # names of the parameters that fitting leaves as they are
    tied: frozenset[str]  # names of the parameters that all components of a stack share

    def __init_subclass__(cls, *, register: bool = True, **options: Any) -> None:
        """Enter suffice's own families into the registry, where the laws find them."""
        super().__init_subclass__(**options)
        if register and cls.__module__.startswith("suffice.distributions"):
            REGISTRY[cls.__name__] = cls

    # ---- parameters -----------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        """The family's name."""
        return type(self).__name__

    @property
    def params(self) -> dict[Any, Any]:
        """The learned parameters by name: floats for one column, else arrays."""
        raise NotImplementedError

    @property
    def free(self) -> tuple[Any, ...]:
        """Names of the parameters that fitting may change."""
        raise NotImplementedError

    def fix(self, *names: str) -> Self:
        """Freeze parameters at their present values: ``Normal(std=1).fix("std")``."""
        raise NotImplementedError

    def tie(self, *names: str) -> Self:
        """Share parameters between all components of a stack: ``Normal().tie("std")``."""
        raise NotImplementedError

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of the whole stack, shared ones counted once."""
        raise NotImplementedError

    @property
    def columns(self) -> int | None:
        """d, or None while the value can still be widened to any number of columns."""
        raise NotImplementedError

    @property
    def n_components(self) -> int:
        """K."""
        raise NotImplementedError

    @property
    def lone(self) -> bool:
        """Whether this is one component rather than a stack."""
        raise NotImplementedError

    def stack(self, k: int) -> Any:
        """K copies of this prototype as one stack."""
        raise NotImplementedError

    @property
    def unstacked(self) -> tuple[Any, ...]:
        """The components, each alone."""
        raise NotImplementedError

    @property
    def blocks(self) -> dict[Any, Any]:
        """The distributions that this one is made of, by column or component; none for a family."""
        return {}

    # ---- rows -----------------------------------------------------------------------------------------------------
    def log_prob(self, x: Any) -> Any:
        """Log density (or probability) of each row: (n,), or (n, k) for a stack; a float for a single row.

        Missing cells are left out; values outside the support have −inf.
        """
        raise NotImplementedError

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Draw rows: (n,), (n, d), or (n, k, d) from a stack; the same seed gives the same rows."""
        raise NotImplementedError

    # ---- moments and probabilities, column by column --------------------------------------------------------------
    @property
    def mean(self) -> Any:
        """Mean of each column."""
        raise NotImplementedError

    @property
    def var(self) -> Any:
        """Variance of each column."""
        raise NotImplementedError

    @property
    def std(self) -> Any:
        """Standard deviation of each column."""
        return np.sqrt(self.var)

    def cdf(self, x: Any) -> Any:
        """P(X ≤ x), column by column."""
        raise NotImplementedError

    def quantile(self, q: Any) -> Any:
        """The smallest x with P(X ≤ x) ≥ q, column by column."""
        raise NotImplementedError

    def interval(self, level: float = 0.95) -> Any:
        """The central interval that holds ``level`` of the probability, column by column."""
        check_level(level)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def entropy(self) -> Any:
        """−E log p in nats: of the row, or (k,) for a stack."""
        raise NotImplementedError

    def kl(self, other: Any) -> Any:
        """D(self‖other) in nats: how much worse ``other`` describes rows that this one makes."""
        raise NotImplementedError

    # ---- the form η·u(x) − A(η) + log h(x), which exponential families have ---------------------------------------
    def statistic(self, x: Array) -> Array:
        """u(x) of an exponential family; others have none."""
        raise self._not_exponential("statistic u(x)")

    def log_base(self, x: Array) -> Array:
        """Log h(x) of an exponential family; others have none."""
        raise self._not_exponential("base measure h(x)")

    def natural(self) -> Array:
        """The natural parameter η of an exponential family; others have none."""
        raise self._not_exponential("natural parameter η")

    def log_partition(self) -> Array:
        """A(η) of an exponential family; others have none."""
        raise self._not_exponential("log-partition A(η)")

    def mean_statistic(self) -> Array:
        """E u(X) of an exponential family; others have none."""
        raise self._not_exponential("mean statistic E u(X)")

    def covariance_statistic(self) -> Array:
        """Cov u(X) of an exponential family; others have none."""
        raise self._not_exponential("covariance of a statistic, Cov u(X)")

    def from_mean(self, mean: Array) -> Self:
        """The distribution with a given mean statistic, of an exponential family; others have none."""
        raise self._not_exponential("mean statistic to be found from")

    def from_natural(self, eta: Array) -> Self:
        """The distribution with a given natural parameter, of an exponential family; others have none."""
        raise self._not_exponential("natural parameter to be found from")

    def _not_exponential(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"{self.name} has no {what}: it is not an exponential family, because its log density cannot be written "
            "as η·u(x) − A(η) + log h(x)" + (" with all its parameters free." if self.free else ".")
        )

    # ---- learning -------------------------------------------------------------------------------------------------
    def suffstats(self, x: Any, weights: Any = None) -> Any:
        """Statistics of the rows: the E-step.

        Parameters
        ----------
        x
            Rows, as ``log_prob`` takes them.
        weights
            None, (n,) per row, (n, k) per row and component, or a :class:`OneHot` that names each row's component.
        """
        raise NotImplementedError

    def estimate(self, stats: Any, prior: Any = None) -> Self:
        """Parameters from statistics: maximum likelihood, or the mode of the posterior under ``prior``.

        Iterative M-steps begin at this value. A component or column that was not seen keeps its parameters.
        """
        raise NotImplementedError

    def log_likelihood(self, stats: Any) -> Any:
        """Σ w log p(x) from the statistics alone: a float, or (k,) for a stack."""
        raise NotImplementedError

    def start(self, x: Any, weights: Any = None, rng: np.random.Generator | None = None) -> Self:
        """A first value from a sample of rows; by default the estimate of that sample."""
        raise NotImplementedError

    def posterior(self, stats: Any, prior: Any) -> Any:
        """What to believe of the parameters after the statistics: the pair (likelihood, belief)."""
        raise NotImplementedError

    def standard_errors(self, stats: Any) -> dict[Any, Any]:
        """Standard error of each parameter from the observed information; 0 for fixed ones, NaN on a boundary."""
        raise NotImplementedError

    # ---- questions about some columns -----------------------------------------------------------------------------
    def marginal(self, *columns: Any) -> Any:
        """The distribution of some columns alone, by name or place.

        Of one column it is a distribution of a number or label; of several it has their names, where they have some.

        Examples
        --------
        >>> sf.MultivariateNormal([1.0, 2.0], [[4.0, 1.0], [1.0, 9.0]]).marginal(1)
        Normal(mean=2, std=3)
        """
        return questions.marginal(self, columns)

    def given(self, mapping: Mapping[Any, Any] | None = None, /, **columns: Any) -> Any:
        """The distribution of the other columns where some are known.

        Parameters
        ----------
        mapping, columns
            One value of each known column, as ``given({"bill length": 40.0}, species="Adelie")``; by place where
            columns have no names, as ``given({0: 1.5})``. None and NaN are not known.

        Returns
        -------
        A distribution of what is left, in closed form, with the names of its columns and the same verbs. A label that
        the column does not have is refused, and a number far out in the tails of its column is warned of.

        Examples
        --------
        >>> sf.MultivariateNormal([0.0, 0.0], [[4.0, 1.0], [1.0, 1.0]]).given({1: 2.0})
        Normal(mean=2, std=1.73205)
        """
        return questions.given(self, mapping, columns)

    def impute(
        self,
        data: Any,
        *,
        n: int | None = None,
        draw: bool = False,
        uncertainty: bool = False,
        random_state: Any = None,
    ) -> Any:
        """Fill the missing cells of rows from the cells that they have.

        Parameters
        ----------
        data
            Rows with holes: a frame, columns by name, or an array. What is seen stays as it is.
        n
            How many completed copies to draw; they come as a list.
        draw
            Draw one completed copy: each hole from its distribution given all other cells of the row, drawn ones too.
        uncertainty
            Return also how sure each value is, as a pair ``(data, uncertainty)``.
        random_state
            Seed or Generator of the draws.

        Returns
        -------
        The same kind of table. Without draws a hole gets the conditional mean, of whole numbers the conditional median
        (so that a count stays a count), of labels the most probable one. The uncertainty is the conditional standard
        deviation of a number, 0 where it was seen, and the probability of the label that was chosen, 1 where it was.

        Examples
        --------
        >>> both = sf.MultivariateNormal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])
        >>> both.impute([[2.0, np.nan], [np.nan, -1.0]])
        array([[ 2. ,  1. ],
               [-0.5, -1. ]])
        """
        from suffice.queries.imputation import impute

        return impute(self, data, n=n, draw=draw, uncertainty=uncertainty, random_state=random_state)

    def surprisal(self, data: Any) -> Any:
        """How strange rows and cells are: −log p of each row, and of each cell given the others of its row.

        Returns
        -------
        A :class:`~suffice.queries.surprisal.Surprisal` with ``rows`` (n,), ``cells`` as the same kind of table (missing
        cells have NaN), and a print of the strangest rows. In nats; densities make it negative where they pass 1.

        Examples
        --------
        >>> both = sf.MultivariateNormal([0.0, 0.0], [[1.0, 0.9], [0.9, 1.0]])
        >>> both.surprisal([[1.0, 1.0], [1.0, -1.0]]).rows.round(2)
        array([ 1.53, 11.01])
        """
        from suffice.queries.surprisal import surprisal

        return surprisal(self, data)

    def predict(self, column: Any, given: Any = None, *, level: float = 0.95) -> Any:
        """One column, predicted from the others.

        Parameters
        ----------
        column
            Its name or place.
        given
            What is known: one value of each known column, or a table with many rows of them. Columns that are not
            there and cells that are missing are not known; the column itself is not looked at.
        level
            The probability that the interval holds.

        Returns
        -------
        A :class:`~suffice.queries.prediction.Prediction`: ``value`` (as :meth:`impute` fills it), ``std`` and central
        ``interval`` of a number, ``probabilities`` by level of a label.

        Examples
        --------
        >>> sf.MultivariateNormal([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]]).predict(1, given={0: 2.0})
        Prediction(1: 1.20 ± 0.80, 95 % interval −0.37 … 2.77)
        """
        from suffice.queries.prediction import predict

        return predict(self, column, given, level)

    def mutual_information(self, a: Any, b: Any) -> float:
        """What columns tell of each other, in nats: the expected log p(a, b) − log p(a) − log p(b).

        ``a`` and ``b`` are columns or groups of them, as a list. In closed form between Gaussians and 0 between
        independent columns; of a mixture a sum over labels and whole numbers, by quadrature of one number given
        one label, else from draws with a fixed seed, and then the standard error is in ``.error``.

        Examples
        --------
        >>> sf.MultivariateNormal([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]]).mutual_information(0, 1).__round__(6)
        0.223144
        """
        return questions.mutual_information(self, a, b)
