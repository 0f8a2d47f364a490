// One pass of EM over Gaussian components of many columns.
//
// The products of columns would not stay in the cache: each component whitens a block of rows (1, y), and weighs it. A
// share that is nothing beside the largest of its row need not be computed.
#include "triangle.h"

namespace suffice {
namespace {

constexpr double CUT = 45;          // below the largest logit of a row: a share of 3e-20, which no sum of doubles sees
constexpr int64_t GUESS = 2 * TILE;  // rows of a factor that guess the best component of a row
constexpr int64_t PAUSE = 15;       // blocks of overlapping components in which nothing is cut

// The components, and a block of rows.
struct Pass {
    int64_t k, d, block;
    const double *constant;  // (k,)
    const double *own;       // log-weights (·, k) of the rows of the block, or null
    int64_t width = d + 1, stride = block + 8, size = factor_size(d, 1);
    Buffer<double> factors{k * size}, lines{k * stride}, towards;
    Buffer<double> y{width * block}, z{width * block}, w{block}, logits{k * stride};
    Buffer<double> part{round_up(width, TILE) * stride}, found{stride}, least{block}, top{block};
    Buffer<int64_t> chosen{block + 1}, best{block};

    double own_of(int64_t i, int64_t j) { return own && w[i] != 0 ? own[i * k + j] : 0.0; }

    // Write the chosen rows of y side by side into z, by panels; zeros complete the last.
    void pack(int64_t count) {
        for (int64_t t = 0; t < round_up(count, ROWS); ++t) {
            double *to = z + t / ROWS * ROWS * width + t % ROWS;
            const double *from = t < count ? y + chosen[t] / ROWS * ROWS * width + chosen[t] % ROWS : nullptr;
            for (int64_t j = 0; j < width; ++j) to[j * ROWS] = from ? from[j * ROWS] : 0.0;
        }
    }

    // Write the logits of a component in the chosen rows.
    void complete(int64_t j, int64_t count) {
        pack(count);
        for (int64_t t = 0; t < count; t += ROWS)
            write_distances(z + t * width, d, 1, factors + j * size, constant[j], found + t);
        for (int64_t t = 0; t < count; ++t) logits[j * stride + chosen[t]] = found[t] + own_of(chosen[t], j);
    }

    // Write the component of each row that is best by a few rows of the factors; these logits bound the whole ones.
    void guess(int64_t rows) {
        for (int64_t j = 0; j < k; ++j)
            for (int64_t t = 0; t < rows; t += ROWS)
                write_distances(y + t * width, GUESS, 1, factors + j * size, constant[j], logits + j * stride + t);
        std::fill_n(top.get(), rows, -INF);
        for (int64_t j = 0; j < k; ++j) {
            double *row = logits + j * stride;
            for (int64_t i = 0; i < rows; ++i) {
                row[i] += own_of(i, j);
                const bool better = !(row[i] <= top[i]);
                top[i] = better ? row[i] : top[i];
                best[i] = better ? j : best[i];
            }
        }
    }

    // Write −inf where constant − ½ line², which bounds the logit of component j in a chosen row, is less than needed.
    void rule_out(int64_t j, int64_t count) {
        for (int64_t t = 0; t < count; ++t) {
            const int64_t i = chosen[t];
            const double line = lines[j * stride + t], bound = constant[j] - 0.5 * line * line + own_of(i, j);
            if (bound < least[i]) logits[j * stride + i] = -INF;
        }
    }

    // Logits of all components in a block, −inf where they are CUT below the largest; how many besides the largest.
    //
    // The best of a row is guessed, and its logit completed. Then no other component is nearer to the row than along
    // one line, towards the guess, which rules most of them out. Those that could come near the best are completed too.
    int64_t select(int64_t rows) {
        guess(rows);
        for (int64_t j = 0; j < k; ++j) {
            int64_t count = 0;
            for (int64_t i = 0; i < rows; ++i) {
                chosen[count] = i;
                count += best[i] == j;
            }
            complete(j, count);
            write_logits(z, round_up(count, ROWS), width, width, nullptr, towards + j * round_up(k, TILE) * width, k,
                         lines, stride);
            for (int64_t t = 0; t < count; ++t) least[chosen[t]] = logits[j * stride + chosen[t]] - CUT;
            for (int64_t other = 0; other < k; ++other)
                if (other != j) rule_out(other, count);
        }
        int64_t more = 0;
        for (int64_t j = 0; j < k; ++j) {
            double *row = logits + j * stride;
            int64_t count = 0;
            for (int64_t i = 0; i < rows; ++i) {
                const bool near = !(row[i] < least[i]);
                row[i] = near ? row[i] : -INF;
                chosen[count] = i;
                count += near && best[i] != j;
            }
            complete(j, count);
            more += count;
        }
        return more;
    }

