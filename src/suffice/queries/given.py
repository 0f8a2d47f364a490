"""Questions about some columns: which are meant, what is given of them, and the distribution of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from suffice.errors import DataError, ParameterError, UnsupportedError, naming
from suffice.queries.condition_warnings import warn_of_unusual
from suffice.tables.column_names import guessed, label_of
from suffice.tables.label_matching import places_among
from suffice.tables.labels import is_missing
from suffice.tables.rows import axes_of
from suffice.types import Array


def check_single(model: Any) -> None:
    """Refuse a prototype without parameters, and a stack: questions are asked of one distribution."""
    model.require_ready("be asked")
    if not model.lone:
        msg = (
            f"{model.name}: a stack of {model.n_components} components is not asked as a whole; "
            "ask one of its .unstacked."
        )
        raise UnsupportedError(msg)


def marginal(model: Any, columns: tuple[Any, ...]) -> Any:
    """The distribution of some columns alone."""
    check_single(model)
    labels = labels_of(model, *columns)
    return model.marginal_column(labels[0]) if len(labels) == 1 else model.marginal_of(labels)


def given(model: Any, mapping: Mapping[Any, Any] | None, columns: dict[str, Any]) -> Any:
    """The distribution of the other columns where some are known."""
    check_single(model)
    known = read_given(model, mapping, columns)
    if not known:
        return model
    if len(known) == len(model.column_labels):
        msg = f"{model.name}: every column is given, so that none is left to ask about; leave one out."
        raise ParameterError(msg)
    refuse_unknown_levels(model, known)
    if not given_log_prob(model, known).max() > -np.inf:
        wrong = [label for label in known if not given_log_prob(model, {label: known[label]}).max() > -np.inf]
        which = ", ".join(f"{label!r} = {known[label]!r:.40}" for label in wrong or known)
        why = "cannot be" if wrong else "cannot be at once"
        msg = f"{model.name}: {which} {why}: the probability is 0, and nothing follows from it. Correct the value."
        raise DataError(msg)
    warn_of_unusual(model, known)
    return model.conditional(known)


def mutual_information(model: Any, a: Any, b: Any) -> float:
    """What two groups of columns tell of each other, in nats."""
    check_single(model)
    left, right = (labels_of(model, *side) if _several(model, side) else labels_of(model, side) for side in (a, b))
    if both := set(left) & set(right):
        msg = f"{model.name}: column {next(iter(both))!r} is on both sides; what it tells of itself is its entropy."
        raise ParameterError(msg)
    found: float = model.information(left, right)
    return found


def labels_of(model: Any, *columns: Any) -> tuple[Any, ...]:
    """The labels of columns that are asked for, each once."""
    flat = [one for column in columns for one in (column if _several(model, column) else (column,))]
    found = tuple(label_of(one, model.column_labels, model.name) for one in flat)
    if not found or len(set(found)) < len(found):
        got = f"{found!r:.60} has one twice" if found else "none is asked for"
        msg = f"{model.name}: columns are asked for by name or place, each once; {got}."
        raise ParameterError(msg)
    return found


def _several(model: Any, columns: Any) -> bool:
    """Whether these are several columns; a tuple may be the name of one."""
    return isinstance(columns, (list, tuple)) and columns not in model.column_labels


def read_given(model: Any, mapping: object, columns: dict[str, Any]) -> dict[Any, Any]:
    """What is known, by label and in the order of the columns; what is missing is not."""
    if mapping is not None and not (hasattr(mapping, "keys") and hasattr(mapping, "__getitem__")):
        msg = (
            f"{model.name}: given takes known values by column, as in given({{'a': 1.0}}) or given(a=1.0); "
            f"got {mapping!r:.60}."
        )
        raise ParameterError(msg)
    names = () if mapping is None else mapping.keys()  # of a dictionary, or of a row
    asked = [(name, mapping[name]) for name in names]
    found: dict[Any, Any] = {}
    for name, value in (*asked, *columns.items()):
        label = label_of(name, model.column_labels, model.name)
        if label in found:
            msg = f"{model.name}: column {label!r} is given twice, as {found[label]!r:.40} and {value!r:.40}."
            raise ParameterError(msg)
        found[label] = value
    return {
        label: found[label]
        for label in model.column_labels
        if label in found and not _absent(model, label, found[label])
    }


def _absent(model: Any, label: object, value: Any) -> bool:
    """Whether a value that is given is a missing one, or an error where it is several."""
    if label in model.vector_labels:
        return value is None or bool(np.isnan(np.asarray(value, dtype=float)).all())
    if len(axes_of(value, f"given {label!r}")) and not isinstance(value, tuple):  # a tuple may be a label
        msg = (
            f"{model.name}: given takes one value of column {label!r}; got {value!r:.60}. "
            "For many rows ask predict(column, given=table) or impute(table)."
        )
        raise ParameterError(msg)
    return is_missing(value)


def refuse_unknown_levels(model: Any, known: dict[Any, Any]) -> None:
    """Refuse a label that its column does not have: most often it is mistyped."""
    for label, value in known.items():
        levels = model.column_levels(label)
        if levels and places_among([value], levels)[0] < 0:
            there = ", ".join(map(repr, levels[:20])) + ("…" if len(levels) > 20 else ".")
            what = f"column {label!r} has no level {value!r:.60}. {guessed(value, levels)}It has {there}"
            what += " Labels that are rare are pooled: give '(other)'." if "(other)" in levels else ""
            raise DataError(f"{model.name}: {what}")


def given_log_prob(model: object, known: dict[Any, Any]) -> Array:
    """The log probability of what is known, (1, k) for a stack of k."""
    part, rows = given_row(model, known)
    return np.asarray(part.stacked.log_density(rows))


def given_row(model: Any, known: dict[Any, Any]) -> tuple[Any, Any]:
    """The distribution of the known columns, and the row that they make."""
    part, vectors = model.marginal_of(tuple(known)), model.vector_labels
    cells = [np.asarray([value], dtype=float) if one in vectors else _one_cell(value) for one, value in known.items()]
    with naming("given"):
        return part, part.read(part.arranged(dict(zip(part.column_labels, cells, strict=True))))


def _one_cell(value: object) -> Array:
    """A column of one row."""
    if not isinstance(value, tuple) and np.asarray(value).dtype.kind in "biufmM":
        return np.asarray(value)[None]
    cell = np.empty(1, dtype=object)
    cell[0] = value
    return cell
