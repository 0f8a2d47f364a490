"""How a hidden Markov model reads sequences, scores them, and gathers their statistics: the E-step."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice import kernels
from suffice.engines import local
from suffice.errors import DataError
from suffice.models.markov_statistics import Chains
from suffice.statistics.weights import Weights
from suffice.tables.sequences import Sequences
from suffice.tables.streams import Streamed
from suffice.types import Array

GROUP_CELLS = 1 << 16  # rows × states of sequences that are worked on together
LONG_CELLS = 1 << 22  # of one sequence that is held at once: a longer one is gone through in pieces, and these twice
PIECE_CELLS = 1 << 19


class MarkovRows:
    """Sequences of a hidden Markov model, as a base class of it."""

    n: Any  # of the model itself, as all of these
    emissions: Any
    initial: Any
    transitions: Any
    check_family: Any

    def materialize(self, x: Any) -> Any:
        return x if isinstance(x, Sequences) else self.emissions.materialize(x)

    def read(self, x: Any) -> Any:
        if isinstance(x, Sequences):
            return x.with_rows(self.emissions.read(x.rows))
        if isinstance(x, Streamed):
            msg = "a HiddenMarkov reads sequences of files into memory: give sf.sequences(scan, by=…, order=…)."
            raise DataError(msg)
        return Sequences.one(self.emissions.read(x))

    def check_columns(self, rows: Any) -> None:
        self.emissions.check_columns(rows.rows)

    def is_single(self, x: Any) -> bool:
        return not isinstance(x, Sequences)

    def warn_about_rows(self, rows: Any, where: str = "") -> None:
        self.emissions.warn_about_rows(rows.rows, where)

    def preprocess(self, rows: Any) -> Any:
        return rows.with_rows(self.emissions.preprocess(rows.rows))

    def rows_of_units(self, rows: Any, weights: Any) -> tuple[Any, Any]:
        return rows.rows, rows.row_weights(weights)

    def can_generate(self, x: Any) -> Array:
        able: Any = self.emissions.can_generate(x.rows)
        able = able if able.ndim == 1 else able.any(axis=1)
        return np.asarray(np.logical_and.reduceat(able, x.ends[:-1]))

    def score_width(self, rows: Any) -> int:
        """Work counts, not memory: that of a sequence of usual length."""
        return int(rows.n_rows // max(len(rows), 1) * self.n * (8 + self.n))

    # ---- scores -------------------------------------------------------------------------------------------------
    def scores(self, x: Sequences) -> Array:
        """Log p(row | state) of all rows, (n, k); a state that is known leaves the others none."""
        emissions, rows = self.emissions, x.rows

        def score(part: slice) -> Array:
            return np.asarray(emissions.log_density(rows[part]))

        found = local.fill(score, x.n_rows, emissions.score_width(rows))
        if x.states is not None:
            if x.states.max(initial=-1) >= self.n:
                row = int(np.argmax(x.states))
                index, place = x.place(row)
                msg = (
                    f"row {place} of {x.label(index)} has the state {x.states[row]}; states go from 0 to {self.n - 1}."
                )
                raise DataError(msg)
            other = (x.states >= 0)[:, None] & (x.states[:, None] != np.arange(self.n))
            found = np.asarray(np.where(other, -np.inf, found))
        return np.ascontiguousarray(found, dtype=np.float64)

    def in_groups(self, x: Sequences, kernel: Any) -> list[Any]:
        """What a kernel answers for groups of sequences, in order."""
        groups = x.groups(max(GROUP_CELLS // self.n, 1))

        def group(index: int) -> Any:
            own = x[groups[index]]
            return kernel(self.scores(own), own.ends, self.initial, self.transitions)

        return local.mapped(group, len(groups))

    def log_density(self, x: Sequences) -> Array:
        """Log p of each sequence, (m, 1)."""
        return np.concatenate([*self.in_groups(x, kernels.log_likelihoods), np.empty(0)])[:, None]

    # ---- the E-step ---------------------------------------------------------------------------------------------
    def gather_rows(self, rows: Any, weights: Weights) -> Chains:
        """Statistics of sequences; threads share groups of them, which depend on their lengths alone."""
        groups = rows.groups(max(GROUP_CELLS // self.n, 1))
        if len(groups) == 1:
            return self.gather(rows, weights)
        return local.total(lambda index: self.gather(rows[groups[index]], weights[groups[index]]), len(groups))

    def gather(self, x: Any, w: Weights) -> Chains:
        """The E-step of a group of sequences."""
        held = w.of_component(0).values
        if len(x) == 1 and x.n_rows * self.n > LONG_CELLS:
            return self._gather_long(x, 1.0 if held is None else float(held[0]))
        found = kernels.forward_backward(self.scores(x), x.ends, self.initial, self.transitions, held)
        total = found.log_likelihood if held is None else np.where(held > 0, held * found.log_likelihood, 0.0)
        return self._chains(
            x, found.responsibilities, found.first, found.moves, float(total.sum()), found.emitted, held
        )

    def _chains(
        self, x: Any, shares: Array, first: Array, moves: Array, total: float, emitted: float, held: Array | None
    ) -> Chains:
        k, rows = self.n, x.rows
        emissions = self.emissions.gather_rows(rows, Weights(x.n_rows, shares, n_components=k))
        if not np.isfinite(total):  # a sequence that cannot be: is there a row that cannot?
            self.emissions.gather(rows, Weights(x.n_rows, np.ones((x.n_rows, k)), n_components=k))
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = np.where(first > 0, first * np.log(self.initial), 0.0).sum() + emitted
            expected += np.where(moves > 0, moves * np.log(self.transitions), 0.0).sum()
            entropy = total - expected
        lengths = x.lengths.astype(float)
        solid = lengths.sum() if held is None else float((lengths * held * np.minimum(held, 1.0)).sum())
        return Chains(
            count=first + moves.sum(axis=0),  # every row is the first or comes after a move
            components=emissions,
            log_likelihood=np.array([total]),
            entropy=np.array([entropy]),
            solid=np.array([solid]),
            first=first,
            moves=moves,
            named=bool(x.states is not None and (x.states >= 0).any()),
        )

    def _gather_long(self, x: Any, weight: float) -> Chains:
        """A sequence too long to be held at once.

        One pass over its pieces keeps what is known at the end of each, and another goes back over them.
        """
        step = max(PIECE_CELLS // self.n, 1)
        pieces = [x.piece(begin, min(begin + step, x.n_rows)) for begin in range(0, x.n_rows, step)]
        known: list[Array] = []  # of the state at the end of each piece
        begins, total, held = [self.initial], 0.0, np.array([weight])
        for own in pieces:
            likelihood, states = kernels.filtered(self.scores(own), own.ends, begins[-1], self.transitions)
            total += float(likelihood[0])
            known.append(states[-1])
            begins.append(states[-1] @ self.transitions)
        nothing = np.zeros(self.n)
        if np.isneginf(total):
            none = np.zeros((pieces[0].n_rows, self.n))
            return self._chains(pieces[0], none, nothing, np.zeros(self.transitions.shape), total, 0.0, held)
        whole: Any = None
        after: Array | None = None
        for index in range(len(pieces) - 1, -1, -1):
            own = pieces[index]
            found = kernels.forward_backward(self.scores(own), own.ends, begins[index], self.transitions, held, after)
            moves, first = found.moves, found.first if index == 0 else nothing
            if index:
                between = known[index - 1][:, None] * self.transitions * found.head[0]
                moves = moves + weight * between / between.sum()
            part = weight * total if index == 0 else 0.0
            stats = self._chains(own, found.responsibilities, first, moves, part, found.emitted, held)
            whole = stats if whole is None else stats + whole
            after = self.transitions @ found.head[0]
        return whole  # type: ignore[no-any-return]
