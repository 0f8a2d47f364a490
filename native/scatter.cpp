// Scatter matrices of complete rows, about the means of components.
//
// A block of rows is centred and transposed, so that products go along memory by tiles of 4 × 3 sums that stay in
// registers; the sizes are padded with zeros to whole tiles. Pivots are those of `moments.cpp`.
#include "vec.h"

namespace suffice {
namespace {

constexpr int64_t FAIR = 16;  // the mean so far is a good pivot for blocks of up to this many times its weight
constexpr int64_t TILE = 64;  // rows that wait in the nearest cache to be transposed

// Order the rows by component, a counting sort: component k has order[starts[k]] … order[stops[k] − 1].
void group(const int64_t *codes, int64_t n, int64_t k, int64_t *order, int64_t *starts, int64_t *stops) {
    std::fill_n(stops, k, 0);
    for (int64_t i = 0; i < n; ++i)
        if (codes[i] >= 0 && codes[i] < k) ++stops[codes[i]];
    int64_t total = 0;
    for (int64_t c = 0; c < k; ++c) {
        starts[c] = total;
        total += stops[c];
        stops[c] = starts[c];
    }
    for (int64_t i = 0; i < n; ++i)
        if (codes[i] >= 0 && codes[i] < k) order[stops[codes[i]]++] = i;
}

// x − pivot of the named rows, transposed, into r (d, stride); rows that lie apart are brought together first.
template <class T>
void centre_rows(const T *x, int64_t d, const int64_t *rows, int64_t count, const double *pivot, double *r,
                 int64_t stride, double *tile) {
    if (rows[count - 1] - rows[0] == count - 1) {
        transpose(x + rows[0] * d, count, d, pivot, r, stride);
        return;
    }
    for (int64_t begin = 0; begin < count; begin += TILE) {
        const int64_t size = std::min(TILE, count - begin);
        for (int64_t i = 0; i < size; ++i)
            for (int64_t j = 0; j < d; ++j) tile[i * d + j] = double(x[rows[begin + i] * d + j]);
        transpose(tile, size, d, pivot, r + begin, stride);
    }
}

// Σ w r of each column into first (d,), then √w r into r; `root` has √w of the rows, or is null.
void weigh(double *r, int64_t stride, int64_t d, int64_t count, const double *root, double *first) {
    for (int64_t j = 0; j < d; ++j) {
        double *column = r + j * stride, sum = 0;
        if (root) {
#pragma omp simd reduction(+ : sum)
            for (int64_t i = 0; i < count; ++i) {
                column[i] *= root[i];
                sum += root[i] * column[i];
            }
        } else {
#pragma omp simd reduction(+ : sum)
            for (int64_t i = 0; i < count; ++i) sum += column[i];
        }
        first[j] = sum;
    }
}

// Add r rᵀ over the first `count` rows to what lies on and below the diagonal of squares (size, size).
// r (size + 2, stride) has zeros in the columns that complete the tiles; the rows that complete a vector become so here.
void add_products(double *r, int64_t stride, int64_t count, double *squares, int64_t size) {
    const int64_t whole = round_up(count, LANES);
    for (int64_t i = 0; i < size + 2; ++i) std::fill(r + i * stride + count, r + i * stride + whole, 0.0);
    for (int64_t i = 0; i < size; i += 4)
        for (int64_t j = 0; j < i + 4; j += 3) {
            double sums[4][3] = {};
            multiply_tile(r + i * stride, stride, r + j * stride, stride, whole, sums);
            for (int64_t row = 0; row < 4; ++row)
                for (int64_t column = 0; column < std::min<int64_t>(3, size - j); ++column)
                    squares[(i + row) * size + j + column] += sums[row][column];
        }
}

// Chan, Golub and LeVeque: rows whose products about the pivot (d,) are in the squares already join the mean.
void merge(double more, const double *pivot, const double *first, int64_t d, double &weight, double *centre,
           double *shift, double *squares, int64_t size, double *apart) {
    const double share = more / (weight + more);
    for (int64_t j = 0; j < d; ++j) {
        if (weight == 0) centre[j] = pivot[j];
        apart[j] = (pivot[j] - centre[j]) + (first[j] / more - shift[j]);
        shift[j] += share * apart[j];
    }
    for (int64_t i = 0; i < d; ++i)
        for (int64_t j = 0; j <= i; ++j)
            squares[i * size + j] += weight * share * apart[i] * apart[j] - first[i] * (first[j] / more);
    weight += more;
}

// Weight (k,), centre and shift (k, d), squares (k, size, size) on and below the diagonal, size ≥ d a multiple of 4.
// w is (n, columns) with a column for each component, or one for all; codes say the component of each row.
template <class T>
void scatter(const T *x, int64_t n, int64_t d, const double *w, int64_t columns, const int64_t *codes, int64_t k,
             double *weight, double *centre, double *shift, double *squares, int64_t size) {
    const int64_t rows = std::min(n, codes ? std::max<int64_t>(512, 64 * k) : 512);
    const int64_t stride = round_up(rows, 8) + 8;
    Buffer<int64_t> order(rows), starts(k), stops(k);
    Buffer<double> r((size + 2) * stride), first(d), pivot(d), apart(d), tile(TILE * d), root(rows);
    for (int64_t i = 0; i < rows; ++i) order[i] = i;
    for (int64_t begin = 0; begin < n; begin += rows) {
        const int64_t count = std::min(rows, n - begin);
        const T *block = x + begin * d;
        if (codes) group(codes + begin, count, k, order, starts, stops);
        for (int64_t c = 0; c < k; ++c) {
            const int64_t *mine = order + (codes ? starts[c] : 0), size_of = codes ? stops[c] - starts[c] : count;
            const double *u = w ? w + begin * columns + std::min(c, columns - 1) : nullptr;
            double more = double(size_of), most = 0;
            int64_t heaviest = size_of ? mine[0] : 0;
            if (u) {
                more = 0;
                for (int64_t i = 0; i < size_of; ++i) {
                    const double v = u[mine[i] * columns];
                    more += v;
                    root[i] = std::sqrt(v);
                    if (v > most) {
                        most = v;
                        heaviest = mine[i];
                    }
                }
            }
            if (more == 0) continue;
            const bool settled = weight[c] * FAIR >= more;
            for (int64_t j = 0; j < d; ++j)
                pivot[j] = settled ? centre[c * d + j] + shift[c * d + j] : double(block[heaviest * d + j]);
            for (int pass = settled ? 1 : 0; pass < 2; ++pass) {  // the first finds the mean of the block
                centre_rows(block, d, mine, size_of, pivot, r, stride, tile);
                weigh(r, stride, d, size_of, u ? root.get() : nullptr, first);
                for (int64_t j = 0; j < d && pass == 0; ++j) pivot[j] += first[j] / more;
            }
            double *own = squares + c * size * size;
            add_products(r, stride, size_of, own, size);
            merge(more, pivot, first, d, weight[c], centre + c * d, shift + c * d, own, size, apart);
        }
    }
}

// √w (x − pivot of the row's component), transposed, into r (d, stride), and Σ w (x − pivot) of each into first (k, d).
template <class T>
void centre_owned(const T *x, int64_t n, int64_t d, const double *w, const int64_t *codes, int64_t k,
                  const double *pivot, double *first, double *r, int64_t stride, double *tile) {
    std::fill_n(first, k * d, 0.0);
    for (int64_t begin = 0; begin < n; begin += TILE) {
        const int64_t size = std::min(TILE, n - begin);
        for (int64_t i = 0; i < size; ++i) {
            const int64_t c = codes[begin + i];
            const double held = w ? w[begin + i] : 1.0, root = std::sqrt(held);
            double *row = tile + i * d;
            if (c < 0 || c >= k || held == 0) {
                std::fill_n(row, d, 0.0);
                continue;
            }
            const double *p = pivot + c * d;
            double *__restrict sums = first + c * d;
            for (int64_t j = 0; j < d; ++j) {
                const double away = double(x[(begin + i) * d + j]) - p[j];
                sums[j] += held * away;
                row[j] = root * away;
            }
        }
        transpose(tile, size, d, nullptr, r + begin, stride);
    }
}

// The same with one squares (size, size) for all components: rows need not be grouped.
template <class T>
void shared_scatter(const T *x, int64_t n, int64_t d, const double *w, const int64_t *codes, int64_t k, double *weight,
                    double *centre, double *shift, double *squares, int64_t size) {
    const int64_t rows = std::min(n, std::max<int64_t>(512, 8 * k)), stride = round_up(rows, 8) + 8;
    Buffer<double> r((size + 2) * stride), total(k), pivot(k * d), first(k * d), tile(TILE * d), apart(d);
    for (int64_t begin = 0; begin < n; begin += rows) {
        const int64_t count = std::min(rows, n - begin);
        const T *block = x + begin * d;
        const double *u = w ? w + begin : nullptr;
        const int64_t *owner = codes + begin;
        total.fill(0);
        for (int64_t i = 0; i < count; ++i) {  // the first row that counts is where a component's mean is sought
            const int64_t c = owner[i];
            const double held = u ? u[i] : 1.0;
            if (c < 0 || c >= k || !(held > 0)) continue;
            for (int64_t j = 0; j < d && total[c] == 0; ++j) pivot[c * d + j] = double(block[i * d + j]);
            total[c] += held;
        }
        bool settled = true;
        for (int64_t c = 0; c < k; ++c) settled = settled && weight[c] * FAIR >= total[c];
        if (!settled) centre_owned(block, count, d, u, owner, k, pivot, first, r, stride, tile);
        for (int64_t c = 0; c < k; ++c)
            for (int64_t at = c * d; at < (c + 1) * d; ++at)
                if (weight[c] * FAIR >= total[c])
                    pivot[at] = centre[at] + shift[at];
                else
                    pivot[at] += first[at] / total[c];
        centre_owned(block, count, d, u, owner, k, pivot, first, r, stride, tile);
        add_products(r, stride, count, squares, size);
        for (int64_t c = 0; c < k; ++c)
            if (total[c] > 0)
                merge(total[c], pivot + c * d, first + c * d, d, weight[c], centre + c * d, shift + c * d, squares, size,
                      apart);
    }
}

}  // namespace

KERNEL_REAL(scatter)
KERNEL_REAL(shared_scatter)

}  // namespace suffice
