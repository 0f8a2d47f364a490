"""A summary as plain text, in lines of a given width: what was learned, how well, and whether to trust it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Hashable
from typing import Any

import numpy as np

from suffice.display.names import LONGEST, apart, column, display_name, fitted, left, places, right, sentence, wrapped
from suffice.display.summary import Head, Parameter, Row, Summary
from suffice.display.table import table_lines
from suffice.display.values import ColumnSummary, number, percent
from suffice.types import Alert

WIDTH, NARROWEST, WIDEST = 80, 40, 160  # of a line: the default, and the limits where it is that of a terminal
LEAST = 30  # letters of a line, at least
COLUMNS, MEMBERS, NUMBERS = 16, 24, 12  # that a page shows
CELL = 22  # letters of a cell that a narrow page gives to a component before it begins a new bank
LINES = 2  # of a column that stands alone
INSET = "  "


def line_width(width: int | None = None) -> int:
    """The width of a line: as asked, that of the terminal where one is printed to, else 80."""
    if width is not None:
        return max(int(width), LEAST)
    if not (hasattr(sys.stdout, "isatty") and sys.stdout.isatty()):
        return WIDTH
    return int(np.clip(shutil.get_terminal_size((WIDTH, 24)).columns, NARROWEST, WIDEST))


def summarise(fit: Any, width: int | None = None, *, errors: bool = False) -> str:
    """The fit as a page; with ``errors`` also every parameter with its standard error."""
    wide = line_width(width)
    own, summary = getattr(fit.distribution, "table", None), fit.summarize()
    more: list[str] = []
    if errors and own is not None:
        more = ["parameters ± standard errors", *own(fit, wide)]
    elif errors and len(summary.rows) > 1:
        more = _parameters(summary, wide, len(summary.parameters))
    return page(summary, wide, more)


def page(summary: Summary, width: int | None = None, more: list[str] | None = None) -> str:
    """A summary as text: sentence, statistics, convergence, components or parameters, alerts."""
    wide = line_width(width)
    out = sentence(summary.title, wide, then=INSET)
    out += wrapped((one.text for one in summary.statistics), wide, joint=" · ", then=INSET)
    out += sentence(summary.prior, wide, then=INSET)
    out += sentence(summary.convergence, wide, then=INSET)
    alone = len(summary.components) == 1 and summary.components[0].share is None
    out += _numbers(summary, wide) if alone else _components(summary, wide)
    out += _correlations(summary, wide)
    out += more or []
    for note in summary.notes:
        out += sentence(note, wide, then=INSET)
    out += alert_lines(summary.alerts, wide) if summary.judged else []
    return "\n".join(line.rstrip() for line in out)


def alert_lines(alerts: tuple[Alert, ...], width: int) -> list[str]:
    """Each alert in as many lines as it takes, or that there is none."""
    if not alerts:
        return ["alerts: none"]
    out = ["alerts:"]
    for code, text in alerts:
        out += sentence(f"{code}: {text}", width, first=f"{INSET}! ", then=INSET * 2)
    return out


# ---- a model without components
# -----------------------------------------------------------------------------------------
def _numbers(summary: Summary, width: int) -> list[str]:
    if len(summary.rows) == 1 and summary.parameters:
        return _parameters(summary, width)
    names = _names(summary.rows, width)
    shown_rows = summary.rows[:COLUMNS]
    first = max((places(name) for name in names[: len(shown_rows)]), default=0)
    kinds = max((places(row.family) for row in shown_rows), default=0) if width >= 60 and len(summary.rows) > 1 else 0
    out = []
    for name, row in zip(names, shown_rows, strict=False):
        lead = INSET + left(name, first) + "  " + (left(row.family, kinds) + "  " if kinds else "")
        room = width - places(lead)
        lines = wrapped([f"{one}," for one in _pieces(row.cells[0])], room)[:LINES]
        cleaned = [line.removesuffix(",") if i == len(lines) - 1 else line for i, line in enumerate(lines)]
        if len(", ".join(_pieces(row.cells[0]))) > sum(len(line) + 1 for line in cleaned) + 1:
            cleaned[-1] = fitted(cleaned[-1] + " …", room)
        out += [(lead if i == 0 else " " * places(lead)) + fitted(line, room) for i, line in enumerate(cleaned)] or [
            lead
        ]
    out += _left_out(len(summary.rows) - len(shown_rows), "column")
    if any("±" in piece for row in shown_rows for piece in row.cells[0].pieces):
        out.append(
            f"{INSET}±: {'standard error' if summary.heads[1] == 'std. error' else 'standard deviation of the belief'}"
        )
    return out


def _parameters(summary: Summary, width: int, most: int = NUMBERS) -> list[str]:
    """One line per parameter: estimate, standard error, 95 % interval."""
    numbers: tuple[Parameter, ...] = summary.parameters[:most]
    name = summary.rows[0].column if len(summary.rows) == 1 else "value"
    rows = [("" if name == "value" else display_name(name, max(width // 3, 8)), *summary.heads)]
    for one in numbers:
        ends = f"{number(one.low, 5)} … {number(one.high, 5)}" if not (np.isnan(one.low) or one.fixed) else ""
        error = "fixed" if one.fixed else number(one.error, 5)
        rows.append((display_name(one.label, max(width // 3, 8)), number(one.value, 5), error, ends))
    if not summary.judged:  # a distribution without a fit has no standard errors
        rows = [(*row[:2], "", "") for row in rows]
    lines = table_lines(rows, (1, 2), indent=INSET)
    if max(map(places, lines)) > width:  # without the intervals
        lines = table_lines([row[:3] for row in rows], (1, 2), indent=INSET)
    return lines + _left_out(len(summary.parameters) - len(numbers), "parameter")


def _left_out(count: int, what: str) -> list[str]:
    return [f"{INSET}… and {count} more {what}{'s'[: count != 1]}"] if count > 0 else []


# ---- components
# ---------------------------------------------------------------------------------------------------------
def _components(summary: Summary, width: int) -> list[str]:
    """The components as columns, in as many banks as the width needs."""
    if not summary.components:
        return []
    kept = _heaviest(summary.components)
    rows = summary.rows[:COLUMNS]
    names = _names(rows, width)
    first = max((places(name) for name in names), default=0)
    information = [f"{row.information:.2f}" if np.isfinite(row.information) else "" for row in rows]
    last = max(map(len, [*information, "info"])) + 2 if summary.measure and width >= 50 else 0
    room = width - len(INSET) - first
    needs = [_need(summary, rows, j, room - last - 2) for j in kept]
    out: list[str] = []
    begin = 0
    while begin < len(kept):
        end, used = begin + 1, needs[begin] + 2
        while end < len(kept) and used + needs[end] + 2 <= room - (last if not begin else 0):
            used += needs[end] + 2
            end += 1
        extra = room - (last if not begin else 0) - used
        wide = _spread(summary.components, rows, kept[begin:end], needs[begin:end], extra)
        ends = information if last and not begin else None
        out += _bank(summary, rows, names, first, kept[begin:end], wide, ends, width)
        begin = end
    out += _left_out(len(summary.rows) - len(rows), "column")
    if len(kept) < len(summary.components):
        share = 1.0 - sum(summary.components[j].share or 0.0 for j in kept)
        out.append(
            f"{INSET}… and {len(summary.components) - len(kept)} more components, "
            f"{percent(max(share, 0.0))} of the rows"
        )
    if summary.measure:
        out += sentence(summary.measure + _signs(rows), width, first=INSET, then=INSET)
    return out + _apart(summary, kept, width)


def _signs(rows: tuple[Row, ...]) -> str:
    """What the signs in the cells mean, as far as they are there."""
    text = " ".join(piece for row in rows for one in row.cells for piece in one.pieces)
    signs = "; ±: standard deviation" if "±" in text else ""
    return signs + ("; ×÷: median and factor" if "×÷" in text else "")


def _heaviest(components: tuple[Head, ...]) -> list[int]:
    order = sorted(range(len(components)), key=lambda j: -(components[j].share or 0.0))[:MEMBERS]
    return sorted(order)


def _names(rows: tuple[Row, ...], width: int) -> list[str]:
    return apart((row.column for row in rows), min(LONGEST, max(width // 3 - 2, 8)))


def _called(summary: Summary, width: int) -> dict[Any, str]:
    """How the columns of a summary are called in a width."""
    columns = [row.column for row in summary.rows]
    return dict(zip(columns, apart(columns, width), strict=True))


def title_of(head: Head, width: int = CELL) -> str:
    """A component as its column is headed: its name and its share."""
    share = f": {percent(head.share)}" if head.share is not None else ""
    return display_name(head.label, max(width - places(share), 1)) + share


def _need(summary: Summary, rows: tuple[Row, ...], j: int, most: int) -> int:
    """The least that a component's column takes: its head, and the first piece of every cell."""
    head = summary.components[j]
    texts = [title_of(head), fitted(head.family, CELL)]
    texts += [_first(row.cells[j]) for row in rows]
    return max(min(max(map(places, texts)), CELL, most), 4)


