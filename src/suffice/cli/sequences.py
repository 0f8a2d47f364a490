"""Commands about rows that follow each other: decode, which tells their states, and forecast, which looks ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from suffice.cli.rows import FILES, JSON, LEVEL, MODEL, ORDER, OUT, SEQUENCE

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from suffice.cli.model import Model
    from suffice.models.forecast import Forecast
    from suffice.tables.sequences import Sequences

MOST = 1_000_000  # steps of a forecast


def read(data: Any, columns: Sequence[Hashable], sequence: Any, order: Any) -> Sequences:
    """Some columns of all rows as sequences; without ``sequence`` they are a single one."""
    import suffice as sf

    keys = [name for name in dict.fromkeys((sequence, order)) if name is not None]
    rows = data.frame(0, len(data), [*keys, *(name for name in columns if name not in keys)])
    found: Sequences = sf.sequences(rows, by=sequence, order=order)
    return found


def sequences_of(found: Model, files: tuple[str, ...], sequence: str | None, order: str | None) -> Sequences:
    """The rows of files as sequences of a hidden Markov model."""
    from suffice.cli.data import known, opened, used
    from suffice.cli.model import need_states
    from suffice.cli.terminal import note
    from suffice.errors import DataError

    need_states(found)
    data = opened(files)
    if not len(data):
        msg = f"{files[0]} has no rows, only the names of columns: there is no sequence in it."
        raise DataError(msg)
    keys = [
        None if name is None else known(name, data.names, option)
        for name, option in ((sequence, "--sequence"), (order, "--order"))
    ]
    columns = used(data, found.names) or data.names  # where none is known, the library says which are missing
    rows = read(data, columns, *keys)
    for alert in rows.notes:
        note(f"note: {alert.text}")
    return rows


def _opened(model: str, files: tuple[str, ...], sequence: str | None, order: str | None) -> tuple[Model, Any]:
    """A hidden Markov model, and the rows of files as its sequences."""
    from suffice.cli.model import loaded

    found = loaded(model)
    return found, sequences_of(found, files, sequence, order)


@click.command()
@MODEL
@FILES
@SEQUENCE
@ORDER
@click.option("--proba", is_flag=True, help="The probability of each state, too.")
@OUT
@JSON
def decode(
    model: str,
    files: tuple[str, ...],
    sequence: str | None,
    order: str | None,
    proba: bool,
    out: str | None,
    as_json: bool,
) -> None:
    """The state of each row of FILES in the most probable path under MODEL, a hidden Markov model.

    Give --sequence and --order as for suffice fit; without them all rows are one sequence, in the order of the file.
    The column probability is that of the state given all rows of its sequence. Rows keep the order of the file.
    """
    import numpy as np

    from suffice.cli.output import Rows, arrow

    with Rows(out, as_json=as_json) as answers:
        found, rows = _opened(model, files, sequence, order)
        states, probabilities = found.distribution.decode(rows), found.distribution.smooth(rows)
        places = np.arange(len(states))
        columns = {"row": places, "state": states, "probability": probabilities[places, states]}
        every = {f"p({j})": probabilities[:, j] for j in range(probabilities.shape[1])} if proba else {}
        answers.write(arrow({**columns, **every}))


@click.command()
@MODEL
@FILES
@SEQUENCE
@ORDER
@click.option("--steps", type=click.IntRange(1, MOST), default=1, show_default=True, help="How many rows ahead.")
@LEVEL
@OUT
@JSON
def forecast(
    model: str,
    files: tuple[str, ...],
    sequence: str | None,
    order: str | None,
    steps: int,
    level: float,
    out: str | None,
    as_json: bool,
) -> None:
    """What comes after each sequence of FILES under MODEL, a hidden Markov model.

    A line for each step and column: mean, standard deviation and the interval that holds --level; columns of labels
    have a line for each level, with its probability. Give --sequence and --order as for suffice fit.
    """
    import numpy as np

    from suffice.cli.output import Rows, arrow

    with Rows(out, as_json=as_json) as answers:
        found, rows = _opened(model, files, sequence, order)
        ahead = found.distribution.forecast(rows, steps)
        each = ahead if isinstance(ahead, dict) else {(rows.keys or (0,))[0]: ahead}
        lines = [(key, line) for key, one in each.items() for line in _lines(one, level)]
        heads = list(dict.fromkeys(name for _, line in lines for name in line))
        columns = {name: [line.get(name) for _, line in lines] for name in heads}
        if sequence is not None:
            own = "sequence" if sequence in columns else sequence
            columns = {own: [key for key, _ in lines], **columns}
        answers.write(arrow({name: np.array(values, dtype=object) for name, values in columns.items()}))


def _lines(ahead: Forecast, level: float) -> list[dict[str, Any]]:
    """What a forecast says of each step and column: of labels the probability of each level."""
    model = ahead.model
    names = model.column_labels if model.column_names is None else model.column_names
    labelled = {name for name in names if model.emissions.column_levels(name) is not None}
    shares, answers = (ahead.probabilities if labelled else {}), []
    if len(labelled) < len(names):
        answers = [_by_name(one, names) for one in (ahead.mean, ahead.std)]
        ends = ((1 - level) / 2, (1 + level) / 2)
        answers += [_by_name(ahead.quantile(q), names) for q in ends]
    heads = ("mean", "std", f"low {100 * level:g} %", f"high {100 * level:g} %")
    lines: list[dict[str, Any]] = []
    for h in range(len(ahead)):
        for name in names:
            where = {"step": h + 1, "column": str(name)}
            if name in labelled:
                own = shares if model.column_names is None else shares[name]
                lines += [{**where, "level": str(value), "probability": float(p[h])} for value, p in own.items()]
            else:
                lines.append(where | {head: float(one[name][h]) for head, one in zip(heads, answers, strict=True)})
    return lines


def _by_name(values: Any, names: Sequence[Hashable]) -> dict[Hashable, Any]:
    """Answers for rows (h,), (h, d) or by name, each column by its name."""
    import numpy as np

    if isinstance(values, dict):
        return values
    return dict(zip(names, np.asarray(values).reshape(len(values), -1).T, strict=True))
