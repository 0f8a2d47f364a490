// Moments of columns: weight, centre, shift and Σ w (x − mean)², mean = centre + shift, of the cells that are not NaN.
//
// Work goes by blocks of rows that stay in cache. Squares are summed about a pivot that loses no digit: the mean so far
// where it rests on a fair weight beside the block's (what cancels is then about what the distance between the two
// adds), else the mean of the block, taken about its heaviest row in a pass of its own.
#include "vec.h"

namespace suffice {
namespace {

constexpr int64_t GROWTH = 16;  // blocks grow by this factor, so that only the first must find a mean of its own
constexpr int64_t PANEL = 32;   // columns side by side in a block

struct Moments {
    double weight, centre, shift, scatter;
};

// The answer of a call, each (k, d).
struct Answer {
    double *weight, *centre, *shift, *scatter;

    double mean(int64_t at) const { return centre[at] + shift[at]; }

    // Chan, Golub and LeVeque: the moments of more cells join those at a place.
    void merge(int64_t at, Moments more) const {
        if (more.weight == 0) return;
        if (weight[at] == 0) centre[at] = more.centre;
        const double apart = (more.centre - centre[at]) + (more.shift - shift[at]);
        const double share = more.weight / (weight[at] + more.weight);
        scatter[at] += more.scatter + weight[at] * share * apart * apart;
        shift[at] += share * apart;
        weight[at] += more.weight;
    }
};

struct Sums {
    double weight, first, second;  // Σ w, Σ w (x − pivot), Σ w (x − pivot)²

