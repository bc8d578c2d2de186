// Polynomials and constants, each with what it stands for. tools/generate_math.py makes this file.
// clang-format off
#pragma once

namespace wave_device {

// Horner's rule, from the highest coefficient downwards.
__device__ __forceinline__ double polynomial(double x, const double* coefficients, int count) {
  double value = coefficients[0];
#pragma unroll
  for (int i = 1; i < count; ++i) value = __builtin_fma(value, x, coefficients[i]);
  return value;
}

// log(2); the first part times an exponent is exact
constexpr double kLog2High = 0x1.62e42fefa3000p-1;
constexpr double kLog2Low = 0x1.3de6af278ece6p-42;

// log10(2); the first part times an exponent is exact
constexpr double kLog10Of2High = 0x1.34413509f7000p-2;
constexpr double kLog10Of2Low = 0x1.3fde623e2566bp-43;

// 1 / log(2)
constexpr double kPerLog2High = 0x1.71547652b82fep+0;
constexpr double kPerLog2Low = 0x1.777d0ffda0d24p-56;

// 1 / log(10)
constexpr double kPerLog10High = 0x1.bcb7b1526e50ep-2;
constexpr double kPerLog10Low = 0x1.95355baaafad3p-57;

// log(10)
constexpr double kLog10High = 0x1.26bb1bbb55516p+1;
constexpr double kLog10Low = -0x1.f48ad494ea3e9p-53;

// log(2)
constexpr double kNaturalOf2High = 0x1.62e42fefa39efp-1;
constexpr double kNaturalOf2Low = 0x1.abc9e3b39803fp-56;

// pi / 2
constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0;
constexpr double kHalfPiLow = 0x1.1a62633145c07p-54;

// pi
constexpr double kPiHigh = 0x1.921fb54442d18p+1;
constexpr double kPiLow = 0x1.1a62633145c07p-53;

// 2 / pi
constexpr double kPerHalfPiHigh = 0x1.45f306dc9c883p-1;
constexpr double kPerHalfPiMiddle = -0x1.6b01ec5417056p-55;
constexpr double kPerHalfPiLow = -0x1.6447e493ad4cep-109;

// sqrt(1 / 2)
constexpr double kRootHalfHigh = 0x1.6a09e667f3bcdp-1;
constexpr double kRootHalfLow = -0x1.bdd3413b26456p-55;

// (1 + 2 x) exp(x^2) erfc(x) at x = 4
constexpr double kErfcMiddleHigh = 0x1.3ba5916e9fd7fp+0;
constexpr double kErfcMiddleLow = -0x1.aa9c415679e6fp-55;

// 1 - g, where g is Euler's constant
constexpr double kGammaSlopeHigh = 0x1.b0ee6072093cep-2;
constexpr double kGammaSlopeLow = 0x1.6cb90701fbfabp-58;

// log(2 pi) / 2
constexpr double kLogRootTwoPiHigh = 0x1.d67f1c864beb5p-1;
constexpr double kLogRootTwoPiLow = -0x1.65b5a1b7ff5dfp-55;

// 2 / pi in words of 64 bits, after one of zeros.
__constant__ constexpr unsigned long kTwoOverPi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

// (exp(r) - 1 - r - r^2 / 2) / r^3, |r| <= log(2) / 2; relative error 1.1e-16.
__constant__ constexpr double kExpTail[] = {
    0x1.1f66df7fca49fp-29, 0x1.af38a9b0ec855p-26, 0x1.27e4e1f48534fp-22, 0x1.71de0dae63bb3p-19,
    0x1.a01a01a47b054p-16, 0x1.a01a01a7c41d5p-13, 0x1.6c16c16c167e1p-10, 0x1.11111111109b3p-7,
    0x1.5555555555555p-5, 0x1.5555555555556p-3};
__device__ __forceinline__ double exp_tail(double r) {
  return polynomial(r, kExpTail, 10);
}

// (exp(r) - 1 - r) / r^2, |r| <= log(2) / 2; relative error 2.5e-9.
__constant__ constexpr double kExpTailF32[] = {
    0x1.a124f19fe89acp-13, 0x1.6d43246b523b4p-10, 0x1.1110e0f238322p-7, 0x1.5554e9063586ep-5,
    0x1.5555555a78ed4p-3, 0x1.0000000b9129bp-1};
__device__ __forceinline__ double exp_tail_f32(double r) {
  return polynomial(r, kExpTailF32, 6);
}

// (log((1 + s) / (1 - s)) - 2 s - 2/3 s^3) / s^5, z = s^2; relative error 5.4e-17.
__constant__ constexpr double kLogTail[] = {
    0x1.b8d2ce0baf5e8p-4, 0x1.ac4ab12e9f860p-4, 0x1.e1f7f8b33879dp-4, 0x1.1110dfb2433c1p-3,
    0x1.3b13b1bc64d9dp-3, 0x1.745d17451376fp-3, 0x1.c71c71c71cfd7p-3, 0x1.2492492492491p-2,
    0x1.999999999999ap-2};
__device__ __forceinline__ double log_tail(double z) {
  return polynomial(z, kLogTail, 9);
}

// (log((1 + s) / (1 - s)) - 2 s) / s^3, z = s^2; relative error 6.9e-14.
__constant__ constexpr double kLogTailF32[] = {
    0x1.546a3155bacbfp-3, 0x1.7382dbfa1ce75p-3, 0x1.c71fccd953895p-3, 0x1.2492462af84abp-2,
    0x1.9999999b8677ap-2, 0x1.55555555553b8p-1};
__device__ __forceinline__ double log_tail_f32(double z) {
  return polynomial(z, kLogTailF32, 6);
}

// (sin(r) - r) / r^3, z = r^2, |r| <= pi / 4; relative error 5.6e-17.
__constant__ constexpr double kSinTail[] = {
    -0x1.ab17a79237a19p-41, 0x1.61217ec01749dp-33, -0x1.ae64541266378p-26, 0x1.71de3a54605eep-19,
    -0x1.a01a01a019936p-13, 0x1.1111111111110p-7, -0x1.5555555555555p-3};
__device__ __forceinline__ double sin_tail(double z) {
  return polynomial(z, kSinTail, 7);
}

// (sin(r) - r) / r^3, z = r^2, |r| <= pi / 4; relative error 1.7e-10.
__constant__ constexpr double kSinTailF32[] = {
    0x1.6dbdd26f56d2dp-19, -0x1.a013a6edc8f34p-13, 0x1.11110deeb33b2p-7, -0x1.555555545dd83p-3};
__device__ __forceinline__ double sin_tail_f32(double z) {
  return polynomial(z, kSinTailF32, 4);
}

// (cos(r) - 1 + r^2 / 2) / r^4, z = r^2, |r| <= pi / 4; relative error 5.6e-17.
__constant__ constexpr double kCosTail[] = {
    0x1.ab783376962cfp-45, -0x1.9394b9c9c20a4p-37, 0x1.1eed8deb6d561p-29, -0x1.27e4fb7712bdfp-22,
    0x1.a01a01a019d0ap-16, -0x1.6c16c16c16c16p-10, 0x1.5555555555555p-5};
__device__ __forceinline__ double cos_tail(double z) {
  return polynomial(z, kCosTail, 7);
}

// (cos(r) - 1 + r^2 / 2) / r^4, z = r^2, |r| <= pi / 4; relative error 5.6e-11.
__constant__ constexpr double kCosTailF32[] = {
    -0x1.25242a3a17327p-22, 0x1.a015c40ec65ecp-16, -0x1.6c16bf5495185p-10, 0x1.5555555502be6p-5};
__device__ __forceinline__ double cos_tail_f32(double z) {
  return polynomial(z, kCosTailF32, 4);
}

// (atan(t) - t) / t^3, z = t^2, |t| <= sqrt(2) - 1; relative error 5.5e-17.
__constant__ constexpr double kAtanTail[] = {
    0x1.0ac7d2dc4c828p-6, -0x1.1b2e7e3386b79p-5, 0x1.74dbcb5c2167ap-5, -0x1.ac7a216389ddfp-5,
    0x1.e19a0439b3b4bp-5, -0x1.110e875de57ebp-4, 0x1.3b1392d04b71cp-4, -0x1.745d165d9ee17p-4,
    0x1.c71c71c30300bp-4, -0x1.249249248d7cap-3, 0x1.9999999999953p-3, -0x1.5555555555555p-2};
__device__ __forceinline__ double atan_tail(double z) {
  return polynomial(z, kAtanTail, 12);
}

// (atan(t) - t) / t^3, z = t^2, |t| <= sqrt(2) - 1; relative error 1.6e-9.
__constant__ constexpr double kAtanTailF32[] = {
    0x1.9d82b422820a2p-5, -0x1.6142a652e8cdbp-4, 0x1.c57b7511769c5p-4, -0x1.248a15aea4f3ep-3,
    0x1.99997b0c8f05dp-3, -0x1.5555554c08459p-2};
__device__ __forceinline__ double atan_tail_f32(double z) {
  return polynomial(z, kAtanTailF32, 6);
}

// (asin(x) - x) / x^3, z = x^2, |x| <= 1/2; relative error 5.0e-17.
__constant__ constexpr double kAsinTail[] = {
    0x1.e529c6fce9bb4p-6, -0x1.3b416bb7d9257p-6, 0x1.406192d124629p-6, 0x1.8f193743418ffp-9,
    0x1.31622469ce5adp-7, 0x1.3b49de7121487p-7, 0x1.7b027ee1dd585p-7, 0x1.c990ad3d8fdcap-7,
    0x1.1c4efce23019fp-6, 0x1.6e8ba123e494cp-6, 0x1.f1c71c7a52ba3p-6, 0x1.6db6db6dac1e0p-5,
    0x1.3333333333388p-4, 0x1.5555555555555p-3};
__device__ __forceinline__ double asin_tail(double z) {
  return polynomial(z, kAsinTail, 14);
}

// (asin(x) - x) / x^3, z = x^2, |x| <= 1/2; relative error 1.3e-9.
__constant__ constexpr double kAsinTailF32[] = {
    0x1.fb7ca379d49c6p-6, 0x1.5a80a068e3ee2p-7, 0x1.82db23768c84fp-6, 0x1.efedf83ab6506p-6,
    0x1.6dc0f007c13e8p-5, 0x1.33331ecf8b70bp-4, 0x1.5555555c0171dp-3};
__device__ __forceinline__ double asin_tail_f32(double z) {
  return polynomial(z, kAsinTailF32, 7);
}

// (erf(x) - x) / x, z = x^2, |x| <= 1; relative error 7.9e-17.
__constant__ constexpr double kErfTail[] = {
    -0x1.29b9f1b3df556p-38, 0x1.7f072188e194dp-34, -0x1.4e607b41a6416p-30, 0x1.fc4356498c2d9p-27,
    -0x1.5f6d925a0bc7ap-23, 0x1.b9e6509b9867dp-20, -0x1.f4d2561aeafd4p-17, 0x1.f9a326c233146p-14,
    -0x1.c02db3feeb579p-11, 0x1.565bcd0e6502dp-8, -0x1.b82ce312889bap-6, 0x1.ce2f21a042bdep-4,
    -0x1.812746b0379e7p-2, 0x1.06eba8214db69p-3};
__device__ __forceinline__ double erf_tail(double z) {
  return polynomial(z, kErfTail, 14);
}

// erf(x) / x, z = x^2, |x| <= 1; relative error 7.4e-13.
__constant__ constexpr double kErfTailF32[] = {
    0x1.1c41ab6eec487p-20, -0x1.d2b8522d6f7cbp-17, 0x1.f57e9cee106c1p-14, -0x1.bfe158a7be278p-11,
    0x1.56588b32275a7p-8, -0x1.b82cbae7577a7p-6, 0x1.ce2f20a7415c6p-4, -0x1.812746ade3c08p-2,
    0x1.20dd750428cb9p+0};
__device__ __forceinline__ double erf_tail_f32(double z) {
  return polynomial(z, kErfTailF32, 9);
}

// erf(5/2 + u), |u| <= 3/2; relative error 7.0e-10.
__constant__ constexpr double kErfFarF32[] = {
    0x1.2658fba46c2dep-26, -0x1.790f015546bf7p-22, 0x1.8b00a3334492fp-21, 0x1.d0993514f6e58p-19,
    -0x1.fc7bd3a51ea27p-17, 0x1.04633ef602eefp-17, 0x1.4fa381c18a601p-14, -0x1.09bdb3361889ep-12,
    0x1.107e1f7e64421p-12, 0x1.1d7ed557a1d8ap-11, -0x1.6ec44d2c035b8p-9, 0x1.90db44d87c901p-8,
    -0x1.1a8a199f7e980p-7, 0x1.119ea84a198d3p-7, -0x1.64e3d3da91a2ep-8, 0x1.1d82e5a451ff1p-9,
    0x1.ffcaa8f4c9beap-1};
__device__ __forceinline__ double erf_far_f32(double u) {
  return polynomial(u, kErfFarF32, 17);
}

// (g(t) - g(0)) / t, g = (1 + 2 x) exp(x^2) erfc(x), t = (x - 4) / (x + 4), x >= 0; relative error 6.5e-17.
__constant__ constexpr double kErfcScaledRest[] = {
    0x1.8befd4c91ed9cp-35, -0x1.3ab58f87cfb03p-33, -0x1.32d975f6bf7fbp-31, 0x1.f5d7df6dfda90p-30,
    0x1.13752fa784de0p-28, -0x1.fcc3a5268653fp-27, -0x1.79507c1074f79p-26, 0x1.d98825ca9deb5p-24,
    0x1.53384022fb9bap-24, -0x1.baf5e74545cc2p-21, 0x1.3853089609b6ap-22, 0x1.7f2545048fbf3p-18,
    -0x1.788169bd1821ep-17, -0x1.9958e21c32f5cp-16, 0x1.3be0323f38a55p-13, -0x1.a1df289a58f28p-13,
    -0x1.8d4a9988b4b09p-11, 0x1.49c6728a1a0f0p-8, -0x1.0962388550ef9p-6, 0x1.3079edf67777bp-5,
    -0x1.0fb06dfe488c8p-4, 0x1.7fee004e1295bp-4, -0x1.9ddb23c3e9119p-4, 0x1.16ecefcfa5383p-4,
    0x1.f7f5df66fd7bfp-7, -0x1.1df1ad154a28ep-3};
__device__ __forceinline__ double erfc_scaled_rest(double t) {
  return polynomial(t, kErfcScaledRest, 26);
}

// (log(gamma(2 + u)) - (1 - g) u) / u^2, |u| <= 1/2, g = Euler's constant; relative error 5.0e-17.
__constant__ constexpr double kGammaTail[] = {
    -0x1.053cd872da621p-25, 0x1.11fa5e7c86f7bp-24, -0x1.9ccd7c02d9245p-24, 0x1.b40adb09a1e12p-23,
    -0x1.e3c69f8357e6ap-22, 0x1.012012be3900ap-20, -0x1.11aad44c3e406p-19, 0x1.258f3057730fap-18,
    -0x1.3cbccfc2650d6p-17, 0x1.580e0afa55850p-16, -0x1.78de5adfa4127p-15, 0x1.a127afee53e7dp-14,
    -0x1.d3fd4c7938767p-13, 0x1.0b36af8779ca0p-11, -0x1.38ac5c2bf7600p-10, 0x1.7add6eadb5317p-9,
    -0x1.e404fc218f5fdp-8, 0x1.51322ac7d848ap-6, -0x1.13e001a557607p-4, 0x1.4a34cc4a60fa6p-2};
__device__ __forceinline__ double gamma_tail(double u) {
  return polynomial(u, kGammaTail, 20);
}

// x (log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2), z = 1 / x^2, x >= 10; relative error 5.6e-17.
__constant__ constexpr double kStirling[] = {
    0x1.6813d0b49986ep-8, -0x1.f37f7526abf9ap-10, 0x1.b94707b01d16cp-11, -0x1.381377985f3f1p-11,
    0x1.a01a019c051eep-11, -0x1.6c16c16c1697cp-9, 0x1.5555555555555p-4};
__device__ __forceinline__ double stirling(double z) {
  return polynomial(z, kStirling, 7);
}

// erfinv(x) / x, w = -log(1 - x^2) <= 3; relative error 1.4e-8.
__constant__ constexpr double kErfinvStart[] = {
    -0x1.926ebbc24afa7p-24, -0x1.04d24af652d93p-18, 0x1.071ef41f89e26p-14, -0x1.3d43a677aed5fp-13,
    -0x1.2fb80a9935c23p-9, 0x1.7a3a5ed657d95p-7, 0x1.db2a7c90402bcp-3, 0x1.c5bf8859333fdp-1};
__device__ __forceinline__ double erfinv_start(double w) {
  return polynomial(w, kErfinvStart, 8);
}

// erfcinv(y) v, v = 1 / sqrt(-log(y (2 - y))), 1.7 <= 1 / v <= 28; relative error 2.4e-6.
__constant__ constexpr double kErfcinvStart[] = {
    -0x1.f35af03ea5639p+2, 0x1.a488b4a3684c6p+4, -0x1.222b299897203p+5, 0x1.b3bac0e45b441p+4,
    -0x1.a41d7d2633cf3p+3, 0x1.3552fcf45c539p+2, -0x1.3cbaa27427ebbp+0, -0x1.a5f170cc31043p-6,
    0x1.001074710df0ap+0};
__device__ __forceinline__ double erfcinv_start(double v) {
  return polynomial(v, kErfcinvStart, 9);
}

// P of Hankel's expansion of J0 and Y0, z = 1 / x^2, x >= 25; relative error 5.9e-19.
__constant__ constexpr double kHankelP0[] = {
    0x1.352ed178c17f2p+11, -0x1.b35dd5803ab46p+6, 0x1.84a8a3604bc24p+2, -0x1.251ed0dd0467fp-1,
    0x1.cb5ffff377759p-4, -0x1.1fffffffffae3p-4, 0x1.0000000000000p+0};
__device__ __forceinline__ double hankel_p0(double z) {
  return polynomial(z, kHankelP0, 7);
}

// x Q of Hankel's expansion of J0 and Y0, z = 1 / x^2, x >= 25; relative error 3.2e-17.
__constant__ constexpr double kHankelQ0[] = {
    -0x1.c1917b56a07b1p+13, 0x1.0fab27ec59e97p+9, -0x1.85f3f613cb3fbp+4, 0x1.ba4c0b39d45c6p+0,
    -0x1.d11dffd5a5471p-3, 0x1.2bfffffffdd77p-4, -0x1.0000000000000p-3};
__device__ __forceinline__ double hankel_q0(double z) {
  return polynomial(z, kHankelQ0, 7);
}

// P of Hankel's expansion of J1 and Y1, z = 1 / x^2, x >= 25; relative error 6.4e-19.
__constant__ constexpr double kHankelP1[] = {
    -0x1.50df217046a38p+11, 0x1.e154ea951c448p+6, -0x1.b87c05cff6d9ep+2, 0x1.5a6a3f17f10ccp-1,
    -0x1.274ffff940e30p-3, 0x1.dfffffffffa7fp-4, 0x1.0000000000000p+0};
__device__ __forceinline__ double hankel_p1(double z) {
  return polynomial(z, kHankelP1, 7);
}

// x Q of Hankel's expansion of J1 and Y1, z = 1 / x^2, x >= 25; relative error 1.1e-17.
__constant__ constexpr double kHankelQ1[] = {
    0x1.e6b09b465ed09p+13, -0x1.29a38a788b18cp+9, 0x1.b3d609a5013fep+4, -0x1.fe57c4a3e8448p+0,
    0x1.1c3cffe94f599p-2, -0x1.a3fffffffdaffp-4, 0x1.8000000000000p-2};
__device__ __forceinline__ double hankel_q1(double z) {
  return polynomial(z, kHankelQ1, 7);
}

}  // namespace wave_device
