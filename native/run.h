// The loop of short runs: EM over sums, with leaps.
#pragma once

#include "vec.h"

namespace suffice {

// At most so many passes, fewer where the log-likelihood changes twice by no more than `tol` of itself.
struct Rule {
    int64_t passes, leaps;
    double tol, unit;
};

enum End : int64_t { LOST, FLAT, OUT_OF_PASSES };

inline double norm(const double *a, int64_t size) {  // of any unit: squares may be more than numbers hold, or less
    double most = 0, sum = 0;
    for (int64_t i = 0; i < size; ++i) most = std::max(most, std::abs(a[i]));
    for (int64_t i = 0; i < size && most > 0; ++i) sum += (a[i] / most) * (a[i] / most);
    return most * std::sqrt(sum);
}

// EM from the parameters of `now`, which become the last. A state has `sums` of so many numbers and a `score`, of
// log-likelihood and entropy. `e_step(state)` fills these under its parameters, and `m_step(sums, state)` fills the
// parameters; both say whether they can. With leaps two steps in a row tell how far to go along them (SQUAREM), where
// that does not lower the log-likelihood. Fills a trace (passes, 2), and how many steps were taken and passes made.
template <class State, class EStep, class MStep>
End run_em(State &now, State &next, int64_t size, const Rule &rule, EStep e_step, MStep m_step, double *trace,
           int64_t *counts) {
    constexpr double FALL = 1e-7;  // relative fall of the log-likelihood that rounding cannot explain
    constexpr double LONGEST = 4, GROWTH = 4;
    Buffer<double> first(size), second(size), pace(size), bend(size), ahead(size);
    int64_t chain = 0, &taken = counts[0], &made = counts[1];  // sums in a row that are known before those of now
    double longest = LONGEST;
    const auto pass = [&](State &state) {
        ++made;
        return e_step(state);
    };
    const auto record = [&] {
        trace[2 * taken] = now.score[0];
        trace[2 * taken + 1] = now.score[1];
        ++taken;
    };
    if (!pass(now)) return LOST;
    record();
    while (made < rule.passes) {
        const double *last = trace + 2 * (taken - 1);
        if (taken > 2 && std::max(std::abs(last[0] - last[-2]), std::abs(last[-2] - last[-4])) <=
                             rule.tol * (rule.unit + std::abs(last[0])))
            return FLAT;
        bool leapt = false;
        if (rule.leaps && chain == 2) {
            for (int64_t i = 0; i < size; ++i) {
                pace[i] = second[i] - first[i];
                bend[i] = (now.sums[i] - second[i]) - pace[i];
            }
            const double turn = norm(bend, size);
            double length = turn > 0 ? norm(pace, size) / turn : INF;
            if (length >= longest) {
                length = longest;
                longest *= GROWTH;
            }
            bool proposed = false;
            for (; length > 1.01 && !proposed; length = (length + 1) / 2) {
                for (int64_t i = 0; i < size; ++i)
                    ahead[i] = first[i] + 2 * length * pace[i] + length * length * bend[i];
                proposed = m_step(ahead.get(), next);
            }
            if (proposed) {
                leapt = pass(next) && next.score[0] >= now.score[0];
                if (leapt) {
                    std::copy_n(ahead.get(), size, first.get());  // the parameters were estimated from these
                    now.swap(next);
                    chain = 1;
                } else {
                    longest = std::max(longest / GROWTH, 1.5);
                    chain = 0;
                    if (made >= rule.passes) break;
                }
            }
        }
        if (!leapt) {
            if (!m_step(now.sums.get(), next) || !pass(next)) return LOST;
            if (!(next.score[0] >= now.score[0] - FALL * (rule.unit + std::abs(now.score[0])))) return LOST;
            if (next.score[0] < now.score[0]) return FLAT;  // by rounding
            if (chain == 2) {
                first.swap(second);
                chain = 1;
            }
            std::copy_n(now.sums.get(), size, chain == 0 ? first.get() : second.get());
            ++chain;
            now.swap(next);
        }
        record();
    }
    return OUT_OF_PASSES;
}

}  // namespace suffice
