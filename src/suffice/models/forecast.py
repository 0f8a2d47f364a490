"""What comes after a sequence: the states of the next rows, and the rows that these make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from suffice.arguments import check_count, check_level, generator
from suffice.core.combinators import make_mixture
from suffice.engines.once import cached_property
from suffice.errors import ParameterError, UnsupportedError
from suffice.models.transition_matrix import draw_states
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """The distributions of the next rows of a sequence.

    Attributes
    ----------
    states : array (h, k)
        The probability of each state, 1 to h rows ahead.
    model
        The hidden Markov model.
    """

    states: Array
    model: Any

    @classmethod
    def of(cls, model: Any, last: Array, steps: int) -> Self:
        """The forecast from what is known of the state of the last row, (k,)."""
        found = [last @ model.transitions]
        while len(found) < steps:
            found.append(found[-1] @ model.transitions)
        return cls(np.array(found), model)

    def __len__(self) -> int:
        """Return the number of rows ahead."""
        return len(self.states)

    @cached_property
    def _each(self) -> list[Any]:
        return [make_mixture(self.model.emissions, shares / shares.sum()) for shares in self.states]

    def distribution(self, h: int) -> Any:
        """The distribution of the row ``h`` steps ahead, a mixture of the emissions; the next one is 1."""
        if isinstance(h, bool) or not isinstance(h, (int, np.integer)) or not 1 <= h <= len(self):
            msg = f"h is a number of steps from 1 to {len(self)}; got {h!r:.40}."
            raise ParameterError(msg)
        return self._each[h - 1]

    @property
    def mean(self) -> Any:
        """The expected rows: (h,), (h, d), or of tables by column, those of labels left out."""
        return self._by_column(lambda one: one.mean)

    @property
    def std(self) -> Any:
        """The standard deviation of each row and column."""
        return self._by_column(lambda one: one.std)

    @property
    def probabilities(self) -> Any:
        """The probability of each label in each row, a dictionary of (h,) by level; of tables by column."""
        names = self.model.column_names
        labels = self.model.column_labels if names is None else names
        found = {}
        for label in labels:
            levels = self.model.emissions.column_levels(label)
            if levels is not None:
                each = [one.marginal_column(label) for one in self.model.parts]
                table = np.zeros((len(each), len(levels)))
                for row, one in zip(table, each, strict=True):
                    row[[levels.index(level) for level in one.levels]] = np.asarray(one.probs)[: len(one.levels)]
                found[label] = dict(zip(levels, (self.states @ table).T, strict=True))
        if not found:
            msg = "these rows have no labels; ask mean, quantile or interval."
            raise UnsupportedError(msg)
        return found if names is not None else next(iter(found.values()))

    def quantile(self, q: Any) -> Any:
        """The smallest x with P(X ≤ x) ≥ q, for each row, column by column."""
        return self._by_column(lambda one: one.quantile(q))

    def interval(self, level: float = 0.95) -> Any:
        """The central interval that holds ``level`` of the probability of each row, as a pair (low, high)."""
        check_level(level)
        ends = [self._by_column(lambda one, q=q: one.quantile(q)) for q in ((1 - level) / 2, (1 + level) / 2)]
        if isinstance(ends[0], dict):
            return {name: (ends[0][name], ends[1][name]) for name in ends[0]}
        return ends[0], ends[1]

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Draw n continuations: (n, h), (n, h, d), or by column; the rows of one follow each other."""
        check_count(n)
        rng = generator(random_state)
        paths = [draw_states(self.states[0], self.model.transitions, len(self), rng) for _ in range(n)]
        rows = self.model.rows_of_states(np.array(paths, dtype=np.intp).reshape(-1), rng)
        if isinstance(rows, dict):
            return {
                name: np.asarray(column).reshape(n, len(self), *np.shape(column)[1:]) for name, column in rows.items()
            }
        return np.asarray(rows).reshape(n, len(self), *np.shape(rows)[1:])

    def _by_column(self, ask: Any) -> Any:
        """An answer for every row; of tables by the names of their columns that hold numbers."""
        names = self.model.column_names
        names = names and [name for name in names if self.model.emissions.column_levels(name) is None]
        if names is None:
            return _together([ask(one) for one in self._each])
        return {name: _together([ask(one.marginal(name)) for one in self._each]) for name in names}

    def __repr__(self) -> str:
        """Show the most probable states."""
        best = ", ".join(f"state {j} ({shares[j]:.2f})" for shares in self.states[:5] for j in [int(shares.argmax())])
        return f"Forecast of {len(self)} rows: {best}{', …' if len(self) > 5 else ''}"


def _together(values: list[Any]) -> Any:
    """Numbers, arrays or dictionaries of them, with the rows first."""
    if isinstance(values[0], dict):
        return {key: _together([one[key] for one in values]) for key in values[0]}
    return np.array(values)
