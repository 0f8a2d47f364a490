"""Pictures of hidden Markov models: a series with its states, what comes next, and the transitions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from suffice.errors import ParameterError
from suffice.plot.canvas import BLUE, DARK, GREY, axes, colour, dress, figure, plain, title
from suffice.tables.sequences import Sequences
from suffice.types import Array, Data

MOST = 5000  # rows that are drawn
NUMBERED = 16  # states of which the picture of the transitions has numbers


def states(fit: Any, x: Data, column: Any = None) -> Any:
    """Draw a series above a band of its most probable states, and below it the probability of each state.

    Parameters
    ----------
    fit : Fit
        A fit of a :class:`HiddenMarkov`, or the model.
    x : array, frame or Sequences
        One sequence of numbers.
    column : label, optional
        Which column is drawn, by name or place; by default the first.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes
        The series, and the probabilities.

    Examples
    --------
    >>> model = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(5, 1)])
    >>> upper, lower = sf.plot.states(model, [0.1, -0.2, 5.3, 4.8])  # doctest: +SKIP
    """
    model, values, name = _series(fit, x, column)
    path, shares = model.decode(x), model.smooth(x)
    if len(values) > MOST:
        values, path, shares = values[:MOST], path[:MOST], shares[:MOST]
    whole = figure(8.0, 4.6)
    upper, lower = whole.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    time = np.arange(len(values))
    for begin, end, state in runs(path):
        upper.axvspan(begin - 0.5, end - 0.5, color=colour(state), alpha=0.18, lw=0)
    upper.plot(time, values, color=DARK, lw=1.0, marker="o", ms=2.5)
    upper.set_ylabel(plain(name))
    seen = [j for j in range(model.n) if (path == j).any()]
    upper.legend([_patch(j) for j in seen], [f"state {j}" for j in seen], frameon=False, ncols=len(seen), fontsize=9)
    lower.stackplot(time, shares.T, colors=[colour(j) for j in range(model.n)], alpha=0.7, lw=0)
    lower.set(ylim=(0, 1), xlabel="row", ylabel="P(state)")
    for ax in (upper, lower):
        dress(ax)
    title(upper, f"{model.n} states, the most probable path above, each row's probabilities below")
    return np.array([upper, lower])


def forecast(fit: Any, x: Data, steps: int = 10, level: float = 0.9, column: Any = None, ax: Any = None) -> Any:
    """Draw the end of a series, and the median and an interval of the rows that come after it.

    Parameters
    ----------
    fit : Fit
        A fit of a :class:`HiddenMarkov`, or the model.
    x : array, frame or Sequences
        One sequence of numbers.
    steps : int
        How many rows ahead.
    level : float
        The probability that the interval holds.
    column : label, optional
        Which column is drawn, by name or place; by default the first.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> model = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(5, 1)])
    >>> ax = sf.plot.forecast(model, [0.1, -0.2, 5.3, 4.8], steps=5)  # doctest: +SKIP
    """
    model, values, name = _series(fit, x, column)
    ahead = model.forecast(x, steps)
    low, middle, high = (_column(ahead.quantile(q), name, column) for q in ((1 - level) / 2, 0.5, (1 + level) / 2))
    shown = values[-max(4 * steps, 20) :]
    ax = axes(ax, (7.2, 3.8))
    before, after = np.arange(len(values) - len(shown), len(values)), np.arange(len(values), len(values) + steps)
    ax.plot(before, shown, color=DARK, lw=1.0, marker="o", ms=2.5)
    ax.fill_between(after, low, high, color=BLUE, alpha=0.2, lw=0, label=f"{level:.0%} interval")
    ax.plot(after, middle, color=BLUE, lw=1.6, label="median")
    ax.axvline(len(values) - 0.5, color=GREY, lw=0.8, ls="--")
    ax.set(xlabel="row", ylabel=plain(name))
    ax.legend(frameon=False, fontsize=9)
    dress(ax)
    title(ax, f"The next {steps} rows")
    return ax


def transitions(fit: Any, ax: Any = None) -> Any:
    """Draw the transition matrix: in each row where a state goes next, and with which probability.

    Parameters
    ----------
    fit : Fit
        A fit of a :class:`HiddenMarkov` or :class:`MarkovChain`, or the model.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> model = sf.HiddenMarkov([sf.Normal(0, 1), sf.Normal(5, 1)], transitions=[[0.9, 0.1], [0.2, 0.8]])
    >>> ax = sf.plot.transitions(model)  # doctest: +SKIP
    """
    model = getattr(fit, "distribution", fit)
    matrix = getattr(model, "transitions", None)
    if matrix is None or not model.ready:
        msg = f"transitions draws a fit of a HiddenMarkov or MarkovChain, or such a model; got {fit!r:.40}."
        raise ParameterError(msg)
    k = len(matrix)
    levels = getattr(model, "levels", None)
    names = [f"state {j}" for j in range(k)] if levels is None else [plain(one, 16) for one in levels]
    ax = axes(ax, (max(0.75 * k + 1.8, 3.6), max(0.6 * k + 1.2, 2.8)))
    ax.imshow(matrix, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    if k <= NUMBERED:
        for (row, column), p in np.ndenumerate(matrix):
            ax.text(
                column, row, chance(float(p)), ha="center", va="center", fontsize=9, color="white" if p > 0.5 else DARK
            )
    ax.set_xticks(range(k), names, rotation=0 if k <= 6 and max(map(len, names)) <= 9 else 45)
    ax.set_yticks(range(k), names)
    ax.tick_params(length=0, colors="#444444")
    ax.spines[:].set_visible(False)
    ax.set(xlabel="next row", ylabel="this row")
    title(ax, "Where each state goes next")
    return ax


def chance(p: float) -> str:
    """A probability in a cell: 0 and 1 only where it is exactly so.

    >>> from suffice.plot.sequences import chance
    >>> [chance(p) for p in (0.0, 0.002, 0.25, 0.999, 1.0)]
    ['0', '<0.01', '0.25', '>0.99', '1']
    """
    if p in (0.0, 1.0):
        return f"{p:g}"
    return "<0.01" if p < 0.005 else ">0.99" if p >= 0.995 else f"{p:.2f}"


def runs(path: Array) -> list[tuple[int, int, int]]:
    """Stretches of one state: where each begins and ends, and the state.

    >>> from suffice.plot.sequences import runs
    >>> runs(np.array([1, 1, 0]))
    [(0, 2, 1), (2, 3, 0)]
    """
    cuts = [0, *(np.flatnonzero(np.diff(path)) + 1).tolist(), len(path)]
    return [(a, b, int(path[a])) for a, b in pairwise(cuts) if b > a]


def _series(fit: Any, x: Data, column: Any) -> tuple[Any, Array, Any]:
    """The model, a column of its rows, and how it is called."""
    model = getattr(fit, "distribution", fit)
    if not getattr(model, "is_chain", False) or isinstance(x, Sequences):
        msg = f"states and forecast draw one sequence of a HiddenMarkov; got {fit!r:.40} and {type(x).__name__}."
        raise ParameterError(msg)
    labels = model.column_labels
    name = labels[0] if column is None else column
    rows = x[name] if hasattr(x, "keys") else np.asarray(x, dtype=float)
    values = np.asarray(rows, dtype=float)
    values = values[:, labels.index(name)] if values.ndim == 2 else values
    return model, values, "value" if len(labels) == 1 and name == 0 else name


def _column(values: Any, name: Any, column: Any) -> Array:
    if isinstance(values, dict):
        return np.asarray(values[name])
    found = np.asarray(values)
    return found[:, 0 if column is None else column] if found.ndim == 2 else found


def _patch(state: int) -> Any:
    from matplotlib.patches import Patch

    return Patch(color=colour(state), alpha=0.3)
