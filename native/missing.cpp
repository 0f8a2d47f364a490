// Rows of which cells are missing, under Gaussian components.
//
// Rows come by pattern, which cells they have, and column by column: the cells (d, n) of a pattern's rows lie side by
// side. A pattern has its factors computed once. Its rows are scored some at a time, and their weights, means and scatter
// about the mean kept over the seen columns alone; what follows of the others is added when the pattern is done. Of
// scatter only what lies on and below the diagonal is kept.
#include "block.h"

namespace suffice {
namespace {

constexpr int64_t BLOCK = 256;  // rows
constexpr double HALF_LOG_TAU = 0.5 * LOG_2PI;

double dot(const double *a, const double *b, int64_t count) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
    return sum;
}

// -- factors of a pattern ----------------------------------------------------------------------------------------------

// What the seen cells of a pattern tell under one component: matrices (d, d), the `size` seen columns first.
struct Factors {
    int64_t d;
    Buffer<double> lower{d * d}, whiten{d * d}, slope{d * d}, rest{d * d};
    double log_det = 0, entropy = 0;  // log |whiten|, and Σ log of the standard deviations of the rest

    // The factor of correlations, the columns in this order. NaN tells of a matrix that is not positive definite.
    void factorise(const double *units, const double *spread, const int64_t *columns, int64_t size) {
        log_det = entropy = 0;
        for (int64_t i = 0; i < d; ++i) {
            const double *own = units + columns[i] * d;
            double *row = lower + i * d;
            for (int64_t j = 0; j <= i; ++j) {
                const double *above = lower + j * d;
                const double left = own[columns[j]] - dot(row, above, j);
                row[j] = j < i ? left / above[j] : left > 0 ? std::sqrt(left) : NAN_;
            }
            const double logs = std::log(row[i] * spread[columns[i]]);
            (i < size ? log_det : entropy) += i < size ? -logs : logs;
        }
    }

    // The inverse of the first `size` rows of the factor, and the others times it.
    void regress(int64_t size) {
        for (int64_t i = 0; i < d; ++i) {
            const double *row = lower + i * d;
            double *out = i < size ? whiten + i * d : slope + (i - size) * d;
            std::fill_n(out, size, 0.0);
            for (int64_t t = 0; t < std::min(i, size); ++t) {
                const double factor = row[t], *known = whiten + t * d;
#pragma omp simd
                for (int64_t j = 0; j <= t; ++j) out[j] += factor * known[j];
            }
            if (i >= size) continue;
            for (int64_t j = 0; j < i; ++j) out[j] /= -row[i];
            out[i] = 1 / row[i];
        }
    }

    // The covariance of what was not seen, given what was.
    void square(int64_t size) {
        for (int64_t i = size; i < d; ++i)
            for (int64_t j = size; j <= i; ++j)
                rest[(i - size) * d + j - size] = dot(lower + i * d + size, lower + j * d + size, j - size + 1);
    }

