// One EM pass over levels, and over columns of different kinds.
//
// A block of numbers and features lies column by column. Each column adds to the logits of one component after the
// other; the shares that these become are then summed over the same columns, which are still near. Tables lie by vectors
// of components: (k / LANES, entries, LANES), where a place is that of a vector's entries.
#include "block.h"
#include "run.h"

namespace suffice {
namespace {

constexpr int64_t BLOCK = 240;  // rows of a block
constexpr int64_t FEW = 3;      // columns of levels, from which on components are looked up by vectors

// Logits of a block (k, BLOCK): the constant (k,) of each component first.
void begin_logits(const double *constant, int64_t k, double *logits) {
    for (int64_t j = 0; j < k; ++j) std::fill_n(logits + j * BLOCK, BLOCK, constant[j]);
}

// Add each row's own log-weights to its logits, and turn them into shares; a row of no weight has logits of 0.
Softmax end_logits(const double *weights, const double *log_weights, int64_t k, int64_t count, double *logits) {
    add_own(log_weights, k, k, count, weights, logits, BLOCK);
    for (int64_t j = 0; weights && j < k; ++j)
        for (int64_t i = 0; i < count; ++i) logits[j * BLOCK + i] = weights[i] != 0 ? logits[j * BLOCK + i] : 0.0;
    return softmax(logits, BLOCK, k, count, weights);
}

// -- tables ------------------------------------------------------------------------------------------------------------

// Add the entries of rows to the logits of one vector of components.
void look_up(const double *entries, const int32_t *places, int64_t groups, int64_t count, double *rows, double *logits,
             int64_t components) {
    for (int64_t n = 0; n < count; ++n, places += groups) {
        V first{}, second{};
        int64_t g = 0;
        for (; g + 1 < groups; g += 2) {
            first += load(entries + places[g]);
            second += load(entries + places[g + 1]);
        }
        if (g < groups) first += load(entries + places[g]);
        store(rows + n * LANES, first + second);
    }
    for (int64_t j = 0; j < std::min<int64_t>(LANES, components); ++j)
        for (int64_t n = 0; n < count; ++n) logits[j * BLOCK + n] += rows[n * LANES + j];
}

// Add the shares of one vector of components to the entries of their rows.
void count_up(const double *shares, int64_t components, const int32_t *places, int64_t groups, int64_t count,
              double *rows, double *sums) {
    for (int64_t j = 0; j < std::min<int64_t>(LANES, components); ++j)
        for (int64_t n = 0; n < count; ++n) rows[n * LANES + j] = shares[j * BLOCK + n];
    for (int64_t n = 0; n < count; ++n) {
        const V r = load(rows + n * LANES);
        for (int64_t g = 0; g < groups; ++g, ++places) store(sums + *places, load(sums + *places) + r);
    }
}

// Where the entry of each group of J columns is: Σ factor · level + offset, a missing level counting as n_levels.
template <int J, class L>
void place_levels(const L *levels, int64_t count, int64_t d, int64_t n_levels, const int32_t *factors,
                  const int32_t *offsets, int32_t *steps, int32_t *places) {
    using I = std::conditional_t<sizeof(L) == 8, int64_t, int32_t>;
    const int64_t width = round_up(d, J), size = width == d ? count * d : d;  // rows without padding are one stretch
    const I limit = I(n_levels);
    for (int64_t n = 0; n < (width == d ? 1 : count); ++n) {
        const L *mine = levels + n * d;
        int32_t *out = steps + n * width;
        for (int64_t t = 0; t < size; ++t) {
            const I level = I(mine[t]);
            out[t] = int32_t(level >= 0 && level < limit ? level : limit) * factors[t] + offsets[t];
        }
    }
    for (int64_t i = 0; i < count * width / J; ++i) {
        int32_t place = steps[J * i];
        for (int t = 1; t < J; ++t) place += steps[J * i + t];
        places[i] = place;
    }
}

// Latent classes: add log-likelihood and entropy (2,), and sums as the entries (k / LANES, groups, levels of a group,
// LANES) lie. A group is `jointly` columns of n_levels + 1 levels, the last of which is missing.
template <class L>
void tables(const L *levels, int64_t n, int64_t d, const double *weights, const double *log_weights,
            const double *constant, const double *entries, int64_t n_levels, int64_t jointly, int64_t k, double *sums,
            double *score) {
    const int64_t groups = round_up(d, jointly) / jointly, width = groups * jointly, radix = n_levels + 1;
    int64_t joint = LANES;
    for (int64_t j = 0; j < jointly; ++j) joint *= radix;
    const int64_t size = groups * joint;
    Buffer<int32_t> factors(BLOCK * width), offsets(BLOCK * width), steps(BLOCK * width), places(BLOCK * groups);
    for (int64_t t = 0; t < BLOCK * width; ++t) {
        const int64_t column = t % width;
        int64_t factor = LANES;
        for (int64_t j = column % jointly + 1; j < jointly; ++j) factor *= radix;
        factors[t] = int32_t(factor);
        offsets[t] = int32_t(column % jointly ? 0 : joint * (column / jointly));
    }
    const auto place = jointly == 1   ? place_levels<1, L>
                       : jointly == 2 ? place_levels<2, L>
                       : jointly == 3 ? place_levels<3, L>
                                      : place_levels<4, L>;
    Buffer<double> rows(BLOCK * LANES), logits(k * BLOCK);
    Softmax all{};
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        const int64_t count = std::min(BLOCK, n - begin);
        const double *w = weights ? weights + begin : nullptr;
        place(levels + begin * d, count, d, n_levels, factors, offsets, steps, places);
        begin_logits(constant, k, logits);
        for (int64_t j = 0; j < k; j += LANES)
            look_up(entries + j / LANES * size, places, groups, count, rows, logits + j * BLOCK, k - j);
        all += end_logits(w, log_weights ? log_weights + begin * k : nullptr, k, count, logits);
        for (int64_t j = 0; j < k; j += LANES)
            count_up(logits + j * BLOCK, k - j, places, groups, count, rows, sums + j / LANES * size);
    }
    add_score(all, score);
}

// -- columns of different kinds ----------------------------------------------------------------------------------------

// A column of numbers, 0 where a cell is missing or its row has no weight; and which are there.
struct Numbers {
    double cells[BLOCK], there[BLOCK];
    bool whole;

