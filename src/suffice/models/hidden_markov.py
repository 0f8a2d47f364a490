"""Rows that follow each other, made by states that are not seen and follow each other by chance.

Sequences are read and scored in `hidden_markov_rows`, starts are in `hidden_markov_start`, priors in
`hidden_markov_priors`; questions are answered in `hidden_markov_answers` and `forecast`, and what is asked of any
distribution in `hidden_markov_contract`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.family import Family
from suffice.core.parameters import SIMPLEX, as_parameter
from suffice.core.value import replace_valid
from suffice.engines.once import cached_property
from suffice.errors import ParameterError, UnsupportedError
from suffice.models.hidden_markov_answers import MarkovAnswers
from suffice.models.hidden_markov_contract import MarkovContract
from suffice.models.hidden_markov_priors import MarkovPriors
from suffice.models.hidden_markov_rows import MarkovRows
from suffice.models.mixture import Mixture
from suffice.models.mixture_components import by_component, checked_components
from suffice.models.stack import Stack, shape_components, side_by_side, stacked_or_side_by_side
from suffice.models.transition_matrix import locked, proportions, stationary, with_stationary_start, within
from suffice.types import Array

OWN = ("initial", "transitions")  # the names of what is learned beside the emissions


@dataclass(frozen=True, eq=False, repr=False)
class HiddenMarkov(  # type: ignore[override,misc]
    MarkovRows, MarkovAnswers, MarkovContract, MarkovPriors, Family, register=False
):
    r"""Each row is made by a state that is not seen, and states follow each other by fixed probabilities.

    A sequence has :math:`p(x) = \sum_s \delta_{s_1} p_{s_1}(x_1) \prod_t \Gamma_{s_{t-1} s_t} p_{s_t}(x_t)`, a sum
    over all paths of states.

    Parameters
    ----------
    emissions : Distribution or sequence of Distribution
        What makes the rows of a state: one prototype for all states, a list of different ones, or a stack with
        parameters. Any distribution will do, also a :class:`Product` of columns or a :class:`Mixture`.
    n : int, optional
        How many states; not needed with a list or a stack.
    initial : "free", "stationary" or array
        The probability δ of each state in a first row: ``"free"`` (it is learned), ``"stationary"`` (that of the
        transitions), or an array to begin from. ``.fix("initial")`` keeps it.
    transitions : array, optional
        The probability Γ of each move, from the state of the row to that of the column of a matrix, to begin from. A
        0 stays 0, as in left-right models. ``.fix("transitions")`` keeps them.
    floors, measured : array or float, bool
        As in :class:`Mixture`.
    from_stationary : bool
        Whether ``initial`` follows from the transitions, as ``initial="stationary"`` says.
    specified : tuple of str
        Which of the two were given as arrays; found when the model is first made.
    possible_first, possible_moves : array, optional
        What is above 0 in them; None: everything may be.
    fixed, tied : set of str
        Names of parameters that are not learned, as ``fix`` sets them; nothing can be tied.

    Notes
    -----
    A prior is ``{"initial": Dirichlet(…), "transitions": Dirichlet(…), "emissions": …}``, any of them, or ``"weak"``.
    Sequences are given by :func:`suffice.sequences`; an array, a table or a list is a single one. Missing
    cells are integrated out, and so is a row without any. Fitting is by EM (Baum-Welch).

    References
    ----------
    Rabiner, L. R. (1989). A tutorial on hidden Markov models and selected applications in speech recognition.
    Proceedings of the IEEE 77, 257-286.
    Zucchini, W., MacDonald, I. L. and Langrock, R. (2016). Hidden Markov Models for Time Series. 2nd ed., CRC Press.

    Examples
    --------
    >>> model = sf.HiddenMarkov([sf.Poisson(1.0), sf.Poisson(9.0)], transitions=[[0.9, 0.1], [0.2, 0.8]])
    >>> model.decode([0, 1, 10, 8, 0])
    array([0, 0, 1, 1, 0])
    """

    emissions: Any = ()
    n: Any = None
    initial: Any = "free"
    transitions: Any = None
    floors: Any = field(default=None, kw_only=True)
    measured: bool = field(default=False, kw_only=True)
    from_stationary: bool = field(default=False, kw_only=True)
    specified: Any = field(default=None, kw_only=True)
    possible_first: Any = field(default=None, kw_only=True)
    possible_moves: Any = field(default=None, kw_only=True)

    is_chain = True
    row_vector = True
    tolerance = 1e-10

    def __post_init__(self) -> None:
        """Bring emissions into one form, and check probabilities."""
        self._freeze_names()
        emissions: Any = self.emissions
        k: Any = self.n
        if isinstance(emissions, Distribution) and not emissions.lone:
            k = emissions.n_components
        elif isinstance(emissions, Family):
            if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
                msg = f"HiddenMarkov: n is the number of states, a whole number of at least 1; got {k!r}."
                raise ParameterError(msg)
            emissions = stacked_or_side_by_side(emissions, int(k)) if emissions.ready else emissions
        else:
            given = checked_components(emissions)
            emissions, k = side_by_side(given), len(given)
        if self.n is not None and self.n != k:
            msg = f"HiddenMarkov: n={self.n!r}, but there are {k} emissions; leave n out, or give one prototype."
            raise ParameterError(msg)
        for name in OWN:
            if name in emissions.blocks:
                msg = f"HiddenMarkov: a column cannot be called {name!r}, as a parameter of the states is; rename it."
                raise ParameterError(msg)
        object.__setattr__(self, "emissions", emissions)
        object.__setattr__(self, "n", int(k))
        self._settle_probabilities(int(k))

    def _settle_probabilities(self, k: int) -> None:
        """Make arrays of the probabilities; what is 0 in those that the caller gives cannot be."""
        put = object.__setattr__
        first = self.specified is None
        if isinstance(self.initial, str):
            if self.initial not in ("free", "stationary"):
                msg = f"HiddenMarkov: initial is 'free', 'stationary' or an array; got {self.initial!r:.40}."
                raise ParameterError(msg)
            put(self, "from_stationary", self.initial == "stationary")
        shapes = {"initial": (k,), "transitions": (k, k)}
        there = {name: not isinstance(getattr(self, name), str | None) for name in OWN}
        for name, shape in shapes.items():
            value = getattr(self, name) if there[name] else np.full(shape, 1.0 / k)
            put(self, name, _probabilities(name, value, shape))
        if first:
            put(
                self,
                "specified",
                tuple(name for name in OWN if there[name] and not (name == "initial" and self.from_stationary)),
            )
            for name, mask in (("initial", "possible_first"), ("transitions", "possible_moves")):
                value = getattr(self, name)
                if name in self.specified and (value == 0).any():
                    put(self, mask, locked(np.where(value > 0, 1.0, 0.0)))
        if self.from_stationary and "initial" not in self.fixed:
            put(self, "initial", _probabilities("initial", stationary(self.transitions), (k,)))

    # ---- parts --------------------------------------------------------------------------------------------------
    @property
    def parameter_names(self) -> tuple[Any, ...]:
        return tuple(self.params)

    @property
    def params(self) -> dict[Any, Any]:
        """The initial probabilities, the transitions, and the emissions' parameters with the states first."""
        inner = self.emissions.params if self.emissions.lone else by_component(self.emissions)
        answers = {"initial": self.initial, "transitions": self.transitions, **inner}
        found: dict[Any, Any] = self.emissions.by_key(answers) if self.emissions.blocks else answers
        return found

    @cached_property
    def stationary(self) -> Array:
        """The probability of each state in the long run, (k,)."""
        return locked(stationary(self.transitions))

    @cached_property
    def row_distribution(self) -> Mixture:
        """The distribution of a row of which nothing is known: a mixture by the stationary probabilities."""
        return self.mixture_by(self.stationary)

    def mixture_by(self, weights: Array) -> Mixture:
        """A mixture of the emissions with these weights, under the same floors."""
        return Mixture(self.emissions, self.n, weights, floors=self.floors, measured=self.measured)

    @property
    def components(self) -> Any:
        """The emissions as a stack, as any model of hidden components has them."""
        return self.emissions

    @property
    def parts(self) -> tuple[Any, ...]:
        """The emissions, each as a distribution of its own."""
        return self.row_distribution.parts

    @property
    def free(self) -> tuple[Any, ...]:
        """Names of what fitting may change."""
        own = () if self.n == 1 else tuple(name for name in OWN if name not in self.fixed)
        own = tuple(name for name in own if not (name == "initial" and self.from_stationary))
        return (*own, *self.emissions.free)

    @property
    def n_parameters(self) -> int:
        """Free parameters: probabilities that were given as 0 are none."""
        count = int(self.emissions.n_parameters)
        if "initial" in self.free:
            count += int(np.sum(self._first_allowed)) - 1
        if "transitions" in self.free:
            count += int((self._moves_allowed.sum(axis=1) - 1).sum())
        return count

    @property
    def _first_allowed(self) -> Array:
        return np.ones(self.n) if self.possible_first is None else np.asarray(self.possible_first)

    @property
    def _moves_allowed(self) -> Array:
        return np.ones((self.n, self.n)) if self.possible_moves is None else np.asarray(self.possible_moves)

    @property
    def ready(self) -> bool:
        return bool(self.emissions.ready) and not self.emissions.lone

    @property
    def exact(self) -> bool:
        return False

    @property
    def columns(self) -> int | None:
        known: int | None = self.emissions.columns
        return known

    @property
    def stacked(self) -> Self:
        return self

    @property
    def unstacked(self) -> tuple[Self, ...]:
        return (self,)

    def squeezed(self, axes: int) -> Self:
        del axes
        return self

    def stack(self, k: int) -> Any:
        """K copies side by side."""
        return Stack((self,) * k)

    def fix(self, *names: str) -> Self:
        """Keep ``"initial"`` or ``"transitions"``; parameters of emissions are fixed in their prototype."""
        for name in names:
            if name not in OWN:
                msg = f"HiddenMarkov can fix initial and transitions; fix {name!r} in the emission's prototype."
                raise ParameterError(msg)
        return replace(self, fixed=self.fixed | set(names))

    def tie(self, *names: str) -> Self:
        msg = f"tie parameters in the emission, as in HiddenMarkov(Normal().tie({names[0] if names else '…'!r}), 2)."
        raise UnsupportedError(msg)

    def check_name(self, name: str) -> None:
        del name

    def require_ready(self, what: str) -> None:
        if self.emissions.lone:
            msg = f"HiddenMarkov cannot {what} before it is fitted: give the emissions parameters, or fit it to data."
            raise ParameterError(msg)
        self.emissions.require_ready(what)

    def with_column_names(self, names: tuple[Any, ...]) -> Self:
        return replace(self, emissions=self.emissions.with_column_names(names))

    # ---- learning -----------------------------------------------------------------------------------------------
    def for_data(self, rows: Any) -> Self:
        shaped = shape_components(self.emissions, rows.rows, self.n)
        if shaped is self.emissions:
            return self
        return replace(self, emissions=stacked_or_side_by_side(shaped, self.n) if shaped.lone else shaped)

    def for_statistics(self, stats: Any) -> Self:
        emissions = self.emissions.for_statistics(stats.components)
        return self if emissions is self.emissions else replace(self, emissions=emissions)

    def tag_family(self, stats: Any) -> Any:
        return replace(stats, family=self._statistics_family, components=self.emissions.tag_family(stats.components))

    def start(self, x: Any, weights: Any = None, rng: np.random.Generator | None = None) -> Self:
        rows, prepared, model = self._prepare(x, weights)
        found: Self = model.initialize(rows, prepared, np.random.default_rng(rng), None, None)[0]
        return found

    def initialize(self, rows: Any, weights: Any, rng: Any, start: Any, prior: Any) -> tuple[Any, tuple[Any, ...]]:
        from suffice.models.hidden_markov_start import initialize

        found, notes = initialize(self.for_data(rows), rows, weights, rng, start, prior)
        return found, (*rows.notes, *notes)

    def with_parameters_of(self, components: Any, proportions: Array) -> Self:
        del proportions
        (start,) = components
        if not isinstance(start, HiddenMarkov) or start.n != self.n:
            msg = f"start= has {start!r:.60} where the prototype has a HiddenMarkov of {self.n}; give as many states."
            raise ParameterError(msg)
        emissions = self.emissions.with_parameters_of(start.emissions.unstacked, start.stationary)
        return self.with_chain(start.initial, start.transitions, emissions)

    def with_chain(self, initial: Array, transitions: Array, emissions: Any = None) -> Self:
        """The same with other probabilities, as far as these are not fixed and what is impossible stays so."""
        moves = self.transitions if "transitions" in self.fixed else within(transitions, self._moves_allowed)
        first = self.initial if "initial" in self.fixed else within(initial, self._first_allowed)
        return replace(self, emissions=self.emissions if emissions is None else emissions,
                       initial=first, transitions=moves)  # fmt: skip

    def estimate(self, stats: Any, prior: Any = None) -> Self:
        self.check_family(stats)
        beliefs = {} if prior is None else self.priors(prior)
        emissions = self.emissions.m_step(stats.components, beliefs.get("emissions"), self.floors)
        first = stats.first + self.pseudo_counts(beliefs.get("initial"), (self.n,))
        moves = stats.moves + self.pseudo_counts(beliefs.get("transitions"), (self.n, self.n))
        transitions = self.transitions
        if "transitions" in self.free:
            apart = self.from_stationary and "initial" not in self.fixed
            transitions = with_stationary_start(moves, first, transitions) if apart else proportions(moves, transitions)
        initial = proportions(first, self.initial) if "initial" in self.free else self.initial
        if self.from_stationary and "initial" not in self.fixed:
            initial = stationary(transitions)
        whole = np.isfinite(initial).all() and np.isfinite(transitions).all()
        if emissions.n_components != self.n or not whole:
            return replace(self, emissions=emissions, initial=initial, transitions=transitions)
        found: Self = replace_valid(self, emissions=emissions, initial=initial, transitions=transitions)
        return found

    def distance(self, other: Any) -> float:
        own = (np.abs(getattr(self, name) - getattr(other, name)).max() for name in OWN)
        return float(max(*own, self.emissions.distance(other.emissions)))

    def in_order(self, stats: Any, prior: Any = None) -> tuple[Any, Any]:
        from suffice.em.order import canonical, exchangeable

        beliefs = self.priors(prior)
        apart = bool(self.fixed or self.specified)
        if apart or stats.named or not self.same_for_all_states(beliefs):
            return self, stats
        if not exchangeable(self.mixture_by(np.full(self.n, 1 / self.n)), {"components": beliefs.get("emissions")}):
            return self, stats
        order = canonical(self.row_distribution)
        return self.permuted(order), stats.permuted(order)

    def permuted(self, order: Any) -> Self:
        """The same model with its states in another order."""
        order = np.asarray(order)
        if order.shape != (self.n,) or set(order.tolist()) != set(range(self.n)):
            msg = f"permuted takes every number from 0 to {self.n - 1} once; got {order.tolist()!r:.60}."
            raise ParameterError(msg)
        if (order == np.arange(self.n)).all():
            return self
        both = np.ix_(order, order)
        return replace(
            self,
            emissions=self.emissions.take_components(order),
            initial=self.initial[order],
            transitions=self.transitions[both],
            possible_first=None if self.possible_first is None else self.possible_first[order],
            possible_moves=None if self.possible_moves is None else self.possible_moves[both],
        )

    def __eq__(self, other: object) -> bool:
        """Equal when of equal emissions with equal probabilities."""
        if type(self) is not type(other):
            return NotImplemented
        chains = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in OWN)
        settings = self.fixed == other.fixed and self.from_stationary == other.from_stationary
        return bool(chains and settings and self.emissions == other.emissions)

    def __hash__(self) -> int:
        """Hash of the emissions and transitions."""
        return hash((type(self), self.emissions, self.transitions.tobytes()))

    def __repr__(self) -> str:
        """Show the call that makes it."""
        start = ", initial='stationary'" if self.from_stationary else ""
        fixed = f".fix({', '.join(map(repr, sorted(self.fixed)))})" if self.fixed else ""
        if self.emissions.lone:
            return f"HiddenMarkov({self.emissions!r}, {self.n}{start}){fixed}"
        matrix = np.array2string(self.transitions, precision=4, separator=", ", threshold=26).replace("\n", "")
        start = start or f", initial={np.array2string(self.initial, precision=4, separator=', ', threshold=12)}"
        return f"HiddenMarkov([{', '.join(map(repr, self.parts))}]{start}, transitions={matrix}){fixed}"


def _probabilities(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Checked probabilities of states."""
    found = as_parameter("HiddenMarkov", name, value, SIMPLEX)
    if found.shape != shape:
        msg = f"HiddenMarkov has {shape[0]} states, so {name} has shape {shape}; got {found.shape}."
        raise ParameterError(msg)
    return found
