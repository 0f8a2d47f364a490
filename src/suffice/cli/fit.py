"""`suffice fit`: a model from files, saved, shown and reported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.rows import ORDER, SEQUENCE

if TYPE_CHECKING:
    from suffice.cli.learn import Learned
    from suffice.types import Data

LISTED = 5  # columns that a note names
STATES = "1:5"  # numbers of states to try
CRITERIA = {"bic": "bic", "aic": "aic", "icl": "icl", "heldout": "held_out"}


class Criterion(click.Choice):  # type: ignore[type-arg]
    """What chooses, also in the spelling of Python: held_out."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Find the choice that a word means."""
        return super().convert(value.replace("_", "").replace("-", ""), param, ctx)


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--target", metavar="COLUMN", help="Learn to tell this column from the others (a classifier).")
@click.option(
    "--components", default="1:9", show_default=True, metavar="K|A:B", help="Components of the mixture to try."
)
@SEQUENCE
@ORDER
@click.option(
    "--states",
    metavar="K|A:B",
    help="Learn a hidden Markov model of rows that follow each other: numbers of states to try (default: 1:5).",
)
@click.option("--family", "families", multiple=True, metavar="COLUMN=FAMILY", help="Name the family of a column.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave a column out; may be repeated.")
@click.option("--joint", is_flag=True, help="Describe real numbers together, with their correlations.")
@click.option(
    "--structure",
    "structures",
    multiple=True,
    metavar="NAME",
    help="Covariances with --joint: full, diag, tied, …, EII … VVV, or all; may be repeated.",
)
@click.option("--criterion", type=Criterion(list(CRITERIA)), default="bic", show_default=True, help="What chooses.")
@click.option(
    "--prior",
    type=click.Choice(["weak", "none"]),
    help="Believe a little beforehand (default: none; with --target: weak).",
)
@click.option("--weights", metavar="COLUMN", help="A column with the weight of each row.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the starts.")
@click.option("--starts", type=click.IntRange(1), help="Starts of a single fit (default: 1).")
@click.option("--max-iter", type=click.IntRange(1), help="Most passes of a single fit (default: 1000).")
@click.option(
    "--tol",
    type=click.FloatRange(0),
    help="Relative change of the likelihood that counts as flat, of a single fit (default: 1e-10).",
)
@click.option("--out", type=click.Path(), metavar="MODEL.json", help="Save the model.")
@click.option("--report", type=click.Path(), metavar="REPORT.html", help="Write a page about it.")
@click.option(
    "--resume", is_flag=True, help="Go on where an earlier run of the same command was stopped (needs --out)."
)
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def fit(ctx: click.Context, /, files: tuple[str, ...], **options: Any) -> None:
    """Learn a model of the rows of FILES.

    Without --target a mixture over all columns, whose number of components is chosen by --criterion from --components.
    With --sequence, --order or --states a hidden Markov model, whose number of states is chosen from --states.
    Holes are left out of the likelihood, never filled. Ctrl-C keeps the best so far.
    """
    from suffice.cli.learn import chain, classifier, mixture

    asked, target = _request(files, options)
    learned = classifier(asked, target) if target is not None else chain(asked) if asked.follows else mixture(asked)
    _notes_on_columns(learned, len(asked.data))
    _save(learned, options, asked.data)
    _show(learned, options)
    if learned.interrupted:
        from suffice.cli.group import INTERRUPTED

        ctx.exit(INTERRUPTED)


def _notes_on_columns(learned: Learned, rows: int) -> None:
    """Say which columns are left out, are copies, are pooled, or have so many levels that what they say is chance."""
    from suffice.cli.model import Model
    from suffice.cli.terminal import note
    from suffice.display.names import display_name
    from suffice.plot.model_view import NOISY, RARE
    from suffice.schema.column_relations import SHOWN
    from suffice.schema.rules import ON_REQUEST

    model = Model("", learned.model)
    components = max(model.n_components, 1)
    left = [one for one in learned.schema.findings if one.family is None and one.why != ON_REQUEST]
    if left:
        names = ", ".join(f"{display_name(one.name)!r} ({display_name(one.why, 60)})" for one in left[:LISTED])
        more = f" and {len(left) - LISTED} more" if len(left) > LISTED else ""
        note(f"note: left out: {names}{more}. --family COLUMN=FAMILY takes a column in.", "yellow")
    for one in learned.schema.findings:
        if one.copy_of and one.family is not None:
            copy = f"a copy of {display_name(one.copy_of[0], SHOWN)!r}, which counts twice: leave one out"
            note(f"note: column {display_name(one.name)!r} is {copy}, by --ignore {display_name(one.name)}.", "yellow")
        if getattr(one.family, "pool", None) is not None:
            name, why = display_name(one.name), display_name(one.why, 120)
            note(f"note: column {name!r}: {why}. --family {name}=Categorical keeps every level.", "yellow")
        levels = len(model.levels(one.name) or ()) if one.family is not None else 0  # also of a family that was given
        if levels >= NOISY and rows / levels < RARE * components:
            note(
                f"note: column {display_name(one.name)!r} has {levels:,} levels, {rows / levels:.1f} rows for each: it "
                "is like an identifier, and much of its information is chance. "
                f"Leave it out by --ignore {display_name(one.name)}.",
                "yellow",
            )