    void write(const double *x, const double *weights, int64_t count) {
        int64_t missing = 0;
#pragma omp simd reduction(+ : missing)
        for (int64_t i = 0; i < count; ++i) {
            const bool known = x[i] == x[i] && (!weights || weights[i] != 0);
            cells[i] = known ? x[i] : 0.0;
            there[i] = known ? 1.0 : 0.0;
            missing += known ? 0 : 1;
        }
        whole = missing == 0;
    }

    // Add height − (scale (x − mean))² to a component's logits where the cell is there.
    void add_to(double *row, int64_t count, double mean, double scale, double height) const {
        if (whole) {
            for (int64_t i = 0; i < count; ++i) {
                const double z = (cells[i] - mean) * scale;
                row[i] += height - z * z;
            }
        } else {
            for (int64_t i = 0; i < count; ++i) {
                const double z = (cells[i] - mean) * scale;
                row[i] += there[i] != 0 ? height - z * z : 0.0;
            }
        }
    }

    // Add Σ r, Σ r (x − pivot) and Σ r (x − pivot)² over the cells that are there.
    void sum(const double *row, int64_t count, double pivot, double &weight, double &first, double &second) const {
        double s0 = 0, s1 = 0, s2 = 0;
#pragma omp simd reduction(+ : s0, s1, s2)
        for (int64_t i = 0; i < count; ++i) {
            const double t = (cells[i] - pivot) * there[i];
            s0 += row[i] * there[i];
            s1 += row[i] * t;
            s2 += row[i] * t * t;
        }
        weight += s0;
        first += s1;
        second += s2;
    }
};

double dot(const double *a, const double *b, int64_t count) {
    double s = 0;
#pragma omp simd reduction(+ : s)
    for (int64_t i = 0; i < count; ++i) s += a[i] * b[i];
    return s;
}

// Where the entry of each cell is in tables one after the other; that of a missing level is at the end.
void place_mixed(const int32_t *levels, int64_t n, int64_t columns, const int64_t *starts, int64_t count,
                 int32_t *places) {
    for (int64_t j = 0; j < columns; ++j) {
        const int64_t start = starts[j], size = starts[j + 1] - start;
        for (int64_t i = 0; i < count; ++i) {
            const int64_t level = levels[j * n + i];
            const int64_t place = level >= 0 && level < size ? start + level : starts[columns];
            places[i * columns + j] = int32_t(LANES * place);
        }
    }
}

// One pass: x (a, n), features (m, n) and levels (c, n) column by column. Adds log-likelihood and entropy (2,), the
// weight (k,), sums (3, k, a) of r, r (x − pivot), r (x − pivot)², total (k, m), and counts as the tables lie; writes the
// shares (n, k), unless null.
void columns(int64_t n, const double *x, int64_t a, const double *mean, const double *scale, const double *height,
             const double *pivot, const double *features, int64_t m, const double *eta, const int32_t *levels,
             int64_t c, const int64_t *starts, const double *tables, const double *constant, const double *log_weights,
             const double *weights, int64_t k, double *weight, double *sums, double *total, double *counts,
             double *shares, double *score) {
    const int64_t size = LANES * (starts[c] + 1);
    Buffer<Numbers> numbers(a);
    Buffer<double> cells(m * BLOCK), rows(BLOCK * LANES), logits(k * BLOCK);
    Buffer<int32_t> places(BLOCK * c);
    Softmax all{};
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        const int64_t count = std::min(BLOCK, n - begin);
        const double *w = weights ? weights + begin : nullptr;
        begin_logits(constant, k, logits);
        for (int64_t f = 0; f < a; ++f) {
            numbers[f].write(x + f * n + begin, w, count);
            for (int64_t j = 0; j < k; ++j)
                numbers[f].add_to(logits + j * BLOCK, count, mean[j * a + f], scale[j * a + f], height[j * a + f]);
        }
        for (int64_t f = 0; f < m; ++f) {
            double *cell = cells + f * BLOCK;
            for (int64_t i = 0; i < count; ++i) cell[i] = w && w[i] == 0 ? 0.0 : features[f * n + begin + i];
            for (int64_t j = 0; j < k; ++j)
                for (int64_t i = 0; i < count; ++i) logits[j * BLOCK + i] += eta[j * m + f] * cell[i];
        }
        place_mixed(levels + begin, n, c, starts, count, places);
        if (c < FEW) {
            for (int64_t j = 0; j < k; ++j)
                for (int64_t i = 0; i < count; ++i)
                    for (int64_t f = i * c; f < (i + 1) * c; ++f)
                        logits[j * BLOCK + i] += tables[j / LANES * size + j % LANES + places[f]];
        } else {
            for (int64_t j = 0; j < k; j += LANES)
                look_up(tables + j / LANES * size, places, c, count, rows, logits + j * BLOCK, k - j);
        }
        all += end_logits(w, log_weights ? log_weights + begin * k : nullptr, k, count, logits);
        for (int64_t j = 0; j < k; ++j) {
            const double *row = logits + j * BLOCK;
            double held = 0;
#pragma omp simd reduction(+ : held)
            for (int64_t i = 0; i < count; ++i) held += row[i];
            weight[j] += held;
            for (int64_t f = 0; f < a; ++f) {
                double *own = sums + j * a + f;
                numbers[f].sum(row, count, pivot[j * a + f], own[0], own[k * a], own[2 * k * a]);
            }
            for (int64_t f = 0; f < m; ++f) total[j * m + f] += dot(row, cells + f * BLOCK, count);
            for (int64_t i = 0; c < FEW && i < count; ++i)
                for (int64_t f = i * c; f < (i + 1) * c; ++f)
                    counts[j / LANES * size + j % LANES + places[f]] += row[i];
            for (int64_t i = 0; shares && i < count; ++i) shares[(begin + i) * k + j] = row[i];
        }
        for (int64_t j = 0; c >= FEW && j < k; j += LANES)
            count_up(logits + j * BLOCK, k - j, places, c, count, rows, counts + j / LANES * size);
    }
    add_score(all, score);
}

