"""Tables of text: columns under each other as plain lines, and as a table of rich."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from suffice.display.names import left, places, right

GAP = "  "  # between columns


def column_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """The widest cell of each column."""
    return [max(map(places, column)) for column in zip(*rows, strict=True)]


def table_lines(rows: Sequence[Sequence[str]], numbers: Collection[int] = (), *, indent: str = "") -> list[str]:
    """Rows of cells, the head among them, as lines; the columns ``numbers`` stand on the right."""
    widths = column_widths(rows)
    lines = []
    for row in rows:
        cells = [(right if i in numbers else left)(cell, widths[i]) for i, cell in enumerate(row)]
        lines.append((indent + GAP.join(cells)).rstrip())
    return lines


def column_banks(widths: Sequence[int], width: int) -> Iterator[list[int]]:
    """The columns of a table in as many banks as a page of a width needs; each begins with the first column."""
    begin = 1
    while begin < len(widths) or begin == 1:
        end, used = begin, widths[0]
        while end < len(widths) and (end == begin or used + len(GAP) + widths[end] <= width):
            used, end = used + len(GAP) + widths[end], end + 1
        yield [0, *range(begin, end)]
        begin = max(end, begin + 1)


def rich_table(
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    numbers: Collection[int] = (),
    *,
    title: str | None = None,
    unbroken: Collection[int] = (),
) -> Any:
    """The same as a table of rich, which folds long text; cells are text of rich or plain, and never markup."""
    from rich.table import Table
    from rich.text import Text

    heading = None if title is None else Text(title)
    found = Table(
        title=heading, title_justify="left", title_style="bold", box=None, header_style="bold", pad_edge=False
    )
    for i, name in enumerate(head):
        justify: Any = "right" if i in numbers else "left"
        found.add_column(_rich(name), justify=justify, no_wrap=i in unbroken, overflow="fold")
    for row in rows:
        found.add_row(*map(_rich, row))
    return found


def _rich(cell: object) -> Any:
    from rich.text import Text

    return Text(cell) if isinstance(cell, str) else cell
