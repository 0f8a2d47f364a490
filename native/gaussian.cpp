// One pass of EM over Gaussian components.
//
// A block of rows is written as features about a pilot centre: y₀ = 1, yⱼ = (xⱼ − centreⱼ) scaleⱼ. A quadratic form of y
// is a linear one of the products yᵢ yⱼ, i ≥ j: logits are products of coefficients and these, statistics products of
// responsibilities and these. Components with one covariance differ in a linear form of y alone.
#include "triangle.h"

namespace suffice {
namespace {

constexpr int64_t BLOCK = 24 * LANES;  // rows; the sums of a block are added once

// Write yᵢ yⱼ, i ≥ j, of a panel as features.
void write_products(const double *y, int64_t d, double *u) {
    for (int64_t i = 0; i <= d; ++i) {
        const V a0 = load(y + i * ROWS), a1 = load(y + i * ROWS + LANES), a2 = load(y + i * ROWS + 2 * LANES);
        for (int64_t j = 0; j <= i; ++j, u += ROWS) {
            store(u, a0 * load(y + j * ROWS));
            store(u + LANES, a1 * load(y + j * ROWS + LANES));
            store(u + 2 * LANES, a2 * load(y + j * ROWS + 2 * LANES));
        }
    }
}

}  // namespace

// Add log-likelihood and entropy (2,), and sums (k, m) of the products of (1, y), under quadratic coefficients (k, m).
template <class T>
void gaussian(const T *x, int64_t n, int64_t d, const double *weights, const double *log_weights, const double *centre,
              const double *scale, const double *coefficients, int64_t k, double *sums, double *score) {
    const Data<T> data{x, n, d, weights, log_weights};
    const int64_t features = (d + 1) * (d + 2) / 2, stride = BLOCK + 8;
    Buffer<double> y((d + 1) * BLOCK), u(features * BLOCK), logits(k * stride);
    Buffer<double> eta(round_up(k, TILE) * features), held(round_up(k, TILE) * features);
    write_tiles(coefficients, k, features, eta);
    write_ones(BLOCK, y, d + 1, 0);
    Softmax all{};
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        const int64_t count = std::min(BLOCK, n - begin), rows = round_up(count, ROWS);
        const double *w = data.weights_from(begin);
        write_rows(x + begin * d, count, d, centre, scale, y, d + 1, 1);
        clear_weightless(w, count, y, d, d + 1, 1);
        for (int64_t t = 0; t < rows; t += ROWS) write_products(y + t * (d + 1), d, u + t * features);
        write_logits(u, rows, features, features, nullptr, eta, k, logits, stride);
        add_own(data.log_weights_from(begin, k), k, k, count, w, logits, stride);
        all += share(logits, stride, k, count, w);
        add_sums(u, rows, features, features, logits, k, stride, held);
    }
    add_from_tiles(held, k, features, sums);
    add_score(all, score);
}

template void gaussian(const double *, int64_t, int64_t, const double *, const double *, const double *, const double *,
                       const double *, int64_t, double *, double *);
template void gaussian(const float *, int64_t, int64_t, const double *, const double *, const double *, const double *,
                       const double *, int64_t, double *, double *);

