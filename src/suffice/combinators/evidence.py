"""Why a row was given a class: the log-odds as a sum, one term for each column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.errors import ParameterError

WIDTH = 24  # characters of the longest bar of a table


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
    """

    label: Any
    against: Any
    prior: float
    terms: dict[Any, float]
    values: dict[Any, Any]
    log_odds: float
    probability: float

    @property
    def sorted(self) -> dict[Any, float]:
        """The terms, those that weigh most first."""
        return dict(sorted(self.terms.items(), key=lambda item: -abs(item[1])))

    def __str__(self) -> str:
        """Show a table with a bar for each term, those that weigh most first."""
        lines: list[tuple[str, str, float]] = [("prior", "", self.prior)]
        lines += [(named(name), shown(self.values.get(name)), term) for name, term in self.sorted.items()]
        lines.append(("log-odds", "", self.log_odds))
        finite = [abs(term) for _, _, term in lines[:-1] if np.isfinite(term)]
        most = max(finite, default=0.0) or 1.0
        names, cells = max(len(name) for name, _, _ in lines), max(len(cell) for _, cell, _ in lines)
        head = f"{self.label!r} against {self.against!r}: p({self.label!r} | row) = {self.probability:.4g}"
        table = [f"{name:<{names}}  {cell:>{cells}}  {term:+10.4f}  {_bar(term, most)}" for name, cell, term in lines]
        return "\n".join([head, *(line.rstrip() for line in table[:-1]), table[-1].rstrip(" ▇░")])


def explain(classes: Any, rows: Any, label: Any, against: Any, names: Any, values: Any) -> Explanation:
    """The evidence of one row, read; ``names`` gives the columns theirs, ``values`` their cells."""
    joint = classes.log_joint(rows)[0]
    first, second = _pair(classes, joint, label, against)
    terms, cells = {}, {}
    for columns, differences in classes.components.contrasts(rows, first, second):
        keys = tuple(names(column) for column in columns)
        key = keys[0] if len(keys) == 1 else keys
        terms[key] = float(differences[0])
        seen = tuple(values(column) for column in columns)
        cells[key] = seen[0] if len(seen) == 1 else seen
    top = np.max(joint)
    shares = np.exp(joint - top) if np.isfinite(top) else classes.weights
    return Explanation(
        classes.labels[first],
        classes.labels[second],
        _difference(classes.log_weights[first], classes.log_weights[second]),
        terms,
        cells,
        _difference(joint[first], joint[second]),
        float(shares[first] / np.sum(shares)),
    )


def _pair(classes: Any, joint: Any, label: Any, against: Any) -> tuple[int, int]:
    """The numbers of the two classes: by default the more probable of two, or the best and the next of several."""
    labels = list(classes.labels)
    if len(labels) < 2:
        msg = f"explain compares two classes, and there is only {labels[0]!r}."
        raise ParameterError(msg)
    for one in (label, against):
        if one is not None and one not in labels:
            msg = f"explain: {one!r} is no class; there are {', '.join(map(repr, labels))}."
            raise ParameterError(msg)
    order = [int(index) for index in np.argsort(-joint, kind="stable")]
    other = None if against is None else labels.index(against)
    first = next(index for index in order if index != other) if label is None else labels.index(label)
    second = next(index for index in order if index != first) if other is None else other
    if first == second:
        msg = f"explain compares two different classes; got {label!r} twice."
        raise ParameterError(msg)
    return first, second


def _difference(left: Any, right: Any) -> float:
    return 0.0 if left == right else float(left - right)


def named(name: Any) -> str:
    """A column, or several, in words."""
    return ", ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def shown(value: Any) -> str:
    """A cell, or several, in few letters."""
    if isinstance(value, tuple):
        return ", ".join(map(shown, value[:4])) + (", …" if value[4:] else "")
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return "missing"
    return f"{value:.6g}" if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) else str(value)


def _bar(term: float, most: float) -> str:
    length = WIDTH if not np.isfinite(term) else round(WIDTH * min(abs(term) / most, 1.0))
    return ("▇" if term > 0 else "░") * length
