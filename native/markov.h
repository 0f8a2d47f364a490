// A hidden Markov chain, what a pass over its sequences adds up, and both passes in log space: exact, and slower.
#pragma once

#include "vec.h"

namespace suffice {
namespace {

constexpr double RARE = 1e-100;    // states that follow each other less often are as good as forbidden

// Probabilities of a chain, with as many columns as fill vectors.
struct Chain {
    int64_t k, wide;
    Buffer<double> initial, from, to;  // to: transposed
    bool dense = true;

    Chain(const double *start, const double *moves, int64_t k)
        : k(k), wide(round_up(k, LANES)), initial(wide), from(k * wide), to(k * wide) {
        for (int64_t i = 0; i < k; ++i) {
            initial[i] = start[i];
            for (int64_t j = 0; j < k; ++j) {
                from[i * wide + j] = to[j * wide + i] = moves[i * k + j];
                dense = dense && moves[i * k + j] > RARE;
            }
        }
    }
};

// What a pass adds up over sequences.
struct Sums {
    double *first, *emitted;
    Buffer<double> products, own;  // Σ of states and what follows them, (k, wide): of all sequences, and of one
    Sums(double *first, double *emitted, Chain &chain)
        : first(first), emitted(emitted), products(chain.k * chain.wide), own(chain.k * chain.wide) {}
};

double log_sum(const double *values, int64_t k) {
    double top = -INF, sum = 0;
    for (int64_t j = 0; j < k; ++j) top = values[j] > top ? values[j] : top;
    if (top == -INF) return top;
    for (int64_t j = 0; j < k; ++j) sum += std::exp(values[j] - top);
    return top + std::log(sum);
}

// The filter in log space, normalised row by row, and the logarithms of what it was divided by.
struct Logs {
    Buffer<double> moves, ahead, sums, message, follows, terms;
    double log_likelihood = 0;

    Logs(const double *scores, int64_t n, Chain &chain)
        : moves(chain.k * chain.k), ahead(n * chain.k), sums(n), message(chain.k), follows(chain.k), terms(chain.k) {
        const int64_t k = chain.k;
        for (int64_t i = 0; i < k; ++i)
            for (int64_t j = 0; j < k; ++j) moves[i * k + j] = std::log(chain.from.get()[i * chain.wide + j]);
        for (int64_t t = 0; t < n; ++t) {
            double *row = ahead + t * k;
            for (int64_t j = 0; j < k; ++j) {
                for (int64_t i = 0; i < k && t; ++i) terms[i] = row[i - k] + moves[i * k + j];
                row[j] = (t ? log_sum(terms.get(), k) : std::log(chain.initial.get()[j])) + scores[t * k + j];
            }
            sums[t] = log_sum(row, k);
            log_likelihood += sums[t];
            if (sums[t] == -INF) return;  // the rest is 0, and not looked at
            for (int64_t j = 0; j < k; ++j) row[j] -= sums[t];
        }
    }
};

double smooth_in_logs(const double *scores, int64_t n, Chain &chain, double weight, const double *after, double *out,
                      double *head, Sums &sums) {
    const int64_t k = chain.k, wide = chain.wide;
    Logs logs(scores, n, chain);
    double *message = logs.message, *follows = logs.follows;
    std::fill_n(out, n * k, 0.0);
    if (logs.log_likelihood == -INF) return -INF;
    for (int64_t j = 0; j < k; ++j) {
        message[j] = after ? std::log(after[j]) : 0.0;
        follows[j] = logs.ahead[(n - 1) * k + j] + message[j];
    }
    const double rest = log_sum(follows, k);
    if (rest == -INF) return -INF;
    for (int64_t j = 0; j < k; ++j) message[j] -= rest;
    for (int64_t t = n - 1; t >= 0; --t) {
        double *row = out + t * k;
        for (int64_t j = 0; j < k; ++j) {
            row[j] = weight * std::exp(logs.ahead[t * k + j] + message[j]);
            *sums.emitted += row[j] == 0 ? 0.0 : row[j] * scores[t * k + j];
            follows[j] = scores[t * k + j] + message[j] - logs.sums[t];
        }
        if (t == 0) break;
        for (int64_t i = 0; i < k; ++i) {
            for (int64_t j = 0; j < k; ++j) {
                logs.terms[j] = logs.moves[i * k + j] + follows[j];
                const double probability = chain.from.get()[i * wide + j];
                const double pair = std::exp(logs.ahead[(t - 1) * k + i] + logs.terms[j]);
                if (probability > 0) sums.products[i * wide + j] += weight * pair / probability;
            }
            message[i] = log_sum(logs.terms.get(), k);
        }
    }
    const double top = *std::max_element(follows, follows + k);
    for (int64_t j = 0; j < k; ++j) {
        sums.first[j] += out[j];
        head[j] = std::exp(follows[j] - top);
    }
    return logs.log_likelihood + rest;
}

double filter_in_logs(const double *scores, int64_t n, Chain &chain, double *out) {
    Logs logs(scores, n, chain);
    if (!out) return logs.log_likelihood;
    std::fill_n(out, n * chain.k, 0.0);
    for (int64_t t = 0; t < n && logs.sums[t] != -INF; ++t)
        for (int64_t j = 0; j < chain.k; ++j) out[t * chain.k + j] = std::exp(logs.ahead[t * chain.k + j]);
    return logs.log_likelihood;
}

}  // namespace
}  // namespace suffice
