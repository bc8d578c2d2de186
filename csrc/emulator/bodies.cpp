#include "emulator/bodies.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/environment.h"
#include "base/fork_safe.h"
#include "emulator/isa/operand.h"

namespace wave::emulator {

#define WAVE_DECLARE_LEVEL(level)                       \
  namespace level {                                     \
  std::span<const Body> vector_integer_bodies();        \
  std::span<const Body> vector_product_bodies();        \
  std::span<const Body> vector_sad_bodies();            \
  std::span<const Body> vector_float_bodies();          \
  std::span<const Body> vector_float_special_bodies();  \
  std::span<const Body> vector_convert_bodies();        \
  std::span<const Body> vector_transcendental_bodies(); \
  std::span<const Body> vector_compare_bodies();        \
  std::span<const Body> vector_convert_fp8_bodies();    \
  std::span<const Body> vector_gfx11_bodies();          \
  std::span<const Body> vector_cdna4_bodies();          \
  std::span<const Body> scaled_matrix_bodies();         \
  std::span<const Body> matrix_bodies();                \
  std::span<const Body> matrix_cdna2_bodies();          \
  std::span<const Body> sparse_matrix_bodies();         \
  std::span<const Body> wave_matrix_bodies();           \
  std::span<const Body> vector_memory_bodies();         \
  std::span<const Body> buffer_bodies();                \
  std::span<const Body> lds_bodies();                   \
  }
WAVE_DECLARE_LEVEL(portable)
#if defined(__x86_64__)
WAVE_DECLARE_LEVEL(avx2)
WAVE_DECLARE_LEVEL(avx512)
#endif
#undef WAVE_DECLARE_LEVEL

// Those of later generations (exec_wave32.cpp, exec_scalar_gfx11.cpp).
std::span<const Body> wave32_bodies();
std::span<const Body> scalar_gfx11_bodies();

namespace {

bool host_has(SimdLevel level) {
#if defined(__x86_64__)
  if (level == SimdLevel::Avx512) return __builtin_cpu_supports("x86-64-v4");
  if (level == SimdLevel::Avx2) return __builtin_cpu_supports("x86-64-v3");
#endif
  return level == SimdLevel::Portable;
}

const Variable& kLevel = at_load("WAVE_RUNTIME_SIMD");

SimdLevel choose_level() {
  constexpr SimdLevel kLevels[] = {SimdLevel::Avx512, SimdLevel::Avx2, SimdLevel::Portable};
  const size_t wanted = kLevel.choice({"avx512", "avx2", "portable"}, std::size(kLevels));
  if (wanted == std::size(kLevels)) return *std::ranges::find_if(kLevels, host_has);
  if (!host_has(kLevels[wanted])) kLevel.refuse("a level that this processor has", "portable");
  return kLevels[wanted];
}

std::vector<Body> all_bodies() {
  std::vector<Body> bodies;
  const auto add = [&](std::span<const Body> family) { bodies.insert(bodies.end(), family.begin(), family.end()); };
  add(scalar_bodies());
  add(scalar_bit_bodies());
  add(control_bodies());
  add(hardware_register_bodies());
  add(scalar_memory_bodies());
  add(lane_bodies());
  add(gws_bodies());
  add(buffer_format_bodies());
  add(exchange_cdna4_bodies());
  add(scaled_conversion_bodies());
  add(wave32_bodies());
  add(scalar_gfx11_bodies());
#define WAVE_ADD_LEVEL(level)                   \
  {                                             \
    add(level::vector_integer_bodies());        \
    add(level::vector_product_bodies());        \
    add(level::vector_sad_bodies());            \
    add(level::vector_float_bodies());          \
    add(level::vector_float_special_bodies());  \
    add(level::vector_convert_bodies());        \
    add(level::vector_transcendental_bodies()); \
    add(level::vector_compare_bodies());        \
    add(level::vector_convert_fp8_bodies());    \
    add(level::vector_gfx11_bodies());          \
    add(level::vector_cdna4_bodies());          \
    add(level::scaled_matrix_bodies());         \
    add(level::matrix_bodies());                \
    add(level::matrix_cdna2_bodies());          \
    add(level::sparse_matrix_bodies());         \
    add(level::wave_matrix_bodies());           \
    add(level::vector_memory_bodies());         \
    add(level::buffer_bodies());                \
    add(level::lds_bodies());                   \
  }
  switch (simd_level()) {
#if defined(__x86_64__)
    case SimdLevel::Avx512:
      WAVE_ADD_LEVEL(avx512)
      break;
    case SimdLevel::Avx2:
      WAVE_ADD_LEVEL(avx2)
      break;
#endif
    default:
      WAVE_ADD_LEVEL(portable)
      break;
  }
#undef WAVE_ADD_LEVEL
  std::ranges::sort(bodies, {}, &Body::name);
  return bodies;
}

Lazy<SimdLevel>& level = *new Lazy<SimdLevel>();
Lazy<std::vector<Body>>& all = *new Lazy<std::vector<Body>>();

}  // namespace

Execute Forms::of(const VectorOperands& operands) const {
  const bool is_modified = operands.modifiers != nullptr;
  if (is_modified && (modified == nullptr || (operands.modifiers->asks & ~modified_does) != 0)) return general;
  if (!is_modified && rows == nullptr) return general;
  uintptr_t tags = 0;
  for (size_t i = 0; i < std::size(operands.rows); ++i) {
    const bool is_mask = masks >> i & 1, is_source = sources >> i & 1;
    if (is_source) tags |= operands.rows[i];
    const bool is_scalar = is_mask || (is_source && (operands.rows[i] & kSourceScalar) != 0);
    if (is_scalar && operands.src[i] >= isa::kZero) return general;  // no register
  }
  if (is_modified) return modified;
  return tags & kSourceScalar ? scalars : tags & kSourceConstant ? constants : rows;
}

SimdLevel simd_level() { return level.get(choose_level); }

std::span<const Body> bodies() { return all.get(all_bodies); }

std::span<const Body> bodies_named(std::string_view name) {
  const auto found = std::ranges::equal_range(bodies(), name, {}, &Body::name);
  return {found.begin(), found.end()};
}

}  // namespace wave::emulator
