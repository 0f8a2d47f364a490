// Roots of small matrices, and their inverses.
#pragma once

#include "vec.h"

namespace suffice {

// The lower triangle L with L Lᵀ = a (d, d); whether there is one.
inline bool cholesky(const double *a, int64_t d, double *lower) {
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
inline void invert(const double *lower, int64_t d, double *inverse) {
    for (int64_t j = 0; j < d; ++j) {
        inverse[j * d + j] = 1 / lower[j * d + j];
        for (int64_t i = j + 1; i < d; ++i) {
            double left = 0;
            for (int64_t h = j; h < i; ++h) left -= lower[i * d + h] * inverse[h * d + j];
            inverse[i * d + j] = left / lower[i * d + i];
        }
    }
}

}  // namespace suffice
