// What HIP's mathematical functions are, in quadruple precision, each as a double and the rest in
// units in its last place: for measure_math.py.
#include <quadmath.h>

using Quad = __float128;

static Quad exp2_of(Quad x) { return expq(x * M_LN2q); }
static Quad exp10_of(Quad x) { return expq(x * M_LN10q); }
static Quad rsqrt_of(Quad x) { return 1 / sqrtq(x); }
static Quad rcbrt_of(Quad x) { return 1 / cbrtq(x); }
static Quad rhypot_of(Quad x, Quad y) { return 1 / hypotq(x, y); }
static Quad sinpi_of(Quad x) {
  const Quad rest = remainderq(x, 2);
  if (rest == rintq(rest)) return 0;
  return fabsq(rest) > 0.5Q ? copysignq(sinq((1 - fabsq(rest)) * M_PIq), rest) : sinq(rest * M_PIq);
}
static Quad cospi_of(Quad x) { return sinpi_of(0.5Q - fabsq(remainderq(x, 2))); }
static Quad erfcx_of(Quad x) {
  if (x < 40) return expq(x * x) * erfcq(x);
  Quad term = 1, sum = 0;
  for (int k = 1; k < 60 && fabsq(term) > 1e-36Q; ++k) sum += term, term *= -(2 * k - 1) / (2 * x * x);
  return sum / (x * sqrtq(M_PIq));
}
static Quad erfcinv_of(Quad y) {
  if (y > 1) return -erfcinv_of(2 - y);
  if (y == 1 || y == 0) return y == 1 ? 0 : HUGE_VALQ;
  const bool near = y > 0.5Q;
  Quad x = near ? (1 - y) * 0.886Q : sqrtq(fmaxq(-logq(y * 1.5Q), 0.1Q));
  for (int i = 0; i < 60; ++i) {
    const Quad scaled = near ? 0 : erfcx_of(x);
    const Quad step = near ? (erfq(x) - (1 - y)) / (M_2_SQRTPIq * expq(-x * x))
                           : -(logq(scaled) - x * x - logq(y)) * scaled / M_2_SQRTPIq;
    x -= step;
    if (fabsq(step) < 1e-31Q * fabsq(x)) break;
  }
  return x;
}
static Quad erfinv_of(Quad x) { return x == 0 ? x : copysignq(erfcinv_of(1 - fabsq(x)), x); }
static Quad normcdf_of(Quad x) { return erfcq(-x * M_SQRT1_2q) / 2; }
static Quad normcdfinv_of(Quad y) { return -M_SQRT2q * erfcinv_of(2 * y); }
static Quad bessel_i(int order, Quad x) {
  const Quad a = fabsq(x), square = a * a / 4;
  Quad term = 1, sum = 0;
  if (a < 60) {
    for (int k = 1; k < 500 && term >= sum * 1e-35Q; ++k) sum += term, term *= square / (k * Quad(k + order));
    return order == 0 ? sum : sum * x / 2;
  }
  for (int k = 1; k < 200 && fabsq(term) > 1e-36Q; ++k) {
    sum += term;
    term *= -(4 * order - Quad(2 * k - 1) * (2 * k - 1)) / (8 * a * k);
  }
  return copysignq(sum * expq(a) / sqrtq(2 * M_PIq * a), order == 0 ? a : x);
}
static Quad cyl_bessel_i0_of(Quad x) { return bessel_i(0, x); }
static Quad cyl_bessel_i1_of(Quad x) { return bessel_i(1, x); }

static void store(Quad value, double* high, double* low) {
  *high = static_cast<double>(value);
  int exponent;
  frexpq(*high, &exponent);
  *low = static_cast<double>(ldexpq(value - *high, exponent < -1021 ? 1074 : 53 - exponent));
}
#define ONE(name, function)                                                                     \
  extern "C" void name(const double* x, const double*, double* high, double* low, long count) { \
    for (long i = 0; i < count; ++i) store(function(x[i]), high + i, low + i);                  \
  }
#define TWO(name, function)                                                                       \
  extern "C" void name(const double* x, const double* y, double* high, double* low, long count) { \
    for (long i = 0; i < count; ++i) store(function(x[i], y[i]), high + i, low + i);              \
  }

// clang-format off
// Under the functions' own names with truth_ before them.
#define OF_LIBRARY(F)                                                                                                 \
  F(acos) F(acosh) F(asin) F(asinh) F(atan) F(atanh) F(cbrt) F(ceil) F(cos) F(cosh) F(erf) F(erfc) F(exp) F(expm1)    \
  F(fabs) F(floor) F(j0) F(j1) F(lgamma) F(log) F(log10) F(log1p) F(log2) F(logb) F(nearbyint) F(rint) F(round)       \
  F(sin) F(sinh) F(sqrt) F(tan) F(tanh) F(tgamma) F(trunc) F(y0) F(y1)
#define OF_OURS(F)                                                                                                    \
  F(cospi) F(cyl_bessel_i0) F(cyl_bessel_i1) F(erfcinv) F(erfcx) F(erfinv) F(exp10) F(exp2) F(normcdf) F(normcdfinv)  \
  F(rcbrt) F(rsqrt) F(sinpi)
#define OF_LIBRARY_2(F) F(atan2) F(copysign) F(fdim) F(fmax) F(fmin) F(fmod) F(hypot) F(pow) F(remainder)
// clang-format on
#define LIBRARY_ONE(name) ONE(truth_##name, name##q)
#define OUR_ONE(name) ONE(truth_##name, name##_of)
#define LIBRARY_TWO(name) TWO(truth_##name, name##q)
OF_LIBRARY(LIBRARY_ONE)
OF_OURS(OUR_ONE)
OF_LIBRARY_2(LIBRARY_TWO)
TWO(truth_rhypot, rhypot_of)
