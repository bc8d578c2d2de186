// The complex numbers that torch's headers compute with in kernels, where rocThrust is not installed. Sums and products
// are those of the definition; other functions are made of those of real numbers, and overflow where a part of them
// does.
#pragma once

#include <cmath>
#include <complex>

namespace thrust {

template <typename T>
struct complex {
  using value_type = T;

  __host__ __device__ constexpr complex(T re = T(), T im = T()) : re_(re), im_(im) {}
  template <typename U>
  __host__ __device__ constexpr complex(const complex<U>& z) : re_(T(z.real())), im_(T(z.imag())) {}
  template <typename U>
  __host__ __device__ constexpr complex(const std::complex<U>& z) : re_(T(z.real())), im_(T(z.imag())) {}

  __host__ __device__ constexpr T real() const { return re_; }
  __host__ __device__ constexpr T imag() const { return im_; }

 private:
  T re_;
  T im_;
};

template <typename T>
__host__ __device__ complex<T> operator+(const complex<T>& x, const complex<T>& y) {
  return {x.real() + y.real(), x.imag() + y.imag()};
}
template <typename T>
__host__ __device__ complex<T> operator-(const complex<T>& x, const complex<T>& y) {
  return {x.real() - y.real(), x.imag() - y.imag()};
}
template <typename T>
__host__ __device__ complex<T> operator-(const complex<T>& x) {
  return {-x.real(), -x.imag()};
}
template <typename T>
__host__ __device__ complex<T> operator*(const complex<T>& x, const complex<T>& y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}
template <typename T>
__host__ __device__ complex<T> operator/(const complex<T>& x, const complex<T>& y) {
  const T scale = 1 / (std::fabs(y.real()) + std::fabs(y.imag()));  // of squares that neither overflow nor vanish
  const T c = y.real() * scale, d = y.imag() * scale, square = c * c + d * d;
  return {(x.real() * c + x.imag() * d) * scale / square, (x.imag() * c - x.real() * d) * scale / square};
}
template <typename T>
__host__ __device__ bool operator==(const complex<T>& x, const complex<T>& y) {
  return x.real() == y.real() && x.imag() == y.imag();
}

template <typename T>
__host__ __device__ T abs(const complex<T>& z) {
  return std::hypot(z.real(), z.imag());
}
template <typename T>
__host__ __device__ T arg(const complex<T>& z) {
  return std::atan2(z.imag(), z.real());
}
template <typename T>
__host__ __device__ complex<T> polar(const T& length, const T& angle = T()) {
  return {length * std::cos(angle), length * std::sin(angle)};
}
template <typename T>
__host__ __device__ complex<T> exp(const complex<T>& z) {
  return polar(std::exp(z.real()), z.imag());
}
template <typename T>
__host__ __device__ complex<T> log(const complex<T>& z) {
  return {std::log(abs(z)), arg(z)};
}
template <typename T>
__host__ __device__ complex<T> log10(const complex<T>& z) {
  return log(z) * complex<T>(1 / std::log(T(10)));
}
template <typename T>
__host__ __device__ complex<T> pow(const complex<T>& x, const complex<T>& y) {
  return x == complex<T>() ? complex<T>(y == complex<T>() ? 1 : 0) : exp(log(x) * y);
}
template <typename T>
__host__ __device__ complex<T> pow(const complex<T>& x, const T& y) {
  return pow(x, complex<T>(y));
}
template <typename T>
__host__ __device__ complex<T> pow(const T& x, const complex<T>& y) {
  return pow(complex<T>(x), y);
}
// The half of a sum that does not cancel, and the other part by it.
template <typename T>
__host__ __device__ complex<T> sqrt(const complex<T>& z) {
  const T half = std::sqrt((std::fabs(z.real()) + abs(z)) / 2);
  if (half == 0) return {T(), z.imag()};
  const T other = std::fabs(z.imag()) / (2 * half);
  return z.real() >= 0 ? complex<T>(half, std::copysign(other, z.imag()))
                       : complex<T>(other, std::copysign(half, z.imag()));
}

template <typename T>
__host__ __device__ complex<T> sinh(const complex<T>& z) {
  return {std::sinh(z.real()) * std::cos(z.imag()), std::cosh(z.real()) * std::sin(z.imag())};
}
template <typename T>
__host__ __device__ complex<T> cosh(const complex<T>& z) {
  return {std::cosh(z.real()) * std::cos(z.imag()), std::sinh(z.real()) * std::sin(z.imag())};
}
template <typename T>
__host__ __device__ complex<T> tanh(const complex<T>& z) {
  if (std::fabs(z.real()) > 20) return {std::copysign(T(1), z.real()), T()};  // and cosh would overflow from 44 on
  const T sinh = std::sinh(z.real()), cos = std::cos(z.imag()), divisor = sinh * sinh + cos * cos;
  return {sinh * std::cosh(z.real()) / divisor, std::sin(z.imag()) * cos / divisor};
}
template <typename T>
__host__ __device__ complex<T> asinh(const complex<T>& z) {
  // Odd, and the sum of the logarithm cancels on the left.
  return z.real() < 0 ? -asinh(-z) : log(z + sqrt(z * z + complex<T>(1)));
}
template <typename T>
__host__ __device__ complex<T> acosh(const complex<T>& z) {
  return log(z + sqrt(z + complex<T>(1)) * sqrt(z - complex<T>(1)));
}
template <typename T>
__host__ __device__ complex<T> atanh(const complex<T>& z) {
  return (log(complex<T>(1) + z) - log(complex<T>(1) - z)) * complex<T>(T(0.5));
}

// sin z = -i sinh(iz), and so on.
template <typename T>
__host__ __device__ complex<T> times_i(const complex<T>& z) {
  return {-z.imag(), z.real()};
}
template <typename T>
__host__ __device__ complex<T> sin(const complex<T>& z) {
  return -times_i(sinh(times_i(z)));
}
template <typename T>
__host__ __device__ complex<T> cos(const complex<T>& z) {
  return cosh(times_i(z));
}
template <typename T>
__host__ __device__ complex<T> tan(const complex<T>& z) {
  return -times_i(tanh(times_i(z)));
}
template <typename T>
__host__ __device__ complex<T> asin(const complex<T>& z) {
  return -times_i(asinh(times_i(z)));
}
template <typename T>
__host__ __device__ complex<T> acos(const complex<T>& z) {
  return complex<T>(std::acos(T(0))) - asin(z);
}
template <typename T>
__host__ __device__ complex<T> atan(const complex<T>& z) {
  return -times_i(atanh(times_i(z)));
}

}  // namespace thrust
