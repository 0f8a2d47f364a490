"""Reading sequences: lists of them, tables with a column that tells them apart, rows and their lengths."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sized
from typing import Any

import numpy as np

from suffice.errors import DataError, ParameterError, naming
from suffice.message_parts import Cell, Columns
from suffice.tables import frame
from suffice.tables.column_names import offer
from suffice.tables.rows import is_several, listed
from suffice.tables.sequences import Sequences
from suffice.tables.streams import Source
from suffice.types import Alert, Array, Data

UNKNOWN = -1  # the code of a row whose state is not known
EVEN = 1e-9  # relative: steps that are equal up to rounding


def sequences(
    data: Data, *, by: Hashable = None, order: Hashable = None, lengths: Any = None, states: Any = None
) -> Sequences:
    """Several sequences, for a model of rows that follow each other, such as :class:`HiddenMarkov`.

    Parameters
    ----------
    data : list of sequences, array, frame or Scan
        A list of sequences, each of which is an array, a table or a list; or with ``by`` or ``lengths`` the rows of all
        of them in one array or table. The rows of files are read into memory.
    by : str, optional
        The column of a table that says which sequence a row belongs to. It is not a column of the model.
    order : str, optional
        The column by which the rows of each sequence are sorted, such as a time. It is not a column of the model. Steps
        of different length are left as they are, and a fit has an alert that says so.
    lengths : sequence of int, optional
        How many rows of ``data`` each sequence has, in order.
    states : sequence or str, optional
        The number of the state of each row, None or −1 where it is not known: for all rows in their order, or a list
        with one such list for each sequence; or the name of a column.

    Returns
    -------
    Sequences

    Examples
    --------
    >>> sf.sequences([[1.0, 2.0], [3.0, 4.0, 5.0]]).lengths
    array([2, 3])
    >>> sf.sequences({"who": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]}, by="who").lengths
    array([2, 1])
    """
    if sum(one is not None for one in (by, lengths)) > 1:
        msg = "sequences are told apart by a column (by=) or by their lengths; give one of them."
        raise ParameterError(msg)
    if by is None and lengths is None and (order is not None or is_table(data)):
        lengths = [len(table_of(data))]  # a single sequence
    if by is not None or order is not None:
        return _by_column(table_of(data), by, order, states, lengths)
    if lengths is not None:
        return _by_lengths(data, lengths, states)
    return _listed(data, states)


def is_table(data: Data) -> bool:
    """Whether something is a table with names, rather than a list of sequences."""
    return isinstance(data, (Mapping, Source)) or frame.is_frame(data)


def table_of(data: Data) -> frame.Frame:
    """A table whose columns have names."""
    if isinstance(data, Source):
        return data.frame(0, len(data), tuple(data.names))
    opened = listed(data) if not isinstance(data, Mapping) else data
    if isinstance(opened, Mapping):
        columns = {name: _column(values) for name, values in opened.items()}
        sizes = {name: len(values) for name, values in columns.items()}
        if len(set(sizes.values())) > 1:
            raise DataError(f"the columns have different lengths: {sizes}; give as many values in each.")
        return frame.Frame(columns, next(iter(sizes.values()), 0))
    if isinstance(opened, frame.Frame):
        return opened
    msg = f"by= and order= name columns of a table, and the data are {type(data).__name__}; use lengths= for an array."
    raise DataError(msg)


def _column(values: Any) -> Array:
    if isinstance(values, np.ndarray):
        return values
    cells = np.empty(len(values), dtype=object)
    cells[:] = list(values)
    return frame.of_objects(cells)


def state_codes(states: Any, n: int) -> Array | None:
    """The states of n rows as numbers from 0, −1 where they are not known."""
    if states is None:
        return None
    given: list[Any] = list(states) if is_several(states) else [states]
    if len(given) and isinstance(given[0], (list, tuple, np.ndarray)):
        given = [one for part in given for one in part]
    if len(given) != n:
        raise DataError(
            f"states= has {len(given)} entries, but there are {n} rows; give one for each, None if unknown."
        )
    codes = np.full(n, UNKNOWN, np.int64)
    for row, state in enumerate(given):
        if state is None or (isinstance(state, (float, np.floating)) and np.isnan(state)):
            continue
        whole = isinstance(state, (int, float, np.integer, np.floating)) and not isinstance(state, bool)
        if not whole or state != int(state) or state < UNKNOWN:
            text = f" has the state {state!r:.40}: states are numbers from 0, and None or −1 where they are not known."
            raise DataError(Cell(row), text, value=state)
        codes[row] = int(state)
    return codes if (codes >= 0).any() else None


def _by_lengths(data: Data, lengths: Any, states: Any) -> Sequences:
    rows = table_of(data) if is_table(data) else listed(data)
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu":
        raise DataError(f"lengths= are whole numbers, one for each sequence; got {lengths!r:.60}.")
    if (sizes < 1).any():
        raise DataError(f"sequence {int(np.argmax(sizes < 1))} has no rows; leave it out.")
    if sizes.sum() != len(rows):
        raise DataError(
            f"lengths= add up to {sizes.sum()}, but there are {len(rows)} rows; every row is in a sequence."
        )
    codes = state_codes(states, len(rows))
    return Sequences(rows, np.concatenate([[0], np.cumsum(sizes)]), states=codes)


def _listed(data: Data, states: Any) -> Sequences:
    """A list of sequences."""
    given = list(data) if not isinstance(data, np.ndarray) or data.ndim > 1 or data.dtype == object else None
    if not given or any(not isinstance(one, Sized) or isinstance(one, str) for one in given):
        msg = "sequences takes a list of sequences, as in sf.sequences([a, b]), or rows with by= or lengths=."
        raise DataError(msg)
    parts = [table_of(one) if is_table(one) else listed(one) for one in given]
    for index, part in enumerate(parts):
        if len(part) == 0:
            raise DataError(f"sequence {index} has no rows; leave it out.")
    ends = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return Sequences(_joined(parts), ends, states=state_codes(states, int(ends[-1])))


def _joined(parts: list[Any]) -> Any:
    """Sequences as the rows of one table, array or list."""
    first = parts[0]
    for index, part in enumerate(parts):
        same = isinstance(part, frame.Frame) == isinstance(first, frame.Frame)
        if not same or (isinstance(first, frame.Frame) and set(part) != set(first)):
            msg = f"sequence {index} has other columns than sequence 0; give all of them the same."
            raise DataError(msg)
        if isinstance(part, np.ndarray) and part.shape[1:] != np.shape(first)[1:]:
            msg = f"sequence {index} has rows of shape {part.shape[1:]}, sequence 0 of {np.shape(first)[1:]}."
            raise DataError(msg)
    if isinstance(first, frame.Frame):
        return frame.Frame({name: _one_column([part[name] for part in parts]) for name in first}, sum(map(len, parts)))
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [row for part in parts for row in part]


def _one_column(parts: list[Any]) -> Array:
    """Pieces of a column, one after the other."""
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        return np.asanyarray(np.ma.concatenate(parts))  # type: ignore[no-untyped-call]
    return np.concatenate([np.asarray(part) for part in parts])


def _by_column(table: frame.Frame, by: Hashable, order: Hashable, states: Any, lengths: Any) -> Sequences:
    """The rows of a table by the sequence that a column names, sorted by another."""
    for name in (by, order):
        if name is not None and name not in table:
            raise ParameterError(f"the data have no column {name!r}. {offer(name, tuple(table))}")
    codes, keys = _numbered(table, by, lengths)
    left_out = {by, order}
    if isinstance(states, str) and states in table:
        left_out.add(states)
        states = np.asarray(table[states], dtype=object)
    known = state_codes(states, len(table))
    notes: tuple[Alert, ...] = ()
    place = np.argsort(codes, kind="stable")
    if order is not None:
        times = _times(table, order)
        place = np.lexsort([times, codes])
        notes = _steps(times[place], codes[place], keys, place, order)
    ends = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(keys)))])
    columns = [name for name in table if name not in left_out]
    rows = frame.Frame({name: table[name][place] for name in columns}, len(table))
    same = bool((place == np.arange(len(place))).all())
    own = None if known is None else known[place]
    return Sequences(rows, ends, None if by is None else keys, own, None if same else place, notes)


def _numbered(table: frame.Frame, by: Hashable, lengths: Any) -> tuple[Array, tuple[Hashable, ...]]:
    """The number of the sequence of each row, in the order in which they come, and their keys."""
    if by is None:
        return np.zeros(len(table), np.intp) if lengths is None else np.repeat(np.arange(len(lengths)), lengths), (0,)
    values = np.asarray(table[by])
    numbers: dict[Hashable, int] = {}
    codes = np.empty(len(values), np.intp)
    for row, key in enumerate(values.tolist()):
        if key is None or key != key:  # noqa: PLR0124 (NaN)
            with naming(Columns.named(by)):
                raise DataError(Cell(row), " is missing, so its sequence is not known. Fill it or drop the row.")
        codes[row] = numbers.setdefault(key, len(numbers))
    return codes, tuple(numbers)


def _times(table: frame.Frame, order: Hashable) -> Array:
    """The column that orders rows, as numbers."""
    values = np.asarray(table[order])
    if values.dtype.kind in "mM":
        absent, times = np.isnat(values), values.astype(np.int64).astype(np.float64)
    elif values.dtype.kind in "biuf":
        times = values.astype(np.float64)
        absent = np.isnan(times)
    else:
        text = f" orders the rows: it holds numbers or times, but here {str(values[:1])[1:-1]:.40}. Convert it."
        raise DataError(Columns.named(order), text)
    if absent.any():
        row = int(np.argmax(absent))
        raise DataError(
            Columns.named(order), ": ", Cell(row), " is missing, so its place is not known. Fill or drop it."
        )
    return times


def _steps(times: Array, codes: Array, keys: Any, place: Array, order: Hashable) -> tuple[Alert, ...]:
    """Refuse two rows of one time; tell of steps of different length."""
    inside = np.diff(codes) == 0
    steps = np.diff(times)
    twice = inside & (steps == 0)
    if twice.any():
        at = int(np.argmax(twice))
        same = f" and {Cell(int(place[at]))} of sequence {keys[codes[at]]!r} have the same {order!r}: which of them is "
        raise DataError(Cell(int(place[at + 1])), same, "first is not known. Drop one, or tell their sequences apart.")
    if not inside.any():
        return ()
    usual = float(np.median(steps[inside]))
    odd = inside & (np.abs(steps - usual) > EVEN * max(abs(usual), float(np.abs(times).max())))
    if not odd.any():
        return ()
    at = int(np.argmax(odd))
    text = (
        Columns.named(order),
        f" has steps of different length: most are {usual:g}, and {int(odd.sum())} are not, the first before ",
        Cell(int(place[at + 1])),
        (
            f" of sequence {keys[codes[at + 1]]!r} ({steps[at]:g}). Rows are taken to follow each other as they stand; "
            "put rows without values where steps are missing."
        ),
    )
    return (Alert("irregular", text),)
