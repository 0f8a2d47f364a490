"""A fitted mixture as a table: a line for each member, a column for each of its numbers, with standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np

MANY = 200  # parameters whose standard errors a summary still computes by itself
WORK = 3e9  # multiplications that it still does for them
MEMBERS, ENTRIES = 12, 24  # lines and columns before the middle is left out
WIDE = 110  # characters of a line

Entry = tuple[str, float, float]  # label, estimate, standard error


def lines(mixture: Any, fit: Any) -> list[str]:
    """The weight and the parameters of every member."""
    p, there = fit.n_parameters, fit._data is not None  # noqa: SLF001 (the fit asks its own distribution)
    asked = "standard_errors" in fit.__dict__ or (there and p <= MANY and fit.n * p * p <= WORK)
    errors = fit.standard_errors if asked else None
    rows = _members(mixture, mixture.params, errors)
    out = _matrix(rows) if len({tuple(entry[0] for entry in row) for row in rows}) == 1 else _list(rows, mixture.parts)
    if errors is None:
        why = f"there are {p} parameters: ask fit.standard_errors" if there else "the rows are no longer in memory"
        out.append(f"  standard errors are left out: {why}")
    elif any(np.isnan(entry[2]) for row in rows for entry in row):
        out.append("  ± –: not known (on a boundary or a floor, without rows, or not told apart by the data)")
    return out


def _members(mixture: Any, params: Any, errors: Any) -> list[list[Entry]]:
    found = []
    for j, one in enumerate(mixture.parts):
        weight = ("weight", float(params["weights"][j]), 0.0 if errors is None else float(errors["weights"][j]))
        mine = {key: value for key, value in params.items() if key != "weights"}
        theirs = None if errors is None else {key: value for key, value in errors.items() if key != "weights"}
        unlike = j in mine and isinstance(mine[j], dict) and set(mine) == set(range(mixture.n))
        if unlike:  # members of different kinds have parameters of their own
            own = _entries(one, mine[j], None if theirs is None else theirs[j], None)
        else:
            own = _entries(one, mine, theirs, j)
        found.append([weight, *own])
    return found


def _entries(one: Any, params: Any, errors: Any, index: int | None) -> list[Entry]:
    """Every number of a member; ``index`` is its place in arrays that lead with the members, None: they do not."""
    if hasattr(one, "weights"):  # a mixture inside
        inner = enumerate(_members(one, params, errors))
        return [(f"{j}/{label}", value, error) for j, part in inner for label, value, error in part]
    if one.blocks:
        found = []
        for key, block in one.blocks.items():
            inside = _entries(block, params[key], None if errors is None else errors[key], index)
            found += [(f"{_named(key)}: {label}", value, error) for label, value, error in inside]
        return found
    entries = []
    for name in one.params:
        value = np.asarray(params[name] if index is None else params[name][index])
        error = np.zeros(value.shape)
        if errors is not None:
            error = np.asarray(errors[name] if index is None else errors[name][index])
        places = [(one.label(name, place), place) for place in np.ndindex(*value.shape)]
        entries += [(label, float(value[place]), float(error[place])) for label, place in places if label]
    return entries


def _matrix(rows: list[list[Entry]]) -> list[str]:
    """Members that have the same entries: one line each, in as many panels as the width of a page needs."""
    labels = [entry[0] for entry in rows[0]]
    shown = _middle(list(range(len(labels))), ENTRIES)
    cut = _middle(list(range(len(rows))), MEMBERS)
    head = ["", *(f"… {len(labels) - len(shown) + 1} more" if i is None else labels[i] for i in shown)]
    body = []
    for j in cut:
        if j is None:
            body.append([f"… {len(rows) - len(cut) + 1} more", *("" for _ in shown)])
        else:
            body.append([str(j), *("" if i is None else _shown(rows[j][i]) for i in shown)])
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    out: list[str] = []
    begin = 1
    while begin < len(head):
        end, used = begin + 1, widths[0] + widths[begin] + 4
        while end < len(head) and used + widths[end] + 2 <= WIDE:
            used += widths[end] + 2
            end += 1
        columns = [0, *range(begin, end)]
        for row in [head, *body]:
            cells = [f"{row[0]:<{widths[0]}}", *(f"{row[i]:>{widths[i]}}" for i in columns[1:])]
            out.append(("  " + "  ".join(cells)).rstrip())
        begin = end
    return out


def _list(rows: list[list[Entry]], parts: Any) -> list[str]:
    """Members of different kinds: one line each, with the names of its numbers."""
    out = []
    for j in _middle(list(range(len(rows))), MEMBERS):
        if j is None:
            out.append("  …")
            continue
        shown = [f"{label} {_shown((label, value, error))}" for label, value, error in rows[j][: ENTRIES + 1]]
        more = f", … {len(rows[j]) - len(shown)} more" if len(rows[j]) > len(shown) else ""
        out.append(f"  {j} {parts[j].name}: {', '.join(shown)}{more}")
    return out


def _middle(items: list[int], most: int) -> list[int | None]:
    """The items, or their two ends with a gap (None) between."""
    return list(items) if len(items) <= most else [*items[: most // 2], None, *items[-(most // 2) :]]


def _named(key: Any) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _number(value: float, digits: int = 4) -> str:
    return "–" if np.isnan(value) else f"{value:.{digits}g}"


def _shown(entry: Entry) -> str:
    _, value, error = entry
    return _number(value) if error == 0 else f"{_number(value)} ± {_number(error, 2)}"
