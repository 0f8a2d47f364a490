// Sums, counts, ranges, extremes and hashes of rows with at most one weight and one component each.
#include "vec.h"

namespace suffice {
namespace {

struct Owners {
    const double *w;
    const int64_t *codes;
    int64_t k;

    int64_t component(int64_t i) const { return codes ? codes[i] : 0; }
    double weight(int64_t i) const { return w ? w[i] : 1.0; }
    bool counts(int64_t i) const { return component(i) >= 0 && component(i) < k; }
};

// Σ w x (k, m), blocks of rows by themselves.
template <class T>
void sums(const T *x, int64_t n, int64_t m, const double *w, const int64_t *codes, int64_t k, double *total) {
    const Owners owners{w, codes, k};
    const int64_t rows = std::max<int64_t>(1024, 16 * k);
    Buffer<double> part(k * m);
    for (int64_t begin = 0; begin < n; begin += rows) {
        part.fill(0);
        for (int64_t i = begin; i < std::min(begin + rows, n); ++i) {
            if (!owners.counts(i)) continue;
            const double v = owners.weight(i);
            const T *row = x + i * m;
            double *__restrict own = part + owners.component(i) * m;
#pragma omp simd
            for (int64_t j = 0; j < m; ++j) own[j] += v * double(row[j]);
        }
        for (int64_t at = 0; at < k * m; ++at) total[at] += part[at];
    }
}

// Σ w (k, d) of the cells above a threshold, and of those that are there.
template <class T>
void above_sums(const T *x, int64_t n, int64_t d, double threshold, const double *w, const int64_t *codes, int64_t k,
                double *total, double *seen) {
    const Owners owners{w, codes, k};
    for (int64_t i = 0; i < n; ++i) {
        if (!owners.counts(i)) continue;
        const double v = owners.weight(i);
        const T *row = x + i * d;
        double *__restrict above = total + owners.component(i) * d, *__restrict there = seen + owners.component(i) * d;
#pragma omp simd
        for (int64_t j = 0; j < d; ++j) {
            const double cell = double(row[j]);
            above[j] += cell > threshold ? v : 0.0;
            there[j] += is_nan(cell) ? 0.0 : v;
        }
    }
}

// -- compressed rows: row i has the cells ends[i] … ends[i + 1] --------------------------------------------------------

// Σ w x (k, width); gives the least x that counts, or 0.
double sparse_sums(const double *values, const int32_t *places, const int64_t *ends, int64_t n, const double *w,
                   const int64_t *codes, int64_t k, int64_t width, double *total) {
    const Owners owners{w, codes, k};
    double least = 0;
    for (int64_t i = 0; i < n; ++i) {
        if (!owners.counts(i)) continue;
        const double v = owners.weight(i);
        double *own = total + owners.component(i) * width;
        for (int64_t cell = ends[i]; cell < ends[i + 1]; ++cell) {
            own[places[cell]] += v * values[cell];
            least = std::min(least, values[cell]);
        }
    }
    return least;
}

// X · slopes (n, k), slopes (width, k): the components side by side.
void sparse_scores(const double *values, const int32_t *places, const int64_t *ends, int64_t n, const double *slopes,
                   int64_t k, double *out) {
    for (int64_t i = 0; i < n; ++i) {
        double *__restrict row = out + i * k;
        std::fill_n(row, k, 0.0);
        for (int64_t cell = ends[i]; cell < ends[i + 1]; ++cell) {
            const double value = values[cell], *slope = slopes + places[cell] * k;
            for (int64_t c = 0; c < k; ++c) row[c] += value * slope[c];
        }
    }
}

// -- levels ------------------------------------------------------------------------------------------------------------

// Weight (d, n_levels, k) of every level, the components side by side; w is (n, k), or (n,) where codes are given.
template <class T>
void counts(const T *levels, int64_t n, int64_t d, const double *w, const int64_t *codes, int64_t n_levels, int64_t k,
            double *total) {
    const Owners owners{w, codes, k};
    for (int64_t i = 0; i < n; ++i) {
        if (!owners.counts(i)) continue;
        for (int64_t j = 0; j < d; ++j) {
            const int64_t level = levels[i * d + j];
            if (level < 0 || level >= n_levels) continue;
            double *__restrict place = total + (j * n_levels + level) * k;
            if (codes)
                place[codes[i]] += w[i];
            else
                for (int64_t c = 0; c < k; ++c) place[c] += w[i * k + c];
        }
    }
}

// Counters of eight bits each, (k, words, d): level 8 w + i of a column is byte i of its word w, so that rows add as
// vectors. A counter holds 255, so the words are emptied after as many rows.
template <class T>
void packed_counts(const T *levels, int64_t n, int64_t d, const Owners &owners, int64_t n_levels, int64_t *total) {
    const int64_t words = (n_levels + 7) / 8, k = owners.k;
    Buffer<uint64_t> packed(k * words * d), counted(k * words * 8 * d);
    for (int64_t begin = 0; begin < n; begin += 255) {
        for (int64_t i = begin; i < std::min(begin + 255, n); ++i) {
            if (!owners.counts(i)) continue;
            const T *row = levels + i * d;
            for (int64_t word = 0; word < words; ++word) {
                uint64_t *__restrict own = packed + (owners.component(i) * words + word) * d;
#pragma omp simd
                for (int64_t j = 0; j < d; ++j) {
                    const uint64_t step = uint64_t(int64_t(row[j])) - uint64_t(8 * word);  // below wraps to far above
                    own[j] += step < 8 ? uint64_t(1) << ((step & 7) * 8) : uint64_t(0);
                }
            }
        }
        for (int64_t own = 0; own < k * words; ++own)
            for (int64_t byte = 0; byte < 8; ++byte) {
                const uint64_t *from = packed + own * d;
                uint64_t *__restrict to = counted + (own * 8 + byte) * d;
                for (int64_t j = 0; j < d; ++j) to[j] += (from[j] >> (8 * byte)) & 255;
            }
        packed.fill(0);
    }
    for (int64_t c = 0; c < k; ++c)
        for (int64_t level = 0; level < n_levels; ++level)
            for (int64_t j = 0; j < d; ++j)
                total[(j * n_levels + level) * k + c] += int64_t(counted[(c * words * 8 + level) * d + j]);
}

// The same of rows without weights: how often, (d, n_levels, k) whole numbers.
template <class T>
void whole_counts(const T *levels, int64_t n, int64_t d, const int64_t *codes, int64_t n_levels, int64_t k,
                  int64_t *total) {
    constexpr int64_t FEW_LEVELS = 16;  // more would have to be read more often
    const Owners owners{nullptr, codes, k};
    if (n_levels <= FEW_LEVELS) {
        packed_counts(levels, n, d, owners, n_levels, total);
        return;
    }
    for (int64_t i = 0; i < n; ++i) {
        if (!owners.counts(i)) continue;
        for (int64_t j = 0; j < d; ++j) {
            const int64_t level = levels[i * d + j];
            if (level >= 0 && level < n_levels) ++total[(j * n_levels + level) * k + owners.component(i)];
        }
    }
}

// How often low + i occurs in x (n,), in four tables (4, size) by turns: equal neighbours need not wait.
template <class T> void count_range(const T *x, int64_t n, int64_t low, int64_t size, int64_t *total) {
    for (int64_t i = 0; i < n; ++i) {
        const uint64_t step = uint64_t(int64_t(x[i])) - uint64_t(low);
        if (step < uint64_t(size)) ++total[(i & 3) * size + int64_t(step)];
    }
}

// Smallest and largest of x (n,), n > 0.
template <class T> void integer_range(const T *x, int64_t n, int64_t *out) {
    T low = x[0], high = x[0];
#pragma omp simd reduction(min : low) reduction(max : high)
    for (int64_t i = 0; i < n; ++i) {
        low = std::min(low, x[i]);
        high = std::max(high, x[i]);
    }
    out[0] = low;
    out[1] = high;
}

// -- extremes ----------------------------------------------------------------------------------------------------------

// Weight, smallest and largest (k, d) of the seen cells that have weight.
template <class T>
void extremes(const T *x, int64_t n, int64_t d, const double *w, const int64_t *codes, int64_t k, double *weight,
              double *low, double *high) {
    const Owners owners{w, codes, k};
    for (int64_t i = 0; i < n; ++i) {
        const double v = owners.weight(i);
        if (!owners.counts(i) || !(v > 0)) continue;
        const int64_t at = owners.component(i) * d;
        const T *row = x + i * d;
        double *__restrict sum = weight + at, *__restrict least = low + at, *__restrict most = high + at;
#pragma omp simd
        for (int64_t j = 0; j < d; ++j) {
            const double cell = double(row[j]);
            sum[j] += is_nan(cell) ? 0.0 : v;
            least[j] = cell < least[j] ? cell : least[j];  // NaN never is
            most[j] = cell > most[j] ? cell : most[j];
        }
    }
}

// The same of rows without weights, four at a time; 0, and nothing done, where a cell may be NaN.
template <class T>
int64_t extremes_unweighted(const T *x, int64_t n, int64_t d, double *weight, double *low, double *high) {
    Buffer<double> least(d), most(d), total(d);
    std::copy_n(low, d, least.get());
    std::copy_n(high, d, most.get());
    double *__restrict l = least, *__restrict h = most, *__restrict sum = total;
    const auto smaller = [](double a, double b) { return b < a ? b : a; };
    const auto larger = [](double a, double b) { return b > a ? b : a; };
    const int64_t whole = n - n % 4;
    for (int64_t i = 0; i < whole; i += 4) {
        const T *row = x + i * d;
#pragma omp simd
        for (int64_t j = 0; j < d; ++j) {
            const double a = row[j], b = row[j + d], c = row[j + 2 * d], e = row[j + 3 * d];
            l[j] = smaller(l[j], smaller(smaller(a, b), smaller(c, e)));
            h[j] = larger(h[j], larger(larger(a, b), larger(c, e)));
            sum[j] += (a + b) + (c + e);
        }
    }
    for (int64_t i = whole; i < n; ++i)
        for (int64_t j = 0; j < d; ++j) {
            const double cell = x[i * d + j];
            l[j] = smaller(l[j], cell);
            h[j] = larger(h[j], cell);
            sum[j] += cell;
        }
    if (!std::all_of(total.get(), total + d, is_finite)) return 0;
    for (int64_t j = 0; j < d; ++j) weight[j] += double(n);
    std::copy_n(l, d, low);
    std::copy_n(h, d, high);
    return 1;
}

// -- hashes ------------------------------------------------------------------------------------------------------------

// The finalizer of splitmix64.
inline uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// A hash of the values of each row into out (n,): `start` and the hashes of its cells, keys (d,), added up.
template <class T>
void row_hash(const T *x, int64_t n, int64_t d, const uint64_t *keys, const uint64_t *start, uint64_t *out) {
    for (int64_t i = 0; i < n; ++i) {
        uint64_t hash = *start;
        const T *row = x + i * d;
#pragma omp simd reduction(+ : hash)
        for (int64_t j = 0; j < d; ++j) {
            const double cell = double(row[j]);
            uint64_t raw = std::bit_cast<uint64_t>(cell);
            raw = cell == 0 ? 0 : raw;  // both zeros
            raw = is_nan(cell) ? 0x7FF8000000000000u : raw;
            hash += mix(keys[j] ^ raw);
        }
        out[i] = hash;
    }
}

}  // namespace

KERNEL_REAL(sums)
KERNEL_REAL(above_sums)
KERNEL(sparse_sums, sparse_sums)
KERNEL(sparse_scores, sparse_scores)
KERNEL_LEVEL(counts)
KERNEL_LEVEL(whole_counts)
KERNEL_LEVEL(count_range)
KERNEL_LEVEL(integer_range)
KERNEL_REAL(extremes)
KERNEL_REAL(extremes_unweighted)
KERNEL_REAL(row_hash)

}  // namespace suffice
