"""Rows made by components that are named, and mostly seen: p(x, y) = p(y) p(x | y)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from suffice.core.conjugate import check_named
from suffice.core.family import Family
from suffice.core.responsibilities import Joint, normalize
from suffice.display.values import count
from suffice.distributions.categorical import Categorical
from suffice.distributions.weak_priors import of_classes
from suffice.em.fit import fit
from suffice.em.init.short_runs import belief, tag_assignments
from suffice.em.init.starts import floors_of
from suffice.em.loop import run_em
from suffice.em.training import TrainingData
from suffice.engines import local
from suffice.errors import ParameterError, UnsupportedError
from suffice.models.absent_classes import completed, scores_of_the_rest, unseen
from suffice.models.compound import Table
from suffice.models.labelled_rows import KNOWN, Labelled, LabelledFiles, owned_by
from suffice.models.mixture import Mixture
from suffice.models.product import Product
from suffice.models.stack import RowsByComponent, side_by_side
from suffice.statistics.sums import Parts, Statistics, levelled, pooled
from suffice.statistics.weights import Weights
from suffice.tables.column_names import with_all_columns
from suffice.tables.streams import Streamed
from suffice.types import Alert, Array, Data, Prior, Rows

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
    r"""A mixture whose components have names, and whose rows say which component made them: :math:`p(y)\,p(x \mid y)`.

    Where every class is known, and the components have exact statistics, so has the whole: they merge, and rows can be
    removed. Rows of unknown class are shared out among the classes that they may have, by EM.

    Parameters
    ----------
    components, n, weights
        As in :class:`Mixture`; weights are the probabilities p(y).
    labels
        The name of each class.

    Examples
    --------
    >>> from suffice.models.classifier import Classes
    >>> from suffice.models.labelled_rows import Labelled
    >>> rows = Labelled.of(np.array([[1.0], [3.0], [9.0]]), np.array([0, 0, 1]))
    >>> Classes(sf.Normal(), 2, labels=("low", "high")).suffstats(rows).count
    array([2., 1.])
    """

    labels: Any = field(default=(), kw_only=True)

    def with_components(self, components: object, weights: Array) -> Any:
        return Classes(components, weights=weights, labels=self.labels)

    def with_class_column(self, name: Hashable) -> Mixture:
        """A mixture of the same components in which the class is one more column."""
        model = self if self.column_names is not None else self.with_column_names(self.column_labels)
        if name in model.column_labels:
            msg = f"there is a column {name!r} already; give the classes another name."
            raise ParameterError(msg)
        labels = self.labels or tuple(range(self.n))
        sure = np.eye(self.n)
        parts = [_with_column(one, name, Categorical(labels, sure[j])) for j, one in enumerate(model.parts)]
        return Mixture(parts, weights=self.weights)

    # ---- rows ---------------------------------------------------------------------------------------------------
    def read(self, x: Data) -> Any:
        return replace(x, rows=super().read(x.rows)) if isinstance(x, Labelled) else super().read(x)

    def check_columns(self, rows: Data) -> None:
        super().check_columns(rows.rows if isinstance(rows, KNOWN) else rows)

    def for_data(self, rows: Data) -> Self:
        return super().for_data(rows.rows if isinstance(rows, KNOWN) else rows)

    def preprocess(self, rows: Rows) -> Any:
        return (
            replace(rows, rows=super().preprocess(rows.rows))
            if isinstance(rows, Labelled)
            else super().preprocess(rows)
        )

    def score_width(self, rows: Data) -> int:
        return int(self.components.score_width(rows))

    def gather_width(self, rows: Labelled | LabelledFiles) -> int:
        known = isinstance(rows, KNOWN) and rows.complete
        return int(self.components.gather_width(rows.rows)) if known else super().gather_width(rows)

    def gather_effort(self, rows: Rows) -> int:
        return 0 if isinstance(rows, KNOWN) and rows.complete else super().gather_effort(rows)

    def gather(self, x: Rows, w: Weights) -> Joint:
        if not isinstance(x, Labelled):
            return super().gather(x, w)
        held = w.of_component(0)
        none = np.zeros(1)
        if not x.complete:
            scores = np.where(x.possible(self.n), self.log_weights, -np.inf)
            found = self.components.e_step(x.rows, scores, held.values)
            evidence, entropy = np.array([found.log_likelihood]), np.array([found.entropy])
            return Joint(found.count, found.statistics, evidence, entropy, solid=np.array([held.solid]))
        owners = replace(held, codes=x.codes, n_components=self.n)
        components = self.components.gather_together(x.rows, owners)
        solid = np.array([held.solid])
        stats = Joint(owners.component_totals(), components, none, none, exact=bool(components.exact), solid=solid)
        if stats.exact:
            return stats
        likelihood = np.sum(self.components.log_likelihood(components)) + self._chosen(stats.count)
        return replace(stats, log_likelihood=np.array([likelihood]))

    # ---- learning -----------------------------------------------------------------------------------------------
    @property
    def exact(self) -> bool:
        return bool(self.components.exact)

    def measured_log_likelihood(
        self, stats: Statistics, rows: Rows | None = None, weights: Weights | None = None
    ) -> float:
        return float(self.log_likelihood(stats)) if stats.exact else super().measured_log_likelihood(stats)

    def in_order(self, stats: Any, prior: Any = None) -> tuple[Any, Any]:
        """As they are: the components have names."""
        del prior
        return self, stats

    def estimate(self, stats: Any, prior: Prior = None) -> Self:
        """Parameters from statistics; exact ones also tell the floor, from the rows of all classes together."""
        if not stats.exact:
            return super().estimate(stats, prior)
        self.check_family(stats)
        model = self.for_statistics(stats)
        beliefs = model.beliefs(prior, stats)
        belief, stack = beliefs.get("components"), model.components
        floors = model.floors_from(stats) if model.floors is None else model.floors
        components = stack.estimate(stats.components, belief)
        raised = components if floors is None else components.apply_floor(floors)
        if raised is not components:
            components = raised.m_step(stats.components, belief, floors)
        components = completed(components, stats.components, stats.count, belief)
        weights = self.weights if "weights" in self.fixed else self._weights(stats.count, beliefs.get("weights"))
        return replace(model, components=components, weights=weights)

    def beliefs(self, prior: Prior, stats: Any) -> dict[str, Any]:
        """The priors of weights and components, where a name stands for what rows say about the mean of their class."""
        beliefs = {"components": prior} if isinstance(prior, str) else self.priors(prior)
        if isinstance(beliefs.get("components"), str) and not _apart(stats.components):
            weak = _weak(self.components, beliefs["components"], stats.components)
            beliefs = {**beliefs, "components": weak}
        return beliefs

    def resolve_labelled_prior(self, prior: Any, rows: Any, weights: Weights) -> Any:
        """The prior with what a name stands for, by the rows whose class is known: part by part, where it has parts."""
        inner = None if prior is None else self.priors(prior).get("components")
        files = isinstance(rows, LabelledFiles)
        if not isinstance(inner, str) or not (files or (rows.codes >= 0).any()):
            return self.resolve_prior(prior, rows.rows, weights)
        owners = replace(weights.of_component(0), codes=rows.codes, n_components=self.n)

        def weak(block: Any, part: Any) -> Any:
            kind = part.kind if isinstance(part, Streamed) else type(part)
            if block.blocks and issubclass(kind, Table) and not issubclass(kind, RowsByComponent):
                return {key: weak(one, own) for (key, one), own in zip(block.blocks.items(), part.parts, strict=True)}
            if not block.exact:
                return block.default_prior(part, weights)
            return _weak(block, inner, block.first_statistics(part, owners))

        return {**self.priors(prior), "components": weak(self.components, rows.rows)}

    def floors_from(self, stats: Any) -> Any:
        """What components are held above: a small part of the spread of all rows, or nothing for unlike components."""
        if _apart(stats.components) or not self.components.is_single_cluster or self.components.floor() is None:
            return None
        first = self.components.unstacked[0]
        return first.floor_of(pooled(stats.components))

    def learn(
        self, rows: Labelled | LabelledFiles, weights: Weights, prior: Prior, rng: np.random.Generator, **options: Any
    ) -> Learned:
        """The classes of these rows, and how they were learned.

        Exact statistics take one pass. Else classes that share nothing are fitted one by one; others, and rows of
        unknown class, by one run that begins at what is known.
        """
        model = self.for_data(rows)
        prior = {"components": prior} if isinstance(prior, str) else prior
        if rows.complete and model.exact:
            stats = model.suffstats(rows, weights)
            if stats.exact:
                return Learned(model.estimate(stats, prior), stats)
        resolved = model.resolve_labelled_prior(prior, rows, weights)
        if rows.complete and not (model.exact or model.components.coupled):
            return model.one_by_one(rows, weights, resolved, rng, options)
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
        data = TrainingData(begin.preprocess(rows), weights, resolved, belief(resolved))
        path = run_em(begin, data, max_iter=most, tol=tol)
        learned = path.distribution.estimate(path.statistics, resolved)
        if rows.complete:
            learned = learned.with_unseen(path.statistics, rows, weights, resolved, rng, options)
        return Learned(learned, path.statistics, path.converged, path.trace.passes)

    def guess(self, rows: Labelled, weights: Weights, rng: np.random.Generator) -> Self:
        """Where a run begins: the rows of known class, and of the others a little for every class."""
        model = replace(self, floors=floors_of(self, rows.rows, weights), measured=self.floors is None)
        possible = rows.possible(self.n)
        shares = possible / possible.sum(axis=1, keepdims=True) * weights.dense()
        unknown = possible.sum(axis=1) > 1
        if unknown.any() and not unknown.all():
            worth = shares[unknown].sum(axis=0)
            shares[unknown] *= GUESS / np.where(worth > 0, worth, 1.0)
        found: Self = tag_assignments(model, rows.rows, shares, rng)
        return found

    def one_by_one(self, rows: Any, weights: Weights, prior: Any, rng: Any, options: dict[str, Any]) -> Learned:
        """Each class by a fit of its own rows."""
        stack, beliefs = self.components, self.priors(prior)
        inner = beliefs.get("components")
        components, converged, passes = [], True, 1
        count = np.zeros(self.n)
        for index, component in enumerate(stack.unstacked):
            own, held = owned_by(rows, weights, index)
            count[index] = held.total if len(own) else 0.0
            if not count[index]:
                components.append(component)
                continue
            found = fit(component, own, weights=held, prior=_of_class(inner, index), random_state=rng, **options)
            components.append(found.distribution)
            converged, passes = converged and found.converged, max(passes, found.n_iter)
        shares = self.weights if "weights" in self.fixed else self._weights(count, beliefs.get("weights"))
        apart = replace(self, components=side_by_side(components), weights=shares)
        stats = apart.suffstats(rows, weights)
        model = apart.with_unseen(stats, rows, weights, prior, rng, options)
        stats = stats if model is apart else model.suffstats(rows, weights)
        return Learned(model, stats, converged, passes)

    def with_unseen(
        self,
        stats: Joint,
        rows: Labelled,
        weights: Weights,
        prior: dict[Any, Any] | None,
        rng: np.random.Generator,
        options: dict[Any, Any],
    ) -> Self:
        """With what all rows tell of columns that a class never saw, also where that takes a fit."""

        def alone(one: Family, belief: Any, part: Array) -> Any:
            return fit(one, part, weights=weights, prior=belief, random_state=rng, **options).distribution

        belief = self.priors(prior).get("components")
        whole = completed(self.components, stats.components, stats.count, belief, rows.rows, alone)
        return self if whole is self.components else replace(self, components=whole)

    # ---- asking -------------------------------------------------------------------------------------------------
    def log_joint(self, x: Data) -> Array:
        """Log p(x, y) of each row and class, (n, k), without columns that are impossible under every class."""
        self.require_ready("score rows")
        rows = self._read_checked(with_all_columns(self, x))
        self.warn_about_rows(rows)
        found = np.asarray(local.fill(lambda part: self.scores(rows[part]), len(rows), self.score_width(rows)))
        lost = np.flatnonzero(np.isneginf(found.max(axis=1)))
        if len(lost):
            found[lost] = scores_of_the_rest(self, rows, lost)
        return found

    def shares_of_lost(self, rows: Rows, lost: Array) -> Array:
        """By the columns that are possible under some class; the weights, with a warning, where that leaves none."""
        found = normalize(scores_of_the_rest(self, rows, lost)).parts
        still = ~(found.sum(axis=1) > 0)
        if still.any():
            found[still] = super().shares_of_lost(rows, lost[still])
        return found

    def reweighted(self, weights: Array) -> Self:
        """The same classes with other probabilities p(y), which more rows do not change."""
        return replace(self, weights=weights).fix("weights")

    def alerts_under(self, stats: Any, prior: Any) -> tuple[Alert, ...]:
        """What to know of the classes before trusting them."""
        del prior
        floors = self.floors_from(stats) if self.floors is None and stats.exact else self.floors
        seen = stats.count > 0
        found: list[Alert] = []
        held = np.flatnonzero(self.components.on_floor(floors) & seen)
        together = self.components.coupled and len(held) == seen.sum() > 1  # one spread for all: told once
        for index in held[:1] if together else held:
            who = "every class" if together else f"class {self.label_of(index)} ({count(stats.count[index], 'row')})"
            text = (
                f"{who} has a spread of nearly 0 in some direction: a column is constant in it, or follows from "
                "others. It was raised to a floor, a small part of the spread of all rows. Drop a column, choose a "
                "simpler structure, shrink it, or give a prior."
            )
            found.append(Alert("singular", text, component=None if together else int(index)))
        for index in np.flatnonzero(~seen):
            text = f"class {self.label_of(index)} has no rows: its parameters are those of all rows, or of the prior."
            found.append(Alert("empty", text, component=int(index)))
        own = self.components.alerts(stats.components)
        found.extend(alert for alert in own if not (found and alert.code in {"collapsed", "singular"}))
        return (*found, *unseen(self, stats))

    def __repr__(self) -> str:
        """Show the components, their weights and names."""
        return f"{super().__repr__().replace('Mixture', 'Classes', 1)} of {list(self.labels)}"

    def label_of(self, index: Any) -> str:
        """How an alert names a class."""
        return repr(self.labels[index]) if len(self.labels) else str(index)


def _weak(stack: Family, name: str, stats: Statistics) -> Any:
    """The prior that a name stands for; None where a family has none.

    Of spreads it believes that they are those of rows about the mean of their class, and of means nothing else.
    """
    check_named(name)
    if isinstance(stats, Parts) and stack.blocks:
        parts = zip(stack.blocks.items(), stats.parts, strict=True)
        return {key: _weak(block, name, part) for (key, block), part in parts}
    level = levelled(stats)
    try:
        return of_classes((stack if len(level.weight) > 1 else stack.unstacked[0]).weak_prior(level))
    except UnsupportedError:
        return None


def _of_class(belief: Any, index: int) -> Any:
    """What is believed of one class, where beliefs differ."""
    if isinstance(belief, dict):
        return {key: _of_class(one, index) for key, one in belief.items()}
    if isinstance(belief, (list, tuple)):
        return belief[index]
    return belief.unstacked[index] if getattr(belief, "n_components", 1) > 1 else belief


def _apart(stats: Statistics) -> bool:
    """Whether components keep statistics each of its own kind."""
    return isinstance(stats, Parts) and stats.of_components


def _with_column(one: Family, name: Hashable, column: Family) -> Product:
    """A product of a distribution whose columns have names, and one more column that is independent of them."""
    if isinstance(one, Product):
        return one.with_parts((*one.blocks.items(), (name, column)))
    return Product({one.column_names: one, name: column})
