"""Values: immutable parameters in the layout of one component, of several columns, or of a stack of components."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar, Self, cast

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.parameters import Parameter, as_parameter, described
from suffice.engines.once import cached_property
from suffice.errors import ArgumentError, DataError, ParameterError, UnsupportedError
from suffice.numerics.low_rank import MANY_COLUMNS, LowRank, broadcast, diagonals, replace, stored
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Value(Distribution):
    """A family's parameters: checked, broadcast to one batch shape, read-only, comparable, and shown as a call.

    The batch is () for one component over one column, (d,) over d independent columns, (k, d) for a stack of
    components.
    """

    fixed: frozenset[str] = field(
        default=frozenset(),
        kw_only=True,
        metadata=described("set of str", "Names of the parameters that are not learned, as ``fix`` sets them."),
    )
    tied: frozenset[str] = field(
        default=frozenset(),
        kw_only=True,
        metadata=described("set of str", "Names of those that components share, as ``tie`` sets them."),
    )
    batch: tuple[int, ...] = field(default=(), init=False, kw_only=True)  # set by the parameters

    _specs: ClassVar[dict[str, Parameter]]
    row_vector: ClassVar[bool] = False  # a row is one vector: parameters have no axis for columns

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Refuse parameters that the family does not have, and say which it has."""
        positional, names, anything = _accepted(cast("Any", cls))
        if not anything and (len(given) > positional or not named.keys() <= names.keys()):
            wrong = next((repr(name) for name in named if name not in names), f"number {positional + 1}")
            offer = ", ".join(name for name in names if name not in ("fixed", "tied")) or "none"
            msg = f"{cls.__name__} has no parameter {wrong}; it takes {offer}."
            raise ArgumentError(msg)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Check every parameter, broadcast them to one batch shape, and make them read-only."""
        own, specs, owner = self.__dict__, self.specs(), self.name
        arrays: dict[str, Any] = {}
        batches: set[tuple[int, ...]] = set()
        for name, spec in specs.items():
            if own.get(name) is not None:
                arrays[name] = array = as_parameter(owner, name, own[name], spec.domain)
                batches.add(array.shape[: array.ndim - spec.domain.core])
        try:
            batch = batches.pop() if len(batches) == 1 else np.broadcast_shapes(*batches)
        except ValueError as error:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            msg = (
                f"{self.name}: the shapes of the parameters do not fit together: {shapes}. "
                "Give each one value, or as many as the others have."
            )
            raise ParameterError(msg) from error
        if len(batch) > (1 if self.row_vector else 2):
            msg = f"{self.name}: parameters have at most the axes components × columns; got a batch of shape {batch}."
            raise ParameterError(msg)
        for name, array in arrays.items():
            domain = specs[name].domain
            shape = batch + array.shape[array.ndim - domain.core :]
            value = array if array.shape == shape else broadcast(array, shape)
            number = int if domain.integer else float
            own[name] = number(value) if value.ndim == 0 else value
        own["batch"] = batch
        if not (isinstance(self.fixed, frozenset) and isinstance(self.tied, frozenset)):
            self._freeze_names()
        for kind in (self.fixed, self.tied):
            for name in kind:
                check_name(self, name)

    def _freeze_names(self) -> None:
        """Make sets of the names of fixed and tied parameters, however they were given."""
        for field_name in ("fixed", "tied"):
            given: Any = getattr(self, field_name)
            if isinstance(given, frozenset):
                continue
            names = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
            if not all(isinstance(name, str) for name in names):
                how = f"{self.name}(…).{'fix' if field_name == 'fixed' else 'tie'}('…')"
                msg = f"{self.name}: {field_name} are names of parameters, as in {how}; got {given!r:.60}."
                raise ParameterError(msg)
            object.__setattr__(self, field_name, frozenset(names))

    @classmethod
    def specs(cls) -> dict[str, Parameter]:
        """The parameters as data, by name."""
        found = cls.__dict__.get("_specs")
        if found is None:
            found = {f.name: f.metadata["parameter"] for f in fields(cls) if "parameter" in f.metadata}
            cls._specs = found
        return cast("dict[str, Parameter]", found)

    @classmethod
    def example(cls, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> Self:
        """A typical value of the family, as the laws use it; batch (), (d,) or (k, d)."""
        values: dict[str, Any] = {name: spec.draw(rng, batch) for name, spec in cls.specs().items()}
        return cls(**values)

    @property
    def params(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name, spec in self.specs().items() if spec.learned}

    @property
    def free(self) -> tuple[Any, ...]:
        return _learned(cast("Any", type(self)), self.fixed)

    @property
    def lacking(self) -> int:
        """How many axes of a stack, components and columns, this value does without."""
        return (1 if self.row_vector else 2) - len(self.batch)

    @property
    def lone(self) -> bool:
        return len(self.batch) < (1 if self.row_vector else 2)

    @property
    def n_components(self) -> int:
        return 1 if len(self.batch) < (1 if self.row_vector else 2) else int(self.batch[0])

    @property
    def columns(self) -> int | None:
        return int(self.batch[-1]) if len(self.batch) and self.batch[-1:] != (1,) else None

    @cached_property
    def ready(self) -> bool:
        """Whether every parameter has a value."""
        own = self.__dict__
        for name, spec in self.specs().items():
            if spec.learned and (own[name] if name in own else getattr(self, name)) is None:
                return False
        return True

    def fix(self, *names: str) -> Self:
        for name in names:
            check_name(self, name)
            if getattr(self, name) is None:
                msg = f"{self.name}: {name} has no value to fix; give one, as in {self.name}({name}=…).fix({name!r})."
                raise ParameterError(msg)
        return replace(self, fixed=self.fixed | set(names))

    def tie(self, *names: str) -> Self:
        for name in names:
            check_name(self, name)
        return replace(self, tied=self.tied | set(names))

    # ---- one and many -------------------------------------------------------------------------------------------
    def reshaped(self, change: Any) -> Self:
        """Apply ``change`` to every parameter array: the numbers stay what they are, so none is checked again."""
        moved, batch = {}, self.batch
        for name, spec in self.specs().items():
            value = self.__dict__.get(name)
            if value is not None:
                array = change(value if isinstance(value, LowRank) else np.asarray(value, np.float64))
                batch = array.shape[: array.ndim - spec.domain.core]
                moved[name] = array if array.ndim else int(array) if spec.domain.integer else float(array)
        found: Self = replace_valid(self, **moved)
        found.__dict__["batch"] = batch
        return found

    def _values(self) -> dict[str, Any]:
        """The parameters that have values, as they are kept."""
        return {name: stored(self, name) for name in self.specs() if stored(self, name) is not None}

    @cached_property
    def stacked(self) -> Self:
        """The same value as a stack: parameters (k, d, …)."""
        lacking = self.lacking
        return self if not lacking else self.reshaped(itemgetter(None if lacking == 1 else (None,) * lacking))

    def squeezed(self, axes: int) -> Self:
        """Drop leading axes of length 1: the inverse of ``stacked``."""
        if not axes:
            return self
        found = self.reshaped(itemgetter((0,) * axes))
        if not self.lacking:
            found.__dict__["stacked"] = self
        return found

    def like(self, stack: Self) -> Self:
        """``stack`` in the layout of this value: lone where this is lone, floats where this has floats."""
        return stack.squeezed(self.lacking)

    @cached_property
    def unstacked(self) -> tuple[Self, ...]:
        stack = self.stacked
        return tuple(stack.reshaped(lambda value, j=j: value[j]) for j in range(stack.n_components))

    def stack(self, k: int) -> Any:
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            msg = f"{self.name}: a stack has a whole number of components, at least 1; got {k!r}."
            raise ParameterError(msg)
        if not self.lone:
            msg = f"{self.name} is a stack of {self.n_components} components; stack one of its .unstacked instead."
            raise ParameterError(msg)
        stack = self.stacked
        return stack.reshaped(lambda value: broadcast(value, (k, *value.shape[1:])))

    def rebuilt(self, blocks: Any) -> Self:
        """The same with other ``blocks``, of what is made of some."""
        raise self._cannot("be made of other blocks")

    def widened(self, columns: int) -> Self:
        """The prototype for ``columns`` independent columns."""
        if self.row_vector or columns == (self.columns or 1):
            return self
        if self.columns is not None:
            msg = f"{self.name} describes {self.columns} columns, but the data have {columns}."
            raise DataError(msg)
        lead = self.batch[:-1] if self.batch else ()

        def wide(value: Array) -> Array:
            core = value.shape[len(self.batch) :]
            return np.broadcast_to(value.reshape((*lead, 1, *core)), (*lead, columns, *core))

        return self.reshaped(wide)

    # ---- showing ------------------------------------------------------------------------------------------------
    def _cannot(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.name} cannot {what}.")

    def require_ready(self, what: str) -> None:
        """Refuse to do ``what`` without parameters."""
        if not self.ready:
            missing = ", ".join(name for name, value in self.params.items() if value is None)
            msg = f"{self.name} cannot {what} before it has values for {missing}: fit it to data, or give them."
            raise ParameterError(msg)

    def __eq__(self, other: object) -> bool:
        """Equal when of one family with equal parameters and the same ones fixed and tied."""
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return all(_same(mine[f.name], theirs[f.name]) for f in fields(self) if f.compare)

    def __hash__(self) -> int:
        """Hash of the family and its numbers."""
        return hash((type(self), *(_hashed(self.specs()[name], value) for name, value in self._values().items())))

    def __copy__(self) -> Self:
        """Return itself: what cannot change needs no copy."""
        return self

    def __deepcopy__(self, _: Any) -> Self:
        """Return itself: what cannot change needs no copy."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return what makes the value, without what was computed from it."""
        return {f.name: stored(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields over; arrays that were written out come back read-only."""
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """Show the family as the call that makes it."""
        shown = ", ".join(f"{f.name}={_show(stored(self, f.name))}" for f in fields(self) if self._is_shown(f))
        marks = "".join(
            f".{verb}({', '.join(map(repr, sorted(names)))})"
            for verb, names in (("fix", self.fixed), ("tie", self.tied))
            if names
        )
        return f"{self.name}({shown}){marks}"

    def _is_shown(self, f: Any) -> bool:
        return f.name not in ("fixed", "tied", "batch") and stored(self, f.name) is not None


def replace_valid(value: Any, **parameters: Any) -> Any:
    """The same value with other parameters of the same shapes, which are sure to lie in their domains."""
    found, mine = object.__new__(type(value)), value.__dict__
    known = _field_names(cast("Any", type(value)))  # and nothing that was found out about this value
    own = found.__dict__
    for name in known:
        if name in mine:
            own[name] = mine[name]
    for name, new in parameters.items():
        own[name] = new
        if isinstance(new, np.ndarray) and new.flags.writeable:
            own[name] = kept = new if new.flags.owndata else new.copy()
            kept.flags.writeable = False
    return found


def replace_finite(value: Any, **parameters: Array) -> Any:
    """The same value with arrays of parameters that an estimate keeps in their domains, unless they are not finite."""
    mine = value.__dict__
    for name, new in parameters.items():
        if new.shape != np.shape(mine[name]) or not np.isfinite(new).all():
            return replace(value, **parameters)
    return replace_valid(value, **parameters)


def check_name(value: Value, name: str) -> None:
    """Refuse a parameter that is none, or not one that is learned."""
    learned = [one for one, spec in value.specs().items() if spec.learned]
    if name not in learned:
        msg = f"{value.name} has no parameter {name!r} to learn; it has {', '.join(learned)}."
        raise ParameterError(msg)


def settings(value: Any) -> tuple[str, ...]:
    """The fields of a family that an estimate leaves as they are: options and fixed parameters."""
    specs = value.specs()
    learned = {name for name, spec in specs.items() if spec.estimated or (spec.learned and name not in value.fixed)}
    return tuple(f.name for f in fields(value) if f.name not in learned)


@cache
def _learned(cls: type[Value], fixed: frozenset[str]) -> tuple[str, ...]:
    """The names of the parameters that are learned, but for those that are fixed."""
    return tuple(name for name, spec in cls.specs().items() if spec.learned and name not in fixed)


@cache
def _field_names(cls: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cast("Any", cls)))


@cache
def _accepted(cls: type) -> tuple[int, dict[str, None], bool]:
    """How many parameters go by position, the names of all, and whether the family's own ``__init__`` takes any."""
    kinds = {p.name: p.kind for p in list(inspect.signature(cast("Any", cls).__init__).parameters.values())[1:]}
    anything = any(kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD) for kind in kinds.values())
    positional = sum(kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds.values())
    return positional, dict.fromkeys(kinds), anything


def _hashed(spec: Parameter, value: Any) -> bytes:
    """The bytes of a parameter; of a matrix, those of its diagonal, however it is kept."""
    numbers = diagonals(value) if spec.domain.core == 2 else np.asarray(value)
    return (numbers + 0.0).tobytes()


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, LowRank) or isinstance(right, LowRank):
        return bool(left == right if isinstance(left, LowRank) else right == left)
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return bool(np.array_equal(np.asarray(left), np.asarray(right)))
    return bool(left == right)


def _show(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, LowRank):  # the columns at both ends, of which a print leaves out the one in the middle
        d = value.shape[-1]
        value = (value.marginal_columns([0, 1, 2, d - 2, d - 1]) if d > MANY_COLUMNS else value).dense()
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, separator=", ", threshold=12, edgeitems=2).replace("\n", "")
    return repr(value)
