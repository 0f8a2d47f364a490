"""Matrices of many columns in model files: a diagonal and a few rows instead of d × d numbers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from suffice.distributions.covariance_structures import structure
from suffice.numerics.low_rank import MANY_COLUMNS, LowRank
from suffice.storage import read_budget
from suffice.storage.plain import Reader, Writer, refused
from suffice.types import Array

# The fields that hold such matrices; floors also inside of others, block by block.
FIELDS = {
    "MultivariateNormal": ("cov",),
    "Scatter": ("scatter", "seen"),
    "Mixture": ("floors",),
    "Classes": ("floors",),
}
KEYS = frozenset(("diagonal", "factors", "components"))


def tree(matrices: LowRank, path: str, inner: Writer) -> Any:
    """Matrices diag(a) + Fᵀ F as a tree of JSON: a, and F of each; whole ones where columns are few.

    What the components share is written once; ``components`` is null for a single matrix.
    """
    if matrices.shape[-1] <= MANY_COLUMNS:
        return inner(matrices.dense(), path)
    several = matrices.ndim == 3
    kept = matrices[:1] if several and len(matrices) > 1 and matrices.shared else matrices
    return {
        "diagonal": inner(np.asarray(kept.diagonal), path),
        "factors": [inner(np.asarray(own), path) for own in kept.factors],
        "components": len(matrices) if several else None,
    }


def is_compact(node: object) -> bool:
    """Whether a node of a document is a matrix that was written by its parts."""
    return type(node) is dict and frozenset(node) == KEYS


def value(node: dict[str, Any], path: str, inner: Reader) -> LowRank:
    """The matrices of a node, checked."""
    diagonal = _numbers(inner(node["diagonal"], f"{path}.diagonal"), f"{path}.diagonal")
    components, factors = node["components"], node["factors"]
    single = components is None
    if diagonal.ndim != (1 if single else 2) or not diagonal.size or type(factors) is not list:
        raise refused(path, "the diagonal has one axis, or two where there are components, and factors are a list.")
    if not single and (type(components) is not int or len(diagonal) not in (1, components)):
        raise refused(path, f"there are {components!r:.20} components, and diagonals of {len(diagonal)}.")
    d = diagonal.shape[-1]
    rows = [_numbers(inner(one, f"{path}.factors[{i}]"), f"{path}.factors[{i}]") for i, one in enumerate(factors)]
    if any(one.ndim != 2 or one.shape[1] != d for one in rows) or len(rows) not in (0, 1 if single else len(diagonal)):
        raise refused(path, f"factors are rows of {d} numbers, those of each diagonal or none at all.")
    if not single and not read_budget.takes("numbers", components * d):
        raise refused(path, f"{components} components of {d} columns are more than a file of this size holds.")
    if (diagonal < 0).any():
        raise refused(path, "a number of the diagonal is below 0.")
    found = LowRank(diagonal, rows)
    return found if single else found.broadcast(components)


def is_covariance(cov: Array | LowRank | None, name: Hashable) -> bool:
    """Whether matrices are covariances which their structure reads without making d × d numbers of them."""
    if not isinstance(cov, LowRank):
        return True
    form = structure(name)
    fits = not cov.factors if form.scatter_kind == "diagonal" else form.compact
    return fits and bool((cov.diagonal > 0).all())


def _numbers(found: Any, path: str) -> Array:
    if not isinstance(found, np.ndarray) or found.dtype != np.float64 or not np.isfinite(found).all():
        raise refused(path, "an array of finite numbers is expected here.")
    return found
