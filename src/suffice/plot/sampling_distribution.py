"""Pictures of sampling distributions: the estimates of many samples, and the truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import ParameterError
from suffice.plot.canvas import BAR, DARK, RED, across, dress, figure, plain
from suffice.plot.curves import bins
from suffice.theory.sampling import Sampling
from suffice.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 9  # numbers that have a panel
LONG = 40  # letters of a distribution that a title holds
FEW = 60  # different estimates that have a bar each


def sampling(found: Sampling, axes: Sequence[Axes] | None = None) -> Any:
    """Draw the estimates of many samples as histograms, with their mean and the truth: the bias is the gap.

    Parameters
    ----------
    found : Sampling
        What :func:`suffice.theory.sampling` gives.
    axes : optional
        A Matplotlib axes for each number; new ones where none are given.

    Returns
    -------
    tuple of matplotlib.axes.Axes
        One for each number, the first 9 of them.

    Examples
    --------
    >>> panels = sf.plot.sampling(sf.theory.sampling(sf.Normal(0, 2), 5, random_state=0))  # doctest: +SKIP
    """
    if not isinstance(found, Sampling):
        msg = f"plot.sampling draws what sf.theory.sampling(…) gives; got {type(found).__name__}."
        raise ParameterError(msg)
    numbers = list(_numbers(found.draws, found.truth))[:MOST]
    if axes is None:
        columns = across(len(numbers))
        rows = -(-len(numbers) // columns)
        sheet = figure(max(3.6 * columns + 0.4, 5.4), 2.9 * rows + 0.5)
        panels = tuple(sheet.subplots(rows, columns, squeeze=False).flat)
        made = panels[: len(numbers)]
        for spare in panels[len(numbers) :]:
            spare.remove()
        words = repr(found.distribution)
        name = plain(words if len(words) <= LONG else found.distribution.name, LONG)
        sheet.suptitle(f"{name}: {found.repeats:,} samples of {found.size:,} rows", fontsize=10, x=0.01, ha="left")
        handles = True
    else:
        made, handles = tuple(np.ravel(np.asarray(axes, dtype=object))), False
        if len(made) != len(numbers):
            msg = f"axes has one Matplotlib axes for each of the {len(numbers)} numbers; got {len(made)}."
            raise ParameterError(msg)
    for ax, (name, draws, truth) in zip(made, numbers, strict=True):
        _panel(ax, name, draws, truth)
    if handles:
        lines, labels = made[0].get_legend_handles_labels()
        made[0].figure.legend(lines, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    else:
        made[0].legend(frameon=False, fontsize=8)
    return made


def _numbers(draws: object, truth: Any, name: str = "") -> Iterator[tuple[str, Array, float]]:
    """Each number that was estimated: its name, its estimates and its true value."""
    if isinstance(draws, dict):
        for key, one in draws.items():
            yield from _numbers(one, truth[key], f"{name}: {key}" if name else str(key))
        return
    true = np.asarray(truth, dtype=float)
    for place in np.ndindex(true.shape):
        label = name + (f"[{', '.join(map(str, place))}]" if place else "")
        yield label or "estimate", np.asarray(draws)[(slice(None), *place)], float(true[place])


def _panel(ax: Any, name: str, draws: Array, truth: float) -> None:
    draws = draws[np.isfinite(draws)]
    values, counts = np.unique(draws, return_counts=True)
    if 1 < len(values) <= FEW:  # a lattice: a bar for each value
        ax.bar(values, counts / len(draws), 0.85 * np.diff(values).min(), color=BAR, label="estimates")
        ax.set_ylabel("share of samples")
    else:
        ax.hist(draws, bins(draws), density=True, color=BAR, edgecolor="white", lw=0.4, label="estimates")
        ax.set_ylabel("density")
    mean = float(draws.mean())
    ax.axvline(truth, color=DARK, lw=1.8, label="truth")
    ax.axvline(mean, color=RED, lw=1.5, ls="--", label="mean of the estimates")
    bias = f"{mean - truth:+.3g}".replace("-", "−")
    ax.set_title(
        f"bias {bias} ± {draws.std() / np.sqrt(len(draws)):.1g}, std {draws.std():.3g}", fontsize=10, loc="left"
    )
    ax.set_xlabel(plain(name))
    dress(ax)
    ax.margins(x=0.02)
