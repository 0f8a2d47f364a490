"""What suffice raises. Every message says who, which rule, which value, where, and what to do."""

from __future__ import annotations


class SufficeError(Exception):
    """Anything that suffice refuses to do, with the reason and the remedy."""


class DataError(SufficeError, ValueError):
    """The data break a rule of the distribution: the message names column, row, value and remedy."""


class ParameterError(SufficeError, ValueError):
    """A parameter, prior or option lies outside its domain."""


class ArgumentError(ParameterError, TypeError):
    """A parameter that the family does not have: the message lists those that it has."""


class UnsupportedError(SufficeError, TypeError):
    """The question makes sense, but not for this distribution: the message says which ones can answer it."""


class ModelFileError(SufficeError, ValueError):
    """A model cannot be written to a file, or a file is not one that can be read: the message names the place in it."""


class SufficeWarning(UserWarning):
    """An answer that stands, but not for what the caller may think: the message says what was left out, and why."""
