"""Labels of any kind."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Self

import numpy as np

from suffice import kernels
from suffice.bayes.posterior import Posterior
from suffice.core.combinators import pair_with_prior
from suffice.core.family import Family
from suffice.core.mixed_columns import ClosedForm, Learned, Part
from suffice.core.parameters import LABEL
from suffice.core.responsibilities import EStep
from suffice.core.value import replace_valid
from suffice.display.values import ColumnSummary, levels_of
from suffice.distributions.dirichlet import Dirichlet
from suffice.distributions.indicators import short
from suffice.distributions.label_posterior import LabelPosterior
from suffice.distributions.levels import Levelled
from suffice.distributions.weak_priors import shared_row
from suffice.errors import DataError, ParameterError, SufficeWarning, UnsupportedError
from suffice.numerics.lazy import special
from suffice.statistics.sums import Counts, share
from suffice.statistics.weights import Weights
from suffice.tables.column_names import columns_in_sentence
from suffice.tables.labels import Column, Labels, Whole, as_array, read_labels
from suffice.types import Alert, Array, Data, Prior, Rows


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(Levelled):
    r"""One of L labels, the j-th with probability ``probs[j]``: :math:`P(x) = p_x`.

    Labels are strings, whole numbers, booleans, dates, or anything hashable; None and NaN are missing. Without
    ``levels`` they are learned from the data, in sorted order; declared levels stay, seen or not. Several columns are
    padded to the widest, with probability 0. A label that is none of the levels has the probability ``unseen``: after
    a fit under a prior that of a level which no row had, (α − 1)/(n + (α − 1)·L) at the mode under Dirichlet([α]), and
    of unequal concentrations the smallest counts. Without it such a cell is left out of the score, like a missing one.
    ``pool`` names a declared level that stands for every label that is none of the levels: rare ones, and new ones.
    Statistic 1[x = j], natural parameter log probs, log-partition 0; conjugate prior :class:`Dirichlet`.

    >>> sf.fit(sf.Categorical(), ["b", "a", "b", "b"]).distribution
    Categorical(levels=('a', 'b'), probs=[0.25, 0.75])
    """

    support = LABEL
    discrete = True
    conjugates = (Dirichlet,)
    belief_about = "probs"
    _in_place = True

    # ---- rows ---------------------------------------------------------------------------------------------------
    def read(self, x: Data) -> Labels:
        rows = read_labels(x, self.name, self.columns)
        return rows if self.pool is None else rows.pooled(self.named, self.pool)

    def log_prob(self, x: Data) -> Any:
        """Log probability of each row: (n,), or (n, k) for a stack; a float for a single row.

        Missing cells are left out. Labels that are none of the levels have the probability ``unseen``, which a fit
        under a prior sets. Where there is none they are left out too, with a :class:`SufficeWarning` that names the
        first of them.
        """
        return super().log_prob(x)

    def warn_about_rows(self, rows: Labels, where: str = "") -> None:
        """Warn of the first label of each column that is none of the levels."""
        if isinstance(rows, Whole):  # nobody has looked
            return
        free = np.zeros(len(rows.columns)) if self.unseen is None else np.min(self.stacked.unseen, axis=0)
        for column, (cells, levels) in enumerate(zip(rows.columns, self.stacked.named, strict=True)):
            place = cells.places(levels)
            if free[column] == 0 and (place < 0).any() and cells.tally[place < 0].any():
                row, label = self._first_unknown(cells, place, np.ones(len(rows), bool))
                there = f"row {row}" + (f", column {column}" if len(rows.columns) > 1 else "")
                text = (
                    f"{where}{there} has {label!r}, which is none of the levels {short(levels)}: it is left out of "
                    "the score, like a missing cell. Declare it in levels=…, or fit with a prior, such as "
                    "prior='weak', to give it a probability."
                )
                warnings.warn(text, SufficeWarning, stacklevel=4)

    def unseen_levels(self, x: Labels) -> list[tuple[Any, Array]]:
        found = []
        for column, (cells, levels) in enumerate(zip(x.columns, self.named, strict=True)):
            place = cells.places(levels)
            found.append(((column,), cells.among(np.where(place < 0, 1, -1)) == 1))
        return found

    def _first_unknown(self, cells: Column, place: Array, counted: Array) -> tuple[int | None, Any]:
        """The first row that counts and whose label is none of the levels, with the label; None where there is none."""
        lost = (cells.among(np.where(place < 0, 1, -1)) == 1) & counted
        row = int(np.argmax(lost))
        return (row, cells.vocabulary[int(cells.codes[row]) - cells.low]) if lost[row] else (None, None)

    def log_density(self, x: Labels) -> Array:
        out = np.zeros((len(x), self.n_components))
        with np.errstate(divide="ignore"):
            logs = np.log(self.probs)
        cost = self._price()
        for column, cells, levels in zip(range(len(x.columns)), x.columns, self.named, strict=True):
            place = cells.places(levels)
            table = np.concatenate([logs[:, column, : len(levels)], cost[:, column, None], 0 * cost[:, :1]], axis=1)
            # an unknown label has the place after the levels; −1 is the last: nothing is known, nothing is added
            out += table.T[cells.among(np.where(place < 0, len(levels), place))]
        return out

    def best(self, x: Labels, log_weights: Array) -> Array:
        with np.errstate(divide="ignore"):
            tables = np.log(self.probs)
        lengths = np.array([len(levels) for levels in self.named])
        tables[:, np.arange(tables.shape[2]) >= lengths[:, None]] = np.nan  # padding is not a level
        price = self._price()
        if not isinstance(x, Whole):
            if price.any():
                return super().best(x, log_weights)
            return kernels.table_best(x.among(self.named), tables, log_weights)[0]
        codes, unknown = kernels.table_best(x.matrix, tables, log_weights, price)
        if unknown:
            x.refuse_negative()
        if unknown and not price.all():
            text = f"{unknown} cells hold a label that is none of the levels: they are left out, like missing cells."
            warnings.warn(text, SufficeWarning, stacklevel=2)
        return codes

    def _price(self) -> Array:
        """What a label costs that is none of the levels, (k, d): log ``unseen``, or nothing where that is 0."""
        unseen = np.zeros(self.batch) if self.unseen is None else np.asarray(self.unseen)
        return np.asarray(np.log(np.where(unseen > 0, unseen, 1.0)))

    def preprocess(self, rows: Labels) -> Labels:
        return replace(rows, preprocess=(self.named, rows.among(self.named)))

    def e_step(self, x: Labels, log_weights: Array, weights: Array | None = None) -> EStep:
        preprocessed = x.preprocess is not None and x.preprocess[0] == self.named  # then unknown labels were looked for
        if not preprocessed or not any(map(len, self.named)):
            return super().e_step(x, log_weights, weights)
        with np.errstate(divide="ignore"):
            logs = np.log(self.probs)
        found = kernels.table_e_step(x.among(self.named), logs, log_weights, weights)
        likelihood, entropy, count, counts = found
        if not np.isfinite(likelihood):
            return super().e_step(x, log_weights, weights)
        return EStep(likelihood, entropy, Counts(counts, self.named, pool=self.pool), count)

    def in_cells(self, x: Labels) -> Part | None:
        if x.preprocess is None or x.preprocess[0] != self.named:
            return None
        with np.errstate(divide="ignore"):
            logs = np.log(self.probs)
        sizes = [len(levels) for levels in self.named]
        tables = [logs[:, column, :size] for column, size in enumerate(sizes)]

        def statistics(learned: Learned) -> Counts:
            count = np.zeros(logs.shape)
            for column, found in enumerate(learned.counts):
                count[:, column, : sizes[column]] = found
            return Counts(count, self.named, pool=self.pool)

        return Part(statistics, levels=(x.among(self.named), tables))

    def closed_form(self, x: Labels | None) -> ClosedForm | None:
        known = x is None or (x.preprocess is not None and x.preprocess[0] == self.named)
        if self.fixed or self.tied or not known or not all(map(len, self.named)):
            return None
        sizes, probs = [len(levels) for levels in self.named], np.asarray(self.probs)
        codes = np.empty((0, len(sizes))) if x is None else x.among(self.named)

        def rebuilt(_mean: Array, _std: Array, tables: Sequence[Array]) -> Any:
            whole = np.zeros(probs.shape)
            for column, table in enumerate(tables):
                whole[:, column, : sizes[column]] = table
            return replace_valid(self, probs=whole, unseen=None)

        none = np.empty((len(probs), 0))
        tables = [probs[:, column, :size] for column, size in enumerate(sizes)]
        return ClosedForm(rebuilt, np.empty((len(codes), 0)), none, none, codes, tables)

    def gather_rows(self, rows: Rows, weights: Weights) -> Any:
        """Statistics of the rows; without weights they were counted when the labels were read."""
        if isinstance(rows, Labels) and weights.values is None and weights.codes is None and self.lone:
            return self.stacked.gather(rows, weights)
        return super().gather_rows(rows, weights)

    def gather(self, x: Labels, w: Weights) -> Counts:
        width = max(map(len, self.named), default=0)
        if isinstance(x, Whole):
            return Counts(kernels.counts(x.matrix, width, **w.arguments), self.named, pool=self.pool)
        places = [cells.places(levels) for cells, levels in zip(x.columns, self.named, strict=True)]
        if w.values is None and w.codes is None and w.n_components == 1:
            count = np.zeros((1, len(places), width))
            for column, (cells, place) in enumerate(zip(x.columns, places, strict=True)):
                if len(place):
                    if cells.tally[place < 0].any():
                        self._refuse_unknown(x, place, column, w)
                    count[0, column, place[place >= 0]] = cells.tally[place >= 0]
            return Counts(count, self.named, pool=self.pool)
        levels = np.empty(x.shape, dtype=np.int64)
        for column, (cells, place) in enumerate(zip(x.columns, places, strict=True)):
            if (place < 0).any():
                self._refuse_unknown(x, place, column, w)
            levels[:, column] = cells.among(place)
        return Counts(kernels.counts(levels, width, **w.arguments), self.named, pool=self.pool)

    def _refuse_unknown(self, x: Labels, place: Array, column: int, w: Weights) -> None:
        """Name the first row that counts and whose label was not declared."""
        row, label = self._first_unknown(x.columns[column], place, w.per_row() > 0)
        if row is not None:
            there = f"row {row + w.offset}" + (f", column {column}" if len(x.columns) > 1 else "")
            msg = (
                f"Categorical has the levels {short(self.named[column])}, but {there} has {label!r}. Declare it in "
                "levels=…, correct or drop the row, or leave levels out to learn them from the data."
            )
            raise DataError(msg)

    # ---- learning -----------------------------------------------------------------------------------------------
    def estimate(self, stats: Counts, prior: Prior = None) -> Self:
        """As every family does; where no row has a label there are no levels, and nothing to learn."""
        self.check_family(stats)
        model = self.for_statistics(stats)
        return super().estimate(stats, prior) if any(map(len, model.named)) else model

    def maximise(self, stats: Counts) -> Self:
        count = stats.on(self.named)
        if "probs" in self.tied:
            count = np.broadcast_to(count.sum(axis=0), count.shape)
        total = count.sum(axis=-1, keepdims=True)
        return replace(self, probs=np.where(total > 0, share(count, total), self.probs), unseen=None)

    def likelihood_cells(self, stats: Counts) -> Array:
        return np.asarray(special.xlogy(stats.on(self.named), self.probs).sum(axis=-1))

    def error_cells(self, stats: Counts) -> dict[str, Array]:
        weight = np.asarray(stats.weight)[..., None]
        weight = weight.sum(axis=0, keepdims=True) if self.tied else weight
        with np.errstate(all="ignore"):
            return {"probs": np.sqrt(self.probs * (1 - self.probs) / weight)}

    def alerts(self, stats: Counts) -> tuple[Alert, ...]:
        stack, zero = self.stacked, self.stacked.probs == 0
        facts = (
            (zero.all(axis=0), "", "held impossible, so the true risk may be infinite"),
            (zero.any(axis=0), " in some components", "never theirs"),
        )
        for nowhere, where, what in facts:
            columns = enumerate(zip(stack.named, nowhere, strict=True))
            unseen = [(j, level) for j, (levels, none) in columns for level in compress(levels, none)]
            if unseen and not self.fixed:
                more = f" and {len(unseen) - 1} more" if unseen[1:] else ""
                level = unseen[0][1]
                text = (
                    f"level {level!r}{more}",
                    columns_in_sentence((j for j, _ in unseen), len(stack.named)),
                    f" got probability 0{where}: a row that has it is {what}.",
                )
                return (Alert("boundary", text, value=level, prior_advice="A prior keeps every level possible."),)
        return ()

    # ---- believing ----------------------------------------------------------------------------------------------
    def posterior(self, stats: Counts, prior: Prior) -> Any:
        self.check_family(stats)
        model = self.for_statistics(stats)
        if isinstance(prior, Posterior):
            before = prior.likelihood
            if isinstance(before, Categorical) and before.named != model.named:
                msg = (
                    f"the earlier posterior speaks of the levels {short(before.named[0])}, the data of "
                    f"{short(model.named[0])}. Declare all levels from the beginning: Categorical(levels=…)."
                )
                raise DataError(msg)
        belief = getattr(prior, "belief", prior)
        found = pair_with_prior(model, stats, model.aligned(belief) if isinstance(belief, Dirichlet) else belief)
        return LabelPosterior.of(found, prior) if isinstance(found, Posterior) else found

    def aligned(self, prior: Dirichlet) -> Dirichlet:
        """The prior with one entry for each level and 0 for padding; a single entry is meant for every level."""
        lengths = np.array([len(column) for column in self.named])
        inside = np.arange(lengths.max()) < lengths[:, None]
        alpha = np.asarray(prior.stacked.alpha)
        if alpha.shape[-1] == 1:
            return Dirichlet(alpha * inside)
        if alpha.shape[-1] != lengths.max() or not ((alpha > 0) | ~inside).all():
            counts = ", ".join(map(str, sorted(set(lengths.tolist()))))
            msg = (
                f"Categorical has {counts} levels, but the prior Dirichlet has "
                f"{alpha.shape[-1]} entries: give one positive entry for each level, or one for all."
            )
            raise ParameterError(msg)
        return Dirichlet(alpha * inside)

    def reference_belief(self, stats: Counts) -> Dirichlet:
        counts = stats.on(self.named)
        lengths = np.array([len(column) for column in self.named])
        if not (counts > 0)[..., np.arange(counts.shape[-1]) < lengths[:, None]].all():
            msg = "some level was never seen."
            raise ParameterError(msg)
        return Dirichlet(counts)

    def update(self, stats: Counts, prior: Dirichlet) -> Dirichlet:
        return Dirichlet(prior.alpha + stats.on(self.named))

    def predict_with(self, belief: Dirichlet) -> Categorical:
        return Categorical(self.levels, belief.mean, pool=self.pool)

    def expected_component(self, belief: Dirichlet) -> tuple[Self, Array]:
        probs, offset = belief.geometric_mean()
        return replace(self, probs=probs, unseen=None), offset

    def exposure(self, x: Labels) -> Array | None:
        seen = x.among(self.named) >= 0
        return None if seen.all() else seen.astype(float)

    def log_prior(self, prior: Dirichlet) -> Array:
        return np.asarray(self.aligned(getattr(prior, "belief", prior)).stacked.log_cell(self.stacked.probs))

    def weak_prior(self, stats: Counts, part: float = 1.0) -> Dirichlet:
        """One pseudo-row, shared equally by the levels of a column."""
        del part
        model = self.for_statistics(stats)
        lengths = np.array([len(column) for column in model.named])
        if not lengths.any():
            msg = "Categorical: no label was seen, so a prior has none to speak of; declare some in levels=…."
            raise UnsupportedError(msg)
        each = np.array([shared_row(max(length, 1)) for length in lengths])
        return model.aligned(Dirichlet(np.repeat(each[:, None], lengths.max(), axis=1)))

    # ---- asking -------------------------------------------------------------------------------------------------
    def draw(self, n: int, rng: np.random.Generator) -> Array:
        arrays = [as_array(levels) for levels in self.named]
        kind = arrays[0].dtype if len({array.dtype.kind for array in arrays}) == 1 else np.dtype(object)
        kind = max((array.dtype for array in arrays), key=lambda d: d.itemsize) if kind.kind == "U" else kind
        kind = kind if all(map(len, arrays)) else np.dtype(object)  # without levels every cell is missing
        rows = np.empty((n, *self.batch), dtype=kind)
        uniform: Array = np.asarray(rng.random(rows.shape))
        for component, column in np.ndindex(*self.batch):
            if not len(arrays[column]):
                continue
            ladder: Array = np.cumsum(self.probs[component, column, : len(arrays[column])])
            place = (ladder / ladder[-1]).searchsorted(uniform[:, component, column], side="right")
            rows[:, component, column] = arrays[column][place]
        return rows

    def column_summaries(self) -> list[list[ColumnSummary]]:
        stack = self.stacked
        return [[levels_of(levels, probs[j]) for probs in stack.probs] for j, levels in enumerate(stack.named)]

    @property
    def mode(self) -> Any:
        """The most probable label of each column."""
        best = np.asarray(self.stacked.probs.argmax(axis=-1))
        modes = np.empty(best.shape, dtype=object)
        for component, column in np.ndindex(*best.shape):
            modes[component, column] = self.stacked.named[column][best[component, column]]
        return modes[(0,) * (2 - len(self.batch))]

    @property
    def mean(self) -> Any:
        """Labels have none."""
        raise self._no_number("mean")

    @property
    def var(self) -> Any:
        """Labels have none."""
        raise self._no_number("variance")

    def cumulative(self, x: Any) -> Any:
        raise self._no_number("order, so no cdf")

    def inverse(self, q: Array) -> Any:
        raise self._no_number("order, so no quantiles")

    def _no_number(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"labels have no {what}; ask a Categorical for probs, mode or entropy().")

    def cdf(self, x: str) -> Any:
        """Labels have none."""
        return self.cumulative(x)

    def entropy_cell(self) -> Any:
        return special.entr(self.probs).sum(axis=-1)

    def kl(self, other: Family) -> Any:
        """D(self‖other); the levels are matched by name, and one that ``other`` lacks makes it infinite."""
        self.require_ready("be compared")
        if type(other) is not Categorical or other.batch != self.batch:
            msg = "kl compares a Categorical with another over as many columns; pick components of a stack with .each."
            raise UnsupportedError(msg)
        mine, theirs = self.stacked, other.stacked
        total = np.zeros(mine.n_components)
        for column, levels in enumerate(mine.named):
            place = {level: index for index, level in enumerate(theirs.named[column])}
            q = [theirs.probs[:, column, place[level]] if level in place else 0 * total for level in levels]
            total += special.rel_entr(mine.probs[:, column, : len(levels)], np.stack(q, axis=-1)).sum(axis=-1)
        return float(total[0]) if self.lone else total
