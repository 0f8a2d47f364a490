// The component of the highest score of each row, the first of equal ones; −1 where no score is a number above −inf.
#include "vec.h"

namespace suffice {
namespace {

constexpr int GROUP = 4;  // vectors of rows at a time: one need not wait for another
constexpr int64_t ROWS = GROUP * LANES;

int64_t highest(const double *scores, int64_t k) {
    double best = -INF;
    int64_t who = -1;
    for (int64_t c = 0; c < k; ++c) {
        const bool better = scores[c] > best;  // chosen without a branch, which nobody could foresee
        who = better ? c : who;
        best = better ? scores[c] : best;
    }
    return who;
}

// The highest so far of `ROWS` rows.
struct Leaders {
    V best[GROUP], who[GROUP];

    Leaders() {
        for (int g = 0; g < GROUP; ++g) {
            best[g] = fill(-INF);
            who[g] = fill(-1);
        }
    }
    void compare(int g, V score, int64_t component) {
        who[g] = score > best[g] ? fill(double(component)) : who[g];
        best[g] = score > best[g] ? score : best[g];
    }
    void write(int64_t count, int64_t *out) const {
        for (int64_t i = 0; i < count; ++i) out[i] = int64_t(who[i / LANES][i % LANES]);
    }
};

// Log densities of products of normals: start (k,) + Σ cell − ½ ((x − mean) · scale)² of the cells that are there.
template <class T>
void normal_best(const T *x, int64_t n, int64_t d, const double *mean, const double *scale, const double *cell,
                 const double *start, int64_t k, int64_t *out) {
    Buffer<double> columns(d * ROWS), offset(k);
    for (int64_t c = 0; c < k; ++c) {
        offset[c] = start[c];
        for (int64_t j = 0; j < d; ++j) offset[c] += cell[c * d + j];
    }
    for (int64_t begin = 0; begin < n; begin += ROWS) {
        const int64_t count = std::min(ROWS, n - begin);
        transpose(x + begin * d, count, d, nullptr, columns.get(), ROWS);
        Leaders leaders;
        bool holes = false;
        for (int64_t c = 0; c < k; ++c) {
            V squares[GROUP] = {};
            for (int64_t j = 0; j < d; ++j)
                for (int g = 0; g < GROUP; ++g) {
                    const V z = (load(columns + j * ROWS + g * LANES) - mean[c * d + j]) * scale[c * d + j];
                    squares[g] += z * z;
                }
            for (int g = 0; g < GROUP; ++g) {
                const V score = offset[c] - 0.5 * squares[g];
                holes = holes || is_nan(total(score));
                leaders.compare(g, score, c);
            }
        }
        leaders.write(count, out + begin);
        for (int64_t i = begin; i < begin + count && holes; ++i) {
            double best = -INF;
            out[i] = -1;
            for (int64_t c = 0; c < k; ++c) {
                double score = start[c];
                for (int64_t j = 0; j < d; ++j) {
                    const double z = (double(x[i * d + j]) - mean[c * d + j]) * scale[c * d + j];
                    score += is_nan(double(x[i * d + j])) ? 0.0 : cell[c * d + j] - 0.5 * z * z;
                }
                out[i] = score > best ? c : out[i];
                best = score > best ? score : best;
            }
        }
    }
}

// Scores from tables of logs, k a multiple of LANES components side by side; gives how many cells have no level.
// Two columns are looked up at once: `pairs` (twos, side, side, k) has the sums of the first 2 · twos, and `rest` the
// others, (side, k) each. A level outside 0 … side − 2 has the last place; `lengths` (d,) say which have none.
template <class T>
int64_t table_best(const T *levels, int64_t n, int64_t d, const int64_t *lengths, int64_t side, const double *pairs,
                   int64_t twos, const double *rest, const double *start, int64_t k, int64_t *out) {
    const int64_t count = d - twos;
    Buffer<const double *> places(count);
    Buffer<double> scores(k);
    int64_t unknown = 0, real = k;
    while (real > 0 && start[real - 1] == -INF) --real;  // those that fill up
    const auto place = [&](int64_t i, int64_t j) {
        const uint64_t level = uint64_t(int64_t(levels[i * d + j]));  // what lies below 0 is far above
        unknown += level >= uint64_t(lengths[j]);
        return int64_t(std::min(level, uint64_t(side - 1)));
    };
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t p = 0; p < twos; ++p) {
            const int64_t a = place(i, 2 * p), b = place(i, 2 * p + 1);
            places[p] = pairs + ((p * side + a) * side + b) * k;
        }
        for (int64_t p = twos; p < count; ++p) places[p] = rest + ((p - twos) * side + place(i, p + twos)) * k;
        for (int64_t c = 0; c < k; c += LANES) {
            V one = load(start + c), other{};  // by turns: one need not wait for the other
            int64_t p = 0;
            for (; p + 1 < count; p += 2) {
                one += load(places[p] + c);
                other += load(places[p + 1] + c);
            }
            if (p < count) one += load(places[p] + c);
            store(scores + c, one + other);
        }
        out[i] = highest(scores, real);
    }
    return unknown;
}

// Scores X · slopes of compressed rows, slopes (width, k): the components side by side.
void sparse_best(const double *values, const int32_t *places, const int64_t *ends, int64_t n, const double *slopes,
                 const double *start, int64_t k, int64_t *out) {
    Buffer<double> held(k);
    double *__restrict scores = held;
    for (int64_t i = 0; i < n; ++i) {
        std::copy_n(start, k, scores);
        for (int64_t cell = ends[i]; cell < ends[i + 1]; ++cell) {
            const double value = values[cell], *slope = slopes + places[cell] * k;
#pragma omp simd
            for (int64_t c = 0; c < k; ++c) scores[c] += value * slope[c];
        }
        out[i] = highest(scores, k);
    }
}

// Scores start + Σ slopes · [x > threshold] − offset, slopes and offset (k, d), over the cells that are there.
template <class T>
void above_best(const T *x, int64_t n, int64_t d, double threshold, const double *slopes, const double *offset,
                const double *start, int64_t k, int64_t *out) {
    Buffer<double> columns(d * ROWS), base(k);
    for (int64_t c = 0; c < k; ++c) {
        base[c] = start[c];
        for (int64_t j = 0; j < d; ++j) base[c] -= offset[c * d + j];
    }
    for (int64_t begin = 0; begin < n; begin += ROWS) {
        const int64_t count = std::min(ROWS, n - begin);
        transpose(x + begin * d, count, d, nullptr, columns.get(), ROWS);
        bool holes = false;
        for (int64_t at = 0; at < d * ROWS; ++at) holes |= is_nan(columns[at]);
        Leaders leaders;
        for (int64_t c = 0; c < k; ++c) {
            V score[GROUP] = {}, back[GROUP] = {};
            for (int64_t j = 0; j < d; ++j)
                for (int g = 0; g < GROUP; ++g) {
                    const V cell = load(columns + j * ROWS + g * LANES);
                    score[g] += cell > threshold ? fill(slopes[c * d + j]) : V{};
                    if (holes) back[g] += cell == cell ? V{} : fill(offset[c * d + j]);
                }
            for (int g = 0; g < GROUP; ++g) leaders.compare(g, (score[g] + base[c]) + back[g], c);
        }
        leaders.write(count, out + begin);
    }
}

}  // namespace

KERNEL_REAL(normal_best)
KERNEL_LEVEL(table_best)
KERNEL(sparse_best, sparse_best)
KERNEL_REAL(above_best)

}  // namespace suffice