def _check_places(options: dict[str, Any]) -> None:
    """Refuse, before any work is done, what could not be written at its end."""
    from suffice.cli.data import output_path

    for name in ("out", "report"):
        if options[name]:
            output_path(options[name])
    if options["report"]:
        from suffice.report import require_extras

        require_extras()


def _refuse_for_sequences(options: dict[str, Any]) -> None:
    """Refuse options that say nothing of a hidden Markov model."""
    source = click.get_current_context().get_parameter_source("components")
    if source is not None and source.name != "DEFAULT":
        msg = "--components is of a mixture; give the numbers of states of a hidden Markov model by --states."
        raise click.UsageError(msg)
    if options["target"]:
        msg = "--target learns from rows by themselves, which --sequence, --order and --states do not; leave one out."
        raise click.UsageError(msg)
    if options["weights"]:
        msg = "--weights are of rows, and here sequences count, all alike; leave --weights out."
        raise click.UsageError(msg)


def _request(files: tuple[str, ...], options: dict[str, Any]) -> tuple[Any, Any]:
    """What the options ask for, checked before any work is done."""
    from suffice.cli.data import known, opened
    from suffice.cli.families import overrides, sizes
    from suffice.cli.learn import Request
    from suffice.errors import ParameterError

    follows = any(options[name] is not None for name in ("sequence", "order", "states"))
    if follows:
        _refuse_for_sequences(options)
    counts = "states" if follows else "components"
    target, many = options["target"], sizes(options[counts] or STATES, f"--{counts}")
    structures = options["structures"] or None
    single = len(many) == 1 and (structures is None or (len(structures) == 1 and structures[0] != "all"))
    for name in ("starts", "max_iter", "tol"):
        if options[name] is not None and not single and target is None:
            msg = f"--{name.replace('_', '-')} is for a single fit; give --{counts} one number, or leave it out."
            raise click.UsageError(msg)
    if structures and not options["joint"]:
        msg = "--structure is about covariances: add --joint, which describes the real numbers together."
        raise click.UsageError(msg)
    if options["resume"] and not options["out"]:
        msg = "--resume needs --out: the checkpoint lies beside the model file."
        raise click.UsageError(msg)
    _check_places(options)
    checkpoint = f"{options['out']}.checkpoint" if options["out"] else None
    if checkpoint and Path(checkpoint).exists() and not options["resume"]:
        msg = (
            f"{checkpoint} is what a run of this command left behind that was stopped: go on with it by --resume, or "
            "delete it to begin anew."
        )
        raise ParameterError(msg)
    data = opened(files, learned=True)
    names = data.names
    chosen = overrides(names, options["families"], options["ignore"])
    keys = {name: known(options[name], names, f"--{name}") for name in ("sequence", "order") if options[name]}
    chosen |= dict.fromkeys(keys.values())
    weights = None
    if options["weights"]:
        weights = known(options["weights"], names, "--weights")
        chosen.pop(weights, None)
    if target is not None:
        target = known(target, names, "--target")
        chosen[target] = None
    prior = {"weak": "weak", "none": None, None: None if target is None else "weak"}[options["prior"]]
    asked = Request(
        data,
        chosen,
        many,
        joint=options["joint"],
        structures="all" if structures == ("all",) else structures,
        prior=prior,
        weights=weights,
        seed=options["seed"],
        starts=options["starts"] or 1,
        max_iter=options["max_iter"] or 1000,
        tol=options["tol"],
        criterion=CRITERIA[options["criterion"]],
        checkpoint=checkpoint,
        resume=options["resume"],
        quiet=options["quiet"] or options["as_json"],
        follows=follows,
        **keys,
    )
    return asked, target


def _save(learned: Learned, options: dict[str, Any], data: Data) -> None:
    """Write the model and the report, and say so."""
    from suffice.cli.model import saved
    from suffice.cli.show import reported
    from suffice.cli.terminal import note

    if learned.interrupted:
        more = " The same command with --resume goes on from here." if learned.resumable else ""
        note(f"interrupted: the best so far is kept.{more}", "yellow")
    if options["out"]:
        saved(learned.model, options["out"])
    if options["report"]:
        rows = data if learned.rows is None else learned.rows
        reported(learned.model, rows, options["report"], options["seed"], **learned.around)


def _show(learned: Learned, options: dict[str, Any]) -> None:
    from suffice.cli.model import Model
    from suffice.cli.show import described, page
    from suffice.cli.terminal import document, paged, say, width

    model = Model(options["out"] or "the model", learned.model)
    if options["as_json"]:
        found = {"model": options["out"], "interrupted": learned.interrupted, **described(model)}
        if learned.selection is not None:
            rows = [{key: one for key, one in row.items() if key != "alerts"} for row in learned.selection.table]
            found["selection"] = {"criterion": learned.selection.criterion, "table": rows}
        document(found)
        return
    if learned.selection is not None:
        paged(learned.selection.summary(width()))
        say()
    page(model)
