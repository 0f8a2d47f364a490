"""Why a row was given a class: the log-odds as a sum, one term for each column."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.display.names import LONGEST, fitted, sentence
from suffice.display.names import display_name as visible
from suffice.display.table import rich_table, table_lines
from suffice.display.text import line_width
from suffice.errors import ParameterError
from suffice.types import Array, Data

WIDTH = 24  # characters of the longest bar of a table
BAR = 16  # and on either side, where both directions have one
SIDES = ((-1, "red"), (1, "green"))


@dataclass(frozen=True)
class Explanation:
    """The log-odds of a class against another, as prior log-odds plus one term for each independent piece of the row.

    Attributes
    ----------
    label, against
        The class, and the one that it is compared with.
    prior
        log p(label) − log p(against).
    terms
        ``{column: log p(cell | label) − log p(cell | against)}``: positive terms speak for the class. Columns that are
        described together are one term, by a tuple of their names. Missing cells say nothing: 0.
    values
        The cells, by the same names.
    log_odds, probability
        The sum of it all, and p(label | row) among all classes.
    notes
        ``{column: "unseen"}`` where a cell holds a label that no row had, and ``"impossible"`` where it has probability
        0 under every class and is left out, like a missing one.
    """

    label: Any
    against: Any
    prior: float
    terms: dict[Any, float]
    values: dict[Any, Any]
    log_odds: float
    probability: float
    notes: dict[Any, str] = field(default_factory=dict)

    def cell(self, name: Hashable) -> str:
        """The cell of a column in few letters, with what there is to know of it."""
        note = f" ({self.notes[name]})" if name in self.notes else ""
        return display_name(self.values.get(name)) + note

    @property
    def sorted(self) -> dict[Any, float]:
        """The terms, those that weigh most first."""
        return dict(sorted(self.terms.items(), key=lambda item: -abs(item[1])))

    def lines(self, room: int = LONGEST) -> list[tuple[str, str, float]]:
        """What adds up: name, cell and term of the prior, of every column, those that weigh most first, and the sum."""
        lines = [(fitted(named(name), room), fitted(self.cell(name), room), t) for name, t in self.sorted.items()]
        return [("prior", "", self.prior), *lines, ("log-odds", "", self.log_odds)]

    @property
    def title(self) -> str:
        """The two classes and the probability of the first."""
        label, against = _quoted(self.label), _quoted(self.against)
        return f"{label} against {against}: p({label} | row) = {self.probability:.4g}"

    @property
    def _most(self) -> float:
        """The largest finite term."""
        return max((abs(term) for _, _, term in self.lines()[:-1] if np.isfinite(term)), default=0.0) or 1.0

    def summary(self, width: int | None = None) -> str:
        """A table with a bar for each term, those that weigh most first, in lines of a width."""
        wide = line_width(width)
        bars = WIDTH if wide >= 60 else 0
        lines, most = self.lines(max((wide - bars - 16) // 2, 6)), self._most
        ends = [*(_bar(term, most) if bars else "" for *_, term in lines[:-1]), ""]
        cells = [(name, cell, f"{term:+10.4f}", end) for (name, cell, term), end in zip(lines, ends, strict=True)]
        rows = table_lines(cells, (1, 2))
        return "\n".join([*sentence(self.title, wide, then="  "), *rows])

    def __str__(self) -> str:
        """Show the table."""
        return self.summary()

    def _repr_html_(self) -> str:
        """Show the same as a table in a notebook."""
        from suffice.display.html import bar, boxed, prose, table

        rows = []
        for name, cell, term in self.lines()[:-1]:
            bars = [bar(self._share(s * term)) for s in (-1, 1)]
            against, towards = (one if s * term > 0 else "" for s, one in zip((-1, 1), bars, strict=True))
            rows.append([prose(name), prose(cell), f"{term:+.4f}", against, towards])
        rows.append(["log-odds", "", f"<strong>{self.log_odds:+.4f}</strong>", "", ""])
        head = [
            "column",
            "cell",
            "log-odds",
            f"for {prose(_quoted(self.against))}",
            f"for {prose(_quoted(self.label))}",
        ]
        return boxed(f"<p style='margin:0'><strong>{prose(self.title)}</strong></p>", table(head, rows, (2, 3)))

    def _share(self, term: float) -> float:
        return 0.0 if term <= 0 else min(term / self._most, 1.0)

    def __rich__(self) -> Any:
        """Show the same as a table of rich, with bars to either side."""
        from rich.text import Text

        rows: list[tuple[Any, ...]] = []
        for name, cell, term in self.lines()[:-1]:
            bars = (Text("█" * round(BAR * self._share(s * term)), style) for s, style in SIDES)
            rows.append((name, cell, f"{term:+.4f}", *bars))
        rows.append((Text("log-odds", "bold"), "", Text(f"{self.log_odds:+.4f}", "bold"), "", ""))
        head = ("column", "cell", "log-odds", f"for {_quoted(self.against)}", f"for {_quoted(self.label)}")
        return rich_table(head, rows, (1, 2, 3), title=self.title)


def explain(
    classes: Any, rows: Any, label: Hashable, against: object, names: Any, values: Callable[..., Any]
) -> Explanation:
    """The evidence of one row, read; ``names`` gives the columns theirs, ``values`` their cells."""
    joint = classes.log_joint(rows)[0]
    first, second = _pair(classes, joint, label, against)
    terms, cells = {}, {}
    for columns, differences in classes.components.log_odds_by_column(rows, first, second):
        keys = tuple(names(column) for column in columns)
        key = keys[0] if len(keys) == 1 else keys
        terms[key] = float(differences[0])
        seen = tuple(values(column) for column in columns)
        cells[key] = seen[0] if len(seen) == 1 else seen
    top = np.max(joint)
    notes = _notes(classes.components, rows, names)
    shares = np.exp(joint - top) if np.isfinite(top) else classes.weights
    return Explanation(
        classes.labels[first],
        classes.labels[second],
        _difference(classes.log_weights[first], classes.log_weights[second]),
        terms,
        cells,
        _difference(joint[first], joint[second]),
        float(shares[first] / np.sum(shares)),
        notes,
    )


def _notes(stack: Family, rows: Data, names: Callable[..., Any]) -> dict[Any, str]:
    """What to know of the cells of a row, by column."""

    def key(columns: Any) -> Any:
        keys = tuple(names(column) for column in columns)
        return keys[0] if len(keys) == 1 else keys

    found = {
        key(columns): "impossible" for columns, scores in stack.log_prob_by_column(rows) if np.isneginf(scores[0]).all()
    }
    return found | {key(columns): "unseen" for columns, strange in stack.unseen_levels(rows) if strange[0]}


def _pair(classes: Any, joint: Array, label: Hashable, against: object) -> tuple[int, int]:
    """The numbers of the two classes: by default the more probable of two, or the best and the next of several."""
    labels = list(classes.labels)
    if len(labels) < 2:
        msg = f"explain compares two classes, and there is only {labels[0]!r}."
        raise ParameterError(msg)
    for one in (label, against):
        if one is not None and one not in labels:
            msg = f"explain: {one!r} is not a class; there are {', '.join(map(repr, labels))}."
            raise ParameterError(msg)
    order = [int(index) for index in np.argsort(-joint, kind="stable")]
    other = None if against is None else labels.index(against)
    first = next(index for index in order if index != other) if label is None else labels.index(label)
    second = next(index for index in order if index != first) if other is None else other
    if first == second:
        msg = f"explain compares two different classes; got {label!r} twice."
        raise ParameterError(msg)
    return first, second


def _difference(left: float, right: float) -> float:
    return 0.0 if left == right else float(left - right)


def named(name: Hashable) -> str:
    """A column, or several, in words."""
    return visible(name)


def display_name(value: object) -> str:
    """A cell, or several, in few letters."""
    if isinstance(value, tuple):
        return ", ".join(map(display_name, value[:4])) + (", …" if value[4:] else "")
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return "missing"
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return f"{value:.6g}" if number else visible(value)


def _quoted(label: Hashable) -> str:
    """A class as its call would name it, in few letters."""
    return f"'{visible(label)}'" if isinstance(label, str) else visible(label)


def _bar(term: float, most: float) -> str:
    length = WIDTH if not np.isfinite(term) else round(WIDTH * min(abs(term) / most, 1.0))
    return ("▇" if term > 0 else "░") * length
