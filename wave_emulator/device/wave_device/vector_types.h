// float4 and its like: members that can be referred to, aligned to their size where that is a power of two up to 16.
#pragma once

namespace wave_device {

template <class T, int N>
struct Vector;

template <class T>
struct Vector<T, 1> {
  T x;
};
template <class T>
struct alignas(2 * sizeof(T)) Vector<T, 2> {
  T x, y;
};
template <class T>
struct Vector<T, 3> {
  T x, y, z;
};
template <class T>
struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Vector<T, 4> {
  T x, y, z, w;
};

template <class T, int N, class Function>
__host__ __device__ __forceinline__ Vector<T, N> each(const Vector<T, N>& a, const Vector<T, N>& b, Function function) {
  Vector<T, N> result;
  for (int i = 0; i < N; ++i) (&result.x)[i] = static_cast<T>(function((&a.x)[i], (&b.x)[i]));
  return result;
}

template <class T, int N>
__host__ __device__ __forceinline__ Vector<T, N> all(T value) {
  Vector<T, N> result;
  for (int i = 0; i < N; ++i) (&result.x)[i] = value;
  return result;
}

#define WAVE_VECTOR_OPERATOR(op)                                                                                     \
  template <class T, int N>                                                                                          \
  __host__ __device__ __forceinline__ Vector<T, N> operator op(const Vector<T, N>& a, const Vector<T, N>& b) {       \
    return each(a, b, [](T left, T right) { return left op right; });                                                \
  }                                                                                                                  \
  template <class T, int N>                                                                                          \
  __host__ __device__ __forceinline__ Vector<T, N> operator op(const Vector<T, N>& a, decltype(Vector<T, N>::x) b) { \
    return a op all<T, N>(b);                                                                                        \
  }                                                                                                                  \
  template <class T, int N>                                                                                          \
  __host__ __device__ __forceinline__ Vector<T, N> operator op(decltype(Vector<T, N>::x) a, const Vector<T, N>& b) { \
    return all<T, N>(a) op b;                                                                                        \
  }                                                                                                                  \
  template <class T, int N, class Other>                                                                             \
  __host__ __device__ __forceinline__ Vector<T, N>& operator op##=(Vector<T, N>& a, const Other & b) {               \
    return a = a op b;                                                                                               \
  }

WAVE_VECTOR_OPERATOR(+)
WAVE_VECTOR_OPERATOR(-)
WAVE_VECTOR_OPERATOR(*)
WAVE_VECTOR_OPERATOR(/)

// Of integers.
WAVE_VECTOR_OPERATOR(%)
WAVE_VECTOR_OPERATOR(&)
WAVE_VECTOR_OPERATOR(|)
WAVE_VECTOR_OPERATOR(^)
WAVE_VECTOR_OPERATOR(<<)
WAVE_VECTOR_OPERATOR(>>)

#undef WAVE_VECTOR_OPERATOR

template <class T, int N>
__host__ __device__ __forceinline__ Vector<T, N> operator-(const Vector<T, N>& v) {
  return each(v, v, [](T value, T) { return -value; });
}
template <class T, int N>
__host__ __device__ __forceinline__ Vector<T, N> operator~(const Vector<T, N>& v) {
  return each(v, v, [](T value, T) { return ~value; });
}

#define WAVE_VECTOR_STEP(step, op)                                                       \
  template <class T, int N>                                                              \
  __host__ __device__ __forceinline__ Vector<T, N>& operator step(Vector<T, N>& v) {     \
    return v op static_cast<T>(1);                                                       \
  }                                                                                      \
  template <class T, int N>                                                              \
  __host__ __device__ __forceinline__ Vector<T, N> operator step(Vector<T, N>& v, int) { \
    const Vector<T, N> before = v;                                                       \
    v op static_cast<T>(1);                                                              \
    return before;                                                                       \
  }
WAVE_VECTOR_STEP(++, +=)
WAVE_VECTOR_STEP(--, -=)
#undef WAVE_VECTOR_STEP

template <class T, int N>
__host__ __device__ __forceinline__ bool operator==(const Vector<T, N>& a, const Vector<T, N>& b) {
  bool equal = true;
  for (int i = 0; i < N; ++i) equal &= (&a.x)[i] == (&b.x)[i];
  return equal;
}
template <class T, int N>
__host__ __device__ __forceinline__ bool operator!=(const Vector<T, N>& a, const Vector<T, N>& b) {
  return !(a == b);
}

}  // namespace wave_device

#define WAVE_VECTORS(name, T)                                                                     \
  using name##1 = wave_device::Vector<T, 1>;                                                      \
  using name##2 = wave_device::Vector<T, 2>;                                                      \
  using name##3 = wave_device::Vector<T, 3>;                                                      \
  using name##4 = wave_device::Vector<T, 4>;                                                      \
  __host__ __device__ __forceinline__ name##1 make_##name##1(T x) { return {x}; }                 \
  __host__ __device__ __forceinline__ name##2 make_##name##2(T x, T y) { return {x, y}; }         \
  __host__ __device__ __forceinline__ name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  __host__ __device__ __forceinline__ name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

WAVE_VECTORS(char, signed char)
WAVE_VECTORS(uchar, unsigned char)
WAVE_VECTORS(short, short)
WAVE_VECTORS(ushort, unsigned short)
WAVE_VECTORS(int, int)
WAVE_VECTORS(uint, unsigned int)
WAVE_VECTORS(long, long)
WAVE_VECTORS(ulong, unsigned long)
WAVE_VECTORS(longlong, long long)
WAVE_VECTORS(ulonglong, unsigned long long)
WAVE_VECTORS(float, float)
WAVE_VECTORS(double, double)

#undef WAVE_VECTORS
