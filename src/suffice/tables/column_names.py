"""The names of columns: those that data bring, those that a text should say instead of places, and those asked for."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from suffice.errors import ArgumentError, DataError, ParameterError, SufficeWarning
from suffice.message_parts import Columns
from suffice.tables import frame
from suffice.tables.rows import is_hashable
from suffice.types import Array, Data

P = ParamSpec("P")
R = TypeVar("R")

ELSEWHERE = {"sample_weight": "weights", "seed": "random_state", "init": "start"}  # names that other libraries have


def names_of_data(data: Data, without: object = None) -> tuple[Any, ...] | None:
    """The names of the columns of a frame, a scan, a mapping, a structured array or rows with names; else None.

    ``without``: of files, the name of the column that has the weights, which is none of the rows'.
    """
    try:
        if frame.is_frame(data):
            return tuple(frame.names(data))
    except frame.FrameError:  # whoever reads it says why it cannot be
        return None
    if isinstance(data, Mapping):
        return tuple(data)
    if isinstance(data, np.ndarray):
        return None if data.dtype.names is None else tuple(data.dtype.names)
    if isinstance(data, (list, tuple)):
        return tuple(data[0]) if len(data) and isinstance(data[0], Mapping) else None
    known = getattr(data, "names", None) if hasattr(data, "partitions") or hasattr(data, "ends") else None  # sequences
    return None if known is None else tuple(name for name in known if not isinstance(without, str) or name != without)


def with_column_names_in_errors(learn: Callable[P, R]) -> Callable[P, R]:
    """Let what is said of bad data name their columns, where the data do; a product names them itself.

    An option that there is not is refused, and the one that may be meant named.
    """
    known = tuple(signature(learn).parameters)
    first, allowed = known[0], frozenset(known)

    @wraps(learn)
    def wrapper(*given: P.args, **options: P.kwargs) -> R:
        if not options.keys() <= allowed:
            unknown = next(name for name in options if name not in allowed)
            meant = ELSEWHERE.get(unknown)
            guess = guessed(unknown, known) if meant not in known else f"Its name here is {meant!r}. "
            msg = f"{learn.__name__} has no option {unknown!r}. {guess}It takes {', '.join(known)}."
            raise ArgumentError(msg)
        try:
            return learn(*given, **options)
        except DataError as error:
            asked = {**dict(zip((first, "data"), given, strict=False)), **options}
            own = getattr(asked.get(first), "column_names", None)
            names = None if own is not None else names_of_data(asked.get("data"), without=asked.get("weights"))
            if names is None or error.with_names(names).message == error.message:
                raise
            raise error.with_names(names) from error

    return wrapper


def label_of(asked: Any, labels: tuple[Any, ...], owner: str) -> Any:
    """The label of a column that is asked for, by name or place (from the end, too), or an error that offers others."""
    if is_hashable(asked) and asked in labels:
        return labels[labels.index(asked)]
    places = labels == tuple(range(len(labels)))
    whole = isinstance(asked, (int, np.integer)) and not isinstance(asked, bool)
    if places and whole and -len(labels) <= asked < len(labels):
        return int(asked) % len(labels)
    shown = repr(asked) if is_hashable(asked) else f"like this {type(asked).__name__}"
    raise ParameterError(f"{owner} has no column {shown:.60}. {offer(asked, labels)}")


def near(asked: object, known: Iterable[Any]) -> str | None:
    """The name that a mistyped one most looks like, whatever the case of its letters; None where none does.

    >>> near("bicc", ("bic", "aic")), near("vvv", ("EEE", "VVV")), near("x", ("bic", "aic"))
    ('bic', 'VVV', None)
    """
    there = {str(name).lower(): str(name) for name in known}
    found = get_close_matches(asked.lower(), there, 1, 0.6) if isinstance(asked, str) else []
    return there[found[0]] if found else None


def guessed(asked: object, known: Iterable[Any]) -> str:
    """The question whether the nearest name was meant, with a space behind it; "" where none is near."""
    found = near(asked, known)
    return "" if found is None else f"Did you mean {found!r}? "


def columns_in_sentence(places: Iterable[int], columns: int) -> Columns:
    """In which of so many columns something is the case; of the only one it goes without saying.

    >>> str(columns_in_sentence([2, 0, 2], 3)), str(columns_in_sentence([0], 1))
    (' in columns 0, 2', '')
    """
    return Columns(tuple(sorted(set(places))), before=" in ", implied=columns < 2)


def in_columns(flags: Array) -> Columns:
    """In which columns of an array (k, d) something is true of some component.

    >>> str(in_columns(np.array([[True, False, True]])))
    ' in columns 0, 2'
    """
    flags = np.atleast_2d(flags)
    return columns_in_sentence(np.flatnonzero(flags.any(axis=0)).tolist(), flags.shape[1])


def lacking(wanted: Iterable[Any], there: Iterable[Any]) -> str:
    """What to say of data without some of the columns that a model asks for: those, and what they may be called."""
    which, it = _absent(list(wanted), list(there))
    return f"the data lack the {which}, which the model asks for by name. Rename or add {it}."


def _absent(asked: list[Any], known: list[Any]) -> tuple[str, str]:
    """The columns that are not there, in words, and a pronoun for them."""
    missing, others = [name for name in asked if name not in known], [name for name in known if name not in asked]
    meant = {name: near(name, others) for name in missing}
    listed = [f"{name!r} (is it their {meant[name]!r}?)" if meant[name] else repr(name) for name in missing[:12]]
    more = f" and {len(missing) - 12} more" if len(missing) > 12 else ""
    many, it = ("s", "them") if len(missing) > 1 else ("", "it")
    return f"column{many} {', '.join(listed)}{more}", it


def warn_of_absent(wanted: Iterable[Any], there: Iterable[Any]) -> None:
    """Warn of columns that a model has and the data do not: they are integrated out."""
    which, it = _absent(list(wanted), list(there))
    cells = "their cells count" if it == "them" else "its cells count"
    text = f"the data lack the {which}: {cells} as missing, and the answer is that of the other columns."
    warnings.warn(text, SufficeWarning, stacklevel=_depth())


def _depth() -> int:
    """How far up the stack the caller of the library is."""
    callers = inspect.stack(0)[1:]
    return next((i for i, one in enumerate(callers, 1) if not _is_ours(one.frame)), len(callers))


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("suffice.")


def with_all_columns(model: Any, data: Data) -> Any:
    """Data in which columns of the model that are not there are missing cells, with a warning.

    Data without any of them, or without names, stay as they are: whoever reads them says what is wrong.
    """
    wanted = model.column_names
    there = None if wanted is None else names_of_data(data)
    if there is None or set(wanted) <= set(there) or set(wanted).isdisjoint(there) or len(data) == 0:
        return data
    absent = [name for name in wanted if name not in set(there)]
    if not model.vector_labels.isdisjoint(absent):
        return data
    x = frame.opened(data)
    if isinstance(x, np.ndarray):
        x = {name: x[name] for name in there}
    elif isinstance(x, (list, tuple)):
        x = {name: [row.get(name) for row in x] for name in dict.fromkeys(name for row in x for name in row)}
    elif not isinstance(x, (frame.Frame, Mapping)):  # files
        return data
    warn_of_absent(wanted, there)
    if isinstance(x, frame.Frame):
        holes = dict.fromkeys(absent, np.full(len(x), np.nan))
        return frame.Frame({**{name: x.raw(name) for name in x}, **holes}, len(x))
    first = next(x[name] for name in wanted if name in x)
    return {**x, **dict.fromkeys(absent, np.nan if np.ndim(first) == 0 else np.full(len(first), np.nan))}


def by_name(data: Data, names: tuple[Any, ...] | None) -> Any:
    """Data with the columns of a model, in its order, where they have such names in another; else as they are."""
    there = names_of_data(data)
    if names is None or there is None or there == names or set(there).isdisjoint(names):
        return data
    if not set(names) <= set(there):
        raise DataError(lacking(names, there))
    columns = frame.opened(data)
    if not isinstance(columns, frame.Frame):
        return data
    return frame.Frame({name: columns.raw(name) for name in names}, len(columns))


def offer(asked: object, labels: Iterable[Any]) -> str:
    """What to say to a name that is none: the nearest one, or all of them."""
    known = tuple(labels)
    shown = ", ".join(map(repr, known[:12])) + (", …" if len(known) > 12 else "")
    if known == tuple(range(len(known))):
        return f"It has columns by place, from 0 to {len(known) - 1}."
    return f"{guessed(asked, known)}It has the columns {shown}."
