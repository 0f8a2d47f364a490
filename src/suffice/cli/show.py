"""Commands about a model as a whole: show, report, merge."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.rows import FILES, JSON, MODEL


@click.command()
@MODEL
@JSON
def show(model: str, as_json: bool) -> None:
    """Show what MODEL has learned, and how far to trust it."""
    from suffice.cli.model import loaded
    from suffice.cli.terminal import document

    found = loaded(model)
    if as_json:
        document(described(found.value))
    else:
        page(found.value)


def page(value: Any) -> None:
    """Print the summary of a model."""
    from suffice.cli.terminal import say, width

    title, *lines = value.summary(width=width()).split("\n")
    say(title, "bold")
    alerts = False
    for line in lines:
        alerts = alerts or line.startswith("alerts:")
        say(line, "yellow" if alerts and "none" not in line else "")


def described(value: Any) -> dict[str, Any]:
    """The portrait of a model as plain data."""
    from dataclasses import asdict

    from suffice.core.portrait import portrait

    return asdict(portrait(value))


@click.command()
@MODEL
@FILES
@click.option("--out", type=click.Path(), default="report.html", show_default=True, help="The page to write.")
def report(model: str, files: tuple[str, ...], out: str) -> None:
    """Write a page about MODEL and the rows of FILES."""
    from suffice.cli.data import opened, written_beside
    from suffice.cli.model import loaded

    written_beside(out)
    found = loaded(model)
    reported(found.value, opened(files), out)


def reported(value: Any, data: Any, out: str, *, selection: Any = None, seed: int | None = None) -> None:
    """Write the page and say so."""
    import sys

    from suffice.cli.terminal import note
    from suffice.report import write

    write(value, data, out, selection=selection, command=" ".join(["suffice", *sys.argv[1:]]), seed=seed)
    note(f"report written to {out}")


@click.command()
@click.argument("first", type=click.Path(), metavar="A")
@click.argument("second", type=click.Path(), metavar="B")
@click.option("--out", type=click.Path(), required=True, metavar="C", help="Where to save the merged model.")
@JSON
def merge(first: str, second: str, out: str, as_json: bool) -> None:
    """Add what two models of the same kind have learned: as if one had seen the rows of both."""
    import suffice as sf
    from suffice.cli.data import written_beside
    from suffice.cli.model import loaded
    from suffice.cli.terminal import document, note

    written_beside(out)
    both = sf.merge(loaded(first).value, loaded(second).value)
    sf.save(both, out)
    note(f"model saved to {out}")
    if as_json:
        document(described(both))
    else:
        page(both)
