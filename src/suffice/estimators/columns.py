"""A family for each column, by its values, where the caller names none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from suffice.combinators.product import Product
from suffice.core.distribution import Distribution
from suffice.core.errors import ParameterError
from suffice.distributions.bernoulli import Bernoulli
from suffice.distributions.categorical import Categorical
from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.distributions.normal import Normal


def chosen(rows: Mapping[Any, Any], families: Any, *, joint: bool = False) -> Product:
    """The product of the columns: the families that the caller names, and for the others what their values say.

    Two values that are booleans, or 0 and 1, are Bernoulli; text is Categorical; numbers are Normal, or with ``joint``
    one MultivariateNormal.
    """
    if isinstance(families, Product):
        return families
    if isinstance(families, Distribution):
        return Product([families])
    named = dict(families or {})
    unknown = [name for name in named if name not in rows]
    if unknown:
        there = ", ".join(map(repr, rows))
        msg = f"NaiveBayes: families names the column {unknown[0]!r}; the table has {there}."
        raise ParameterError(msg)
    found = {name: named[name] if name in named else _family(values) for name, values in rows.items()}
    numbers = tuple(name for name in rows if name not in named and isinstance(found[name], Normal))
    if joint and len(numbers) > 1:
        found = {name: one for name, one in found.items() if name not in numbers} | {numbers: MultivariateNormal()}
    return Product({name: one for name, one in found.items() if one is not None})


def _family(values: Any) -> Any:
    array = np.asarray(values)
    if array.dtype.kind == "O":
        numeric = all(one is None or isinstance(one, (bool, int, float, np.number, np.bool_)) for one in array)
        array = np.array([np.nan if one is None else one for one in array], dtype=float) if numeric else array
    if array.dtype.kind not in "biuf":
        return Categorical()
    seen = np.unique(array[~np.isnan(array)] if array.dtype.kind == "f" else array)
    return Bernoulli() if len(seen) == 2 and set(seen.tolist()) == {0, 1} else Normal()
