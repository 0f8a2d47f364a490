// The nearest centre of each row, as k-means wants it.
//
// Few columns: squared distances as they are. More: ½ ‖c‖² − x·c of rows and centres about a pilot; where the two best
// are closer than rounding allows, the row's distances are compared one by one. So the answer is exact whatever the data.
// Rows of two columns and up to eight centres, the usual picture, stay in registers from the first to the last.
#include "block.h"

namespace suffice {
namespace {

constexpr int64_t BLOCK = 240;  // rows; twice as many where there are few columns
constexpr int64_t DIRECT = 4;   // columns up to which distances are as cheap as products, and the pilot is the origin
constexpr int64_t FEW = 16;     // centres up to which a sweep for each is cheaper than one row after the other
constexpr int64_t EIGHT = 8;

V where(Bits<V> mask, V x) { return from_bits<V>(bits(x) & mask); }

int64_t count_of(Bits<V> lanes) {
    int64_t count = 0;
    for (int i = 0; i < LANES; ++i) count += lanes[i];
    return count;
}

// Centres about a pilot (d,) by tiles (k / 4, d, 4), as they are or negative, and ½ ‖c‖² (k,).
struct Centres {
    int64_t k, d;
    const double *at;  // (k, d)
    bool direct = d <= DIRECT;
    Buffer<double> pilot{d}, tiles{round_up(k, TILE) * d}, half{k};
    double farthest = 0;

    void write() {
        for (int64_t i = 0; !direct && i < k * d; ++i) pilot[i % d] += at[i] / double(k);
        for (int64_t i = 0; i < k; ++i) {
            double square = 0;
            for (int64_t j = 0; j < d; ++j) {
                const double c = at[i * d + j] - pilot[j];
                square += c * c;
                tiles[(i / TILE * d + j) * TILE + i % TILE] = direct ? c : -c;
            }
            half[i] = 0.5 * square;
            farthest = std::max(farthest, square);
        }
    }

    // The nearest centre of one row, by its distances; the first of equals.
    template <class T> int64_t compare(const T *row) const {
        double least = INF;
        int64_t code = 0;
        for (int64_t i = 0; i < k; ++i) {
            double distance = 0;
            for (int64_t j = 0; j < d; ++j) {
                const double r = double(row[j]) - at[i * d + j];
                distance += r * r;
            }
            if (distance < least) least = distance, code = i;
        }
        return code;
    }
};

// Squared distance of each row of a block to the nearest centre, and whose it is; the first of equals.
void search_directly(Centres &centres, const double *u, int64_t rows, double *best, double *code) {
    const int64_t d = centres.d;
    for (int64_t t = 0; t < rows; t += ROWS, u += d * ROWS) {
        V least[VECTORS], who[VECTORS] = {};
        for (V &a : least) a = fill(INF);
        each_tile(centres.k, [&](auto size, int64_t j) {
            constexpr int C = decltype(size)::value;
            V square[C][VECTORS] = {};
            const double *tile = centres.tiles + j * d;
            for (int64_t f = 0; f < d; ++f, tile += TILE) {
                const V u0 = load(u + f * ROWS), u1 = load(u + f * ROWS + LANES), u2 = load(u + f * ROWS + 2 * LANES);
#pragma GCC unroll 4
                for (int c = 0; c < C; ++c) {
                    const V z0 = u0 - tile[c], z1 = u1 - tile[c], z2 = u2 - tile[c];
                    square[c][0] += z0 * z0;
                    square[c][1] += z1 * z1;
                    square[c][2] += z2 * z2;
                }
            }
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c)
                for (int v = 0; v < VECTORS; ++v) {
                    const auto less = square[c][v] < least[v];
                    who[v] = less ? fill(double(j + c)) : who[v];
                    least[v] = less ? square[c][v] : least[v];
                }
        });
        for (int v = 0; v < VECTORS; ++v) {
            store(best + t + v * LANES, least[v]);
            store(code + t + v * LANES, who[v]);
        }
    }
}

// Best and second best score of each row, and whose the best is.
void search(Centres &centres, const double *u, int64_t rows, double *best, double *second, double *code) {
    const int64_t d = centres.d;
    for (int64_t t = 0; t < rows; t += ROWS, u += d * ROWS) {
        V least[VECTORS], loser[VECTORS], who[VECTORS] = {};
        for (int v = 0; v < VECTORS; ++v) least[v] = loser[v] = fill(INF);
        each_tile(centres.k, [&](auto size, int64_t j) {
            constexpr int C = decltype(size)::value;
            V score[C][VECTORS];
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c)
                for (int v = 0; v < VECTORS; ++v) score[c][v] = fill(centres.half[j + c]);
            add_panel<C>(u, d, centres.tiles + j * d, score);
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c)
                for (int v = 0; v < VECTORS; ++v) {
                    const auto less = score[c][v] < least[v];
                    const V lost = less ? least[v] : score[c][v];
                    who[v] = less ? fill(double(j + c)) : who[v];
                    least[v] = less ? score[c][v] : least[v];
                    loser[v] = lost < loser[v] ? lost : loser[v];
                }
        });
        for (int v = 0; v < VECTORS; ++v) {
            store(best + t + v * LANES, least[v]);
            store(second + t + v * LANES, loser[v]);
            store(code + t + v * LANES, who[v]);
        }
    }
}

