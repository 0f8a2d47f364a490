// Scores of rows, and what follows from them: log densities of independent normals, responsibilities, the best component.
#include "vec.h"

namespace suffice {
namespace {

// Log-density (n, k) under products of normals, mean and std (k, d); a NaN cell contributes 0.
template <class T>
void normal_log_prob(const T *x, int64_t n, int64_t d, const double *mean, const double *std, int64_t k, double *out) {
    const int64_t block = std::min<int64_t>(1024, std::max<int64_t>(64, 32768 / std::max<int64_t>(d, 1)));
    Buffer<double> columns(d * block), value(block), constant(k * d);
    for (int64_t i = 0; i < k * d; ++i) constant[i] = -0.5 * LOG_2PI - std::log(std[i]);
    for (int64_t begin = 0; begin < n; begin += block) {
        const int64_t count = std::min(block, n - begin);
        transpose(x + begin * d, count, d, nullptr, columns, block);
        double sum = 0;
        for (int64_t j = 0; j < d; ++j)
#pragma omp simd reduction(+ : sum)
            for (int64_t i = 0; i < count; ++i) sum += columns[j * block + i];
        const bool complete = is_finite(sum);
        for (int64_t c = 0; c < k; ++c) {
            std::fill_n(value.get(), count, 0.0);
            for (int64_t j = 0; j < d; ++j) {
                const double *column = columns + j * block, m = mean[c * d + j], precision = 1 / std[c * d + j];
                const double height = constant[c * d + j];
                double *row = value;
                if (complete) {
#pragma omp simd
                    for (int64_t i = 0; i < count; ++i) {
                        const double z = (column[i] - m) * precision;
                        row[i] += height - 0.5 * z * z;  // as with holes: a row's bits do not depend on other rows
                    }
                } else {
#pragma omp simd
                    for (int64_t i = 0; i < count; ++i) {
                        const double z = (column[i] - m) * precision;
                        row[i] += column[i] == column[i] ? height - 0.5 * z * z : 0.0;
                    }
                }
            }
            for (int64_t i = 0; i < count; ++i) out[(begin + i) * k + c] = value[i];
        }
    }
}

// Log Σ exp of scores (n, k), the shares of the components (n, k), and their entropy (n,); NaN shows in the total.
void shares(const double *scores, int64_t n, int64_t k, double *total, double *parts, double *entropy) {
    const int64_t block = std::max<int64_t>(32768 / std::max<int64_t>(k, 1) / 8 * 8, 8);
    Buffer<double> cells(k * block), tops(block), wholes(block), tilts(block), inverses(block);
    double *top = tops, *whole = wholes, *tilt = tilts, *inverse = inverses;
    for (int64_t begin = 0; begin < n; begin += block) {
        const int64_t b = std::min(block, n - begin);
        std::fill_n(top, b, -INF);
        std::fill_n(whole, b, 0.0);
        std::fill_n(tilt, b, 0.0);
        std::fill_n(inverse, b, 0.0);
        for (int64_t j = 0; j < k; ++j) {
            double *row = cells + j * block;
            for (int64_t i = 0; i < b; ++i) {
                row[i] = scores[(begin + i) * k + j];
                top[i] = row[i] > top[i] ? row[i] : top[i];
                inverse[i] += row[i] == row[i] ? 0.0 : NAN_;
            }
        }
        for (int64_t j = 0; j < k; ++j) {
            double *row = cells + j * block;
#pragma omp simd
            for (int64_t i = 0; i < b; ++i) {
                double z = row[i] - (std::abs(top[i]) < INF ? top[i] : 0.0);
                z = z < FADED ? 2 * LEAST : z;
                const double e = exp(z);
                whole[i] += e;
                tilt[i] += e * z;
                row[i] = e;
            }
        }
        for (int64_t i = 0; i < b; ++i) {
            const bool number = inverse[i] == inverse[i], possible = std::abs(top[i]) < INF && number;
            const double sum = possible ? whole[i] : 1.0, logarithm = log(sum);
            inverse[i] = possible ? 1 / sum : 0.0;
            entropy[begin + i] = possible ? logarithm - tilt[i] * inverse[i] : 0.0;
            total[begin + i] = number ? top[i] + logarithm : NAN_;
        }
        for (int64_t i = 0; i < b; ++i)
            for (int64_t j = 0; j < k; ++j)
                parts[(begin + i) * k + j] = inverse[i] == 0 ? 0.0 : cells[j * block + i] * inverse[i];
    }
}

// The first of the highest scores (n, k) of each row; −1 where it is not finite, or one is NaN.
void chosen(const double *scores, int64_t n, int64_t k, int64_t *out) {
    for (int64_t i = 0; i < n; ++i, scores += k) {
        double best = -INF;
        int64_t who = -1;
        bool numbers = true;
        for (int64_t j = 0; j < k; ++j) {
            const bool better = scores[j] > best;
            who = better ? j : who;
            best = better ? scores[j] : best;
            numbers &= scores[j] == scores[j];
        }
        out[i] = best < INF && numbers ? who : -1;
    }
}

}  // namespace

KERNEL_REAL(normal_log_prob)
KERNEL(shares, shares)
KERNEL(chosen, chosen)

}  // namespace suffice
