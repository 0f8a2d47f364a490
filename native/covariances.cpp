// The M-step of covariances of which each is free.
#include "cholesky.h"

namespace suffice {
namespace {

// One covariance (d, d), its whitening W and log|W|; whether it is surely above its floor, which may be null, and the
// least spreads (d,).
bool covariance(const double *scatter, double weight, int64_t d, const double *floor, const double *least,
                double relative, double *lower, double *scaled, double *cov, double *whiten, double *log_det) {
    const double margin = relative * static_cast<double>(d);
    for (int64_t i = 0; i < d * d; ++i) cov[i] = scatter[i] / weight;
    for (int64_t i = 0; i < d; ++i) {
        const double variance = cov[i * d + i];
        if (!(variance >= least[i] * least[i]) || !is_finite(variance)) return false;
        if (floor && !(floor[i * d + i] >= 2 * margin * variance)) return false;
    }
    if (floor) {
        for (int64_t i = 0; i < d * d; ++i) scaled[i] = cov[i] - floor[i];
        if (!cholesky(scaled, d, lower)) return false;
    }
    double *spread = whiten;  // for as long as it is not written
    for (int64_t i = 0; i < d; ++i) spread[i] = std::sqrt(cov[i * d + i]);
    for (int64_t i = 0; i < d; ++i)
        for (int64_t j = 0; j < d; ++j)
            scaled[i * d + j] = cov[i * d + j] / (spread[i] * spread[j]) - (i == j ? margin : 0.0);
    if (!cholesky(scaled, d, lower)) return false;
    for (int64_t i = 0; i < d; ++i) scaled[i * d + i] += margin;
    if (!cholesky(scaled, d, lower)) return false;
    double logs = 0;
    for (int64_t i = 0; i < d; ++i) logs += std::log(spread[i]) + std::log(lower[i * d + i]);
    std::copy_n(spread, d, scaled);
    std::fill_n(whiten, d * d, 0.0);
    invert(lower, d, whiten);
    for (int64_t i = 0; i < d; ++i)
        for (int64_t j = 0; j <= i; ++j) whiten[i * d + j] /= scaled[j];
    *log_det = -logs;
    return is_finite(logs);
}

// Covariances (k, d, d) of scatter (k, d, d) and weight (k,), their whitening (k, d, d) and log|W| (k,), as in
// kernels/numpy/covariances.py; whether all are surely above what holds them.
int64_t whitened_covariances(const double *scatter, const double *weight, int64_t k, int64_t d, const double *floor,
                             const double *least, double relative, double *cov, double *whiten, double *log_det) {
    Buffer<double> lower(d * d), scaled(d * d);
    for (int64_t m = 0; m < k; ++m)
        if (!(weight[m] > 0) ||
            !covariance(scatter + m * d * d, weight[m], d, floor, least + m * d, relative, lower, scaled,
                        cov + m * d * d, whiten + m * d * d, log_det + m))
            return 0;
    return 1;
}

}  // namespace

KERNEL(whitened_covariances, whitened_covariances)

}  // namespace suffice
