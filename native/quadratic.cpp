// Gaussian components that are known by sums of products: their M-step, and short runs of EM.
#include "run.h"
#include "structures.h"

namespace suffice {

template <class T>  // one pass, in gaussian.cpp
void gaussian(const T *x, int64_t n, int64_t d, const double *weights, const double *log_weights, const double *centre,
              const double *scale, const double *coefficients, int64_t k, double *sums, double *score);

namespace {

int64_t row_of(int64_t i) { return (i + 1) * (i + 2) / 2; }  // where the products of column i begin

// Mean and scatter of one component; whether no more digits are lost than may be.
bool unpack(const double *sums, int64_t d, double lost, double *mean, double *scatter) {
    bool kept = true;
    for (int64_t i = 0; i < d; ++i) {
        const double *row = sums + row_of(i);
        mean[i] = row[0] / sums[0];
        for (int64_t j = 0; j <= i; ++j) scatter[i * d + j] = scatter[j * d + i] = row[j + 1] - row[0] * mean[j];
        kept = kept && row[i + 1] <= lost * scatter[i * d + i];
    }
    return kept;
}

// Write the coefficients of one component, given the root of its covariance; gives how much terms cancel.
double write_coefficients(int64_t d, double constant, const double *mean, const double *cov, const double *lower,
                          double *inverse, double *out) {
    const auto wide = [&](int64_t i) { return std::sqrt(mean[i] * mean[i] + cov[i * d + i]); };
    double growth = 0;
    invert(lower, d, inverse);
    for (int64_t i = 0; i < d; ++i) constant -= std::log(lower[i * d + i]);
    for (int64_t i = 0; i < d; ++i) {
        const int64_t row = row_of(i);
        double slope = 0;
        for (int64_t j = 0; j < d; ++j) {
            double cell = 0;
            for (int64_t h = std::max(i, j); h < d; ++h) cell += inverse[h * d + i] * inverse[h * d + j];
            slope += cell * mean[j];
            if (j <= i) out[row + j + 1] = j < i ? -cell : -0.5 * cell;
            growth += wide(i) * std::abs(cell) * wide(j);
        }
        out[row] = slope;
        constant -= 0.5 * slope * mean[i];
    }
    out[0] = constant;
    return growth;
}

// What holds the components: a floor (d, d) under their covariances and a ridge (d,) that is added to them; what the
// scale adds to a log density; and how much may be lost before sums no longer tell the components.
struct Limits {
    const double *floor, *ridge;
    double constant, lost, sure, seen;
};

// Fill mean (k, d), cov (k, d, d) and coefficients (k, m) from sums (k, m); whether that is all there is to say.
bool step(const Structure &structure, const Limits &limits, const double *sums, int64_t k, int64_t d, Spectra &from,
          double *mean, double *cov, double *out) {
    const int64_t m = (d + 1) * (d + 2) / 2, size = d * d;
    Buffer<double> lower(size), inverse(size), above(size), scatter(k * size), weight(k);
    double total = 0;
    for (int64_t c = 0; c < k; ++c) total += weight[c] = sums[c * m];
    for (int64_t c = 0; c < k; ++c) {
        if (!(weight[c] > limits.seen * total)) return false;
        const bool kept = unpack(sums + c * m, d, limits.lost, mean + c * d, scatter + c * size);
        if (!kept && structure.free_shape()) return false;  // where shapes are shared the covariances decide, below
    }
    if (structure.unrestricted()) {
        for (int64_t i = 0; i < k * size; ++i) cov[i] = scatter[i] / weight[i / size];
    } else if (!maximise(structure, scatter, weight, k, d, from, cov)) {
        return false;
    }
    for (int64_t c = 0; c < k; ++c, mean += d, cov += size, out += m) {
        for (int64_t i = 0; i < d; ++i) {
            if (!(sums[c * m + row_of(i) + i + 1] <= limits.lost * weight[c] * cov[i * d + i])) return false;
            cov[i * d + i] += limits.ridge[i];
        }
        for (int64_t i = 0; i < size; ++i) above[i] = cov[i] - limits.floor[i];
        if (!cholesky(above, d, lower) || !cholesky(cov, d, lower)) return false;
        for (int64_t i = 0; i < d; ++i)
            if (!(lower[i * d + i] * lower[i * d + i] > limits.sure * cov[i * d + i])) return false;
        const double own = limits.constant + std::log(weight[c] / total);
        if (!(write_coefficients(d, own, mean, cov, lower, inverse, out) <= limits.lost)) return false;
    }
    return true;
}

// The same, from the covariances in `cov` where they are `known`.
int64_t quadratic_step(const double *sums, int64_t k, int64_t d, int64_t letters, int64_t known, const double *floor,
                       const double *ridge, double constant, double lost, double sure, double seen, double *mean,
                       double *cov, double *out) {
    const Structure structure(letters);
    Spectra from(k, d);
    if (known && !structure.unrestricted()) from.find(structure, cov, k, d);
    return step(structure, {floor, ridge, constant, lost, sure, seen}, sums, k, d, from, mean, cov, out);
}

// -- short runs --------------------------------------------------------------------------------------------------------

// Parameters and what a pass under them found.
struct State {
    Buffer<double> share, mean, cov, coefficients, sums;
    Spectra spectra;
    double score[2] = {0, 0};  // log-likelihood and entropy

