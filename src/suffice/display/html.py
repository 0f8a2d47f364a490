"""Summaries and tables as HTML for notebooks: plain tables that look right on light and on dark pages.

Every text is escaped here, and nowhere else; there is no script, and no style but what stands on the tags.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from html import escape

import numpy as np

from suffice.display.names import column, display_name, words
from suffice.display.summary import Summary
from suffice.display.values import ColumnSummary, number, percent
from suffice.types import Alert

NAME, LEVELS = 60, 4  # letters of a name, and pieces of a cell
ROWS, MEMBERS = 40, 24  # of a table
BOX = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:100%;overflow-x:auto"
LINE = "border-bottom:1px solid rgba(128,128,128,.35)"
CELL = f"padding:2px 10px 2px 0;text-align:left;vertical-align:top;white-space:nowrap;{LINE}"
NUMBER = f"padding:2px 10px 2px 0;text-align:right;vertical-align:top;font-variant-numeric:tabular-nums;{LINE}"
SMALL = "opacity:.7;font-size:12px"


def safe(name: Hashable, most: int = NAME) -> str:
    """A name as HTML: visible, of bounded length, escaped, and with its own direction of writing."""
    return f"<bdi>{escape(display_name(name, most))}</bdi>"


def title(name: Hashable, most: int = NAME) -> str:
    """The name of a column as HTML."""
    return f"<bdi>{escape(column(name, most))}</bdi>"


def prose(text: str) -> str:
    """A sentence as HTML."""
    return escape(" ".join(words(text)))


def of_summary(summary: Summary) -> str:
    """A summary: title, statistics, convergence, the table, alerts."""
    parts = [f"<p style='margin:0'><strong>{prose(summary.title)}</strong></p>"]
    if summary.statistics:
        parts.append(f"<p style='margin:0'>{' · '.join(prose(one.text) for one in summary.statistics)}</p>")
    parts += [f"<p style='margin:0;{SMALL}'>{prose(text)}</p>" for text in (summary.prior, summary.convergence) if text]
    parts.append(_components(summary) if summary.measure or len(summary.components) > 1 else _numbers(summary))
    if summary.measure:
        parts.append(f"<p style='margin:0;{SMALL}'>{prose(summary.measure)}</p>")
    parts += _correlations(summary)
    parts += [f"<p style='margin:0;{SMALL}'>{prose(note)}</p>" for note in summary.notes]
    parts += [alerts(summary.alerts)] if summary.judged else []
    return boxed(*parts)


def boxed(*parts: str) -> str:
    """The parts in one box."""
    return f"<div style='{BOX}'>{''.join(part for part in parts if part)}</div>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """A table of cells that are HTML already: the first of each row is its head; ``numbers`` stand on the right."""
    right = set(numbers)
    style = [NUMBER if i in right else CELL for i in range(len(head))]
    top = "".join(f"<th scope='col' style='{style[i]}'>{text}</th>" for i, text in enumerate(head))
    body = []
    for row in rows:
        lead = f"<th scope='row' style='{style[0]};font-weight:600'>{row[0]}</th>"
        body.append(
            f"<tr>{lead}{''.join(f'<td style={style[i]!r}>{text}</td>' for i, text in enumerate(row) if i)}</tr>"
        )
    return (
        f"<table style='border-collapse:collapse;margin:4px 0;font-size:inherit'><thead><tr>{top}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def alerts(found: tuple[Alert, ...]) -> str:
    """A list of alerts, or that there is none."""
    if not found:
        return f"<p style='margin:0;{SMALL}'>alerts: none</p>"
    items = "".join(f"<li><strong>{prose(code)}</strong>: {prose(text)}</li>" for code, text in found)
    return f"<p style='margin:0'>alerts:</p><ul style='margin:0'>{items}</ul>"


def bar(share: float, *, most: int = 80) -> str:
    """A bar whose length is a share of the longest."""
    wide = round(most * float(np.clip(share, 0.0, 1.0)))
    style = f"display:inline-block;height:.7em;width:{wide}px;background:currentColor;opacity:.45"
    return f"<span style='{style}' aria-hidden='true'></span>"


def cell(one: ColumnSummary, most: int = LEVELS) -> str:
    """A reading: its first pieces, and that there are more."""
    if one.levels:
        pairs = zip(one.levels[:most], one.pieces, strict=False)
        text = ", ".join(f"{safe(level, 24)} {escape(piece)}" for level, piece in pairs)
    else:
        text = ", ".join(prose(piece) for piece in one.pieces[:most])
    return text + (" …" if len(one.pieces) > most else "")


def _components(summary: Summary) -> str:
    if not summary.rows:
        return ""
    order = sorted(range(len(summary.components)), key=lambda j: -(summary.components[j].share or 0.0))[:MEMBERS]
    kept = sorted(order)
    heads = ["column"]
    for one in (summary.components[j] for j in kept):
        share = "" if one.share is None else f": {percent(one.share)}"
        kind = f"<br><span style='{SMALL}'>{prose(one.family)}</span>" if one.family else ""
        heads.append(f"{safe(one.label, 30)}{share}{kind}")
    informative = bool(summary.measure)
    most = max((row.information for row in summary.rows if np.isfinite(row.information)), default=0.0) or 1.0
    rows, pieces = [], max(1, 6 // len(kept))
    for row in summary.rows[:ROWS]:
        line = [title(row.column), *(cell(row.cells[j], pieces) for j in kept)]
        if informative:
            value = (
                f"{row.information:.2f} {bar(row.information / most, most=50)}" if np.isfinite(row.information) else ""
            )
            line.append(value)
        rows.append(line)
    if len(kept) > 2 and any(summary.apart):
        named = ["<br>".join(f"{title(name, 30)} {nats:.2f}" for name, nats in summary.apart[j]) for j in kept]
        rows.append(["set apart by, nats", *named, *([""] if informative else [])])
    more = [f"{len(summary.rows) - ROWS} more columns"] if len(summary.rows) > ROWS else []
    more += [f"{len(summary.components) - len(kept)} more components"] if len(kept) < len(summary.components) else []
    tail = f"<p style='margin:0;{SMALL}'>… and {' and '.join(more)}</p>" if more else ""
    return table([*heads, *(["information"] if informative else [])], rows) + tail


def _numbers(summary: Summary) -> str:
    """A model without components: its numbers, column by column."""
    several = len({one.column for one in summary.parameters}) > 1
    if several or not summary.parameters:
        kinds = any(row.family for row in summary.rows)
        rows = [
            [title(row.column), *([prose(row.family)] if kinds else []), cell(row.cells[0])]
            for row in summary.rows[:ROWS]
        ]
        signs = f" ± {summary.heads[1]}" if any(np.isfinite(one.error) for one in summary.parameters) else ""
        return table(["column", *(["family"] if kinds else []), f"parameters{signs}"], rows) if rows else ""
    lines = []
    for one in summary.parameters[:ROWS]:
        ends = f"{number(one.low, 5)} … {number(one.high, 5)}" if np.isfinite(one.error) else ""
        error = "fixed" if one.fixed else number(one.error, 5)
        lines.append([safe(one.label), number(one.value, 5), error, "" if one.fixed else ends])
    more = len(summary.parameters) - ROWS
    tail = f"<p style='margin:0;{SMALL}'>… and {more} more</p>" if more > 0 else ""
    return table(["parameter", *summary.heads], lines, (1, 2)) + tail


def _correlations(summary: Summary) -> list[str]:
    found = []
    for j, pairs in enumerate(summary.correlations[:MEMBERS]):
        if pairs:
            text = ", ".join(
                f"{title(a, 30)} × {title(b, 30)} {'−' if r < 0 else '+'}{abs(r):.2f}" for a, b, r in pairs
            )
            who = f" of {safe(summary.components[j].label, 30)}" if len(summary.correlations) > 1 else ""
            found.append(f"<p style='margin:0;{SMALL}'>strongest correlations{who}: {text}</p>")
    return found
