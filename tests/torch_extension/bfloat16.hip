// Kernels that write what each function of AMD's bfloat16 returns: a row of results for each, in the order of
// tests/test_bfloat16.py.

#include <hip/hip_bf16.h>

namespace {

using One = __hip_bfloat16;
using Two = __hip_bfloat162;

struct Rows {
  unsigned short* next;
  int count;

  __device__ void add(One value) {
    *next = __bfloat16_as_ushort(value);
    next += count;
  }
  __device__ void add(Two value) {
    add(value.x);
    add(value.y);
  }
  __device__ void add(bool value) { add(One(value ? 1.0f : 0.0f)); }
};

__device__ int index() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

}  // namespace

extern "C" __global__ void of_one(const unsigned short* values, unsigned short* results, int count) {
  const int i = index();
  if (i >= count) return;
  Rows rows{results + i, count};
  const One a = __ushort_as_bfloat16(values[i]);
  const Two p(a, -a), q(-a, a);
#define OF(name) rows.add(h##name(a)), rows.add(h2##name(p));
  OF(ceil)
  OF(floor)
  OF(rint) OF(trunc) OF(rcp) OF(sqrt) OF(rsqrt) OF(cos) OF(sin) OF(exp) OF(exp2) OF(exp10) OF(log) OF(log2) OF(log10)

      rows.add(__hneg(a)),
      rows.add(__hneg2(p)), rows.add(-a), rows.add(-p);
  rows.add(+a), rows.add(+p);
  rows.add(__habs(a)), rows.add(__habs2(p));
  One b = a;
  Two r = p;
  rows.add(b++), rows.add(r++), rows.add(b), rows.add(r), rows.add(++b), rows.add(++r);
  rows.add(b--), rows.add(r--), rows.add(b), rows.add(r), rows.add(--b), rows.add(--r);
  rows.add(__hisnan(a)), rows.add(__hisnan2(Two(a, 1.0f)));
  rows.add(__hisinf(a) != 0), rows.add(bool(a));

  rows.add(__float2bfloat16(__bfloat162float(a))), rows.add(__float2bfloat16_rn(float(a)));
  rows.add(__short_as_bfloat16(__bfloat16_as_short(a)));
  rows.add(__low2bfloat16(p)), rows.add(__high2bfloat16(p));
  rows.add(__low2bfloat162(p)), rows.add(__high2bfloat162(p));
  rows.add(__lows2bfloat162(p, q)), rows.add(__highs2bfloat162(p, q));
  rows.add(__lowhigh2highlow(p)), rows.add(__bfloat162bfloat162(a)), rows.add(__halves2bfloat162(a, -a));
  rows.add(One(__low2float(p))), rows.add(One(__high2float(p)));
  rows.add(__float22bfloat162_rn(__bfloat1622float2(p))), rows.add(Two(float2(p).x, float2(p).y));
  rows.add(__float2bfloat162_rn(a)), rows.add(__floats2bfloat162_rn(a, -a));
  rows.add(One(__hip_bfloat16_raw(a))), rows.add(Two(__hip_bfloat162_raw(p)));
}

extern "C" __global__ void of_three(const unsigned short* values, unsigned short* results, int count) {
  const int i = index();
  if (i >= count) return;
  Rows rows{results + i, count};
  const One a = __ushort_as_bfloat16(values[i]), b = __ushort_as_bfloat16(values[count + i]),
            c = __ushort_as_bfloat16(values[2 * count + i]);
  const Two p(a, b), q(b, c);
  One one;
  Two two;
#define ARITHMETIC(name, name_of_two, operation)                                                       \
  rows.add(name(a, b)), rows.add(a operation b), rows.add(name_of_two(p, q)), rows.add(p operation q); \
  one = a, two = p;                                                                                    \
  rows.add(one operation## = b), rows.add(two operation## = q), rows.add(one), rows.add(two);
  ARITHMETIC(__hadd, __hadd2, +)
  ARITHMETIC(__hsub, __hsub2, -)
  ARITHMETIC(__hmul, __hmul2, *)
  ARITHMETIC(__hdiv, __h2div, /)
  rows.add(__hfma(a, b, c)), rows.add(__hfma2(p, q, Two(c, a)));
  rows.add(__hmax(a, b)), rows.add(__hmax2(p, q));
  rows.add(__hmin(a, b)), rows.add(__hmin2(p, q));

#define COMPARISON(name, operation)                                                                               \
  rows.add(__h##name(a, b)), rows.add(a operation b), rows.add(__h##name##u(a, b)), rows.add(__h##name##2(p, q)); \
  rows.add(__hb##name##2(p, q)), rows.add(p operation q), rows.add(__hb##name##u2(p, q));
  COMPARISON(eq, ==)
  COMPARISON(ne, !=)
  COMPARISON(lt, <)
  COMPARISON(le, <=)
  COMPARISON(gt, >)
  COMPARISON(ge, >=)
}

extern "C" __global__ void of_numbers(const float* floats, const double* doubles, const int* integers,
                                      unsigned short* results, int count) {
  const int i = index();
  if (i >= count) return;
  Rows rows{results + i, count};
  rows.add(__float2bfloat16(floats[i])), rows.add(__float2bfloat16_rn(floats[i])), rows.add(One(floats[i]));
  rows.add(__double2bfloat16(doubles[i])), rows.add(One(doubles[i]));
  rows.add(One(integers[i])), rows.add(One(static_cast<unsigned int>(integers[i])));
  rows.add(One(static_cast<short>(integers[i]))), rows.add(One(static_cast<unsigned short>(integers[i])));
}

extern "C" __global__ void to_integers(const unsigned short* values, long long* results, int count) {
  const int i = index();
  if (i >= count) return;
  const One a = __ushort_as_bfloat16(values[i]);
  const long long all[] = {static_cast<signed char>(a),    static_cast<unsigned char>(a), static_cast<short>(a),
                           static_cast<unsigned short>(a), static_cast<int>(a),           static_cast<unsigned int>(a),
                           static_cast<long>(a),           static_cast<long long>(a)};
  for (int k = 0; k < 8; ++k) results[k * count + i] = all[k];
}

extern "C" __global__ void add_at_once(__hip_bfloat162* sum, const unsigned short* values, int count) {
  const int i = index();
  if (i < count) unsafeAtomicAdd(sum, Two(__ushort_as_bfloat16(values[i]), One(1.0f)));
}