    // Write whiten (o, o), slope (m, o) and rest (m, m), from correlations and standard deviations.
    void write(const double *units, const double *spread, const int64_t *columns, int64_t size) {
        factorise(units, spread, columns, size);
        regress(size);
        square(size);
        for (int64_t i = 0; i < d; ++i) {
            const double own = i < size ? 1.0 : spread[columns[i]];
            double *out = i < size ? whiten + i * d : slope + (i - size) * d;
            for (int64_t j = 0; j < std::min(i + 1, size); ++j) out[j] *= own / spread[columns[j]];
            for (int64_t j = size; j <= i; ++j) rest[(i - size) * d + j - size] *= own * spread[columns[j]];
        }
    }
};

// -- rows of a pattern -------------------------------------------------------------------------------------------------

// How far the seen cells of rows are from a mean, (size, BLOCK): of all from `begin` on, or of the chosen.
void write_away(const double *x, int64_t n, int64_t begin, const int64_t *chosen, int64_t count,
                const int64_t *columns, int64_t size, const double *mean, double *y) {
    for (int64_t c = 0; c < size; ++c, y += BLOCK) {
        const double *cells = x + columns[c] * n + begin, middle = mean[columns[c]];
        if (chosen)
            for (int64_t i = 0; i < count; ++i) y[i] = cells[chosen[i]] - middle;
        else
            for (int64_t i = 0; i < count; ++i) y[i] = cells[i] - middle;
    }
}

// Write constant − ½ ‖W y‖² of each row, W (size, size) in rows of d, 0 above the diagonal; up to a tile beyond the last.
void write_scores(const double *y, int64_t count, int64_t size, const double *whiten, int64_t d, double constant,
                  double *out) {
    for (int64_t t = 0; t < count; t += 2 * LANES) {
        V low{}, high{};
        each_tile(size, [&](auto tile, int64_t r) {
            constexpr int C = decltype(tile)::value;
            const double *rows = whiten + r * d;
            V sums[C][2] = {};
            for (int64_t c = 0; c < r + C; ++c) {
                const V y0 = load(y + c * BLOCK + t), y1 = load(y + c * BLOCK + t + LANES);
#pragma GCC unroll 4
                for (int i = 0; i < C; ++i) {
                    sums[i][0] += rows[i * d + c] * y0;
                    sums[i][1] += rows[i * d + c] * y1;
                }
            }
#pragma GCC unroll 4
            for (int i = 0; i < C; ++i) {
                low += sums[i][0] * sums[i][0];
                high += sums[i][1] * sums[i][1];
            }
        });
        store(out + t, constant - 0.5 * low);
        store(out + t + LANES, constant - 0.5 * high);
    }
}

// Take their mean from rows, and write how far it is from another. Differences from one of the rows, the heaviest, are
// exact where the spread is small beside how far they are.
void centre(double *y, const double *shares, int64_t count, int64_t size, double total, int64_t heaviest,
            const double *mean, double *apart) {
    for (int64_t c = 0; c < size; ++c, y += BLOCK) {
        const double pivot = y[heaviest];
        double first = 0;
#pragma omp simd reduction(+ : first)
        for (int64_t i = 0; i < count; ++i) first += shares[i] * (y[i] - pivot);
        first = pivot + first / total;
        for (int64_t i = 0; i < count; ++i) y[i] -= first;
        apart[c] = first - mean[c];
    }
}

// Add the products of R rows of z, the first of them being i, and of the rows of y up to i + R.
template <int R>
void add_products(const double *z, const double *y, int64_t i, int64_t count, double *scatter, int64_t d) {
    const auto add = [&](auto width, int64_t j) {
        constexpr int C = decltype(width)::value;
        double sums[R][C] = {};
        multiply_tile<R, C>(z + i * BLOCK, BLOCK, y + j * BLOCK, BLOCK, count, sums);
        for (int r = 0; r < R; ++r)
            for (int c = 0; c < C; ++c) scatter[(i + r) * d + j + c] += sums[r][c];
    };
    int64_t j = 0;
    for (; j + 3 <= i + R; j += 3) add(std::integral_constant<int, 3>{}, j);
    if (i + R - j == 1) add(std::integral_constant<int, 1>{}, j);
    if (i + R - j == 2) add(std::integral_constant<int, 2>{}, j);
}

// Add rows to the weight, mean (o,) and scatter (o, o) in rows of d of a pattern and component. It changes y.
void add_rows(double *y, const double *shares, int64_t count, int64_t size, int64_t d, double &weight, double *mean,
              double *scatter, double *z, double *apart) {
    double total = 0;
    int64_t heaviest = 0;
    for (int64_t i = 0; i < count; ++i) {
        total += shares[i];
        heaviest = shares[i] > shares[heaviest] ? i : heaviest;
    }
    if (!(total > 0)) return;
    const double part = total / (weight + total);
    centre(y, shares, count, size, total, heaviest, mean, apart);
    const int64_t whole = round_up(count, LANES);
    for (int64_t c = 0; c < size; ++c) {
        double *cells = y + c * BLOCK, *weighted = z + c * BLOCK;
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) weighted[i] = shares[i] * cells[i];
        for (int64_t i = count; i < whole; ++i) weighted[i] = cells[i] = 0;
    }
    each_tile(size, [&](auto rows, int64_t i) { add_products<decltype(rows)::value>(z, y, i, whole, scatter, d); });
    for (int64_t c = 0; c < size; ++c)
        for (int64_t e = 0; e <= c; ++e) scatter[c * d + e] += weight * part * apart[c] * apart[e];
    for (int64_t c = 0; c < size; ++c) mean[c] += part * apart[c];
    weight += total;
}

