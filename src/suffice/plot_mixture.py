"""Pictures of mixtures: the density of one column over the data, or the members in two columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.canvas import DARK, DASHES, axes, colour, dress, marker, title
from suffice.combinators.mixture import Mixture
from suffice.combinators.product import Product
from suffice.combinators.stack import Stack
from suffice.combinators.variational_posterior import VariationalPosterior
from suffice.core.errors import ParameterError, UnsupportedError
from suffice.core.parameters import Array
from suffice.core.result import Fit
from suffice.distributions.categorical import Categorical
from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.distributions.normal import Normal

POINTS = 801  # of a curve
TAIL = np.array([1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2])
LEVELS = (*TAIL, *np.linspace(0.03, 0.97, 48), *(1 - TAIL[::-1]))  # of a member, through which its curve goes
SHOWN = 5000  # rows that a picture can hold
BLOCK = 65_536  # rows that are scored at once
NAMED = 14  # members that a legend names
ROUND = np.linspace(0, 2 * np.pi, 145)  # an ellipse


def mixture(found: Any, data: Any = None, ax: Any = None, *, columns: Any = (0, 1)) -> Any:
    """Draw a mixture: of one column its density over the data, of several its members in two of the columns.

    Parameters
    ----------
    found
        A fit, a mixture, an estimator, or the posterior of a mixture, which is drawn at its expected parameters.
    data
        Rows to show; a fit knows its own, unless it has been in a file or they were changed.
    ax
        Matplotlib axes; new ones where none are given.
    columns
        Places or names of the two columns to show, or of one for its density.

    Returns
    -------
    The Matplotlib axes. One column: a histogram, the density of the mixture and each member's share of it, which add
    up to it. Two: rows in the colour of their most probable member, with its mean and the ellipses at 1 and 2 standard
    deviations, which hold 39 % and 86 % of its rows.

    Examples
    --------
    >>> fit = sf.fit(sf.Mixture(sf.Normal(), 2), [1, 2, 1, 7, 9, 8.0], random_state=0)
    >>> ax = sf.plot.mixture(fit)  # doctest: +SKIP
    """
    model, rows, weights, note = _given(found, data)
    known = list(getattr(found, "names", None) or ())
    known = known if known and model.column_names is None else [label for label, _, _ in _homes(model.parts[0])]
    asked = columns if isinstance(columns, (tuple, list)) else (columns,)
    wanted = [0] if len(known) == 1 else [_place(known, column) for column in asked]
    if len(wanted) not in (1, 2):
        msg = f"columns are one or two, as in columns=(0, 1); got {columns!r}."
        raise ParameterError(msg)
    labels = [f"column {known[i]}" if isinstance(known[i], int) else str(known[i]) for i in wanted]
    if len(wanted) == 1:
        part = Mixture([_single(one, wanted[0]) for one in model.parts], weights=model.weights)
        cells = None if rows is None else _cells(model, rows, wanted[0])
        return _density(part, cells, weights, "value" if known == [0] else labels[0], note, axes(ax))
    places = [_normal(one, wanted) for one in model.parts]
    table = None if rows is None else [_cells(model, rows, column) for column in wanted]
    who = None if rows is None else _owners(model, rows)
    return _scatter(model, places, table, who, labels, note, axes(ax, (5.8 if model.n <= 4 else 7.4, 5.0)))


def _given(found: Any, data: Any) -> tuple[Any, Any, Any, str]:
    """The mixture, rows as it reads them, their weights, and what a title adds."""
    rows = weights = None
    note = ""
    if isinstance(found, Fit):
        if data is None and found._intact:  # noqa: SLF001 (a picture of the fit's own rows)
            rows, held = found._data  # noqa: SLF001
            weights = None if held.values is None else held.dense()[:, 0]
        model: Any = found.distribution
    elif isinstance(found, VariationalPosterior):
        model, note = found.mixture.at_expected, ", at the expected parameters"
    else:
        model = getattr(found, "distribution_", found)
    if not isinstance(model, Mixture):
        got = getattr(model, "name", type(model).__name__)
        msg = f"plot.mixture draws a Mixture, its fit or its posterior; got {got}. {CAN}"
        raise ParameterError(msg)
    if not model.ready:
        msg = "this Mixture has no parameters yet; fit it to data, or give its members some."
        raise ParameterError(msg)
    return model, rows if data is None else model.read(data), weights, note


CAN = (
    "It can draw one column of numbers of any family, or two columns of Normal or MultivariateNormal members: "
    "columns=(0, 1) by place or name, columns=0 for one of several."
)


def _refuse(part: Any) -> UnsupportedError:
    return UnsupportedError(f"plot.mixture has no such picture of members that are {part.name}. {CAN}")


def _homes(part: Any) -> list[tuple[Any, Any, int]]:
    """The columns of a member in their order: label, key of its block, place in the block."""
    if not isinstance(part, Product):
        return [(i, None, i) for i in range(part.columns or 1)]
    found: list[tuple[Any, Any, int]] = []
    for key, block in part.blocks.items():
        names = list(key) if isinstance(key, tuple) else [key]
        width = block.columns or 1
        if len(names) == 1 and width > 1:
            names = [f"{key}[{i}]" for i in range(width)]
        found += [(name, key, i) for i, name in enumerate(names)]
    return found


def _place(known: list[Any], column: Any) -> int:
    if column in known:
        return known.index(column)
    if isinstance(column, (int, np.integer)) and -len(known) <= column < len(known):
        return int(column) % len(known)
    msg = f"the columns are {', '.join(map(repr, known))}; got {column!r}."
    raise ParameterError(msg)


def _single(part: Any, column: int) -> Any:
    """One column of a member as a distribution of numbers."""
    if isinstance(part, Mixture):
        return Mixture([_single(one, column) for one in part.parts], weights=part.weights)
    if isinstance(part, Product):
        _, key, place = _homes(part)[column]
        return _single(part.blocks[key], place)
    if isinstance(part, MultivariateNormal):
        return Normal(float(part.mean[column]), float(np.sqrt(part.cov[column, column])))
    if part.row_vector or part.support.core or isinstance(part, Categorical):
        raise _refuse(part)
    return part.reshaped(lambda value: value[column]) if part.batch else part


def _cells(reader: Any, rows: Any, column: int) -> Array:
    """One column of rows as numbers, where what has read them keeps it."""
    if isinstance(reader, Mixture):
        return _cells(reader.components, rows, column)
    if isinstance(reader, Stack):
        return _cells(reader.parts[0], reader.views(rows)[0], column)
    if isinstance(reader, Product):
        _, key, place = _homes(reader)[column]
        return _cells(reader.blocks[key], rows.parts[list(reader.blocks).index(key)], place)
    return np.asarray(np.reshape(rows, (len(rows), -1))[:, column], dtype=float)


# ---- one column -----------------------------------------------------------------------------------------------------
def _density(model: Any, cells: Any, weights: Any, name: str, note: str, ax: Any) -> Any:
    """Histogram, density and the members' shares of it."""
    count = ""
    if cells is not None:
        kept = np.isfinite(cells)
        cells, weights = cells[kept], None if weights is None else weights[kept]
        count = f", {len(cells):,} rows"
    drawn = _drawn(model, None if cells is None else model.predict(cells))
    shown = [model.parts[j] for j in drawn]
    low, high = _extent(shown, cells)
    discrete = all(_is_discrete(part) for part in model.parts)
    x = np.arange(np.floor(low), np.ceil(high) + 1) if discrete else _grid(shown, low, high)
    shares = np.stack([w * _heights(part, x) for w, part in zip(model.weights, model.parts, strict=True)])
    if cells is not None and len(cells):
        bins = np.append(x, x[-1] + 1) - 0.5 if discrete else _bins(cells)
        ax.hist(cells, bins, weights=weights, density=True, color="#d4d7dc", edgecolor="white", lw=0.4, label="data")
    style: dict[str, Any] = {"ls": ":", "ms": 4} if discrete else {}
    total = shares.sum(axis=0)
    ax.plot(x, total, color=DARK, lw=2.2, label="mixture", **({**style, "marker": "."} if discrete else {}))
    for i, j in enumerate(drawn):
        look = {**style, "marker": marker(i)} if discrete else {"ls": DASHES[1 + i // 7 % 3]}
        ax.plot(x, shares[j], color=colour(i), lw=1.7, label=_label(model, j), **look)
        if not discrete:
            ax.fill_between(x, shares[j], color=colour(i), alpha=0.12, lw=0)
    tallest = max((bar.get_height() for bar in ax.patches), default=np.inf)
    ax.set_ylim(0, 1.06 * max(min(float(total.max()), 3 * tallest), tallest if np.isfinite(tallest) else 0.0))
    word = "probability" if discrete else "density"
    ax.set(xlabel=name, ylabel=word)
    title(ax, f"{_kind(model)}: {word} and members' shares{count}{note}{_left_out(model, drawn)}")
    dress(ax)
    _legend(ax, 2)
    return ax


def _heights(part: Any, x: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(np.exp(part.log_prob(x)))


def _is_discrete(part: Any) -> bool:
    return all(map(_is_discrete, part.parts)) if isinstance(part, Mixture) else bool(part.discrete)


def _extent(parts: list[Any], cells: Any) -> tuple[float, float]:
    """Where to draw: the data, and the bulk of each member."""
    ends = [] if cells is None or not len(cells) else [float(cells.min()), float(cells.max())]
    for part in parts:
        ends += _bulk(part)
    low, high = min(ends), max(ends)
    if cells is not None and len(cells):  # a member with few rows may be far wider than the data
        span = max(float(np.ptp(cells)), 1e-12 * max(abs(high), 1.0))
        low, high = max(low, float(cells.min()) - 0.3 * span), min(high, float(cells.max()) + 0.3 * span)
    return low, high


def _bulk(part: Any, levels: Any = (0.001, 0.999)) -> list[float]:
    """Quantiles of a member; of a mixture, of each of its own."""
    if isinstance(part, Mixture):
        return [end for inner in part.parts for end in _bulk(inner, levels)]
    return [float(part.quantile(q)) for q in levels]


def _grid(parts: list[Any], low: float, high: float) -> Array:
    """Where curves are computed: everywhere, and close enough for the narrowest member."""
    knots = [knot for part in parts for knot in _bulk(part, LEVELS) if low <= knot <= high]
    return np.unique([*np.linspace(low, high, POINTS), *knots])


def _bins(cells: Array) -> Array:
    """Half as wide as Freedman and Diaconis have them, for mixtures have gaps; no less than 10 and no more than 120."""
    low, high = np.quantile(cells, [0.25, 0.75])
    width = (high - low) / len(cells) ** (1 / 3)
    count = np.ptp(cells) / width if width > 0 else 30.0
    return np.histogram_bin_edges(cells, int(np.clip(count, 10, 120)))


# ---- two columns ----------------------------------------------------------------------------------------------------
def _normal(part: Any, columns: list[int]) -> tuple[Array, Array]:
    """Mean (2,) and covariance (2, 2) of a member in two columns."""
    if isinstance(part, Product):
        homes = _homes(part)
        (_, first, a), (_, second, b) = (homes[column] for column in columns)
        if first == second:
            return _normal(part.blocks[first], [a, b])
        means, covs = zip(*(_normal(part.blocks[key], [i]) for key, i in ((first, a), (second, b))), strict=True)
        return np.concatenate(means), np.diag(np.ravel(covs))
    if isinstance(part, MultivariateNormal):
        return np.asarray(part.mean)[columns], np.asarray(part.cov)[np.ix_(columns, columns)]
    if isinstance(part, Normal):
        mean, std = np.atleast_1d(part.mean), np.atleast_1d(part.std)
        return mean[columns], np.diag(std[columns] ** 2)
    raise _refuse(part)


def _owners(model: Any, rows: Any) -> Array:
    """The most probable member of each row, (n,)."""
    begins = range(0, len(rows), BLOCK)
    found = [model.scores(rows[begin : begin + BLOCK]).argmax(axis=1) for begin in begins]
    return np.concatenate(found) if found else np.zeros(0, int)


def _scatter(model: Any, places: Any, cells: Any, who: Any, labels: list[str], note: str, ax: Any) -> Any:
    """Rows by their most probable member, and each member's mean and ellipses."""
    count = ""
    drawn = _drawn(model, who)
    if cells is not None:
        chosen = np.flatnonzero(np.isfinite(cells[0]) & np.isfinite(cells[1]))
        count = f", {len(chosen):,} rows"
        if len(chosen) > SHOWN:
            chosen = np.sort(np.random.default_rng(0).choice(chosen, SHOWN, replace=False))
            count = f", {SHOWN:,} of {len(who):,} rows"
        for i, j in enumerate(drawn):
            mine = chosen[who[chosen] == j]
            look = {"s": 16, "alpha": 0.55, "lw": 0, "marker": marker(i), "color": colour(i)}
            ax.scatter(cells[0][mine], cells[1][mine], label=_label(model, j), rasterized=True, **look)
    for i, j in enumerate(drawn):
        mean, cov = places[j]
        values, vectors = np.linalg.eigh(cov)
        circle = np.stack([np.cos(ROUND), np.sin(ROUND)])
        for reach, width in ((1, 1.8), (2, 1.0)):
            x, y = mean[:, None] + reach * (vectors * np.sqrt(np.maximum(values, 0.0))) @ circle
            label = _label(model, j) if who is None and reach == 1 else None
            ax.plot(x, y, color=colour(i), lw=width, ls="-" if reach == 1 else "--", label=label)
        ax.text(*mean, str(j), color="white", ha="center", va="center", fontsize=8, weight="bold", zorder=6)
        ax.plot(*mean[:, None], "o", color=colour(i), mec="white", mew=1.2, ms=12, zorder=5)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    title(ax, f"{_kind(model)}: members at 1 and 2 std{count}{note}{_left_out(model, drawn)}")
    dress(ax)
    ax.margins(0.04)
    _legend(ax, 0)
    return ax


def _drawn(model: Any, who: Any) -> list[int]:
    """The members to draw: those that rows are most probably from, and others with a weight to speak of."""
    least = 1e-3 if who is None else 0.5 / max(len(who), 1)
    rows = np.zeros(model.n) if who is None else np.bincount(who, minlength=model.n)
    found = [j for j in range(model.n) if rows[j] or model.weights[j] >= least]
    return found or list(range(model.n))


def _left_out(model: Any, drawn: list[int]) -> str:
    few = model.n - len(drawn)
    return f"; {few} member{'s'[: few != 1]} without rows left out" if few else ""


def _kind(model: Any) -> str:
    kinds = list(dict.fromkeys(one.name for one in model.parts))
    return f"{model.n} × {kinds[0]}" if len(kinds) == 1 else f"Mixture of {' and '.join(kinds)}"


def _label(model: Any, j: int) -> str:
    kind = f" {model.parts[j].name}" if len({one.name for one in model.parts}) > 1 else ""
    return f"member {j}{kind}, weight {model.weights[j]:.2g}"


def _legend(ax: Any, others: int) -> None:
    """Name the members, beside the picture where there are many of them, and not more than are readable."""
    handles, labels = ax.get_legend_handles_labels()
    room = NAMED + others
    if len(labels) > room:
        more = f"… {len(labels) - room + 1} more"
        handles, labels = [*handles[: room - 1], handles[0].__class__([], [])], [*labels[: room - 1], more]
    outside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if len(labels) > 4 + others else {}
    ax.legend(handles, labels, frameon=False, fontsize=8, **outside)