// Compare distances where the best score may be first by rounding alone.
template <class T>
void settle(const Centres &centres, const T *x, const double *u, int64_t count, const double *best,
            const double *second, double *code) {
    const int64_t d = centres.d;
    const double error = 4 * double(d + 8) * 0x1p-52;
    double room[ROWS];
    for (int64_t begin = 0; begin < count; begin += ROWS) {
        std::fill_n(room, ROWS, centres.farthest);
        for (int64_t j = 0; j < d; ++j)
            for (int i = 0; i < ROWS; ++i) {
                const double cell = u[begin * d + j * ROWS + i];
                room[i] += cell * cell;
            }
        for (int64_t i = begin; i < std::min<int64_t>(begin + ROWS, count); ++i)
            if (!(second[i] - best[i] > error * room[i - begin])) code[i] = double(centres.compare(x + i * d));
    }
}

// Add w to the weight and w (x − c) to the total (d,) of a row's centre; ‖x − c‖².
template <class T>
double add_row(const T *__restrict x, const double *__restrict centre, int64_t d, double w, double &weight,
               double *__restrict total) {
    double square = 0;
    weight += w;
#pragma omp simd reduction(+ : square)
    for (int64_t j = 0; j < d; ++j) {
        const double apart = double(x[j]) - centre[j];
        total[j] += w * apart;
        square += apart * apart;
    }
    return square;
}

// Add to sums (k / 4, d + 1, 4) the rows of each centre and Σ (x − middle): a sweep for each four of few centres.
void add_by_fours(const double *u, const double *code, int64_t rows, int64_t d, int64_t k, const double *middle,
                  double *sums) {
    for (int64_t j = 0; j < k; j += TILE, sums += TILE * (d + 1))
        for (int64_t f = 0; f < d; ++f) {
            V held[TILE] = {};
            Bits<V> counted[TILE] = {};
            for (int64_t t = 0; t < rows; t += LANES) {
                const V cell = load(u + t / ROWS * ROWS * d + f * ROWS + t % ROWS) - middle[f], own = load(code + t);
#pragma GCC unroll 4
                for (int c = 0; c < TILE; ++c) {
                    const auto mine = own == double(j + c);
                    held[c] += where(mine, cell);
                    counted[c] -= mine;
                }
            }
            for (int c = 0; f == 0 && c < TILE; ++c) sums[c] += double(count_of(counted[c]));
            add_totals(sums + TILE * (f + 1), held[0], held[1], held[2], held[3]);
        }
}

// The two columns of the next rows, that lie side by side in two vectors.
template <class X> inline void split_pairs(X low, X high, X &a, X &b) {
    if constexpr (sizeof(X) == 8 * sizeof(double)) {
        a = __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14);
        b = __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15);
    } else {
        a = __builtin_shufflevector(low, high, 0, 2, 4, 6);
        b = __builtin_shufflevector(low, high, 1, 3, 5, 7);
    }
}

