// Hidden Markov chains of a few states, over as many sequences at once as a vector has lanes.
//
// The recursions of one sequence wait for each other; those of several do not, and a lane does the same whatever the
// others hold, so an answer does not depend on which sequences share a vector. Sequences that are shorter than the
// longest of their batch go on with rows that tell nothing, which are counted nowhere.
#pragma once

#include "markov.h"

#include <utility>

namespace suffice {
namespace {

constexpr double SMALL = 1e-150;          // a sum below it is not trusted
constexpr double LARGE = 1e250;           // a backward message above it would have needed what faded
constexpr int MOST_STATES = 10;           // of a chain that is worked on in lanes: more fill vectors of their own
constexpr int64_t MOST_CELLS = 1 << 14;   // rows × states of a sequence in a lane: more would leave the cache
constexpr int64_t STRETCH = 16;           // rows whose moves are added up at a time: whole vectors of each sequence

using Mask = Vec<int64_t>;

inline bool any(Mask mask) {
    int64_t found = 0;
    for (int i = 0; i < LANES; ++i) found |= mask[i];
    return found != 0;
}

// -- a square of LANES × LANES cells on its other side -----------------------------------------------------------------

template <int H, int... X> inline void swap_halves(V &a, V &b, std::integer_sequence<int, X...>) {
    const V low = __builtin_shufflevector(a, b, ((X & H) ? LANES + X - H : X)...);
    b = __builtin_shufflevector(a, b, ((X & H) ? LANES + X : X + H)...);
    a = low;
}
template <int H> inline void transpose_by(V (&square)[LANES]) {
    for (int i = 0; i < LANES; ++i)
        if (!(i & H)) swap_halves<H>(square[i], square[i + H], std::make_integer_sequence<int, LANES>());
    if constexpr (H > 1) transpose_by<H / 2>(square);
}
inline void transpose(V (&square)[LANES]) { transpose_by<LANES / 2>(square); }

// -- a batch -----------------------------------------------------------------------------------------------------------

// Sequences of a batch: which they are, where their rows begin, and how many they have; no rows where a lane is free.
struct Batch {
    int64_t which[LANES] = {}, begin[LANES] = {}, rows[LANES] = {}, longest = 0;
    Mask length{};

    Batch(const int64_t *order, int64_t count, const int64_t *ends) {
        for (int64_t lane = 0; lane < count; ++lane) {
            which[lane] = order[lane];
            begin[lane] = ends[order[lane]];
            length[lane] = rows[lane] = ends[order[lane] + 1] - begin[lane];
            longest = std::max(longest, rows[lane]);
        }
    }
};

// Cells [from, to) of each sequence beside those of the others: (to − from, LANES), and 0 behind the ends. `from` is a
// multiple of LANES.
inline void read_lanes(const Batch &batch, const double *cells, int64_t k, int64_t from, int64_t to, double *out) {
    for (int64_t c = from; c < to; c += LANES) {
        V square[LANES];
        for (int lane = 0; lane < LANES; ++lane) {
            const int64_t left = batch.rows[lane] * k - c;
            const double *own = cells + batch.begin[lane] * k + c;
            square[lane] = left >= LANES ? load(own) : left > 0 ? load_part(own, left) : V{};
        }
        transpose(square);
        for (int i = 0; i < LANES; ++i) store(out + (c - from + i) * LANES, square[i]);
    }
}

// The opposite; what lies behind the ends is left out.
inline void write_lanes(const Batch &batch, const double *held, int64_t k, int64_t from, int64_t to, double *out) {
    for (int64_t c = from; c < to; c += LANES) {
        V square[LANES];
        for (int i = 0; i < LANES; ++i) square[i] = load(held + (c - from + i) * LANES);
        transpose(square);
        for (int lane = 0; lane < LANES; ++lane) {
            const int64_t left = batch.rows[lane] * k - c;
            double *own = out + batch.begin[lane] * k + c;
            if (left >= LANES)
                store(own, square[lane]);
            else if (left > 0)
                store_part(own, square[lane], left);
        }
    }
}

// What is kept of the rows of a batch, each cell of them a vector: scores and then emissions over the sum of their row,
// the filter, and responsibilities of a stretch.
struct Lanes {
    Buffer<double> emissions, states, shares;
    V log_likelihood{};
    Mask trusted{}, faded{};