def _first(one: ColumnSummary) -> str:
    lead = display_name(one.levels[0], 12) + " " if one.levels else ""
    return lead + (one.pieces[0] if one.pieces else "") + (" …" if len(one.pieces) > 1 else "")


def _spread(
    components: tuple[Head, ...], rows: tuple[Row, ...], kept: list[int], needs: list[int], extra: int
) -> list[int]:
    """Widths of a bank's columns: what is left over goes to cells that have more to say."""
    wants = [max([n, *(places(cell(row.cells[j], 200)) for row in rows)]) for j, n in zip(kept, needs, strict=True)]
    wide = list(needs)
    while extra > 0 and any(w < want for w, want in zip(wide, wants, strict=True)):
        for i, want in enumerate(wants):
            if wide[i] < want and extra > 0:
                wide[i] += 1
                extra -= 1
    used = (
        [max(places(cell(row.cells[j], w)) for row in rows) for j, w in zip(kept, wide, strict=True)] if rows else wide
    )
    heads = [places(title_of(components[j])) for j in kept]
    kinds = [places(components[j].family) for j in kept]
    return [min(w, max(both)) for w, *both in zip(wide, used, heads, kinds, strict=True)]


def _bank(
    summary: Summary,
    rows: tuple[Row, ...],
    names: list[str],
    first: int,
    kept: list[int],
    wide: list[int],
    information: list[str] | None,
    width: int,
) -> list[str]:
    def line(name: str, cells: list[str], end: str | None) -> str:
        parts = [INSET + left(name, first), *(left(fitted(c, w), w) for c, w in zip(cells, wide, strict=True))]
        return "  ".join(parts) + ("" if end is None else "  " + right(end, 5))

    heads = [summary.components[j] for j in kept]
    title = None if information is None else "info"
    out = [line("", [title_of(one, w) for one, w in zip(heads, wide, strict=True)], title)]
    if any(one.family for one in heads):
        out.append(line("", [one.family for one in heads], None))
    for i, (name, row) in enumerate(zip(names, rows, strict=True)):
        cells = [cell(row.cells[j], w) for j, w in zip(kept, wide, strict=True)]
        text = line(name, cells, None if information is None else information[i])
        note = f"  {row.note}" if row.note and information is not None else ""
        out.append(text + (note if places(text) + places(note) <= width else ""))
    return out


