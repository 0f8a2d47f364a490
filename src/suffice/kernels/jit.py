"""How loops are compiled: on first use, for good, and not in silence; and the few functions that all loops may call.

Numba's cache knows a function by the text of the file that holds it. So no file of loops calls what is compiled in
another, except in this one (`minus`, `exp`, `log`, `softmax`, `wide`): the cache would miss a change here, so who
changes one of them touches the files of loops too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import factorial, log2
from typing import Any, TypeAlias

import numba
import numpy as np
from llvmlite import ir
from numba.core import event, types
from numba.extending import intrinsic

Function: TypeAlias = Callable[..., Any]


def kernel(function: Function, *, reorder: bool = True) -> Function:
    """Compile on first use and keep the machine code on disk, if there is a place to write.

    Sums may be reordered, which makes vectors of them; NaN and infinity keep their meaning.
    """
    fastmath = {"reassoc", "contract", "nsz", "arcp"} if reorder else {"contract"}
    options: dict[str, Any] = {"nogil": True, "fastmath": fastmath, "error_model": "numpy"}
    try:
        compiled: Function = numba.njit(function, cache=True, **options)
    except RuntimeError:
        compiled = numba.njit(function, **options)
    return compiled


def _minus(a: Any, b: Any) -> Any:
    """The difference a − b itself: what is centred must not become Σ x − n b when a sum around it is reordered."""
    return a - b


minus = kernel(_minus, reorder=False)


# -- exp and log, which LLVM can make vectors of -----------------------------------------------------------------------


@intrinsic
def _as_bits(_context: Any, _x: Any) -> Any:
    """The bits of a float, as an integer."""
    return types.int64(types.float64), lambda _, builder, __, arguments: builder.bitcast(arguments[0], ir.IntType(64))


@intrinsic
def _as_float(_context: Any, _x: Any) -> Any:
    """The float with these bits."""
    return types.float64(types.int64), lambda _, builder, __, arguments: builder.bitcast(arguments[0], ir.DoubleType())


@intrinsic
def _wide(_context: Any) -> Any:
    """Let the loops of the calling function use the widest vectors that there are; LLVM prefers 256 bits."""

    def generate(context: Any, builder: Any, _: Any, __: Any) -> Any:
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')  # llvmlite's own add knows it not
        return context.get_dummy_value()

    return types.none(), generate


_bits: Function = _as_bits  # Numba gives the context itself
_from_bits: Function = _as_float
wide: Function = _wide

_LOG2_E = log2(np.e)
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the first times an exponent is exact
_ROUND = 1.5 * 2.0**52  # added and subtracted it rounds to a whole number, which the last bits of the sum then hold
_E = tuple(1 / factorial(i) for i in range(13))
_ROOT_HALF = 0x3FE6A09E667F3BCD  # bits of √½
_LEAST = -708.0  # exp of less would be subnormal
FADED = -600.0  # as in the reference: a share of less is none
_NOBODY = -1e300  # the largest logit of a row that has none


def _exp(x: Any) -> Any:
    """The exponential of x ≤ 709, within 3e-16; below −708 it is 0, and NaN stays NaN. A Taylor series of degree 12."""
    t = x * _LOG2_E + _ROUND
    n = t - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = _E[12] * r + _E[11]
    p = p * r + _E[10]
    p = p * r + _E[9]
    p = p * r + _E[8]
    p = p * r + _E[7]
    p = p * r + _E[6]
    p = p * r + _E[5]
    p = p * r + _E[4]
    p = p * r + _E[3]
    p = p * r + _E[2]
    p = p * r + 1.0
    p = p * r + 1.0
    return 0.0 if x < _LEAST else _from_bits(_bits(p) + (_bits(t) << 52))


def _log(x: Any) -> Any:
    """The logarithm of a normal number x > 0; NaN stays NaN. A series in (m − 1) / (m + 1), x = m 2ⁿ, √½ ≤ m < √2."""
    n = (_bits(x) - _ROOT_HALF) >> 52
    m = _from_bits(_bits(x) - (n << 52))
    exponent = _from_bits(n + _bits(_ROUND)) - _ROUND
    f = (m - 1.0) / (m + 1.0)
    s = f * f
    p = s * (1 / 21) + 1 / 19
    p = p * s + 1 / 17
    p = p * s + 1 / 15
    p = p * s + 1 / 13
    p = p * s + 1 / 11
    p = p * s + 1 / 9
    p = p * s + 1 / 7
    p = p * s + 1 / 5
    p = p * s + 1 / 3
    y = exponent * _LN2_HIGH + (2.0 * f + (2.0 * f * s * p + exponent * _LN2_LOW))
    return x if np.isnan(x) else y


exp = kernel(_exp, reorder=False)
log = kernel(_log, reorder=False)


@kernel
def softmax(logits: Any, scale: Any, even: Any) -> Any:
    """Turn logits (k, b) into scale (b,) · r, r the shares of the k; gives Σ scale log Σ exp and −Σ scale r log r.

    ``even`` says that the scale is 1 everywhere: then one logarithm serves four rows. A logit of −inf, or 600 below the
    largest, has share 0; a row of nothing but −inf has no shares, and makes the first answer −inf. NaN shows in both.
    """
    wide()
    k, b = logits.shape[0], scale.size
    scratch = np.empty((4, b))
    top, total, tilt, inverse = scratch[0], scratch[1], scratch[2], scratch[3]
    top[:], total[:], tilt[:] = _NOBODY, 0.0, 0.0
    for j in range(k):
        row = logits[j]
        for i in range(b):
            top[i] = row[i] if not row[i] <= top[i] else top[i]
    for j in range(k):
        row = logits[j]
        for i in range(b):
            z = row[i] - top[i]
            z = 2 * _LEAST if z < FADED else z
            e = exp(z)
            total[i] += e
            tilt[i] += e * z
            row[i] = e
    log_likelihood, entropy, quarter = 0.0, 0.0, b // 4 if even else 0
    for i in range(b):
        total[i] = 1.0 if total[i] == 0.0 else total[i]
        inverse[i] = scale[i] / total[i]
        log_likelihood += scale[i] * (-np.inf if top[i] == _NOBODY else top[i])
        entropy -= tilt[i] * inverse[i]
    logs, first, second = 0.0, total[:quarter], total[quarter : 2 * quarter]
    third, fourth = total[2 * quarter : 3 * quarter], total[3 * quarter : 4 * quarter]
    for i in range(first.size):
        logs += log((first[i] * second[i]) * (third[i] * fourth[i]))
    rest, weights = total[4 * quarter :], scale[4 * quarter :]
    for i in range(rest.size):
        logs += weights[i] * log(rest[i])
    for j in range(k):
        row = logits[j]
        for i in range(b):
            row[i] *= inverse[i]
    return log_likelihood + logs, entropy + logs


# -- a note ------------------------------------------------------------------------------------------------------------


class _Note(event.Listener):
    """Say on stderr why a first call takes seconds; what Numba finds in its cache raises no event."""

    def __init__(self) -> None:
        self.depth = 0

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("suffice."):
            if self.depth == 0:
                sys.stderr.write(f"suffice: compiling kernel {function.__name__} once; cached for later\n")
            self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= event.data["dispatcher"].py_func.__module__.startswith("suffice.")


event.register("numba:compile", _Note())  # type: ignore[no-untyped-call]