    Lanes(int64_t rows, int64_t k)
        : emissions(round_up(rows, STRETCH) * k * LANES), states(round_up(rows, STRETCH) * k * LANES),
          shares(STRETCH * k * LANES) {}
};

// The filter, where it is to be kept. `faded` tells where a state is almost ruled out, which may matter later.
template <int K, bool KEEP> void forward_lanes(const Batch &batch, const double *scores, Chain &chain, Lanes &s) {
    const int64_t wide = chain.wide;
    const double *moves = chain.from.get();
    V state[K], logs{}, product = fill(1.0);
    s.trusted = batch.length > 0;
    s.faded = Mask{};
    for (int64_t begin = 0; begin < batch.longest; begin += STRETCH) {
        double *cells = KEEP ? s.emissions.get() + begin * K * LANES : s.emissions.get();
        double *kept = s.states.get() + begin * K * LANES;
        read_lanes(batch, scores, K, begin * K, (begin + STRETCH) * K, cells);
        for (int64_t t = begin; t < std::min(begin + STRETCH, batch.longest); ++t, cells += K * LANES, kept += K * LANES) {
            V emission[K], held[K], sum{};
            for (int j = 0; j < K; ++j) emission[j] = load(cells + j * LANES);
            V top = emission[0];
            for (int j = 1; j < K; ++j) top = emission[j] > top ? emission[j] : top;
            logs += top;
            for (int j = 0; j < K; ++j) {
                const V score = emission[j];
                emission[j] = exp(score - top);
                if (!chain.dense) s.faded |= (emission[j] == 0.0) & (score > -INF);
            }
            if (t == 0) {
                for (int j = 0; j < K; ++j) held[j] = fill(chain.initial.get()[j]);
            } else {
                for (int j = 0; j < K; ++j) held[j] = state[0] * moves[j];
                for (int i = 1; i < K; ++i)
                    for (int j = 0; j < K; ++j) held[j] += state[i] * moves[i * wide + j];
            }
            for (int j = 0; j < K; ++j) {
                held[j] *= emission[j];
                sum += held[j];
            }
            const Mask active = batch.length > t;
            const V inverse = 1.0 / sum;
            s.trusted &= ~active | (sum > SMALL);
            product *= active ? sum : fill(1.0);
            for (int j = 0; j < K; ++j) {
                state[j] = held[j] * inverse;
                if (KEEP) {
                    store(kept + j * LANES, state[j]);
                    store(cells + j * LANES, emission[j] * inverse);
                }
                if (!chain.dense) s.faded |= active & (state[j] > 0.0) & (state[j] < 1 / LARGE);
            }
            if (t & 1) {  // two sums that are trusted are above the least number
                logs += log(product);
                product = fill(1.0);
            }
        }
    }
    s.log_likelihood = logs + log(product);
    s.trusted &= (s.log_likelihood - s.log_likelihood) == 0.0;
}

// sums (K, K) += Σ_t a_t b_tᵀ of rows (n, K).
template <int K> void add_lane_products(const double *a, const double *b, int64_t n, V *sums) {
    for (int i = 0; i < K; ++i) {
        V held[K];
        for (int j = 0; j < K; ++j) held[j] = sums[i * K + j];
        for (int64_t t = 0; t < n; ++t) {
            const V left = load(a + (t * K + i) * LANES);
            for (int j = 0; j < K; ++j) held[j] += left * load(b + (t * K + j) * LANES);
        }
        for (int j = 0; j < K; ++j) sums[i * K + j] = held[j];
    }
}

// Σ responsibility × score of the cells of a sequence.
inline double emitted_by(const double *responsibilities, const double *scores, int64_t cells) {
    V sum{};
    for (int64_t c = 0; c < cells; c += LANES) {
        const int64_t left = cells - c;
        const V held = left >= LANES ? load(responsibilities + c) : load_part(responsibilities + c, left);
        const V score = left >= LANES ? load(scores + c) : load_part(scores + c, left);
        sum += held != 0.0 ? held * score : V{};
    }
    return total(sum);
}

// The smoother of a batch after its filter. Sequences that cannot be trusted add nothing.
template <int K>
void backward_lanes(const Batch &batch, const double *scores, Chain &chain, Lanes &s, const double *weights,
                    const double *after, double *out, double *head, Sums &sums) {
    const int64_t wide = chain.wide;
    const double *moves = chain.from.get();
    V message[K], start[K], share[K], follows[K], own[K * K] = {}, largest{}, weight = fill(1.0);
    for (int j = 0; j < K; ++j) {
        start[j] = fill(after ? after[j] : 1.0);
        message[j] = share[j] = follows[j] = V{};
    }
    for (int lane = 0; lane < LANES; ++lane) {
        if (weights) weight[lane] = weights[batch.which[lane]];
        if (!after || batch.rows[lane] == 0) continue;
        double scale = 0;
        for (int j = 0; j < K; ++j) scale += s.states[((batch.rows[lane] - 1) * K + j) * LANES + lane] * after[j];
        s.trusted[lane] = s.trusted[lane] & -int64_t(scale > SMALL);
        s.log_likelihood[lane] += std::log(scale);
        for (int j = 0; j < K; ++j) start[j][lane] /= scale;
    }
    for (int64_t begin = (batch.longest - 1) / STRETCH * STRETCH; begin >= 0; begin -= STRETCH) {
        const int64_t rows = std::min(STRETCH, batch.longest - begin);
        double *emissions = s.emissions.get() + begin * K * LANES, *states = s.states.get() + begin * K * LANES;
        for (int64_t t = rows - 1; t >= 0; --t) {
            const Mask last = batch.length == begin + t + 1, active = batch.length > begin + t;
            for (int j = 0; j < K; ++j) {
                message[j] = last ? start[j] : message[j];
                share[j] = weight * (load(states + (t * K + j) * LANES) * message[j]);
                follows[j] = active ? load(emissions + (t * K + j) * LANES) * message[j] : V{};
                store(s.shares.get() + (t * K + j) * LANES, share[j]);
                store(emissions + (t * K + j) * LANES, follows[j]);
            }
            if (begin + t == 0) break;
            for (int i = 0; i < K; ++i) {
                message[i] = follows[0] * moves[i * wide];
                for (int j = 1; j < K; ++j) message[i] += follows[j] * moves[i * wide + j];
                if (!chain.dense) largest = message[i] > largest ? message[i] : largest;
            }
        }
        write_lanes(batch, s.shares, K, begin * K, (begin + STRETCH) * K, out);
        const int64_t from = begin ? 0 : 1;  // the first row of all comes after none
        add_lane_products<K>(states + (from - 1) * K * LANES, emissions + from * K * LANES, rows - from, own);
    }
    if (!chain.dense) s.trusted &= largest < LARGE;
    for (int lane = 0; lane < LANES; ++lane) {
        if (!s.trusted[lane]) continue;
        const int64_t place = batch.begin[lane] * K;
        const double emitted = emitted_by(out + place, scores + place, batch.rows[lane] * K);
        if (is_finite(emitted))
            *sums.emitted += emitted;
        else
            s.trusted[lane] = 0;
    }
    for (int j = 0; j < K; ++j) {
        sums.first[j] += total(s.trusted ? share[j] : V{});
        for (int lane = 0; lane < LANES; ++lane)
            if (s.trusted[lane]) head[batch.which[lane] * K + j] = follows[j][lane];
        for (int i = 0; i < K; ++i) sums.products[i * wide + j] += total(s.trusted ? weight * own[i * K + j] : V{});
    }
}

// The filter (n, k) of a batch, or its log-likelihoods alone.
template <int K> void filter_lanes(const Batch &batch, const double *scores, Chain &chain, Lanes &s, double *out) {
    if (!out) return forward_lanes<K, false>(batch, scores, chain, s);
    forward_lanes<K, true>(batch, scores, chain, s);
    write_lanes(batch, s.states, K, 0, round_up(batch.longest, STRETCH) * K, out);
}

template <int K>
void smooth_lanes(const Batch &batch, const double *scores, Chain &chain, Lanes &s, const double *weights,
                  const double *after, double *out, double *head, Sums &sums) {
    forward_lanes<K, true>(batch, scores, chain, s);
    backward_lanes<K>(batch, scores, chain, s, weights, after, out, head, sums);
}

// The sequences that lanes are for, the longest first, so that those of a batch end together.
struct Lined {
    Buffer<int64_t> order;
    int64_t count = 0, longest = 0;

