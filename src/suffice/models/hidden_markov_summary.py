"""What to say of a hidden Markov model: its states as columns, how long each lasts, where it goes, and what to mind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from suffice.display.summary import Parameter, Summary
from suffice.display.values import count, number
from suffice.models.boundary import on_boundary_if_near, without_rows
from suffice.models.spurious_components import COLLAPSED, collapsed_columns, diagnose
from suffice.models.summaries import hidden, numbers_of_mixture, of_mixture
from suffice.types import Alert

LIKELY = 0.01  # a move that is less probable is not named
TARGETS = 3  # moves that are named for each state


def summarize(model: Any, names: Any, fit: Any) -> Summary:
    """The summary of a model: what each state says of each column, and notes about its moves."""
    mixture = model.row_distribution if model.ready else model.mixture_by(np.full(model.n, 1 / model.n))
    own = of_mixture(mixture, names, None)
    kinds = {str(one.name) for one in mixture.parts}
    kind = f"{kinds.pop()} " if len(kinds) == 1 else ""
    states = "state" if model.n == 1 else "states"
    title = f"Hidden Markov model of {model.n} {kind}{states}"
    if not model.ready:
        return Summary(title, judged=False)
    heads = own.components
    if fit is not None:
        rows = np.asarray(fit.statistics.count)
        heads = tuple(replace(head, rows=float(rows[j])) for j, head in enumerate(heads))
    return replace(
        own,
        title=title,
        components=heads,
        statistics=() if fit is None else hidden(model, fit),
        measure=own.measure.replace("component", "state"),
        rows=tuple(replace(row, note=row.note.replace("components", "states")) for row in own.rows),
        parameters=model.numbers(names, None if fit is None else fit.__dict__.get("standard_errors")),
        notes=(*own.notes, *moves(model)),
    )


def moves(model: Any) -> tuple[str, ...]:
    """How long each state lasts, and where it goes next."""
    found = []
    for j, row in enumerate(model.transitions):
        stay = float(row[j])
        lasts = "never ends" if stay >= 1 else f"lasts {number(1 / (1 - stay), 3)} rows on average"
        away = sorted(((float(p), i) for i, p in enumerate(row) if i != j and p >= LIKELY), reverse=True)[:TARGETS]
        goes = ", ".join(f"to {i} ({p:.2f})" for p, i in away)
        found.append(f"state {j} {lasts}, stays with {stay:.2f}{f', goes {goes}' if goes else ''}")
    return tuple(found)


def numbers(model: Any, names: Any, errors: Any, reach: float) -> tuple[Parameter, ...]:
    """Initial probabilities and transitions of each state, then the numbers of its emission."""
    mixture = model.row_distribution
    known = None if errors is None else {**errors, "weights": np.full(model.n, np.nan)}
    inner = [
        one
        for one in numbers_of_mixture(mixture, names, known, reach)
        if one.label != "weight" or one.column is not None
    ]
    found = []
    for j in range(model.n):
        own = [("initial", float(model.initial[j]), _error(errors, "initial", (j,)), "initial" in model.fixed)]
        fixed = "transitions" in model.fixed
        own += [
            (f"to {i}", float(p), _error(errors, "transitions", (j, i)), fixed)
            for i, p in enumerate(model.transitions[j])
        ]
        for label, value, error, kept in own:
            low, high = max(value - reach * error, 0.0), min(value + reach * error, 1.0)
            ends = (low, high) if np.isfinite(error) else (np.nan, np.nan)
            found.append(Parameter(None, label, value, error, *ends, kept, j))
        found += [one for one in inner if str(one.component).split("/")[0] == str(j)]
    return tuple(found)


def _error(errors: Any, name: str, place: tuple[int, ...]) -> float:
    return float("nan") if errors is None else float(np.asarray(errors[name])[place])


def alerts(model: Any, stats: Any, prior: Any) -> tuple[Alert, ...]:
    """What to know of the states, as estimated under a ``prior``, before trusting them."""
    found: list[Alert] = []
    mixture, belief = model.row_distribution, model.priors(prior).get("emissions")
    doubts, empty = diagnose(mixture, stats), without_rows(stats)
    for index in np.flatnonzero(doubts.degenerate).tolist():
        told = (
            f"state {index} ({rows_of(stats, index)}) shrank until it reached the floor under its spread",
            collapsed_columns(mixture, [index]),
            (
                ": it describes repeated or nearly repeated rows, and inflates the likelihood. Use fewer states, a "
                "structure that shares its spread, or prior='weak'."
            ),
        )
        found.append(Alert("collapsed", told, component=index))
    for index in np.flatnonzero(doubts.few & ~doubts.degenerate & ~empty).tolist():
        text = (
            f"state {index} rests on {rows_of(stats, index)}, too few to tell a state from chance. Use fewer states "
            "or a prior."
        )
        found.append(Alert("few rows", text, component=index))
    for index in np.flatnonzero(empty).tolist():
        text = f"state {index} is visited by no row: its parameters mean nothing. Use fewer states."
        found.append(Alert("empty", text, component=index))
    for index in np.flatnonzero((np.diag(model.transitions) >= 1) & ~empty).tolist():
        if "transitions" in model.free and model.n > 1 and model.possible_moves is None:
            text = f"state {index} is never left again in the data, so how long it lasts is not known."
            found.append(Alert("boundary", text, component=index, prior_advice="A prior of the transitions tells it."))
    emissions = on_boundary_if_near(model.emissions, stats.components, stats.row, belief)
    codes = {alert.code for alert in found}
    own = emissions.alerts_under(stats.components, belief)
    return (*found, *(alert for alert in own if not (alert.code in COLLAPSED and codes & COLLAPSED)))


def rows_of(stats: Any, index: int) -> str:
    """The rows of a state, to three digits."""
    return str(count(float(f"{stats.rows[index]:.3g}"), "row"))
