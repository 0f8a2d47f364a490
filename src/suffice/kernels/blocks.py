"""How a block of rows is laid out for the loops: columns contiguous, the rows of a member side by side."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from suffice.kernels.jit import kernel

TILE = 128  # rows transposed at a time: their cache lines are still near for the next column


@kernel
def load(x, columns):
    """Transpose x (b, d) into columns (d, ≥ b)."""
    for begin in range(0, x.shape[0], TILE):
        tile = x[begin : begin + TILE]
        for j in range(tile.shape[1]):
            column = columns[j, begin : begin + tile.shape[0]]
            for i in range(column.size):
                column[i] = tile[i, j]


@kernel
def gather(x, order, columns):
    """Transpose the rows of x that order (b,) names into columns (d, ≥ b)."""
    for begin in range(0, order.size, TILE):
        rows = order[begin : begin + TILE]
        for j in range(x.shape[1]):
            column = columns[j, begin : begin + rows.size]
            for i in range(column.size):
                column[i] = x[rows[i], j]


@kernel
def group(codes, order, starts, stops):
    """Order the rows by member, a counting sort: member k has order[starts[k] : stops[k]]. Returns their number."""
    stops[:] = 0
    for code in codes:
        if 0 <= code < stops.size:
            stops[code] += 1
    total = 0
    for k in range(stops.size):
        starts[k] = total
        total += stops[k]
        stops[k] = starts[k]
    for i in range(codes.size):
        if 0 <= codes[i] < stops.size:
            order[stops[codes[i]]] = i
            stops[codes[i]] += 1
    return total
