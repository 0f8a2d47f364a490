// Small symmetric matrices, and the covariances of components that may share volume, shape or orientation.
#pragma once

#include "cholesky.h"

namespace suffice {

// Σ = λ D A Dᵀ with |A| = 1: what volume λ, shape A and orientation D of the components are to each other.
enum Letter : int64_t { EQUAL, VARIABLE, NONE };

struct Structure {
    int64_t volume, shape, orientation;

    explicit Structure(int64_t letters) : volume(letters % 3), shape(letters / 3 % 3), orientation(letters / 9) {}
    bool unrestricted() const { return volume == VARIABLE && shape == VARIABLE && orientation == VARIABLE; }
    bool free_shape() const { return shape == VARIABLE && (volume == EQUAL || orientation != EQUAL); }
};

// What an M-step sets out from: the axes (k, d, d), as columns, and the variances (k, d) along them. Where components
// have the same axes the first are those of all.
struct Spectra {
    Buffer<double> axes, along;
    bool known = false;

    Spectra(int64_t k, int64_t d) : axes(k * d * d), along(k * d) {}
    void copy(Spectra &other) {
        std::copy_n(other.axes.get(), axes.size(), axes.get());
        std::copy_n(other.along.get(), along.size(), along.get());
        known = other.known;
    }
    void swap(Spectra &other) {
        axes.swap(other.axes);
        along.swap(other.along);
        std::swap(known, other.known);
    }
    void find(const Structure &structure, const double *cov, int64_t k, int64_t d);
};

// The covariances (k, d, d) of a structure that are most likely given the scatter (k, d, d) of components of these
// weights, or more likely than those of `from`, which become theirs; whether there are such.
bool maximise(const Structure &structure, const double *scatter, const double *weight, int64_t k, int64_t d,
              Spectra &from, double *cov);

}  // namespace suffice