// As `add_by_fours`, of rows of two columns and up to eight centres, without a search before. Σ ‖x − c‖², or −1 and
// nothing added where it cannot tell: a row that is as near to two centres counts for both.
template <class T>
double add_eight(const T *x, int64_t count, const double *centres, int64_t k, const double *middle, double *sums) {
    V held[2][EIGHT] = {}, all{};
    Bits<V> counted[EIGHT] = {};
    double first[EIGHT], second[EIGHT];
    for (int64_t c = 0; c < EIGHT; ++c) {
        first[c] = c < k ? centres[2 * c] : INF;
        second[c] = c < k ? centres[2 * c + 1] : INF;
    }
    for (int64_t i = 0; i < count; i += LANES) {
        V a, b, square[EIGHT];
        split_pairs(load(x + 2 * i), load(x + 2 * i + LANES), a, b);
        V least = fill(INF);
#pragma GCC unroll 8
        for (int c = 0; c < EIGHT; ++c) {
            const V p = a - first[c], q = b - second[c];
            square[c] = q * q + p * p;
            least = square[c] < least ? square[c] : least;
        }
        all += least;
        a -= middle[0];
        b -= middle[1];
#pragma GCC unroll 8
        for (int c = 0; c < EIGHT; ++c) {
            const auto mine = square[c] == least;
            counted[c] -= mine;
            held[0][c] += where(mine, a);
            held[1][c] += where(mine, b);
        }
    }
    int64_t rows = 0, by_centre[EIGHT];
    for (int64_t c = 0; c < EIGHT; ++c) rows += by_centre[c] = count_of(counted[c]);
    const double value = total(all);
    if (!(value < INF) || rows != count) return -1;
    for (int64_t c = 0; c < k; ++c) {
        double *own = sums + c / TILE * TILE * 3 + c % TILE;
        own[0] += double(by_centre[c]);
        own[TILE] += total(held[0][c]);
        own[2 * TILE] += total(held[1][c]);
    }
    return value;
}

// Add the weight (k,) and Σ w (x − c) (k, d) of each row's nearest centre, and write which (n,); Σ w ‖x − c‖².
template <class T>
double nearest(const T *x, int64_t n, int64_t d, const double *weights, const double *at, int64_t k, double *weight,
               double *sums, int32_t *codes) {
    Centres centres{.k = k, .d = d, .at = at};
    centres.write();
    const bool direct = centres.direct, eight = d == 2 && k <= EIGHT && !weights && !codes;
    const int64_t size = direct ? 2 * BLOCK : BLOCK;
    Buffer<double> u(d * size), code(size), best(size), second(size), fours(round_up(k, TILE) * (d + 1));
    double inertia = 0;
    for (int64_t begin = 0; begin < n; begin += size, x += size * d) {
        const int64_t count = std::min(size, n - begin), rows = round_up(count, ROWS);
        const double *w = weights ? weights + begin : nullptr;
        if (eight && count == size) {
            const double value = add_eight(x, count, at, k, at, fours);
            if (value >= 0) {
                inertia += value;
                continue;
            }
        }
        write_rows(x, count, d, direct ? nullptr : centres.pilot.get(), nullptr, u, d, 0);
        double distances = INF;
        if (direct) {
            search_directly(centres, u, rows, best, code);
            V all{};
            for (int64_t t = 0; t < rows; t += LANES) all += load(best + t);
            distances = total(all);
        } else {
            search(centres, u, rows, best, second, code);
            settle(centres, x, u, count, best, second, code);
        }
        if (count == size && k <= FEW && !w && distances < INF) {
            inertia += distances;
            add_by_fours(u, code, count, d, k, at, fours);
        } else {
            for (int64_t i = 0; i < count; ++i) {
                const int64_t j = int64_t(code[i]);
                const double own = w ? w[i] : 1.0;
                if (!w || own > 0) inertia += own * add_row(x + i * d, at + j * d, d, own, weight[j], sums + j * d);
            }
        }
        for (int64_t i = 0; codes && i < count; ++i) codes[begin + i] = int32_t(code[i]);
    }
    for (int64_t j = 0; j < k; ++j) {
        const double *own = fours + j / TILE * TILE * (d + 1) + j % TILE;
        weight[j] += own[0];
        for (int64_t f = 0; f < d; ++f) sums[j * d + f] += own[TILE * (f + 1)] - own[0] * (at[j * d + f] - at[f]);
    }
    return inertia;
}

}  // namespace

KERNEL_REAL(nearest)

}  // namespace suffice
