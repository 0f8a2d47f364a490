"""Naive Bayes over columns of different kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Any, ClassVar, Self

import numpy as np

from suffice.core.distribution import Distribution
from suffice.errors import DataError, naming
from suffice.estimators.bayes import BayesShell
from suffice.estimators.rows import as_table, by_name, columns_of
from suffice.estimators.targets import Targets
from suffice.estimators.validation import (
    ABOVE_ZERO,
    AT_LEAST_ONE,
    RANDOM_STATE,
    check_mergeable,
    row_weights,
    validate_data,
)
from suffice.message_parts import Columns
from suffice.models.dependence import dependence, ignored
from suffice.models.product import Product
from suffice.schema.infer import infer
from suffice.tables.column_names import names_of_data
from suffice.tables.deferred_columns import Codes
from suffice.tables.frame import is_frame
from suffice.tables.rows import cells, listed, refuse_what_is_no_data
from suffice.tables.streams import Source
from suffice.tables.subsample import subsample
from suffice.types import Alert, Array, Data, Prior, Seed

DEPENDENCE_ROWS = 5000  # of which pairs of columns are measured: a correlation is then known to 0.01
DEPENDENCE_LEAST = 10  # rows of a class that is looked at
DEPENDENCE_COLUMNS = 40  # of which pairs are measured, 780 of them


class NaiveBayes(BayesShell):
    """Naive Bayes on a table as it is: numbers, counts, yes and no, labels, with holes.

    ``fit(table, "name")`` takes the classes from a column. A list of numbers or labels is one column; strings of one
    length are rows of symbols, one column each, as in :class:`LatentClass` (``[[s] for s in strings]``: one column).

    Parameters
    ----------
    families : Distribution or dict, optional
        ``{column: distribution}`` for some columns (None leaves one out), one distribution for every column, or a whole
        :class:`Product`, whose parts go by position where they have no names. Those of other
        columns are chosen by :func:`suffice.infer`, by the values of the rows of ``fit``, or of the first
        ``partial_fit``, within the classes. It leaves out columns that are constant, dates, or like an identifier.
        Later frames may have their columns in any order and lack some: these are integrated out, with a warning where
        the model uses them.
    joint : bool
        Whether columns of real numbers are described together, by one MultivariateNormal.
    priors : array or dict, optional
        p(y) of each class in the order of ``classes_``; None learns them.
    prior : distribution, dict or "weak", optional
        What is believed before the data. ``"weak"``, the default, is stated for each family in
        :mod:`suffice.distributions.weak_priors`: one row of each level for labels; for numbers a spread like that of
        all rows about the means of their classes, worth one row, and nothing of the means. None is maximum likelihood.
    unlabeled : label, optional
        A label that means "class unknown", beside None and NaN.
    max_iter, tol, random_state : int, float, int or Generator or RandomState
        Of fits that take several passes.

    Attributes
    ----------
    classes_, class_count_, class_prior_
        The labels, the weight of the rows of each, and p(y).
    prototype_
        The families of the columns, as they were chosen; ``print(prototype_)`` says why, and what was left out.
    distribution_, statistics_, converged_, alerts_
        p(x, y) as a value, what it kept of the rows, whether the passes came to rest, and what to know of it.

    Examples
    --------
    >>> X = {"size": [1.0, 1.2, 3.0, 3.4], "colour": ["red", "red", "blue", "red"]}
    >>> sf.NaiveBayes().fit(X, ["a", "a", "b", "b"]).predict({"size": [1.1, 3.0], "colour": ["red", None]})
    array(['a', 'b'], dtype='<U1')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "families": [Distribution, Mapping, None],
        "joint": ["boolean"],
        "priors": ["array-like", None],
        "prior": "no_validation",
        "unlabeled": "no_validation",
        "max_iter": [AT_LEAST_ONE],
        "tol": [ABOVE_ZERO, None],
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        families: Distribution | Mapping[Any, Any] | None = None,
        *,
        joint: bool = False,
        priors: Data = None,
        prior: Prior = "weak",
        unlabeled: Data = None,
        max_iter: int = 1000,
        tol: float | None = None,
        random_state: Seed = None,
    ) -> None:
        """Keep the options."""
        self.families = families
        self.joint = joint
        self.priors = priors
        self.prior = prior
        self.unlabeled = unlabeled
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _prototype(self, classes: Array) -> Any:
        del classes
        return self.prototype_

    @property
    def _adds(self) -> bool:
        known = hasattr(self, "prototype_")
        return bool(self.prototype_.exact) if known else all(one.exact for one in _families(self.families))

    @property
    def _by_name(self) -> bool:
        return bool(self.prototype_.named)

    @property
    def _named_rows(self) -> bool:
        return True

    @property
    def _words(self) -> bool:
        return True

    def _validate(self, X: Data, *, reset: bool) -> Any:
        X = as_table(type(self).__name__, X, None if reset else self.n_features_in_, letters=True)
        if not reset and is_frame(X):
            opened = listed(X)
            if not set(self.prototype_.column_names or ()).isdisjoint(opened):  # by name, in any order
                return opened
        named = columns_of(self, X, reset=reset)
        if named is not None:
            return named
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        names = range(array.shape[1]) if reset else getattr(self, "feature_names_in_", range(array.shape[1]))
        return {name: array[:, column] for column, name in enumerate(names)}

    def _choose(self, rows: Any, found: Targets, sample_weight: Any) -> None:
        if isinstance(self.families, Distribution):
            self.prototype_ = _over(self.families, tuple(names_of_data(rows) or rows.keys()))
            self._ignored = self._ignored_dependence(rows, found, None)
            return
        files = isinstance(rows, Source)
        count = len(rows) if files or not isinstance(rows, Mapping) else _length(next(iter(rows.items()), None))
        if count != len(found.codes):
            msg = f"NaiveBayes: there are {count} rows, but {len(found.codes)} labels; give one label per row."
            raise DataError(msg)
        weights = sample_weight if files else row_weights(sample_weight, found.codes).values
        try:
            options: Any = {"joint": self.joint, "weights": weights, "within": found.codes}
            # Levels that are rare in these rows may be frequent in those of partial_fit and merge: none is pooled.
            chosen = infer(rows, self.families, pool=False, **options)
        except DataError as error:
            few = "; one sample shows no family" if len(found.codes) == 1 else ""
            msg = f"{type(self).__name__} learns nothing from these rows{few}. {error}"
            raise DataError(msg) from error
        for one in chosen.findings:
            if one.unreadable:
                msg = f"the argument must be a string or a number in every cell: column {one.name!r}: {one.why}."
                raise TypeError(msg)
        self.prototype_ = chosen

        self._ignored = self._ignored_dependence(rows, found, None if files else weights)

    def _ignored_dependence(self, rows: Data, found: Targets, weights: Array | None) -> tuple[Alert, ...]:
        """Alerts of columns that depend on each other within the classes, by some of the rows."""
        sample, kept = subsample(rows, DEPENDENCE_ROWS)
        codes = (
            found.codes.at(kept)
            if isinstance(found.codes, Codes)
            else found.codes[slice(None) if kept is None else kept]
        )
        columns = by_name(sample)
        names = [name for name in self.prototype_.column_names or () if name in columns][:DEPENDENCE_COLUMNS]
        if any(len(columns[name]) != len(codes) for name in names):
            return ()  # which is refused where the rows are read
        chosen = np.arange(len(codes))
        if len(codes) > DEPENDENCE_ROWS:
            chosen = np.sort(np.random.default_rng(0).choice(len(codes), DEPENDENCE_ROWS, replace=False))
        codes = codes[chosen]
        sizes = np.bincount(codes[codes >= 0], minlength=len(self.classes_))
        codes = np.where(sizes[codes] >= DEPENDENCE_LEAST, codes, -1)  # two rows always lie on a line
        some = {name: cells(columns[name], "NaiveBayes")[chosen] for name in names}
        held = None if weights is None else np.asarray(weights)[chosen]
        labels = self._label_columns(some, codes, held)
        joint = [set(key) for key, block in self.prototype_.blocks.items() if block.row_vector]
        return ignored(dependence(some, codes, held, labels), lambda a, b: any({a, b} <= keys for keys in joint))

    def _notes(self) -> tuple[Alert, ...]:
        before = [one for one in getattr(self, "alerts_", ()) if one.code == "dependent"]
        return (*super()._notes(), *self.__dict__.pop("_ignored", before))

    def _label_columns(self, columns: Any, codes: Any, weights: Any) -> set[Any]:
        chosen = getattr(self.prototype_, "findings", None)
        found = {one.name for one in chosen or () if one.label}
        return found if chosen else super()._label_columns(columns, codes, weights)

    def merge(self, other: Any) -> Self:
        """Add what another fit of the same classes and families learned: as if its rows had been seen here."""
        check_mergeable(self, other)
        mine, theirs = self.prototype_, other.prototype_
        if mine.parts != theirs.parts:
            msg = (
                f"merge adds fits of the same families; here are {mine!r:.200}, there {theirs!r:.200}. Fit the other "
                "with these: NaiveBayes(first.prototype_)."
            )
            raise DataError(msg)
        return super().merge(other)


def _over(given: Data, names: tuple[Any, ...]) -> Any:
    """A distribution that the caller gives, over the columns by name."""
    if given.blocks:
        return given if given.named else given.with_column_names(names)
    if given.row_vector or (given.is_single_cluster and names[1:]):  # one block of them all
        return Product({names: given})
    return Product(dict.fromkeys(names, given))


def _families(given: Data) -> tuple[Any, ...]:
    """The distributions that the caller names."""
    if isinstance(given, Distribution):
        return (given,)
    return () if given is None else tuple(one for one in given.values() if isinstance(one, Distribution))


def _length(column: tuple[Any, Any] | None) -> int:
    """The number of rows of a column with its name."""
    if column is None:
        return 0
    name, values = column
    with naming(Columns.named(name)):
        refuse_what_is_no_data(values, "NaiveBayes")
        if not isinstance(values, Sized):
            msg = f"it is the single value {values!r:.60}; give as many values as there are labels."
            raise DataError(msg)
    return len(values)
