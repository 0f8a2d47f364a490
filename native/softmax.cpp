// Shares of components from their logits, a block of rows at a time.
#include "vec.h"

namespace suffice {

static constexpr double NOBODY = -1e300;  // the largest logit of a row that has none

Softmax softmax(double *logits, int64_t stride, int64_t k, int64_t b, const double *scale) {
    alignas(64) double top[1024], sum[1024], tilt[1024], inverse[1024];
    std::fill_n(top, b, NOBODY);
    std::fill_n(sum, b, 0.0);
    std::fill_n(tilt, b, 0.0);
    for (int64_t j = 0; j < k; ++j) {
        const double *row = logits + j * stride;
#pragma omp simd
        for (int64_t i = 0; i < b; ++i) top[i] = row[i] <= top[i] ? top[i] : row[i];  // NaN is kept
    }
    for (int64_t j = 0; j < k; ++j) {
        double *row = logits + j * stride;
#pragma omp simd
        for (int64_t i = 0; i < b; ++i) {
            double z = row[i] - top[i];
            z = z < FADED ? 2 * LEAST : z;
            const double e = exp(z);
            sum[i] += e;
            tilt[i] += e * z;
            row[i] = e;
        }
    }
    double log_likelihood = 0, entropy = 0, logs = 0;
#pragma omp simd reduction(+ : entropy)
    for (int64_t i = 0; i < b; ++i) {
        sum[i] = sum[i] == 0 ? 1.0 : sum[i];
        inverse[i] = (scale ? scale[i] : 1.0) / sum[i];
        top[i] = top[i] == NOBODY ? -INF : top[i];
        entropy -= tilt[i] * inverse[i];
    }
    const int64_t quarter = scale ? 0 : b / 4;
#pragma omp simd reduction(+ : log_likelihood, logs)
    for (int64_t i = 0; i < quarter; ++i) {  // the two parts of a row's value cancel before they are added up
        const int64_t p = i + quarter, q = p + quarter, r = q + quarter;
        const double more = log((sum[i] * sum[p]) * (sum[q] * sum[r]));
        log_likelihood += ((top[i] + top[p]) + (top[q] + top[r])) + more;
        logs += more;
    }
#pragma omp simd reduction(+ : log_likelihood, logs)
    for (int64_t i = 4 * quarter; i < b; ++i) {
        const double w = scale ? scale[i] : 1.0, more = log(sum[i]);
        log_likelihood += w * (top[i] + more);
        logs += w * more;
    }
    for (int64_t j = 0; j < k; ++j) {
        double *row = logits + j * stride;
#pragma omp simd
        for (int64_t i = 0; i < b; ++i) row[i] *= inverse[i];
    }
    return {log_likelihood, entropy + logs};
}

// For the tests: exp and log of numbers and of vectors, and the shares of a block.
static void exp_log(const double *x, int64_t n, double *exps, double *logs) {
    for (int64_t i = 0; i < n - n % LANES; i += LANES) {
        store(exps + i, exp(load(x + i)));
        store(logs + i, log(load(x + i)));
    }
    for (int64_t i = n - n % LANES; i < n; ++i) {
        exps[i] = exp(x[i]);
        logs[i] = log(x[i]);
    }
}

static void softmax_block(double *logits, int64_t k, int64_t b, const double *scale, double *out) {
    const Softmax found = softmax(logits, b, k, b, scale);
    out[0] = found.log_likelihood;
    out[1] = found.entropy;
}

KERNEL(exp_log, exp_log)
KERNEL(softmax_block, softmax_block)

}  // namespace suffice