// -- short runs --------------------------------------------------------------------------------------------------------

// Parameters, and what a pass under them found: the weight (k,), sums (3, k, a) about the centre, and counts by vectors
// of components.
struct Columns {
    Buffer<double> share, mean, std, tables, sums;
    double score[2] = {0, 0};

    Columns(int64_t k, int64_t a, int64_t entries)
        : share(k), mean(k * a), std(k * a), tables(entries), sums(k + 3 * k * a + entries) {}
    void swap(Columns &other) {
        share.swap(other.share);
        mean.swap(other.mean);
        std.swap(other.std);
        tables.swap(other.tables);
        sums.swap(other.sums);
        std::swap(score[0], other.score[0]);
        std::swap(score[1], other.score[1]);
    }
};

// EM over numbers x (a, n) under normals, none narrower than the floor (a,), and levels (c, n) with probabilities
// (k, starts[c]), from shares (k,), mean and std (k, a) and probabilities, which become the last; as in `quadratic_runs`.
int64_t columns_run(int64_t n, const double *x, int64_t a, const double *centre, const double *floor,
                    const int32_t *levels, int64_t c, const int64_t *starts, const double *weights, int64_t k,
                    int64_t passes, int64_t leaps, double tol, double unit, double lost, double seen, double *share,
                    double *mean, double *std, double *probs, double *trace, int64_t *counts) {
    const int64_t whole = starts[c], size = LANES * (whole + 1), groups = round_up(k, LANES) / LANES;
    const int64_t entries = groups * size;
    Columns now(k, a, entries), next(k, a, entries);
    Buffer<double> scale(k * a), height(k * a), pivot(k * a), constant(k);
    for (int64_t i = 0; i < k * a; ++i) pivot[i] = centre[i % a];
    const auto place = [&](int64_t j, int64_t level) { return j / LANES * size + LANES * level + j % LANES; };
    const auto e_step = [&](Columns &state) {
        for (int64_t i = 0; i < k * a; ++i) {
            scale[i] = std::sqrt(0.5) / state.std[i];
            height[i] = -0.5 * LOG_2PI - std::log(state.std[i]);
        }
        for (int64_t j = 0; j < k; ++j) constant[j] = std::log(state.share[j]);
        state.sums.fill(0);
        state.score[0] = state.score[1] = 0;
        columns(n, x, a, state.mean, scale, height, pivot, nullptr, 0, nullptr, levels, c, starts, state.tables,
                constant, nullptr, weights, k, state.sums, state.sums + k, nullptr, state.sums + k + 3 * k * a, nullptr,
                state.score);
        return is_finite(state.score[0]);
    };
    const auto m_step = [&](const double *from, Columns &state) {
        double total = 0;
        for (int64_t j = 0; j < k; ++j) total += from[j];
        for (int64_t j = 0; j < k; ++j) {
            if (!(from[j] > seen * total)) return false;
            state.share[j] = from[j] / total;
        }
        const double *sums = from + k, *held = sums + 3 * k * a;
        for (int64_t i = 0; i < k * a; ++i) {
            const double rows = sums[i], shift = sums[k * a + i] / rows, square = sums[2 * k * a + i] / rows;
            const double var = square - shift * shift, least = floor[i % a];
            if (!(rows > seen * total) || !(var > least * least) || !(square <= lost * var)) return false;
            state.mean[i] = centre[i % a] + shift;
            state.std[i] = std::sqrt(var);
        }
        for (int64_t j = 0; j < k; ++j)
            for (int64_t f = 0; f < c; ++f) {
                double rows = 0;
                for (int64_t v = starts[f]; v < starts[f + 1]; ++v) rows += std::max(held[place(j, v)], 0.0);
                if (!(rows > seen * total)) return false;
                for (int64_t v = starts[f]; v < starts[f + 1]; ++v) {
                    const double part = std::max(held[place(j, v)], 0.0) / rows;
                    state.tables[place(j, v)] = part > 0 ? std::log(part) : -INF;
                }
            }
        return true;
    };
    std::copy_n(share, k, now.share.get());
    std::copy_n(mean, k * a, now.mean.get());
    std::copy_n(std, k * a, now.std.get());
    for (int64_t j = 0; j < k; ++j)
        for (int64_t v = 0; v < whole; ++v) {
            const double part = probs[j * whole + v];
            now.tables[place(j, v)] = part > 0 ? std::log(part) : -INF;
        }
    const End end = run_em(now, next, now.sums.size(), {passes, leaps, tol, unit}, e_step, m_step, trace, counts);
    if (end == LOST) return end;
    std::copy_n(now.share.get(), k, share);
    std::copy_n(now.mean.get(), k * a, mean);
    std::copy_n(now.std.get(), k * a, std);
    for (int64_t j = 0; j < k; ++j)
        for (int64_t v = 0; v < whole; ++v) probs[j * whole + v] = std::exp(now.tables[place(j, v)]);
    return end;
}

}  // namespace

KERNEL_LEVEL(tables)
KERNEL(columns, columns)
KERNEL(columns_run, columns_run)

}  // namespace suffice
