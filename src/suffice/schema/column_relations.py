"""Relations of columns: exact copies, and categories with an order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.display.names import display_name
from suffice.distributions.categorical import Categorical
from suffice.schema.rules import Finding
from suffice.tables.frame import Coded
from suffice.types import Array

SHOWN = 30  # letters of a name in a reason


# ---- copies ----------------------------------------------------------------------------------------------------------
def with_copies_named(findings: list[Finding], column: Callable[[Any], Any]) -> list[Finding]:
    """The findings, with a word where a column has the same value as an earlier one in every row.

    Only columns of which the same was found are compared; ``column`` gives the values of one.
    """
    first: dict[Any, list[Any]] = {}
    found = []
    for one in findings:
        alike = (one.why, one.missing, one.unit, one.levels)
        earlier = first.setdefault(alike, []) if one.family is not None else []
        same = next((name for name in earlier if _same(column(name), column(one.name))), None)
        if same is None:
            earlier.append(one.name)
            found.append(one)
        else:
            why = f"a copy of {display_name(same, SHOWN)!r}, which counts twice: leave one out; {one.why}"
            found.append(replace(one, why=why, copy_of=(same,)))
    return found


def _same(left: Array, right: Array) -> bool:
    """Whether two columns have the same value in every row."""
    a, b = (np.ma.filled(x, -1) if isinstance(x, np.ma.MaskedArray) else np.asarray(x) for x in (left, right))
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "iufb" and b.dtype.kind in "iufb":
        return bool(np.array_equal(a.astype(float), b.astype(float), equal_nan=True))
    return a.dtype.kind == b.dtype.kind and bool(np.array_equal(a, b))


# ---- order -----------------------------------------------------------------------------------------------------------
def in_declared_order(finding: Finding, series: object) -> Finding:
    """The finding with its levels in the order that the type of the column declares, where it declares one."""
    order = None if finding.levels is None or not finding.label else declared_order(series)
    if order is None or not set(finding.levels or ()) <= set(order) or finding.unpooled is not None:
        return finding
    there = set(finding.levels or ())
    levels = tuple(level for level in order if level in there)
    never = f", {len(order) - len(levels)} more declared" if len(order) > len(levels) else ""
    why = f"{finding.why}, in their order{never}"
    return replace(finding, family=Categorical(levels), why=why, levels=levels)


def declared_order(series: object) -> tuple[Any, ...] | None:
    """The categories of an ordered column of pandas, polars (Enum) or pyarrow; None of other columns."""
    if isinstance(series, (np.ndarray, Coded, list, tuple, Mapping)) or not hasattr(series, "to_native"):
        return None
    native: Any = series.to_native()
    categories: Any = getattr(native, "cat", None)
    if categories is not None and getattr(categories, "ordered", False) is True:  # pandas
        return tuple(categories.categories)
    dtype: Any = getattr(native, "dtype", None)
    if type(dtype).__name__ == "Enum":  # polars
        return tuple(dtype.categories)
    kind: Any = getattr(native, "type", None)
    if getattr(kind, "ordered", False) is True and hasattr(native, "unify_dictionaries") and native.num_chunks:  # Arrow
        return tuple(native.unify_dictionaries().chunk(0).dictionary.to_pylist())
    return None
