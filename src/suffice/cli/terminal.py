"""What stands on the screen: tables and pages on standard output, notes on standard error.

Names and values come from other people's files. Whatever is shown passes through `shown` or `harmless`, which leave
nothing that a terminal would obey, and none of it is read as markup.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from suffice.display.names import display_name, places
from suffice.display.table import column_banks, rich_table

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 10_000  # columns of a pipe: whoever reads it does not want lines to be broken
BAR = 24  # cells of a whole bar
HIDDEN = re.compile("[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
ENCODING = re.compile(r"scan\(…, encoding='([\w-]+)'\)")
MISSING = re.compile(r"scan\(…, missing=\[(.+?)\]\)")
WORDS = {  # what the library advises in Python, and here
    "infer(df, column=Normal())": "--family COLUMN=Normal",
    "TMPDIR or scan(…, spool=)": "TMPDIR",
    "prior='weak'": "--prior weak",
}


def is_terminal() -> bool:
    """Whether a person looks at standard output."""
    return bool(sys.stdout.isatty())


def console(*, error: bool = False) -> Any:
    """Where to print: with colours on a terminal, plain and as wide as it comes in a pipe."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    plain = not stream.isatty()
    return Console(
        file=stream,
        highlight=False,
        markup=False,
        emoji=False,
        width=WIDE if plain else None,
        force_terminal=False if plain else None,
    )


def width() -> int:
    """Columns of the page: those of the terminal, within reason; 100 in a pipe."""
    return max(40, min(console().width, 160)) if is_terminal() else 100


def harmless(text: str) -> str:
    """A page on which nothing is left that a terminal would obey."""
    return "\n".join(display_name(line, len(line) * 10) if line else "" for line in text.split("\n"))


def say(text: str = "", style: str = "") -> None:
    """Print a page of text on standard output."""
    _put(console(), harmless(text), style)


def paged(text: str) -> None:
    """Print a page of the library: its title bold, and what not to trust in colour."""
    from suffice.display.rich_text import styled

    console().print(styled(harmless(text)), soft_wrap=True)


def note(text: str, style: str = "dim") -> None:
    """Print a remark on standard error."""
    _put(console(error=True), harmless(spoken(text)), style)


def spoken(text: str) -> str:
    """What the library says of its own functions, in options of the command line.

    >>> spoken("If that means a missing cell, scan(…, missing=['not seen']).")
    "If that means a missing cell, --missing 'not seen'."
    """
    text = ENCODING.sub(lambda found: f"--encoding {found[1]}", text)
    text = MISSING.sub(lambda found: " ".join(f"--missing {shlex.quote(one)}" for one in _words(found[1])), text)
    for python, words in WORDS.items():
        text = text.replace(python, words)
    return text


def _words(text: str) -> list[str]:
    """The words of a list as Python writes it, without its brackets."""
    try:
        return list(map(str, ast.literal_eval(f"[{text}]")))
    except (SyntaxError, ValueError):  # a long word, which was cut
        return [text]


def problem(text: str, title: str = "suffice: ") -> None:
    """Print what was refused, and why, on standard error."""
    from rich.text import Text

    page = console(error=True)
    page.print(Text.assemble((title, "bold red"), harmless(spoken(text))), soft_wrap=not page.is_terminal)


def heading(text: str) -> None:
    """Print a title with a line under it."""
    say()
    say(text, "bold")
    say("─" * len(text), "dim")


def _put(page: Console, text: str, style: str) -> None:
    from rich.text import Text

    page.print(Text(text, style=style), soft_wrap=True)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Sequence[int] = ()) -> None:
    """Print rows under a head; ``right``: the columns of numbers. Long text is folded where the terminal is narrow."""
    page = console()
    titles = [display_name(title) if title else "" for title in head]
    grid = rich_table(titles, ([_text(cell) for cell in row] for row in rows), right, unbroken={0, *right})
    if page.is_terminal:
        page.print(grid)
        return
    with page.capture() as caught:
        page.print(grid)
    click.echo("\n".join(line.rstrip() for line in caught.get().splitlines()))


def banks(head: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int] = ()) -> None:
    """Print a table of many columns in as many banks as the terminal needs, each with the first column."""
    titles = [display_name(one, 30) if one else "" for one in head]
    lines = [[_text(one) for one in row] for row in rows]
    wide = [
        max([places(title), *(one.cell_len for one in column)])
        for title, column in zip(titles, zip(*lines, strict=True), strict=True)
    ]
    for number, kept in enumerate(column_banks(wide, console().width)):
        if number:
            say()
        own = [new for new, old in enumerate(kept) if old in right]
        table([titles[i] for i in kept], [[line[i] for i in kept] for line in lines], right=own)


def _text(cell: object) -> Any:
    """A cell of a table, harmless and never read as markup."""
    from rich.text import Text

    return cell if isinstance(cell, Text) else Text(harmless(str(cell)))


def bar(share: float, cells: int = BAR) -> str:
    """A share of 1 as a bar, to an eighth of a cell."""
    eighths = round(max(0.0, min(share, 1.0)) * cells * 8)
    return "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]


def document(found: dict[Any, Any]) -> None:
    """Print one JSON document on standard output."""
    click.echo(_escaped(json.dumps(plain(found), ensure_ascii=False, allow_nan=False)))


def _escaped(text: str) -> str:
    """JSON in which marks that cannot be seen, such as those of direction, are escapes: the same document."""
    return HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def plain(value: object) -> Any:
    """A value as JSON has it: arrays are lists, dates are text, NaN is null, and infinity a word."""
    import numpy as np

    if isinstance(value, (np.ndarray, np.generic)):  # masked cells become None
        value = value.tolist() if value.dtype.kind not in "Mm" else value.astype(object).tolist()
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else "inf" if value > 0 else "-inf"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
