"""What a mixture answers about some of its columns: components are reweighed by what is known, and asked themselves."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from suffice.arguments import check_count, generator
from suffice.core.combinators import make_mixture
from suffice.core.family import Family
from suffice.core.responsibilities import normalize
from suffice.engines import local
from suffice.errors import ParameterError
from suffice.models.mixture_components import joined
from suffice.models.monte_carlo import DRAWS, Simulated
from suffice.queries.condition_warnings import warn_of_unusual
from suffice.queries.conditional import ConditionalColumn
from suffice.queries.given import given, given_log_prob
from suffice.queries.prediction import Prediction
from suffice.queries.rows import QueryRows
from suffice.types import Array, Rows, Seed

COMPONENT = "component"  # the name under which it is asked who made a row
OUTCOMES = 1 << 18  # of a table that is summed
LEAST = 1e-17  # probability beyond which whole numbers are left out of it


class MixtureQueries:
    """Questions to a mixture about some columns, as a base class of it."""

    n: Any  # of the mixture itself, as all of these
    weights: Any
    log_weights: Any
    parts: Any
    components: Any
    scores: Any
    log_prob: Any
    predict_proba: Any
    marginal: Any
    require_ready: Any
    read: Any
    score_width: Any

    def given(self, mapping: Mapping[Any, Any] | None = None, /, **columns: Any) -> Any:
        """The distribution of the other columns where some are known, or of all where the component is.

        ``given(component=0)`` is the distribution of the rows of component 0, and beside columns it is conditioned on
        both; of classes it is the class, by its name or number. Unless a column is called ``component``. Else as
        :meth:`Distribution.given`.

        Examples
        --------
        >>> sf.Mixture([sf.Normal(0, 1), sf.Normal(4, 2)]).given(component=1)
        Normal(mean=4, std=2)
        """
        named = mapping if hasattr(mapping, "keys") else None  # else the general answer says what is wrong
        known = {**({} if named is None else dict(named)), **columns}
        if COMPONENT not in known or COMPONENT in self.column_labels:
            return given(self, mapping, columns)
        one = self.parts[self._component(known.pop(COMPONENT))]
        return one.given(known) if known else one

    def _component(self, which: int) -> int:
        """The number of a component, given as such or as the name of a class."""
        names = list(getattr(self, "labels", ()))
        if names and which in names:
            return names.index(which)
        whole = isinstance(which, (int, np.integer)) and not isinstance(which, bool)
        if whole and 0 <= which < self.n:
            return int(which)
        offer = f", or one of {', '.join(map(repr, names[:8]))}" if names else ""
        msg = f"component is a whole number from 0 to {self.n - 1}{offer}; got {which!r:.60}."
        raise ParameterError(msg)

    def with_components(self, components: Any, weights: Array) -> Any:
        """A mixture of other components, as many and in the same order."""
        return make_mixture(components, weights)

    @property
    def column_names(self) -> tuple[Any, ...] | None:
        known: tuple[Any, ...] | None = self.components.column_names
        return known

    @property
    def column_labels(self) -> tuple[Any, ...]:
        known: tuple[Any, ...] = self.components.column_labels
        return known

    @property
    def vector_labels(self) -> frozenset[Any]:
        known: frozenset[Any] = self.components.vector_labels
        return known

    @property
    def row_axes(self) -> int:
        return int(self.components.row_axes)

    @property
    def discrete(self) -> bool:
        """Whether rows are whole numbers or labels, one each."""
        return all(one.discrete for one in self.parts)

    def with_column_names(self, names: tuple[Any, ...]) -> Any:
        return self.with_components(self.components.with_column_names(names), self.weights)

    def arranged(self, columns: dict[Any, Any]) -> Any:
        return self.components.arranged(columns)

    def marginal_columns(self, columns: list[int]) -> Any:
        return self.with_components(self.components.marginal_columns(columns), self.weights)

    def marginal_of(self, labels: tuple[Any, ...]) -> Any:
        return self.with_components(self.components.marginal_of(labels), self.weights)

    def marginal_column(self, label: Hashable) -> Any:
        return self.with_components(self.components.marginal_column(label), self.weights)

    def column_levels(self, label: Hashable) -> tuple[Any, ...] | None:
        known: tuple[Any, ...] | None = self.components.column_levels(label)
        return known

    def conditional(self, known: dict[Any, Any]) -> Any:
        """Bayes' rule for the weights, and each component conditioned."""
        posterior = normalize(given_log_prob(self.components, known) + self.log_weights)
        return self.with_components([one.conditional(known) for one in self.parts], posterior.parts[0])

    def conditional_column(self, x: Rows, label: Hashable) -> list[ConditionalColumn]:
        shares = local.fill(lambda part: normalize(self.scores(x[part])).parts, len(x), self.score_width(x))
        lost = np.flatnonzero(~(shares.sum(axis=1) > 0))
        shares[lost] = self.weights
        return [ConditionalColumn.mixed(shares, self.components.conditional_column(x, label), lost)]

    def conditional_component(self, given: dict[Any, Any]) -> Prediction:
        """Who would make a row of which some cells are known, as a prediction of labels."""
        asked = QueryRows.of(self, {} if given is None else given, some=True)
        warn_of_unusual(self, {one: asked.columns[one] for one in asked.there})
        shares = self.predict_proba(self.arranged(asked.columns))
        names = getattr(self, "labels", ()) or tuple(range(self.n))
        best = [names[j] for j in shares.argmax(axis=1)]
        whole = dict(zip(names, shares.T, strict=True))
        if not asked.single:
            return Prediction(COMPONENT, np.array(best), probabilities=whole)
        return Prediction(COMPONENT, best[0], probabilities={name: float(share[0]) for name, share in whole.items()})

    def leave_one_out_log_prob(self, x: Rows) -> Iterator[tuple[Any, Array]]:
        for label, density in self.components.leave_one_out_log_prob(x):
            yield label, normalize(density + self.log_weights).total[:, None]

    # ---- what columns tell of each other --------------------------------------------------------------------------
    def information(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> float:
        """A sum over a table, a sum of quadratures, or an average of draws, whichever is the first that can be."""
        if np.count_nonzero(self.weights) == 1:
            return float(self.parts[int(np.argmax(self.weights))].information(left, right))
        tables = [self._outcomes(side) for side in (left, right)]
        if all(tables) and np.prod([len(side) for side in tables]) <= OUTCOMES:
            return self._summed(left, right, *tables)
        for one, other, values in ((left, right, tables[0]), (right, left, tables[1])):
            if values and len(other) == 1 and not self.marginal(*other).discrete and len(values) < 100:
                return self._averaged(one, other[0], values)
        return self._simulated(left, right)

    def _outcomes(self, labels: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """What these columns may be together, nothing that matters left out; empty where they are too many to list."""
        each = [outcomes_of(self.marginal(label)) for label in labels]
        if not all(each) or np.prod([len(one) for one in each]) > OUTCOMES:
            return []
        return list(product(*each))

    def _log_probs(self, labels: tuple[Any, ...], rows: list[tuple[Any, ...]]) -> Array:
        part = self.marginal_of(labels)
        order = {label: place for place, label in enumerate(labels)}
        inside = [label for label in self.column_labels if label in order]
        arrays = [_array([row[order[label]] for row in rows]) for label in inside]
        arranged = part.arranged(dict(zip(part.column_labels, arrays, strict=True)))
        return np.asarray(part.log_density(part.read(arranged))[:, 0])

    def _summed(self, left: tuple[Any, ...], right: tuple[Any, ...], one: list[Any], other: list[Any]) -> float:
        joint = self._log_probs((*left, *right), [(*a, *b) for a in one for b in other]).reshape(len(one), len(other))
        alone = self._log_probs(left, one)[:, None] + self._log_probs(right, other)
        with np.errstate(invalid="ignore"):
            terms = np.where(joint > -np.inf, np.exp(joint) * (joint - alone), 0.0)
        return max(float(terms.sum()), 0.0)

    def _averaged(self, labels: tuple[Any, ...], column: Hashable, values: list[tuple[Any, ...]]) -> float:
        """Σ P(values) · D(column given them ‖ column), each divergence by quadrature."""
        whole, total = self.marginal(column), 0.0
        for value, log_p in zip(values, self._log_probs(labels, values), strict=True):
            if log_p > np.log(LEAST):
                conditional = self.given(dict(zip(labels, value, strict=True))).marginal(column)
                total += float(np.exp(log_p)) * float(conditional.kl(whole))
        return max(total, 0.0)

    def _simulated(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> Simulated:
        both = self.marginal_of(tuple(label for label in self.column_labels if label in (*left, *right)))
        order = [label for label in self.column_labels if label in (*left, *right)]
        drawn = both.sample(DRAWS, np.random.default_rng(0))
        columns = drawn if isinstance(drawn, dict) else dict(enumerate(np.asarray(drawn).T))
        by_label = dict(zip(order, (columns[label] for label in both.column_labels), strict=True))

        def score(labels: tuple[Any, ...]) -> Array:
            part = self.marginal_of(tuple(label for label in order if label in labels))
            arrays = [by_label[label] for label in order if label in labels]
            return np.asarray(part.log_prob(part.arranged(dict(zip(part.column_labels, arrays, strict=True)))))

        with np.errstate(all="ignore"):
            gains = score((*left, *right)) - score(left) - score(right)
        return Simulated(float(np.mean(gains)), float(np.std(gains) / np.sqrt(DRAWS)))

    def sample(self, n: int = 1, random_state: Seed = None) -> Any:
        """Draw rows, each from a component drawn by the weights."""
        return self.sample_with_components(n, random_state)[0]

    def sample_with_components(self, n: int = 1, random_state: Seed = None) -> tuple[Any, Array]:
        """Draw rows, and who made each of them."""
        self.require_ready("draw rows")
        check_count(n)
        rng = generator(random_state)
        who = rng.choice(self.n, size=n, p=self.weights)
        order = np.argsort(np.argsort(who, kind="stable"), kind="stable")
        counts = np.bincount(who, minlength=self.n)
        drawn = [one.sample(int(count), rng) for one, count in zip(self.parts, counts, strict=True)]
        return joined(drawn, order), who


def outcomes_of(one: Family) -> list[Any]:
    """The labels or whole numbers that a column may hold; empty where they cannot be listed."""
    levels = getattr(one, "levels", None)
    if levels is not None:
        return list(levels)
    inner = getattr(one, "parts", None)
    if inner is not None:
        found = [outcomes_of(part) for part in inner]
        return sorted({value for part in found for value in part}) if all(found) else []
    if not one.discrete or one.row_vector or one.support.core:
        return []
    low, high = (float(np.asarray(one.quantile(q))) for q in (LEAST, 1.0))
    high = high if np.isfinite(high) else float(np.asarray(one.quantile(1 - 1e-15))) * 1.5 + 40
    return np.arange(low, high + 1).tolist() if high - low < OUTCOMES else []


def _array(values: list[Any]) -> Array:
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    if numbers:
        return np.array(values)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
