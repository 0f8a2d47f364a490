"""Rows made by members that are named, and mostly seen: p(x, y) = p(y) p(x | y)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from suffice.combinators.absent import completed, scores_of_the_rest, unseen
from suffice.combinators.compound import Table
from suffice.combinators.course import belief, owned
from suffice.combinators.labelled import KNOWN, Labelled, LabelledFiles, owned_by
from suffice.combinators.mixture import Mixture
from suffice.combinators.stack import Readings, side_by_side
from suffice.combinators.starts import floors_of
from suffice.core.distribution import Alert
from suffice.core.em import climb
from suffice.core.errors import ParameterError, UnsupportedError
from suffice.core.fit import fit
from suffice.core.latent import Joint, share_out
from suffice.core.member import check_named
from suffice.core.names import with_all_columns
from suffice.core.parameters import Array
from suffice.core.readings import count
from suffice.core.statistics import Parts, levelled, pooled
from suffice.core.streamed import Streamed
from suffice.core.weights import Weights
from suffice.distributions.categorical import Categorical
from suffice.distributions.weak_priors import of_classes
from suffice.engines import local

GUESS = 1.0  # rows' worth of what is unknown that each class begins with: none begins without a spread


@dataclass(frozen=True)
class Learned:
    """Classes, the statistics that tell them, whether the passes came to rest, and how many there were."""

    distribution: Classes
    statistics: Joint
    converged: bool = True
    passes: int = 1


@dataclass(frozen=True, eq=False, repr=False)
class Classes(Mixture, register=False):
    r"""A mixture whose members have names, and whose rows say which member made them: :math:`p(y)\,p(x \mid y)`.

    Where every class is known, and the members have exact statistics, so has the whole: they merge, and rows can be
    removed. Rows of unknown class are shared out among the classes that they may have, by EM.

    Parameters
    ----------
    components, n, weights
        As in :class:`Mixture`; weights are the probabilities p(y).
    labels
        The name of each class.

    Examples
    --------
    >>> from suffice.combinators.classes import Classes
    >>> from suffice.combinators.labelled import Labelled
    >>> rows = Labelled.of(np.array([[1.0], [3.0], [9.0]]), np.array([0, 0, 1]))
    >>> Classes(sf.Normal(), 2, labels=("low", "high")).suffstats(rows).count
    array([2., 1.])
    """

    labels: Any = field(default=(), kw_only=True)

    def with_members(self, members: Any, weights: Array) -> Any:
        return Classes(members, weights=weights, labels=self.labels)

    def with_class_column(self, name: Any) -> Mixture:
        """A mixture of the same members in which the class is one more column."""
        model = self if self.column_names is not None else self.with_column_names(self.column_labels)
        if name in model.column_labels:
            msg = f"there is a column {name!r} already; give the classes another name."
            raise ParameterError(msg)
        labels = self.labels or tuple(range(self.n))
        sure = np.eye(self.n)
        parts = [one.with_column(name, Categorical(labels, sure[j])) for j, one in enumerate(model.parts)]
        return Mixture(parts, weights=self.weights)

    # ---- rows ---------------------------------------------------------------------------------------------------
    def read(self, x: Any) -> Any:
        return replace(x, rows=super().read(x.rows)) if isinstance(x, Labelled) else super().read(x)

    def check_columns(self, rows: Any) -> None:
        super().check_columns(rows.rows if isinstance(rows, KNOWN) else rows)

    def shaped(self, rows: Any) -> Self:
        return super().shaped(rows.rows if isinstance(rows, KNOWN) else rows)

    def staged(self, rows: Any) -> Any:
        return replace(rows, rows=super().staged(rows.rows)) if isinstance(rows, Labelled) else super().staged(rows)

    def _width(self, rows: Any) -> int:
        return int(self.components._width(rows))  # noqa: SLF001 (the same contract, one level down)

    def gather_width(self, rows: Any) -> int:
        known = isinstance(rows, KNOWN) and rows.complete
        return int(self.components.gather_width(rows.rows)) if known else super().gather_width(rows)

    def gather_effort(self, rows: Any) -> int:
        return 0 if isinstance(rows, KNOWN) and rows.complete else super().gather_effort(rows)

    def gather(self, x: Any, w: Weights) -> Joint:
        if not isinstance(x, Labelled):
            return super().gather(x, w)
        held = w.of_member(0)
        none = np.zeros(1)
        if not x.complete:
            scores = np.where(x.possible(self.n), self.log_weights, -np.inf)
            found = self.components.expect(x.rows, scores, held.values)
            evidence, entropy = np.array([found.log_likelihood]), np.array([found.entropy])
            return Joint(found.count, found.statistics, evidence, entropy, solid=np.array([held.solid]))
        owners = replace(held, codes=x.codes, members=self.n)
        members = self.components.gather_together(x.rows, owners)
        solid = np.array([held.solid])
        stats = Joint(owners.member_totals(), members, none, none, exact=bool(members.exact), solid=solid)
        if stats.exact:
            return stats
        likelihood = np.sum(self.components.log_likelihood(members)) + self._chosen(stats.count)
        return replace(stats, evidence=np.array([likelihood]))

    # ---- learning -----------------------------------------------------------------------------------------------
    @property
    def exact(self) -> bool:
        return bool(self.components.exact)

    def evidence(self, stats: Any) -> float:
        return float(self.log_likelihood(stats)) if stats.exact else super().evidence(stats)

    def in_order(self, stats: Any, prior: Any = None) -> tuple[Any, Any]:
        """As they are: the members have names."""
        del prior
        return self, stats

    def estimate(self, stats: Any, prior: Any = None) -> Self:
        """Parameters from statistics; exact ones also tell the floor, from the rows of all classes together."""
        if not stats.exact:
            return super().estimate(stats, prior)
        self.check_owner(stats)
        model = self.for_statistics(stats)
        beliefs = model.beliefs(prior, stats)
        belief, stack = beliefs.get("components"), model.components
        floors = model.floors_from(stats) if model.floors is None else model.floors
        members = stack.estimate(stats.members, belief)
        raised = members if floors is None else members.raised(floors)
        if raised is not members:
            members = raised.estimate_above(stats.members, belief, floors)
        members = completed(members, stats.members, stats.count, belief)
        weights = self.weights if "weights" in self.fixed else self._weights(stats.count, beliefs.get("weights"))
        return replace(model, components=members, weights=weights)

    def beliefs(self, prior: Any, stats: Any) -> dict[str, Any]:
        """The priors of weights and members, where a name stands for what rows say about the mean of their class."""
        beliefs = {"components": prior} if isinstance(prior, str) else self.priors(prior)
        if isinstance(beliefs.get("components"), str) and not _apart(stats.members):
            weak = _weak(self.components, beliefs["components"], stats.members)
            beliefs = {**beliefs, "components": weak}
        return beliefs

    def settle_labelled(self, prior: Any, rows: Any, weights: Weights) -> Any:
        """The prior with what a name stands for, by the rows whose class is known: part by part, where it has parts."""
        inner = None if prior is None else self.priors(prior).get("components")
        files = isinstance(rows, LabelledFiles)
        if not isinstance(inner, str) or not (files or (rows.codes >= 0).any()):
            return self.settle_prior(prior, rows.rows, weights)
        owners = replace(weights.of_member(0), codes=rows.codes, members=self.n)

        def weak(block: Any, part: Any) -> Any:
            kind = part.kind if isinstance(part, Streamed) else type(part)
            if block.blocks and issubclass(kind, Table) and not issubclass(kind, Readings):
                return {key: weak(one, own) for (key, one), own in zip(block.blocks.items(), part.parts, strict=True)}
            if not block.exact:
                return block.weak_belief(part, weights)
            return _weak(block, inner, block.first_statistics(part, owners))

        return {**self.priors(prior), "components": weak(self.components, rows.rows)}

    def floors_from(self, stats: Any) -> Any:
        """What members are held above: a small part of the spread of all rows, or nothing for unlike members."""
        if _apart(stats.members) or not self.components.simple or self.components.floor() is None:
            return None
        first = self.components.each[0]
        return first.floor_of(pooled(stats.members))

    def learn(self, rows: Any, weights: Weights, prior: Any, rng: Any, **options: Any) -> Learned:
        """The classes of these rows, and how they were learned.

        Exact statistics take one pass. Else classes that share nothing are fitted one by one; others, and rows of
        unknown class, by one climb that begins at what is known.
        """
        model = self.shaped(rows)
        prior = {"components": prior} if isinstance(prior, str) else prior
        if rows.complete and model.exact:
            stats = model.suffstats(rows, weights)
            if stats.exact:
                return Learned(model.estimate(stats, prior), stats)
        settled = model.settle_labelled(prior, rows, weights)
        if rows.complete and not (model.exact or model.components.coupled):
            return model.one_by_one(rows, weights, settled, rng, options)
        if isinstance(rows, LabelledFiles):
            msg = (
                f"classes that share parameters of {self.components.name}, which takes several passes, are not learned "
                "from files; untie them, or give the rows in memory."
            )
            raise UnsupportedError(msg)
        begin = model.guess(rows, weights, rng)
        if options.get("tol") is None:
            options = {**options, "tol": self.tolerance}
        most, tol = options["max_iter"], options["tol"]
        path = climb(begin, begin.staged(rows), weights, settled, most, tol, log_prior=belief(settled))
        learned = path.distribution.estimate(path.statistics, settled)
        if rows.complete:
            learned = learned.with_unseen(path.statistics, rows, weights, settled, rng, options)
        return Learned(learned, path.statistics, path.converged, path.trace.passes)

    def guess(self, rows: Labelled, weights: Weights, rng: Any) -> Self:
        """Where a climb begins: the rows of known class, and of the others a little for every class."""
        model = replace(self, floors=floors_of(self, rows.rows, weights), measured=self.floors is None)
        possible = rows.possible(self.n)
        shares = possible / possible.sum(axis=1, keepdims=True) * weights.dense()
        unknown = possible.sum(axis=1) > 1
        if unknown.any() and not unknown.all():
            worth = shares[unknown].sum(axis=0)
            shares[unknown] *= GUESS / np.where(worth > 0, worth, 1.0)
        found: Self = owned(model, rows.rows, shares, rng)
        return found

    def one_by_one(self, rows: Any, weights: Weights, prior: Any, rng: Any, options: dict[str, Any]) -> Learned:
        """Each class by a fit of its own rows."""
        stack, beliefs = self.components, self.priors(prior)
        inner = beliefs.get("components")
        members, converged, passes = [], True, 1
        count = np.zeros(self.n)
        for index, member in enumerate(stack.each):
            own, held = owned_by(rows, weights, index)
            count[index] = held.total if len(own) else 0.0
            if not count[index]:
                members.append(member)
                continue
            found = fit(member, own, weights=held, prior=_of_class(inner, index), random_state=rng, **options)
            members.append(found.distribution)
            converged, passes = converged and found.converged, max(passes, found.n_iter)
        shares = self.weights if "weights" in self.fixed else self._weights(count, beliefs.get("weights"))
        apart = replace(self, components=side_by_side(members), weights=shares)
        stats = apart.suffstats(rows, weights)
        model = apart.with_unseen(stats, rows, weights, prior, rng, options)
        stats = stats if model is apart else model.suffstats(rows, weights)
        return Learned(model, stats, converged, passes)

    def with_unseen(self, stats: Any, rows: Labelled, weights: Weights, prior: Any, rng: Any, options: Any) -> Self:
        """With what all rows tell of columns that a class never saw, also where that takes a fit."""

        def alone(one: Any, belief: Any, part: Any) -> Any:
            return fit(one, part, weights=weights, prior=belief, random_state=rng, **options).distribution

        belief = self.priors(prior).get("components")
        whole = completed(self.components, stats.members, stats.count, belief, rows.rows, alone)
        return self if whole is self.components else replace(self, components=whole)

    # ---- asking -------------------------------------------------------------------------------------------------
    def log_joint(self, x: Any) -> Array:
        """Log p(x, y) of each row and class, (n, k), without columns that are impossible under every class."""
        self.require_ready("score rows")
        rows = self.read_same_columns(with_all_columns(self, x))
        self.remark(rows)
        found = np.asarray(local.fill(lambda part: self.scores(rows[part]), len(rows), self._width(rows)))
        lost = np.flatnonzero(np.isneginf(found.max(axis=1)))
        if len(lost):
            found[lost] = scores_of_the_rest(self, rows, lost)
        return found

    def shares_of_lost(self, rows: Any, lost: Array) -> Array:
        """By the columns that are possible under some class; the weights, with a warning, where that leaves none."""
        found = share_out(scores_of_the_rest(self, rows, lost)).parts
        still = ~(found.sum(axis=1) > 0)
        if still.any():
            found[still] = super().shares_of_lost(rows, lost[still])
        return found

    def reweighted(self, weights: Any) -> Self:
        """The same classes with other probabilities p(y), which more rows do not change."""
        return replace(self, weights=weights).fix("weights")

    def alerts(self, stats: Any) -> tuple[Alert, ...]:
        """What to know of the classes before trusting them."""
        floors = self.floors_from(stats) if self.floors is None and stats.exact else self.floors
        seen = stats.count > 0
        found: list[Alert] = []
        held = np.flatnonzero(self.components.held(floors) & seen)
        together = self.components.coupled and len(held) == seen.sum() > 1  # one spread for all: told once
        for index in held[:1] if together else held:
            who = "every class" if together else f"class {self.label_of(index)} ({count(stats.count[index], 'row')})"
            text = (
                f"{who} has a spread of nearly 0 in some direction: a column is constant in it, or follows from "
                "others. It was raised to a floor, a small part of the spread of all rows. Drop a column, choose a "
                "simpler structure, shrink it, or give a prior."
            )
            found.append(("singular", text))
        for index in np.flatnonzero(~seen):
            text = f"class {self.label_of(index)} has no rows: its parameters are those of all rows, or of the prior."
            found.append(("empty", text))
        own = self.components.alerts(stats.members)
        found.extend(alert for alert in own if not (found and alert[0] in {"collapsed", "singular"}))
        return (*found, *unseen(self, stats))

    def __repr__(self) -> str:
        """Show the members, their weights and names."""
        return f"{super().__repr__().replace('Mixture', 'Classes', 1)} of {list(self.labels)}"

    def label_of(self, index: Any) -> str:
        """How an alert names a class."""
        return repr(self.labels[index]) if len(self.labels) else str(index)


def _weak(stack: Any, name: str, stats: Any) -> Any:
    """The prior that a name stands for; None where a family has none.

    Of spreads it believes that they are those of rows about the mean of their class, and of means nothing else.
    """
    check_named(name)
    if isinstance(stats, Parts) and stack.blocks:
        parts = zip(stack.blocks.items(), stats.parts, strict=True)
        return {key: _weak(block, name, part) for (key, block), part in parts}
    level = levelled(stats)
    try:
        return of_classes((stack if len(level.weight) > 1 else stack.each[0]).weak_prior(level))
    except UnsupportedError:
        return None


def _of_class(belief: Any, index: int) -> Any:
    """What is believed of one class, where beliefs differ."""
    if isinstance(belief, dict):
        return {key: _of_class(one, index) for key, one in belief.items()}
    if isinstance(belief, (list, tuple)):
        return belief[index]
    return belief.each[index] if getattr(belief, "members", 1) > 1 else belief


def _apart(stats: Any) -> bool:
    """Whether members keep statistics each of its own kind."""
    return isinstance(stats, Parts) and stats.of_members
