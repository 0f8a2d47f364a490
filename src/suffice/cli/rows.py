"""Commands that answer row by row: score, predict, impute; and sample, which makes rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Hashable

    from suffice.cli.model import Model
    from suffice.cli.output import Rows
    from suffice.tables.sequences import Sequences
    from suffice.types import Data

MODEL = click.argument("model", type=click.Path(), metavar="MODEL")
FILES = click.argument("files", nargs=-1, required=True)
OUT = click.option("--out", type=click.Path(), metavar="FILE", help="Write a .csv, .parquet or .json file.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
MOST = 100_000_000  # rows of a sample
LEVEL = click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="The probability that an interval holds.",
)
SEQUENCE = click.option("--sequence", metavar="COLUMN", help="Rows with the same value here are one sequence.")
ORDER = click.option("--order", metavar="COLUMN", help="The column, such as a time, that sorts the rows of a sequence.")
SEED = click.option("--seed", type=int, default=0, show_default=True, help="Of the draws.")


@click.command()
@MODEL
@FILES
@SEQUENCE
@ORDER
@OUT
@JSON
def score(
    model: str, files: tuple[str, ...], sequence: str | None, order: str | None, out: str | None, as_json: bool
) -> None:
    """Log-likelihood of each row of FILES under MODEL; under a hidden Markov model of each sequence.

    Rows of low log_prob are those that the model finds surprising. The sum and the mean are noted at the end.
    """
    import numpy as np

    from suffice.cli.data import frames, opened, used
    from suffice.cli.model import loaded
    from suffice.cli.output import Rows, arrow
    from suffice.cli.sequences import sequences_of
    from suffice.cli.terminal import note
    from suffice.display.values import many

    found = loaded(model)
    if found.follows or sequence or order:
        _score_sequences(found, sequences_of(found, files, sequence, order), sequence, Rows(out, as_json=as_json))
        return
    data = opened(files)
    total, count = 0.0, 0
    with Rows(out, as_json=as_json) as answers:
        for frame in frames(data, used(data, found.names)):
            scores = np.atleast_1d(found.distribution.log_prob(frame))
            answers.write(arrow({"row": np.arange(count, count + len(scores)), "log_prob": scores}))
            total, count = total + float(scores.sum()), count + len(scores)
    if count and not as_json:
        note(f"log-likelihood {total:,.2f} of {many(count, 'row')}, {total / count:.4f} per row")


def _score_sequences(found: Model, rows: Sequences, sequence: str | None, out: Rows) -> None:
    """The log-likelihood of each sequence."""
    import numpy as np

    from suffice.cli.output import arrow
    from suffice.cli.terminal import note
    from suffice.display.values import many

    scores = np.atleast_1d(found.distribution.log_prob(rows))
    name = "sequence" if sequence in {None, "rows", "log_prob"} else sequence
    keys = np.array(list(range(len(rows)) if rows.keys is None else rows.keys), dtype=object)
    with out as answers:
        answers.write(arrow({name: keys, "rows": rows.lengths, "log_prob": scores}))
    if out.kind != "json":
        total = float(scores.sum())
        told = f"{many(rows.n_rows, 'row')} in {many(len(rows), 'sequence')}, {total / rows.n_rows:.4f} per row"
        note(f"log-likelihood {total:,.2f} of {told}")


@click.command()
@MODEL
@FILES
@click.option("--proba", is_flag=True, help="The probability of each component, class or level, too.")
@click.option(
    "--column", metavar="COLUMN", help="Predict this column from the others, instead of the component or class."
)
@LEVEL
@OUT
@JSON
def predict(
    model: str, files: tuple[str, ...], proba: bool, column: str | None, level: float, out: str | None, as_json: bool
) -> None:
    """The component of a mixture, or the class, of each row of FILES; with --column that column.

    A column of numbers is predicted with an interval that holds --level, a column of labels with a probability.
    """
    import numpy as np

    from suffice.cli.data import frames, known, opened, used
    from suffice.cli.model import loaded, need_components
    from suffice.cli.output import Rows, arrow

    found, data = loaded(model), opened(files)
    if column is None:
        need_components(found)
        names, answer = used(data, found.names), partial(_components)
    else:
        name = known(column, found.names, "--column")
        names = [one for one in used(data, found.names) if one != name]
        answer = partial(_column, name=name, level=level)
    count = 0
    with Rows(out, as_json=as_json) as answers:
        for frame in frames(data, names):
            columns = answer(found, frame, proba=proba)
            length = len(next(iter(columns.values())))
            answers.write(arrow({"row": np.arange(count, count + length), **columns}))
            count += length


def _components(found: Model, frame: object, *, proba: bool) -> dict[Any, Any]:
    """The most probable component or class of each row."""
    import numpy as np

    labels = found.labels or tuple(range(found.n_components))
    names = np.empty(len(labels), dtype=object)
    names[:] = labels
    probabilities = np.atleast_2d(found.distribution.predict_proba(frame))
    best = probabilities.argmax(axis=1)
    columns: dict[Any, Any] = {_called(found): names[best] if found.labels else best}
    columns["probability"] = probabilities[np.arange(len(best)), best]
    return columns | ({f"p({label})": probabilities[:, j] for j, label in enumerate(labels)} if proba else {})


def _column(found: Model, frame: object, *, name: Hashable, level: float, proba: bool) -> dict[Any, Any]:
    """One column of each row, given the others: with an interval, or the probability of the label."""
    import numpy as np

    source = found.joint if hasattr(found.joint, "impute") else found.distribution
    answer = source.predict(name, given=frame, level=level)
    columns: dict[Any, Any] = {str(name): answer.value}
    if answer.probabilities is None:
        low, high = answer.interval
        return columns | {f"low {100 * level:g} %": low, f"high {100 * level:g} %": high}
    columns["probability"] = np.max(list(answer.probabilities.values()), axis=0)
    return columns | ({f"p({one})": p for one, p in answer.probabilities.items()} if proba else {})


def _called(found: Model) -> str:
    """What the answer is called: as the target, unless another column of the answer has that name."""
    return str(found.target) if found.labels and found.target not in {"row", "probability"} else str(found.who)


@click.command()
@MODEL
@FILES
@click.option("--draw", is_flag=True, help="Draw each hole from what it may be, instead of its most likely value.")
@SEQUENCE
@ORDER
@SEED
@OUT
@JSON
def impute(
    model: str,
    files: tuple[str, ...],
    draw: bool,
    sequence: str | None,
    order: str | None,
    seed: int,
    out: str | None,
    as_json: bool,
) -> None:
    """Fill the holes of FILES by what MODEL knows of the other cells of the row.

    A hidden Markov model also knows the rows before and after: give --sequence and --order as for suffice fit.
    """
    from suffice.cli.data import frames, opened, without_nan
    from suffice.cli.model import loaded
    from suffice.cli.output import Rows
    from suffice.cli.sequences import sequences_of
    from suffice.cli.terminal import note
    from suffice.display.values import many

    found = loaded(model)
    rows_of = sequences_of(found, files, sequence, order) if found.follows or sequence or order else None
    data = opened(files)
    filled, left = 0, 0
    with Rows(out, as_json=as_json) as answers:
        for number, part in enumerate(frames(data) if rows_of is None else [without_nan(data.table())]):
            frame = _with_room(part, found.layout)
            seeds = [seed, number] if draw else None
            rows = _impute(found, frame, seeds) if rows_of is None else _impute_each(found, frame, rows_of, seeds)
            before, after = _holes(frame), _holes(rows)
            filled, left = filled + before - after, left + after
            answers.write(rows)
    note(
        f"{many(filled, 'hole')} filled" + (f", {left:,} left in columns that the model does not have" if left else "")
    )


@click.command()
@MODEL
@click.option("-n", "count", type=click.IntRange(1), default=10, show_default=True, help="How many rows.")
@click.option("--given", multiple=True, metavar="COLUMN=VALUE", help="Rows that have this value; may be repeated.")
@SEED
@OUT
@JSON
def sample(model: str, count: int, given: tuple[str, ...], seed: int, out: str | None, as_json: bool) -> None:
    """Draw new rows from MODEL."""
    from suffice.cli.model import cells, conditioned, loaded
    from suffice.cli.output import Rows, arrow

    found = loaded(model)
    fixed = cells(found, given)
    if count > MOST:
        msg = f"-n is at most {MOST:,} rows at a time; draw several samples, each with a --seed of its own."
        raise click.UsageError(msg)
    rows = conditioned(found, fixed).sample(count, random_state=seed)
    with Rows(out, as_json=as_json) as answers:
        answers.write(arrow(_in_order(found, rows, fixed, count)))


def _with_room(frame: Any, layout: tuple[tuple[Any, ...], ...]) -> Any:
    """A table whose whole numbers are real where the model fills in fractions: the same in all parts of a file."""
    import pyarrow as pa

    fine = {name for name, kind, unit in layout if kind == "real" and unit != 1}
    for place, field in enumerate(frame.schema):
        if field.name in fine and pa.types.is_integer(field.type):
            frame = frame.set_column(place, field.name, frame.column(place).cast(pa.float64()))
    return frame


def _impute(found: Model, frame: Any, seed: Any) -> Any:
    """The frame with its holes filled, in its own columns."""
    import numpy as np

    source = found.value if hasattr(found.value, "impute") else found.distribution
    return (
        source.impute(frame)
        if seed is None
        else source.impute(frame, draw=True, random_state=np.random.default_rng(seed))
    )


def _impute_each(found: Model, frame: Any, rows: Sequences, seeds: list[int] | None) -> Any:
    """The frame with the holes of each sequence filled by its rows in order, and the rows where they were."""
    import numpy as np
    import pyarrow as pa

    places = np.arange(len(frame)) if rows.order is None else rows.order
    parts = [frame.take(places[rows.ends[i] : rows.ends[i + 1]]) for i in range(len(rows))]
    filled = [_impute(found, part, None if seeds is None else [*seeds, i]) for i, part in enumerate(parts)]
    return pa.concat_tables(filled, promote_options="permissive").take(np.argsort(places))


def _holes(rows: Data) -> int:
    return sum(column.null_count for column in rows.columns)


def _in_order(found: Model, rows: object, fixed: dict[Any, Any], count: int) -> dict[Any, Any]:
    """Drawn columns and those that were given, in the order, kinds and units of the table that was fitted."""
    import numpy as np

    from suffice.tables.layout import restore

    if not isinstance(rows, dict):  # an array, or the only column
        left = [name for name in found.names if name not in fixed]
        rows = dict(zip(left, np.asarray(rows).reshape(count, -1).T, strict=True))
    model = found.joint
    drawn = restore(found.layout, {name: np.asarray(values) for name, values in rows.items()}, model)
    given = restore(found.layout, {name: np.asarray([fixed[name]] * count) for name in fixed}, model)
    order = [*(name for name, *_ in found.layout), *found.names]
    return {name: drawn.get(name, given.get(name)) for name in dict.fromkeys(order) if name in found.names}
