// A code object loaded for the emulator: its segments in host memory, relocated, and its functions as micro-operations.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/finding.h"
#include "base/fork_safe.h"
#include "code_object/code_object.h"
#include "code_object/function_table.h"
#include "code_object/line_table.h"
#include "emulator/isa/isa.h"
#include "emulator/mapped_memory.h"
#include "emulator/memory.h"
#include "emulator/op.h"
#include "emulator/processor.h"

namespace wave::emulator {

/// What the translation of a function asks of the kernel that reaches it: how many registers it has, and how many lanes
/// each of its waves has.
struct KernelRegisters {
  u32 vgprs = 0;  ///< before the first accumulation VGPR, which is the next arch VGPR at the same time
  u32 agprs = 0;
  u32 sgprs = 0;
  u32 lanes = 0;
  auto operator<=>(const KernelRegisters&) const = default;
};

/// What somebody has worked out of a function.
struct FunctionNotes {
  virtual ~FunctionNotes() = default;
};

/// Decoded code: the bytes from one function symbol to the next, as one Op for each dword and guards behind the last.
/// Those of an instruction's further dwords have no routine: what is there, for a jump that leads there, is in another
/// function with the same bytes, and nothing else, which goes on in this one where it comes to its instructions.
/// Immutable once built, but for notes.
class TranslatedFunction {
 public:
  u64 begin() const { return begin_; }
  u64 end() const { return begin_ + 4 * u64{count_}; }
  /// Whether one of this function's operations is at an address.
  bool contains(u64 pc) const { return pc >= begin_ && pc < end() && pc % 4 == 0 && at(pc)->behind != kNothingBehind; }
  const Op* at(u64 pc) const { return &ops_[(pc - begin_) / 4]; }
  /// The address of one of this function's operations.
  u64 address(const Op* op) const { return begin_ + 4 * static_cast<u64>(op - ops_.data()); }
  /// Its number among them, guards included, of which there are so many.
  size_t index(const Op* op) const { return static_cast<size_t>(op - ops_.data()); }
  size_t op_count() const { return ops_.size(); }

  /// The notes of a key, which `make` makes where there are none. They live as long as this. Any thread may call.
  FunctionNotes& notes(const void* key, const std::function<std::unique_ptr<FunctionNotes>()>& make) const;

  /// What a workgroup took that began here, on one thread, in the last launch; 0: there was none. For the schedule
  /// alone.
  mutable std::atomic<u32> nanoseconds_of_workgroup{0};
  /// Whether a workgroup that began here has ever left its thread to others before its end. Likewise.
  mutable std::atomic<bool> waits{false};

 private:
  friend class Translator;
  u64 begin_ = 0;
  u32 count_ = 0;        ///< dwords of code
  std::vector<Op> ops_;  ///< one for each, and guards
  std::deque<Modifiers> modifiers_;
  std::deque<LaneMoves> moves_;
  std::deque<std::array<Op, 2>> parts_;  ///< of operations that are carried out by others (Op::dual)
  std::unordered_map<u64, std::unique_ptr<std::array<LaneRow, 2>>> constants_;  ///< in all lanes, low and high half
  mutable std::vector<std::pair<const void*, std::unique_ptr<FunctionNotes>>> notes_;  ///< behind a lock of module.cpp
};

/// A loaded code object. Owns the memory of its segments, globals included, which live as long as it. Thread-safe.
class Module {
 public:
  /// Loads and relocates. Throws ValueError where the emulator does not run the target's code or a relocation is not
  /// known.
  explicit Module(std::shared_ptr<const CodeObject> code);

  const CodeObject& code() const { return *code_; }
  const std::shared_ptr<const CodeObject>& shared_code() const { return code_; }
  const ProcessorTraits& processor() const { return processor_; }
  const isa::InstructionSet& instruction_set() const { return instruction_set_; }
  isa::Generation generation() const { return instruction_set_.generation(); }

  /// Where an address of the file lies in memory.
  u64 load_address(u64 address) const { return base_ + address; }
  /// The reverse.
  u64 file_address(u64 address) const { return address - base_; }
  /// Whether an address in memory is one of its instructions', or may be.
  bool has_code(u64 pc) const { return code_segment(pc - base_) != nullptr; }
  /// How far behind a kernel's entry an address in memory is.
  i64 offset_in(const KernelInfo& kernel, u64 pc) const {
    return static_cast<i64>(pc - load_address(kernel.entry_address));
  }

  /// The function that contains `pc`, translated for `registers` (once). Throws Fault where `pc` is not in executable
  /// memory.
  const TranslatedFunction& function(u64 pc, const KernelRegisters& registers) const;

  // Of the functions that follow each knows other modules' code, too (loaded_modules.h).

  /// The instruction at an address in code.
  isa::Instruction decode(u64 pc, u32 lanes = 32) const;
  /// "name+0x1c" for an address in code, and "(file.hip:12)" behind it where the file has line tables.
  std::string describe(u64 pc) const;
  /// "name+0x1c".
  std::string symbol(u64 pc) const;
  /// The source that an instruction is of, the innermost inlined function first; empty without line tables.
  std::vector<SourceFrame> frames(u64 pc) const;
  /// The instruction as text.
  std::string disassemble(u64 pc, u32 lanes = 32) const;

  /// All that the segments span.
  AddressSpan bytes() const { return memory_.span(); }
  /// Adds the segments.
  void add_regions(std::vector<Region>& regions) const;

 private:
  void load_segments();
  void relocate();
  void find_functions();
  /// What the file says of its source: empty where it says nothing.
  struct Source {
    LineTable lines;
    std::vector<SourceFunction> functions;
    /// The file that a unit calls by a number, or nothing.
    std::string file(const SourceFunction& copy) const;
  };
  const Source& source() const;
  /// Where an address is in no code of this module's: whose it is, or nullptr.
  std::shared_ptr<const Module> other_at(u64 pc) const;
  /// The executable segment that contains an address of the file, or nullptr.
  const Segment* code_segment(u64 address) const;

  std::shared_ptr<const CodeObject> code_;
  const ProcessorTraits& processor_;
  const isa::InstructionSet& instruction_set_;
  MappedMemory memory_;
  u64 base_ = 0;                      ///< what is added to addresses of the file
  std::vector<u64> function_starts_;  ///< addresses of the file, sorted
  mutable Mutex mutex_;               ///< guards what follows
  mutable std::optional<Source> source_;
  using Functions = std::map<std::pair<u64, KernelRegisters>, std::unique_ptr<TranslatedFunction>>;
  mutable Functions functions_;
  mutable Functions hidden_;  ///< what the instructions of functions_ have in their further dwords
};

}  // namespace wave::emulator
