"""What a hidden Markov model can be asked: its states, what comes next, holes, strange rows, and new sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice import kernels
from suffice.arguments import check_count, generator
from suffice.core.responsibilities import normalize
from suffice.errors import ParameterError
from suffice.models.forecast import Forecast
from suffice.models.hidden_markov_start import no_path
from suffice.models.mixture_components import joined
from suffice.models.transition_matrix import draw_states
from suffice.queries.conditional import ConditionalColumn
from suffice.queries.imputation import impute
from suffice.queries.rows import QueryRows
from suffice.queries.surprisal import Surprisal
from suffice.tables.column_names import with_all_columns
from suffice.tables.frame import Frame
from suffice.tables.sequences import Sequences, some_rows
from suffice.types import Array


class MarkovAnswers:
    """Questions to a hidden Markov model, as a base class of it."""

    n: Any  # of the model itself, as all of these
    emissions: Any
    initial: Any
    transitions: Any
    floors: Any
    parts: Any
    row_distribution: Any
    require_ready: Any
    materialize: Any
    mixture_by: Any
    read: Any
    check_columns: Any
    scores: Any
    in_groups: Any
    log_density: Any

    # ---- states -------------------------------------------------------------------------------------------------
    def sequences_of(self, x: Any, what: str) -> Sequences:
        """Rows as the model reads them, checked."""
        self.require_ready(what)
        if not isinstance(x, Sequences):
            x = self.materialize(with_all_columns(self, x))
        rows: Sequences = self.read(x)
        self.check_columns(rows)
        return rows

    def decode(self, x: Any) -> Array:
        """The most probable path of states, (n,): one state for each row, in the order of the rows that are given.

        Parameters
        ----------
        x
            One sequence, or several as :func:`suffice.sequences` makes them.

        Returns
        -------
        array of int

        References
        ----------
        Viterbi, A. J. (1967). Error bounds for convolutional codes and an asymptotically optimum decoding algorithm.
        IEEE Transactions on Information Theory 13, 260-269.
        """
        rows = self.sequences_of(x, "tell states")
        found = self.in_groups(rows, kernels.best_path)
        path = found[0][1] if len(found) == 1 else np.concatenate([part for _, part in found])
        if any(np.isneginf(likelihood).any() for likelihood, _ in found):
            raise self.impossible(rows, rows.place(int(np.argmax(path < 0)))[0])
        return rows.in_given_order(path)

    def best_path_log_prob(self, x: Any) -> Any:
        """The log joint probability (density) of each sequence and its most probable path of states."""
        rows = self.sequences_of(x, "tell states")
        found = np.concatenate([likelihood for likelihood, _ in self.in_groups(rows, kernels.best_path)])
        return found if isinstance(x, Sequences) else float(found[0])

    def smooth(self, x: Any) -> Array:
        """The probability of each state given all rows of the sequence, (n, k)."""
        rows = self.sequences_of(x, "tell states")

        def kernel(*given: Any) -> tuple[Array, Array]:
            found = kernels.forward_backward(*given)
            return found.log_likelihood, found.responsibilities

        return self._states(rows, self.in_groups(rows, kernel))

    def filter(self, x: Any) -> Array:
        """The probability of each state given the rows so far, (n, k)."""
        rows = self.sequences_of(x, "tell states")
        return self._states(rows, self.in_groups(rows, kernels.filtered))

    def _states(self, rows: Sequences, found: list[Any]) -> Array:
        likelihood = np.concatenate([one for one, _ in found])
        if np.isneginf(likelihood).any():
            raise self.impossible(rows, int(np.argmax(np.isneginf(likelihood))))
        return rows.in_given_order(np.concatenate([states for _, states in found]))

    def impossible(self, rows: Sequences, index: int) -> Exception:
        """The error of a sequence that cannot be: it names the first row that no path leads to."""
        one = rows[[index]]
        _, states = kernels.filtered(self.scores(one), one.ends, self.initial, self.transitions)
        return no_path(rows, index, int(np.argmax(~states.any(axis=1))))

    def predict(self, x: Any) -> Array:
        """The most probable path of states: :meth:`decode`."""
        return self.decode(x)

    def predict_proba(self, x: Any) -> Array:
        """The probability of each state given all rows: :meth:`smooth`."""
        return self.smooth(x)

    # ---- what comes next ----------------------------------------------------------------------------------------
    def forecast(self, x: Any, steps: int = 1) -> Any:
        """What comes after a sequence.

        Parameters
        ----------
        x
            One sequence, or several as :func:`suffice.sequences` makes them.
        steps
            How many rows ahead.

        Returns
        -------
        Forecast
            Of several sequences a dictionary of them, by the key of each.

        Examples
        --------
        >>> model = sf.HiddenMarkov([sf.Poisson(1.0), sf.Poisson(9.0)], transitions=[[0.9, 0.1], [0.2, 0.8]])
        >>> model.forecast([0, 1, 0, 2], steps=2).states.round(2)
        array([[0.9 , 0.1 ],
               [0.83, 0.17]])
        """
        if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 1:
            msg = f"forecast: steps is how many rows ahead, a whole number of at least 1; got {steps!r}."
            raise ParameterError(msg)
        rows = self.sequences_of(x, "look ahead")
        found = self.in_groups(rows, kernels.filtered)
        likelihood = np.concatenate([one for one, _ in found])
        if np.isneginf(likelihood).any():
            raise self.impossible(rows, int(np.argmax(np.isneginf(likelihood))))
        last = np.concatenate([states for _, states in found])[rows.ends[1:] - 1]
        keys = range(len(rows)) if rows.keys is None else rows.keys
        each = {key: Forecast.of(self, state, int(steps)) for key, state in zip(keys, last, strict=True)}
        return each if isinstance(x, Sequences) and len(rows) > 1 else next(iter(each.values()))

    # ---- rows and cells -----------------------------------------------------------------------------------------
    def impute(
        self,
        data: Any,
        *,
        n: int | None = None,
        draw: bool = False,
        uncertainty: bool = False,
        random_state: Any = None,
    ) -> Any:
        """Fill missing cells from the others of their row, and from the rows before and after.

        As :meth:`Distribution.impute`; draws first draw a path of states.
        """
        rows = self.sequences_of(data, "fill holes")
        shares = self.smooth(data)

        def tell(asked: QueryRows, rng: Any) -> Any:
            own = shares
            if rng is not None:
                own = np.eye(self.n)[rows.in_given_order(self._draw_path(rows, rng))]

            def cell(index: Any, label: Any, columns: Any = None) -> ConditionalColumn:
                part = asked.rows(self.row_distribution, index, columns)
                return ConditionalColumn.mixed(
                    own[index], self.emissions.conditional_column(part, label), np.empty(0, np.intp)
                )

            return cell

        options: dict[str, Any] = {"n": n, "draw": draw, "uncertainty": uncertainty, "random_state": random_state}
        return impute(self.row_distribution, _plain(data), tell=tell, **options)

    def _draw_path(self, rows: Sequences, rng: np.random.Generator) -> Array:
        """A path of states given all rows, (n,): backwards, each given the next."""
        known = np.concatenate([states for _, states in self.in_groups(rows, kernels.filtered)])
        path = np.empty(len(known), np.intp)
        for t in range(len(known) - 1, -1, -1):
            chance = known[t] * (1.0 if t + 1 in rows.ends else self.transitions[:, path[t + 1]])
            path[t] = rng.choice(self.n, p=chance / chance.sum())
        return path

    def surprisal(self, data: Any) -> Surprisal:
        """How strange rows are given those before them, and cells given all others.

        ``rows`` is −log p(row | rows before it), whose sum is −log p of the sequence; cells are judged by the others of
        their row and by the rows before and after.
        """
        rows = self.sequences_of(data, "judge rows")
        scores = self.scores(rows)
        _, known = kernels.filtered(scores, rows.ends, self.initial, self.transitions)
        shares = kernels.forward_backward(scores, rows.ends, self.initial, self.transitions).responsibilities
        expected = np.vstack([self.initial[None], known[:-1] @ self.transitions])
        expected[rows.ends[:-1]] = self.initial
        with np.errstate(divide="ignore", invalid="ignore"):
            found = -normalize(np.log(expected) + scores).total
            around = np.where(shares > 0, np.log(shares) - scores, -np.inf)
        asked = QueryRows.of(self.row_distribution, _plain(data))
        labels = self.emissions.column_labels
        whole, matrix = normalize(around + scores).total, np.empty((len(found), len(labels)))
        for label, others in self.emissions.leave_one_out_log_prob(rows.rows):
            with np.errstate(invalid="ignore"):
                matrix[:, labels.index(label)] = normalize(around + others).total - whole
        found, matrix = rows.in_given_order(found), rows.in_given_order(matrix)
        for place, label in enumerate(labels):
            matrix[asked.holes()[label], place] = np.nan
        return Surprisal(found, matrix, tuple(asked.keys[label] for label in labels), asked, self.row_distribution)

    # ---- new sequences ------------------------------------------------------------------------------------------
    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Draw a sequence of n rows."""
        return self.sample_with_states(n, random_state)[0]

    def sample_with_states(self, n: int = 1, random_state: Any = None) -> tuple[Any, Array]:
        """Draw a sequence of n rows, and the states that made them."""
        self.require_ready("draw rows")
        check_count(n)
        rng = generator(random_state)
        states = draw_states(self.initial, self.transitions, int(n), rng)
        return self.rows_of_states(states, rng), states

    def rows_of_states(self, states: Array, rng: np.random.Generator) -> Any:
        """Draw the rows that these states make."""
        order = np.argsort(np.argsort(states, kind="stable"), kind="stable")
        counts = np.bincount(states, minlength=self.n)
        return joined([one.sample(int(count), rng) for one, count in zip(self.parts, counts, strict=True)], order)


def _plain(data: Any) -> Any:
    """The rows of sequences, in the order in which they were given; words of files are written out."""
    if not isinstance(data, Sequences):
        return data
    rows = data.rows if data.order is None else some_rows(data.rows, np.argsort(data.order))
    return {name: np.asanyarray(rows[name]) for name in rows} if isinstance(rows, Frame) else rows
