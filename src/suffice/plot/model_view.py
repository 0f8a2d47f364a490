"""What pictures and reports show of a model.

Its columns by name, what each component says of them, and the rows' cells.

Whatever was fitted becomes a list of components with weights (a single distribution is one component of weight 1), and
every column becomes one distribution per component, whether it was a block of its own or one of several.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.responsibilities import normalize
from suffice.display.names import display_name
from suffice.em.result import Fit
from suffice.engines.once import cached_property
from suffice.errors import ParameterError, SufficeWarning
from suffice.models.columns import keyed, materialize
from suffice.models.compound import Table
from suffice.models.variational_posterior import VariationalPosterior
from suffice.plot.column import Column, kind_of, levels_of
from suffice.plot.component_columns import cells_of, families_of, homes, single
from suffice.statistics.weights import Weights
from suffice.tables.labels import Labels
from suffice.tables.sketch import fingerprint, take_rows
from suffice.tables.sparse import Sparse
from suffice.tables.subsample import SEED, subsample
from suffice.types import Array, Data, Rows

BLOCK = 65_536  # rows that are scored at once
IN_MEMORY = (np.ndarray, Labels, Sparse, Table)  # rows that can be drawn as they are
NOISY, RARE = 50, 5.0  # levels, and rows for each of them and component, below which a column is like an identifier
FADED = 1e-3  # weight of a component that is hardly there


def model_of(found: object) -> tuple[Any, str]:
    """The distribution of a fit, an estimator or the posterior of a mixture, and what a title adds."""
    if isinstance(found, VariationalPosterior):
        return found.mixture.at_expected, "at the expected parameters"
    return found.distribution if isinstance(found, Fit) else getattr(found, "distribution_", found), ""


@dataclass(frozen=True, eq=False)
class ModelView:
    """A model and rows, as a picture sees them.

    ``model`` is what scores rows, ``parts`` its components with their ``weights``, ``components`` what they are called.
    """

    model: Any
    parts: tuple[Any, ...]
    weights: Array
    components: tuple[str, ...]
    names: tuple[Any, ...]
    rows: Any = field(default=None, repr=False)
    row_weights: Array | None = field(default=None, repr=False)
    note: str = ""  # what a title adds
    shares: Array | None = field(default=None, repr=False)  # P(component given row), where more than the row tells it

    @classmethod
    def of(cls, found: object, data: Data = None) -> ModelView:
        """A fit, a distribution, an estimator or the posterior of a mixture, with its own rows or others."""
        if isinstance(found, ModelView):
            return found
        inner = getattr(found, "fit_", None)
        fit = found if isinstance(found, Fit) else inner if isinstance(inner, Fit) else None
        model, note = model_of(found if fit is None else fit)
        if not isinstance(model, Family) or not model.ready or not (model.lone or model.is_mixture):
            msg = (
                "pictures show a fit, a fitted estimator, or a distribution with its parameters; got "
                f"{type(found).__name__}. Fit it first, as in sf.fit({type(found).__name__}(…), data)."
            )
            raise ParameterError(msg)
        mixture: Any = model if model.is_mixture else None
        parts = (model,) if mixture is None else tuple(mixture.parts)
        weights = np.ones(1) if mixture is None else np.asarray(mixture.weights)
        data, _ = subsample(data)
        names = _names(fit if fit is not None else found, parts[0], data)
        rows, held = _rows(fit, model, data)
        return cls(model, parts, weights, _called(model, len(parts)), names, rows, held, note)

    @property
    def mixed(self) -> bool:
        """Whether there are several components."""
        return len(self.parts) > 1

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in the order of the model."""
        return tuple(self._column(i, name) for i, name in enumerate(self.names))

    @property
    def drawable(self) -> tuple[Column, ...]:
        """The columns that have a picture."""
        return tuple(column for column in self.columns if column.kind != "vector")

    def _column(self, place: int, name: Hashable) -> Column:
        parts = [single(part, place) for part in self.parts]
        kind = kind_of(parts)
        levels = levels_of(parts) if kind == "label" else ()
        cells = None
        if self.rows is not None and kind != "vector":
            cells = cells_of(self.model, self.rows, place)
            if kind == "label":
                cells = cells.among((levels,))[:, 0] if isinstance(cells, Labels) else _yes(cells)
        return Column(
            name, label_of(name, len(self.names)), kind, " or ".join(dict.fromkeys(self._families(place))),
            tuple(parts), self.weights, levels, cells, self.row_weights,
        )  # fmt: skip

    def _families(self, place: int) -> Iterator[str]:
        """The families that describe a column, as they are called: a joint one by its own name."""
        for part in self.parts:
            for family in families_of(part):
                inner = family.blocks[homes(family)[place][1]] if family.blocks else family
                yield from (str(one.name) for one in families_of(inner))

    @property
    def n(self) -> int:
        """How many rows there are."""
        return 0 if self.rows is None else len(self.rows)

    def chosen(self, names: Sequence[Hashable] | None) -> list[Column]:
        """Columns by name or place."""
        found = []
        for name in names if isinstance(names, (list, tuple)) else [names]:
            places = [i for i, known in enumerate(self.names) if type(known) is type(name) and known == name]
            if not places and isinstance(name, (int, np.integer)) and -len(self.names) <= name < len(self.names):
                places = [int(name) % len(self.names)]
            if not places:
                there = ", ".join(display_name(repr(known), 30) for known in self.names[:20])
                msg = f"the columns are {there}; got {name!r:.60}."
                raise ParameterError(msg)
            found.append(self.columns[places[0]])
        return found

    def to_draw(self, names: Sequence[Hashable] | None, most: int, who: str) -> list[Column]:
        """The columns of a picture: those that are named, or at most so many, the most informative."""
        chosen = self.most_informative(most) if names is None else self.chosen(names)
        drawable = [column for column in chosen if column.kind != "vector"]
        if not drawable:
            msg = f"{who} draws columns of numbers, counts or labels; this model has vectors alone."
            raise ParameterError(msg)
        return drawable

    def fewer(self, size: int, seed: int = SEED) -> ModelView:
        """The same with at most ``size`` of the rows, chosen by a seed."""
        if self.n <= size:
            return self
        return self.at(np.sort(np.random.default_rng(seed).choice(self.n, size, replace=False)))

    def at(self, index: Array) -> ModelView:
        """The same with some of the rows."""
        held = None if self.row_weights is None else self.row_weights[index]
        shares = None if self.shares is None else self.shares[index]
        return replace(self, rows=take_rows(self.rows, index), row_weights=held, shares=shares)

    @cached_property
    def responsibilities(self) -> Array:
        """The probability of each component given a row, (n, k)."""
        if self.shares is not None:
            return self.shares
        if not self.model.is_mixture:
            return np.ones((self.n, 1))
        found = np.empty((self.n, len(self.parts)))
        for begin in range(0, self.n, BLOCK):
            part = slice(begin, begin + BLOCK)
            with np.errstate(all="ignore"):
                found[part] = normalize(self.model.relative_scores(self.rows[part])).parts
        lost = np.flatnonzero(~(found.sum(axis=1) > 0))
        if len(lost):
            with warnings.catch_warnings():  # a picture of such rows is no place for it
                warnings.simplefilter("ignore", SufficeWarning)
                found[lost] = self.model.shares_of_lost(self.rows, lost)
        return found

    @cached_property
    def owners(self) -> Array:
        """The most probable component of each row, (n,)."""
        return np.asarray(self.responsibilities.argmax(axis=1))

    @cached_property
    def doubt(self) -> Array:
        """The entropy of the component given a row, in parts of the largest there can be: from 0, sure, to 1."""
        if not self.mixed:
            return np.zeros(self.n)
        with np.errstate(all="ignore"):
            entropy = -np.where(
                self.responsibilities > 0, self.responsibilities * np.log(self.responsibilities), 0.0
            ).sum(axis=1)
        return np.asarray(np.clip(entropy / np.log(len(self.parts)), 0.0, 1.0))

    def log_prob(self, rows: Rows | None = None) -> Array:
        """Log p of each row, (n,)."""
        rows = self.rows if rows is None else rows
        with np.errstate(all="ignore"):
            blocks = [slice(begin, begin + BLOCK) for begin in range(0, len(rows), BLOCK)]
            found = [np.asarray(self.model.stacked.log_density(rows[part])).reshape(-1) for part in blocks]
        return np.concatenate(found) if found else np.zeros(0)

    @cached_property
    def summarize(self) -> Any:
        """What there is to say about the model, with the names of the data's columns."""
        return self.model.summarize(self.names)

    def information(self, column: Column) -> float:
        """The mutual information of a column and the component, in nats."""
        return float(np.nan_to_num(self.summarize.information.get(column.name, 0.0))) if self.mixed else 0.0

    def noisy(self, column: Column) -> str:
        """What to say of a column of so many levels that each has hardly any rows; "" of others."""
        often = self.n / max(len(column.levels), 1)
        if not self.mixed or len(column.levels) < NOISY or often >= RARE * len(self.parts):
            return ""
        return (
            f"column {display_name(column.label)} has {len(column.levels):,} levels, {often:.1f} rows for each: "
            "it is like an "
            "identifier, and much of its information is chance. Leave it out, or pool its rare levels."
        )

    def most_informative(self, most: int, columns: tuple[Column, ...] | None = None) -> list[Column]:
        """The columns with most information about the component, at most so many, in the order of the model."""
        among = self.drawable if columns is None else columns
        if len(among) <= most:
            return list(among)
        order = sorted(among, key=lambda column: -self.information(column))
        return [column for column in among if column in order[:most]]


