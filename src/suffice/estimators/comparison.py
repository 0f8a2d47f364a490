"""What a comparison of classifiers found, as values that print as tables."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.display.table import column_widths, table_lines
from suffice.types import Alert, Array

WIDTH = 80  # columns of a terminal, which no line is wider than
SHOWN = 12  # columns of the data whose weights are printed
LABEL = 6  # letters of their names at least


@dataclass(frozen=True, eq=False)
class Surface:
    """Log-odds of the second of two classes over two columns, for a boundary that is not a line: (y, x) on a grid."""

    x: Array
    y: Array
    log_odds: Array


@dataclass(frozen=True, eq=False)
class Boundary:
    """Where two classes are equally good: w·x + b = 0, in the units of the columns; above 0 the second is better.

    Of two classes w has shape (d,), and b is a number; of k, one boundary of each class with the first, (k − 1, d) and
    (k − 1,). ``direction`` is w/‖w‖ and ``offset`` b/‖w‖, by which boundaries can be compared whatever their scale.
    """

    w: Any
    b: Any

    def __post_init__(self) -> None:
        """Of two classes, drop the axis that has one place."""
        if np.ndim(self.w) == 2 and len(self.w) == 1:
            object.__setattr__(self, "w", np.asarray(self.w)[0])
            object.__setattr__(self, "b", float(np.asarray(self.b)[0]))

    @property
    def length(self) -> Any:
        """‖w‖."""
        return np.linalg.norm(self.w, axis=-1)

    @property
    def direction(self) -> Array:
        """w/‖w‖."""
        return np.asarray(self.w / np.expand_dims(self.length, -1))

    @property
    def offset(self) -> Any:
        """b/‖w‖."""
        return self.b / self.length


@dataclass(frozen=True, eq=False)
class Curve:
    """Held-out error and log-loss by number of training rows: arrays (sizes,), each a mean over the splits.

    ``error_se`` and ``log_loss_se`` are standard errors of these means over the splits; ``errors`` and ``log_losses``
    (splits, sizes) are what they were taken of.
    """

    sizes: Array
    errors: Array
    log_losses: Array

    @property
    def error(self) -> Array:
        """The share of held-out rows that were given a wrong class."""
        return np.asarray(self.errors.mean(axis=0))

    @property
    def error_se(self) -> Array:
        """Its standard error."""
        return standard_error(self.errors)

    @property
    def log_loss(self) -> Array:
        """The mean of −log p(y | x) over held-out rows."""
        return np.asarray(self.log_losses.mean(axis=0))

    @property
    def log_loss_se(self) -> Array:
        """Its standard error."""
        return standard_error(self.log_losses)


def standard_error(values: Array) -> Array:
    """The standard error of a mean over the first axis; NaN of a single value."""
    n = len(values)
    return np.std(values, axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(values.shape[1:], np.nan)


@dataclass(frozen=True, eq=False)
class Lead:
    """The held-out error of the generative model less that of a discriminative one: arrays (sizes,).

    ``gain`` is the difference, ``se`` its standard error: over splits or over rows, whichever is larger.
    """

    sizes: Array
    gain: Array
    se: Array

    @property
    def crossover(self) -> int | None:
        """The first size from which on the gain is more than its standard error; None where there is none."""
        behind = np.flatnonzero(~(self.gain > self.se))
        first = int(behind[-1]) + 1 if len(behind) else 0
        return int(self.sizes[first]) if first < len(self.sizes) else None


@dataclass(frozen=True, eq=False)
class Reliability:
    """How often a class was right that had been given the probability p: one entry for each of ten bins of p.

    Of two classes p is that of the second; of more, that of the most probable. ``weight`` is the weight of held-out
    rows over all splits, ``predicted`` the mean of p, ``observed`` how often it was so; NaN where a bin is empty.
    """

    weight: Array
    predicted: Array
    observed: Array

    @property
    def error(self) -> float:
        """The expected calibration error: the mean of |predicted − observed|, by weight."""
        gap = np.where(self.weight > 0, np.abs(self.predicted - self.observed), 0.0)
        return float(self.weight @ gap / self.weight.sum())


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """A generative classifier compared with discriminative ones; print it for the tables.

    Attributes
    ----------
    models
        ``{name: what it is}``; the names are ``"generative"``, ``"logistic"`` and ``"svm"``.
    classes, columns
        The labels, and the names of the columns of x.
    rows, held_out
        Number of rows, and how many of them each split holds out.
    plane, surfaces
        Points and what models make of them, where x has two columns, for :func:`suffice.plot`.
    table
        One dictionary for each model: ``model``, ``error``, ``error_se``, ``log_loss``, ``log_loss_se`` and
        ``calibration_error`` on held-out rows, learned from the largest number of rows. The margins of the support
        vector machine are not probabilities: it has no log-loss, NaN.
    curves
        ``{name: Curve}``, held-out error and log-loss by number of training rows.
    leads
        ``{name: Lead}`` of the discriminative models, how much lower their error is than that of the generative model.
    crossover
        ``{name: size}`` of the discriminative models: the first number of rows from which on that lead is more than
        its standard error; None where none was seen.
    boundaries
        ``{name: Boundary}`` (w, b) as learned from all rows; None where the log-odds are not linear in the columns.
    calibration
        ``{name: Reliability}`` of the models with probabilities, over the held-out rows of all splits.
    alerts
        What to know before trusting it.
    """

    models: dict[str, str]
    classes: tuple[Any, ...]
    columns: tuple[str, ...]
    rows: int
    held_out: int
    curves: dict[str, Curve]
    leads: dict[str, Lead]
    boundaries: dict[str, Boundary | None]
    calibration: dict[str, Reliability]
    alerts: tuple[Alert, ...] = ()
    plane: tuple[Array, Array] | None = field(default=None, repr=False)  # rows and classes to draw, of two columns
    surfaces: dict[str, Surface] = field(default_factory=dict, repr=False)  # of models whose boundary is curved

    @property
    def table(self) -> list[dict[str, Any]]:
        """What each model reached with most rows."""
        found = []
        for name, curve in self.curves.items():
            pairs = {key: float(getattr(curve, key)[-1]) for key in ("error", "error_se", "log_loss", "log_loss_se")}
            ece = self.calibration[name].error if name in self.calibration else np.nan
            found.append({"model": name, **pairs, "calibration_error": ece})
        return found

    @property
    def crossover(self) -> dict[str, int | None]:
        """The number of rows from which on each discriminative model is better."""
        return {name: lead.crossover for name, lead in self.leads.items()}

    @property
    def sizes(self) -> Array:
        """The numbers of training rows."""
        return self.curves["generative"].sizes

    @property
    def repeats(self) -> int:
        """The number of splits."""
        return len(self.curves["generative"].errors)

    def __repr__(self) -> str:
        """Show what was compared, held-out scores, learning curves, boundaries and calibration."""
        parts = [self._head(), self._scores(), self._curves(), self._boundaries(), self._calibration()]
        notes = [_wrap(f"{code}: {text}", "! ", "  ") for code, text in self.alerts]
        page = "\n\n".join(parts + (["\n".join(notes)] if notes else []))
        return "\n".join(line.rstrip() for line in page.splitlines())

    def _head(self) -> str:
        columns = len(self.columns)
        what = f"{len(self.classes)} classes, {self.rows:,} rows × {columns} column{'s'[: columns != 1]}"
        how = f"{self.repeats} split{'s'[: self.repeats != 1]}, {self.held_out:,} rows held out of each"
        lines = [f"{what}; {how}"]
        lines += [_wrap(words, f"{name:<12}", " " * 12) for name, words in self.models.items()]
        return "\n".join(lines)

    def _scores(self) -> str:
        cells = [["", "error", "log-loss", "calibration error"]]
        for row in self.table:
            ece = f"{row['calibration_error']:.4f}" if np.isfinite(row["calibration_error"]) else "–"
            cells.append(
                [row["model"], *(_plus_minus(row[key], row[f"{key}_se"]) for key in ("error", "log_loss")), ece]
            )
        return "\n".join([f"Held out, after learning from {self.sizes[-1]:,} rows", *_align(cells)])

    def _curves(self) -> str:
        cells = [["rows", *self.curves]]
        for place, size in enumerate(self.sizes):
            pairs = [(curve.error[place], curve.error_se[place]) for curve in self.curves.values()]
            cells.append([f"{size:,}", *(_plus_minus(*pair) for pair in pairs)])
        lines = ["Learning curves: held-out error by number of training rows", *_align(cells, words=0)]
        lines += [f"crossover: {text}" for text in self.crossings().values()]
        return "\n".join(lines)

    def crossings(self) -> dict[str, str]:
        """Each crossover in words."""
        first, last = self.sizes[0], self.sizes[-1]
        found = {}
        for name, size in self.crossover.items():
            if size is None:
                found[name] = f"{name}, none seen up to {last:,} rows"
            elif size == first:
                found[name] = f"{name} is ahead from the start, {size:,} rows"
            else:
                found[name] = f"{name} overtakes the generative model at {size:,} rows"
        return found

    def _boundaries(self) -> str:
        known = {name: one for name, one in self.boundaries.items() if one is not None}
        absent = [name for name in self.boundaries if name not in known]
        lines = [f"the log-odds of {name} are not linear in the columns: it has no w and b" for name in absent]
        if len(self.classes) > 2:
            text = "Boundaries: .boundaries holds (w, b) of each class with the first, of " + ", ".join(known)
            return "\n".join([_wrap(text, "", ""), *lines])
        head = f"Boundary w·x + b = 0, from all {self.rows:,} rows; above 0: {self.classes[1]!r:.30}"
        cells = [[*known, *known]]
        for place in range(min(len(self.columns), SHOWN)):
            weights = [f"{one.w[place]:.4g}" for one in known.values()]
            cells.append([*weights, *(f"{one.direction[place]:+.4f}" for one in known.values())])
        cells.append([f"{one.b:.4g}" for one in known.values()] + [f"{one.offset:+.4g}" for one in known.values()])
        wide = [width + 2 for width in column_widths(cells)]
        left, right = sum(wide[: len(known)]), sum(wide[len(known) :])
        names = [_short(name, max(WIDTH - left - right - 2, LABEL)) for name in ["", *self.columns[:SHOWN], "b"]]
        head += f"\n{' ' * (2 + max(map(len, names)))}{'w, b':>{left}}{'w/‖w‖, b/‖w‖':>{right}}"
        table = _align([[name, *line] for name, line in zip(names, cells, strict=True)])
        if len(self.columns) > SHOWN:
            table.insert(-1, f"  … {len(self.columns) - SHOWN} more columns")
        return "\n".join([head, *table, *lines])

    def _calibration(self) -> str:
        what = f"p({self.classes[1]!r:.30})" if len(self.classes) == 2 else "p of the most probable class"
        cells = [["p", *(text for name in self.calibration for text in (name, "observed", "rows"))]]
        for place in range(len(next(iter(self.calibration.values())).weight)):
            line = [f"{place / 10:.1f}–{(place + 1) / 10:.1f}"]
            for one in self.calibration.values():
                some = one.weight[place] > 0
                line += [f"{one.predicted[place]:.3f}", f"{one.observed[place]:.3f}"] if some else ["–", "–"]
                line.append(f"{one.weight[place]:,.6g}")
            if any(one.weight[place] > 0 for one in self.calibration.values()):
                cells.append(line)
        return "\n".join([f"Calibration of {what}: mean p, and how often it was so", *_align(cells)])


def _align(cells: list[list[str]], words: int = 1) -> list[str]:
    """Rows of cells under each other: the first ``words`` columns to the left, numbers to the right."""
    return table_lines(cells, range(words, len(cells[0])), indent="  ")


def _plus_minus(value: float, error: float) -> str:
    if not np.isfinite(value):
        return "–" if np.isnan(value) else "inf"
    return f"{value:.4f} ± {error:.4f}" if np.isfinite(error) else f"{value:.4f}"


def _short(name: str, room: int) -> str:
    return name if len(name) <= room else name[: room - 1] + "…"


def _wrap(text: str, first: str, then: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=then)
