// Finds uses of what nobody wrote: registers, LDS, scratch, and the launch's memory.
#pragma once

#include <array>
#include <bitset>
#include <map>
#include <string>
#include <vector>

#include "emulator/findings.h"
#include "emulator/isa/isa.h"
#include "emulator/observer.h"
#include "emulator/per_instruction.h"
#include "emulator/undefined_memory.h"
#include "emulator/undefined_pages.h"

namespace wave::emulator {

/// Knows of each bit of the registers, of LDS and of scratch whether it is defined, and of each byte of the launch's
/// memory. An instruction that reads undefined
/// bits is tried with them as they are and with others: what differs in its results is undefined, whatever the
/// instruction does; its row alone is asked for its operands. Nothing is reported until an address, a branch, EXEC, an
/// atomic, or a store to memory of what was computed depends on undefined bits. To copy them is no use of them.
class UninitializedChecker : public Observer {
 public:
  /// How undefined bits are turned when an instruction is tried; at first they are left as they are. The bits that the
  /// third and the fourth turn are together those that the second turns: so copies, and what is made of bits one by
  /// one, are told from what is computed. As are those of the next three, which leave about half of the bits alone: for
  /// 3 x + 1 and its like, to invert x is to invert the result. And of three more, since one sum in a thousand looks
  /// like a copy to those alone. The last two are of comparisons alone: what is undefined becomes what it is compared
  /// with, or one less.
  enum Turn {
    kAsIs,
    kAll,
    kSome,
    kOthers,
    kHalf,
    kSomeOfHalf,
    kOthersOfHalf,
    kOtherHalf,
    kSomeOfOtherHalf,
    kOthersOfOtherHalf,
    kToZero,
    kToOne,
    kToOther,
    kBelowOther,
    kTurns
  };

  UninitializedChecker(Findings& findings, UndefinedPages& pages) : findings_(findings), global_(pages) {}
  void start(const Wave& wave) override;
  void before(const Wave& wave, const Op* op) override;
  void after(const Wave& wave, const Op* op) override;
  void repeat(const Wave& wave) override;
  bool watches_lds() const override { return true; }
  void load_lds(AddressSpan span, int lane) override;
  void store_lds(AddressSpan span, const void* data, int lane) override;
  void load_lds_lanes(const LaneAccesses& all) override;
  void store_lds_lanes(const LaneAccesses& all) override;
  bool watches_memory() const override { return true; }
  void load_memory(AddressSpan span, int lane) override;
  void store_memory(AddressSpan span, const void* data, int lane) override;
  void load_memory_lanes(const LaneAccesses& all) override;
  void store_memory_lanes(const LaneAccesses& all) override;
  void load_scratch(AddressSpan span, int lane) override;
  void store_scratch(AddressSpan span, int lane, bool is_atomic) override;

 private:
  /// What an instruction does with its operands. Relative: its registers are named by M0, and are not followed.
  enum class Effect { None, Computes, Jumps, Loads, Stores, Modifies, Relative };

  /// An operand of a comparison.
  struct Compared {
    bool is_vector = false, is_constant = false;
    u32 number = 0;  ///< of the row, or of the scalar register
    u32 dwords = 1;
    u64 constant = 0;
  };

  struct Decoded {
    Effect effect = Effect::None;
    bool writes_whole = true;   ///< all bits of its vector results, in the lanes that are enabled
    bool ignores_exec = false;  ///< ... in all lanes
    bool crosses_lanes = false;
    bool may_read_scc = false;
    bool writes_scc = false;
    bool compares = false;  ///< lanes: its one result is a mask
    bool is_lds = false;
    bool goes_to_lds = false;              ///< what a load of memory has loaded
    bool replaces = false;                 ///< an atomic: what it makes does not depend on what was there
    bool copies_scratch = false;           ///< a load of whole dwords of each lane's scratch, as they are
    u32 data_bytes = 0;                    ///< that each lane stores
    std::vector<u32> reads, writes, data;  ///< rows: addresses or sources, results, what is stored
    std::vector<u32> rows;                 ///< the results, then the others, once each
    std::vector<u32> scalar_data;          ///< scalar registers that are stored
    std::bitset<128> scalar_reads, scalar_writes;
    std::vector<Compared> compared;  ///< the two operands of a comparison; else nothing
  };

  /// Where undefined bits come from, and the first instruction that read them.
  struct Origin {
    const char* kind;  ///< "lds"
    std::string what;  ///< "register v5"
    u64 pc = 0;
    WaveName reader{};
    std::optional<u64> address{};  ///< of the launch's memory
  };

  /// The number of an origin, and whether the bits were computed of undefined ones rather than copied. 0: they are a
  /// register's from the beginning on, and no instruction has read them.
  using Source = u32;
  static constexpr Source kComputed = 1u << 31;

  /// Undefined bits of a wave's registers.
  struct State {
    std::vector<u64> lanes;              ///< of each row those that have some
    std::vector<u64> fresh;              ///< ... of which all bits have been undefined from the beginning on
    std::vector<LaneRow> bits, sources;  ///< of the others of these lanes
    std::bitset<128> scalars_with_some;
    std::array<u32, 128> scalars{};  ///< the bits of these
    std::array<Source, 128> scalar_sources{};
    bool scc = false;
    Source scc_source = 0;
    UndefinedMemory scratch;

