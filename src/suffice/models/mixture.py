"""Rows made by components that are not seen.

Rows are read and scored in `mixture_rows`, a step of EM is in `mixture_em_step`, priors are in `mixture_priors`,
and questions are answered in `mixture_queries`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.family import Family
from suffice.core.parameters import SIMPLEX, as_parameter
from suffice.core.responsibilities import Joint, e_step
from suffice.core.value import replace_valid
from suffice.engines.once import cached_property
from suffice.errors import ParameterError, UnsupportedError
from suffice.models.information import MixtureChart
from suffice.models.mixture_answers import MixtureAnswers
from suffice.models.mixture_components import alone, by_component, checked_components, copies, ridge, with_weights
from suffice.models.mixture_em_step import MixtureSteps
from suffice.models.mixture_priors import MixturePriors
from suffice.models.mixture_queries import COMPONENT, MixtureQueries
from suffice.models.mixture_rows import MixtureRows
from suffice.models.single_component import SingleComponent
from suffice.models.stack import Stack, shape_components, side_by_side, stacked_or_side_by_side
from suffice.statistics.sums import Statistics, picked
from suffice.statistics.weights import Weights
from suffice.tables.column_names import with_all_columns
from suffice.tables.labels import Labels
from suffice.tables.streams import Source
from suffice.types import Array, Data, Prior, Rows
from suffice.uncertainty.information import chart

ROWS: Any = object()  # nothing is given: the question is about rows


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(  # type: ignore[override]
    MixtureRows, MixtureAnswers, MixtureSteps, MixtureQueries, MixturePriors, SingleComponent, Family, register=False
):
    r"""Each row comes from one of several components, and nobody says which: :math:`p(x) = \sum_j \pi_j p_j(x)`.

    Parameters
    ----------
    components : Distribution, or a sequence of them
        One prototype for all components, a list of different ones, or a stack with their parameters. Any distribution
        will do, also a :class:`Product` of columns or another mixture.
    n : int, optional
        How many components; not needed with a list or a stack.
    weights : vector, optional
        The probability π of each component; equal until they are learned. ``.fix("weights")`` keeps them.
    hard : bool
        Give each row as a whole to its most probable component (k-means is the best known case), instead of in parts.
    floors : float or matrix, optional
        What the spread of components is held above. By default a fit takes it from the spread of all rows; for
        MultivariateNormal it may be a matrix (d, d), or a number, which is then added to the variances.
    measured : bool
        Whether the floors come from the rows of a fit, which sets it.
    fixed, tied : set of str
        Names of parameters that are not learned, and that components share; ``fix`` and ``tie`` set them.

    Notes
    -----
    A prior is ``{"weights": Dirichlet(…), "components": prior of a component}``, either of them, or ``"weak"``; a list
    gives each component its own. Under a Dirichlet below 1 no weight falls below 1e-10, and an alert says where it
    would. Fitting is by EM; see :func:`suffice.fit` for its starts.

    References
    ----------
    McLachlan, G. and Peel, D. (2000). Finite Mixture Models. Wiley.
    Celeux, G. and Govaert, G. (1992). A classification EM algorithm for clustering and two stochastic versions.
    Computational Statistics and Data Analysis 14, 315-332 (``hard``).

    Examples
    --------
    >>> x = [1.0, 1.1, 0.9, 5.0, 5.2, 4.8]
    >>> print(sf.fit(sf.Mixture(sf.Normal(), 2), x).distribution)
    Mixture([Normal(mean=1, std=0.0816497), Normal(mean=5, std=0.163299)], weights=[0.5, 0.5])
    """

    components: Any = ()
    n: Any = None
    weights: Any = None
    hard: bool = field(default=False, kw_only=True)
    floors: Any = field(default=None, kw_only=True)  # what estimates are held above; a number is added to variances
    measured: bool = field(default=False, kw_only=True)  # the floors are from the rows of a fit, and not the caller's

    is_mixture = True
    row_vector = True
    tolerance = 1e-10

    def __post_init__(self) -> None:
        """Bring the components into one form: a stack, or prototypes that wait to see the columns."""
        self._freeze_names()
        components, k = self.components, self.n
        if isinstance(components, Distribution) and not components.lone:
            k = components.n_components
        elif isinstance(components, Distribution):
            components, k = copies(components, k)
        else:
            given = checked_components(components)
            components, k = side_by_side(given), len(given)
        if self.n is not None and self.n != k:
            msg = f"Mixture: n={self.n!r}, but there are {k} components; leave n out, or give one prototype."
            raise ParameterError(msg)
        if "weights" in components.blocks:
            msg = "Mixture: a column cannot be called 'weights', as the probabilities of the components are; rename it."
            raise ParameterError(msg)
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "n", int(k))
        weights = np.full(k, 1.0 / k) if self.weights is None else self.weights
        weights = as_parameter("Mixture", "weights", weights, SIMPLEX)
        if weights.shape != (k,):
            msg = f"Mixture has {k} components, but weights have shape {weights.shape}; give one for each."
            raise ParameterError(msg)
        object.__setattr__(self, "weights", weights)
        if isinstance(self.floors, (int, float)) and not isinstance(self.floors, bool):
            object.__setattr__(self, "floors", ridge(components, self.floors))

    # ---- parts --------------------------------------------------------------------------------------------------
    @property
    def parameter_names(self) -> tuple[Any, ...]:
        return tuple(self.params)

    @property
    def params(self) -> dict[Any, Any]:
        """The weights, and the components' parameters with the components first."""
        components = self.components.params if self.components.lone else by_component(self.components)
        return with_weights(self.weights, self.components, components)

    @cached_property
    def parts(self) -> tuple[Any, ...]:
        """The components, each as a distribution of its own."""
        stack = self.components
        return (stack,) * self.n if stack.lone else tuple(map(alone, stack.unstacked))

    @property
    def free(self) -> tuple[Any, ...]:
        """Names of what fitting may change."""
        return (() if "weights" in self.fixed or self.n == 1 else ("weights",)) + tuple(self.components.free)

    @property
    def ready(self) -> bool:
        return bool(self.components.ready)

    @property
    def exact(self) -> bool:
        return False

    @property
    def columns(self) -> int | None:
        known: int | None = self.components.columns
        return known

    def stack(self, k: int) -> Any:
        """K copies side by side."""
        return Stack((self,) * k)

    def fix(self, *names: str) -> Self:
        """Keep the weights: ``Mixture(…).fix("weights")``; parameters of components are fixed in their prototype."""
        if set(names) - {"weights"}:
            msg = (
                f"Mixture can fix its weights; fix {names[0]!r} in the component, as in "
                f"Mixture(Normal().fix({names[0]!r}), 2)."
            )
            raise ParameterError(msg)
        return replace(self, fixed=self.fixed | set(names))

    def tie(self, *names: str) -> Self:
        msg = f"tie parameters in the component, as in Mixture(Normal().tie({names[0] if names else '…'!r}), 2)."
        raise UnsupportedError(msg)

    def check_name(self, name: str) -> None:
        del name

    def require_ready(self, what: str) -> None:
        self.components.require_ready(what)

    @cached_property
    def log_weights(self) -> Array:
        """Log π (k,)."""
        with np.errstate(divide="ignore"):
            found = np.asarray(np.log(self.weights))
        found.flags.writeable = False
        return found

    # ---- rows; the rest is in `mixture_rows` ------------------------------------------------------------------
    def for_data(self, rows: Data) -> Self:
        shaped = shape_components(self.components, rows, self.n)
        if shaped is self.components:
            return self
        return replace(self, components=stacked_or_side_by_side(shaped, self.n) if shaped.lone else shaped)

    def for_statistics(self, stats: Any) -> Self:
        components = self.components.for_statistics(stats.components)
        return self if components is self.components else replace(self, components=components)

    def gather(self, x: Data, w: Weights) -> Joint:
        held = w.of_component(0)
        if self.hard:
            found = e_step(self.components, x, self.log_weights, held.values, hard=True)
        else:
            found = self.components.e_step(x, self.log_weights, held.values)
        if not np.isfinite(found.log_likelihood):  # a row that nobody can have made: is it one that cannot be?
            shares = np.broadcast_to(held.dense(), (len(x), self.n))
            self.components.gather(x, replace(held, values=shares, n_components=self.n))
        evidence, entropy = np.array([found.log_likelihood]), np.array([found.entropy])
        return Joint(found.count, found.statistics, evidence, entropy, solid=np.array([held.solid]))

    def predict(self, x: Data, given: Data = ROWS, *, level: float = 0.95) -> Any:
        """The most probable component of each row, (n,); or with ``given`` a column, predicted from the others.

        One argument is rows: ``predict(rows)`` says who made each, unless it is the name of a column. With ``given=``,
        ``predict("species", given={…})`` is the question of :meth:`Distribution.predict` about one column, and
        ``predict("component", given={…})`` asks who would make such a row, unless a column is called so.
        """
        if given is not ROWS or (isinstance(x, str) and self.column_names is not None):
            known = {} if given is ROWS else given
            hidden = isinstance(x, str) and x == COMPONENT and COMPONENT not in self.column_labels
            return self.conditional_component(known) if hidden else super().predict(x, known, level=level)
        if isinstance(x, Source):
            return x.mapped(self.predict)
        x = self.materialize(with_all_columns(self, x))
        best = self.most_probable(x)
        return int(best[0]) if self.is_single(x) else best

    # ---- learning -----------------------------------------------------------------------------------------------
    def tag_family(self, stats: Joint) -> Any:
        return replace(stats, family=self._statistics_family, components=self.components.tag_family(stats.components))

    def start(self, x: Array | Labels, weights: Any = None, rng: np.random.Generator | None = None) -> Self:
        rows, prepared, model = self._prepare(x, weights)
        found: Self = model.initialize(rows, prepared, np.random.default_rng(rng), None, None)[0]
        return found

    def initialize(
        self, rows: Rows, weights: Weights, rng: np.random.Generator, start: object, prior: Prior
    ) -> tuple[Any, tuple[Any, ...]]:
        from suffice.em.init.starts import initialize

        return initialize(self.for_data(rows), rows, weights, rng, start, prior)

    def with_parameters_of(self, components: list[Any], proportions: Array) -> Self:
        del proportions
        (start,) = components
        if not isinstance(start, Mixture) or start.n != self.n:
            msg = f"start= has {start!r:.60} where the prototype has a Mixture of {self.n}; give as many components."
            raise ParameterError(msg)
        own = self.weights if "weights" in self.fixed else start.weights
        return replace(
            self, components=self.components.with_parameters_of(start.components.unstacked, start.weights), weights=own
        )

    def can_generate(self, x: Rows) -> Array:
        found = self.components.can_generate(x)
        return found if found.ndim == 1 else np.asarray(found.any(axis=1))

    def preprocess(self, rows: Data) -> Any:
        return self.components.preprocess(rows)

    @property
    def learns_bounds(self) -> bool:
        return bool(self.components.learns_bounds)

    def with_wider_bounds(self, factor: float) -> Self:
        return replace(self, components=self.components.with_wider_bounds(factor))

    def off_boundary(self, share: float) -> Self:
        return replace(self, components=self.components.off_boundary(share))

    @property
    def is_single_cluster(self) -> bool:
        return False

    @property
    def is_latent(self) -> bool:
        return True

    def needs_rows(self, stats: Statistics) -> bool:
        del stats
        return True

    @property
    def hard_assignment(self) -> bool:
        return self.hard

    @property
    def is_monotone(self) -> bool:
        return not isinstance(self.floors, float)

    @property
    def is_symmetric(self) -> bool:
        if self.n == 1:
            return False
        first, *others = self.components.unstacked
        alike = all(type(one) is type(first) and first.distance(one) < 1e-9 for one in others)
        return bool(alike and first.free)

    def estimate(self, stats: Any, prior: Prior = None) -> Self:
        self.check_family(stats)
        beliefs = {} if prior is None else self.priors(prior)
        components = self.components.m_step(stats.components, beliefs.get("components"), self.floors)
        weights = self.weights if "weights" in self.fixed else self._weights(stats.count, beliefs.get("weights"))
        if components.n_components != self.n or not np.isfinite(weights).all():
            return replace(self, components=components, weights=weights)
        found: Self = replace_valid(self, components=components, weights=weights)
        return found

    @property
    def n_parameters(self) -> int:
        return (0 if "weights" in self.fixed else self.n - 1) + int(self.components.n_parameters)

    def distance(self, other: Any) -> float:
        return float(max(np.abs(self.weights - other.weights).max(), self.components.distance(other.components)))

    def rounding(self, stats: Joint) -> float:
        return float(self.components.rounding(stats.components))

    def is_spurious(self, stats: Statistics) -> bool:
        from suffice.models.spurious_components import is_spurious

        return is_spurious(self, stats)

    def spurious_gain(self, stats: Statistics, *, chance: bool = True) -> float:
        from suffice.models.spurious_components import spurious_gain

        return spurious_gain(self, stats, chance=chance)

    def in_order(self, stats: Any, prior: Prior = None) -> tuple[Any, Any]:
        from suffice.em.order import canonical, exchangeable

        if not exchangeable(self, self.priors(prior)):
            return self, stats
        order = canonical(self)
        moved = replace(stats, count=stats.count[order], components=picked(stats.components, order))
        return self.permuted(order), moved

    def ordered(self) -> Self:
        """The same mixture with its components in canonical order: by their means, or by falling weight."""
        from suffice.em.order import canonical

        return self.permuted(canonical(self))

    def permuted(self, order: object) -> Self:
        """The same mixture with its components in another order, as :func:`align` gives it."""
        order = np.asarray(order)
        if order.dtype.kind not in "iu" or order.shape != (self.n,) or set(order.tolist()) != set(range(self.n)):
            msg = (
                f"permuted takes every number from 0 to {self.n - 1} once, the components in their new order; got "
                f"{order.tolist()!r:.60}. Of align(a, b) between mixtures of different sizes choose a part instead, as "
                "in [b.parts[j] for j in order if j >= 0]."
            )
            raise ParameterError(msg)
        if (order == np.arange(self.n)).all():
            return self
        return replace(self, components=self.components.take_components(order), weights=self.weights[order])

    def __eq__(self, other: object) -> bool:
        """Equal when of equal components with equal weights."""
        if type(self) is not type(other):
            return NotImplemented
        same = self.components == other.components and np.array_equal(self.weights, other.weights)
        return bool(same and self.fixed == other.fixed and self.hard == other.hard)

    def __hash__(self) -> int:
        """Hash of the components and weights."""
        return hash((type(self), self.components, self.weights.tobytes()))

    def __repr__(self) -> str:
        """Show the call that makes it."""
        hard = ", hard=True" if self.hard else ""
        fixed = ".fix('weights')" if self.fixed else ""
        if self.components.lone:
            return f"Mixture({self.components!r}, {self.n}{hard}){fixed}"
        shown = ", ".join(map(repr, self.parts))
        weights = np.array2string(self.weights, precision=4, separator=", ", threshold=12, edgeitems=2)
        return f"Mixture([{shown}], weights={weights}{hard}){fixed}"


chart.register(Mixture, MixtureChart)
