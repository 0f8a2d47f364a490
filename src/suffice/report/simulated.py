"""Rows drawn from the model compared with the real ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.display.names import display_name
from suffice.display.values import number, percent
from suffice.plot.canvas import BLUE, DARK, GREY, axes, dress, plain, title
from suffice.plot.column import Column
from suffice.plot.model_view import ModelView
from suffice.types import Array

MOST = 100_000  # rows that are drawn
LEVELS = 6  # of a column in the table
POINTS = 60  # levels of a picture
PANELS = 12
WIDE = 12  # columns of the matrix of correlations
QUANTILES = (0.05, 0.5, 0.95)
CHANCE = 1.63  # of the distance of two samples, × √(1/n + 1/m): 1 % of pairs from one distribution are farther apart


@dataclass(frozen=True)
class Pair:
    """One column, real and simulated."""

    real: Column
    drawn: Column

    @property
    def cells(self) -> tuple[Array, Array]:
        """The cells that are there."""
        return self.real.values[self.real.seen], self.drawn.values[self.drawn.seen]


def simulate(view: ModelView, seed: int) -> tuple[ModelView, int]:
    """As many rows as there are, drawn by the model, in the form in which it reads rows."""
    n = min(max(view.n, 1), MOST)
    rows = view.model.read(view.model.sample(n, seed))
    return replace(view, rows=rows, row_weights=None, shares=None), n


def comparison(view: ModelView, drawn: ModelView, most: int) -> dict[str, Any]:
    """Tables of the most informative columns: moments and quantiles, frequencies of labels, correlations."""
    kept = {column.name for column in view.most_informative(most)}
    pairs = [Pair(a, b) for a, b in zip(view.columns, drawn.columns, strict=True) if a.name in kept]
    amounts = [_amounts(pair) for pair in pairs if pair.real.kind != "label"]
    labels = [row for pair in pairs if pair.real.kind == "label" for row in _labels(pair)]
    found = _correlations(pairs)
    return {
        "left_out": len(view.columns) - len(pairs),
        "pairs": pairs,
        "amounts": amounts,
        "labels": labels,
        "correlations": found,
    }


def _amounts(pair: Pair) -> dict[str, Any]:
    real, drawn = pair.cells
    if not len(real) or not len(drawn):
        return {"name": display_name(pair.real.label), "cells": ["–"] * 10, "distance": "–", "far": False}
    sides = [[np.mean(x), np.std(x), *np.quantile(x, QUANTILES)] for x in (real, drawn)]
    figures = [number(float(value)) for both in zip(*sides, strict=True) for value in both]
    distance = _distance(real, drawn)
    far = distance > CHANCE * np.sqrt(1 / len(real) + 1 / len(drawn))
    return {"name": display_name(pair.real.label), "cells": figures, "distance": f"{distance:.3f}", "far": bool(far)}


def _distance(real: Array, drawn: Array) -> float:
    """The largest difference of the two cumulative distributions."""
    at = np.union1d(real, drawn)
    sides = [np.searchsorted(np.sort(one), at, side="right") / len(one) for one in (real, drawn)]
    return float(np.max(np.abs(sides[0] - sides[1])))


def _labels(pair: Pair) -> list[dict[str, Any]]:
    real, drawn = pair.real.observed, pair.drawn.observed
    order = np.argsort(-np.maximum(real, drawn), kind="stable")
    rows = []
    for i in order[:LEVELS]:
        difference = 100 * (drawn[i] - real[i])
        rows.append({
            "name": display_name(pair.real.label),
            "level": display_name(pair.real.levels[i], 30), "real": percent(real[i]),
            "drawn": percent(drawn[i]), "difference": f"{difference:+.1f}".replace("-", "−"),
        })  # fmt: skip
    if len(order) > LEVELS:
        rest = order[LEVELS:]
        rows.append({
            "name": display_name(pair.real.label), "level": f"{len(rest)} others", "real": percent(real[rest].sum()),
            "drawn": percent(drawn[rest].sum()), "difference": "",
        })  # fmt: skip
    return rows


# ---- correlations ---------------------------------------------------------------------------------------------------
def _correlations(pairs: list[Pair]) -> dict[str, Any] | None:
    usable = [pair for pair in pairs if pair.real.kind != "label" or len(pair.real.levels) == 2]
    if len(usable) < 2:
        return None
    real, drawn = (_matrix([getattr(pair, side) for pair in usable]) for side in ("real", "drawn"))
    names = [pair.real.label for pair in usable]
    apart = np.abs(np.nan_to_num(drawn - real))
    rows, columns = np.triu_indices(len(usable), 1)
    order = np.argsort(-apart[rows, columns], kind="stable")
    largest = [
        {"pair": f"{display_name(names[rows[i]])} and {display_name(names[columns[i]])}",
         "real": number(real[rows[i], columns[i]], 2), "drawn": number(drawn[rows[i], columns[i]], 2)}
        for i in order[:5]
    ]  # fmt: skip
    kept = np.unique(np.concatenate([rows[order], columns[order]])) if len(usable) <= WIDE else _foremost(apart)
    return {
        "largest": largest, "names": [names[i] for i in kept], "left_out": len(usable) - len(kept),
        "real": real[np.ix_(kept, kept)], "drawn": drawn[np.ix_(kept, kept)],
    }  # fmt: skip


def _foremost(apart: Array) -> Array:
    return np.sort(np.argsort(-apart.max(axis=1), kind="stable")[:WIDE])


def _matrix(columns: list[Column]) -> Array:
    """Correlations of the rows in which both cells are there."""
    table = np.array([np.where(one.seen, np.asarray(one.cells, float), np.nan) for one in columns])
    found = np.eye(len(table))
    for a in range(len(table)):
        for b in range(a):
            both = np.isfinite(table[a]) & np.isfinite(table[b])
            left, right = table[a, both], table[b, both]
            steady = len(left) < 3 or not np.ptp(left) or not np.ptp(right)
            found[a, b] = found[b, a] = np.nan if steady else np.corrcoef(left, right)[0, 1]
    return found


# ---- pictures -------------------------------------------------------------------------------------------------------
def matrix(found: dict[str, Any]) -> Any:
    """Correlations of real rows below the diagonal, of simulated ones above it."""
    d = len(found["names"])
    ax = axes(None, (1.9 + 0.42 * max(d, 4), 1.2 + 0.42 * max(d, 4)))
    both = np.where(np.tri(d, dtype=bool), found["real"], found["drawn"])
    np.fill_diagonal(both, np.nan)
    ax.imshow(both, cmap="PuOr", vmin=-1, vmax=1)
    for a, b in np.ndindex(d, d):
        if a != b and np.isfinite(both[a, b]):
            ink = "#fefefe" if abs(both[a, b]) > 0.6 else "#010101"
            text = f"{both[a, b]:.2f}".replace("0.", ".").replace("-", "−")
            ax.text(b, a, text, ha="center", va="center", fontsize=7, color=ink)
    names = [plain(name, 16) for name in found["names"]]
    ax.set_xticks(range(d), names, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(d), names)
    ax.tick_params(length=0, labelsize=8)
    ax.spines[:].set_visible(False)
    title(ax, "real below the diagonal, simulated above")
    return ax


def panel(pair: Pair) -> Any:
    """Quantiles of simulated cells against those of real ones, or shares of levels: on the line where they agree."""
    ax = axes(None, (2.3, 2.2))
    real, drawn = pair.cells
    left_out = ""
    if pair.real.kind == "label":
        x, y = pair.real.observed, pair.drawn.observed
        most = np.argsort(-np.maximum(x, y), kind="stable")[:POINTS]  # the rarest lie on each other
        left_out = f", top {POINTS} of {len(x):,} levels" if len(x) > POINTS else ""
        x, y = x[most], y[most]
    else:
        at = np.linspace(0.01, 0.99, 33)
        x, y = (np.quantile(cells, at) if len(cells) else np.full(33, np.nan) for cells in (real, drawn))
    ends = [value for value in (*x, *y) if np.isfinite(value)] or [0.0, 1.0]
    low, high = (0.0, max(ends)) if pair.real.kind == "label" else (min(ends), max(ends))
    ax.plot([low, high], [low, high], color=GREY, lw=1)
    ax.plot(x, y, "o", color=BLUE, ms=3.2, mec="none", alpha=0.85)
    ax.set_title(plain(pair.real.label, 24), fontsize=9, loc="left")
    what = "share" if pair.real.kind == "label" else "quantile"
    ax.set_xlabel(f"real {what}{left_out}", fontsize=8, color=DARK)
    ax.set_ylabel(f"simulated {what}", fontsize=8, color=DARK)
    ax.locator_params(nbins=4)
    ax.tick_params(labelsize=7)
    dress(ax)
    ax.margins(0.05)
    return ax
