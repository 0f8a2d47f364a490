"""Questions to a model: what a column is likely to be, and why a row is given to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from suffice.cli.options import JSON, LEVEL, MODEL

if TYPE_CHECKING:
    from collections.abc import Hashable

    from suffice.cli.model import Model
    from suffice.core.family import Family

SHOWN = 20  # levels on a page
CURVE = 48  # places of the drawn density
BLOCKS = " ▁▂▃▄▅▆▇█"


@click.command()
@MODEL
@click.argument("column")
@click.option("--given", multiple=True, metavar="COLUMN=VALUE", help="What is known; may be repeated.")
@LEVEL
@JSON
def ask(model: str, column: str, given: tuple[str, ...], level: float, as_json: bool) -> None:
    """What COLUMN is likely to be under MODEL, given other columns.

    Numbers get a mean and an interval, labels a probability each. "component" asks a mixture which component made such
    a row, and "class" a classifier for its class, which also has the name of its --target.
    """
    from suffice.cli.model import cells, conditioned, loaded, whose
    from suffice.cli.terminal import document

    found = loaded(model)
    name = whose(found, column)
    known = cells(found, given)
    if name in known:
        msg = f"{column!r} is among the --given columns; ask for another one."
        raise click.UsageError(msg)
    if name is None:
        answer = _who(found, known)
    else:
        answer = _answer(found, conditioned(found, known).marginal(name), name, level)
    asked = {"column": column, "given": dict(word.split("=", 1) for word in given)}
    if as_json:
        document({**asked, **{key: one for key, one in answer.items() if key != "curve"}})
    else:
        _page(asked, answer)


def _who(found: Model, known: dict[Any, Any]) -> dict[str, Any]:
    """The probability of each component."""
    from suffice.cli.model import row_of
    from suffice.queries.condition_warnings import warn_of_unusual

    places = dict(zip(found.names, found.distribution.column_labels, strict=True))
    by_place = {places[name]: value for name, value in known.items()}
    warn_of_unusual(found.distribution, by_place, {place: name for name, place in places.items()})
    probabilities = found.distribution.predict_proba(row_of(found, known))[0]
    return {"probabilities": {str(component): float(p) for component, p in enumerate(probabilities)}}


def _answer(found: Model, one: Family, name: Hashable, level: float) -> dict[str, Any]:
    """What the distribution of one column says."""
    import numpy as np

    levels = found.levels(name)
    if levels is not None:
        cells = np.empty(len(levels), dtype=object)
        cells[:] = levels
        chances = np.exp(np.atleast_1d(one.log_prob(cells)))
        return {"probabilities": {str(value): float(p) for value, p in zip(levels, chances, strict=True)}}
    ends = [float(one.quantile(p)) for p in ((1 - level) / 2, (1 + level) / 2)]
    low, high = (float(one.quantile(p)) for p in (0.001, 0.999))
    grid = np.unique(np.round(np.linspace(low, high, CURVE))) if one.discrete else np.linspace(low, high, CURVE)
    density = np.exp(one.log_prob(grid))
    return {
        "mean": float(one.mean),
        "std": float(one.std),
        "median": float(one.quantile(0.5)),
        "level": level,
        "interval": ends,
        "curve": (grid.tolist(), density.tolist()),
    }


def _page(asked: dict[str, Any], answer: dict[str, Any]) -> None:
    from rich.text import Text

    from suffice.cli.terminal import bar, say, table
    from suffice.display.names import display_name
    from suffice.display.values import number

    given = ", ".join(f"{display_name(name)} = {display_name(value)}" for name, value in asked["given"].items())
    say(display_name(asked["column"]) + (f" given {given}" if given else ""), "bold")
    if "probabilities" in answer:
        ranked = sorted(answer["probabilities"].items(), key=lambda item: -item[1])
        rows = [(display_name(name), f"{p:.4f}", Text(bar(p), "cyan")) for name, p in ranked[:SHOWN]]
        table(("level", "probability", ""), rows, right=(1,))
        rest = ranked[SHOWN:]
        if rest:
            say(f"… {len(rest):,} more levels, {sum(p for _, p in rest):.4f} together; --json has all of them.", "dim")
        return
    low, high = answer["interval"]
    mean, median, std = (number(answer[name], 5) for name in ("mean", "median", "std"))
    say(f"mean {mean} · median {median} · standard deviation {std}")
    say(f"{100 * answer['level']:g} % between {number(low, 5)} and {number(high, 5)}")
    grid, density = answer["curve"]
    most = max(density) or 1.0
    curve = "".join(BLOCKS[round(8 * one / most)] for one in density)
    ends = number(grid[0]), number(grid[-1])
    say(f"{ends[0]} ▕{curve}▏ {ends[1]}", "cyan")


@click.command()
@MODEL
@click.argument("file")
@click.option("--row", type=click.IntRange(0), default=0, show_default=True, help="The number of the row, from 0.")
@click.option("--label", help="The class or component to speak for, instead of the most probable.")
@click.option("--against", help="The one to compare it with, instead of the next.")
@JSON
def explain(model: str, file: str, row: int, label: str | None, against: str | None, as_json: bool) -> None:
    """Why a row of FILE has its class, or its component: prior log-odds plus a term for each column."""
    from dataclasses import asdict

    from suffice.cli.model import evidence, loaded
    from suffice.cli.terminal import console, document, is_terminal, say
    from suffice.display.names import display_name

    found = loaded(model)
    why = evidence(found, file, row, label, against)
    if not as_json:
        say(f"row {row}, {found.who} {display_name(why.label)}:")
        if is_terminal():
            console().print(why)
        else:
            say(str(why))
        return
    document({"row": row, **asdict(why), "terms": _plainly(why.terms), "values": _plainly(why.values)})


def _plainly(terms: dict[Any, Any]) -> dict[str, Any]:
    from suffice.models.class_explanation import named

    return {named(name): one for name, one in terms.items()}
