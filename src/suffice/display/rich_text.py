"""Pages for terminals with colours; rich is loaded when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import ConsoleOptions


LEGEND = ("  info:", "  ±:", "  ×÷:")
AFTER = ("  what sets", "  strongest")  # what may follow a legend


def styled(page: str) -> Any:
    """A page with its title bold, its legend dim, and what not to trust in colour; lines that go on look the same."""
    from rich.text import Text

    out = Text(no_wrap=True)
    title, alarmed, legend = True, False, False
    for i, line in enumerate(page.split("\n")):
        title = i == 0 or (title and line.startswith("  "))
        alarmed = alarmed or line == "alerts:"
        legend = line.startswith(LEGEND) or (legend and line.startswith("  ") and not line.startswith(AFTER))
        quiet = legend or line == "alerts: none"
        style = "bold" if title else "yellow" if alarmed or line.startswith("NOT converged") else "dim" if quiet else ""
        out.append(("\n" if i else "") + line, style=style)
    return out


class Page:
    """A base of what prints as a page: rich asks for it in the width of its console."""

    def summary(self, width: int | None = None) -> str:
        """The page as plain text."""
        raise NotImplementedError

    def __rich_console__(self, console: object, options: ConsoleOptions) -> Any:
        """Yield the page, as wide as there is room."""
        del console
        yield styled(self.summary(options.max_width))