// -- what a pattern adds -----------------------------------------------------------------------------------------------

// Write what is expected of the columns that were not seen after the others: mean (d,), scatter (d, d).
void complete(int64_t size, int64_t d, const double *slope, const double *rest, double weight,
              double *mean, double *scatter, double *across) {
    for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < i; ++j) scatter[j * d + i] = scatter[i * d + j];
    for (int64_t i = 0; i < d - size; ++i) {
        double *out = across + i * d;
        mean[size + i] = 0;
        std::fill_n(out, size, 0.0);
        for (int64_t c = 0; c < size; ++c) {
            const double factor = slope[i * d + c];
            mean[size + i] += factor * mean[c];
            const double *own = scatter + c * d;
#pragma omp simd
            for (int64_t e = 0; e < size; ++e) out[e] += factor * own[e];
        }
    }
    for (int64_t i = 0; i < d - size; ++i) {
        double *own = scatter + (size + i) * d;
        const double *out = across + i * d;
        std::copy_n(out, size, own);
        for (int64_t j = 0; j <= i; ++j) own[size + j] = weight * rest[i * d + j] + dot(out, slope + j * d, size);
    }
}

// Add a pattern to what a component has: weight, shift (d,), squares (d, d). It changes the mean.
void merge(const int64_t *columns, int64_t d, double weight, double *mean, const double *scatter, double &total,
           double *shift, double *squares) {
    const double part = weight / (total + weight);
    for (int64_t i = 0; i < d; ++i) mean[i] -= shift[columns[i]];
    for (int64_t i = 0; i < d; ++i) {
        const double factor = total * part * mean[i];
        for (int64_t j = 0; j <= i; ++j) {
            const int64_t a = std::max(columns[i], columns[j]), b = std::min(columns[i], columns[j]);
            squares[a * d + b] += scatter[i * d + j] + factor * mean[j];
        }
    }
    for (int64_t i = 0; i < d; ++i) shift[columns[i]] += part * mean[i];
    total += weight;
}

// -- passes ------------------------------------------------------------------------------------------------------------

// Write the log densities (n, k) of rows (d, n) with holes; gives whether all covariances are positive definite. The
// patterns have starts (g + 1,), columns (g, d) and sizes (g,); of correlations (own, d, d) there are k, or 1 for all.
int64_t missing_log_prob(const double *x, int64_t n, int64_t d, const int64_t *starts, const int64_t *columns,
                         const int64_t *sizes, int64_t patterns, const double *mean, const double *units,
                         const double *spread, int64_t own, int64_t k, double *out) {
    Factors factors{.d = d};
    Buffer<double> y(d * BLOCK), found(BLOCK);
    bool sound = true;
    for (int64_t p = 0; p < patterns; ++p, columns += d)
        for (int64_t j = 0; j < k; ++j) {
            if (j < own) factors.write(units + j * d * d, spread + j * d, columns, sizes[p]);
            sound = sound && !is_nan(factors.log_det);
            for (int64_t begin = starts[p]; begin < starts[p + 1]; begin += BLOCK) {
                const int64_t count = std::min(BLOCK, starts[p + 1] - begin);
                write_away(x, n, begin, nullptr, count, columns, sizes[p], mean + j * d, y);
                write_scores(y, count, sizes[p], factors.whiten, d, factors.log_det - HALF_LOG_TAU * double(sizes[p]),
                             found);
                for (int64_t i = 0; i < count; ++i) out[(begin + i) * k + j] = found[i];
            }
        }
    return sound;
}

