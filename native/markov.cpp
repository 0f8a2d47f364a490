// Hidden Markov chains: forward-backward, filter and the best path, over sequences of scores log p(row | state).
//
// In scaled linear space: the emissions of a row are divided by the largest, and what is known of its state sums to 1.
// Where that loses something a sequence is done again in log space. It loses nothing that could matter while every
// sum is far from the least number, and either all states can follow each other (then what is alive gives every state
// far more than what faded), or nothing that faded would have explained the rest of the rows (the backward messages
// are bounded: they are the likelihood of the rest given a state, beside that given the rows so far).
#include "markov_lanes.h"

namespace suffice {
namespace {

constexpr int64_t BLOCK = 256;     // rows whose moves are added up at a time
constexpr int MOST = 1024 / LANES; // vectors of states

// What is kept of the rows of one sequence while it is worked on. Its emissions are made again for every pass over a
// block of rows, which takes less time than memory for all of them would; what the filter finds stands in the answer.
struct Scratch {
    Buffer<double> emissions, states, sums;  // (BLOCK, wide) twice, and the inverse of each row's sum (n,)
    bool faded = false;
    double log_likelihood = 0;

    Scratch(int64_t n, int64_t wide) : emissions(BLOCK * wide), states((BLOCK + 1) * wide), sums(n) {}
};

// Σ_i v_i row_i of a matrix (k, wide), M vectors wide; M = 0 where that is known only now. Even and odd rows are added
// apart: one sum would wait for itself.
template <int M> inline void multiply(const double *v, const double *matrix, int64_t k, int64_t wide, V *out) {
    const int count = M ? M : int(wide / LANES);
    V odd[M ? M : MOST];
    for (int m = 0; m < count; ++m) {
        out[m] = v[0] * load(matrix + m * LANES);
        odd[m] = V{};
    }
    int64_t i = 1;
    for (; i + 1 < k; i += 2)
        for (int m = 0; m < count; ++m) {
            odd[m] += v[i] * load(matrix + i * wide + m * LANES);
            out[m] += v[i + 1] * load(matrix + (i + 1) * wide + m * LANES);
        }
    for (int m = 0; m < count; ++m) {
        if (i < k) odd[m] += v[i] * load(matrix + i * wide + m * LANES);
        out[m] += odd[m];
    }
}

// The largest lane.
inline double largest_of(V v) {
    double found = v[0];
    for (int i = 1; i < LANES; ++i) found = v[i] > found ? v[i] : found;
    return found;
}

// Emissions (n, wide) of a block of rows relative to the largest of each row, whose logarithms are added to `logs`;
// false where a row has none.
template <int M> bool lift(const double *scores, int64_t n, Chain &chain, Scratch &s, double &logs) {
    const int64_t k = chain.k, wide = chain.wide;
    const int count = M ? M : int(wide / LANES);
    for (int64_t t = 0; t < n; ++t) {
        const double *row = scores + t * k;
        double *out = s.emissions + t * wide;
        V held[M ? M : MOST], highest = fill(-INF);
        for (int m = 0; m < count; ++m) {
            if (k % LANES == 0) {
                held[m] = load(row + m * LANES);
            } else {
                held[m] = fill(-INF);
                for (int i = 0; i < LANES && m * LANES + i < k; ++i) held[m][i] = row[m * LANES + i];
            }
            highest = held[m] > highest ? held[m] : highest;
        }
        const double top = largest_of(highest);
        if (top == -INF) return false;
        logs += top;
        for (int m = 0; m < count; ++m) store(out + m * LANES, exp(held[m] - top));
        for (int64_t j = 0; j < k && !chain.dense; ++j) s.faded = s.faded || (out[j] == 0 && row[j] > -INF);
    }
    return true;
}

template <int M> inline V part(const double *row, int m, int64_t k) {
    return k % LANES == 0 ? load(row + m * LANES) : load_part(row + m * LANES, k - m * LANES);
}
inline void keep(double *row, int m, int64_t k, V held) {
    if (k % LANES == 0)
        store(row + m * LANES, held);
    else
        store_part(row + m * LANES, held, k - m * LANES);
}

// The filter (n, k), kept where there is a place for it; false where it cannot be trusted, or a row cannot be.
template <int M> bool forward(const double *scores, int64_t n, Chain &chain, Scratch &s, double *states) {
    const int64_t k = chain.k, wide = chain.wide;
    const int count = M ? M : int(wide / LANES);
    double product = 1, logs = 0;
    V held[M ? M : MOST];
    double *kept = s.states;  // of the row before
    s.faded = false;
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        const int64_t rows = std::min(BLOCK, n - begin);
        if (!lift<M>(scores + begin * k, rows, chain, s, logs)) return false;
        for (int64_t t = begin; t < begin + rows; ++t) {
            if (t == 0)
                for (int m = 0; m < count; ++m) held[m] = load(chain.initial.get() + m * LANES);
            else
                multiply<M>(kept, chain.from.get(), k, wide, held);
            V whole{};
            for (int m = 0; m < count; ++m) {
                held[m] *= load(s.emissions + (t - begin) * wide + m * LANES);
                whole += held[m];
            }
            const double sum = total(whole);
            if (!(sum > SMALL)) return false;
            const double inverse = 1 / sum;
            kept = states ? states + t * k : kept;
            for (int m = 0; m < count; ++m) {
                const V state = held[m] * inverse;
                keep(kept, m, k, state);
                for (int i = 0; i < LANES && !chain.dense; ++i)
                    s.faded = s.faded || (state[i] > 0 && state[i] < 1 / LARGE);
            }
            s.sums[t] = inverse;
            product *= sum;
            if (product < SMALL) {
                logs += std::log(product);
                product = 1;
            }
        }
    }
    s.log_likelihood = logs + std::log(product);
    return is_finite(s.log_likelihood);
}

// sums (k, wide) += Σ_t a_t b_tᵀ of rows (n, wide).
void add_products(const double *a, const double *b, int64_t n, int64_t k, int64_t wide, double *sums) {
    int64_t i = 0;
    for (; i + 4 <= k; i += 4)
        for (int64_t j = 0; j < wide; j += LANES) {
            V held[4];
            for (int r = 0; r < 4; ++r) held[r] = load(sums + (i + r) * wide + j);
            for (int64_t t = 0; t < n; ++t) {
                const V right = load(b + t * wide + j);
                for (int r = 0; r < 4; ++r) held[r] += a[t * wide + i + r] * right;
            }
            for (int r = 0; r < 4; ++r) store(sums + (i + r) * wide + j, held[r]);
        }
    for (; i < k; ++i)
        for (int64_t j = 0; j < wide; j += LANES) {
            V held = load(sums + i * wide + j);
            for (int64_t t = 0; t < n; ++t) held += a[t * wide + i] * load(b + t * wide + j);
            store(sums + i * wide + j, held);
        }
}

// The smoother after the filter, whose place (n, k) it takes, and what responsibilities add up to.
template <int M>
bool backward(const double *scores, int64_t n, Chain &chain, Scratch &s, double weight, const double *after,
              double *out, double *head, Sums &sums) {
    const int64_t k = chain.k, wide = chain.wide;
    const int count = M ? M : int(wide / LANES);
    double *follows = s.emissions, scale = 1, unused = 0;
    V message[M ? M : MOST], largest{}, emitted{};
    if (after) {
        scale = 0;
        for (int64_t j = 0; j < k; ++j) scale += out[(n - 1) * k + j] * after[j];
        if (!(scale > SMALL)) return false;
        s.log_likelihood += std::log(scale);
        scale = 1 / scale;
    }
    for (int m = 0; m < count; ++m)
        message[m] = after ? load_part(after + m * LANES, k - m * LANES) * scale : fill(1.0);
    sums.own.fill(0);
    for (int64_t begin = (n - 1) / BLOCK * BLOCK; begin >= 0; begin -= BLOCK) {
        const int64_t rows = std::min(BLOCK, n - begin);
        lift<M>(scores + begin * k, rows, chain, s, unused);
        double *states = s.states;  // from the row before the block on
        for (int m = 0; m < count; ++m) store(states + m * LANES, begin ? part<M>(out + (begin - 1) * k, m, k) : V{});
        for (int64_t t = rows - 1; t >= 0; --t) {
            double *row = out + (begin + t) * k, *next = follows + t * wide;
            const double factor = s.sums[begin + t], *score = scores + (begin + t) * k;
            for (int m = 0; m < count; ++m) {
                const V state = part<M>(row, m, k), held = weight * (state * message[m]);
                store(states + (t + 1) * wide + m * LANES, state);
                emitted += held != 0.0 ? held * part<M>(score, m, k) : V{};
                keep(row, m, k, held);
                store(next + m * LANES, load(next + m * LANES) * (message[m] * factor));
            }
            if (begin + t == 0) break;
            multiply<M>(next, chain.to.get(), k, wide, message);
            for (int m = 0; m < count; ++m) largest = message[m] > largest ? message[m] : largest;
        }
        const int64_t from = begin ? 0 : 1;  // the first row of all comes after none
        add_products(states + from * wide, follows + from * wide, rows - from, k, wide, sums.own.get());
    }
    for (int i = 0; i < LANES && !chain.dense; ++i)
        if (!(largest[i] < LARGE)) return false;
    if (!is_finite(total(emitted))) return false;
    for (int64_t j = 0; j < k; ++j) {
        sums.first[j] += out[j];
        head[j] = follows[j];
    }
    for (int64_t c = 0; c < k * wide; ++c) sums.products[c] += weight * sums.own[c];
    *sums.emitted += total(emitted);
    return true;
}

// -- sequences ---------------------------------------------------------------------------------------------------------

int64_t longest(const int64_t *ends, int64_t m) {
    int64_t found = 0;
    for (int64_t i = 0; i < m; ++i) found = std::max(found, ends[i + 1] - ends[i]);
    return found;
}

// Call f<M>, M the number of vectors of states, 0 where it is not foreseen.
#define BY_WIDTH(wide, f, ...)                                                                                         \
    ((wide) == LANES       ? f<1>(__VA_ARGS__)                                                                         \
     : (wide) == 2 * LANES ? f<2>(__VA_ARGS__)                                                                         \
     : (wide) == 3 * LANES ? f<3>(__VA_ARGS__)                                                                         \
     : (wide) == 4 * LANES ? f<4>(__VA_ARGS__)                                                                         \
                           : f<0>(__VA_ARGS__))

void forward_backward(const double *scores, int64_t k, const int64_t *ends, int64_t m, const double *initial,
                      const double *transitions, const double *weights, const double *after, double *log_likelihood,
                      double *responsibilities, double *first, double *moves, double *emitted, double *head) {
    Chain chain(initial, transitions, k);
    Sums sums(first, emitted, chain);
    const auto in_logs = [&](int64_t i) {
        log_likelihood[i] = smooth_in_logs(scores + ends[i] * k, ends[i + 1] - ends[i], chain, weights ? weights[i] : 1.0,
                                           after, responsibilities + ends[i] * k, head + i * k, sums);
    };
    Lined lined(ends, m, k);
    Lanes lanes(lined.longest, k);
    lined.each_batch(ends, [&](const Batch &batch) {
        BY_STATES(k, smooth_lanes, batch, scores, chain, lanes, weights, after, responsibilities, head, sums);
        for (int lane = 0; lane < LANES && batch.rows[lane]; ++lane)
            if (lanes.trusted[lane])
                log_likelihood[batch.which[lane]] = lanes.log_likelihood[lane];
            else
                in_logs(batch.which[lane]);
    });
    Scratch scratch(lined.count == m ? 0 : longest(ends, m), chain.wide);
    for (int64_t i = 0; i < m; ++i) {
        const int64_t n = ends[i + 1] - ends[i];
        if (n == 0 || Lined::fits(n, k)) continue;
        const double *own = scores + ends[i] * k, weight = weights ? weights[i] : 1.0;
        double *out = responsibilities + ends[i] * k;
        const bool trusted = BY_WIDTH(chain.wide, forward, own, n, chain, scratch, out) &&
                             BY_WIDTH(chain.wide, backward, own, n, chain, scratch, weight, after, out, head + i * k,
                                      sums);
        if (trusted)
            log_likelihood[i] = scratch.log_likelihood;
        else
            in_logs(i);
    }
    for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < k; ++j) moves[i * k + j] = transitions[i * k + j] * sums.products[i * chain.wide + j];
}

