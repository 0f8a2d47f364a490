"""A family for each column of a table, chosen by stated rules that look at values and never at how they are stored."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.display.names import display_name, fitted, places
from suffice.display.table import rich_table, table_lines
from suffice.display.values import percent
from suffice.errors import DataError, ParameterError
from suffice.models.columns import materialize
from suffice.models.product import Product
from suffice.schema.column_facts import finding
from suffice.schema.column_facts import findings as findings_of
from suffice.schema.column_relations import in_declared_order, with_copies_named
from suffice.schema.rules import Finding
from suffice.tables.deferred_columns import Codes, weights_of
from suffice.tables.frame import Frame, of_objects, opened
from suffice.tables.rows import cells
from suffice.tables.streams import Source
from suffice.types import Array, Data

WIDEST = 64  # labels with more levels than this are a block of their own: others would be padded to them
SHOWN = 34  # characters of levels that a line shows
WHY = 100  # and of a reason
FIRST = 65_536  # rows of files by which copies of columns are found
HEAD = ("column", "family", "why", "missing", "levels or unit")
NUMBERS = (3,)  # columns of numbers


@dataclass(frozen=True, eq=False, repr=False)
class Schema(Product, register=False):
    """A product of the families that were chosen for the columns of a table; print it to see why.

    It is a prototype like any other: ``sf.fit(schema, df)``, ``sf.Mixture(schema, 3)``. What is learned from it is a
    plain :class:`Product`. Columns of one family are one block, computed together; answers can be asked by column.

    Attributes
    ----------
    parts, column_units, fixed, tied
        As those of a :class:`Product`.
    findings
        What was found of each column, in the order of the table: ``name``, ``family`` (None where it is left out),
        ``why``, ``missing`` (the share of missing cells), ``levels`` of labels, ``unit`` of numbers (the power of ten
        that all of them are multiples of, 1 for whole numbers, None where they have more than six decimals).
    """

    findings: tuple[Finding, ...] = field(default=(), kw_only=True)

    @property
    def name(self) -> str:
        """What it is to others: a product."""
        return "Product"

    def with_parts(self, parts: tuple[Any, ...]) -> Product:
        """What is learned is a plain product, which knows the units of its columns."""
        return Product(parts, column_units=self.column_units)

    @property
    def left_out(self) -> dict[Any, str]:
        """The columns that no family was chosen for, and why."""
        return {one.name: one.why for one in self.findings if one.family is None}

    def __getitem__(self, name: Hashable) -> Finding:
        """Return what was found of one column."""
        for one in self.findings:
            if one.name == name:
                return one
        known = ", ".join(repr(one.name) for one in self.findings)
        msg = f"the table has no column {name!r}; it has {known}."
        raise KeyError(msg)

    def __str__(self) -> str:
        """Show a line for each column: its family, the reason, the share of missing cells, levels or unit."""
        return "\n".join(table_lines([HEAD, *(_line(one) for one in self.findings)], NUMBERS))

    def _repr_html_(self) -> str:
        """Show the same as a table in a notebook."""
        from suffice.display.html import boxed, prose, table

        return boxed(table(HEAD, [[prose(text) for text in _line(one)] for one in self.findings], NUMBERS))

    def __rich__(self) -> Any:
        """Show the same as a table of rich."""
        from rich.text import Text

        styles = ["dim" if one.family is None else "" for one in self.findings]
        rows = [[Text(text, style) for text in _line(one)] for one, style in zip(self.findings, styles, strict=True)]
        return rich_table(HEAD, rows, NUMBERS)


def infer(
    data: Data,
    overrides: Mapping[Any, Any] | None = None,
    *,
    joint: bool = False,
    weights: Data = None,
    within: Data = None,
    pool: bool = True,
    **named: Any,
) -> Schema:
    """Choose a family for every column of a table, by its values.

    Parameters
    ----------
    data : array, frame, columns by name, or files
        A frame of pandas, polars or pyarrow, a mapping from names to columns, rows with names, an array (n, d), whose
        columns are then called 0, 1, …, or files, as :func:`scan` opens them, which are read once.
    overrides : dict, optional
        ``{column: family}``, such as ``{"age": sf.Gamma()}``, or None for a column that is left out. Columns whose
        names are words can be given as keywords: ``sf.infer(df, age=sf.Gamma(), id=None)``.
    **named : Distribution
        Such keywords.
    joint : bool
        Put all columns of real numbers, which would be Normal, LogNormal or Gamma, into one MultivariateNormal.
    weights : array, optional
        One number of at least 0 per row; rows of weight 0 are not looked at, and weight 2 is the row twice. Weights
        that sum to less than the number of rows are shares, and judged as if they summed to it.
    within : array of int, optional
        Groups of the rows, as whole numbers (n,): families are then scored within them, as for the classes of a
        classifier. What two groups of Normal rows are together is not Normal. Rows of a negative,
        unknown, group show no shape there, unless fewer than 5 others do: then all rows are one group.
    pool : bool
        Make one level, "(other)", of the rare levels of text that has very many; False keeps every level.

    Returns
    -------
    Schema
        A prototype for :func:`fit` with a family for each column that is not left out, and the reasons.

    Notes
    -----
    Left out are columns that are all missing, constant, dates or times, or like an identifier: text of which more than
    half of the values differ, beyond 20 of them; whole numbers that all differ although chance would have repeated many
    (n²/2 pairs over the range they span); and 500 or more whole numbers that fill most of their range, all about as
    often. Booleans, or 0 and 1, are Bernoulli; text and categories are Categorical.

    A level that fewer than 10 rows have is rare: the standard error of its probability is more than a third of it.
    Where text has more than 50 levels and more than half of them are rare, the rare ones are pooled, and labels that
    come later and are none of the levels belong to the pool. Where that would be more than half of the rows, text of
    500 levels or more is like an identifier and left out, and other text keeps its levels.

    For other numbers every family that their values allow is scored by how well it predicts them (its log-likelihood
    less ½ log n for each parameter, a value standing for the interval of one unit around it), and the reason names the
    runner-up:

    - whole numbers that reach 0 or 1, and no more than 1e5 (with a mean of at most 1000): Poisson, NegativeBinomial;
    - all numbers: Normal, and with heavy tails StudentT, where it gains 0.1 nats a row;
    - numbers above 0: LogNormal and Gamma; between 0 and 1: Beta;
    - numbers with zeros: the versions of these that have a probability of zero (:func:`Hurdle`);
    - at most 32 different numbers that come twice or more on average: Categorical, where labels gain 0.01 nats a row.
      More than 12 must come ten times each and not become rare at the ends of their scale; with decimals, they are at
      most 20 that leave out half of their scale or more, as measurements do not.

    The first of these is kept unless another gains 3 nats on it (the rows are 20 times as probable). Families of
    amounts must gain 0.02 nats a row on those of counts up to a mean of 10, and NegativeBinomial on them beyond.

    A column with the same value as an earlier one in every row (of files: in the first 65536) is called a copy. Levels
    of ordered categories (pandas, Arrow) and of polars' Enum keep their order; others are sorted.

    Of files every value counts, as in memory, with two exceptions: text of more than 131072 different values is like an
    identifier, and beyond 4 million whole numbers that do not rise, whether all differ is told by a part of them.

    References
    ----------
    Schwarz, G. (1978). Estimating the dimension of a model. Annals of Statistics 6, 461-464.

    Examples
    --------
    >>> schema = sf.infer({"kind": ["a", "b", "a"], "visits": [0, 3, 1], "size": [1.5, -0.5, None]})
    >>> print(schema["visits"].family, schema["visits"].why, sep=": ")
    Poisson(rate=1): counts from 0 to 3, variance/mean 1.2; runner-up HurdlePoisson, 0.16 nats a row worse
    """
    frame = _columns_by_name(data, weights)
    chosen = {**dict(overrides or {}), **named}
    unknown = [name for name in chosen if name not in frame]
    if unknown:
        there = ", ".join(map(repr, frame)) or "none"
        msg = f"infer: the overrides name the column {unknown[0]!r}; the table has {there}."
        raise ParameterError(msg)
    found = with_copies_named(_find(data, frame, weights, within), _columns_of(data, frame))
    findings = [_override(one, chosen[one.name]) if one.name in chosen else one for one in found]
    findings = [replace(one, unpooled=None) if pool else one.without_pool() for one in findings]
    if joint:
        findings = [one.together() for one in findings]
    return _schema(findings, chosen, _row_count(data, frame))


def _columns_by_name(data: Data, weights: Data) -> Any:
    """The columns of a table; of files only their names, without the column of weights."""
    if not isinstance(data, Source):
        return _table(data)
    return dict.fromkeys(name for name in data.names if not (isinstance(weights, str) and name == weights))


def _row_count(data: Data, frame: Any) -> int:
    return len(data if isinstance(data, Source) else frame)


def _find(data: Data, frame: Any, weights: Data, within: Data) -> list[Finding]:
    """What is found of each column, by rows with these weights and in these groups."""
    n = _row_count(data, frame)
    checked = weights_of(data, weights, n)
    if checked.n_components != 1 or checked.codes is not None:
        msg = f"infer: weights have shape {np.shape(weights)}, but there are {n} rows; give one per row."
        raise DataError(msg)
    groups: Any = within if within is None or isinstance(within, Codes) else np.asarray(within)
    if groups is not None and groups.shape != (n,):
        msg = f"infer: within has shape {groups.shape}, but there are {n} rows; give one group per row."
        raise DataError(msg)
    if isinstance(data, Source):
        return findings_of(data, tuple(frame), checked, None if groups is None else groups.__getitem__)
    held = None if checked.values is None else np.asarray(checked.values, dtype=float)
    return [in_declared_order(finding(name, frame[name], held, groups), frame.raw(name)) for name in frame]


def _schema(findings: list[Finding], chosen: Mapping[Any, Any], n: int) -> Schema:
    """The families of the findings as a product; refused where there are none."""
    parts = _blocks(findings, chosen)
    if findings and not parts and n == 0:
        msg = "infer: the table has no rows to judge its columns by. Name families: infer(df, column=Normal())."
        raise DataError(msg)
    if not parts:
        reasons = "; ".join(f"{one.name!r}: {one.why}" for one in findings) or "it has no columns"
        msg = f"infer: no column of the table can be described ({reasons}). Name a family: infer(df, column=Normal())."
        raise DataError(msg)
    units = tuple((one.name, one.unit) for one in findings if one.family is not None and one.unit is not None)
    return Schema(parts, findings=tuple(findings), column_units=units)


def _columns_of(data: Data, frame: Mapping[Any, Any]) -> Callable[[Any], Any]:
    """How to get the values of a column; of files those of the first rows."""
    if not isinstance(data, Source):
        return lambda name: frame[name]
    files: Any = data
    return cache(lambda name: opened(files.table(0, FIRST, [name]))[name])


def _table(data: Data) -> Frame:
    """What a caller gives as columns with names."""
    if isinstance(data, (str, os.PathLike)):
        msg = f"infer takes rows, and {str(data)!r:.60} is a path: open the file first, as in sf.infer(sf.scan(path))."
        raise DataError(msg)
    x = materialize(data)
    if isinstance(x, Frame):
        return x
    if isinstance(x, Mapping):
        columns = {name: _column(values, name) for name, values in x.items()}
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            msg = f"the columns have different lengths: {lengths}; give as many values in each."
            raise DataError(msg)
        return Frame(columns, next(iter(lengths.values()), 0))
    array = cells(x, "infer")
    if array.ndim != 2:
        msg = f"infer takes a table: a frame, a mapping of columns, or an array (n, d); got shape {array.shape}."
        raise DataError(msg)
    _plain_kind(array, 0)
    columns = {j: of_objects(array[:, j]) if array.dtype.kind == "O" else array[:, j] for j in range(array.shape[1])}
    return Frame(columns, len(array))


def _column(values: Array, name: Hashable) -> Array:
    if isinstance(values, (list, tuple)):
        objects = np.empty(len(values), dtype=object)
        objects[:] = list(values)
        return of_objects(objects)
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind == "b":
        return values
    array = cells(values, f"infer: column {name!r}")
    if array.ndim == 0:
        msg = f"infer: column {name!r} is the single value {values!r:.60}; give a table of rows, not one row."
        raise DataError(msg)
    return of_objects(array) if array.dtype.kind == "O" else _plain_kind(array, name)


def _plain_kind(array: Array, name: Hashable) -> Array:
    """The column, unless its cells are complex numbers or records."""
    if array.dtype.kind in "cV":
        kind = "complex numbers" if array.dtype.kind == "c" else "records"
        msg = (
            f"infer: column {name!r} holds {kind}, which no family describes. Give their parts as columns of their own."
        )
        raise DataError(msg)
    return array


def _override(found: Finding, family: object) -> Finding:
    if family is not None and not (isinstance(family, Distribution) and family.lone):
        msg = (
            f"infer: the override of column {found.name!r} is a single distribution, such as sf.Gamma(), or None to "
            f"leave it out; got {family!r:.60}."
        )
        raise ParameterError(msg)
    return found.given(family)


def _blocks(findings: list[Finding], chosen: Mapping[Any, Any]) -> tuple[tuple[Any, Any], ...]:
    """Columns with the same family as one block, in the order in which they first come."""
    groups: list[tuple[Any, list[Any], bool]] = []
    for one in findings:
        if one.family is None:
            continue
        own = one.name in chosen
        vectors = own and (one.family.row_vector or one.family.support.core)  # what is chosen here goes together
        alone = vectors or len(one.levels or ()) > WIDEST
        for family, names, given in groups:
            if given == own and family == one.family and not alone:
                names.append(one.name)
                break
        else:
            groups.append((one.family, [one.name], own))
    return tuple((tuple(names) if len(names) > 1 else names[0], family) for family, names, _ in groups)


def _line(one: Finding) -> tuple[str, str, str, str, str]:
    family = "–" if one.family is None else one.family.name
    if one.levels is not None:
        tail = _shorten([display_name(level, SHOWN) for level in one.levels[:SHOWN]], more=len(one.levels) > SHOWN)
    else:
        tail = "" if one.unit is None else f"{one.unit:g}"
    return display_name(one.name), family, fitted(display_name(one.why, WHY), WHY), percent(one.missing), tail


def _shorten(levels: list[str], *, more: bool) -> str:
    """Some levels; ``more``: than are listed."""
    text = ", ".join(levels)
    if places(text) <= SHOWN and not more:
        return text
    kept: list[str] = []
    for level in levels:
        if places(", ".join([*kept, level])) > SHOWN - 2:
            break
        kept.append(level)
    return ", ".join([*kept, "…"]) if kept else fitted(levels[0], SHOWN)