def _pieces(one: ColumnSummary) -> list[str]:
    if one.levels:
        return [f"{display_name(level, 24)} {piece}" for level, piece in zip(one.levels, one.pieces, strict=False)]
    return list(one.pieces)


def cell(one: ColumnSummary, width: int) -> str:
    """A reading in a width: as many of its pieces as there is room for, then an ellipsis."""
    pieces = _pieces(one)
    if not pieces:
        return ""
    text = ", ".join(pieces)
    if places(text) <= width:
        return text
    for count in range(len(pieces) - 1, 0, -1):
        text = ", ".join(pieces[:count]) + " …"
        if places(text) <= width:
            return text
    more = " …" if len(pieces) > 1 else ""
    if one.levels:
        name = display_name(one.levels[0], max(width - places(one.pieces[0]) - places(more) - 1, 1))
        return fitted(f"{name} {one.pieces[0]}{more}", width)
    return fitted(pieces[0] + more, width)


def _apart(summary: Summary, kept: list[int], width: int) -> list[str]:
    """The columns that set each component apart, where more than two are to be told apart by more than two columns."""
    if len(summary.components) < 3 or len(summary.rows) < 3 or not any(summary.apart):
        return []
    out = sentence(
        "what sets each apart, in nats by which it differs from all together:", width, first=INSET, then=INSET
    )
    most = max(width // 3, 8)
    called = _called(summary, most)
    for j in kept:
        pieces = [f"{called.get(name) or column(name, most)} {nats:.2f}" for name, nats in summary.apart[j]]
        label = display_name(summary.components[j].label, max(width // 4, 4))
        lines = wrapped(pieces or ["nothing"], width, joint=", ", first=f"{INSET}{label}: ", then=INSET * 2)
        out += [lines[0] if len(lines) == 1 else lines[0] + ("," if places(lines[0]) < width else ""), *lines[1:]]
    return out


def _correlations(summary: Summary, width: int) -> list[str]:
    if not any(summary.correlations):
        return []
    named = len(summary.correlations) > 1
    out = [f"{INSET}strongest correlations:"] if named or width < NARROWEST else []
    most = max(width // 3 - 4, 6)
    called = _called(summary, most)
    for j, pairs in enumerate(summary.correlations[:MEMBERS]):
        if not pairs:
            continue
        pieces = [
            f"{called.get(a) or column(a, most)} × {called.get(b) or column(b, most)} {_signed(r)}" for a, b, r in pairs
        ]
        label = (
            display_name(summary.components[j].label, max(width // 4, 4)) + ": "
            if named
            else ""
            if out
            else "strongest correlations: "
        )
        lines = wrapped(pieces, width - 1, joint=", ", first=INSET + label, then=INSET * 2)
        out += [f"{line}," for line in lines[:-1]] + lines[-1:]
    return out


def _signed(r: float) -> str:
    return f"{'−' if r < 0 else '+'}{abs(r):.2f}"


# ---- how tables of parameters name their entries ---------------------------------------------------------------------
def column_place(key: tuple[Any, ...], label: str) -> int:
    """The place of a label's column in its block: the numbers of a column stand together."""
    return next((i for i, name in enumerate(key) if label.startswith(f"{display_name(name)}: ")), 0)


def named(key: Hashable) -> str:
    """The key of a block as text."""
    return display_name(key)


def labelled(dist: Any, key: Hashable, name: str, place: tuple[int, ...]) -> str:
    """How a table names one entry of the block ``key``: under its own column, where the block has one for each.

    "" leaves it out; without a key the entry stands alone.
    """
    label = str(dist.label(name, place))
    if key is None or not label:
        return label
    if not isinstance(key, tuple) or not place:
        return f"{named(key)}: {label}"
    if dist.row_vector:
        return f"{name}[{', '.join(display_name(key[i]) for i in place)}]"
    rest = label.removeprefix(f"{name}[{place[0]}").removeprefix(", ")
    return f"{display_name(key[place[0]])}: {name}" + (f"[{rest}" if rest != "]" else "")
