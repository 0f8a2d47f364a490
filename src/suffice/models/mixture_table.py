"""A fitted mixture as a table: a line for each component, a column for each of its numbers, with standard errors."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from suffice.core.family import Family
from suffice.display.names import display_name, sentence, wrapped
from suffice.display.table import column_banks, column_widths, table_lines
from suffice.display.text import column_place, labelled, named
from suffice.display.values import measured, number
from suffice.em.result import Fit
from suffice.models.stack import Stack
from suffice.uncertainty.information import chart

MANY = 200  # parameters whose standard errors a summary still computes by itself
WORK = 3e9  # multiplications that it still does for them
MEMBERS, ENTRIES = 12, 24  # lines and columns before the middle is left out
WIDE = 110  # characters of a line
BOUNDARY = "on the boundary of what is possible"
FLOOR = "on the floor that keeps a component from collapsing"


class Entry(NamedTuple):
    """One number of a component; ``edge``: why it has no standard error, if that is its own fault.

    ``text``: as shown.
    """

    label: str
    value: float
    error: float
    edge: str = ""
    text: str = ""


def lines(mixture: Any, fit: Any, width: int = WIDE) -> list[str]:
    """The weight and the parameters of every component."""
    p, there = fit.n_parameters, fit.intact
    asked = "standard_errors" in fit.__dict__ or (there and p <= MANY and fit.n * p * p <= WORK)
    errors = fit.standard_errors if asked else None
    snapped = mixture.on_boundary_if_near(fit.statistics, prior=fit.prior)
    rows = _components(snapped, snapped.params, errors, None if mixture.column_names else fit.names)
    out = table(rows, mixture.parts, width=width)
    if errors is None:
        why = (
            f"there are {p} parameters: ask fit.standard_errors"
            if there
            else "the rows are no longer in memory, or were changed"
        )
        out += sentence(f"standard errors are left out: {why}", width, "  ", "  ")
    elif any(np.isnan(entry.error) for row in rows for entry in row):
        out += sentence(f"± –: not known, {'; '.join(_reasons(fit, rows))}", width, "  ", "  ")
    return out


def table(
    rows: list[list[Entry]], parts: tuple[Any, ...], names: list[int] | None = None, width: int = WIDE
) -> list[str]:
    """A line for each component: in columns where they have the same entries, else with the names of the numbers."""
    names = list(range(len(rows))) if names is None else names
    alike = len({tuple(entry.label for entry in row) for row in rows}) == 1
    return _matrix(rows, names, width) if alike else _list(rows, parts, names, width)


def _reasons(fit: Fit, rows: list[list[Entry]]) -> list[str]:
    """Why standard errors are missing, each reason only where it applies."""
    count = np.asarray(fit.statistics.count)
    found: dict[str, None] = {}
    for j, row in enumerate(rows):
        for entry in row:
            if not np.isnan(entry.error):
                continue
            if count[j] == 0:
                found["without rows"] = None
            elif entry.edge:
                found[entry.edge] = None
            elif fit.prior is not None:
                found["the rows do not tell these numbers apart, only the prior does"] = None
            else:
                found["the rows do not tell these numbers apart"] = None
    return list(found)


def _components(mixture: Any, params: Any, errors: Any, key: Any = None) -> list[list[Entry]]:
    found, held = [], mixture.components.on_floor(mixture.floors)
    for j, one in enumerate(mixture.parts):
        share = float(params["weights"][j])
        error = 0.0 if errors is None else float(errors["weights"][j])
        weight = Entry("weight", share, error, BOUNDARY if share in (0.0, 1.0) else "")
        own = _entries(mixture.components, one, params, errors, j, key)
        found.append([weight, *(entry._replace(edge=entry.edge or (FLOOR if held[j] else "")) for entry in own)])
    return found


def _entries(stack: Any, one: Any, params: Any, errors: Any, index: int, key: Any = None) -> list[Entry]:
    """Every number of component ``index`` of a stack, whose parameters lead with the components."""
    if isinstance(stack, Stack):  # components of different kinds have parameters of their own
        return _own(one, params[index], None if errors is None else errors[index], key)
    if one.blocks:
        found = []
        for part, block in one.blocks.items():
            theirs = None if errors is None else errors[part]
            found += _entries(stack.blocks[part], block, params[part], theirs, index, part)
        return under(key, found)
    return _numbers(
        one,
        {name: params[name][index] for name in one.params},
        None if errors is None else {name: errors[name][index] for name in one.params},
        key,
    )


def _own(one: Family, params: Any, errors: Any, key: Hashable = None) -> list[Entry]:
    """Every number of a distribution that stands alone."""
    if hasattr(one, "weights"):  # a mixture inside
        several = isinstance(key, tuple)  # each number then says by itself of which of the columns it is
        inner = enumerate(_components(one, params, errors, key if several else None))
        numbered = [entry._replace(label=f"{j}/{entry.label}") for j, part in inner for entry in part]
        return numbered if several else under(key, numbered)
    if one.blocks:
        found = []
        for part, block in one.blocks.items():
            found += _own(block, params[part], None if errors is None else errors[part], part)
        return under(key, found)
    return _numbers(one, params, errors, key)


def under(key: Hashable, entries: list[Entry]) -> list[Entry]:
    """The entries with the name of their block; without one as they are."""
    return entries if key is None else [entry._replace(label=f"{named(key)}: {entry.label}") for entry in entries]


def _numbers(one: Family, params: Any, errors: dict[Any, Any] | None, key: Hashable = None) -> list[Entry]:
    entries = []
    rough = errors is not None and chart(one.stacked).smoothness == 0
    for name in one.params:
        value = np.asarray(params[name])
        error = np.zeros(value.shape) if errors is None else np.asarray(errors[name])
        edge = one.specs()[name].domain.on_boundary(value)
        for place in np.ndindex(*value.shape):
            if label := labelled(one, key, name, place):
                why = BOUNDARY if edge[place] else "the likelihood is greatest at its own edge" if rough else ""
                entries.append(Entry(label, float(value[place]), float(error[place]), why))
    return sorted(entries, key=lambda entry: column_place(key, entry.label)) if isinstance(key, tuple) else entries


def _matrix(rows: list[list[Entry]], names: list[int], width: int) -> list[str]:
    """Components that have the same entries: one line each, in as many panels as the width of a page needs."""
    labels = [display_name(entry.label, max(width - 8, 8)) for entry in rows[0]]
    wanted = _middle(list(range(len(labels))), ENTRIES)
    cut = _middle(list(range(len(rows))), MEMBERS)
    head = ["", *(f"… {len(labels) - len(wanted) + 1} more" if i is None else labels[i] for i in wanted)]
    body = []
    for j in cut:
        if j is None:
            body.append([f"… {len(rows) - len(cut) + 1} more", *("" for _ in wanted)])
        else:
            body.append([str(names[j]), *("" if i is None else _shown(rows[j][i]) for i in wanted)])
    out: list[str] = []
    for columns in column_banks(column_widths([head, *body]), width - 2):
        bank = [[row[i] for i in columns] for row in [head, *body]]
        out += table_lines(bank, range(1, len(columns)), indent="  ")
    return out


def _list(rows: list[list[Entry]], parts: tuple[Any, ...], names: list[int], width: int) -> list[str]:
    """Components of different kinds: one line each, with the names of its numbers."""
    out = []
    for j in _middle(list(range(len(rows))), MEMBERS):
        if j is None:
            out.append("  …")
            continue
        texts = [f"{display_name(entry.label)} {_shown(entry)}" for entry in rows[j][: ENTRIES + 1]]
        texts += [f"… {len(rows[j]) - len(texts)} more"] if len(rows[j]) > len(texts) else []
        pieces = [f"{one}," for one in texts[:-1]] + texts[-1:]
        out += wrapped(pieces, width, first=f"  {names[j]} {parts[names[j]].name}: ", then="    ")
    return out


def _middle(items: list[int], most: int) -> list[int | None]:
    """The items, or their two ends with a gap (None) between."""
    return list(items) if len(items) <= most else [*items[: most // 2], None, *items[-(most // 2) :]]


def _shown(entry: Entry) -> str:
    if entry.text:
        return entry.text
    return f"{number(entry.value)} ± –" if np.isnan(entry.error) else measured(entry.value, entry.error)
