"""What a report shows of a hidden Markov model: its rows by their states, the states over time, and the transitions."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from suffice import plot
from suffice.display.names import display_name
from suffice.em.result import Fit
from suffice.plot.model_view import ModelView
from suffice.report.drawing import Sheets
from suffice.tables.sequences import Sequences, some_rows
from suffice.tables.sketch import take_rows
from suffice.types import Data


def chain_of(found: object) -> Any:
    """The hidden Markov model of a fit, an estimator, or by itself; None of another model."""
    model = found.distribution if isinstance(found, Fit) else getattr(found, "distribution_", found)
    return model if getattr(model, "is_chain", False) else None


def view_of(found: object, data: Data) -> ModelView:
    """A hidden Markov model as a mixture of its states, whose rows have the states that all of their sequence tell."""
    model = chain_of(found)
    fit = found if isinstance(found, Fit) else getattr(found, "fit_", None)
    given = fit.data[0] if data is None and isinstance(fit, Fit) else data
    rows = model.sequences_of(given, "be reported")
    own = rows.rows if rows.order is None else take_rows(rows.rows, np.argsort(rows.order))  # as they were given
    mixture = model.row_distribution
    names = model.column_names or getattr(fit, "names", None) or model.column_labels
    return ModelView(
        mixture, tuple(mixture.parts), np.asarray(mixture.weights), tuple(f"state {j}" for j in range(model.n)),
        tuple(names), own, shares=model.smooth(given),
    )  # fmt: skip


def over_time(sheets: Sheets, found: object, data: Data, view: ModelView) -> dict[str, Any]:
    """Pictures of the transitions and, where there is a column of numbers, of a sequence with its states."""
    model = chain_of(found)
    drawn = {
        "transitions": sheets.draw("transition matrix", lambda: plot.transitions(model)),
        "band": None,
        "which": "",
    }
    numbers = [one for one in view.drawable if one.kind != "label"]
    if data is None or not numbers:
        return drawn
    column = max(numbers, key=view.information)
    which, rows = _longest(data)
    drawn["which"] = f"{which}column {display_name(column.label)}"
    name: Hashable = column.name if hasattr(rows, "keys") else view.names.index(column.name)
    drawn["band"] = sheets.draw(
        f"{display_name(column.label)} over time, with its states", lambda: plot.states(model, rows, name)
    )
    return drawn


def _longest(data: Data) -> tuple[str, Any]:
    """The longest of several sequences, and how a sentence begins with it; a single one as it is."""
    if not isinstance(data, Sequences):
        return "", data
    index = int(np.argmax(data.lengths))
    begin, end = int(data.ends[index]), int(data.ends[index + 1])
    rows = some_rows(data.rows, slice(begin, end))
    if hasattr(rows, "keys"):
        rows = {name: np.asarray(rows[name]) for name in rows}
    which = "" if len(data) == 1 else f"{display_name(data.label(index), 60)}, the longest of {len(data):,}; "
    return which, rows
