// One pass of EM over components whose log-density is a sum over cells: independent normals, and what is linear in
// features. Rows of no weight are written as zeros: whatever they hold does no harm.
#include "block.h"

namespace suffice {
namespace {

constexpr int64_t BLOCK = 240;            // rows: panels and, for most, the cells of short rows
constexpr int64_t BLOCK_CELLS = 1 << 15;  // of long rows, that stay in the cache

int64_t block_rows(int64_t features) {
    return std::max<int64_t>(std::min(BLOCK, BLOCK_CELLS / features), ROWS) / ROWS * ROWS;
}

// Write constant − Σ (scale u + place)² as the logits of the components; scale and place (k / 4, d, 4).
void write_normal_logits(const double *u, int64_t rows, int64_t d, int64_t width, const double *scale,
                         const double *place, const double *constant, int64_t k, double *logits, int64_t stride) {
    for (int64_t t = 0; t < rows; t += ROWS)
        each_tile(k, [&](auto size, int64_t j) {
            constexpr int C = decltype(size)::value;
            V sums[C][VECTORS] = {};
            const double *cell = u + t * width, *s = scale + j * d, *p = place + j * d;
            for (int64_t f = 0; f < d; ++f, cell += ROWS, s += TILE, p += TILE) {
                const V u0 = load(cell), u1 = load(cell + LANES), u2 = load(cell + 2 * LANES);
#pragma GCC unroll 4
                for (int c = 0; c < C; ++c) {
                    const V z0 = s[c] * u0 + p[c], z1 = s[c] * u1 + p[c], z2 = s[c] * u2 + p[c];
                    sums[c][0] += z0 * z0;
                    sums[c][1] += z1 * z1;
                    sums[c][2] += z2 * z2;
                }
            }
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c)
                for (int v = 0; v < VECTORS; ++v)
                    store(logits + (j + c) * stride + t + v * LANES, constant[j + c] - sums[c][v]);
        });
}

// Add log-likelihood and entropy (2,), and sums (k, 2d + 1) of x, x² and 1 about a pilot (d,), under independent normals:
// scale x + place (k, d) is (x − mean) / std √½.
template <class T>
void normal(const T *x, int64_t n, int64_t d, const double *weights, const double *log_weights, const double *pilot,
            const double *constant, const double *scale, const double *place, int64_t k, double *sums, double *score) {
    const Data<T> data{x, n, d, weights, log_weights};
    const int64_t features = 2 * d + 1, block = block_rows(features), stride = block + 8, padded = round_up(k, TILE);
    Buffer<double> u(features * block), logits(k * stride), scales(padded * d), places(padded * d);
    Buffer<double> held(padded * features);
    write_tiles(scale, k, d, scales);
    write_tiles(place, k, d, places);
    write_ones(block, u, features, 2 * d);
    Softmax all{};
    for (int64_t begin = 0; begin < n && is_finite(all.log_likelihood); begin += block) {  // a hole spoils the sums
        const int64_t count = std::min(block, n - begin), rows = round_up(count, ROWS);
        const double *w = data.weights_from(begin);
        write_rows(x + begin * d, count, d, pilot, nullptr, u, features, 0);
        clear_weightless(w, count, u, d, features, 0);
        for (int64_t t = 0; t < rows; t += ROWS)
            for (int64_t i = 0; i < d * ROWS; i += LANES) {
                const V cell = load(u + t * features + i);
                store(u + t * features + d * ROWS + i, cell * cell);
            }
        write_normal_logits(u, rows, d, features, scales, places, constant, k, logits, stride);
        add_own(data.log_weights_from(begin, k), k, k, count, w, logits, stride);
        all += share(logits, stride, k, count, w);
        add_sums(u, rows, features, features, logits, k, stride, held);
    }
    add_from_tiles(held, k, features, sums);
    add_score(all, score);
}

// Add log-likelihood and entropy (2,), and sums (k, m + 1) of features (n, m) and 1, with logits features · eta (k, m) +
// constant (k,) + base (n,).
template <class T>
void linear(const T *x, int64_t n, int64_t m, const double *weights, const double *log_weights, const double *base,
            const double *constant, const double *eta, int64_t k, double *sums, double *score) {
    const Data<T> data{x, n, m, weights, log_weights};
    const int64_t features = m + 1, block = block_rows(features), stride = block + 8, padded = round_up(k, TILE);
    Buffer<double> u(features * block), logits(k * stride), slopes(padded * m), held(padded * features);
    write_tiles(eta, k, m, slopes);
    write_ones(block, u, features, m);
    Softmax all{};
    for (int64_t begin = 0; begin < n; begin += block) {
        const int64_t count = std::min(block, n - begin), rows = round_up(count, ROWS);
        const double *w = data.weights_from(begin);
        write_rows(x + begin * m, count, m, nullptr, nullptr, u, features, 0);
        clear_weightless(w, count, u, m, features, 0);
        write_logits(u, rows, m, features, constant, slopes, k, logits, stride);
        add_own(data.log_weights_from(begin, k), k, k, count, w, logits, stride);
        add_own(base ? base + begin : nullptr, 1, k, count, w, logits, stride);
        all += share(logits, stride, k, count, w);
        add_sums(u, rows, features, features, logits, k, stride, held);
    }
    add_from_tiles(held, k, features, sums);
    add_score(all, score);
}

}  // namespace

KERNEL_REAL(normal)
KERNEL_REAL(linear)

}  // namespace suffice
