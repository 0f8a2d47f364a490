"""Values: immutable parameters in the layout of one member, of several columns, or of a stack of members."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Self, cast

import numpy as np

from suffice.core.compact import Compact, broadcast, diagonals, replace, stored
from suffice.core.errors import ArgumentError, DataError, ParameterError, UnsupportedError
from suffice.core.parameters import REAL, Array, Domain, Parameter, as_parameter
from suffice.engines.once import cached_property


@dataclass(frozen=True, eq=False, repr=False)
class Value:
    """A family's parameters: checked, broadcast to one batch shape, read-only, comparable, and shown as a call.

    The batch is () for one member over one column, (d,) over d independent columns, (k, d) for a stack of members.
    """

    fixed: frozenset[str] = field(default=frozenset(), kw_only=True)
    tied: frozenset[str] = field(default=frozenset(), kw_only=True)
    batch: tuple[int, ...] = field(default=(), init=False, kw_only=True)  # set by the parameters

    support: ClassVar[Domain] = REAL  # what one cell (or one event) may be
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
        given = {name: spec for name, spec in self.specs().items() if stored(self, name) is not None}
        arrays = {name: as_parameter(self.name, name, stored(self, name), spec.domain) for name, spec in given.items()}
        batches = {a.shape[: a.ndim - given[n].domain.core] for n, a in arrays.items()}
        try:
            batch = batches.pop() if len(batches) == 1 else np.broadcast_shapes(*batches)
        except ValueError as error:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            msg = (
                f"{self.name}: the shapes of the parameters do not fit together: {shapes}. "
                "Give each one value, or as many as the others have."
            )
            raise ParameterError(msg) from error
        if len(batch) > self._full:
            msg = f"{self.name}: parameters have at most the axes members × columns; got a batch of shape {batch}."
            raise ParameterError(msg)
        for name, array in arrays.items():
            domain = given[name].domain
            shape = batch + array.shape[array.ndim - domain.core :]
            value = array if array.shape == shape else broadcast(array, shape)
            number = int if domain.integer else float
            object.__setattr__(self, name, number(value) if value.ndim == 0 else value)
        object.__setattr__(self, "batch", batch)
        self._settle_names()
        for kind in (self.fixed, self.tied):
            for name in kind:
                self.check_name(name)

    def _settle_names(self) -> None:
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

    def assured(self, **parameters: Any) -> Self:
        """The same with other parameters of the same shapes, which are sure to lie in their domains."""
        found = object.__new__(type(self))
        for name in _field_names(cast("Any", type(self))):  # and nothing that was found out about this value
            object.__setattr__(found, name, stored(self, name))
        for name, value in parameters.items():
            if isinstance(value, Compact):
                object.__setattr__(found, name, value)
                continue
            array = value if value.flags.owndata or not value.flags.writeable else value.copy()
            array.flags.writeable = False
            object.__setattr__(found, name, array)
        return found

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
    def name(self) -> str:
        """The family's name."""
        return type(self).__name__

    @property
    def parameter_names(self) -> tuple[Any, ...]:
        """The names of ``params``."""
        return tuple(name for name, spec in self.specs().items() if spec.learned)

    @property
    def params(self) -> dict[str, Any]:
        """The learned parameters by name: floats for one column, else arrays."""
        return {name: getattr(self, name) for name, spec in self.specs().items() if spec.learned}

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the parameters that fitting may change."""
        return tuple(name for name in self.parameter_names if name not in self.fixed)

    @property
    def _full(self) -> int:
        return 1 if self.row_vector else 2

    @property
    def lacking(self) -> int:
        """How many axes of a stack, members and columns, this value does without."""
        return self._full - len(self.batch)

    @property
    def lone(self) -> bool:
        """Whether this is one member rather than a stack."""
        return self.lacking > 0

    @property
    def members(self) -> int:
        """K."""
        return 1 if self.lone else int(self.batch[0])

    @property
    def columns(self) -> int | None:
        """d, or None while the value can still be widened to any number of columns."""
        return int(self.batch[-1]) if len(self.batch) and self.batch[-1:] != (1,) else None

    @property
    def ready(self) -> bool:
        """Whether every parameter has a value."""
        return all(stored(self, name) is not None for name, spec in self.specs().items() if spec.learned)

    def fix(self, *names: str) -> Self:
        """Freeze parameters at their present values: ``Normal(std=1).fix("std")``."""
        for name in names:
            self.check_name(name)
            if getattr(self, name) is None:
                msg = f"{self.name}: {name} has no value to fix; give one, as in {self.name}({name}=…).fix({name!r})."
                raise ParameterError(msg)
        return replace(self, fixed=self.fixed | set(names))

    def tie(self, *names: str) -> Self:
        """Share parameters between all members of a stack: ``Normal().tie("std")``."""
        for name in names:
            self.check_name(name)
        return replace(self, tied=self.tied | set(names))

    def check_name(self, name: str) -> None:
        """Refuse a parameter that is none, or not one that is learned."""
        if name not in self.parameter_names:
            msg = f"{self.name} has no parameter {name!r} to learn; it has {', '.join(self.parameter_names)}."
            raise ParameterError(msg)

    # ---- one and many -------------------------------------------------------------------------------------------
    def reshaped(self, change: Any) -> Self:
        """Apply ``change`` to every parameter array; the result is checked like any new value."""
        return replace(
            self,
            **{name: change(v if isinstance(v, Compact) else np.asarray(v)) for name, v in self._values().items()},
        )

    def _values(self) -> dict[str, Any]:
        """The parameters that have values, as they are kept."""
        return {name: stored(self, name) for name in self.specs() if stored(self, name) is not None}

    @cached_property
    def stacked(self) -> Self:
        """The same value as a stack: parameters (k, d, …)."""
        lead = (1,) * self.lacking
        return self if not lead else self.reshaped(lambda value: value.reshape(lead + value.shape))

    def squeezed(self, axes: int) -> Self:
        """Drop leading axes of length 1: the inverse of ``stacked``."""
        return self if not axes else self.reshaped(lambda value: value[(0,) * axes])

    def like(self, stack: Self) -> Self:
        """``stack`` in the layout of this value: lone where this is lone, floats where this has floats."""
        return stack.squeezed(self.lacking)

    @cached_property
    def each(self) -> tuple[Self, ...]:
        """The members, each alone."""
        stack = self.stacked
        return tuple(stack.reshaped(lambda value, j=j: value[j]) for j in range(stack.members))

    def stack(self, k: int) -> Any:
        """K copies of this prototype as one stack."""
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            msg = f"{self.name}: a stack has a whole number of members, at least 1; got {k!r}."
            raise ParameterError(msg)
        if not self.lone:
            msg = f"{self.name} is a stack of {self.members} members already; stack one of its .each instead."
            raise ParameterError(msg)
        stack = self.stacked
        return stack.reshaped(lambda value: broadcast(value, (k, *value.shape[1:])))

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
        shown = ", ".join(f"{f.name}={_show(getattr(self, f.name))}" for f in fields(self) if self._told(f))
        marks = "".join(
            f".{verb}({', '.join(map(repr, sorted(names)))})"
            for verb, names in (("fix", self.fixed), ("tie", self.tied))
            if names
        )
        return f"{self.name}({shown}){marks}"

    def label(self, name: str, place: tuple[int, ...]) -> str:
        """How a table names one entry of a parameter; "" leaves it out."""
        return name + (f"[{', '.join(map(str, place))}]" if place else "")

    def _told(self, f: Any) -> bool:
        return f.name not in ("fixed", "tied", "batch") and getattr(self, f.name) is not None


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
    if isinstance(left, Compact) or isinstance(right, Compact):
        return bool(left == right if isinstance(left, Compact) else right == left)
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return bool(np.array_equal(np.asarray(left), np.asarray(right)))
    return bool(left == right)


def _show(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, separator=", ", threshold=12, edgeitems=2).replace("\n", "")
    return repr(value)
