"""Arguments that many functions take, checked in one place: seeds, counts, levels of probability."""

from __future__ import annotations

import numpy as np

from suffice.errors import ParameterError
from suffice.types import Array, Seed

MOST_ROWS = 1 << 48  # of one sample; the bytes of so many rows can still be counted


def has_complex(array: Array) -> bool:
    """Whether an array is of complex numbers, or of objects that hold one: NumPy would drop their imaginary part."""
    if array.dtype.kind != "O":
        return array.dtype.kind == "c"
    return any(isinstance(one, (complex, np.complexfloating)) for one in array.flat)


def check_level(level: object) -> None:
    """Refuse what is not the level of an interval."""
    if not (isinstance(level, (int, float, np.number)) and 0 < level < 1):
        msg = f"interval needs a level strictly between 0 and 1, such as 0.95; got {level!r}."
        raise ParameterError(msg)


def check_count(n: object) -> None:
    """Refuse what is not a number of draws."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        msg = f"sample needs a whole number of rows of at least 0; got {n!r:.60}."
        raise ParameterError(msg)
    if n > MOST_ROWS:
        msg = f"sample: {n} rows are more than any memory holds; draw fewer, a part at a time."
        raise ParameterError(msg)


def generator(random_state: Seed) -> np.random.Generator:
    """A generator from None, a seed or a generator."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        msg = f"random_state is a seed (a whole number of at least 0), a Generator or None; got {random_state!r:.60}."
        raise ParameterError(msg) from error
