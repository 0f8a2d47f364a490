"""Axes, their style, and colours that the colour-blind can tell apart."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.display.names import display_name
from suffice.errors import SufficeError
from suffice.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, GREY, RED = "#1f5fa8", "#8a8f98", "#c2462e"
DARK = "#333333"
# Okabe and Ito, without the yellow that white paper swallows
MEMBERS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LETTER = 0.078  # inches of a letter of a title
DASHES = ("-", "--", ":", "-.")
BAR = "#d4d7dc"  # of data, behind what was learned of them


class MissingExtraError(SufficeError, ImportError):
    """An optional part of suffice needs a package that is not installed."""


def plain(text: object, most: int = 40) -> str:
    r"""A name or value as Matplotlib shows it: one short line, in which dollars are no mathematics.

    >>> plain("$x_$")
    '\\$x_\\$'
    """
    return display_name(text, most).replace("$", r"\$")


def figure(width: float, height: float) -> Any:
    """A new figure without axes."""
    ax = axes(None, (width, height))
    found = ax.figure
    ax.remove()
    return found


def axes(ax: object, size: tuple[float, float] = (6.4, 3.8)) -> Any:
    """The axes to draw on; new ones where none are given."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        msg = "drawing needs Matplotlib, which is not installed. Install the extra: pip install 'suffice[plot]'."
        raise MissingExtraError(msg) from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def dress(ax: Axes) -> None:
    """Fewer lines around the picture."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0)
    ax.tick_params(colors="#444444")


def title(ax: Any, text: str, margin: int = 0, pad: float | None = None) -> None:
    """What the picture is, above it, in as many lines as its width asks for; ``margin``: letters left of the axes."""
    inches = ax.get_position().width * ax.figure.get_size_inches()[0] - margin * LETTER
    lines = [textwrap.fill(line, max(int(inches / LETTER), 20)) for line in text.split("\n")]
    ax.set_title("\n".join(lines), fontsize=10, loc="left", pad=pad)


def colour(index: int) -> str:
    """The colour of a component or line; they come again after the last."""
    return MEMBERS[index % len(MEMBERS)]


def marker(index: int) -> str:
    """The marker of a component or line, another one when its colour comes again."""
    return MARKERS[(index + index // len(MEMBERS)) % len(MARKERS)]


def apart(sizes: Array) -> list[int]:
    """Sizes whose labels have room beside each other on a logarithmic axis."""
    reach = np.log(sizes[-1] / sizes[0])
    kept = [int(sizes[-1])]
    for size in map(int, sizes[-2::-1].tolist()):
        if np.log(kept[-1] / size) >= 0.09 * reach:
            kept.append(size)
    return kept[::-1]


def across(panels: int, most: int = 3) -> int:
    """The number of panels in a row of panels: four are two by two."""
    return 2 if panels == 4 and most > 2 else min(panels, most)


def number(value: float, digits: int = 1) -> str:
    """A number with separators and a true minus sign.

    >>> number(-1234.56)
    '−1,234.6'
    """
    return f"{value:,.{digits}f}".replace("-", "−")