    Lined(const int64_t *ends, int64_t m, int64_t k) : order(m) {
        for (int64_t i = 0; i < m; ++i)
            if (fits(ends[i + 1] - ends[i], k)) order[count++] = i;
        const auto rows = [ends](int64_t i) { return ends[i + 1] - ends[i]; };
        std::stable_sort(order.get(), order.get() + count, [&](int64_t a, int64_t b) { return rows(a) > rows(b); });
        if (count) longest = rows(order[0]);
    }
    static bool fits(int64_t rows, int64_t k) { return rows > 0 && k <= MOST_STATES && rows * k <= MOST_CELLS; }
    template <class F> void each_batch(const int64_t *ends, F work) {
        for (int64_t i = 0; i < count; i += LANES)
            work(Batch(order + i, std::min<int64_t>(LANES, count - i), ends));
    }
};

// Call f<k>, k up to MOST_STATES.
#define BY_STATES(k, f, ...)                                                                                           \
    do switch (k) {                                                                                                    \
        case 1: f<1>(__VA_ARGS__); break;                                                                              \
        case 2: f<2>(__VA_ARGS__); break;                                                                              \
        case 3: f<3>(__VA_ARGS__); break;                                                                              \
        case 4: f<4>(__VA_ARGS__); break;                                                                              \
        case 5: f<5>(__VA_ARGS__); break;                                                                              \
        case 6: f<6>(__VA_ARGS__); break;                                                                              \
        case 7: f<7>(__VA_ARGS__); break;                                                                              \
        case 8: f<8>(__VA_ARGS__); break;                                                                              \
        case 9: f<9>(__VA_ARGS__); break;                                                                              \
        default: f<10>(__VA_ARGS__);                                                                                   \
    } while (false)

}  // namespace
}  // namespace suffice
