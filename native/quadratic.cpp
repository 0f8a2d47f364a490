// The M-step of Gaussian components that are known by sums of products.
#include "vec.h"

namespace suffice {
namespace {

// The lower triangle L with L Lᵀ = a (d, d); whether there is one.
bool cholesky(const double *a, int64_t d, double *lower) {
    for (int64_t i = 0; i < d; ++i)
        for (int64_t j = 0; j <= i; ++j) {
            double left = a[i * d + j];
            for (int64_t h = 0; h < j; ++h) left -= lower[i * d + h] * lower[j * d + h];
            if (i == j && !(left > 0)) return false;
            lower[i * d + j] = i == j ? std::sqrt(left) : left / lower[j * d + j];
        }
    return true;
}

// The inverse of a lower triangle.
void invert(const double *lower, int64_t d, double *inverse) {
    for (int64_t j = 0; j < d; ++j) {
        inverse[j * d + j] = 1 / lower[j * d + j];
        for (int64_t i = j + 1; i < d; ++i) {
            double left = 0;
            for (int64_t h = j; h < i; ++h) left -= lower[i * d + h] * inverse[h * d + j];
            inverse[i * d + j] = left / lower[i * d + i];
        }
    }
}

int64_t row_of(int64_t i) { return (i + 1) * (i + 2) / 2; }  // where the products of column i begin

// Mean and covariance of one component; whether no more digits are lost than may be.
bool unpack(const double *sums, int64_t d, const double *ridge, double lost, double *mean, double *cov) {
    bool kept = true;
    for (int64_t i = 0; i < d; ++i) {
        const double *row = sums + row_of(i);
        mean[i] = row[0] / sums[0];
        for (int64_t j = 0; j <= i; ++j) cov[i * d + j] = cov[j * d + i] = row[j + 1] / sums[0] - mean[i] * mean[j];
        kept = kept && row[i + 1] / sums[0] <= lost * cov[i * d + i];
        cov[i * d + i] += ridge[i];
    }
    return kept;
}

// Write the coefficients of one component, given the root of its covariance; gives how much terms cancel.
double write_coefficients(const double *sums, int64_t d, double constant, const double *mean, const double *lower,
                          double *inverse, double *out) {
    double growth = 0;
    invert(lower, d, inverse);
    for (int64_t i = 0; i < d; ++i) constant -= std::log(lower[i * d + i]);
    for (int64_t i = 0; i < d; ++i) {
        const int64_t row = row_of(i);
        const double wide = std::sqrt(sums[row + i + 1] / sums[0]);
        double slope = 0;
        for (int64_t j = 0; j < d; ++j) {
            double cell = 0;
            for (int64_t h = std::max(i, j); h < d; ++h) cell += inverse[h * d + i] * inverse[h * d + j];
            slope += cell * mean[j];
            if (j <= i) out[row + j + 1] = j < i ? -cell : -0.5 * cell;
            growth += wide * std::abs(cell) * std::sqrt(sums[row_of(j) + j + 1] / sums[0]);
        }
        out[row] = slope;
        constant -= 0.5 * slope * mean[i];
    }
    out[0] = constant;
    return growth;
}

// Fill mean (k, d), cov (k, d, d) and coefficients (k, m) from sums (k, m); whether that is all there is to say.
int64_t quadratic_step(const double *sums, int64_t k, int64_t d, const double *floor, const double *ridge,
                       double constant, double lost, double sure, double seen, double *mean, double *cov, double *out) {
    const int64_t m = (d + 1) * (d + 2) / 2;
    Buffer<double> lower(d * d), inverse(d * d), above(d * d);
    double total = 0;
    for (int64_t c = 0; c < k; ++c) total += sums[c * m];
    for (int64_t c = 0; c < k; ++c, sums += m, mean += d, cov += d * d, out += m) {
        if (!(sums[0] > seen * total) || !unpack(sums, d, ridge, lost, mean, cov)) return 0;
        for (int64_t i = 0; i < d * d; ++i) above[i] = cov[i] - floor[i];
        if (!cholesky(above, d, lower) || !cholesky(cov, d, lower)) return 0;
        for (int64_t i = 0; i < d; ++i)
            if (!(lower[i * d + i] * lower[i * d + i] > sure * cov[i * d + i])) return 0;
        const double own = constant + std::log(sums[0] / total);
        if (!(write_coefficients(sums, d, own, mean, lower, inverse, out) <= lost)) return 0;
    }
    return 1;
}

}  // namespace

KERNEL(quadratic_step, quadratic_step)

}  // namespace suffice