namespace {

// Take the weight from rows that belong to nobody.
void drop_impossible(const double *shares, int64_t k, int64_t stride, int64_t count, double *w) {
    for (int64_t i = 0; i < count; ++i) {
        double whole = 0;
        for (int64_t j = 0; j < k; ++j) whole += shares[j * stride + i];
        w[i] = whole == 0 ? 0.0 : w[i];
    }
}

// The same for components with one covariance, under linear coefficients (k, d + 1): sums (k, d + 1) of (1, y), squares
// (d + 1, d + 1) of Σ w (1, y) (1, y)ᵀ. The quadratic term that all components share is left to the caller.
template <class T>
void tied_gaussian(const T *x, int64_t n, int64_t d, const double *weights, const double *log_weights,
                   const double *centre, const double *scale, const double *coefficients, int64_t k, double *sums,
                   double *squares, double *score) {
    const Data<T> data{x, n, d, weights, log_weights};
    const int64_t features = d + 1, stride = BLOCK + 8, tall = round_up(features, TILE);
    Buffer<double> y(features * BLOCK), w(BLOCK), logits(k * stride), part(tall * stride);
    Buffer<double> eta(round_up(k, TILE) * features), held(round_up(k, TILE) * features), products(tall * features);
    write_tiles(coefficients, k, features, eta);
    write_ones(BLOCK, y, features, 0);
    Softmax all{};
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        const int64_t count = std::min(BLOCK, n - begin), rows = round_up(count, ROWS);
        const double *own = data.weights_from(begin);
        write_rows(x + begin * d, count, d, centre, scale, y, features, 1);
        clear_weightless(own, count, y, d, features, 1);
        write_logits(y, rows, features, features, nullptr, eta, k, logits, stride);
        add_own(data.log_weights_from(begin, k), k, k, count, own, logits, stride);
        const Softmax found = share(logits, stride, k, count, own);
        all += found;
        add_sums(y, rows, features, features, logits, k, stride, held);
        for (int64_t i = 0; i < rows; ++i) w[i] = i >= count ? 0.0 : own ? own[i] : 1.0;
        if (found.log_likelihood == -INF) drop_impossible(logits, k, stride, count, w);
        add_squares(y, features, features, w, rows, part, stride, products);
    }
    add_from_tiles(held, k, features, sums);
    add_from_squares(products, features, squares);
    add_score(all, score);
}

// Log densities (n, k): constant (k,) − ½ ‖whiten (x − mean)‖², whiten (k, d, d) lower triangles. The mean of each
// component is taken from the rows first, so that no digit is lost wherever they lie.
template <class T>
void gaussian_log_prob(const T *x, int64_t n, int64_t d, const double *mean, const double *whiten,
                       const double *constant, int64_t k, double *out) {
    const int64_t size = factor_size(d, 0);
    Buffer<double> y(d * ROWS), z(d * ROWS), factors(k * size), scores(k * ROWS);
    for (int64_t j = 0; j < k; ++j) write_factor(whiten + j * d * d, d, 0, factors + j * size);
    for (int64_t begin = 0; begin < n; begin += ROWS) {
        const int64_t count = std::min<int64_t>(ROWS, n - begin);
        write_rows(x + begin * d, count, d, nullptr, nullptr, y, d, 0);
        for (int64_t j = 0; j < k; ++j) {
            for (int64_t c = 0; c < d; ++c)
                for (int64_t t = c * ROWS; t < (c + 1) * ROWS; t += LANES) store(z + t, load(y + t) - mean[j * d + c]);
            write_distances(z, d, 0, factors + j * size, constant[j], scores + j * ROWS);
        }
        for (int64_t i = 0; i < count; ++i)
            for (int64_t j = 0; j < k; ++j) out[(begin + i) * k + j] = scores[j * ROWS + i];
    }
}

// How much larger than 1 the terms are that cancel in a quadratic form (d, d), at deviations (d,) from the pilot.
double growth(const double *form, const double *deviation, int64_t d) {
    double sum = 0;
    for (int64_t i = 0; i < d; ++i)
        for (int64_t j = 0; j < d; ++j) sum += deviation[i] * std::abs(form[i * d + j]) * deviation[j];
    return sum;
}