// The filter, or without a place for it the log-likelihoods alone.
void filtered(const double *scores, int64_t k, const int64_t *ends, int64_t m, const double *initial,
              const double *transitions, double *log_likelihood, double *states) {
    Chain chain(initial, transitions, k);
    const auto in_logs = [&](int64_t i) {
        log_likelihood[i] = filter_in_logs(scores + ends[i] * k, ends[i + 1] - ends[i], chain,
                                           states ? states + ends[i] * k : nullptr);
    };
    Lined lined(ends, m, k);
    Lanes lanes(lined.longest, k);
    lined.each_batch(ends, [&](const Batch &batch) {
        BY_STATES(k, filter_lanes, batch, scores, chain, lanes, states);
        for (int lane = 0; lane < LANES && batch.rows[lane]; ++lane)
            if (lanes.trusted[lane] && !lanes.faded[lane])
                log_likelihood[batch.which[lane]] = lanes.log_likelihood[lane];
            else
                in_logs(batch.which[lane]);
    });
    Scratch scratch(lined.count == m ? 0 : longest(ends, m), chain.wide);
    for (int64_t i = 0; i < m; ++i) {
        const int64_t n = ends[i + 1] - ends[i];
        if (n == 0 || Lined::fits(n, k)) continue;
        const bool trusted = BY_WIDTH(chain.wide, forward, scores + ends[i] * k, n, chain, scratch,
                                      states ? states + ends[i] * k : nullptr);
        if (trusted && !scratch.faded)
            log_likelihood[i] = scratch.log_likelihood;
        else
            in_logs(i);
    }
}

