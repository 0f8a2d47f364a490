"""Laws of values: they do not change, and neither do the rows they draw from one seed."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from typing import Any

import numpy as np

from suffice.errors import ModelFileError, UnsupportedError
from suffice.io import dumps, loads
from suffice.testing.law import DoesNotApply, LawBroken, law, require, rows_of
from suffice.types import Array


@law("values are immutable", "a dataclass that is not frozen, a parameter array that is writeable or the caller's own")
def values_are_immutable(dist: Any, rng: np.random.Generator) -> None:
    """Neither attributes nor arrays can be written, nor does a value follow the arrays it was made from."""
    x = rows_of(dist, rng, 10)
    names = tuple(dist.specs()) or ("fixed",)
    for name in names:
        try:
            setattr(dist, name, getattr(dist, name))
        except (FrozenInstanceError, AttributeError):
            pass
        else:
            raise LawBroken(f"its {name} can be assigned to.")
        value = getattr(dist, name)
        require(not (isinstance(value, np.ndarray) and value.flags.writeable), f"the array {name} can be written to.")
    stats = dist.suffstats(x)
    before = _copies(stats)
    _ = stats + stats, stats * 0.5, dist.log_prob(x)
    require(all(np.array_equal(a, b) for a, b in zip(before, _copies(stats), strict=True)), "its statistics changed.")
    settings: Any = getattr(type(stats), "__dataclass_params__", None)
    require(settings is None or settings.frozen, "its statistics are not frozen.")
    kept = x.copy()
    dist.suffstats(x, np.ones(len(x)))
    dist.log_prob(x)
    require(np.array_equal(kept, x), "it writes into the caller's rows.")
    given = {n: np.array(getattr(dist, n), dtype=float) for n in dist.specs() if np.ndim(getattr(dist, n))}
    if not given:
        return
    made = replace(dist, **given)
    first = {name: np.array(getattr(made, name)) for name in given}
    for array in given.values():
        array[...] = 0.5
    same = all(np.array_equal(getattr(made, name), first[name]) for name in given)
    require(same, "it follows the array that it was made from.")


def _copies(stats: object) -> list[Any]:
    if stats is None:
        return []
    if hasattr(stats, "parts"):
        return [copy for part in stats.parts for copy in _copies(part)]
    named = [getattr(stats, f.name) for f in fields(stats)] if is_dataclass(stats) else list(vars(stats).values())
    return [value.copy() for value in named if isinstance(value, np.ndarray)]


@law("a value shows the call that makes it", "__repr__, __eq__ or __hash__")
def values_compare(dist: Any, _rng: np.random.Generator) -> None:
    """Equal parameters are equal values with equal hashes; other parameters are another value."""
    same = dist.reshaped(lambda value: value) if dist.specs() else dist
    require(same == dist and hash(same) == hash(dist), "an equal copy does not compare or hash as equal.")
    require(dist.name in repr(dist), f"its repr {dist!r} does not name the family.")
    if not dist.specs() or not dist.free:
        raise DoesNotApply(f"{dist.name} has no numbers of its own to change")
    name = dist.free[0]
    if dist.specs()[name].domain.core:
        raise DoesNotApply("its first parameter is not a number that can be nudged")
    value = np.asarray(getattr(dist, name))
    nudged = np.where(value == 0, 1e-3, value * (1 - 2.0**-20))
    require(replace(dist, **{name: nudged}) != dist, f"a nudged {name} compares as equal.")


def _rows_and_statistics(dist: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    x = rows_of(dist, rng, 10)
    try:
        return x, dist.suffstats(x)
    except UnsupportedError:  # a predictive is never fitted
        return x, None


@law("a value survives copying and pickling", "__getstate__, __setstate__, __deepcopy__, or a field that is not data")
def values_travel(dist: Any, rng: np.random.Generator) -> None:
    """A copy and what comes out of a pickle equal the value, score rows alike, and cannot be written to either."""
    x, stats = _rows_and_statistics(dist, rng)
    try:
        pickled = pickle.dumps((dist, stats))
    except (pickle.PicklingError, AttributeError, TypeError) as error:  # a function without a name has no address
        raise DoesNotApply(f"it holds what cannot be pickled: {error}") from error
    routes = {"copy": copy.deepcopy((dist, stats)), "pickle": pickle.loads(pickled)}  # noqa: S301 (written just now)
    for route, (value, kept) in routes.items():
        require(value == dist and hash(value) == hash(dist), f"after {route} it is another value: {value!r}.")
        require(np.array_equal(value.log_prob(x), dist.log_prob(x)), f"after {route} it scores rows differently.")
        held = [getattr(value, name) for name in value.specs()]
        writeable = any(isinstance(array, np.ndarray) and array.flags.writeable for array in held)
        require(not writeable, f"after {route} its arrays can be written to.")
        same = all(np.array_equal(a, b) for a, b in zip(_copies(kept), _copies(stats), strict=True))
        require(same, f"after {route} its statistics are others.")


@law("JSON round-trips bitwise", "a constructor that changes what it is given, or a field that files leave out")
def files_keep_every_bit(dist: Any, rng: np.random.Generator) -> None:
    """What comes out of a file is the value, bit for bit, and would be written as the same file; so its statistics."""
    x, stats = _rows_and_statistics(dist, rng)
    try:
        written = [dumps(one) for one in (dist, stats) if one is not None]
    except ModelFileError as refusal:  # files hold suffice's own kinds, and no functions
        raise DoesNotApply(str(refusal)) from refusal
    value, kept = (*map(loads, written), None)[:2]
    require(written == [dumps(one) for one in (value, kept) if one is not None], "what is read is written otherwise.")
    require(value == dist and hash(value) == hash(dist), f"from a file it is another value: {value!r}.")
    require(_bits(value.log_prob(x)) == _bits(dist.log_prob(x)), "from a file it scores rows differently.")
    held = [getattr(value, name) for name in value.specs()]
    writeable = any(isinstance(array, np.ndarray) and array.flags.writeable for array in held)
    require(not writeable, "from a file its arrays can be written to.")
    same = [_bits(array) for array in _copies(kept)] == [_bits(array) for array in _copies(stats)]
    require(same, "from a file its statistics are others.")
    if stats is not None and dist.exact:
        require(value.estimate(kept) == dist.estimate(stats), "from a file it learns otherwise.")


def _bits(array: Array) -> bytes:
    return np.ascontiguousarray(array).tobytes()


@law("same seed, same rows", "draw that uses anything but its rng")
def same_seed_same_rows(dist: Any, _rng: np.random.Generator) -> None:
    """A seed fixes the rows; another seed gives others; the layout is rows, components, columns."""
    x, again, other = (np.asarray(dist.sample(40, seed)) for seed in (7, 7, 8))
    require(np.array_equal(x, again), "seed 7 gives two different samples.")
    require(not np.array_equal(x, other), "seeds 7 and 8 give the same sample.")
    require(len(dist.sample(0, 1)) == 0, "sample(0) is not empty.")
    stream = np.random.default_rng(7)
    first, second = np.asarray(dist.sample(40, stream)), np.asarray(dist.sample(40, stream))
    require(np.array_equal(first, x), "a Generator of seed 7 draws other rows than the seed 7.")
    require(not np.array_equal(first, second), "a Generator is not advanced by sampling.")
