"""Symmetric matrices of many columns, kept as a diagonal plus a matrix of low rank.

Uncorrelated columns have covariances that are diagonals, and the scatter of n rows of d > n columns has rank n. Neither
needs d × d numbers. What knows nothing of this class reads such a matrix as an array: NumPy makes one on demand.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from suffice.engines.once import cached_property

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = npt.NDArray[Any]
V = TypeVar("V")

MANY_COLUMNS = 64  # fewer are kept as whole matrices, unless they are diagonal: LAPACK is quick there
SMALL = 1 << 14  # entries of a stack whose array is kept once it was asked for


class LowRank:
    """Matrices diag(a) + Fᵀ F, one (d, d) or a stack (k, d, d).

    Parameters
    ----------
    diagonal
        a, (d,) or (k, d), none below 0.
    factors
        F (r, d) of each matrix; none at all where every matrix is a diagonal.

    Examples
    --------
    >>> from suffice.numerics.low_rank import LowRank
    >>> np.asarray(LowRank(np.array([1.0, 2.0]), [np.array([[3.0, 1.0]])]))
    array([[10.,  3.],
           [ 3.,  3.]])
    """

    __array_ufunc__ = None  # NumPy leaves operators to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, diagonal: Array, factors: Sequence[Array] = ()) -> None:
        """Keep read-only views."""
        self.diagonal = _locked(np.asarray(diagonal, dtype=np.float64))
        self.factors = tuple(_locked(np.asarray(one, dtype=np.float64)) for one in factors)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by the parts, so that a copy is read-only, too."""
        return LowRank, (self.diagonal, self.factors)

    # ---- as an array --------------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the matrices."""
        return (*self.diagonal.shape, self.diagonal.shape[-1])

    @property
    def ndim(self) -> int:
        """2 for one matrix, 3 for a stack."""
        return self.diagonal.ndim + 1

    def __len__(self) -> int:
        """Return the length of the first axis, as of an array."""
        return len(self.diagonal)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:  # noqa: FBT001 (NumPy's protocol)
        """Return the matrices themselves, (k, d, d)."""
        found = self.dense()
        return found.astype(dtype or found.dtype) if copy or dtype not in (None, found.dtype) else found

    def dense(self) -> Array:
        """The matrices, read-only; what repeats along the components is made once."""
        return self._small if self.diagonal.size * self.shape[-1] <= SMALL else self._made()

    @cached_property
    def _small(self) -> Array:
        return self._made()

    def _made(self) -> Array:
        if self.ndim == 3 and len(self) > 1 and self.shared:
            return np.broadcast_to(self[:1].dense(), self.shape)
        found = np.zeros(self.shape)
        stack, places = found.reshape(-1, *self.shape[-2:]), np.arange(self.shape[-1])
        for index, own in enumerate(self.factors):
            stack[index] = own.T @ own
        found[..., places, places] = self.variances
        found.flags.writeable = False
        return found

    def __getitem__(self, index: Any) -> Any:
        """Some of a stack, or a stack of one (``[None]``); anything else of the matrices themselves."""
        if index is None and self.ndim == 2:
            return LowRank(self.diagonal[None], self.factors)
        if self.ndim == 2 or (isinstance(index, tuple) and len(index) > 1):
            return self.dense()[index]
        index = index[0] if isinstance(index, tuple) and index else index
        if isinstance(index, tuple):
            return self
        if not self.factors:
            return LowRank(self.diagonal[index])
        chosen = np.arange(len(self))[index]
        return LowRank(self.diagonal[index], [self.factors[j] for j in np.atleast_1d(chosen)])

    def reshape(self, *shape: Any) -> LowRank:
        """One matrix as a stack of one, or back."""
        wanted = shape[0] if len(shape) == 1 else shape
        wanted = (-1, *wanted[1:]) if wanted[0] == -1 and self.ndim == 2 else wanted
        return LowRank(self.diagonal.reshape(wanted[:-1]), self.factors)

    # ---- what they are ------------------------------------------------------------------------------------------
    @cached_property
    def variances(self) -> Array:
        """The diagonals of the matrices, (d,) or (k, d)."""
        if not self.factors:
            return self.diagonal
        squares = [np.einsum("rd,rd->d", own, own) for own in self._distinct]
        squares = squares * (len(self.factors) // len(squares))
        return _locked(self.diagonal + np.reshape(squares, self.diagonal.shape))

    @property
    def shared(self) -> bool:
        """Whether the matrices of a stack are surely the same."""
        one = self.ndim == 2 or len(self) == 1 or self.diagonal.strides[0] == 0
        return one and len(self._distinct) <= 1

    @property
    def _distinct(self) -> tuple[Array, ...]:
        same = all(one is self.factors[0] for one in self.factors)
        return self.factors[:1] if same else self.factors

    @property
    def finite(self) -> bool:
        """Whether every number is."""
        return bool(np.isfinite(self.variances).all())

    @property
    def coupled(self) -> Array:
        """Whether a column varies together with another, (d,) or (k, d)."""
        if not self.factors:
            return np.zeros(self.diagonal.shape, bool)
        found = [(own != 0).any(axis=0) for own in self.factors]
        return np.reshape(found, self.diagonal.shape)

    def marginal_columns(self, columns: Sequence[Any]) -> LowRank:
        """The matrices of some columns, by place."""
        return LowRank(self.diagonal[..., columns], [own[:, columns] for own in self.factors])

    @property
    def numbers(self) -> int:
        """How many numbers are kept."""
        return int(self.diagonal.size + sum(own.size for own in self.factors))

    def squared_norm(self) -> Array:
        """The sum of the squares of all entries of each matrix, (k,)."""
        found = np.einsum("...d,...d->...", self.diagonal, self.diagonal).reshape(-1)
        for index, own in enumerate(self.factors):
            products = own @ own.T
            diagonal = self.diagonal.reshape(-1, self.shape[-1])[index]
            found[index] += (products**2).sum() + 2 * np.einsum("d,rd,rd->", diagonal, own, own)
        return np.asarray(found)

    # ---- other ones ---------------------------------------------------------------------------------------------
    def scaled(self, by: Any) -> LowRank:
        """Times a number of at least 0 for all, or for each of a stack (k,)."""
        each = np.broadcast_to(by, self.shape[:-2] or (1,))
        diagonal = self.diagonal * (each[:, None] if self.ndim == 3 else each[0])
        made: dict[Any, Array] = {}  # what components share stays one array
        for f, own in zip(each, self.factors, strict=False):
            made.setdefault((id(own), f), np.sqrt(f) * own)
        return LowRank(diagonal, [made[id(own), f] for f, own in zip(each, self.factors, strict=False)])

    def in_units(self, unit: Array) -> LowRank:
        """Entries (i, j) times unit i times unit j, (d,) or (k, d)."""
        each = np.broadcast_to(unit, self.diagonal.shape)
        rows = each.reshape(-1, self.shape[-1])
        return LowRank(self.diagonal * each**2, [own * one for own, one in zip(self.factors, rows, strict=False)])

    def summed(self) -> Any:
        """The sum of a stack, as a stack of one."""
        total = self.diagonal.sum(axis=0, keepdims=True)
        return LowRank(total, [np.concatenate(self.factors)] if self.factors else ())

    def with_rows(self, rows: Sequence[Array]) -> Any:
        """With more rows (m, d) in the factor of each matrix of a stack; an array where they are too many."""
        most = self.shape[-1] // 2
        factors = self.factors or (np.zeros((0, self.shape[-1])),) * len(self)
        found = [np.concatenate([own, more]) if len(more) else own for own, more in zip(factors, rows, strict=True)]
        whole = LowRank(self.diagonal, found)
        return whole if sum(map(len, found)) <= most else whole.dense()

    def plus(self, other: LowRank) -> Any:
        """The sum of two stacks."""
        whole = LowRank(self.diagonal + other.diagonal, self.factors)
        return whole.with_rows(other.factors) if other.factors else whole

    def broadcast(self, k: int) -> LowRank:
        """The one matrix of a stack k times."""
        if len(self) == k:
            return self
        return LowRank(np.broadcast_to(self.diagonal, (k, self.shape[-1])), self.factors * k)

    # ---- operators: an array where the answer is one ------------------------------------------------------------
    def __add__(self, other: Array | LowRank) -> Any:
        """``+``: kept compact with another of the same shape."""
        if isinstance(other, LowRank) and other.shape == self.shape:
            one, more = (self[None], other[None]) if self.ndim == 2 else (self, other)
            total = one.plus(more)
            return total[0] if self.ndim == 2 else total
        return self.dense() + np.asarray(other)

    __radd__ = __add__

    def __mul__(self, other: Array | float) -> Any:
        """``*``: kept compact where every matrix has a number of its own, of at least 0."""
        factor = np.asarray(other)
        if factor.ndim == 0 and factor >= 0:
            return self.scaled(factor)
        each = factor.ndim == 3 == self.ndim and factor.shape[1:] == (1, 1) and len(factor) in (1, len(self))
        return self.scaled(factor[:, 0, 0]) if each and (factor >= 0).all() else self.dense() * factor

    __rmul__ = __mul__

    def __truediv__(self, other: Array) -> Any:
        """``/``, as ``*``."""
        with np.errstate(divide="ignore"):
            return self * (1.0 / np.asarray(other, dtype=float))

    def __sub__(self, other: Self) -> Array:
        """``-``."""
        return np.asarray(self.dense() - np.asarray(other))

    def __eq__(self, other: object) -> bool:
        """Whether all entries are equal."""
        if not isinstance(other, (LowRank, np.ndarray)) or self.shape != other.shape:
            return False
        if isinstance(other, LowRank) and not (self.factors or other.factors):
            return bool(np.array_equal(self.diagonal, other.diagonal))
        return bool(np.array_equal(self.dense(), np.asarray(other)))

    def __repr__(self) -> str:
        """Show the shape and the rank."""
        return f"<LowRank {self.shape}, rank {max(map(len, self.factors), default=0)} beside the diagonal>"


class OnDemand:
    """A field of a dataclass that may hold a `LowRank`, and is an array for whoever asks for it."""

    def __init__(self, name: str) -> None:
        """Keep what is set under ``name``."""
        self.name = name

    def __get__(self, instance: Any, owner: object = None) -> Any:
        """Return the array."""
        if instance is None:
            return self
        try:
            found = instance.__dict__[self.name]
        except KeyError:
            raise AttributeError(self.name) from None
        return found.dense() if isinstance(found, LowRank) else found

    def __set__(self, instance: object, value: object) -> None:
        """Keep it as it is given."""
        instance.__dict__[self.name] = value


def stored(value: object, name: str) -> Any:
    """A field as it is kept."""
    found = vars(value)
    return found[name] if name in found else getattr(value, name)


def replace(value: V, /, **changes: Any) -> V:
    """As `dataclasses.replace`, with fields as they are kept."""
    for f in fields(value):  # type: ignore[arg-type]
        if f.init and f.name not in changes:
            changes[f.name] = stored(value, f.name)
    return type(value)(**changes)


def diagonals(matrices: object) -> Array:
    """The diagonals (…, d) of matrices (…, d, d)."""
    return matrices.variances if isinstance(matrices, LowRank) else np.einsum("...ii->...i", np.asarray(matrices))


def broadcast(matrices: Array | LowRank, shape: tuple[int, ...]) -> Any:
    """As `numpy.broadcast_to`, along the components."""
    return matrices.broadcast(shape[0]) if isinstance(matrices, LowRank) else np.broadcast_to(matrices, shape)


def summed(matrices: Array | LowRank) -> Any:
    """The sum of a stack, as a stack of one."""
    return matrices.summed() if isinstance(matrices, LowRank) else matrices.sum(axis=0, keepdims=True)


def all_finite(matrices: Array | LowRank) -> bool:
    """Whether every number is."""
    return matrices.finite if isinstance(matrices, LowRank) else bool(np.isfinite(matrices).all())


def diagonal(values: Array, *, compact: bool) -> Any:
    """The diagonal matrix of (d,), or those of (k, d)."""
    values = np.asarray(values, dtype=np.float64)
    return LowRank(values) if compact else values[..., None] * np.eye(values.shape[-1])


def compact(diagonal: Array, factors: Sequence[Array] = ()) -> Array:
    """A `LowRank`, for fields that are arrays for whoever asks: see `OnDemand`."""
    return cast("Array", LowRank(diagonal, factors))


def _locked(array: Array) -> Array:
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array