    u32 bits_of(u32 row, int lane) const;
    Source source_of(u32 row, int lane) const { return fresh[row] >> lane & 1 ? 0 : sources[row].lane[lane]; }
    void define(u32 row, u64 which) { lanes[row] &= ~which, fresh[row] &= ~which; }
    void set(u32 row, int lane, u32 undefined, Source source);
    void set_scalar(u32 number, u32 undefined, Source source);
  };

  /// An access of memory that the instruction has made.
  struct Access {
    AddressSpan span;
    int lane;
    UndefinedMemory* memory;  ///< nullptr: the launch's
    u64 copied;               ///< the first bytes of what was stored there
  };

  /// What an instruction has loaded of the launch's memory, where some of it is undefined. Others may write there
  /// meanwhile, so that trials are given it rather than what is there.
  struct Loaded {
    AddressSpan span;
    int lane;
    std::vector<u8> bytes, undefined;
  };

  /// How the instruction comes out with some of the undefined bits turned.
  struct Trial {
    std::vector<LaneRow> rows;  ///< the results
    std::array<u32, 128> scalars{};
    bool scc = false;
    const Op* next = nullptr;  ///< nullptr: it stops, or fails
    bool has_failed = false;
  };

  /// Undefined bits that a result is to have.
  struct Pending {
    u32 row;
    int lane;
    u32 bits;
    Source source;
  };

  static std::bitset<128> left_unset(const Wave& wave);
  const Decoded& look_up(const Wave& wave, const Op* op);
  void decode(const Wave& wave, const isa::Instruction& instruction, Decoded& decoded) const;
  static void decide_effect(const isa::Instruction& instruction, Decoded& decoded);
  static std::vector<Compared> compared_by(const Wave& wave, const isa::Instruction& instruction);
  bool depends(const Wave& wave) const;
  void define_results(const Wave& wave);
  void compute(const Op* op);
  void save_rows(const Wave& wave);
  void restore_rows(const Wave& wave);
  void try_with(const Op* op, int turn, Trial& trial);
  void meet_other(Wave& wave, u32 below) const;
  int turns() const;
  void take_rows();
  void take_scalars();
  /// Others are as they were behind the instruction, whatever they are. It may leave one that it writes.
  std::bitset<128> scalars_that_matter() const { return now_->scalar_reads | now_->scalar_writes; }
  Source source_for(int lane, Source own);
  Source noted(Source source, const std::string& name, int lane);
  Source origin(const char* kind, const std::string& what, int lane, std::optional<u64> address = {});
  std::string row_name(u32 row) const;
  void check_rows(const std::vector<u32>& rows, const char* use);
  void check_scalar(u32 number, const char* use);
  void check_scalars();
  /// Undefined bits of what is stored, and where they come from: of a row, or of a scalar register.
  struct Stored {
    u32 bits;
    Source source;
  };
  Stored stored(const Access& access, u64 dword);
  u8* host(const Access& access) const;
  u64 place(const Access& access, u64 i) const;
  Source source_of(const Access& access);
  template <class Visit>
  void each_dword(const Access& access, Visit visit) const;
  Source source_of_memory(const Access& access);
  bool is_undefined(u64 address);
  void note_load(const Access& access);
  void note_store(const Access& access);
  bool only_defines() const;
  bool recall(AddressSpan span, void* to, int lane, bool turns) const;
  void load(const Op* op);
  void copy_scratch();
  void load_again(const Op* op, const std::map<u8*, u8>& turned);
  void take_loaded_scalars(Source source);
  void copy_to_lds();
  void store();
  void modify();
  void exchange();
  void take_exchanged(const Access& access, u64 dword, u32 bits, Source source);
  void report(Source source, int lane, const char* use);

  Findings& findings_;
  UndefinedView global_;
  PerInstruction<Decoded> instructions_;
  std::vector<State> states_;  ///< by wave
  std::bitset<128> unset_scalars_;
  UndefinedMemory lds_;
  std::vector<Origin> origins_{{"register", "a register", 0, {}}};
  std::map<std::tuple<u64, std::string, u64>, Source> origin_numbers_;
  // What is under way.
  const Decoded* now_ = nullptr;
  State* state_ = nullptr;
  const Wave* wave_ = nullptr;
  u64 pc_ = 0;
  std::vector<LaneRow> saved_;      ///< the instruction's rows, as they were before it
  std::vector<u32> saved_scalars_;  ///< ... and the scalar registers, where it loads some
  std::vector<Loaded> loaded_;
  std::vector<Access> to_lds_;    ///< what a load of memory stores to LDS
  std::vector<Access> accesses_;  ///< ... of a load those with undefined bits, of a store those that need a look
  bool stores_some_ = false;      ///< the data of a store have undefined bits
  std::vector<Source> named_;     ///< by dword of what is stored: where bits come from that no instruction has read
  std::array<Trial, kTurns> trials_;
  std::vector<Pending> pending_;
};

}  // namespace wave::emulator
