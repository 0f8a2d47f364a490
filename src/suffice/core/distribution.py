"""The contract: an immutable value of k members × d columns that scores rows, gathers statistics, estimates, draws.

Families write their formulas for a *stack*, whose parameters have the shape (k, d, …). This class lifts a lone value
to a stack of one and squeezes the answer, splits rows into blocks, drops missing cells and names bad values, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from suffice.core import calculus
from suffice.core.compact import replace
from suffice.core.data import as_rows, check_columns, listed, numbers
from suffice.core.errors import DataError, UnsupportedError
from suffice.core.names import columns_of, in_columns, with_all_columns
from suffice.core.parameters import Array
from suffice.core.questions import Questions
from suffice.core.statistics import Additive
from suffice.core.streamed import Source, read
from suffice.core.weights import Weights
from suffice.engines import local

if TYPE_CHECKING:
    from suffice.core.statistics import Statistics

Alert = tuple[str, str]
REGISTRY: dict[str, type[Distribution]] = {}


def are_alerts(value: Any) -> bool:
    """Whether it is a tuple of pairs of a code and a text: so says a file, which may say anything."""
    return isinstance(value, tuple) and all(
        isinstance(one, tuple) and len(one) == 2 and all(isinstance(text, str) for text in one) for one in value
    )


@cache
def _most_general(kind: Any) -> str:
    """The name of a family's first ancestor that is registered."""
    return next((one.__name__ for one in reversed(kind.__mro__) if one in REGISTRY.values()), "")


