// Vectors, and the functions of them that all kernels share.
//
// A vector is a type of the compiler (GCC, Clang): + − · / < and ?: work lane by lane, and the same templates serve
// numbers. Loops that the compiler can make vectors of by itself are written plainly, with `#pragma omp simd` where a
// sum may be reordered.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

// Export function pointers by name: KERNEL(sums_f64, sums<double>), KERNEL_REAL(sums) for both float types,
// KERNEL_LEVEL(counts) for the integer types of levels. `suffice.kernels.native` declares what the arguments are.
#define KERNEL(name, ...)                                                                                              \
    extern "C" __attribute__((visibility("default"))) decltype(&__VA_ARGS__) const suffice_##name;                     \
    decltype(&__VA_ARGS__) const suffice_##name = &__VA_ARGS__;
#define KERNEL_REAL(name) KERNEL(name##_f64, name<double>) KERNEL(name##_f32, name<float>)
#define KERNEL_LEVEL(name)                                                                                             \
    KERNEL(name##_i64, name<int64_t>)                                                                                  \
    KERNEL(name##_i32, name<int32_t>)                                                                                  \
    KERNEL(name##_i16, name<int16_t>)                                                                                  \
    KERNEL(name##_i8, name<int8_t>)

namespace suffice {

using std::int16_t, std::int32_t, std::int64_t, std::int8_t, std::size_t, std::uint64_t;

#if defined(__AVX512F__)
inline constexpr int LANES = 8;
#else
inline constexpr int LANES = 4;  // two registers each where these hold two numbers
#endif

template <class T, int W> struct VecOf {
    typedef T type __attribute__((vector_size(W * sizeof(T))));
};
template <class T, int W = LANES> using Vec = typename VecOf<T, W>::type;
using V = Vec<double>;

inline constexpr double INF = std::numeric_limits<double>::infinity();
inline constexpr double NAN_ = std::numeric_limits<double>::quiet_NaN();
inline constexpr double LOG_2PI = 1.8378770664093454836;

constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
constexpr bool is_nan(double x) { return x != x; }
constexpr bool is_finite(double x) { return x - x == 0; }

// -- memory ------------------------------------------------------------------------------------------------------------

// Zeros on whole cache lines, with a vector to spare behind the end.
template <class T> class Buffer {
  public:
    explicit Buffer(int64_t size) : size_(size), data_(allocate(size)) {}
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() { ::operator delete(data_, std::align_val_t(64)); }
    operator T *() { return data_; }
    T *get() { return data_; }
    int64_t size() const { return size_; }
    void fill(T value) { std::fill_n(data_, size_, value); }
    void swap(Buffer &other) {
        std::swap(size_, other.size_);
        std::swap(data_, other.data_);
    }

  private:
    static T *allocate(int64_t size) {
        const size_t bytes = (size_t(size) + 64 / sizeof(T)) * sizeof(T);
        void *found = ::operator new(bytes, std::align_val_t(64));
        std::memset(found, 0, bytes);
        return static_cast<T *>(found);
    }
    int64_t size_;
    T *data_;
};

// load<W>(p): W cells in a row, of double or float, as doubles; store<W>(p, v). Nothing need be aligned.
template <int W = LANES> inline Vec<double, W> load(const double *p) {
    Vec<double, W> v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <int W = LANES> inline Vec<double, W> load(const float *p) {
    Vec<float, W> v;
    std::memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, Vec<double, W>);
}
template <int W = LANES> inline void store(double *p, Vec<double, W> v) { std::memcpy(p, &v, sizeof v); }

template <int W = LANES> inline Vec<double, W> fill(double x) { return x - Vec<double, W>{}; }

// Every step-th cell, and the cells at places.
template <int W = LANES, class T> inline Vec<double, W> strided(const T *p, int64_t step) {
    Vec<double, W> v;
    for (int i = 0; i < W; ++i) v[i] = double(p[i * step]);
    return v;
}
template <int W = LANES, class I> inline Vec<double, W> gather(const double *p, const I *places) {
    Vec<double, W> v;
    for (int i = 0; i < W; ++i) v[i] = p[places[i]];
    return v;
}

// The first `count` cells, and zeros.
template <int W = LANES, class T> inline Vec<double, W> load_part(const T *p, int64_t count) {
    Vec<double, W> v{};
    for (int i = 0; i < W && i < count; ++i) v[i] = double(p[i]);
    return v;
}
template <int W = LANES> inline void store_part(double *p, Vec<double, W> v, int64_t count) {
    for (int i = 0; i < W && i < count; ++i) p[i] = v[i];
}

// Σ of the lanes, by halves.
template <class X> inline double total(X v) {
    constexpr int W = int(sizeof(X) / sizeof(double));
    if constexpr (W == 2) {
        return v[0] + v[1];
    } else {
        Vec<double, W / 2> halves[2];
        std::memcpy(halves, &v, sizeof v);
        return total(halves[0] + halves[1]);
    }
}

// Rows of x (count, d), less the pivot (d,) unless it is null, as columns of out (d, stride).
template <class T>
inline void transpose(const T *x, int64_t count, int64_t d, const double *pivot, double *out, int64_t stride) {
    const int64_t whole = count - count % LANES;
    for (int64_t j = 0; j < d; ++j) {
        const double p = pivot ? pivot[j] : 0.0;
        double *column = out + j * stride;
        for (int64_t t = 0; t < whole; t += LANES) store(column + t, strided(x + t * d + j, d) - p);
        for (int64_t t = whole; t < count; ++t) column[t] = double(x[t * d + j]) - p;
    }
}

// -- products of matrices ----------------------------------------------------------------------------------------------

// sums[i][j] += Σ_t a[i, t] b[j, t] for a tile of R × C rows, n a multiple of LANES; the sums stay in registers.
template <int R, int C>
inline void multiply_tile(const double *a, int64_t a_stride, const double *b, int64_t b_stride, int64_t n,
                          double (&sums)[R][C]) {
    V held[R][C] = {};
    for (int64_t t = 0; t < n; t += LANES) {
        V other[C];
        for (int j = 0; j < C; ++j) other[j] = load(b + j * b_stride + t);
        for (int i = 0; i < R; ++i) {
            const V one = load(a + i * a_stride + t);
            for (int j = 0; j < C; ++j) held[i][j] += one * other[j];
        }
    }
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) sums[i][j] += total(held[i][j]);
}

// -- exp, log, softmax: of numbers and of vectors ----------------------------------------------------------------------

template <class X, class I> struct BitsOf {
    using type = Vec<I, int(sizeof(X) / 8)>;
};
template <class I> struct BitsOf<double, I> {
    using type = I;
};
template <class X> using Bits = typename BitsOf<X, int64_t>::type;
template <class X> using Unsigned = typename BitsOf<X, uint64_t>::type;
template <class X> inline Bits<X> bits(X x) {
    Bits<X> b;
    std::memcpy(&b, &x, sizeof x);
    return b;
}
template <class X> inline X from_bits(Bits<X> b) {
    X x;
    std::memcpy(&x, &b, sizeof x);
    return x;
}

inline constexpr double LN2_HIGH = 6.93147180369123816490e-01;  // times an exponent it is exact
inline constexpr double LN2_LOW = 1.90821492927058770002e-10;
inline constexpr double ROUND = 0x1.8p52;  // added and subtracted it rounds to a whole number, the last bits of the sum
inline constexpr double LEAST = -708;      // exp of less would be subnormal
inline constexpr double FADED = -600;      // as in the definition: a share of less is none

// exp x of x ≤ 709, within 3e-16; below −708 it is 0, and NaN stays NaN. A Taylor series of degree 12.
template <class X> inline X exp(X x) {
    const X t = x * 1.4426950408889634074 + ROUND;
    const X n = t - ROUND;
    const X r = (x - n * LN2_HIGH) - n * LN2_LOW;
    X p = r * (1.0 / 479001600) + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const X scaled = from_bits<X>(Bits<X>(Unsigned<X>(bits(p)) + (Unsigned<X>(bits(t)) << 52)));
    return x < LEAST ? X{} : scaled;
}

// log x of a normal number x > 0; NaN stays NaN. A series in (m − 1) / (m + 1), x = m 2ⁿ, √½ ≤ m < √2.
template <class X> inline X log(X x) {
    constexpr int64_t ROOT_HALF = 0x3FE6A09E667F3BCD, BIAS = 1024;
    using U = Unsigned<X>;
    const Bits<X> raw = bits(x);
    const Bits<X> n = Bits<X>((U(raw) - uint64_t(ROOT_HALF) + (uint64_t(BIAS) << 52)) >> 52) - BIAS;
    const X m = from_bits<X>(Bits<X>(U(raw) - (U(n) << 52)));
    const X exponent = from_bits<X>(n + std::bit_cast<int64_t>(ROUND)) - ROUND;
    const X f = (m - 1.0) / (m + 1.0);
    const X s = f * f;
    X p = s * (1.0 / 21) + 1.0 / 19;
    p = p * s + 1.0 / 17;
    p = p * s + 1.0 / 15;
    p = p * s + 1.0 / 13;
    p = p * s + 1.0 / 11;
    p = p * s + 1.0 / 9;
    p = p * s + 1.0 / 7;
    p = p * s + 1.0 / 5;
    p = p * s + 1.0 / 3;
    const X y = exponent * LN2_HIGH + (2.0 * f + (2.0 * f * s * p + exponent * LN2_LOW));
    return x == x ? y : x;
}

struct Softmax {
    double log_likelihood, entropy;
};

// Turn logits (k, stride), b rows of each, into scale (b,) · r, r the shares of the k; gives Σ scale log Σ exp and
// −Σ scale r log r. Without a scale it is 1, and one logarithm serves four rows. A logit of −inf, or 600 below the
// largest, has share 0; a row of nothing but −inf has no shares, and makes the first answer −inf. NaN shows in both.
// b must not exceed 1024: work goes by blocks.
Softmax softmax(double *logits, int64_t stride, int64_t k, int64_t b, const double *scale);

}  // namespace suffice
