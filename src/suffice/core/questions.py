"""Questions to a joint distribution: given some columns, of some columns alone, cells that are missing or strange.

The verbs are here, once. What a family or a combinator adds is how it is asked: `conditional` (the distribution of the
other columns), `of_labels` (the marginal), `foretell` (one cell of many rows), `without_each` (the density of rows
without one of their cells) and `information`. Here are those of independent columns, and of vectors as far as any has
them. A column goes by its label: its name in a product, else its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from suffice.core.data import axes_of
from suffice.core.errors import DataError, ParameterError, SufficeError, UnsupportedError, naming
from suffice.core.foretold import Foretold
from suffice.core.labels import is_missing
from suffice.core.matching import places_among
from suffice.core.member import Member
from suffice.core.names import guessed, label_of
from suffice.core.parameters import Array
from suffice.frames.table import Frame


@dataclass(frozen=True, eq=False, repr=False)
class Questions(Member):
    """The part of the contract that asks a joint distribution about some of its columns."""

    # ---- what a distribution says of its columns ------------------------------------------------------------------
    @property
    def column_names(self) -> tuple[Any, ...] | None:
        """The names of the columns, in order; None where they go by place."""
        return None

    @property
    def column_labels(self) -> tuple[Any, ...]:
        """By what the columns can be asked for: their names or places. A vector in one cell is one column."""
        return tuple(range(self.columns or 1))

    @property
    def vector_labels(self) -> frozenset[Any]:
        """The columns whose cells are vectors."""
        return frozenset(self.column_labels) if self.support.core else frozenset()

    @property
    def row_axes(self) -> int:
        """The axes that one row has: 0 of a number or label, 1 of a vector."""
        return max(self.support.core, int(self.row_vector))

    def with_column_names(self, names: tuple[Any, ...]) -> Any:
        """The same distribution with names for its columns: a product of a single part, or of parts with names."""
        return _product({tuple(names): self})

    def with_column(self, name: Any, column: Any) -> Any:
        """A product of this, whose columns have names, and one more column."""
        return _product({self.column_names: self, name: column})

    def arranged(self, columns: dict[Any, Any]) -> Any:
        """Columns by label in a form that ``read`` takes; all of them, in order."""
        arrays = list(columns.values())
        return np.stack(arrays, axis=1) if self.support.core else Frame(columns, len(arrays[0]))

    def of_columns(self, columns: list[int]) -> Any:
        """The marginal of some columns, by place; numbers instead of arrays for a single one."""
        if self.row_vector:
            raise self._cannot("tell the distribution of some of its columns")
        if not self.batch:
            return self
        axis = len(self.batch) - 1
        chosen: Any = columns[0] if len(columns) == 1 and self.lone else columns
        return self.reshaped(lambda value: value[(slice(None),) * axis + (chosen,)])

    def of_column(self, label: Any) -> Any:
        """The marginal of one column, as a distribution of one number or label."""
        return self.of_columns([label])

    def of_labels(self, labels: tuple[Any, ...]) -> Any:
        """The marginal of some columns, with names where they have some."""
        return self.of_columns(list(labels))

    def conditional(self, known: dict[Any, Any]) -> Any:
        """The distribution of the other columns, given ``known`` values by label; independent ones stay as they are."""
        if self.row_vector:
            raise self._cannot("be conditioned on some of its columns: it has no closed form for the others")
        return self.of_labels(tuple(label for label in self.column_labels if label not in known))

    def foretell(self, x: Any, label: Any) -> list[Foretold]:
        """One column of rows, given the other cells that they have, for each member of the stack.

        ``x`` are rows as ``read`` gives them, in which that cell is missing.
        """
        if self.row_vector or self.support.core:
            raise self._cannot("foretell a cell: it is a vector, or has no closed form given the others")
        column = self.of_columns([label])
        return [Foretold.of(len(x), one.reshaped(lambda value: value[0])) for one in column.each]

    def without_each(self: Any, x: Any) -> Iterator[tuple[Any, Array]]:
        """The log density (n, k) of a block of rows without one of the cells, for every column by label."""
        if not self.row_vector:
            pieces = [self.of_columns([label]).log_density(_column(x, label)) for label in self.column_labels]
            yield from zip(self.column_labels, all_but_one(pieces), strict=True)
            return
        for label in self.column_labels:
            masked = np.array(x, dtype=float)
            masked[:, label] = np.nan
            yield label, self.log_density(masked)

    def information(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> float:
        """What two groups of columns tell of each other, in nats."""
        if not self.row_vector:
            return 0.0
        alone = self.of_labels(left).entropy() + self.of_labels(right).entropy()
        return max(float(alone - self.of_labels((*left, *right)).entropy()), 0.0)

    # ---- the verbs ------------------------------------------------------------------------------------------------
    def marginal(self, *columns: Any) -> Any:
        """The distribution of some columns alone, by name or place.

        Of one column it is a distribution of a number or label; of several it has their names, where they have some.

        Examples
        --------
        >>> sf.MultivariateNormal([1.0, 2.0], [[4.0, 1.0], [1.0, 9.0]]).marginal(1)
        Normal(mean=2, std=3)
        """
        self._ask_lone()
        labels = self.labels_of(*columns)
        return self.of_column(labels[0]) if len(labels) == 1 else self.of_labels(labels)

    def given(self, mapping: Mapping[Any, Any] | None = None, /, **columns: Any) -> Any:
        """The distribution of the other columns where some are known.

        Parameters
        ----------
        mapping, columns
            One value of each known column, as ``given({"bill length": 40.0}, species="Adelie")``; by place where
            columns have no names, as ``given({0: 1.5})``. None and NaN are not known.

        Returns
        -------
        A distribution of what is left, in closed form, with the names of its columns and the same verbs. A label that
        the column does not have is refused.

        Examples
        --------
        >>> sf.MultivariateNormal([0.0, 0.0], [[4.0, 1.0], [1.0, 1.0]]).given({1: 2.0})
        Normal(mean=2, std=1.73205)
        """
        self._ask_lone()
        known = self.known(mapping, columns)
        if not known:
            return self
        if len(known) == len(self.column_labels):
            msg = f"{self.name}: every column is given, so that none is left to ask about; leave one out."
            raise ParameterError(msg)
        self.refuse_unknown_levels(known)
        part, rows = self.read_known(known)
        if not part.stacked.log_density(rows).max() > -np.inf:
            wrong = [label for label in known if not self.log_known({label: known[label]}).max() > -np.inf]
            which = ", ".join(f"{label!r} = {known[label]!r:.40}" for label in wrong or known)
            why = "cannot be" if wrong else "cannot be at once"
            msg = f"{self.name}: {which} {why}: the probability is 0, and nothing follows from it. Correct the value."
            raise DataError(msg)
        return self.conditional(known)

    def impute(
        self,
        data: Any,
        *,
        n: int | None = None,
        draw: bool = False,
        uncertainty: bool = False,
        random_state: Any = None,
    ) -> Any:
        """Fill the missing cells of rows from the cells that they have.

        Parameters
        ----------
        data
            Rows with holes: a frame, columns by name, or an array. What is seen stays as it is.
        n
            How many completed copies to draw; they come as a list.
        draw
            Draw one completed copy: each hole from its distribution given all other cells of the row, drawn ones too.
        uncertainty
            Return also how sure each value is, as a pair ``(data, uncertainty)``.
        random_state
            Seed or Generator of the draws.

        Returns
        -------
        The same kind of table. Without draws a hole gets the conditional mean, of whole numbers the conditional median
        (so that a count stays a count), of labels the most probable one. The uncertainty is the conditional standard
        deviation of a number, 0 where it was seen, and the probability of the label that was chosen, 1 where it was.

        Examples
        --------
        >>> both = sf.MultivariateNormal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])
        >>> both.impute([[2.0, np.nan], [np.nan, -1.0]])
        array([[ 2. ,  1. ],
               [-0.5, -1. ]])
        """
        from suffice.core.imputation import impute

        self._ask_lone()
        return impute(self, data, n=n, draw=draw, uncertainty=uncertainty, random_state=random_state)

    def surprisal(self, data: Any) -> Any:
        """How strange rows and cells are: −log p of each row, and of each cell given the others of its row.

        Returns
        -------
        A :class:`~suffice.core.surprisal.Surprisal` with ``rows`` (n,), ``cells`` as the same kind of table (missing
        cells have NaN), and a print of the strangest rows. In nats; densities make it negative where they pass 1.

        Examples
        --------
        >>> both = sf.MultivariateNormal([0.0, 0.0], [[1.0, 0.9], [0.9, 1.0]])
        >>> both.surprisal([[1.0, 1.0], [1.0, -1.0]]).rows.round(2)
        array([ 1.53, 11.01])
        """
        from suffice.core.surprisal import surprisal

        self._ask_lone()
        return surprisal(self, data)

    def predict(self, column: Any, given: Any = None, *, level: float = 0.95) -> Any:
        """One column, foretold from others.

        Parameters
        ----------
        column
            Its name or place.
        given
            What is known: one value of each known column, or a table with many rows of them. Columns that are not
            there and cells that are missing are not known; the column itself is not looked at.
        level
            The probability that the interval holds.

        Returns
        -------
        A :class:`~suffice.core.prediction.Prediction`: ``value`` (as :meth:`impute` fills it), ``std`` and central
        ``interval`` of a number, ``probabilities`` by level of a label.

        Examples
        --------
        >>> sf.MultivariateNormal([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]]).predict(1, given={0: 2.0})
        Prediction(1: 1.20 ± 0.80, 95 % interval −0.37 … 2.77)
        """
        from suffice.core.prediction import predict

        self._ask_lone()
        return predict(self, column, given, level)

    def mutual_information(self, a: Any, b: Any) -> float:
        """What columns tell of each other, in nats: the expected log p(a, b) − log p(a) − log p(b).

        ``a`` and ``b`` are columns or groups of them, as a list. In closed form between Gaussians and 0 between
        independent columns; of a mixture a sum over labels and whole numbers, by quadrature of one number given
        one label, else from draws with a fixed seed, and then the standard error is in ``.error``.

        Examples
        --------
        >>> sf.MultivariateNormal([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]]).mutual_information(0, 1).__round__(6)
        0.223144
        """
        self._ask_lone()
        left, right = self._group(a), self._group(b)
        both = set(left) & set(right)
        if both:
            msg = f"{self.name}: column {next(iter(both))!r} is on both sides; what it tells of itself is its entropy."
            raise ParameterError(msg)
        return self.information(left, right)

    # ---- reading questions ----------------------------------------------------------------------------------------
    def _ask_lone(self) -> None:
        self.require_ready("be asked")
        if not self.lone:
            msg = f"{self.name}: a stack of {self.members} members is not asked as a whole; ask one of its .each."
            raise UnsupportedError(msg)

    def labels_of(self, *columns: Any) -> tuple[Any, ...]:
        """The labels of columns that are asked for, each once."""
        labels = self.column_labels
        flat = [one for column in columns for one in (column if self._several(column) else (column,))]
        found = tuple(label_of(one, labels, self.name) for one in flat)
        if not found or len(set(found)) < len(found):
            got = f"{found!r:.60} has one twice" if found else "none is asked for"
            msg = f"{self.name}: columns are asked for by name or place, each once; {got}."
            raise ParameterError(msg)
        return found

    def _group(self, columns: Any) -> tuple[Any, ...]:
        return self.labels_of(*columns) if self._several(columns) else self.labels_of(columns)

    def _several(self, columns: Any) -> bool:
        """Whether these are several columns; a tuple may be the name of one."""
        return isinstance(columns, (list, tuple)) and columns not in self.column_labels

    def known(self, mapping: Any, columns: dict[str, Any]) -> dict[Any, Any]:
        """What is known, by label and in the order of the columns; what is missing is not."""
        if mapping is not None and not (hasattr(mapping, "keys") and hasattr(mapping, "__getitem__")):
            msg = (
                f"{self.name}: given takes known values by column, as in given({{'a': 1.0}}) or given(a=1.0); "
                f"got {mapping!r:.60}."
            )
            raise ParameterError(msg)
        names = () if mapping is None else mapping.keys()  # of a dictionary, or of a row
        asked = [(name, mapping[name]) for name in names]
        found: dict[Any, Any] = {}
        for name, value in (*asked, *columns.items()):
            label = label_of(name, self.column_labels, self.name)
            if label in found:
                msg = f"{self.name}: column {label!r} is given twice, as {found[label]!r:.40} and {value!r:.40}."
                raise ParameterError(msg)
            found[label] = value
        return {
            label: found[label]
            for label in self.column_labels
            if label in found and not self._absent(label, found[label])
        }

    def _absent(self, label: Any, value: Any) -> bool:
        """Whether a value that is given is a missing one, or an error where it is several."""
        if label in self.vector_labels:
            return value is None or bool(np.isnan(np.asarray(value, dtype=float)).all())
        if len(axes_of(value, f"given {label!r}")) and not isinstance(value, tuple):  # a tuple may be a label
            msg = (
                f"{self.name}: given takes one value of column {label!r}; got {value!r:.60}. "
                "For many rows ask predict(column, given=table) or impute(table)."
            )
            raise ParameterError(msg)
        return is_missing(value)

    def levels_of(self: Any, label: Any) -> tuple[Any, ...] | None:
        """The levels of a column of labels; None where it holds numbers, or there is no telling."""
        one = self.of_column(label)
        try:
            (told,) = one.stacked.foretell(one.read(np.full((1, 1), np.nan)), one.column_labels[0])
            levels: tuple[Any, ...] | None = told.levels
        except (SufficeError, TypeError, ValueError):
            return None
        return levels

    def refuse_unknown_levels(self, known: dict[Any, Any]) -> None:
        """Refuse a label that its column does not have: most often it is mistyped."""
        for label, value in known.items():
            levels = None if label in self.vector_labels else self.levels_of(label)
            if levels and places_among([value], levels)[0] < 0:
                there = ", ".join(map(repr, levels[:20])) + ("…" if len(levels) > 20 else ".")
                what = f"column {label!r} has no level {value!r:.60}. {guessed(value, levels)}It has {there}"
                what += " Labels that are rare are pooled: give '(other)'." if "(other)" in levels else ""
                raise DataError(f"{self.name}: {what}")

    def log_known(self: Any, known: dict[Any, Any]) -> Array:
        """The log probability of what is known, (1, k) for a stack of k."""
        part, rows = self.read_known(known)
        return np.asarray(part.stacked.log_density(rows))

    def read_known(self: Any, known: dict[Any, Any]) -> tuple[Any, Any]:
        """The distribution of the known columns, and the row that they make."""
        part, vectors = self.of_labels(tuple(known)), self.vector_labels
        cells = [
            np.asarray([value], dtype=float) if one in vectors else one_cell(value) for one, value in known.items()
        ]
        with naming("given"):
            return part, part.read(part.arranged(dict(zip(part.column_labels, cells, strict=True))))


def _product(parts: dict[Any, Any]) -> Any:
    """A product of parts by name, from the layer above: what has names for its columns is one."""
    return import_module("suffice.combinators.product").Product(parts)


def one_cell(value: Any) -> Array:
    """A column of one row."""
    if not isinstance(value, tuple) and np.asarray(value).dtype.kind in "biufmM":
        return np.asarray(value)[None]
    cell = np.empty(1, dtype=object)
    cell[0] = value
    return cell


def all_but_one(parts: list[Array]) -> Iterator[Array]:
    """The sum of all arrays but one, for each of them; by addition alone, so that one large part spoils no other."""
    after = [np.zeros_like(parts[0])]
    for part in reversed(parts[1:]):
        after.append(after[-1] + part)
    before = np.zeros_like(parts[0])
    for part in parts:
        yield before + after.pop()
        before = before + part


def _column(x: Any, place: int) -> Any:
    """One column of rows as ``read`` gives them."""
    return x.column(place) if hasattr(x, "column") else x[:, place : place + 1]
