"""Vectors of the machine as values inside loops, for tiles that LLVM would not find by itself.

`LANES` floats go through one register. Arrays are one-dimensional and contiguous; an index is where the vector begins,
and nobody checks that it ends inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, models, register_model

LANES = 8 if llvm.get_host_cpu_features().get("avx512f") else 4
_DOUBLE, _INT32 = ir.DoubleType(), ir.IntType(32)
_VECTOR, _FOUR = ir.VectorType(_DOUBLE, LANES), ir.VectorType(_DOUBLE, 4)
_SINGLES = ir.VectorType(ir.FloatType(), LANES)


class _Lanes(types.Type):
    def __init__(self) -> None:
        super().__init__(f"Lanes({LANES})")


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, _VECTOR)  # type: ignore[no-untyped-call]


lanes = _Lanes()


def _at(context: Any, builder: Any, kind: Any, arguments: Any, vector: Any) -> Any:
    """A pointer to the vector that the first arguments name: an array of that kind, and where to begin."""
    data = context.make_array(kind)(context, builder, arguments[0]).data
    return builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())


def _read(builder: Any, pointer: Any) -> Any:
    loaded = builder.load(pointer)
    loaded.align = 8
    return loaded


def _write(builder: Any, value: Any, pointer: Any) -> None:
    builder.store(value, pointer).align = 8


def _mixed(builder: Any, a: Any, b: Any, places: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_INT32, len(places)), places))


def _spread(builder: Any, x: Any, vector: Any) -> Any:
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), x, ir.Constant(_INT32, 0))
    return _mixed(builder, first, first, [0] * vector.count)


@intrinsic
def _load(_context: Any, array: Any, _index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        single = signature.args[0].dtype == types.float32
        found = _at(context, builder, signature.args[0], arguments, _SINGLES if single else _VECTOR)
        loaded = _read(builder, found)
        loaded.align = 4 if single else 8
        return builder.fpext(loaded, _VECTOR) if single else loaded

    return lanes(array, types.intp), generate


@intrinsic
def _store(_context: Any, array: Any, _index: Any, _value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _write(builder, arguments[2], _at(context, builder, signature.args[0], arguments, _VECTOR))
        return context.get_dummy_value()

    return types.none(array, types.intp, lanes), generate


@intrinsic
def _fill(_context: Any, _x: Any) -> Any:
    return lanes(types.float64), lambda _, builder, __, arguments: _spread(builder, arguments[0], _VECTOR)


@intrinsic
def _strided(_context: Any, array: Any, _index: Any, _step: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        cells, index, step = arguments
        data, vector = context.make_array(signature.args[0])(context, builder, cells).data, ir.Constant(_VECTOR, None)
        for lane in range(LANES):
            cell = builder.load(builder.gep(data, [builder.add(index, builder.mul(step, step.type(lane)))]))
            cell = cell if cell.type == _DOUBLE else builder.fpext(cell, _DOUBLE)
            vector = builder.insert_element(vector, cell, ir.Constant(_INT32, lane))
        return vector

    return lanes(array, types.intp, types.intp), generate


@intrinsic
def _add_totals(_context: Any, array: Any, _index: Any, _a: Any, _b: Any, _c: Any, _d: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        even, odd = list(range(0, LANES, 2)), list(range(1, LANES, 2))
        a, b, c, d = arguments[2:]

        def neighbours(p: Any, q: Any) -> Any:
            """Sums of neighbours in p and in q, those of p and q by turns."""
            pick = [[i for pair in zip(part, part, strict=True) for i in pair] for part in (even, odd)]
            places = [[place + LANES * (turn % 2) for turn, place in enumerate(part)] for part in pick]
            return builder.fadd(_mixed(builder, p, q, places[0]), _mixed(builder, p, q, places[1]))

        ab, cd = neighbours(a, b), neighbours(c, d)
        low, high = list[int](), list[int]()
        for i in range(0, LANES, 4):
            low += [i, i + 1, LANES + i, LANES + i + 1]
            high += [i + 2, i + 3, LANES + i + 2, LANES + i + 3]
        total = builder.fadd(_mixed(builder, ab, cd, low), _mixed(builder, ab, cd, high))
        if LANES == 8:
            total = builder.fadd(
                _mixed(builder, total, total, [0, 1, 2, 3]), _mixed(builder, total, total, [4, 5, 6, 7])
            )
        pointer = _at(context, builder, signature.args[0], arguments, _FOUR)
        _write(builder, builder.fadd(_read(builder, pointer), total), pointer)
        return context.get_dummy_value()

    return types.none(array, types.intp, lanes, lanes, lanes, lanes), generate


def _operation(name: str) -> Callable[..., Any]:
    def operation(_context: Any, _a: Any, _b: Any) -> Any:
        return lanes(lanes, lanes), lambda _, builder, __, arguments: getattr(builder, name)(*arguments)

    function: Callable[..., Any] = intrinsic(operation)
    return function


@intrinsic
def _multiply_add(_context: Any, _a: Any, _b: Any, _c: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        a, b, c = arguments
        return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))

    return lanes(lanes, lanes, lanes), generate


@intrinsic
def _where_less(_context: Any, _a: Any, _b: Any, _yes: Any, _no: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        a, b, yes, no = arguments
        return builder.select(builder.fcmp_ordered("<", a, b), yes, no)

    return lanes(lanes, lanes, lanes, lanes), generate


@intrinsic
def _add_where_equal(_context: Any, _a: Any, _b: Any, _x: Any, _total: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        a, b, x, total = arguments
        return builder.select(builder.fcmp_ordered("==", a, b), builder.fadd(total, x), total)

    return lanes(lanes, lanes, lanes, lanes), generate


@intrinsic
def _count_equal(_context: Any, _a: Any, _b: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        bits = builder.bitcast(builder.fcmp_ordered("==", *arguments), ir.IntType(LANES))
        return builder.ctpop(builder.zext(bits, ir.IntType(64)))

    return types.int64(lanes, lanes), generate


def _every_second(first: int) -> Callable[..., Any]:
    def every_second(_context: Any, _a: Any, _b: Any) -> Any:
        places = list(range(first, 2 * LANES, 2))
        return lanes(lanes, lanes), lambda _, builder, __, pair: _mixed(builder, pair[0], pair[1], places)

    function: Callable[..., Any] = intrinsic(every_second)
    return function


# What Numba calls with a context of its own, the loops call without:
load: Callable[..., Any] = _load  # load(array, index), of float64 or float32
store: Callable[..., Any] = _store  # store(array, index, vector)
fill: Callable[..., Any] = _fill  # fill(x): x in all lanes
strided: Callable[..., Any] = _strided  # strided(array, index, step): every step-th cell, of float64 or float32
add_totals: Callable[..., Any] = _add_totals  # add_totals(array, index, a, b, c, d): adds Σ a, Σ b, Σ c, Σ d there
multiply_add: Callable[..., Any] = _multiply_add  # multiply_add(a, b, c) = a b + c
where_less: Callable[..., Any] = _where_less  # where_less(a, b, yes, no): yes in the lanes where a < b, else no
add_where_equal: Callable[..., Any] = _add_where_equal  # add_where_equal(a, b, x, total): total + x where a = b
count_equal: Callable[..., Any] = _count_equal  # count_equal(a, b): in how many lanes a = b
evens, odds = _every_second(0), _every_second(1)  # evens(a, b): of two vectors that follow each other, one vector
multiply, add, subtract = _operation("fmul"), _operation("fadd"), _operation("fsub")
