"""What must hold of alerts, and of the parts of their sentences, that come from a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.errors import ParameterError, SufficeError
from suffice.message_parts import Cell, Columns
from suffice.storage.plain import refused
from suffice.types import Alert


def guarded(path: str, name: str, make: Callable[[], Any]) -> Any:
    """What ``make`` makes of a part of a file; whatever it cannot make a value of is a fault of the file."""
    try:
        with np.errstate(all="ignore"):
            return make()
    except SufficeError as error:
        raise refused(path, str(error)) from error
    except (MemoryError, RecursionError) as error:
        raise refused(path, f"{name} is too large: {error}.") from error
    except Exception as error:
        raise refused(
            path, f"the parts of {name} do not fit together ({type(error).__name__}: {error!s:.200})."
        ) from error


def require(holds: object, text: str, *values: object) -> None:
    """Refuse what does not hold; ``text`` has a place for each of the values, which are shown only then."""
    if not holds:
        raise ParameterError(text.format(*values) if values else text)


def _check_columns(columns: Columns) -> None:
    labels = columns.labels
    known = labels is None or (isinstance(labels, tuple) and len(labels) == len(columns.which))
    require(known and all(isinstance(one, str) for one in labels or ()), "labels are text, one for each column.")
    require(columns.most is None or type(columns.most) is int, "most is a whole number, or null.")
    hash(columns.which)


def _check_cell(cell: Cell) -> None:
    require(cell.label is None or isinstance(cell.label, str), "the label of a cell's column is text.")
    hash(cell.column)


def _check_alert(alert: Alert) -> None:
    parts = (alert.message,) if isinstance(alert.message, str) else alert.message
    words = isinstance(parts, tuple) and all(isinstance(one, (str, Cell, Columns)) for one in parts)
    require(words, "the message of an alert is text, or parts of it.")
    for name in ("component", "row"):
        value = getattr(alert, name)
        require(value is None or (type(value) is int and value >= 0), f"{name} is a whole number of at least 0.")
    hash(alert.columns)


RULES: dict[str, Callable[[Any], None]] = {"Alert": _check_alert, "Cell": _check_cell, "Columns": _check_columns}
