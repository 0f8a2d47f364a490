// Blocks of rows, and the register tiles that a pass of EM is made of.
//
// A block lies feature by feature in panels of ROWS rows: (panels, features, ROWS). Logits and responsibilities lie as
// (components, stride), the coefficients and sums of components as (components / 4, features, 4).
#pragma once

#include "vec.h"

namespace suffice {

inline constexpr int VECTORS = 3, ROWS = VECTORS * LANES;  // of a panel
inline constexpr int TILE = 4;                             // components of a tile

// Rows, and what they have of their own; a null pointer says that there is nothing.
template <class T> struct Data {
    const T *x;                 // (n, d)
    int64_t n, d;
    const double *weights;      // (n,)
    const double *log_weights;  // (n, k)

    const double *weights_from(int64_t begin) const { return weights ? weights + begin : nullptr; }
    const double *log_weights_from(int64_t begin, int64_t k) const {
        return log_weights ? log_weights + begin * k : nullptr;
    }
};

// -- writing a block ---------------------------------------------------------------------------------------------------

// Write (x − centre) scale of `count` rows as features `first` … of panels of `width`; zeros complete the last panel.
template <class T>
inline void write_rows(const T *x, int64_t count, int64_t d, const double *centre, const double *scale, double *y,
                       int64_t width, int64_t first) {
    for (int64_t begin = 0; begin < count; begin += ROWS, x += ROWS * d) {
        double *panel = y + begin * width + first * ROWS;
        const int64_t rows = std::min<int64_t>(ROWS, count - begin);
        for (int64_t j = 0; j < d; ++j, panel += ROWS) {
            const double c = centre ? centre[j] : 0.0, s = scale ? scale[j] : 1.0;
            if (rows == ROWS) {
                for (int v = 0; v < ROWS; v += LANES) store(panel + v, (strided(x + v * d + j, d) - c) * s);
            } else {
                for (int64_t i = 0; i < ROWS; ++i) panel[i] = i < rows ? (double(x[i * d + j]) - c) * s : 0.0;
            }
        }
    }
}

// Write a feature that is 1 in every row.
inline void write_ones(int64_t rows, double *y, int64_t width, int64_t feature) {
    for (int64_t t = 0; t < rows; t += ROWS) std::fill_n(y + t * width + feature * ROWS, ROWS, 1.0);
}

// Rows of no weight get cells of 0: whatever they held does no harm.
inline void clear_weightless(const double *weights, int64_t count, double *y, int64_t d, int64_t width, int64_t first) {
    if (!weights) return;
    for (int64_t i = 0; i < count; ++i)
        if (weights[i] == 0)
            for (int64_t j = first; j < first + d; ++j) y[i / ROWS * ROWS * width + j * ROWS + i % ROWS] = 0;
}

// Add what each row has of its own, (n, k) or with k = 1 for all components, to the logits of rows that have weight.
inline void add_own(const double *own, int64_t own_k, int64_t k, int64_t count, const double *weights, double *logits,
                    int64_t stride) {
    if (!own) return;
    for (int64_t j = 0; j < k; ++j) {
        const double *cell = own + (own_k > 1 ? j : 0);
        for (int64_t i = 0; i < count; ++i, cell += own_k)
            logits[j * stride + i] += weights && weights[i] == 0 ? 0.0 : *cell;
    }
}

// Turn logits of `count` rows into weights · r; those of the rows that complete the last panel are 0.
inline Softmax share(double *logits, int64_t stride, int64_t k, int64_t count, const double *weights) {
    const Softmax found = softmax(logits, stride, k, count, weights);
    for (int64_t j = 0; j < k; ++j)
        for (int64_t i = count; i < round_up(count, ROWS); ++i) logits[j * stride + i] = 0;
    return found;
}

inline void operator+=(Softmax &all, Softmax more) {
    all.log_likelihood += more.log_likelihood;
    all.entropy += more.entropy;
}
inline void add_score(Softmax all, double *score) {
    score[0] += all.log_likelihood;
    score[1] += all.entropy;
}

// -- tiles -------------------------------------------------------------------------------------------------------------

// Call a function with the number of components of each tile, as a constant, and where the tile begins.
template <class Function> inline void each_tile(int64_t k, Function &&function) {
    int64_t j = 0;
    for (; j + TILE <= k; j += TILE) function(std::integral_constant<int, 4>{}, j);
    if (k - j == 1) function(std::integral_constant<int, 1>{}, j);
    if (k - j == 2) function(std::integral_constant<int, 2>{}, j);
    if (k - j == 3) function(std::integral_constant<int, 3>{}, j);
}

// From (k, m) to (k / 4, m, 4); and back, where it is added.
inline void write_tiles(const double *table, int64_t k, int64_t m, double *tiles) {
    for (int64_t j = 0; j < k; ++j)
        for (int64_t f = 0; f < m; ++f) tiles[(j / TILE * m + f) * TILE + j % TILE] = table[j * m + f];
}
inline void add_from_tiles(const double *tiles, int64_t k, int64_t m, double *table) {
    for (int64_t j = 0; j < k; ++j)
        for (int64_t f = 0; f < m; ++f) table[j * m + f] += tiles[(j / TILE * m + f) * TILE + j % TILE];
}

// Add to the sums Σ eta (features, 4) · features of one panel, for C components.
template <int C>
inline void add_panel(const double *u, int64_t features, const double *eta, V (&sums)[C][VECTORS]) {
    for (int64_t f = 0; f < features; ++f, u += ROWS, eta += TILE) {
        const V u0 = load(u), u1 = load(u + LANES), u2 = load(u + 2 * LANES);
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) {
            sums[c][0] += eta[c] * u0;
            sums[c][1] += eta[c] * u1;
            sums[c][2] += eta[c] * u2;
        }
    }
}