    Moments about(double pivot) const {
        const double offset = weight ? first / weight : 0.0;
        const double inside = second - first * offset;
        return {weight, pivot, offset, inside < 0 ? 0.0 : inside};  // NaN stays
    }
};

// Rows with at most one weight each, and a component each.
template <class T> struct Rows {
    const T *x;
    int64_t n, d, k;
    const double *w;
    const int64_t *codes;

    int64_t component(int64_t i) const { return codes ? codes[i] : 0; }
    double weight(int64_t i) const { return w ? w[i] : 1.0; }
    bool counts(int64_t i) const { return component(i) >= 0 && component(i) < k; }
    Rows part(int64_t begin, int64_t end) const {
        return {x + begin * d, end - begin, d, k, w ? w + begin : nullptr, codes ? codes + begin : nullptr};
    }
};

// The seen cell of largest weight of a column, among those of a component; 0 where there is none.
template <class T> double heaviest_cell(const Rows<T> &rows, int64_t column, int64_t component) {
    double most = 0, value = 0;
    for (int64_t i = 0; i < rows.n; ++i) {
        const double cell = double(rows.x[i * rows.d + column]);
        if (rows.weight(i) > most && !is_nan(cell) && rows.component(i) == component) {
            most = rows.weight(i);
            value = cell;
        }
    }
    return value;
}

// -- row by row: one weight per row ------------------------------------------------------------------------------------

// Σ w (x − pivot) and Σ w (x − pivot)², each (k, d).
template <class T>
void add_rows(const Rows<T> &rows, const double *pivot, double *__restrict first, double *__restrict second) {
    const int64_t d = rows.d;
    std::fill_n(first, rows.k * d, 0.0);
    std::fill_n(second, rows.k * d, 0.0);
    for (int64_t i = 0; i < rows.n; ++i) {
        if (!rows.counts(i)) continue;
        const int64_t at = rows.component(i) * d;
        const double v = rows.weight(i), *p = pivot + at;
        const T *row = rows.x + i * d;
        double *__restrict f = first + at, *__restrict s = second + at;
#pragma omp simd
        for (int64_t j = 0; j < d; ++j) {
            const double r = double(row[j]) - p[j];
            f[j] += v * r;
            s[j] += v * r * r;
        }
    }
}

// The same over the cells that are not NaN, and the weight of these.
template <class T>
void add_seen_rows(const Rows<T> &rows, const double *pivot, double *__restrict weight, double *__restrict first,
                   double *__restrict second) {
    const int64_t d = rows.d;
    for (double *sums : {weight, first, second}) std::fill_n(sums, rows.k * d, 0.0);
    for (int64_t i = 0; i < rows.n; ++i) {
        if (!rows.counts(i)) continue;
        const int64_t at = rows.component(i) * d;
        const double v = rows.weight(i);
        for (int64_t j = 0; j < d; ++j) {
            const double cell = double(rows.x[i * d + j]);
            const double r = is_nan(cell) ? 0.0 : cell - pivot[at + j];
            weight[at + j] += is_nan(cell) ? 0.0 : v;
            first[at + j] += v * r;
            second[at + j] += v * r * r;
        }
    }
}

template <class T>
void moments_by_row(const T *x, int64_t n, int64_t d, const double *w, const int64_t *codes, int64_t k, double *weight,
                    double *centre, double *shift, double *scatter) {
    const Rows<T> all{x, n, d, k, w, codes};
    const Answer answer{weight, centre, shift, scatter};
    const int64_t most = std::max<int64_t>(1024, 16 * k);  // merging costs as much as a few rows of each component
    Buffer<double> total(k), heaviest(k), pivot(k * d), seen(k * d), first(k * d), second(k * d);
    Buffer<int64_t> place(k);
    for (int64_t begin = 0, end; begin < n; begin = end) {
        end = std::min(n, begin + std::min(most, std::max({GROWTH * begin, 4 * k, int64_t(16)})));
        const Rows<T> block = all.part(begin, end);
        total.fill(0);
        heaviest.fill(0);
        place.fill(0);
        for (int64_t i = 0; i < block.n; ++i) {
            if (!block.counts(i)) continue;
            const int64_t c = block.component(i);
            const double v = block.weight(i);
            total[c] += v;
            if (v > heaviest[c]) {
                heaviest[c] = v;
                place[c] = i;
            }
        }
        bool settled = true;
        for (int64_t c = 0; c < k; ++c)
            for (int64_t j = 0, at = c * d; j < d; ++j, ++at) {
                pivot[at] = answer.mean(at);
                if (weight[at] * GROWTH >= total[c]) continue;
                settled = false;
                pivot[at] = double(block.x[place[c] * d + j]);
                if (is_nan(pivot[at])) pivot[at] = heaviest_cell(block, j, c);
            }
        if (!settled) {
            add_seen_rows(block, pivot, seen, first, second);
            for (int64_t c = 0; c < k; ++c)
                for (int64_t at = c * d; at < (c + 1) * d; ++at)
                    if (weight[at] * GROWTH < total[c] && seen[at] > 0) pivot[at] += first[at] / seen[at];
        }
        add_rows(block, pivot, first, second);
        const bool complete = std::all_of(second.get(), second + k * d, is_finite);
        if (!complete) add_seen_rows(block, pivot, seen, first, second);
        for (int64_t c = 0; c < k; ++c)
            for (int64_t at = c * d; at < (c + 1) * d; ++at)
                answer.merge(at, Sums{complete ? total[c] : seen[at], first[at], second[at]}.about(pivot[at]));
    }
}

// -- column by column: short rows, or a weight for each row and component ----------------------------------------------

template <class T> Sums add_column(const T *column, int64_t n, const double *w, double total, double pivot) {
    double first = 0, second = 0;
    if (w) {
#pragma omp simd reduction(+ : first, second)
        for (int64_t i = 0; i < n; ++i) {
            const double r = double(column[i]) - pivot;
            first += w[i] * r;
            second += w[i] * r * r;
        }
        return {total, first, second};
    }
    V f[4] = {}, s[4] = {};  // four places at a time: memory is fetched ahead of each, and no sum waits for another
    const int64_t quarter = n / 4 / LANES * LANES;
    for (int64_t i = 0; i < quarter; i += LANES)
        for (int part = 0; part < 4; ++part) {
            const V r = load(column + part * quarter + i) - pivot;
            f[part] += r;
            s[part] += r * r;
        }
    for (int64_t i = 4 * quarter; i < n; ++i) {
        const double r = double(column[i]) - pivot;
        first += r;
        second += r * r;
    }
    return {total, first + suffice::total((f[0] + f[1]) + (f[2] + f[3])),
            second + suffice::total((s[0] + s[1]) + (s[2] + s[3]))};
}

template <class T> Sums add_seen_column(const T *column, int64_t n, const double *w, double pivot) {
    double weight = 0, first = 0, second = 0;
#pragma omp simd reduction(+ : weight, first, second)
    for (int64_t i = 0; i < n; ++i) {
        const double cell = double(column[i]);
        const double v = is_nan(cell) ? 0.0 : w ? w[i] : 1.0;
        const double r = is_nan(cell) ? 0.0 : cell - pivot;
        weight += v;
        first += v * r;
        second += v * r * r;
    }
    return {weight, first, second};
}

// Moments of a column, of weight `total` if nothing is missing, about the mean so far if that is settled.
template <class T>
Moments column_moments(const T *column, int64_t n, const double *w, double total, bool settled, double mean) {
    double pivot = mean;
    if (!settled) {
        pivot = heaviest_cell(Rows<T>{column, n, 1, 1, w, nullptr}, 0, 0);
        const Sums found = add_seen_column(column, n, w, pivot);
        pivot += found.weight ? found.first / found.weight : 0.0;
    }
    Sums sums = add_column(column, n, w, total, pivot);
    if (!is_finite(sums.second)) sums = add_seen_column(column, n, w, pivot);
    return sums.about(pivot);
}

// Columns `first` … of x (n, d) beside each other, (columns, stride), some rows at a time: their cache lines stay near.
template <class T>
void load_columns(const T *x, int64_t n, int64_t d, int64_t first, int64_t columns, T *out, int64_t stride) {
    constexpr int64_t TILE = 128;
    for (int64_t begin = 0; begin < n; begin += TILE)
        for (int64_t j = 0; j < columns; ++j)
            for (int64_t i = begin; i < std::min(begin + TILE, n); ++i) out[j * stride + i] = x[i * d + first + j];
}

// w is (n, k), or null with k = 1.
template <class T>
void moments_by_column(const T *x, int64_t n, int64_t d, const double *w, int64_t k, double *weight, double *centre,
                       double *shift, double *scatter) {
    const Answer answer{weight, centre, shift, scatter};
    const int64_t most = std::max<int64_t>(256, 32768 / std::max(k, std::min(d, PANEL)));
    const int64_t room = std::min(n, most);
    Buffer<T> cells(d > 1 ? std::min(d, PANEL) * room : 0);
    Buffer<double> shares(k > 1 ? k * room : 0);
    for (int64_t begin = 0, end; begin < n; begin = end) {
        end = std::min(n, begin + std::min(most, std::max(GROWTH * begin, int64_t(16))));
        const int64_t rows = end - begin;
        if (k > 1) load_columns(w + begin * k, rows, k, 0, k, shares.get(), room);
        for (int64_t panel = 0; panel < d; panel += PANEL) {
            const int64_t columns = std::min(PANEL, d - panel);
            if (d > 1) load_columns(x + begin * d, rows, d, panel, columns, cells.get(), room);
            for (int64_t c = 0; c < k; ++c) {
                const double *u = k > 1 ? shares + c * room : w ? w + begin : nullptr;
                double total = u ? 0.0 : double(rows);
                if (u) {
#pragma omp simd reduction(+ : total)
                    for (int64_t i = 0; i < rows; ++i) total += u[i];
                }
                if (!(total > 0)) continue;
                for (int64_t j = 0; j < columns; ++j) {
                    const int64_t at = c * d + panel + j;
                    const T *column = d > 1 ? cells + j * room : x + begin;  // a single column lies right as it is
                    const bool settled = weight[at] * GROWTH >= total;
                    answer.merge(at, column_moments(column, rows, u, total, settled, answer.mean(at)));
                }
            }
        }
    }
}

}  // namespace

KERNEL_REAL(moments_by_row)
KERNEL_REAL(moments_by_column)

}  // namespace suffice
