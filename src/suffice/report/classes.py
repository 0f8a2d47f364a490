"""Confusion, calibration and explanations of a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.display.names import display_name
from suffice.models.class_explanation import Explanation, explain
from suffice.plot.canvas import BLUE, GREY, axes, dress, title
from suffice.plot.model_view import ModelView
from suffice.tables.labels import read_labels
from suffice.types import Array, Data

BINS = 10
MOST = 20  # classes of a table
LABELS = 30  # letters of a class


def codes(view: ModelView, target: Data) -> Array:
    """The class of each row by its number; −1 where it is unknown or none of the model's."""
    found = read_labels(np.asarray(target, dtype=object), "target", 1).columns[0]
    return np.asarray(found.among(found.places(tuple(view.model.labels))), dtype=int)


def confusion(view: ModelView, true: Array) -> dict[str, Any] | None:
    """How often each class was taken for which, on rows whose class is known."""
    k, seen = len(view.parts), true >= 0
    if k > MOST or not seen.any():
        return None
    table = np.zeros((k, k), int)
    np.add.at(table, (true[seen], view.owners[seen]), 1)
    names = [display_name(name, LABELS) for name in view.components]
    rows = [{"name": names[j], "cells": table[j].tolist(), "right": _share(table[j, j], table[j].sum())}
            for j in range(k)]  # fmt: skip
    right = int(np.trace(table))
    loss = -np.log(np.maximum(view.responsibilities[seen, true[seen]], 1e-300)).mean()
    return {
        "names": names, "rows": rows, "right": _share(right, int(seen.sum())), "n": f"{int(seen.sum()):,}",
        "log_loss": f"{loss:.3f}",
    }  # fmt: skip


def _share(part: int, whole: int) -> str:
    return "–" if not whole else f"{100 * part / whole:.1f} %"


def calibration(view: ModelView, true: Array) -> Any:
    """How often the most probable class was right, by the probability that it had been given."""
    seen = true >= 0
    sure = view.responsibilities[seen].max(axis=1)
    right = view.owners[seen] == true[seen]
    place = np.minimum((sure * BINS).astype(int), BINS - 1)
    count = np.bincount(place, minlength=BINS)
    there = count > 0
    x = np.bincount(place, sure, BINS)[there] / count[there]
    y = np.bincount(place, right, BINS)[there] / count[there]
    error = np.sqrt(np.maximum(y * (1 - y), 1e-12) / count[there])
    ax = axes(None, (4.2, 3.2))
    low = min(float(x.min()), float(y.min()), 0.5) if len(x) else 0.0
    ax.plot([low, 1], [low, 1], color=GREY, lw=1)
    ax.vlines(x, np.clip(y - error, 0, 1), np.clip(y + error, 0, 1), color=BLUE, lw=2, alpha=0.45)
    ax.scatter(x, y, s=14 + 90 * count[there] / count.max(), color=BLUE, lw=0, zorder=3)
    ax.set(xlabel="probability given to the class", ylabel="share that was right")
    title(ax, "calibration; larger points: more rows")
    dress(ax)
    ax.margins(0.06)
    return ax


def doubtful(view: ModelView, true: Array | None) -> tuple[int, Explanation] | None:
    """A row to explain: the surest of those that were wrong, else the one that is most in doubt."""
    if len(view.parts) < 2 or not view.n:
        return None
    sure = view.responsibilities.max(axis=1)
    wrong = np.zeros(view.n, bool) if true is None else (true >= 0) & (true != view.owners)
    row = int(np.argmax(np.where(wrong, sure, -1.0))) if wrong.any() else int(np.argmin(sure))
    one = view.at(np.array([row]))
    values = {column.name: _value(column) for column in one.columns}
    by_place = list(values)

    def name(column: Any) -> Any:
        return column if column in values else by_place[column]

    return row, explain(view.model, one.rows, None, None, name, lambda column: values[name(column)])


def _value(column: Any) -> Any:
    if column.cells is None:
        return None
    value = column.cells[0]
    if column.kind == "label":
        return None if value < 0 else column.levels[int(value)]
    return float(value)