// Logits of all components in the rows of a block: constant (k,), or 0, and coefficients (k / 4, features, 4).
inline void write_logits(const double *u, int64_t rows, int64_t features, int64_t width, const double *constant,
                         const double *eta, int64_t k, double *logits, int64_t stride) {
    for (int64_t t = 0; t < rows; t += ROWS)
        each_tile(k, [&](auto size, int64_t j) {
            constexpr int C = decltype(size)::value;
            V sums[C][VECTORS];
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c)
                for (int v = 0; v < VECTORS; ++v) sums[c][v] = fill(constant ? constant[j + c] : 0.0);
            add_panel<C>(u + t * width, features, eta + j * features, sums);
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c)
                for (int v = 0; v < VECTORS; ++v) store(logits + (j + c) * stride + t + v * LANES, sums[c][v]);
        });
}

// Add the totals of four vectors to four numbers.
template <class X> inline void add_totals(double *sums, X a, X b, X c, X d) {
    if constexpr (sizeof(X) == 8 * sizeof(double)) {
        const auto half = [](X v) {
            return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
        };
        add_totals(sums, half(a), half(b), half(c), half(d));
    } else {
        const X ab = __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
        const X cd = __builtin_shufflevector(c, d, 0, 4, 2, 6) + __builtin_shufflevector(c, d, 1, 5, 3, 7);
        const X all = __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
        store<4>(sums, load<4>(sums) + all);
    }
}

// Add Σ r u over the rows of a block to sums (features, 4) of F features and C components.
template <int C, int F>
inline void add_tile(const double *u, int64_t width, const double *r, int64_t stride, int64_t rows, double *sums) {
    V held[TILE][F] = {};
    for (int64_t t = 0; t < rows; t += ROWS, u += width * ROWS)
#pragma GCC unroll 3
        for (int v = 0; v < ROWS; v += LANES) {
            V cells[F];
            for (int f = 0; f < F; ++f) cells[f] = load(u + f * ROWS + v);
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) {
                const V e = load(r + c * stride + t + v);
                for (int f = 0; f < F; ++f) held[c][f] += e * cells[f];
            }
        }
    for (int f = 0; f < F; ++f) add_totals(sums + TILE * f, held[0][f], held[1][f], held[2][f], held[3][f]);
}

// The same for any number of features.
template <int C>
inline void add_tiles(const double *u, int64_t features, int64_t width, const double *r, int64_t stride, int64_t rows,
                      double *sums) {
    int64_t f = 0;
    for (; f + 3 <= features; f += 3) add_tile<C, 3>(u + f * ROWS, width, r, stride, rows, sums + TILE * f);
    if (features - f == 1) add_tile<C, 1>(u + f * ROWS, width, r, stride, rows, sums + TILE * f);
    if (features - f == 2) add_tile<C, 2>(u + f * ROWS, width, r, stride, rows, sums + TILE * f);
}

// Add Σ r u of all components to sums (k / 4, features, 4).
inline void add_sums(const double *u, int64_t rows, int64_t features, int64_t width, const double *r, int64_t k,
                     int64_t stride, double *sums) {
    each_tile(k, [&](auto size, int64_t j) {
        add_tiles<decltype(size)::value>(u, features, width, r + j * stride, stride, rows, sums + j * features);
    });
}

}  // namespace suffice
