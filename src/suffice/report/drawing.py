"""Figures as SVG inside a page: unique names, the page's own ink and paper, the same bytes every time."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET  # what is read here was written here

import numpy as np

from suffice.plot.canvas import BAR, BLUE, DARK, GREY, MEMBERS

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
LONG = re.compile(r"-?\d+\.\d{3,}(?![\d.e])")  # numbers finer than anyone can see
DPI = 100  # of points, which are drawn as an image
# Colours that follow the page's light or dark dress; components keep theirs, but for the darkest.
INK = {
    DARK: "var(--ink)",
    "#000000": "var(--ink)",
    "#444444": "var(--soft)",
    GREY: "var(--grey)",
    BAR: "var(--bar)",
    "#ffffff": "var(--paper)",
    "#cccccc": "var(--bar)",
    BLUE: "var(--blue)",
    MEMBERS[0]: "var(--first)",
}
RULES: dict[Any, Any] = {
    "svg.fonttype": "none",  # the browser has letters for every script
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "font.sans-serif": ["DejaVu Sans"],
    "path.simplify_threshold": 0.3,
    "svg.image_inline": True,
}


@dataclass
class Sheets:
    """Draws the figures of one page, each with a prefix of its own."""

    count: int = 0

    def draw(self, alt: str, paint: Callable[[], Any]) -> Drawing | None:
        """What ``paint`` draws, which returns axes; None where it draws nothing."""
        import matplotlib as mpl
        from matplotlib import pyplot as plt

        self.count += 1
        prefix = f"f{self.count}"
        with mpl.rc_context({**RULES, "svg.hashsalt": f"suffice {prefix}"}), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has it
            found = paint()
            ax = next((one for one in np.ravel(np.array(found, dtype=object)) if one is not None), None)
            if ax is None:
                return None
            sheet = ax.figure
            text = io.StringIO()
            sheet.savefig(text, format="svg", dpi=DPI, metadata={"Date": None, "Creator": None})
            width = float(sheet.get_size_inches()[0])
            plt.close(sheet)
        return Drawing(inline(text.getvalue(), prefix, alt), round(width * 96))


@dataclass(frozen=True)
class Drawing:
    """A figure: its SVG, and its natural width in pixels."""

    svg: str
    width: int


def inline(text: str, prefix: str, alt: str) -> str:
    """An SVG file as a part of a page: without names that others have, addresses, styles for all, or a fixed size."""
    root = ET.fromstring(text)  # noqa: S314 (what Matplotlib wrote just now)
    used = {word for one in root.iter() for value in one.attrib.values() for word in _references(value)}
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in {f"{SVG}metadata", f"{SVG}style"}:
                parent.remove(child)
    for one in root.iter():
        one.tag = one.tag.removeprefix(SVG)
        _rename(one, used, prefix)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", alt)
    _prune(root)
    return ET.tostring(root, encoding="unicode")


def _references(value: str) -> list[str]:
    if value.startswith("#"):
        return [value[1:]]
    return [part.partition(")")[0] for part in value.split("url(#")[1:]]


def _rename(one: ET.Element, used: set[str], prefix: str) -> None:
    name = one.attrib.pop("id", None)
    if name in used:
        one.set("id", f"{prefix}-{name}")
    if LINK in one.attrib:
        link = one.attrib.pop(LINK)
        one.set("href", f"#{prefix}-{link[1:]}" if link.startswith("#") else link)
    for key, value in one.attrib.items():
        if "url(#" in value:
            one.set(key, value.replace("url(#", f"url(#{prefix}-"))
        elif key in {"style", "fill", "stroke"}:
            one.set(key, _ink(value))
        elif key == "d":
            one.set(key, _shorten(value))
        elif key in {"x", "y", "transform", "width", "height"}:
            one.set(key, LONG.sub(_round, value))


def _shorten(path: str) -> str:
    """A path in fewer letters: lines need no letter of their own where nothing but lines follows."""
    short = " ".join(LONG.sub(_round, path).split())
    return short if any(letter in short for letter in "QCA") else short.replace(" L ", " ")


def _round(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def _ink(style: str) -> str:
    for colour, name in INK.items():
        style = style.replace(colour, name)
    return style


def _prune(root: ET.Element) -> None:
    """Drop the white space between elements, and definitions that hold nothing; letters of texts stay."""
    for parent in list(root.iter()):
        for child in list(parent):
            child.tail = None
            if child.tag == "defs" and not len(child):
                parent.remove(child)
        if parent.tag not in {"text", "tspan"} and parent.text is not None and not parent.text.strip():
            parent.text = None