// What a pass needs of components with means (k, d), whitening factors (k, d, d), log|W| (k,) and log-weights (k,), null
// where rows have their own: centre and scale (d,) of the pilot, the quadratic forms (k, d, d) there and the coefficients
// (k, m) of the products of (1, y). The scale is a power of two, which rounds nothing: it keeps the squares of any unit
// within the range of floats. Gives whether no more digits are lost than may be.
int64_t gaussian_plan(const double *mean, const double *whiten, const double *log_det, const double *log_weights,
                      int64_t k, int64_t d, double lost, double *centre, double *scale, double *forms,
                      double *coefficients) {
    Buffer<double> place(d), away(d);
    double top = -INF, whole = 0;
    for (int64_t m = 0; m < k; ++m) top = std::max(top, log_weights ? log_weights[m] : 0.0);
    for (int64_t m = 0; m < k; ++m) {
        const double share = log_weights ? std::exp(log_weights[m] - top) : 1.0;
        whole += share;
        for (int64_t i = 0; i < d; ++i) place[i] += share * (mean[m * d + i] - mean[i]);
    }
    for (int64_t i = 0; i < d; ++i) {
        centre[i] = mean[i] + place[i] / whole;
        double spread = 0, width = INF;
        for (int64_t m = 0; m < k; ++m) {
            double square = 0;
            for (int64_t h = 0; h < d; ++h) square += whiten[(m * d + h) * d + i] * whiten[(m * d + h) * d + i];
            width = std::min(width, square);
            spread = std::max(spread, std::abs(mean[m * d + i] - centre[i]));
        }
        spread = std::max(spread, 1 / std::sqrt(width));
        scale[i] = std::exp2(-std::nearbyint(std::log2(spread > 0 && is_finite(spread) ? spread : 1.0)));
    }
    bool near = true;
    for (int64_t m = 0; m < k && near; ++m, forms += d * d, coefficients += (d + 1) * (d + 2) / 2) {
        std::fill_n(forms, d * d, 0.0);
        for (int64_t h = 0; h < d; ++h) {
            const double *row = whiten + (m * d + h) * d;
            for (int64_t i = 0; i < d; ++i)
                for (int64_t j = 0; j < d; ++j) forms[i * d + j] += (row[i] / scale[i]) * (row[j] / scale[j]);
        }
        double constant = log_det[m] - 0.5 * static_cast<double>(d) * LOG_2PI + (log_weights ? log_weights[m] : 0.0);
        for (int64_t i = 0; i < d; ++i) {
            place[i] = (mean[m * d + i] - centre[i]) * scale[i];
            away[i] = std::abs(place[i]);
        }
        near = growth(forms, away, d) <= lost;
        double *out = coefficients;
        for (int64_t i = 0; i < d; ++i) {
            double slope = 0;
            for (int64_t j = 0; j < d; ++j) slope += forms[i * d + j] * place[j];
            *++out = slope;
            for (int64_t j = 0; j < i; ++j) *++out = -forms[i * d + j];
            *++out = -0.5 * forms[i * d + i];
            constant -= 0.5 * slope * place[i];
        }
        coefficients[0] = constant;
    }
    return near;
}

// Weight (k,), centre and shift (k, d), scatter (k, d, d) in the units of the rows, of moments Σ w (1, y) (1, y)ᵀ; and
// √(Σ w y² / Σ w) (k, d), 0 for components that have no digits to lose. Gives whether no scatter has lost more, nor the
// quadratic forms (k, d, d) of the components, where they are given.
int64_t about_means(const double *moments, int64_t k, int64_t d, const double *centre, const double *scale, double lost,
                    const double *forms, double *weight, double *middle, double *shift, double *scatter,
                    double *deviation) {
    constexpr double NOBODY = 1e-17;  // share of the rows that is none
    const int64_t width = d + 1;
    double all_rows = 0;
    bool kept = true;
    for (int64_t m = 0; m < k; ++m) all_rows += moments[m * width * width];
    for (int64_t m = 0; m < k; ++m, moments += width * width, scatter += d * d) {
        const double held = weight[m] = moments[0], part = held > 0 ? 1 / held : 1.0;
        for (int64_t i = 0; i < d; ++i) {
            const double *row = moments + (i + 1) * width;
            const double a = part * row[0];
            for (int64_t j = 0; j <= i; ++j) {
                const double left = row[j + 1] - held * (a * (part * moments[(j + 1) * width]));
                scatter[i * d + j] = scatter[j * d + i] = left / (scale[i] * scale[j]);
                if (j < i) continue;
                const double about = held < NOBODY * all_rows ? 0.0 : part * row[i + 1];
                deviation[m * d + i] = std::sqrt(about);
                kept = kept && about <= lost * part * left;
            }
            middle[m * d + i] = held != 0 ? centre[i] : 0.0;
            shift[m * d + i] = held != 0 ? a / scale[i] : 0.0;
        }
        kept = kept && (!forms || growth(forms + m * d * d, deviation + m * d, d) <= lost);
    }
    return kept;
}

}  // namespace

KERNEL_REAL(gaussian)
KERNEL_REAL(tied_gaussian)
KERNEL_REAL(gaussian_log_prob)
KERNEL(about_means, about_means)
KERNEL(gaussian_plan, gaussian_plan)

}  // namespace suffice
