"""Answers from draws, which say how far they may be off."""

from __future__ import annotations

from typing import Self

DRAWS = 100_000  # rows of an answer by simulation


class Simulated(float):
    """A number found from draws, with its standard error."""

    error: float

    def __new__(cls, value: float, error: float = float("nan")) -> Self:
        """Keep the number and its standard error."""
        found = super().__new__(cls, value)
        found.error = error
        return found

    def __repr__(self) -> str:
        """Show the number with its standard error."""
        return f"{float(self):.6g} ± {self.error:.2g}"

    __str__ = __repr__