    // Logits of all components in a block.
    void write_all(int64_t rows) {
        for (int64_t j = 0; j < k; ++j)
            for (int64_t t = 0; t < rows; t += ROWS)
                write_distances(y + t * width, d, 1, factors + j * size, constant[j], logits + j * stride + t);
        for (int64_t j = 0; own && j < k; ++j)
            for (int64_t i = 0; i < rows; ++i) logits[j * stride + i] += own_of(i, j);
    }

    // Add the squares of the rows whose share is more than `smallest` of their weight.
    void add(const double *r, double smallest, int64_t rows, double *squares) {
        int64_t count = 0;
        for (int64_t i = 0; i < rows; ++i) {
            chosen[count] = i;
            count += !(r[i] <= smallest * w[i]);
        }
        if (5 * count > 4 * rows) {
            add_squares(y, width, width, r, rows, part, stride, squares);
            return;
        }
        pack(count);
        const int64_t whole = round_up(count, ROWS);
        for (int64_t t = 0; t < whole; ++t) found[t] = t < count ? r[chosen[t]] : 0.0;
        add_squares(z, width, width, found, whole, part, stride, squares);
    }
};

// Add log-likelihood and entropy (2,), and sums (k, d + 1, d + 1) of (1, y) (1, y)ᵀ, under factors (k, d, d + 1) that whiten
// (1, y) and constants (k,). With `cut` a share that is nothing beside the largest of its row is not computed, or at
// least not added: lines `towards` (k, k, d + 1), from each component to each, tell which; where components overlap
// they are left alone for a while.
template <class T>
void wide_gaussian(const T *x, int64_t n, int64_t d, const double *weights, const double *log_weights,
                   const double *centre, const double *scale, const double *factor, const double *constant,
                   const double *towards, int64_t cut, int64_t k, int64_t block, double *sums, double *score) {
    const int64_t padded = round_up(k, TILE) * (d + 1), tall = round_up(d + 1, TILE) * (d + 1);
    Pass pass{.k = k, .d = d, .block = block, .constant = constant, .own = nullptr,
              .towards = Buffer<double>(towards ? k * padded : 0)};
    for (int64_t j = 0; j < k; ++j) {
        write_factor(factor + j * d * (d + 1), d, 1, pass.factors + j * pass.size);
        if (towards) write_tiles(towards + j * k * (d + 1), k, d + 1, pass.towards + j * padded);
    }
    Buffer<double> squares(k * tall);
    write_ones(block, pass.y, d + 1, 0);
    const double smallest = cut ? std::exp(-CUT) : 0.0;
    int64_t pause = 0;
    Softmax all{};
    for (int64_t begin = 0; begin < n; begin += block) {
        const int64_t count = std::min(block, n - begin), rows = round_up(count, ROWS);
        const double *own = weights ? weights + begin : nullptr;
        write_rows(x + begin * d, count, d, centre, scale, pass.y, d + 1, 1);
        clear_weightless(own, count, pass.y, d, d + 1, 1);
        for (int64_t i = 0; i < rows; ++i) pass.w[i] = i >= count ? 0.0 : own ? own[i] : 1.0;
        pass.own = log_weights ? log_weights + begin * k : nullptr;
        if (cut && towards && pause == 0) {
            pause = 2 * pass.select(rows) > rows * (k - 1) ? PAUSE : 0;
        } else {
            pause = std::max<int64_t>(pause - 1, 0);
            pass.write_all(rows);
        }
        all += share(pass.logits, pass.stride, k, count, own);
        for (int64_t j = 0; j < k; ++j)
            pass.add(pass.logits + j * pass.stride, smallest, rows, squares + j * tall);
    }
    for (int64_t j = 0; j < k; ++j) add_from_squares(squares + j * tall, d + 1, sums + j * (d + 1) * (d + 1));
    add_score(all, score);
}

}  // namespace

KERNEL_REAL(wide_gaussian)

}  // namespace suffice
