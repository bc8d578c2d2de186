// float4 and its like: members that can be referred to, and what HIP's vectors are made by. As in HIP those of two and
// four elements are aligned to their size.
#pragma once

namespace wave_device {

template <class T, int N>
struct Elements {
  T elements[N];

  __host__ __device__ __forceinline__ T& operator[](unsigned i) { return elements[i]; }
  __host__ __device__ __forceinline__ const T& operator[](unsigned i) const { return elements[i]; }
};

/// What the member `data` is: the compiler's own vector, where one of this size has the same layout.
template <class T, int N, bool is_native = __is_arithmetic(T) && N != 3>
struct Data {
  using type = Elements<T, N>;
};
template <class T, int N>
struct Data<T, N, true> {
  using type = T __attribute__((ext_vector_type(N)));
};

template <bool holds>
struct Where {};
template <>
struct Where<true> {
  using type = int;
};

template <class T, int N>
struct Vector;

// HIP has a union here. A property is as good for programs, while an access to x cannot be one to numbers of another
// type, and x is a constant where the vector is.
#define WAVE_VECTOR_DATA(N)                                                                           \
  using Native = typename Data<T, N>::type;                                                           \
  using value_type = T;                                                                               \
  __declspec(property(get = get_data, put = put_data)) Native data;                                   \
  __host__ __device__ __forceinline__ Native& get_data() { return *reinterpret_cast<Native*>(this); } \
  __host__ __device__ __forceinline__ const Native& get_data() const {                                \
    return *reinterpret_cast<const Native*>(this);                                                    \
  }                                                                                                   \
  __host__ __device__ __forceinline__ void put_data(const Native& value) { *reinterpret_cast<Native*>(this) = value; }

// Only what converts to an element by itself: a vector does not.
#define WAVE_FROM_ONE                                                               \
  template <class Number, typename Where<__is_convertible_to(Number, T)>::type = 0> \
  __host__ __device__ __forceinline__ explicit constexpr Vector(Number number)

template <class T>
struct Vector<T, 1> {
  T x;

  Vector() = default;
  WAVE_FROM_ONE : x(static_cast<T>(number)) {}
  WAVE_VECTOR_DATA(1)
};
template <class T>
struct alignas(2 * sizeof(T)) Vector<T, 2> {
  T x, y;

  Vector() = default;
  WAVE_FROM_ONE : x(static_cast<T>(number)), y(x) {}
  template <class X, class Y>
  __host__ __device__ __forceinline__ constexpr Vector(X x, Y y) : x(static_cast<T>(x)), y(static_cast<T>(y)) {}
  /// A pair of halves is made of the compiler's own.
  template <class Pair, typename Where<__is_same(T, _Float16) && __is_same(Pair, typename Data<T, 2>::type)>::type = 0>
  __host__ __device__ __forceinline__ constexpr Vector(Pair pair) : x(pair[0]), y(pair[1]) {}
  WAVE_VECTOR_DATA(2)
};
template <class T>
struct Vector<T, 3> {
  T x, y, z;

  Vector() = default;
  WAVE_FROM_ONE : x(static_cast<T>(number)), y(x), z(x) {}
  template <class X, class Y, class Z>
  __host__ __device__ __forceinline__ constexpr Vector(X x, Y y, Z z)
      : x(static_cast<T>(x)), y(static_cast<T>(y)), z(static_cast<T>(z)) {}
  WAVE_VECTOR_DATA(3)
};
template <class T>
struct alignas(4 * sizeof(T)) Vector<T, 4> {
  T x, y, z, w;

  Vector() = default;
  WAVE_FROM_ONE : x(static_cast<T>(number)), y(x), z(x), w(x) {}
  template <class X, class Y, class Z, class W>
  __host__ __device__ __forceinline__ constexpr Vector(X x, Y y, Z z, W w)
      : x(static_cast<T>(x)), y(static_cast<T>(y)), z(static_cast<T>(z)), w(static_cast<T>(w)) {}
  WAVE_VECTOR_DATA(4)
};

#undef WAVE_FROM_ONE
#undef WAVE_VECTOR_DATA

template <class T, int N, class Function>
__host__ __device__ __forceinline__ Vector<T, N> each(const Vector<T, N>& a, const Vector<T, N>& b, Function function) {
  Vector<T, N> result;
  for (int i = 0; i < N; ++i) (&result.x)[i] = static_cast<T>(function((&a.x)[i], (&b.x)[i]));
  return result;
}

#define WAVE_VECTOR_OPERATOR(op)                                                                                     \
  template <class T, int N>                                                                                          \
  __host__ __device__ __forceinline__ Vector<T, N> operator op(const Vector<T, N>& a, const Vector<T, N>& b) {       \
    return each(a, b, [](T left, T right) { return left op right; });                                                \
  }                                                                                                                  \
  template <class T, int N>                                                                                          \
  __host__ __device__ __forceinline__ Vector<T, N> operator op(const Vector<T, N>& a, decltype(Vector<T, N>::x) b) { \
    return a op Vector<T, N>(b);                                                                                     \
  }                                                                                                                  \
  template <class T, int N>                                                                                          \
  __host__ __device__ __forceinline__ Vector<T, N> operator op(decltype(Vector<T, N>::x) a, const Vector<T, N>& b) { \
    return Vector<T, N>(a) op b;                                                                                     \
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

#define WAVE_VECTOR_COMPARISON(op)                                                                           \
  template <class T, int N>                                                                                  \
  __host__ __device__ __forceinline__ bool operator op(const Vector<T, N>& a, decltype(Vector<T, N>::x) b) { \
    return a op Vector<T, N>(b);                                                                             \
  }                                                                                                          \
  template <class T, int N>                                                                                  \
  __host__ __device__ __forceinline__ bool operator op(decltype(Vector<T, N>::x) a, const Vector<T, N>& b) { \
    return Vector<T, N>(a) op b;                                                                             \
  }
WAVE_VECTOR_COMPARISON(==)
WAVE_VECTOR_COMPARISON(!=)
#undef WAVE_VECTOR_COMPARISON

}  // namespace wave_device

#define WAVE_VECTORS(name, T)                                                                     \
  using name##1 = wave_device::Vector<T, 1>;                                                      \
  using name##2 = wave_device::Vector<T, 2>;                                                      \
  using name##3 = wave_device::Vector<T, 3>;                                                      \
  using name##4 = wave_device::Vector<T, 4>;                                                      \
  __host__ __device__ __forceinline__ name##1 make_##name##1(T x) { return name##1(x); }          \
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
