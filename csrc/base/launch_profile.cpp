#include "base/launch_profile.h"

namespace wave {

namespace {

template <class Counts>
void add(Counts& to, const Counts& from) {
  for (const auto& [key, count] : from) to[key] += count;
}

}  // namespace

InstructionProfile& InstructionProfile::operator+=(const InstructionProfile& other) {
  kind = other.kind;
  count += other.count;
  lanes += other.lanes;
  bytes += other.bytes;
  moved += other.moved;
  lds_cycles += other.lds_cycles;
  lds_conflict_cycles += other.lds_conflict_cycles;
  operations += other.operations;
  return *this;
}

LaunchProfile& LaunchProfile::operator+=(const LaunchProfile& other) {
  add(kinds, other.kinds);
  add(instructions, other.instructions);
  add(bytes, other.bytes);
  add(operations, other.operations);
  add(code, other.code);
  vector_instructions += other.vector_instructions;
  lanes += other.lanes;
  wave_lanes = other.wave_lanes;
  moved += other.moved;
  touched += other.touched;
  lds_cycles += other.lds_cycles;
  lds_conflict_cycles += other.lds_conflict_cycles;
  matrix_operations += other.matrix_operations;
  return *this;
}

}  // namespace wave