template <int M>
void best_path_of(const double *scores, int64_t n, Chain &chain, const double *logs, int16_t *came,
                  double *best, double *log_prob, int64_t *path) {
    const int64_t k = chain.k, wide = chain.wide;
    const int count = M ? M : int(wide / LANES);
    V high[M ? M : MOST];
    Mask who[M ? M : MOST];
    for (int64_t j = 0; j < k; ++j) best[j] = std::log((chain.initial.get() + 0)[j]) + scores[j];
    for (int64_t t = 1; t < n; ++t) {
        for (int m = 0; m < count; ++m) {
            high[m] = best[0] + load(logs + m * LANES);
            who[m] = Mask{};
        }
        for (int64_t i = 1; i < k; ++i)
            for (int m = 0; m < count; ++m) {
                const V reached = best[i] + load(logs + i * wide + m * LANES);
                const V better = reached > high[m] ? reached : high[m];
                who[m] = better == high[m] ? who[m] : Mask{} + i;  // the next maximum need not wait for it
                high[m] = better;
            }
        for (int m = 0; m < count; ++m) {
            const auto from = __builtin_convertvector(who[m], Vec<int16_t>);
            std::memcpy(came + t * wide + m * LANES, &from, sizeof from);
            store(best + m * LANES, high[m] + part<M>(scores + t * k, m, k));
        }
    }
    int64_t state = 0;
    for (int64_t j = 1; j < k; ++j) state = best[j] > best[state] ? j : state;
    *log_prob = best[state];
    for (int64_t t = n - 1; t >= 0; --t) {
        path[t] = *log_prob == -INF ? -1 : state;
        state = came[t * wide + state];
    }
}

void best_path(const double *scores, int64_t k, const int64_t *ends, int64_t m, const double *initial,
               const double *transitions, double *log_prob, int64_t *path) {
    Chain chain(initial, transitions, k);
    Buffer<double> logs(k * chain.wide), best(chain.wide);
    Buffer<int16_t> came(longest(ends, m) * chain.wide);
    for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < chain.wide; ++j)
            logs[i * chain.wide + j] = j < k ? std::log(transitions[i * k + j]) : -INF;
    for (int64_t i = 0; i < m; ++i) {
        const int64_t n = ends[i + 1] - ends[i];
        if (n == 0) continue;
        BY_WIDTH(chain.wide, best_path_of, scores + ends[i] * k, n, chain, logs.get(), came.get(), best.get(),
                 log_prob + i, path + ends[i]);
    }
}

}  // namespace

KERNEL(forward_backward, forward_backward)
KERNEL(filtered, filtered)
KERNEL(best_path, best_path)

}  // namespace suffice
