// Gaussian components that are known by sums of products: their M-step, and short runs of EM.
#include "cholesky.h"

namespace suffice {

template <class T>  // one pass, in gaussian.cpp
void gaussian(const T *x, int64_t n, int64_t d, const double *weights, const double *log_weights, const double *centre,
              const double *scale, const double *coefficients, int64_t k, double *sums, double *score);

namespace {

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

// -- short runs --------------------------------------------------------------------------------------------------------

constexpr double FALL = 1e-7;  // relative fall of the log-likelihood that rounding cannot explain
constexpr double LONGEST = 4, GROWTH = 4;

// Parameters and what a pass under them found.
struct State {
    Buffer<double> share, mean, cov, coefficients, sums;
    double score[2] = {0, 0};  // log-likelihood and entropy

    State(int64_t k, int64_t d, int64_t m)
        : share(k), mean(k * d), cov(k * d * d), coefficients(k * m), sums(k * m) {}

    void swap(State &other) {
        share.swap(other.share);
        coefficients.swap(other.coefficients);
        mean.swap(other.mean);
        cov.swap(other.cov);
        sums.swap(other.sums);
        std::swap(score[0], other.score[0]);
        std::swap(score[1], other.score[1]);
    }
};

double norm(const double *a, int64_t size) {  // of any unit: squares may be more than numbers hold, or less
    double most = 0, sum = 0;
    for (int64_t i = 0; i < size; ++i) most = std::max(most, std::abs(a[i]));
    for (int64_t i = 0; i < size && most > 0; ++i) sum += (a[i] / most) * (a[i] / most);
    return most * std::sqrt(sum);
}

// EM from shares (k,), mean, cov and coefficients (k, m), which become the last; at most `passes` of them, fewer where the
// log-likelihood changes twice by no more than `tol` of itself. With `leaps` two steps in a row tell how far to go along
// them (SQUAREM), where that does not lower it. Fills the sums of the last pass, a trace (passes, 2) of log-likelihood
// and entropy, and how many steps were taken and passes made. Gives 1 if flat, 2 if out of passes, 0 where sums do not
// tell the components, or a step lowered the log-likelihood.
template <class T>
int64_t quadratic_run(const T *x, int64_t n, int64_t d, const double *weights, const double *centre, const double *scale,
                      const double *floor, const double *ridge, double constant, double lost, double sure, double seen,
                      int64_t k, int64_t passes, int64_t leaps, double tol, double unit, double *share,
                      double *mean, double *cov, double *coefficients, double *sums, double *trace, int64_t *counts) {
    const int64_t m = (d + 1) * (d + 2) / 2, size = k * m;
    State now(k, d, m), next(k, d, m);
    Buffer<double> first(size), second(size), step(size), bend(size), ahead(size);
    int64_t chain = 0, taken = 0, made = 0;  // sums in a row that are known before those of now
    double longest = LONGEST;
    const auto e_step = [&](State &state) {
        std::fill_n(state.sums.get(), size, 0.0);
        state.score[0] = state.score[1] = 0;
        gaussian(x, n, d, weights, static_cast<const double *>(nullptr), centre, scale, state.coefficients.get(), k,
                 state.sums.get(), state.score);
        ++made;
        return is_finite(state.score[0]);
    };
    const auto m_step = [&](const double *from, State &state) {
        double total = 0;
        for (int64_t c = 0; c < k; ++c) total += from[c * m];
        for (int64_t c = 0; c < k; ++c) state.share[c] = from[c * m] / total;
        return quadratic_step(from, k, d, floor, ridge, constant, lost, sure, seen, state.mean, state.cov,
                              state.coefficients) != 0;
    };
    const auto record = [&] {
        trace[2 * taken] = now.score[0];
        trace[2 * taken + 1] = now.score[1];
        ++taken;
    };
    std::copy_n(share, k, now.share.get());
    std::copy_n(coefficients, size, now.coefficients.get());
    std::copy_n(mean, k * d, now.mean.get());
    std::copy_n(cov, k * d * d, now.cov.get());
    if (!e_step(now)) return 0;
    record();
    int64_t status = 2;
    while (made < passes) {
        const double *seen_last = trace + 2 * (taken - 1);
        if (taken > 2 && std::max(std::abs(seen_last[0] - seen_last[-2]), std::abs(seen_last[-2] - seen_last[-4])) <=
                             tol * (unit + std::abs(seen_last[0]))) {
            status = 1;
            break;
        }
        bool leapt = false;
        if (leaps && chain == 2) {
            for (int64_t i = 0; i < size; ++i) {
                step[i] = second[i] - first[i];
                bend[i] = (now.sums[i] - second[i]) - step[i];
            }
            const double turn = norm(bend, size);
            double length = turn > 0 ? norm(step, size) / turn : INF;
            if (length >= longest) {
                length = longest;
                longest *= GROWTH;
            }
            bool proposed = false;
            for (; length > 1.01 && !proposed; length = (length + 1) / 2) {
                for (int64_t i = 0; i < size; ++i)
                    ahead[i] = first[i] + 2 * length * step[i] + length * length * bend[i];
                proposed = true;
                for (int64_t c = 0; c < k; ++c) proposed = proposed && ahead[c * m] >= 0;
                proposed = proposed && m_step(ahead, next);
            }
            if (proposed) {
                leapt = e_step(next) && next.score[0] >= now.score[0];
                if (leapt) {
                    std::copy_n(ahead.get(), size, first.get());  // the parameters were estimated from these
                    now.swap(next);
                    chain = 1;
                } else {
                    longest = std::max(longest / GROWTH, 1.5);
                    chain = 0;
                    if (made >= passes) break;
                }
            }
        }
        if (!leapt) {
            if (!m_step(now.sums, next) || !e_step(next)) return 0;
            if (!(next.score[0] >= now.score[0] - FALL * (unit + std::abs(now.score[0])))) return 0;
            if (next.score[0] < now.score[0]) {  // by rounding
                status = 1;
                break;
            }
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
    std::copy_n(now.share.get(), k, share);
    std::copy_n(now.coefficients.get(), size, coefficients);
    std::copy_n(now.mean.get(), k * d, mean);
    std::copy_n(now.cov.get(), k * d * d, cov);
    std::copy_n(now.sums.get(), size, sums);
    counts[0] = taken;
    counts[1] = made;
    return status;
}

}  // namespace

KERNEL(quadratic_step, quadratic_step)
KERNEL_REAL(quadratic_run)

}  // namespace suffice
