// The rules of wait_states.h that a processor has: it names them.
#pragma once

#include "emulator/wave.h"

namespace wave::emulator {

/// A set of rules, a bit for each, by its place in wait_rules().
using WaitRules = u32;

namespace wait_rule {

enum : WaitRules {
  kVectorToDpp = 1u << 0,
  kExecToDpp = 1u << 1,
  kVccToDivFmas = 1u << 2,
  kScalarToLane = 1u << 3,
  kScalarToMemory = 1u << 4,
  kM0 = 1u << 5,
  kSetToGet = 1u << 6,
  kSetToSet = 1u << 7,
  kStoreToVector1 = 1u << 8,
  kStoreToVector2 = 1u << 9,
  kVectorToMatrix = 1u << 10,
  kExecToMatrix = 1u << 11,
  kDotToOther = 1u << 12,
  kTransToVector = 1u << 13,
  kPartToVector = 1u << 14,
  kScalarToVector = 1u << 15,
  kVectorToReadlane = 1u << 16,
  kExecToLane = 1u << 17,
  kVectorToPermlane = 1u << 18,
  kExecToPermlane = 1u << 19,
  kMatrixToFactor = 1u << 20,
  kTransToVectors = 1u << 21,
  kExecToPermlanes = 1u << 22,
};

/// LLVM: GCNHazardRecognizer.cpp, and which processor has what in GCNSubtarget.h and AMDGPU.td.
inline constexpr WaitRules kGfx9 =
    kVectorToDpp | kExecToDpp | kVccToDivFmas | kScalarToLane | kScalarToMemory | kM0 | kSetToGet | kSetToSet;
inline constexpr WaitRules kCdna = kGfx9 | kVectorToMatrix | kExecToMatrix | kDotToOther;

}  // namespace wait_rule

}  // namespace wave::emulator