    State(int64_t k, int64_t d, int64_t m)
        : share(k), mean(k * d), cov(k * d * d), coefficients(k * m), sums(k * m), spectra(k, d) {}

    void swap(State &other) {
        spectra.swap(other.spectra);
        share.swap(other.share);
        coefficients.swap(other.coefficients);
        mean.swap(other.mean);
        cov.swap(other.cov);
        sums.swap(other.sums);
        std::swap(score[0], other.score[0]);
        std::swap(score[1], other.score[1]);
    }
};

// Rows about a centre and in units of the scale.
template <class T> struct Rows {
    const T *x;
    int64_t n, d;
    const double *weights, *centre, *scale;
};

// One run of `quadratic_runs`.
template <class T>
int64_t run(const Rows<T> &rows, const Structure &structure, const Limits &limits, const Rule &rule, int64_t k,
            bool begun, double *share, double *mean, double *cov, double *coefficients, double *sums, double *trace,
            int64_t *counts) {
    const int64_t d = rows.d, m = (d + 1) * (d + 2) / 2, size = k * m;
    State now(k, d, m), next(k, d, m);
    const auto e_step = [&](State &state) {
        std::fill_n(state.sums.get(), size, 0.0);
        state.score[0] = state.score[1] = 0;
        gaussian(rows.x, rows.n, d, rows.weights, static_cast<const double *>(nullptr), rows.centre, rows.scale,
                 state.coefficients.get(), k, state.sums.get(), state.score);
        return is_finite(state.score[0]);
    };
    const auto m_step = [&](const double *from, State &state) {
        double total = 0;
        for (int64_t c = 0; c < k; ++c) {
            if (!(from[c * m] >= 0)) return false;
            total += from[c * m];
        }
        for (int64_t c = 0; c < k; ++c) state.share[c] = from[c * m] / total;
        if (!structure.unrestricted()) state.spectra.copy(now.spectra);
        return step(structure, limits, from, k, d, state.spectra, state.mean, state.cov, state.coefficients);
    };
    if (begun) {
        std::copy_n(share, k, now.share.get());
        std::copy_n(coefficients, size, now.coefficients.get());
        std::copy_n(mean, k * d, now.mean.get());
        std::copy_n(cov, k * d * d, now.cov.get());
        if (!structure.unrestricted()) now.spectra.find(structure, cov, k, d);
    } else if (!m_step(sums, now)) {
        return 0;
    }
    const int64_t end = run_em(now, next, size, rule, e_step, m_step, trace, counts);
    if (end == LOST) return end;
    std::copy_n(now.share.get(), k, share);
    std::copy_n(now.coefficients.get(), size, coefficients);
    std::copy_n(now.mean.get(), k * d, mean);
    std::copy_n(now.cov.get(), k * d * d, cov);
    std::copy_n(now.sums.get(), size, sums);
    return end;
}

// EM of several starts, one after the other: each from shares (k,), mean, cov and coefficients (k, m), or where none has
// `begun` from sums (k, m), which all become the last. At most `passes` of them, fewer where the log-likelihood changes
// twice by no more than `tol` of itself. With `leaps` two steps in a row tell how far to go along them (SQUAREM), where
// that does not lower it. Fills the sums of the last pass, a trace (passes, 2) of log-likelihood and entropy, how many
// steps were taken and passes made, and the end: 1 if flat, 2 if out of passes, 0 where sums do not tell the components,
// or a step lowered the log-likelihood.
template <class T>
void quadratic_runs(const T *x, int64_t n, int64_t d, const double *weights, const double *centre, const double *scale,
                    int64_t letters, const double *floor, const double *ridge, double constant, double lost,
                    double sure, double seen, int64_t k, int64_t passes, int64_t leaps, double tol, double unit,
                    int64_t starts, int64_t begun, double *share, double *mean, double *cov, double *coefficients,
                    double *sums, double *trace, int64_t *counts) {
    const int64_t m = (d + 1) * (d + 2) / 2;
    for (int64_t i = 0; i < starts; ++i)
        counts[3 * i + 2] = run<T>({x, n, d, weights, centre, scale}, Structure(letters),
                                   {floor, ridge, constant, lost, sure, seen}, {passes, leaps, tol, unit}, k, begun,
                                   share + i * k, mean + i * k * d, cov + i * k * d * d, coefficients + i * k * m,
                                   sums + i * k * m, trace + 2 * i * passes, counts + 3 * i);
}

}  // namespace

KERNEL(quadratic_step, quadratic_step)
KERNEL_REAL(quadratic_runs)

}  // namespace suffice
