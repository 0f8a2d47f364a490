// The M-step of the fourteen covariance structures (Celeux and Govaert 1995), by steps in closed form that take turns.
#include "structures.h"

namespace suffice {

namespace {

constexpr int64_t ROUNDS = 100, SWEEPS = 30, BRIEF = 4;  // a step of EM need not end where axes rest: the next goes on
constexpr double REST = 1e-10, STILL = 1e-7, ROUNDING = 1e-15;

void identity(int64_t d, double *a) {
    std::fill_n(a, d * d, 0.0);
    for (int64_t i = 0; i < d; ++i) a[i * d + i] = 1;
}

// Columns i and j of a (rows, d) turned: i becomes c i + s j.
void turn_columns(double *a, int64_t rows, int64_t d, int64_t i, int64_t j, double c, double s) {
    for (int64_t r = 0; r < rows; ++r) {
        const double x = a[r * d + i], y = a[r * d + j];
        a[r * d + i] = c * x + s * y;
        a[r * d + j] = c * y - s * x;
    }
}

// The same of a symmetric matrix, rows and columns.
void turn(double *a, int64_t d, int64_t i, int64_t j, double c, double s) {
    turn_columns(a, d, d, i, j, c, s);
    for (int64_t r = 0; r < d; ++r) {
        const double x = a[i * d + r], y = a[j * d + r];
        a[i * d + r] = c * x + s * y;
        a[j * d + r] = c * y - s * x;
    }
}

// out = axesᵀ a axes.
void along_axes(const double *a, const double *axes, int64_t d, double *half, double *out) {
    std::fill_n(half, d * d, 0.0);
    std::fill_n(out, d * d, 0.0);
    for (int64_t i = 0; i < d; ++i)
        for (int64_t h = 0; h < d; ++h)
            for (int64_t j = 0; j < d; ++j) half[i * d + j] += a[i * d + h] * axes[h * d + j];
    for (int64_t h = 0; h < d; ++h)
        for (int64_t i = 0; i < d; ++i)
            for (int64_t j = 0; j < d; ++j) out[i * d + j] += axes[h * d + i] * half[h * d + j];
}

// Turn a (d, d) and its axes until it is diagonal, by Jacobi's rotations; then by rising values.
void diagonalize(double *a, int64_t d, double *axes) {
    double trace = 0;
    for (int64_t i = 0; i < d; ++i) trace += std::abs(a[i * d + i]);
    for (int64_t sweep = 0, turned = 1; sweep < SWEEPS && turned; ++sweep) {
        turned = 0;
        for (int64_t i = 0; i < d; ++i)
            for (int64_t j = i + 1; j < d; ++j) {
                const double apart = a[i * d + j], both = a[i * d + i] * a[j * d + j];
                if (!(std::abs(apart) > ROUNDING * std::sqrt(std::max(both, 0.0)) + 1e-2 * ROUNDING * ROUNDING * trace))
                    continue;
                const double angle = (a[i * d + i] - a[j * d + j]) / (2 * apart);
                const double t = (angle < 0 ? -1 : 1) / (std::abs(angle) + std::sqrt(angle * angle + 1));
                const double c = 1 / std::sqrt(t * t + 1);
                turn(a, d, i, j, c, c * t);
                turn_columns(axes, d, d, i, j, c, c * t);
                a[i * d + j] = a[j * d + i] = 0;
                turned = 1;
            }
    }
    for (int64_t i = 0; i < d; ++i) {
        int64_t least = i;
        for (int64_t j = i + 1; j < d; ++j)
            if (a[j * d + j] < a[least * d + least]) least = j;
        if (least == i) continue;
        turn(a, d, i, least, 0, 1);
        turn_columns(axes, d, d, i, least, 0, 1);
    }
}

// -- variances along the axes ------------------------------------------------------------------------------------------

double mean_log(const double *s, int64_t d) {
    double sum = 0;
    for (int64_t j = 0; j < d; ++j) sum += std::log(s[j]);
    return sum / double(d);
}

// Volumes λ and one shape a in turns: λ a is most likely given s (k, d). `v` (k, d) is where they set out from, unless it
// is not known.
void one_shape(const double *s, const double *w, int64_t k, int64_t d, bool known, double *v) {
    Buffer<double> shape(d), next(d), volume(k);
    for (int64_t c = 0; c < k; ++c) {
        double sum = 0;
        for (int64_t j = 0; j < d; ++j) sum += s[c * d + j];
        for (int64_t j = 0; j < d; ++j) shape[j] += known ? std::log(v[c * d + j]) : w[c] * s[c * d + j] / sum;
    }
    for (int64_t j = 0; j < d; ++j) shape[j] = known ? std::exp(shape[j] / double(k)) : shape[j];
    for (int64_t round = 0; round < ROUNDS; ++round) {
        next.fill(0);
        for (int64_t c = 0; c < k; ++c) {
            volume[c] = 0;
            for (int64_t j = 0; j < d; ++j) volume[c] += s[c * d + j] / shape[j];
            volume[c] /= double(d) * w[c];
            for (int64_t j = 0; j < d; ++j) next[j] += s[c * d + j] / volume[c];
        }
        double total = 0, moved = 0, unit = 0;
        for (int64_t c = 0; c < k; ++c) total += w[c];
        for (int64_t j = 0; j < d; ++j) {
            next[j] /= total;
            moved = std::max(moved, std::abs(next[j] - shape[j]) / shape[j]);
            unit = std::max(unit, next[j]);
        }
        shape.swap(next);
        if (!(moved > REST) || !(unit < INF)) break;
    }
    for (int64_t c = 0; c < k; ++c) {
        volume[c] = 0;
        for (int64_t j = 0; j < d; ++j) volume[c] += s[c * d + j] / shape[j];
        for (int64_t j = 0; j < d; ++j) v[c * d + j] = volume[c] / (double(d) * w[c]) * shape[j];
    }
}

// The most likely variances v (k, d) given the scatter s (k, d) along the axes.
void variances(const Structure &rule, const double *s, const double *w, int64_t k, int64_t d, bool known, double *v) {
    double rows = 0;
    for (int64_t c = 0; c < k; ++c) rows += w[c];
    if (rule.shape == EQUAL && rule.volume == VARIABLE) return one_shape(s, w, k, d, known, v);
    if (rule.shape == VARIABLE && rule.volume == EQUAL) {
        double volume = 0;
        for (int64_t c = 0; c < k; ++c) volume += std::exp(mean_log(s + c * d, d)) / rows;
        for (int64_t c = 0; c < k; ++c) {
            const double own = volume / std::exp(mean_log(s + c * d, d));
            for (int64_t j = 0; j < d; ++j) v[c * d + j] = own * s[c * d + j];
        }
        return;
    }
    std::fill_n(v, k * d, 0.0);
    for (int64_t c = 0; c < k; ++c) {  // sums over what has one value; then everyone gets it
        double *own = rule.volume == EQUAL ? v : v + c * d;
        const double part = 1 / (rule.volume == EQUAL ? rows : w[c]);
        for (int64_t j = 0; j < d; ++j) own[j] += part * s[c * d + j];
    }
    for (int64_t c = 0; c < k; ++c) {
        double *own = v + c * d, sum = 0;
        if (rule.volume == EQUAL) std::copy_n(v, d, own);
        for (int64_t j = 0; j < d; ++j) sum += own[j] / double(d);
        if (rule.shape == NONE && (c == 0 || rule.volume == VARIABLE)) std::fill_n(own, d, sum);
    }
}

// -- axes --------------------------------------------------------------------------------------------------------------

// What common axes leave to be minimised, given the scatter along them.
double profile(const Structure &rule, const double *inner, const double *w, int64_t k, int64_t d) {
    double rows = 0, found = 0;
    for (int64_t c = 0; c < k; ++c) rows += w[c];
    for (int64_t c = 0; c < k; ++c) {
        double sum = 0;
        for (int64_t j = 0; j < d; ++j) sum += std::log(std::max(inner[c * d * d + j * (d + 1)], 1e-300)) / double(d);
        found += rule.volume == EQUAL ? std::exp(sum) : w[c] * sum;
    }
    return rule.volume == EQUAL ? rows * std::log(found) : found;
}

// One set of axes for all components: each pair of axes is turned to where it is best for the variances there are, and
// these follow (Flury and Gautschi 1986). Leaves the scatter along them in `s`.
void common_axes(const Structure &rule, const double *scatter, const double *w, int64_t k, int64_t d, Spectra &from,
                 double *s) {
    const int64_t size = d * d;
    Buffer<double> inner(k * size), half(size), tried(k * size), axes(size), pooled(size);
    const auto turn_all = [&](const double *to, double *out) {
        for (int64_t c = 0; c < k; ++c) along_axes(scatter + c * size, to, d, half, out + c * size);
    };
    const bool fresh = !from.known;
    if (fresh) {  // the best axes of the rows together, and of one component
        double best = INF;
        for (int64_t c = -1; c < k; ++c) {
            std::fill_n(pooled.get(), size, 0.0);
            for (int64_t m = 0; m < k; ++m)
                for (int64_t i = 0; i < size && (c < 0 || c == m); ++i) pooled[i] += scatter[m * size + i];
            identity(d, axes);
            diagonalize(pooled, d, axes);
            turn_all(axes, tried);
            const double found = profile(rule, tried, w, k, d);
            if (found < best) {
                best = found;
                std::copy_n(axes.get(), size, from.axes.get());
            }
        }
    }
    turn_all(from.axes, inner);
    const auto read = [&] {
        for (int64_t c = 0; c < k; ++c)
            for (int64_t j = 0; j < d; ++j) s[c * d + j] = inner[c * size + j * (d + 1)];
    };
    read();
    double *v = from.along;
    variances(rule, s, w, k, d, false, v);
    for (int64_t sweep = 0; sweep < (fresh ? SWEEPS : BRIEF); ++sweep) {
        double moved = 0;
        for (int64_t i = 0; i < d; ++i)
            for (int64_t j = i + 1; j < d; ++j) {
                double even = 0, odd = 0;
                for (int64_t c = 0; c < k; ++c) {
                    const double *a = inner + c * size, force = 1 / v[c * d + i] - 1 / v[c * d + j];
                    even += 0.5 * (a[i * (d + 1)] - a[j * (d + 1)]) * force;
                    odd += a[i * d + j] * force;
                }
                const double angle = 0.5 * std::atan2(-odd, -even), sine = std::sin(angle), cosine = std::cos(angle);
                if (!(std::abs(sine) > 1e-9)) continue;
                moved = std::max(moved, std::abs(sine));
                turn_columns(from.axes, d, d, i, j, cosine, sine);
                for (int64_t c = 0; c < k; ++c) {
                    turn(inner + c * size, d, i, j, cosine, sine);
                    if (rule.volume == EQUAL) continue;
                    v[c * d + i] = inner[c * size + i * (d + 1)] / w[c];
                    v[c * d + j] = inner[c * size + j * (d + 1)] / w[c];
                }
            }
        read();
        variances(rule, s, w, k, d, false, v);
        if (!(moved > STILL)) break;
    }
}

// One covariance up to a factor for each component, in turns.
bool proportional(const double *scatter, const double *w, int64_t k, int64_t d, Spectra &from, double *cov) {
    const int64_t size = d * d;
    double *shape = from.axes;  // of VEE no axes are asked for: the matrix itself
    Buffer<double> lower(size), inverse(size), form(size), volume(k), next(size);
    double rows = 0;
    for (int64_t c = 0; c < k; ++c) rows += w[c];
    if (!from.known) {
        std::fill_n(shape, size, 0.0);
        for (int64_t i = 0; i < k * size; ++i) shape[i % size] += scatter[i] / rows;
    }
    for (int64_t round = 0; round < ROUNDS; ++round) {
        if (!cholesky(shape, d, lower)) return false;
        invert(lower, d, inverse);
        for (int64_t i = 0; i < d; ++i)
            for (int64_t j = 0; j < d; ++j) {
                form[i * d + j] = 0;
                for (int64_t h = std::max(i, j); h < d; ++h) form[i * d + j] += inverse[h * d + i] * inverse[h * d + j];
            }
        double moved = 0;
        for (int64_t c = 0; c < k; ++c) {
            double sum = 0;
            for (int64_t i = 0; i < size; ++i) sum += form[i] * scatter[c * size + i];
            sum /= double(d) * w[c];
            if (!(sum > 0)) return false;
            moved = std::max(moved, std::abs(sum - volume[c]) / sum);
            volume[c] = sum;
        }
        if (!(moved > REST) || round + 1 == ROUNDS) break;
        next.fill(0);
        for (int64_t c = 0; c < k; ++c)
            for (int64_t i = 0; i < size; ++i) next[i] += scatter[c * size + i] / (volume[c] * rows);
        std::copy_n(next.get(), size, shape);
    }
    for (int64_t i = 0; i < k * size; ++i) cov[i] = volume[i / size] * shape[i % size];
    return true;
}

// axes diag(v) axesᵀ.
void build(const double *axes, const double *v, int64_t d, double *cov) {
    for (int64_t i = 0; i < d; ++i)
        for (int64_t j = 0; j <= i; ++j) {
            double sum = 0;
            for (int64_t h = 0; h < d; ++h) sum += axes[i * d + h] * v[h] * axes[j * d + h];
            cov[i * d + j] = cov[j * d + i] = sum;
        }
}

}  // namespace

void Spectra::find(const Structure &rule, const double *cov, int64_t k, int64_t d) {
    constexpr double MIX = 0.6180339887498949;  // weights of components that no accident makes equal
    const int64_t size = d * d;
    Buffer<double> mixed(size), half(size), inner(size);
    known = true;
    if (rule.orientation == EQUAL && rule.shape == EQUAL) {
        std::copy_n(cov, size, axes.get());
        return;
    }
    bool round = rule.orientation != NONE;
    for (int64_t c = 0; c < k; ++c) {
        double trace = 0;
        for (int64_t i = 0; i < d; ++i) trace += cov[c * size + i * (d + 1)];
        const double part = MIX * double(c + 1);
        for (int64_t i = 0; i < size; ++i) {
            mixed[i] += (1 + part - std::floor(part)) / trace * cov[c * size + i];
            const double even = i % (d + 1) ? 0.0 : trace / double(d);
            round = round && std::abs(cov[c * size + i] - even) <= 1e-9 * trace;
        }
    }
    known = !round;
    for (int64_t c = 0; c < k; ++c) {
        double *own = axes + (rule.orientation == EQUAL ? 0 : c * size);
        if (c == 0 || rule.orientation != EQUAL) {
            identity(d, own);
            std::copy_n(rule.orientation == EQUAL ? mixed.get() : cov + c * size, size, half.get());
            if (rule.orientation != NONE) diagonalize(half, d, own);
        }
        along_axes(cov + c * size, own, d, half, inner);
        for (int64_t j = 0; j < d; ++j) along[c * d + j] = inner[j * (d + 1)];
    }
}

bool maximise(const Structure &rule, const double *scatter, const double *weight, int64_t k, int64_t d, Spectra &from,
              double *cov) {
    const int64_t size = d * d;
    if (rule.orientation == EQUAL && rule.shape == EQUAL && rule.volume == EQUAL) {
        double rows = 0;
        for (int64_t c = 0; c < k; ++c) rows += weight[c];
        std::fill_n(cov, size, 0.0);
        for (int64_t i = 0; i < k * size; ++i) cov[i % size] += scatter[i] / rows;
        for (int64_t c = 1; c < k; ++c) std::copy_n(cov, size, cov + c * size);
        return true;
    }
    if (rule.orientation == EQUAL && rule.shape == EQUAL) {
        const bool found = proportional(scatter, weight, k, d, from, cov);
        from.known = found;
        return found;
    }
    Buffer<double> s(k * d), inner(size), half(size);
    if (rule.orientation == EQUAL) {
        common_axes(rule, scatter, weight, k, d, from, s);
    } else {
        for (int64_t c = 0; c < k; ++c) {
            double *own = from.axes + c * size;
            if (!from.known) identity(d, own);
            if (rule.orientation == VARIABLE) {
                along_axes(scatter + c * size, own, d, half, inner);
                diagonalize(inner, d, own);
            } else {
                std::copy_n(scatter + c * size, size, inner.get());
            }
            for (int64_t j = 0; j < d; ++j) s[c * d + j] = inner[j * (d + 1)];
        }
        variances(rule, s, weight, k, d, from.known, from.along);
    }
    from.known = true;
    for (int64_t i = 0; i < k * d; ++i)
        if (!(from.along[i] > 0) || !is_finite(from.along[i])) return from.known = false;
    for (int64_t c = 0; c < k; ++c)
        build(from.axes + (rule.orientation == EQUAL ? 0 : c * size), from.along + c * d, d, cov + c * size);
    return true;
}

}  // namespace suffice
