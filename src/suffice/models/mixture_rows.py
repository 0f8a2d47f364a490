"""How a mixture reads rows, scores them, and tells which component made each."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

import numpy as np

from suffice.core.responsibilities import Joint, normalize, plus
from suffice.engines import local
from suffice.errors import SufficeWarning
from suffice.statistics.weights import Weights
from suffice.tables.column_names import with_all_columns
from suffice.tables.streams import Source
from suffice.types import Array, Data, Rows


class MixtureRows:
    """Rows of a mixture, as a base class of it."""

    n: int  # of the mixture itself, as all of these
    weights: Any
    log_weights: Any
    components: Any
    require_ready: Any
    _read_checked: Any

    def materialize(self, x: Data) -> Any:
        return self.components.materialize(x)

    def read(self, x: Data) -> Any:
        return self.components.read(x)

    def check_columns(self, rows: Data) -> None:
        self.components.check_columns(rows)

    def rows_of_units(self, rows: Data, weights: Weights) -> tuple[Any, Any]:
        found: tuple[Any, Any] = self.components.rows_of_units(rows, weights)
        return found

    def is_single(self, x: Data) -> bool:
        return bool(self.components.is_single(x))

    def warn_about_rows(self, rows: Data, where: str = "") -> None:
        self.components.warn_about_rows(rows, where)

    def score_width(self, rows: Data) -> int:
        """Work counts, not memory: a score takes longer than a cell of memory."""
        return int(self.n * (8 + prod(np.shape(rows)[1:])) // 2)

    def gather_width(self, rows: Data) -> int:
        """Work counts, not memory: as many cells as take the time of a slice, for about so many components.

        And columns.
        """
        columns = prod(rows.shape[1:])
        return int(max(columns, self.n * (8 + columns) // 8))

    def gather_effort(self, rows: Data) -> int:
        """Where both halves take longer than the Python around them, which threads cannot share."""
        return 2 * self.gather_width(rows)

    def scores(self, x: Data) -> Array:
        """Log π + log p of a block of rows under each component, (n, k)."""
        return plus(self.components.log_density(x), self.log_weights)

    def relative_scores(self, x: Data) -> Array:
        """The scores of a block of rows, up to what is the same for all components of a row."""
        return plus(self.components.relative_density(x), self.log_weights)

    def best_of(self, x: Data) -> Array:
        """The component of the highest score for each row of a block, (n,); −1 where nobody can have made it."""
        return np.asarray(self.components.best(x, self.log_weights))

    def log_density(self, x: Data) -> Array:
        return normalize(self.scores(x)).total[:, None]

    def predict_proba(self, x: Data) -> Array:
        """The probability that each component made a row, (n, k).

        A row that no component can have made tells nothing of who did: it gets the weights, with a warning.
        """
        self.require_ready("tell who made a row")
        if isinstance(x, Source):
            return x.mapped(self.predict_proba)
        x = self.materialize(with_all_columns(self, x))
        rows = self._read_checked(x)
        self.warn_about_rows(rows)
        found = local.fill(
            lambda part: normalize(self.relative_scores(rows[part])).parts, len(rows), self.score_width(rows)
        )
        lost = np.flatnonzero(~(found.sum(axis=1) > 0))
        if len(lost):
            found[lost] = self.shares_of_lost(rows, lost)
        return found[0] if self.is_single(x) else found

    def shares_of_lost(self, rows: Rows, lost: Array) -> Array:
        """The shares (m, k) in rows that no component can have made: the weights, with a warning."""
        del rows
        text = f"row {int(lost[0])} has probability 0 under every component; it gets their weights."
        warnings.warn(text, SufficeWarning, stacklevel=3)
        return np.tile(self.weights, (len(lost), 1))

    def most_probable(self, x: Data) -> Array:
        """The number of the most probable component of each row, (n,)."""
        self.require_ready("tell who made a row")
        rows = self._read_checked(x)
        self.warn_about_rows(rows)
        best = local.fill(lambda part: self.best_of(rows[part]), len(rows), self.score_width(rows))
        lost = np.flatnonzero(best < 0)
        if len(lost):
            best[lost] = self.shares_of_lost(rows, lost).argmax(axis=1)
        return best

    def column_label(self, column: int) -> str:
        return str(self.components.column_label(column))

    def seen_cells(self, stats: Joint) -> Array:
        return np.asarray(np.sum(self.components.seen_cells(stats.components), axis=0, keepdims=True))