@dataclass(frozen=True, eq=False, repr=False)
class Distribution(Questions):
    """A distribution over rows, or a stack of k of them.

    Parameters are numbers (one column), arrays (d,) of independent columns, or arrays (k, d) of a stack.

    What a family gives: ``gather`` (statistics of a block), ``maximise`` (statistics to parameters),
    ``log_cell`` or ``log_density``, ``draw``, and where they exist ``cumulative``, ``inverse``, ``mean``, ``var``,
    ``entropy_cell``, and the conjugate pair ``update`` and ``predict_with``.
    """

    discrete: ClassVar[bool] = False
    atoms: ClassVar[tuple[float, ...]] = ()  # values of a continuous family that have a probability
    labelled: ClassVar[bool] = False  # cells are labels, yes and no among them, rather than amounts
    worded: ClassVar[bool] = False  # and these may be anything, as text
    in_place: ClassVar[bool] = False  # statistics are gathered without temporaries as long as the rows
    conjugates: ClassVar[tuple[type[Distribution], ...]] = ()  # the priors that `update` takes
    periods: ClassVar[dict[str, float]] = {}  # of parameters that are angles
    outcomes: ClassVar[frozenset[str]] = frozenset()  # what an estimate sets beside its parameters
    belief_about: ClassVar[str] = ""  # the one parameter that those priors speak of
    inward: ClassVar[str] = "a density that is 0 there"  # what keeps an estimate off the boundary, as a prior

    def __init_subclass__(cls, *, register: bool = True, **options: Any) -> None:
        """Enter suffice's own families into the registry, where the laws find them."""
        super().__init_subclass__(**options)
        if register and cls.__module__.startswith("suffice.distributions"):
            REGISTRY[cls.__name__] = cls

    @property
    def blocks(self) -> dict[Any, Any]:
        """The distributions that this one is made of, by column or member; none for a family."""
        return {}

    def column_label(self, column: int) -> str:
        """How an alert names a column."""
        return str(column)

    # ---- rows ---------------------------------------------------------------------------------------------------
    def shaped(self, rows: Any) -> Self:
        """The prototype made to fit the rows: as many columns (and, for labels, the levels) as they have."""
        return self.widened(rows.shape[1])

    def settled(self, x: Any) -> Any:
        """Data in a form that can be read more than once."""
        return listed(x)

    def read(self, x: Any) -> Any:
        """Rows in the form that the formulas take: (n, d) numbers."""
        return as_rows(numbers(x, self.name), self.name, self.columns, self.support.core)

    def read_same_columns(self, x: Any) -> Any:
        """Rows in the form that the formulas take, with as many columns as there are parameters for."""
        rows = self.read(x)
        self.check_columns(rows)
        return rows

    def check_columns(self, rows: Any) -> None:
        """Refuse rows with another number of columns than there are parameters for."""
        check_columns(self, rows)

    def is_single(self, x: Any) -> bool:
        """Whether ``x`` is one row rather than many."""
        depth = np.ndim(x) - self.support.core
        return depth == 0 or (depth == 1 and self.columns not in (None, 1) and len(x) == self.columns)

    def log_prob(self, x: Any) -> Any:
        """Log density (or probability) of each row: (n,), or (n, k) for a stack; a float for a single row.

        Missing cells are left out; values outside the support have −inf.
        """
        self.require_ready("score rows")
        if isinstance(x, Source):
            return x.mapped(self.log_prob)
        x = self.settled(with_all_columns(self, x))
        rows = self.read_same_columns(x)
        self.remark(rows)
        stack = self.stacked
        out = local.fill(lambda part: stack.log_density(rows[part]), len(rows), self._width(rows))
        out = out[:, 0] if self.lone else out
        return (float(out[0]) if self.lone else out[0]) if self.is_single(x) else out

    def remark(self, rows: Any, where: str = "") -> None:
        """Warn of rows whose score is not what a caller may think."""

    def log_density(self, x: Any) -> Array:
        """Log density of a block for every member, (n, k); from ``log_cell``, one member at a time."""
        out = np.empty((len(x), self.members))
        axes = tuple(range(2, x.ndim))
        missing = np.isnan(x).any(axis=axes) if axes else np.isnan(x)
        inside = self.support.contains(x)
        for index, member in enumerate(self.each):
            with np.errstate(all="ignore"):
                cells = member.log_cell(x)
            out[:, index] = np.where(missing, 0.0, np.where(inside, cells, -np.inf)).sum(axis=1)
        return out

    def log_cell(self, x: Array) -> Array:
        """Log density of each cell under parameters (d,): an elementwise formula that may ignore the support."""
        raise self._cannot("score cells")

    def prepared(self, x: Any, weights: Any) -> tuple[Any, Weights, Self]:
        """Rows and weights in the form that formulas take, and this prototype with as many columns and members."""
        rows = read(self, x)
        checked = Weights.of(weights, len(rows))
        model = self.shaped(rows)
        return rows, checked, model.stack(checked.members) if model.lone and checked.members > 1 else model

    def suffstats(self, x: Any, weights: Any = None) -> Any:
        """Statistics of the rows: the E-step.

        Parameters
        ----------
        x
            Rows, as ``log_prob`` takes them.
        weights
            None, (n,) per row, (n, k) per row and member, or a :class:`OneHot` that names each row's member.
        """
        rows = read(self, x)
        if not self.exact:  # such statistics depend on the parameters, so every column needs its own
            self.check_columns(rows)
        rows, prepared, model = self.prepared(rows, weights)
        stack = model.stacked
        if prepared.members not in (1, stack.members):
            msg = f"weights name {prepared.members} members, but the stack has {stack.members}; give each a column."
            raise DataError(msg)
        prepared = replace(prepared, work=prod(np.shape(rows)))
        width = stack.gather_width(rows)

        def gathered(part: slice) -> Any:
            return stack.gather(rows[part], prepared[part].for_each(stack.members))

        return self.owned(local.reduce(gathered, len(rows), width, stack.gather_effort(rows)))

    @property
    def owner(self) -> str:
        """The family whose statistics these are: the most general one that is registered, so that variants merge."""
        return _most_general(cast("Any", type(self))) or self.name

    def owned(self, stats: Any) -> Any:
        """The statistics, marked as this family's."""
        owner = self.owner
        return replace(stats, family=owner) if isinstance(stats, Additive) and stats.family != owner else stats

    def check_owner(self, stats: Any) -> None:
        """Refuse what are no statistics, or those of another family."""
        if not hasattr(stats, "weight"):
            msg = (
                f"{self.name} is asked about statistics, as its suffstats(x) makes them; got {type(stats).__name__} "
                f"{stats!r:.60}. For rows use sf.fit({self.name}(…), x)."
            )
            raise DataError(msg)
        theirs = getattr(stats, "family", "")
        if theirs and theirs != self.owner:
            msg = (
                f"{self.name} cannot use the statistics of {theirs}: they keep other things of the rows. "
                f"Gather them with {self.name}(…).suffstats(x)."
            )
            raise DataError(msg)

    def gather(self, x: Any, w: Weights) -> Statistics:
        """Statistics of one block of rows for a stack."""
        raise self._cannot("gather statistics")

    def admit(self, x: Array, w: Weights) -> tuple[Array, Array | None]:
        """A block's cells and which of them were seen (None: all).

        A cell outside the support is an error that names it, unless its row counts for nobody: then it is left out.
        """
        axes = tuple(range(2, x.ndim))
        inside = self.support.contains(x)
        if inside.all():
            return x, None
        missing = np.isnan(x).any(axis=axes) if axes else np.isnan(x)
        wrong = ~inside & ~missing
        if wrong.any():
            counted = wrong & (w.per_row() > 0)[:, None]
            if counted.any():
                row, column = np.argwhere(counted)[0].tolist()
                raise DataError(self._bad_value(x[row, column], row + w.offset, column, x.shape[1]))
        return x, inside

    def _bad_value(self, value: Any, row: int, column: int, columns: int) -> str:
        place = f"row {row}" if columns == 1 else f"row {row}, column {column}"
        shown = f"{value:g}" if np.ndim(value) == 0 else np.array2string(value, precision=4, threshold=6)
        return (
            f"{self.name} takes {self.support.words}, but {place} has {shown}. "
            "Correct or drop it, mark it missing with NaN, or choose a distribution that allows it."
        )

    def gather_width(self, rows: Any) -> int:
        """How many numbers a row takes while statistics are gathered: fewer of them, longer slices."""
        return prod(np.shape(rows)[1:]) if self.in_place else self._width(rows)

    def gather_effort(self, rows: Any) -> int:
        """How many cells could be read in the time that a row takes; 0 where its cells tell that, too."""
        del rows
        return 0

    def _width(self, rows: Any) -> int:
        return int(prod(np.shape(rows)[1:]) + self.members)

    # ---- learning -----------------------------------------------------------------------------------------------
    @property
    def exact(self) -> bool:
        """Whether one pass of statistics is enough to estimate."""
        return True

    def start(self, x: Any, weights: Any = None, rng: np.random.Generator | None = None) -> Self:
        """A first value from a sample of rows; by default the estimate of that sample."""
        del rng
        rows = read(self, x)
        return self.shaped(rows).estimate(self.first_statistics(rows, weights))

    def first_statistics(self, x: Any, weights: Any = None) -> Any:
        """Statistics of rows where nothing is known of the parameters yet."""
        return self.suffstats(x, weights)

    def estimate(self, stats: Any, prior: Any = None) -> Self:
        """Parameters from statistics: maximum likelihood, or the mode of the posterior under ``prior``.

        Iterative M-steps begin at this value. A member or column that was not seen keeps its parameters.
        """
        self.check_owner(stats)
        if prior is not None:
            return cast("Self", self.posterior(stats, prior).estimate())
        model = self.for_statistics(stats)
        return model.like(model.stacked.maximise(stats)) if self.free else model

    def for_statistics(self, stats: Any) -> Self:
        """The prototype with as many members and columns as the statistics have."""
        shape = stats.weight.shape
        model = self if self.row_vector else self.widened(shape[1])
        if model.lone and shape[0] > 1:
            return cast("Self", model.stack(shape[0]))
        return model

    def maximise(self, stats: Any) -> Self:
        """The maximum-likelihood stack of the statistics."""
        raise self._cannot("be estimated")

    def choose(self, keep: Array, other: Self) -> Self:
        """The stack itself where ``keep`` (k, d) holds, else ``other``."""
        if not keep.any():
            return other
        chosen: dict[str, Any] = {}
        for name, mine in self._values().items():
            theirs = np.asarray(getattr(other, name))
            kept = np.broadcast_to(keep.all(axis=0), keep.shape) if name in self.tied else keep  # shared: all or none
            mask = kept.reshape(keep.shape + (1,) * (theirs.ndim - keep.ndim))
            chosen[name] = np.where(mask, mine, theirs)
        return replace(other, **chosen)

    def log_likelihood(self, stats: Any) -> Any:
        """Σ w log p(x) from the statistics alone: a float, or (k,) for a stack."""
        self.check_owner(stats)
        total = self.for_statistics(stats).stacked.likelihood_cells(stats).sum(axis=-1)
        return float(total[0]) if len(total) == 1 and self.lone else total

    def likelihood_cells(self, stats: Any) -> Array:
        """The log-likelihood of each member and column, (k, d)."""
        raise self._cannot("give a likelihood from statistics")

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of the whole stack, shared ones counted once."""
        count = 0
        for name in self.free:
            value, domain = np.asarray(getattr(self.stacked, name)), self.specs()[name].domain
            cells = value.size if domain.rule is None else value.size // value.shape[-1] * (value.shape[-1] - 1)
            count += cells // self.members if name in self.tied else cells
        return count

    def standard_errors(self, stats: Any) -> dict[str, Any]:
        """Standard error of each parameter from the observed information; 0 for fixed ones, NaN on a boundary."""
        self.check_owner(stats)
        stack = self.stacked
        errors = stack.error_cells(stats) if stack.free else {}
        result = {}
        for name, value in stack.params.items():
            edge = stack.specs()[name].domain.on_boundary(np.asarray(value))
            cells = np.zeros(np.shape(value)) if name in stack.fixed else np.where(edge, np.nan, errors[name])
            cells = cells[(0,) * self.lacking]
            result[name] = float(cells) if np.ndim(cells) == 0 else cells
        return result

    def errors_from(self, stats: Any, data: Any) -> dict[Any, Any]:
        """Standard errors from the statistics, and where those do not hold them, from the (rows, weights)."""
        del data
        return self.standard_errors(stats)

    def error_cells(self, stats: Any) -> dict[str, Array]:
        """Standard errors of a stack, by differentiating the likelihood twice."""
        return calculus.standard_errors(self, stats)

    def unbiased(self, stats: Any, ddof: float) -> Self:
        """The estimate with a variance of divisor Σ w − ddof."""
        del stats, ddof
        msg = (
            f"ddof applies to variances: Normal, LogNormal and MultivariateNormal. {self.name} has none; leave it out."
        )
        raise UnsupportedError(msg)

    def alerts(self, stats: Any) -> tuple[Alert, ...]:
        """What a reader of this estimate must know before trusting it."""
        del stats
        found = []
        for name in self.free:
            value, domain = np.asarray(getattr(self, name)), self.specs()[name].domain
            bounds = domain.on_boundary(value)
            if bounds.any():
                which = "" if domain.core or not value.ndim else in_columns(*columns_of(bounds))
                at = f"{name} = {value.flat[int(np.argmax(bounds))]:g}{which}"
                text = (
                    f"{at} lies on the boundary of its domain: rows that it excludes get probability 0, so the true "
                    "risk may be infinite and standard errors mean nothing. A prior keeps it inside."
                )
                found.append(("boundary", text))
        return tuple(found)

    # ---- believing ----------------------------------------------------------------------------------------------
    def posterior(self, stats: Any, prior: Any) -> Any:
        """What to believe of the parameters after the statistics: the pair (likelihood, belief)."""
        from suffice.core.posterior import conjugate_posterior

        self.check_owner(stats)
        return conjugate_posterior(self, stats, prior)

    def update(self, stats: Any, prior: Any) -> Any:
        """The conjugate posterior of a stack: the prior plus the statistics."""
        raise self._cannot("be paired with a conjugate prior")

    def reference_belief(self, stats: Any) -> Any:
        """The belief of a stack under its reference prior (:mod:`suffice.core.reference`)."""
        from suffice.core.reference import NOTHING

        return self.update(stats, NOTHING)

    def predict_with(self, belief: Any) -> Any:
        """The distribution of a new row, the parameters averaged over the belief."""
        raise self._cannot("be paired with a conjugate prior")

    def log_prior(self, prior: Any) -> Array:
        """Log density of a conjugate prior at this value's parameters, cell by cell."""
        stack, belief = self.stacked, getattr(prior, "belief", prior).stacked
        point = {name: getattr(stack, name) for name in stack.free}
        return np.asarray(belief.log_cell(point.get(self.belief_about) if len(point) == 1 else point))

    def weak_alerts(self, stats: Any) -> tuple[Alert, ...]:
        """What to know of a belief that began with ``prior="weak"``."""
        del stats
        return ()

    def weak_prior(self, stats: Any, part: float = 1.0) -> Any:
        """The prior that ``prior="weak"`` means, which :mod:`suffice.distributions.weak_priors` states for each family.

        ``part`` is the part of the variances of these rows that is expected within a component.
        """
        del stats, part
        raise self._cannot("choose a weak prior by itself; give prior= a density of its parameters instead")