// One pass of EM, with log-weights (1 or n, k) and weights (n,), or the statistics under weights that are `given`, (n, k)
// or (n, 1), to the components that codes (n,) name. Adds log-likelihood and entropy (2,), weight (k,), shift (k, d),
// squares (k, d, d), the entropy (k,) of the cells that were not seen, and the weight (g, k) of each pattern.
int64_t missing_e_step(const double *x, int64_t n, int64_t d, const int64_t *starts, const int64_t *columns,
                       const int64_t *sizes, int64_t patterns, const double *mean, const double *units,
                       const double *spread, int64_t own, int64_t k, const double *log_weights, int64_t log_rows,
                       const double *weights, const double *given, int64_t given_k, const int64_t *codes,
                       double *score, double *weight, double *shift, double *squares, double *hidden,
                       double *by_pattern) {
    Buffer<double> whiten(own * d * d), slope(own * d * d), rest(own * d * d), log_det(own), entropies(own);
    Buffer<double> across(d * d), apart(d), means(k * d), scatter(k * d * d), y(d * BLOCK), z(d * BLOCK), logits(k * BLOCK);
    Buffer<int64_t> chosen(BLOCK);
    Factors factors{.d = d};
    Softmax all{};
    bool sound = true;
    for (int64_t p = 0; p < patterns; ++p, columns += d, by_pattern += k) {
        const int64_t size = sizes[p];
        for (int64_t j = 0; j < own; ++j) {
            factors.write(units + j * d * d, spread + j * d, columns, size);
            std::copy_n(factors.whiten.get(), d * d, whiten + j * d * d);
            std::copy_n(factors.slope.get(), d * d, slope + j * d * d);
            std::copy_n(factors.rest.get(), d * d, rest + j * d * d);
            log_det[j] = factors.log_det;
            entropies[j] = factors.entropy;
            sound = sound && !is_nan(log_det[j] + entropies[j]);
        }
        means.fill(0);
        scatter.fill(0);
        for (int64_t begin = starts[p]; begin < starts[p + 1]; begin += BLOCK) {
            const int64_t count = std::min(BLOCK, starts[p + 1] - begin);
            const double *w = weights ? weights + begin : nullptr;
            for (int64_t j = 0; !given && j < k; ++j) {
                const int64_t m = std::min(j, own - 1);
                double *out = logits + j * BLOCK;
                write_away(x, n, begin, nullptr, count, columns, size, mean + j * d, y);
                write_scores(y, count, size, whiten + m * d * d, d, log_det[m] - HALF_LOG_TAU * double(size), out);
                for (int64_t i = 0; i < count; ++i) {
                    out[i] += log_weights[(log_rows > 1 ? begin + i : 0) * k + j];
                    out[i] = w && w[i] == 0 ? 0.0 : out[i];  // whatever it holds
                }
            }
            if (!given) all += softmax(logits, BLOCK, k, count, w);
            for (int64_t j = 0; j < k; ++j) {
                int64_t some = given ? 0 : count;
                for (int64_t i = 0; given && i < count; ++i) {
                    const double held = given[(begin + i) * given_k + (given_k > 1 ? j : 0)];
                    if (held == 0 || (codes && codes[begin + i] != j)) continue;
                    chosen[some] = i;
                    logits[j * BLOCK + some++] = held;
                }
                write_away(x, n, begin, given ? chosen.get() : nullptr, some, columns, size, mean + j * d, y);
                add_rows(y, logits + j * BLOCK, some, size, d, by_pattern[j], means + j * d, scatter + j * d * d, z,
                         apart);
            }
        }
        for (int64_t j = 0; j < k; ++j) {
            const int64_t m = std::min(j, own - 1);
            if (!(by_pattern[j] > 0)) continue;
            complete(size, d, slope + m * d * d, rest + m * d * d, by_pattern[j], means + j * d,
                     scatter + j * d * d, across);
            merge(columns, d, by_pattern[j], means + j * d, scatter + j * d * d, weight[j], shift + j * d,
                  squares + j * d * d);
            hidden[j] += by_pattern[j] * (entropies[m] + double(d - size) * (HALF_LOG_TAU + 0.5));
        }
    }
    add_score(all, score);
    return sound;
}

}  // namespace

KERNEL(missing_log_prob, missing_log_prob)
KERNEL(missing_e_step, missing_e_step)

}  // namespace suffice
