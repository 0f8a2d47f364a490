"""Pictures of what classifiers decide: regions of two columns, with the rows on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from suffice.errors import DataError, ParameterError
from suffice.plot.canvas import across, colour, dress, figure, marker, plain
from suffice.tables.frame import as_array, is_frame, opened
from suffice.tables.frame_output import like
from suffice.types import Array, Data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 240  # of the grid along each axis
SHOWN = 2000  # rows that a panel can hold
HIGH = 3.3  # inches of a panel
ROOM = 0.06  # around the rows, in parts of their range
PALE = 0.22  # of a region
WRONG = "#111111"  # the edge of a row that is decided wrongly
ALIKE = 4.0  # ratio of the ranges of two columns up to which both axes have the same unit
FARTHEST = 1e6  # nats between two classes, beyond which a boundary is far anyway


def regions(classifiers: object, X: Data, y: Data = None, *, axes: Sequence[Axes] | None = None) -> Any:
    """Draw the decision regions of one or several classifiers of two columns side by side, the rows on top.

    A region has the colour of the class that is decided there; lines are where two classes are equally probable, and
    may be curved. Rows that are decided wrongly have a dark edge, and the title says how many are right.

    Parameters
    ----------
    classifiers : classifier, list, or dict of name and classifier
        Any with ``fit`` and ``predict``, of this library or another. One that is not fitted is fitted to the rows, as a
        copy.
    X : array (n, 2) or a frame with two columns
        Rows.
    y : array (n,), optional
        Their classes; without them the regions are drawn with rows in one colour.
    axes : optional
        A Matplotlib axes for each classifier; new ones where none are given.

    Returns
    -------
    tuple of matplotlib.axes.Axes
        One for each classifier, all with the same limits.

    Examples
    --------
    >>> panels = sf.plot.regions({"naive": sf.GaussianNB(), "full": sf.QuadraticDiscriminantAnalysis()}, X, y)
    ... # doctest: +SKIP
    """
    named = _named(classifiers)
    rows, names = _two_columns(X)
    labels = None if y is None else np.asarray(y)
    if labels is not None and labels.shape != (len(rows),):
        msg = f"y has a class for each of the {len(rows)} rows; got shape {labels.shape}."
        raise DataError(msg)
    fitted = {name: _fitted(name, one, X, y) for name, one in named.items()}
    limits = [_limits(rows[:, j]) for j in (0, 1)]
    if axes is None:
        columns = across(len(fitted))
        down = -(-len(fitted) // columns)
        sheet = figure(_width(limits) * columns + 0.7, (HIGH + 0.8) * down + 0.6)
        panels = sheet.subplots(down, columns, sharex=True, sharey=True, squeeze=False)
        made = tuple(panels.flat)[: len(fitted)]
        for spare in tuple(panels.flat)[len(fitted) :]:
            spare.remove()
    else:
        sheet, made = None, tuple(np.ravel(np.asarray(axes, dtype=object)))
        if len(made) != len(fitted):
            msg = f"axes has one Matplotlib axes for each of the {len(fitted)} classifiers; got {len(made)}."
            raise ParameterError(msg)
    known = _classes(fitted, labels)
    for ax, (name, one) in zip(made, fitted.items(), strict=True):
        _panel(ax, name, one, X, rows, labels, known, limits)
        ax.set(xlabel=plain(names[0]), ylabel=plain(names[1]))
        if sheet is not None:
            ax.label_outer()
    keys = [dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True)) for ax in made]
    shown = {word: key for one in keys for word, key in one.items()}
    words, handles = [*shown], [*shown.values()]
    if sheet is not None and words:
        sheet.legend(handles[:10], words[:10], loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    elif words:
        made[0].legend(fontsize=8, framealpha=0.85, edgecolor="none")
    return made


def _width(limits: list[tuple[float, float]]) -> float:
    """Inches of a panel with the same unit on both axes, or of one that is a little wider than high."""
    ratio = _ratio(limits)
    return float(np.clip(HIGH * ratio, 2.6, 5.4)) if 1 / ALIKE <= ratio <= ALIKE else 1.15 * HIGH


def _ratio(limits: list[tuple[float, float]]) -> float:
    (left, right), (low, high) = limits
    return (right - left) / (high - low)


# ---- what is given --------------------------------------------------------------------------------------------------
def _named(classifiers: object) -> dict[str, Any]:
    if isinstance(classifiers, Mapping):
        found = {str(name): one for name, one in classifiers.items()}
    else:
        several = list(classifiers) if isinstance(classifiers, Sequence) else [classifiers]
        found = {}
        for one in several:
            name = type(one).__name__
            again = sum(known.partition(" (")[0] == name for known in found)
            found[f"{name} ({again + 1})" if again else name] = one
    for name, one in found.items():
        if isinstance(one, type) or not hasattr(one, "predict") or not is_classifier(one):
            msg = f"plot.regions draws classifiers, as sf.GaussianNB(); got {one!r:.60} for {name!r}."
            raise ParameterError(msg)
    if not found:
        msg = "plot.regions draws at least one classifier; got none."
        raise ParameterError(msg)
    return found


def _two_columns(X: Data) -> tuple[Array, list[str]]:
    """The rows as numbers (n, 2), and what the columns are called."""
    names = ["column 0", "column 1"]
    rows = X
    try:
        if is_frame(X):
            columns = opened(X)
            names = [str(name) for name in columns]
            rows = np.column_stack(
                [np.asarray(as_array(one), dtype=float) for one in (columns[name] for name in columns)]
            )
        rows = np.asarray(rows, dtype=float)
    except (TypeError, ValueError) as error:
        msg = f"plot.regions draws two columns of numbers; these cannot be read as numbers: {error}"
        raise DataError(msg) from error
    if rows.ndim != 2 or rows.shape[1] != 2 or not len(rows):
        msg = (
            f"plot.regions draws classifiers of two columns; X has shape {rows.shape}. Fit one to two of them: "
            "regions of others would depend on the values that the rest is held at."
        )
        raise DataError(msg)
    if not np.isfinite(rows).all(axis=1).any():
        msg = "plot.regions: no row has both columns."
        raise DataError(msg)
    return rows, names


def _like(X: Data, points: Array) -> Any:
    """Points (N, 2) as rows of the kind that X is."""
    return like(X, dict(zip(opened(X), points.T, strict=True))) if is_frame(X) else points


def _fitted(name: str, one: object, X: Data, y: Data) -> Any:
    try:
        check_is_fitted(one)
    except NotFittedError:
        if y is None:
            msg = f"plot.regions: {name} is not fitted, and there is no y to fit it to."
            raise ParameterError(msg) from None
        return clone(one).fit(X, y)
    return one


def _limits(cells: Array) -> tuple[float, float]:
    cells = cells[np.isfinite(cells)]
    low, high = float(cells.min()), float(cells.max())
    room = ROOM * ((high - low) or 1.0)
    return low - room, high + room


def _classes(fitted: dict[str, Any], labels: Array | None) -> list[Any]:
    """All classes, in the order in which they have colours."""
    found: list[Any] = []
    for one in fitted.values():
        found += [label for label in np.asarray(one.classes_).tolist() if label not in found]
    if labels is not None:
        found += [label for label in np.unique(labels).tolist() if label not in found]
    return found


# ---- one classifier -------------------------------------------------------------------------------------------------
def _scores(model: Any, points: Array) -> Array:
    """A score of each class, (N, k), the greatest of which is decided."""
    for name in ("predict_joint_log_proba", "predict_log_proba", "decision_function"):
        ask = getattr(model, name, None)
        if ask is not None:
            with np.errstate(all="ignore"):
                found = np.asarray(ask(points), dtype=float)
            found = np.column_stack([-found, found]) if found.ndim == 1 else found
            if found.shape[1] == len(model.classes_):
                return found
    return np.asarray(np.asarray(model.predict(points))[:, None] == np.asarray(model.classes_), dtype=float)


def _panel(
    ax: Any,
    name: str,
    model: Any,
    X: Any,
    rows: Array,
    labels: Any,
    known: list[Any],
    limits: list[tuple[float, float]],
) -> None:
    x, y = (np.linspace(*ends, POINTS) for ends in limits)
    mesh = np.stack([one.ravel() for one in np.meshgrid(x, y)], axis=1)
    scores = _scores(model, _like(X, mesh))
    own = [known.index(label) for label in np.asarray(model.classes_).tolist()]
    for j, place in enumerate(own):
        others = np.delete(scores, j, axis=1).max(axis=1) if len(own) > 1 else np.full(len(scores), -np.inf)
        with np.errstate(invalid="ignore"):
            ahead = np.nan_to_num(scores[:, j] - others, nan=0.0, posinf=FARTHEST, neginf=-FARTHEST)
        ahead = np.clip(ahead, -FARTHEST, FARTHEST).reshape(POINTS, POINTS)
        if (ahead > 0).any():
            ax.contourf(x, y, ahead, [0, np.inf], colors=[colour(place)], alpha=PALE)
        if (ahead > 0).any() and (ahead < 0).any():
            ax.contour(x, y, ahead, [0], colors="#333333", linewidths=1.1)
    chosen = np.flatnonzero(np.isfinite(rows).all(axis=1))
    if len(chosen) > SHOWN:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, SHOWN, replace=False))
    look = {"s": 15, "rasterized": True, "zorder": 3}
    if labels is None:
        ax.scatter(*rows[chosen].T, color="#333333", lw=0, alpha=0.6, **look)
        right = ""
    else:
        wrong = np.asarray(model.predict(X)) != labels
        for place, label in enumerate(known):
            mine = chosen[labels[chosen] == label]
            style = {"color": colour(place), "marker": marker(place)}
            edges = {"edgecolors": np.where(wrong[mine], WRONG, "#ffffff"), "lw": np.where(wrong[mine], 0.9, 0.3)}
            ax.scatter(*rows[mine].T, **style, **edges, **look)
            ax.plot([], [], ls="", ms=5, mec="white", mew=0.3, label=plain(label), **style)
        if wrong.any():
            ax.plot([], [], "o", mfc="white", mec=WRONG, mew=0.9, ms=5, label="decided wrongly")
        right = f"\n{1 - wrong.mean():.1%} of {len(labels):,} rows right"
    ax.set(xlim=limits[0], ylim=limits[1])
    if 1 / ALIKE <= _ratio(limits) <= ALIKE:
        ax.set_aspect("equal", adjustable="box")
    ax.set_title(f"{plain(name, 34)}{right}", fontsize=10, loc="left")
    dress(ax)
