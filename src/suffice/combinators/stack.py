"""Members of different kinds, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from suffice.combinators.compound import Compound, Table, filled
from suffice.combinators.stack_posterior import StackPosterior, diagonal
from suffice.core.data import is_several
from suffice.core.distribution import Alert, Distribution
from suffice.core.errors import ParameterError, UnsupportedError, naming
from suffice.core.foretold import Foretold
from suffice.core.parameters import Array
from suffice.core.sketch import taken
from suffice.core.statistics import Parts
from suffice.core.streamed import Streamed, read
from suffice.core.weights import Weights
from suffice.engines.once import cached_property


class Readings(Table):
    """The same rows, as each member reads them."""


@dataclass(frozen=True, eq=False, repr=False)
class Stack(Compound, register=False):
    """A tuple of single members under the contract of a stack: unlike families, mixtures, anything.

    Weights (n, k) give column j to member j, and ``log_prob`` is (n, k). Nothing can be tied across members.

    >>> sf.Stack([sf.Normal(0, 1), sf.Exponential(1)]).log_prob([1.0, 2.0]).round(3)
    array([[-1.419, -1.   ],
           [-2.919, -2.   ]])
    """

    parts: Any = ()

    def __post_init__(self) -> None:
        """Check the members."""
        if isinstance(self.parts, Distribution) or not is_several(self.parts):
            msg = f"Stack takes a list of distributions, as in Stack([Normal(), Laplace()]); got {self.parts!r:.60}."
            raise ParameterError(msg)
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts:
            msg = "Stack needs at least one member, as in Stack([Normal(), Laplace()])."
            raise ParameterError(msg)
        for index, member in enumerate(self.parts):
            if not isinstance(member, Distribution) or not member.lone:
                msg = f"Stack: member {index} must be a single distribution, not a stack; got {member!r:.60}."
                raise ParameterError(msg)
        object.__setattr__(self, "batch", (len(self.parts),))

    @cached_property
    def blocks(self) -> dict[Any, Any]:
        return dict(enumerate(self.parts))

    def rebuilt(self, members: Any) -> Self:
        """As many other members."""
        return replace(self, parts=tuple(members))

    @property
    def columns(self) -> int | None:
        known = {member.columns for member in self.parts}
        return known.pop() if len(known) == 1 else None

    @property
    def column_names(self) -> tuple[Any, ...] | None:
        known: tuple[Any, ...] | None = self.parts[0].column_names
        return known

    @property
    def stacked(self) -> Self:
        return self

    @property
    def each(self) -> tuple[Any, ...]:
        return tuple(self.parts)

    def squeezed(self, axes: int) -> Any:
        return self.parts[0] if axes else self

    # ---- rows ---------------------------------------------------------------------------------------------------
    def settled(self, x: Any) -> Any:
        return self.parts[0].settled(x)

    def read(self, x: Any) -> Any:
        x = self.settled(x)
        views = x.parts if isinstance(x, Readings) else [x] * len(self.parts)
        parts = []
        for index, (member, view) in enumerate(zip(self.parts, views, strict=True)):
            with naming(f"member {index}"):
                parts.append(member.read(view))
        return Readings(tuple(parts), len(parts[0]))

    def views(self, x: Any) -> tuple[Any, ...]:
        """The rows of each member; rows that a prototype read before it was stacked are the same for all."""
        kind = x.kind if isinstance(x, Streamed) else type(x)
        return x.parts if issubclass(kind, Readings) else (x,) * len(self.parts)

    def is_single(self, x: Any) -> bool:
        if isinstance(x, Readings):
            return False
        return bool(self.parts[0].is_single(x))

    def _width(self, rows: Any) -> int:
        return int(np.prod(np.shape(self.views(rows)[0])[1:])) + self.members

    def shaped(self, rows: Any) -> Self:
        return self.rebuilt(member.shaped(view) for member, view in zip(self.parts, self.views(rows), strict=True))

    def check_columns(self, rows: Any) -> None:
        for index, (member, view) in enumerate(zip(self.parts, self.views(rows), strict=True)):
            with naming(f"component {index}"):
                member.check_columns(view)

    def remark(self, rows: Any, where: str = "") -> None:
        for index, (member, view) in enumerate(zip(self.parts, self.views(rows), strict=True)):
            member.remark(view, f"{where}member {index}: ")

    def log_density(self, x: Any) -> Array:
        paired = zip(self.parts, self.views(x), strict=True)
        return np.concatenate([member.stacked.log_density(view) for member, view in paired], axis=1)

    def pieces(self, x: Any) -> list[tuple[Any, Array]]:
        each = [member.stacked.pieces(view) for member, view in zip(self.parts, self.views(x), strict=True)]
        keys = [[key for key, _ in pieces] for pieces in each]
        if any(one != keys[0] for one in keys):  # members that take the columns together in different ways
            everything = tuple(dict.fromkeys(column for key in keys[0] for column in key))
            return [(everything, self.log_density(x))]
        return [(key, np.concatenate([pieces[i][1] for pieces in each], axis=1)) for i, key in enumerate(keys[0])]

    def strangers(self, x: Any) -> list[tuple[Any, Array]]:
        each = [dict(member.stacked.strangers(view)) for member, view in zip(self.parts, self.views(x), strict=True)]
        common = [columns for columns in each[0] if all(columns in one for one in each)]
        return [(columns, np.all([one[columns] for one in each], axis=0)) for columns in common]

    def gather(self, x: Any, w: Weights) -> Parts:
        parts = []
        for index, (member, view) in enumerate(zip(self.parts, self.views(x), strict=True)):
            with naming(f"member {index}"):
                parts.append(member.stacked.gather(view, w.of_member(index)))
        weights = [np.asarray(part.weight).reshape(1, -1) for part in parts]
        if len({weight.shape for weight in weights}) > 1:  # families that count cells beside families that count rows
            weights = [weight.mean(axis=1, keepdims=True) for weight in weights]
        return Parts(tuple(parts), np.concatenate(weights), of_members=True)

    # ---- as members of a mixture --------------------------------------------------------------------------------
    def staged(self, rows: Any) -> Any:
        views = self.views(rows)
        return Readings(tuple(one.staged(view) for one, view in zip(self.parts, views, strict=True)), len(rows))

    def within(self, x: Any) -> Array:
        """Which rows each member can have made, (n, k)."""
        each = [one.within(view) for one, view in zip(self.parts, self.views(x), strict=True)]
        return np.stack(each, axis=1)

    def with_own_rows(self, x: Any, weights: Weights) -> Iterator[tuple[Any, Any, Weights]]:
        """Each member with the rows that it can have made; with all, of which it names one, where there are none."""
        held = weights.dense()[:, 0]
        for one, view, able in zip(self.parts, self.views(x), self.within(x).T, strict=True):
            kept = np.flatnonzero(able & (held > 0))
            if able.all() or not len(kept):
                yield one, view, weights
            else:
                yield one, taken(view, kept), Weights.of(held[kept], len(kept))

    def floor(self) -> Any:
        return [one.floor() for one in self.parts]

    def raised(self, floor: Any) -> Self:
        if floor is None:
            return self
        return self.rebuilt(one.raised(least) for one, least in zip(self.parts, floor, strict=True))

    def held(self, floor: Any) -> Array:
        floors = [None] * self.members if floor is None else floor
        return np.array([bool(one.held(least).any()) for one, least in zip(self.parts, floors, strict=True)])

    def floor_columns(self, floor: Any, index: int) -> tuple[Any, ...]:
        return () if floor is None else tuple(self.parts[index].floor_columns(floor[index], 0))

    def adopted(self, members: Any, shares: Array) -> Self:
        del shares
        return self.rebuilt(mine.adopted([one], np.ones(1)) for mine, one in zip(self.parts, members, strict=True))

    def rounding(self, stats: Any) -> float:
        return float(sum(member.rounding(part) for member, part in zip(self.parts, stats.parts, strict=True)))

    def chosen(self, order: Array) -> Self:
        return self.rebuilt(self.parts[j] for j in order)

    # ---- learning -----------------------------------------------------------------------------------------------
    def for_statistics(self, stats: Any) -> Self:
        return self.rebuilt(m.for_statistics(part) for m, part in zip(self.parts, stats.parts, strict=True))

    def start(self, x: Any, weights: Any = None, rng: np.random.Generator | None = None) -> Self:
        rows = read(self, x)
        checked = Weights.of(weights, len(rows))
        return self.rebuilt(
            member.start(view, checked.of_member(index), rng)
            for index, (member, view) in enumerate(zip(self.parts, self.views(rows), strict=True))
        )

    def estimate(self, stats: Any, prior: Any = None) -> Self:
        """Each member by itself; ``prior`` is one for all or a list with one for each."""
        self.check_owner(stats)
        whole = zip(self.parts, stats.parts, self.priors(prior), strict=True)
        return self.rebuilt(member.estimate(part, belief) for member, part, belief in whole)

    def estimate_above(self, stats: Any, prior: Any, floor: Any) -> Self:
        self.check_owner(stats)
        floors = floor if isinstance(floor, list) else [floor] * self.members
        whole = zip(self.parts, stats.parts, self.priors(prior), floors, strict=True)
        return self.rebuilt(member.estimate_above(part, belief, least) for member, part, belief, least in whole)

    def likelihood_cells(self, stats: Any) -> Array:
        paired = zip(self.parts, stats.parts, strict=True)
        return np.array([[np.sum(member.log_likelihood(part))] for member, part in paired])

    def priors(self, prior: Any) -> tuple[Any, ...]:
        """The prior of each member, from one for all or as many as there are members."""
        found = tuple(prior) if isinstance(prior, (list, tuple, StackPosterior)) else (prior,) * self.members
        if len(found) != self.members:
            msg = f"there are {len(found)} priors for {self.members} members; give one for each, or one for all."
            raise ParameterError(msg)
        return found

    def log_prior(self, prior: Any) -> Array:
        paired = zip(self.parts, self.priors(prior), strict=True)
        return np.array([0.0 if belief is None else np.sum(member.log_prior(belief)) for member, belief in paired])

    def weak_belief(self, rows: Any, weights: Any, part: float = 1.0) -> Any:
        found = [one.weak_belief(view, held, part) for one, view, held in self.with_own_rows(rows, weights)]
        return None if all(one is None for one in found) else found

    def settle_part(self, prior: Any, rows: Any, weights: Any, part: float = 1.0) -> Any:
        beliefs, settled = self.priors(prior), []
        paired = zip(self.with_own_rows(rows, weights), beliefs, strict=True)
        for index, ((member, view, held), belief) in enumerate(paired):
            with naming(f"member {index}", UnsupportedError):
                settled.append(member.settle_part(belief, view, held, part))
        return prior if all(new is old for new, old in zip(settled, beliefs, strict=True)) else settled

    def silent(self, prior: Any) -> tuple[str, ...]:
        paired = zip(self.parts, self.priors(prior), strict=True)
        return tuple(dict.fromkeys(name for member, belief in paired for name in member.silent(belief)))

    def posterior(self, stats: Any, prior: Any) -> StackPosterior:
        """What to believe of each member; ``prior`` is one for all or as many as there are members."""
        self.check_owner(stats)
        paired = zip(self.parts, stats.parts, self.priors(prior), strict=True)
        return StackPosterior(self, tuple(member.posterior(part, belief) for member, part, belief in paired))

    def exposure(self, x: Any) -> Array | None:
        """Of each member's cells side by side."""
        stacks = [member.stacked for member in self.parts]
        parts = [stack.exposure(view) for stack, view in zip(stacks, self.views(x), strict=True)]
        if all(part is None for part in parts):
            return None
        return np.concatenate([filled(part, stack, len(x)) for part, stack in zip(parts, stacks, strict=True)], axis=1)

    def exposed(self, stats: Any) -> Array:
        paired = zip(self.parts, stats.parts, strict=True)
        return diagonal([member.stacked.exposed(part) for member, part in paired])

    def alerts(self, stats: Any) -> tuple[Alert, ...]:
        paired = zip(self.parts, stats.parts, strict=True)
        return tuple(
            (code, f"member {index}: {text}")
            for index, (member, part) in enumerate(paired)
            for code, text in member.alerts(part)
        )

    # ---- asking -------------------------------------------------------------------------------------------------
    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Draw rows of every member: (n, k, d) where all give numbers of one shape, else a tuple."""
        rng = np.random.default_rng(random_state)
        drawn = tuple(member.sample(n, rng) for member in self.parts)
        if any(isinstance(rows, dict) for rows in drawn) or len({np.shape(rows) for rows in drawn}) > 1:
            return drawn
        stacked = np.stack(drawn, axis=1)
        return stacked[..., None] if stacked.ndim == 2 else stacked

    @property
    def column_labels(self) -> tuple[Any, ...]:
        known: tuple[Any, ...] = self.parts[0].column_labels
        return known

    @property
    def vector_labels(self) -> frozenset[Any]:
        known: frozenset[Any] = self.parts[0].vector_labels
        return known

    @property
    def row_axes(self) -> int:
        return int(self.parts[0].row_axes)

    def with_column_names(self, names: tuple[Any, ...]) -> Any:
        return self.rebuilt(member.with_column_names(names) for member in self.parts)

    def arranged(self, columns: dict[Any, Any]) -> Any:
        return self.parts[0].arranged(columns)

    def of_columns(self, columns: list[int]) -> Any:
        return self.rebuilt(member.of_columns(columns) for member in self.parts)

    def of_labels(self, labels: tuple[Any, ...]) -> Any:
        return self.rebuilt(member.of_labels(labels) for member in self.parts)

    def of_column(self, label: Any) -> Any:
        return self.rebuilt(member.of_column(label) for member in self.parts)

    def foretell(self, x: Any, label: Any) -> list[Foretold]:
        return [one.stacked.foretell(view, label)[0] for one, view in zip(self.parts, self.views(x), strict=True)]

    def without_each(self, x: Any) -> Iterator[tuple[Any, Array]]:
        each = [dict(one.stacked.without_each(view)) for one, view in zip(self.parts, self.views(x), strict=True)]
        for label in self.column_labels:
            yield label, np.concatenate([densities[label] for densities in each], axis=1)

    def entropy(self) -> Any:
        return np.array([member.entropy() for member in self.parts])

    def kl(self, other: Any) -> Any:
        """D(self‖other) member by member."""
        if not isinstance(other, Distribution) or other.members != self.members:
            msg = f"Stack is compared with a stack of {self.members} members; got {other!r:.80}."
            raise UnsupportedError(msg)
        return np.array([mine.kl(theirs) for mine, theirs in zip(self.parts, other.each, strict=True)])

    def __repr__(self) -> str:
        """Show the call that makes it."""
        return f"Stack([{', '.join(map(repr, self.parts))}])"


def side_by_side(members: Any) -> Any:
    """Members as one stack where they are of one kind and know their columns, else as a `Stack`."""
    members, first = tuple(members), members[0]
    alike = all(one.ready and _kind(one) == _kind(first) for one in members)
    if alike and first.blocks:
        return first.rebuilt(side_by_side([one.blocks[key] for one in members]) for key in first.blocks)
    if not alike or not first.specs():
        return Stack(members)
    known = [{name for name in one.specs() if getattr(one, name) is not None} for one in members]
    axis = dict.fromkeys(known[0], first.lacking - 1)
    values = {name: [np.asarray(getattr(one, name)) for one in members] for name in axis}
    if any(names != known[0] for names in known) or any(len({v.shape for v in value}) > 1 for value in values.values()):
        return Stack(members)
    stacked = {n: np.stack([v.reshape((1,) * axis[n] + v.shape) for v in value]) for n, value in values.items()}
    return replace(first, **stacked)


def _kind(one: Any) -> Any:
    """What members of one stack have in common: the family, what is fixed and tied, the columns and the options."""
    if not one.blocks and not one.specs():  # a mixture: side by side whatever it is
        return (type(one),)
    options = tuple((f.name, getattr(one, f.name)) for f in fields(one) if f.init and f.name not in one.specs())
    if one.blocks:
        return type(one), tuple((key, _kind(block)) for key, block in one.blocks.items())
    return type(one), one.batch, options


def stacked_or_side_by_side(prototype: Any, k: int) -> Any:
    """K copies of a prototype: as one stack, or side by side where its kind has none."""
    try:
        return prototype.stack(k)
    except UnsupportedError:
        return Stack((prototype,) * k)
