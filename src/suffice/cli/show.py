"""Commands about a model as a whole: show, report, merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from suffice.cli.rows import FILES, JSON, MODEL, ORDER, SEQUENCE

if TYPE_CHECKING:
    from suffice.cli.model import Model
    from suffice.types import Data


@click.command()
@MODEL
@JSON
def show(model: str, as_json: bool) -> None:
    """Show what MODEL has learned, and how far to trust it."""
    from suffice.cli.model import loaded
    from suffice.cli.terminal import document

    found = loaded(model)
    if as_json:
        document(described(found))
    else:
        page(found)


def page(model: Model) -> None:
    """Print the summary of a model."""
    from suffice.cli.terminal import paged, width
    from suffice.display.text import page as lines

    paged(lines(model.summarize(), width()))


def described(model: Model) -> dict[str, Any]:
    """The summary of a model as plain data."""
    from dataclasses import asdict

    return asdict(model.summarize())


@click.command()
@MODEL
@FILES
@click.option("--target", metavar="COLUMN", help="The classes of the rows, for a classifier.")
@SEQUENCE
@ORDER
@click.option("--seed", type=int, default=0, show_default=True, help="Of rows that are drawn for comparison.")
@click.option("--out", type=click.Path(), default="report.html", show_default=True, help="The page to write.")
def report(
    model: str,
    files: tuple[str, ...],
    target: str | None,
    sequence: str | None,
    order: str | None,
    seed: int,
    out: str,
) -> None:
    """Write a page about MODEL and the rows of FILES; of a hidden Markov model about their sequences."""
    from suffice.cli.data import column, known, opened, output_path
    from suffice.cli.model import loaded
    from suffice.report import require_extras

    output_path(out)
    require_extras()
    found = loaded(model)
    if found.follows:
        from suffice.cli.sequences import sequences_of

        reported(found.value, sequences_of(found, files, sequence, order), out, seed)
        return
    data = opened(files, learned=True)
    classes = None if target is None else column(data, known(target, data.names, "--target"))
    reported(found.value, data, out, seed, target=classes)


def reported(value: object, data: Data, out: str, seed: int, **around: Any) -> None:
    """Write the page and say so."""
    import datetime as dt
    import shlex

    from suffice.cli.terminal import note
    from suffice.report import write

    command = shlex.join(["suffice", *click.get_current_context().meta["suffice.words"]])
    write(
        value, data, out, command=command, seed=seed, date=dt.datetime.now().astimezone().date().isoformat(), **around
    )
    note(f"report written to {out}")


@click.command()
@click.argument("first", type=click.Path(), metavar="A")
@click.argument("second", type=click.Path(), metavar="B")
@click.option("--out", type=click.Path(), required=True, metavar="C", help="Where to save the merged model.")
@JSON
def merge(first: str, second: str, out: str, as_json: bool) -> None:
    """Add what two models of the same kind have learned: as if one had seen the rows of both."""
    import suffice as sf
    from suffice.cli.data import output_path
    from suffice.cli.model import Model, loaded, saved
    from suffice.cli.terminal import document

    output_path(out)
    both = Model(out, sf.merge(loaded(first).value, loaded(second).value))
    saved(both.value, out)
    if as_json:
        document(described(both))
    else:
        page(both)