def ranked(weights: Array, components: list[int]) -> list[tuple[int, int]]:
    """Components with the number of their colour: the same in every picture, and its own for each that has a weight."""
    order = sorted(range(len(weights)), key=lambda j: (weights[j] < FADED, j))
    return [(j, order.index(j)) for j in components]


def label_of(name: Hashable, columns: int = 2) -> str:
    """What an axis calls a column."""
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
        return "value" if columns == 1 else f"column {name}"
    return str(name)


def _yes(cells: Array) -> Array:
    """Zeros and ones as places, −1 for a hole."""
    there = np.isfinite(cells)
    return np.where(there, np.where(there, cells, 0.0) > 0.5, -1).astype(int)


def _called(model: Family, k: int) -> tuple[str, ...]:
    labels = getattr(model, "labels", ())
    return tuple(str(label) for label in labels) if len(labels) == k else tuple(f"component {j}" for j in range(k))


def _names(found: object, part: Any, data: Data) -> tuple[Any, ...]:
    """The names of the columns: the model's own, those that the fit or estimator remembers, or those of the data."""
    own = [name for name, _, _ in homes(part)]
    if part.blocks and part.named:
        return tuple(own)
    for known in (getattr(found, "names", None), getattr(found, "feature_names_in_", None), _keys(data)):
        if known is not None and len(known) == len(own):
            return tuple(known)
    return tuple(own)


def _keys(data: Data) -> Any:
    if data is None or isinstance(data, np.ndarray):
        return None
    opened = materialize(data)
    return list(opened.keys()) if keyed(opened) else None


def _rows(fit: Fit | None, model: Family, data: Data) -> tuple[Any, Array | None]:
    """The rows as the model reads them, with the weights they had in the fit where they are those of the fit."""
    own = None if fit is None else fit.data
    if data is None:
        if fit is None or own is None or not isinstance(own[0], IN_MEMORY) or not fit.intact:
            return None, None
        return own[0], _plain_weights(own[1])
    rows = model.read(data)
    if own is None or own[1].values is None or len(own[0]) != len(rows):
        return rows, None
    none = Weights(len(rows))
    same = fingerprint(rows, none) == fingerprint(own[0], none)
    return rows, _plain_weights(own[1]) if same else None


def _plain_weights(weights: Weights) -> Array | None:
    return None if weights.values is None else np.asarray(weights.dense()[:, 0])
