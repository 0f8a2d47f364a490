"""States that are seen and follow each other: transitions are counted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from suffice.arguments import check_count, generator
from suffice.core.conjugate import check_named
from suffice.core.family import Family
from suffice.core.parameters import SIMPLEX, as_parameter
from suffice.distributions.dirichlet import Dirichlet
from suffice.distributions.weak_priors import shared_row
from suffice.engines.once import cached_property
from suffice.errors import DataError, ParameterError, UnsupportedError
from suffice.models.single_component import SingleComponent
from suffice.models.transition_matrix import draw_states, proportions, stationary
from suffice.statistics.sums import Sums
from suffice.statistics.weights import Weights
from suffice.tables.labels import in_order, read_labels
from suffice.tables.sequences import Sequences
from suffice.types import Alert, Array


@dataclass(frozen=True, eq=False, repr=False)
class MarkovChain(SingleComponent, Family, register=False):
    r"""A chain of states that are seen: :math:`p(s) = \delta_{s_1} \prod_t \Gamma_{s_{t-1} s_t}`.

    The statistics are counts, so that they are exact: they merge, rows can be removed, and the posterior under a
    Dirichlet on each row of Γ is a Dirichlet.

    Parameters
    ----------
    levels : int or sequence of labels
        The states: a list of labels, or how many there are, numbered from 0; None: those that data have.
    initial, transitions : array, optional
        The probability δ of each state in a first row, and Γ of each move; learned by counting. ``.fix("initial")``
        keeps one of them.
    fixed, tied : set of str
        Names of parameters that are not learned, as ``fix`` sets them; nothing can be tied.

    Notes
    -----
    Sequences are given by :func:`suffice.sequences`; a list or an array is a single one. A missing state breaks a
    sequence: the moves before and after it are not counted, and log p leaves them out. A prior is
    ``{"initial": Dirichlet(…), "transitions": Dirichlet(…)}``, one Dirichlet for both, or ``"weak"``.

    Examples
    --------
    >>> fit = sf.fit(sf.MarkovChain(), list("aabbbab"))
    >>> fit.distribution.transitions.round(3)
    array([[0.333, 0.667],
           [0.333, 0.667]])
    """

    levels: Any = None
    initial: Any = field(default=None)
    transitions: Any = field(default=None)

    row_vector = True

    def __post_init__(self) -> None:
        """Check levels and probabilities."""
        self._freeze_names()
        levels = self.levels
        if isinstance(levels, (int, np.integer)) and not isinstance(levels, bool) and levels > 0:
            levels = tuple(range(int(levels)))
        elif levels is not None and not isinstance(levels, (str, int, bool)) and tuple(levels):
            levels = tuple(levels)
        elif levels is not None:
            msg = f"MarkovChain: levels are a list of labels, or how many states there are; got {levels!r:.60}."
            raise ParameterError(msg)
        object.__setattr__(self, "levels", levels)
        for name in ("initial", "transitions"):
            value = getattr(self, name)
            if value is None:
                continue
            value = as_parameter("MarkovChain", name, value, SIMPLEX)
            k = value.shape[-1] if levels is None else len(levels)
            if value.shape != ((k,) if name == "initial" else (k, k)):
                msg = f"MarkovChain: {name} does not fit {k} states; it has shape {value.shape}."
                raise ParameterError(msg)
            object.__setattr__(self, name, value)
            if levels is None:
                levels = tuple(range(k))
                object.__setattr__(self, "levels", levels)

    # ---- parts --------------------------------------------------------------------------------------------------
    @property
    def n(self) -> int:
        """How many states there are."""
        return len(self.levels or ())

    @property
    def parameter_names(self) -> tuple[Any, ...]:
        return ("initial", "transitions")

    @property
    def params(self) -> dict[Any, Any]:
        return {"initial": self.initial, "transitions": self.transitions}

    @property
    def free(self) -> tuple[Any, ...]:
        return tuple(name for name in ("initial", "transitions") if name not in self.fixed)

    @property
    def ready(self) -> bool:
        return self.initial is not None and self.transitions is not None

    @property
    def n_parameters(self) -> int:
        k = self.n
        return (k - 1 if "initial" in self.free else 0) + (k * (k - 1) if "transitions" in self.free else 0)

    @property
    def columns(self) -> int | None:
        return 1

    def fix(self, *names: str) -> Self:
        if not set(names) <= {"initial", "transitions"}:
            msg = f"MarkovChain can fix initial and transitions; got {names!r}."
            raise ParameterError(msg)
        return replace(self, fixed=self.fixed | set(names))

    def tie(self, *names: str) -> Self:
        del names
        msg = "MarkovChain has nothing to tie."
        raise UnsupportedError(msg)

    def check_name(self, name: str) -> None:
        del name

    def require_ready(self, what: str) -> None:
        if not self.ready:
            msg = f"MarkovChain cannot {what} before it has initial and transitions: fit it to data, or give them."
            raise ParameterError(msg)

    @cached_property
    def stationary(self) -> Array:
        """The probability of each state in the long run, (k,)."""
        self.require_ready("have a stationary distribution")
        return stationary(self.transitions)

    # ---- sequences ----------------------------------------------------------------------------------------------
    def materialize(self, x: Any) -> Any:
        return x

    def read(self, x: Any) -> Sequences:
        rows = x if isinstance(x, Sequences) else None
        labels = read_labels(list(x) if isinstance(x, str) else x if rows is None else rows.rows, self.name, 1)
        return Sequences.one(labels) if rows is None else rows.with_rows(labels)

    def is_single(self, x: Any) -> bool:
        return not isinstance(x, Sequences)

    def check_columns(self, rows: Any) -> None:
        del rows

    def rows_of_units(self, rows: Any, weights: Any) -> tuple[Any, Any]:
        return rows.rows, rows.row_weights(weights)

    def score_width(self, rows: Any) -> int:
        return int(8 * rows.n_rows // max(len(rows), 1))

    def for_data(self, rows: Any) -> Self:
        if self.levels is not None:
            return self
        return replace(self, levels=in_order(rows.rows.columns[0].seen))

    def for_statistics(self, stats: Any) -> Self:
        del stats
        return self

    def _codes(self, rows: Sequences) -> tuple[Array, Array]:
        """The number of the state of each row, −1 where it is missing, and whether a row begins a sequence."""
        labels = rows.rows
        codes = np.asarray(labels.among((self.levels,))[:, 0], np.int64)
        first = np.zeros(len(codes), bool)
        first[rows.ends[:-1]] = True
        column = labels.columns[0]
        absent = np.asarray(column.codes < column.low)
        unknown = (codes < 0) & ~absent
        if unknown.any():
            index, place = rows.place(int(np.argmax(unknown)))
            msg = (
                f"row {place} of {rows.label(index)} has a label that is none of the states "
                f"{', '.join(map(repr, self.levels[:8]))}; name all of them in MarkovChain(levels=[…])."
            )
            raise DataError(msg)
        return codes, first

    def log_density(self, x: Sequences) -> Array:
        """Log p of each sequence, (m, 1)."""
        codes, first = self._codes(x)
        with np.errstate(divide="ignore"):
            log_initial, log_moves = np.log(self.initial), np.log(self.transitions)
        before = np.concatenate([[-1], codes[:-1]])
        found = np.zeros(len(codes))
        begin = first & (codes >= 0)
        found[begin] = log_initial[codes[begin]]
        moved = ~first & (codes >= 0) & (before >= 0)
        found[moved] = log_moves[before[moved], codes[moved]]
        return np.add.reduceat(found, x.ends[:-1])[:, None] if len(x) else np.empty((0, 1))

    def gather(self, x: Any, w: Weights) -> Sums:
        """Counts of first states and moves; the row of the first states is the last."""
        codes, first = self._codes(x)
        held = x.row_weights(w).of_component(0).dense()[:, 0]
        before = np.concatenate([[-1], codes[:-1]])
        k = self.n
        total = np.zeros((k + 1, k))
        begin, moved = first & (codes >= 0), ~first & (codes >= 0) & (before >= 0)
        np.add.at(total, (np.full(begin.sum(), k), codes[begin]), held[begin])
        np.add.at(total, (before[moved], codes[moved]), held[moved])
        seen = np.array([[float(held[codes >= 0].sum())]])
        return Sums(seen, np.zeros((1, 1)), total[None, None])

    def maximise(self, stats: Any) -> Self:
        return self._estimated(stats, {})

    def estimate(self, stats: Any, prior: Any = None) -> Self:
        self.check_family(stats)
        return self._estimated(stats, self.priors(prior))

    def _estimated(self, stats: Any, beliefs: dict[str, Any]) -> Self:
        counts, k = np.asarray(stats.total)[0, 0], self.n
        even = np.full((k, k), 1.0 / k)
        own = {"initial": (counts[k], even[0]), "transitions": (counts[:k], even)}
        found: dict[str, Any] = {}
        for name, (count, otherwise) in own.items():
            if name in self.fixed and getattr(self, name) is not None:
                continue
            known = getattr(self, name)
            extra = 0.0 if beliefs.get(name) is None else np.broadcast_to(beliefs[name].alpha, count.shape) - 1.0
            found[name] = proportions(count + extra, otherwise if known is None else known)
        return replace(self, **found)

    def priors(self, prior: Any) -> dict[str, Any]:
        """The prior of the initial probabilities, and that of each row of the transitions."""
        if prior is None:
            return {}
        if isinstance(prior, str):
            check_named(prior)
            prior = Dirichlet(np.array([shared_row(self.n)]))
        given = prior if isinstance(prior, dict) else {"initial": prior, "transitions": prior}
        for name, belief in given.items():
            shapes = [(1,), (self.n,), *([(self.n, self.n)] if name == "transitions" else [])]
            fits = isinstance(belief, Dirichlet) and np.shape(belief.alpha) in shapes
            if name not in ("initial", "transitions") or not fits or not (np.asarray(belief.alpha) >= 1).all():
                msg = (
                    "the prior of a MarkovChain is {'initial': Dirichlet(…), 'transitions': Dirichlet(…)} with an "
                    f"entry of at least 1 for each of {self.n} states, or one for all, or 'weak'; got {name!r}: "
                    f"{belief!r:.60}."
                )
                raise ParameterError(msg)
        return dict(given)

    def log_prior(self, prior: Any) -> Array:
        from suffice.numerics.lazy import special

        total = 0.0
        for name, belief in self.priors(prior).items():
            value = np.asarray(getattr(self, name))
            alpha = np.broadcast_to(belief.alpha, value.shape)
            constant = special.gammaln(alpha.sum(axis=-1)) - special.gammaln(alpha).sum(axis=-1)
            total += float(np.sum(constant + special.xlogy(alpha - 1.0, value).sum(axis=-1)))
        return np.asarray(total)

    def posterior(self, stats: Any, prior: Any) -> Any:
        """What to believe of each row of the transitions: a stack of Dirichlets, one for each state."""
        self.check_family(stats)
        belief = self.priors(prior).get("transitions")
        counts = np.asarray(stats.total)[0, 0, : self.n]
        return Dirichlet(counts + (1.0 if belief is None else np.broadcast_to(belief.alpha, counts.shape)))

    def resolve_prior(self, prior: Any, rows: Any, weights: Any) -> Any:
        del rows, weights
        self.priors(prior)
        return prior

    def likelihood_cells(self, stats: Any) -> Array:
        counts, k = np.asarray(stats.total)[0, 0], self.n
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(np.concatenate([self.transitions, self.initial[None]]))
            return np.array([[np.where(counts > 0, counts * logs, 0.0).sum()]]) if k else np.zeros((1, 1))

    def error_cells(self, stats: Any) -> dict[str, Array]:
        """Standard errors √(p(1 − p)/n) of the probabilities of each row."""
        counts, k = np.asarray(stats.total)[0, 0], self.n
        whole = np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
        values = np.concatenate([self.transitions, self.initial[None]])
        found = np.sqrt(values * (1 - values) / whole)
        return {"initial": found[k], "transitions": found[:k]}

    def standard_errors(self, stats: Any) -> dict[str, Any]:
        self.check_family(stats)
        found = self.error_cells(stats)
        return {name: np.zeros(one.shape) if name in self.fixed else one for name, one in found.items()}

    def confidence_bounds(self, errors: dict[Any, Any], reach: float) -> dict[Any, Any]:
        return {
            name: (np.clip(value - reach * errors[name], 0, 1), np.clip(value + reach * errors[name], 0, 1))
            for name, value in self.params.items()
        }

    def distance(self, other: Any) -> float:
        return float(max(np.abs(self.params[name] - other.params[name]).max() for name in self.params))

    def alerts(self, stats: Any) -> tuple[Alert, ...]:
        counts = np.asarray(stats.total)[0, 0, : self.n].sum(axis=1)
        idle = [repr(level) for level, count in zip(self.levels, counts, strict=True) if count == 0]
        if not idle or "transitions" in self.fixed:
            return ()
        text = f"no move from {', '.join(idle[:4])} was seen: where it goes from there is not known, and taken as even."
        return (Alert("empty", text, prior_advice="A prior says where."),)

    # ---- asking -------------------------------------------------------------------------------------------------
    def sample(self, n: int = 1, random_state: Any = None) -> Array:
        """Draw a path of n states."""
        self.require_ready("draw a path")
        check_count(n)
        path = draw_states(self.initial, self.transitions, int(n), generator(random_state))
        levels = np.empty(self.n, dtype=object)
        levels[:] = self.levels
        found = levels[path]
        alike = n and all(isinstance(one, type(self.levels[0])) for one in self.levels)
        return np.asarray(found.tolist()) if alike else found

    @property
    def mean(self) -> Any:
        """Labels have none."""
        raise self._cannot("have a mean: its rows are labels; ask for stationary")

    def summarize(self, names: Any = None, fit: Any = None) -> Any:
        """A summary: what follows each state."""
        from suffice.display.summary import Parameter, Summary
        from suffice.models.hidden_markov_summary import moves

        del names
        if not self.ready:
            return Summary(f"Markov chain of {self.n} states" if self.n else "Markov chain", judged=False)
        errors = None if fit is None else self.error_cells(fit.statistics)
        found = []
        for j, level in enumerate(self.levels):
            for i, to in enumerate(self.levels):
                value = float(self.transitions[j, i])
                error = float("nan") if errors is None else float(errors["transitions"][j, i])
                ends = (max(value - 1.96 * error, 0.0), min(value + 1.96 * error, 1.0))
                found.append(Parameter(level, f"to {to}", value, error, *ends, "transitions" in self.fixed))
        return Summary(f"Markov chain of {self.n} states", parameters=tuple(found), notes=moves(self), judged=False)

    def __eq__(self, other: object) -> bool:
        """Equal when of equal states with equal probabilities."""
        if type(self) is not type(other):
            return NotImplemented
        return self.levels == other.levels and all(
            np.array_equal(np.asarray(a, float), np.asarray(b, float), equal_nan=True)
            for a, b in zip(self.params.values(), other.params.values(), strict=True)
        )

    def __hash__(self) -> int:
        """Hash of the states and the transitions."""
        return hash((type(self), self.levels, np.asarray(self.transitions, float).tobytes()))

    def __repr__(self) -> str:
        """Show the call that makes it."""
        if not self.ready:
            return f"MarkovChain({'' if self.levels is None else list(self.levels)})"
        matrix = np.array2string(self.transitions, precision=4, separator=", ", threshold=26).replace("\n", "")
        return f"MarkovChain({list(self.levels)}, transitions={matrix})"
