// Lower triangles by tiles of four rows: the squared length of what they whiten, and sums of squares.
#pragma once

#include "block.h"

namespace suffice {

// A factor (d, d + extra), 0 right of column i + extra in row i, as tiles of four rows of as many columns as the last of
// them has: (columns, 4) each, one after the other.
inline int64_t factor_size(int64_t d, int64_t extra) {
    int64_t size = 0;
    each_tile(d, [&](auto rows, int64_t i) { size += TILE * (i + decltype(rows)::value + extra); });
    return size;
}

inline void write_factor(const double *factor, int64_t d, int64_t extra, double *tiles) {
    each_tile(d, [&](auto rows, int64_t i) {
        constexpr int C = decltype(rows)::value;
        const int64_t columns = i + C + extra;
        for (int c = 0; c < C; ++c)
            for (int64_t j = 0; j < columns; ++j) tiles[TILE * j + c] = factor[(i + c) * (d + extra) + j];
        tiles += TILE * columns;
    });
}

// Write constant − ½ ‖factor y‖² of the rows of one panel, from the first `d` rows of the factor.
inline void write_distances(const double *y, int64_t d, int64_t extra, const double *tiles, double constant,
                            double *out) {
    V square[VECTORS] = {};
    each_tile(d, [&](auto rows, int64_t i) {
        constexpr int C = decltype(rows)::value;
        const int64_t columns = i + C + extra;
        V sums[C][VECTORS] = {};
        add_panel<C>(y, columns, tiles, sums);
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c)
            for (int v = 0; v < VECTORS; ++v) square[v] += sums[c][v] * sums[c][v];
        tiles += TILE * columns;
    });
    for (int v = 0; v < VECTORS; ++v) store(out + v * LANES, constant - 0.5 * square[v]);
}

// Add Σ r yᵢ yⱼ, j ≤ i < features, over the rows of a block to squares (features / 4, features, 4).
inline void add_squares(const double *y, int64_t features, int64_t width, const double *r, int64_t rows, double *part,
                        int64_t stride, double *squares) {
    for (int64_t i = 0; i < features; ++i)
        for (int64_t t = 0; t < rows; t += ROWS)
            for (int v = 0; v < ROWS; v += LANES)
                store(part + i * stride + t + v, load(r + t + v) * load(y + t * width + i * ROWS + v));
    each_tile(features, [&](auto size, int64_t i) {
        constexpr int C = decltype(size)::value;
        add_tiles<C>(y, i + C, width, part + i * stride, stride, rows, squares + i * features);
    });
}

// Add the squares to a whole matrix (features, features).
inline void add_from_squares(const double *squares, int64_t features, double *out) {
    for (int64_t i = 0; i < features; ++i)
        for (int64_t j = 0; j <= i; ++j)
            out[j * features + i] = out[i * features + j] += squares[(i / TILE * features + j) * TILE + i % TILE];
}

}  // namespace suffice
