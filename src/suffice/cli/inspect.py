"""`suffice inspect`: what the columns of some files are, and which families describe them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from suffice.schema.rules import Finding


LEVELS = 6  # that a line names


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--family", "families", multiple=True, metavar="COLUMN=FAMILY", help="Name the family of a column.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave a column out; may be repeated.")
@click.option("--joint", is_flag=True, help="Describe real numbers together, with their correlations.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def inspect(
    files: tuple[str, ...], families: tuple[str, ...], ignore: tuple[str, ...], joint: bool, as_json: bool
) -> None:
    """Show the columns of FILES: families and why, holes, levels.

    FILES are CSV or Parquet, several or a pattern in quotes ('trips/*.parquet').
    """
    import suffice as sf
    from suffice.cli.data import opened
    from suffice.cli.families import overrides
    from suffice.cli.terminal import document

    data = opened(files, learned=True)
    names = data.names
    schema = sf.infer(data, overrides(names, families, ignore), joint=joint)
    if as_json:
        document({"files": list(files), "rows": len(data), "columns": [_entry(one) for one in schema.findings]})
        return
    _page(files, len(data), schema)


def _entry(one: Finding) -> dict[str, Any]:
    family = None if one.family is None else one.family.name
    levels = None if one.levels is None else list(one.levels)
    return {
        "name": one.name,
        "family": family,
        "why": one.why,
        "missing": one.missing,
        "levels": levels,
        "unit": one.unit,
    }


def _page(files: tuple[Any, ...], rows: int, schema: Any) -> None:
    from rich.text import Text

    from suffice.cli.terminal import say, table
    from suffice.display.names import display_name
    from suffice.display.values import many, percent

    left = len(schema.left_out)
    what = display_name(files[0]) if len(files) == 1 else f"{len(files)} files"
    wide = many(len(schema.findings), "column")
    say(f"{what}: {many(rows, 'row')}, {wide}" + (f", {left} left out" if left else ""), "bold")
    say()
    lines = []
    for one in schema.findings:
        family = Text("–", "dim") if one.family is None else Text(one.family.name, "cyan")
        share = Text(percent(one.missing), "yellow" if one.missing else "dim")
        lines.append((Text(display_name(one.name), "bold"), family, share, _what(one)))
    table(("column", "family", "missing", "what its values are"), lines, right=(2,))


def _what(one: Finding) -> str:
    from suffice.display.names import display_name

    why = display_name(one.why, 200)
    if one.levels is None:
        return why
    names = ", ".join(display_name(level, 24) for level in one.levels[:LEVELS])
    return f"{why}: {names}{', …' if len(one.levels) > LEVELS else ''}"
