// Loads and stores of a wave's lanes: what GLOBAL, FLAT, SCRATCH, MUBUF and DS instructions have in common. Included
// once for each SIMD level (each_simd_level.h), inside no namespace.

#include "emulator/address_spaces.inl"
#include "emulator/addresses.inl"
#include "emulator/lane_dwords.inl"

namespace wave::emulator::WAVE_SIMD {

/// The part of a register that an access of less than 32 bits concerns. A load keeps the rest, or makes it zero: a
/// register file with error correction (SRAM-ECC) takes whole dwords only. Such are gfx90a, gfx942 and gfx950, for
/// which LLVM makes no use of D16 loads (d16PreservesUnusedBits), while Tensile's kernels, HasEccHalf, count on the
/// zeros.
enum class Part : u8 { Whole, Low, High, LowAlone, HighAlone };

template <Part kPart, class T>
inline void set_part(u32& dword, T value) {
  const u32 extended = static_cast<u32>(static_cast<i32>(value));
  if constexpr (kPart == Part::Whole) dword = extended;
  if constexpr (kPart == Part::Low) dword = (dword & 0xffff0000u) | (extended & 0xffffu);
  if constexpr (kPart == Part::High) dword = (dword & 0xffffu) | extended << 16;
  if constexpr (kPart == Part::LowAlone) dword = extended & 0xffffu;
  if constexpr (kPart == Part::HighAlone) dword = extended << 16;
}

// GCC does not see that loads have set all lanes of `values`.
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
/// Sets the part in the lanes that the mask enables.
template <Part kPart>
inline void set_rows(LaneRow& row, const LaneRow& values, const LaneRow& enabled) {
  for (int i = 0; i < kLanes; ++i) {
    u32 dword = row.lane[i];
    set_part<kPart>(dword, values.lane[i]);
    row.lane[i] = (dword & enabled.lane[i]) | (row.lane[i] & ~enabled.lane[i]);
  }
}
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif

template <Part kPart>
inline u32 get_part(u32 dword) {
  return kPart == Part::High ? dword >> 16 : dword;
}

/// The value, which a compiler cannot see: it would take addresses out of vector registers one by one, which is slower
/// than to load them.
template <class T>
inline T opaque(T value) {
  asm("" : "+r"(value));
  return value;
}

// What is behind an address space is Space::Memory. What is not done for the most usual accesses is compiled apart from
// them, once for all spaces that end in the same memory.

/// The host's memory at the lanes' addresses.
template <class Memory>
class HostLanes {
  using Address = typename Memory::Address;

 public:
  HostLanes(const Wave& wave, const Address* addresses, i64 behind = 0)
      : origin_(reinterpret_cast<uintptr_t>(Memory::host(wave, 0)) + static_cast<u64>(behind)), addresses_(addresses) {}
  // Lanes have all the bits of addresses, so that no instruction extends them.
  u8* operator[](size_t lane) const { return reinterpret_cast<u8*>(origin_ + opaque(u64{addresses_[lane]})); }

 private:
  const uintptr_t origin_;
  const Address* const addresses_;
};

/// Loads the values of lanes from memory that is known to be covered: of all, or of the first ones where no others are
/// enabled. Values of disabled lanes come from the lowest address: the loops are without branches. What lies so many
/// bytes `behind` the addresses, or before them.
template <class Memory, class T, int kCount>
[[gnu::always_inline]] inline void load_covered(const Wave& wave, const Addresses<typename Memory::Address>& addresses,
                                                LaneRow* rows, i64 behind = 0) {
  typename Memory::Address enabled[kLanes];
  const bool are_mixed = addresses.first == 0;
  if (are_mixed) {
    for (int i = 0; i < kLanes; ++i) {
      const auto enable = addresses.mask(addresses.enabled->lane[i]);
      enabled[i] = (addresses.lane[i] & enable) | (addresses.low & ~enable);
    }
  }
  const HostLanes<Memory> from(wave, are_mixed ? enabled : addresses.lane, behind);
  const size_t lanes = are_mixed ? kLanes : addresses.first;
  if constexpr (kCount == 1) {
    for (size_t i = 0; i < lanes; ++i) {
      T value;
      std::memcpy(&value, from[i], sizeof(T));
      rows[0].lane[i] = static_cast<u32>(static_cast<i32>(value));
    }
  } else {
    for (size_t i = 0; i < lanes; i += LaneDwords<kCount>::kAtOnce) {
      LaneDwords<kCount> dwords;
      dwords.read([&](size_t lane) { return from[i + lane]; });
      dwords.write_rows(rows, i);
    }
  }
}

/// The same, into the parts of rows that a load sets.
template <class Memory, class T, int kCount, Part kPart>
inline void load_covered_rows(const Wave& wave, const Addresses<typename Memory::Address>& addresses, LaneRow* rows,
                              i64 behind = 0) {
  if (kPart == Part::Whole && addresses.first != 0) [[likely]]
    return load_covered<Memory, T, kCount>(wave, addresses, rows, behind);
  LaneRow values[kCount];
  load_covered<Memory, T, kCount>(wave, addresses, values, behind);
  for (int k = 0; k < kCount; ++k) set_rows<kPart>(rows[k], values[k], *addresses.enabled);
}

/// The same where somebody is told of it: lanes that are side by side, or at one place, are not taken by themselves.
template <class Memory, class T, int kCount, Part kPart>
[[gnu::noinline]] void load_told_rows(const Wave& wave, const Addresses<typename Memory::Address>& addresses,
                                      LaneRow* rows) {
  if (kPart != Part::Whole || addresses.first == 0)
    return load_covered_rows<Memory, T, kCount, kPart>(wave, addresses, rows);
  const HostLanes<Memory> from(wave, addresses.lane);
  for (u32 i = 0; i < addresses.first; i += kGroup) {
    const auto* const lane = addresses.lane + i;
    typename Memory::Address same = 0, side_by_side = 0;
    for (u32 k = 0; k < kGroup; ++k) {
      same |= lane[k] ^ lane[0];
      side_by_side |= lane[k] ^ (lane[0] + static_cast<u32>(sizeof(T)) * k);
    }
    T values[kCount * kGroup];
    if (same == 0) {
      std::memcpy(values, from[i], sizeof(T) * kCount);
      for (int row = 0; row < kCount; ++row)
        std::fill_n(&rows[row].lane[i], kGroup, static_cast<u32>(static_cast<i32>(values[row])));
      continue;
    }
    if (kCount == 1 && side_by_side == 0) {
      std::memcpy(values, from[i], sizeof(values));
    } else {
      for (u32 k = 0; k < kGroup; ++k) std::memcpy(values + k * kCount, from[i + k], sizeof(T) * kCount);
    }
    for (u32 k = 0; k < kGroup; ++k) {
      for (u32 row = 0; row < kCount; ++row)
        rows[row].lane[i + k] = static_cast<u32>(static_cast<i32>(values[k * kCount + row]));
    }
  }
}

/// Loads each enabled lane's values by itself, with its space's checks. So is all scratch.
template <class Space, class T, int kCount>
[[gnu::noinline]] void load_one_by_one(Wave& wave, const Addresses<typename Space::Address>& addresses, LaneRow* rows) {
  for (int i = 0; i < kLanes; ++i) {
    if (addresses.enabled->lane[i] == 0) continue;
    T value[kCount];
    Space::read(wave, {addresses.lane[i], sizeof(value)}, value, i);
    for (int k = 0; k < kCount; ++k) rows[k].lane[i] = static_cast<u32>(static_cast<i32>(value[k]));
  }
}

/// Loads kCount values of type T for each enabled lane into as many rows.
template <class Space, class T, int kCount, Part kPart>
inline void load_rows(Wave& wave, const Addresses<typename Space::Address>& addresses, LaneRow* rows) {
  using Memory = typename Space::Memory;
  if (Space::covers(wave, addresses.low, addresses.high, sizeof(T) * kCount, false)) [[likely]]
    return load_covered_rows<Memory, T, kCount, kPart>(wave, addresses, rows);
  if constexpr (kTells<Space>) {
    if (Observer* teller = Space::teller(wave, addresses.low, addresses.high, sizeof(T) * kCount, false)) {
      load_told_rows<Memory, T, kCount, kPart>(wave, addresses, rows);
      return Space::tell(*teller, lane_accesses(addresses, sizeof(T) * kCount));
    }
  }
  LaneRow values[kCount] = {};
  load_one_by_one<Space, T, kCount>(wave, addresses, values);
  for (int k = 0; k < kCount; ++k) set_rows<kPart>(rows[k], values[k], *addresses.enabled);
}

/// Stores kCount rows as T for each enabled lane where somebody is told of it. False where not all can be at once.
template <class Memory, class T, int kCount, Part kPart>
[[gnu::noinline]] bool store_and_tell(Wave& wave, const Addresses<typename Memory::Address>& addresses,
                                      const LaneRow* rows) {
  Observer* const teller = Memory::teller(wave, addresses.low, addresses.high, sizeof(T) * kCount, true);
  if (teller == nullptr) return false;
  T values[kLanes][kCount];
  for (int k = 0; k < kCount; ++k) {
    for (int i = 0; i < kLanes; ++i) values[i][k] = static_cast<T>(get_part<kPart>(rows[k].lane[i]));
  }
  const LaneAccesses all = lane_accesses(addresses, sizeof(values[0]), reinterpret_cast<const u8*>(values));
  if (!all.are_apart()) return false;
  Memory::tell(*teller, all);
  const HostLanes<Memory> to(wave, addresses.lane);
  all.each([&](int lane) { std::memcpy(to[static_cast<size_t>(lane)], values[lane], sizeof(values[lane])); });
  return true;
}

/// Stores each enabled lane's values by itself, with its space's checks.
template <class Space, class T, int kCount, Part kPart>
[[gnu::noinline]] void store_one_by_one(Wave& wave, const Addresses<typename Space::Address>& addresses,
                                        const LaneRow* rows) {
  for (int i = 0; i < kLanes; ++i) {
    if (addresses.enabled->lane[i] == 0) continue;
    T values[kCount];
    for (int k = 0; k < kCount; ++k) values[k] = static_cast<T>(get_part<kPart>(rows[k].lane[i]));
    Space::write(wave, {addresses.lane[i], sizeof(values)}, values, i);
  }
}

/// Stores the values of lanes into memory that is known to be covered.
template <class Memory, class T, int kCount, Part kPart>
[[gnu::always_inline]] inline void store_covered(const Wave& wave, const Addresses<typename Memory::Address>& addresses,
                                                 const LaneRow* rows) {
  const HostLanes<Memory> to(wave, addresses.lane);
  if (addresses.first == 0) {
    for (int i = 0; i < kLanes; ++i) {
      if (addresses.enabled->lane[i] == 0) continue;
      T values[kCount];
      for (int k = 0; k < kCount; ++k) values[k] = static_cast<T>(get_part<kPart>(rows[k].lane[i]));
      std::memcpy(to[static_cast<size_t>(i)], values, sizeof(values));
    }
  } else if constexpr (kCount == 1) {
    for (size_t i = 0; i < addresses.first; ++i) {
      const T value = static_cast<T>(get_part<kPart>(rows[0].lane[i]));
      std::memcpy(to[i], &value, sizeof(T));
    }
  } else {
    for (size_t i = 0; i < addresses.first; i += LaneDwords<kCount>::kAtOnce) {
      LaneDwords<kCount> dwords;
      dwords.read_rows(rows, i);
      dwords.write([&](size_t lane) { return to[i + lane]; });
    }
  }
}

/// Stores kCount rows as T for each enabled lane.
template <class Space, class T, int kCount, Part kPart>
inline void store_rows(Wave& wave, const Addresses<typename Space::Address>& addresses, const LaneRow* rows) {
  using Memory = typename Space::Memory;
  if (Space::covers(wave, addresses.low, addresses.high, sizeof(T) * kCount, true)) [[likely]]
    return store_covered<Memory, T, kCount, kPart>(wave, addresses, rows);
  if constexpr (kTells<Space>) {
    if (store_and_tell<Memory, T, kCount, kPart>(wave, addresses, rows)) return;
  }
  store_one_by_one<Space, T, kCount, kPart>(wave, addresses, rows);
}

/// Sixteen lanes each whose addresses are in steps, in memory that is covered.
template <class Space, u32 kStep>
class Groups {
 public:
  /// For accesses of `size` bytes.
  Groups(const Wave& wave, const AddressParts& parts, u32 size, bool write) {
    const u32 lanes = count_of_first(wave.exec());
    if (lanes == 0 || !are_in_steps<kStep>(parts, lanes)) return;
    u64 low = ~u64{0}, high = 0;
    each_group(lanes, [&](u32 i) {
      const u64 address = static_cast<typename Space::Address>(parts.of(i));
      low = std::min(low, address);
      high = std::max(high, address);
      begins_[i / kGroup] = address;
    });
    if (!Space::covers(wave, low, high + kStep * (kGroup - 1), size, write)) return;
    origin_ = reinterpret_cast<uintptr_t>(Space::host(wave, 0));
    lanes_ = lanes;
  }
  /// None where lanes are elsewhere, or disabled.
  u32 lanes() const { return lanes_; }
  /// The memory of the lane, a multiple of sixteen, and of those that follow it.
  u8* operator[](u32 lane) const { return reinterpret_cast<u8*>(origin_ + begins_[lane / kGroup]); }

 private:
  u32 lanes_ = 0;
  uintptr_t origin_;
  // What is stored here is loaded again at once, and so by itself: hosts wait for stores that a wider load needs.
  u64 begins_[kGroups];
};

template <class Space>
constexpr bool kHasParts = requires(const Wave& wave, const Op* op) { Space::parts(wave, op); };

/// Reads kCount values of type T for each lane of groups into as many rows, from so many bytes behind where they are.
template <class T, int kCount, class Space, u32 kStep>
inline void read_groups(const Groups<Space, kStep>& from, LaneRow* rows, u32 behind = 0) {
  static_assert(kStep == 0 || (kStep == sizeof(T) && kCount == 1));
  each_group(from.lanes(), [&](u32 i) {
    if constexpr (kStep == 0) {
      T values[kCount];
      std::memcpy(values, from[i] + behind, sizeof(values));
      for (int k = 0; k < kCount; ++k) {
        const GroupDwords all = GroupDwords{} + static_cast<u32>(static_cast<i32>(values[k]));
        std::memcpy(&rows[k].lane[i], &all, sizeof(all));  // in one piece, as it is read
      }
    } else {
#if defined(WAVE_SIMD_AVX2)
      // Bytes written out: whether GCC makes vectors of the loop depends on the code around it.
      if constexpr (sizeof(T) == 1) {
        for (u32 k = 0; k < kGroup; k += 8) {
          const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from[i] + behind + k));
          const __m256i dwords = std::is_signed_v<T> ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(&rows[0].lane[i + k]), dwords);
        }
        return;
      }
#endif
      T values[kGroup];
      std::memcpy(values, from[i] + behind, sizeof(values));
      for (u32 k = 0; k < kGroup; ++k) rows[0].lane[i + k] = static_cast<u32>(static_cast<i32>(values[k]));
    }
  });
}

/// Loads where lanes are side by side, or at the same place. False where they are not.
template <class Space, class T, int kCount>
inline bool load_groups(const Wave& wave, const AddressParts& parts, LaneRow* rows) {
  if constexpr (kCount == 1) {
    const Groups<Space, sizeof(T)> from(wave, parts, sizeof(T), false);
    read_groups<T, kCount>(from, rows);
    if (from.lanes() != 0) return true;
  }
  if constexpr (sizeof(T) == sizeof(u32)) {
    const Groups<Space, 0> from(wave, parts, sizeof(T) * kCount, false);
    read_groups<T, kCount>(from, rows);
    return from.lanes() != 0;
  }
  return false;
}

/// Stores where lanes are side by side. False where they are not.
template <class Space, class T, Part kPart>
inline bool store_groups(const Wave& wave, const AddressParts& parts, const LaneRow& row) {
  const Groups<Space, sizeof(T)> to(wave, parts, sizeof(T), true);
  each_group(to.lanes(), [&](u32 i) {
    T values[kGroup];
    for (u32 k = 0; k < kGroup; ++k) values[k] = static_cast<T>(get_part<kPart>(row.lane[i + k]));
    std::memcpy(to[i], values, sizeof(values));
  });
  return to.lanes() != 0;
}

template <class Space, class T, int kCount = 1, Part kPart = Part::Whole>
const Op* load(Wave& wave, const Op* op) {
  LaneRow* const rows = &wave.v[Space::destination(op)];
  if constexpr (kHasParts<Space> && kPart == Part::Whole) {
    if (load_groups<Space, T, kCount>(wave, Space::parts(wave, op), rows)) return go_on(wave, op);
  }
  Addresses<typename Space::Address> addresses;
  if (Space::find(wave, op, addresses)) load_rows<Space, T, kCount, kPart>(wave, addresses, rows);
  return go_on(wave, op);
}

template <class Space, class T, int kCount = 1, Part kPart = Part::Whole>
const Op* store(Wave& wave, const Op* op) {
  const LaneRow* const rows = &wave.v[Space::data(op)];
  if constexpr (kHasParts<Space> && kCount == 1) {
    if (store_groups<Space, T, kPart>(wave, Space::parts(wave, op), *rows)) return go_on(wave, op);
  }
  Addresses<typename Space::Address> addresses;
  if (Space::find(wave, op, addresses)) store_rows<Space, T, kCount, kPart>(wave, addresses, rows);
  return go_on(wave, op);
}

/// Writes a dword of each of kCount rows to LDS, for a lane.
template <int kCount>
inline void write_lds_slots(Wave& wave, i64 offset, const LaneRow (&rows)[kCount], int lane) {
  u32 dwords[kCount];
  for (int k = 0; k < kCount; ++k) dwords[k] = rows[k].lane[lane];
  wave.group->write_lds(lds_slot(wave, offset, lane, kCount), dwords, lane);
}

/// Loads kCount values of type T for each enabled lane into LDS.
template <class Space, class T, int kCount>
inline void load_to_lds(Wave& wave, const Op* op, const Addresses<typename Space::Address>& addresses) {
  LaneRow values[kCount];
  load_rows<Space, T, kCount, Part::Whole>(wave, addresses, values);
  for (int i = 0; i < kLanes; ++i) {
    if (addresses.enabled->lane[i] != 0) write_lds_slots(wave, op->flat.offset, values, i);
  }
}

template <class Space, class T, int kCount = 1>
const Op* load_lds(Wave& wave, const Op* op) {
  Addresses<typename Space::Address> addresses;
  if (Space::find(wave, op, addresses)) load_to_lds<Space, T, kCount>(wave, op, addresses);
  return go_on(wave, op);
}

/// A value of 32 or 64 bits in a lane of consecutive rows.
template <class T>
inline T get_value(const LaneRow* rows, int lane) {
  if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(T, u64{rows[1].lane[lane]} << 32 | rows[0].lane[lane]);
  } else {
    return __builtin_bit_cast(T, rows[0].lane[lane]);
  }
}

template <class T>
inline void set_value(LaneRow* rows, T value, int lane) {
  u32 dwords[sizeof(T) / sizeof(u32)];
  std::memcpy(dwords, &value, sizeof(T));
  for (size_t k = 0; k < std::size(dwords); ++k) rows[k].lane[lane] = dwords[k];
}

/// Where lanes' atomics may work: checked all at once, or lane by lane. Who is to be told is told of all at once where
/// nobody wants the old values and all of them store.
template <class Space>
class AtomicTargets {
  using Lanes = Addresses<typename Space::Address>;

 public:
  /// For values of `size` bytes.
  [[gnu::noinline]] AtomicTargets(Wave& wave, const Lanes& addresses, u32 size, bool one_by_one)
      : wave_(wave), addresses_(addresses), size_(size) {
    if (!addresses.are_multiples_of(size)) return;
    checked_ = Space::covers(wave, addresses.low, addresses.high, size, true);
    if constexpr (std::is_base_of_v<GlobalMemory, Space>) {
      if (!checked_ && !one_by_one) checked_ = tell();
    }
  }
  /// With a lane's operands.
  template <auto kModify, class T>
  AtomicTarget at(int lane, const T& a, const T& b) const {
    const u64 address = addresses_.lane[lane];
    if (checked_) [[likely]]
      return {Space::host(wave_, address)};
    return Space::atomic(wave_, Atomic<kModify>::access({address, size_}, a, b, lane));
  }

 private:
  bool tell() const {
    Observer* const teller = Space::teller(wave_, addresses_.low, addresses_.high, size_, true);
    if (teller != nullptr) teller->modify_memory_lanes(lane_accesses(addresses_, size_));
    return teller != nullptr;
  }

  Wave& wave_;
  const Lanes& addresses_;
  const u32 size_;
  bool checked_ = false;
};

/// Additions to the launch's memory whose old values nobody wants: they may wait. False where they may not.
template <class T>
[[gnu::noinline]] bool add_later(Wave& wave, const Addresses<u64>& addresses, const LaneRow* values) {
  PendingAdds* const adds = wave.group->pending_adds();
  if (adds == nullptr) return false;
  if (!addresses.are_multiples_of(sizeof(T))) return false;
  const AddressSpan span = AddressSpan::over(addresses.low, addresses.high, sizeof(T));
  if (!memory_of(wave).covers(span, true)) return false;
  adds->expect(span);
  for (int i = 0; i < kLanes; ++i) {
    if (addresses.enabled->lane[i] != 0) adds->add(addresses.lane[i], get_value<T>(values, i));
  }
  return true;
}

/// A read-modify-write for each enabled lane, in lane order. The rows of operands are given: the second one counts
/// where the function has two. The old values go to `returned`, if any.
template <class Space, auto kModify>
inline void modify_rows(Wave& wave, const Addresses<typename Space::Address>& addresses, const LaneRow* first,
                        const LaneRow* second, LaneRow* returned) {
  using T = typename Atomic<kModify>::Value;
  if constexpr (atomics::is_addition<kModify> && std::is_base_of_v<GlobalMemory, Space>) {
    if (returned == nullptr && add_later<T>(wave, addresses, first)) return;
  }
  const AtomicTargets<Space> targets(wave, addresses, sizeof(T), returned != nullptr || Atomic<kModify>::kCompares);
  for (int i = 0; i < kLanes; ++i) {
    if (addresses.enabled->lane[i] == 0) continue;
    const T a = get_value<T>(first, i), b = Atomic<kModify>::kHasTwo ? get_value<T>(second, i) : T{};
    const AtomicTarget target = targets.template at<kModify>(i, a, b);
    const T old = Atomic<kModify>::template apply<Space::kShared>(wave, target, a, b, i);
    if (returned != nullptr) set_value(returned, old, i);
  }
}

/// Calls `modify` with the addition of f32 that LDS makes, as a template argument: with denormals as MODE says, which
/// memory, and other types, do not look at (LLVM's SITargetLowering, shouldExpandAtomicRMWInIR).
template <class Modify>
void add_by_mode(Mode mode, Modify modify) {
  switch (mode.denorm32()) {
    case 0:
      return modify.template operator()<atomics::add_flushed<false, false>>();
    case 1:
      return modify.template operator()<atomics::add_flushed<true, false>>();
    case 2:
      return modify.template operator()<atomics::add_flushed<false, true>>();
    default:
      return modify.template operator()<atomics::add<f32>>();
  }
}

/// Where the function has two operands, the second follows the first in the registers.
template <auto kModify>
inline const LaneRow* second_operand(const LaneRow* first) {
  return first + sizeof(typename Atomic<kModify>::Value) / sizeof(u32);
}

/// Space::find(), compiled once: what an atomic costs is elsewhere.
template <class Space>
[[gnu::noinline]] bool find_for_atomic(const Wave& wave, const Op* op, Addresses<typename Space::Address>& addresses) {
  return Space::find(wave, op, addresses);
}

template <class Space, auto kModify>
const Op* atomic(Wave& wave, const Op* op) {
  Addresses<typename Space::Address> addresses;
  if (!find_for_atomic<Space>(wave, op, addresses)) return next(op);
  const LaneRow* data = &wave.v[op->flat.data];
  modify_rows<Space, kModify>(wave, addresses, data, second_operand<kModify>(data),
                              op->flat.returns ? &wave.v[op->flat.dst] : nullptr);
  return next(op);
}

/// What every address space but LDS has; Load and Store are templates like those above.
// clang-format off
#define WAVE_HALF_LOADS(prefix, suffix, Load, Space, Low, High)     \
  {prefix "_load_ubyte_d16" suffix, Load<Space, u8, 1, Low>},       \
  {prefix "_load_ubyte_d16_hi" suffix, Load<Space, u8, 1, High>},   \
  {prefix "_load_sbyte_d16" suffix, Load<Space, i8, 1, Low>},       \
  {prefix "_load_sbyte_d16_hi" suffix, Load<Space, i8, 1, High>},   \
  {prefix "_load_short_d16" suffix, Load<Space, u16, 1, Low>},      \
  {prefix "_load_short_d16_hi" suffix, Load<Space, u16, 1, High>}

#define WAVE_LOADS_AND_STORES(prefix, Load, Store, Space)           \
  {prefix "_load_ubyte", Load<Space, u8>},                          \
  {prefix "_load_sbyte", Load<Space, i8>},                          \
  {prefix "_load_ushort", Load<Space, u16>},                        \
  {prefix "_load_sshort", Load<Space, i16>},                        \
  {prefix "_load_dword", Load<Space, u32>},                         \
  {prefix "_load_dwordx2", Load<Space, u32, 2>},                    \
  {prefix "_load_dwordx3", Load<Space, u32, 3>},                    \
  {prefix "_load_dwordx4", Load<Space, u32, 4>},                    \
  {prefix "_store_byte", Store<Space, u8>},                         \
  {prefix "_store_byte_d16_hi", Store<Space, u8, 1, Part::High>},   \
  {prefix "_store_short", Store<Space, u16>},                       \
  {prefix "_store_short_d16_hi", Store<Space, u16, 1, Part::High>}, \
  {prefix "_store_dword", Store<Space, u32>},                       \
  {prefix "_store_dwordx2", Store<Space, u32, 2>},                  \
  {prefix "_store_dwordx3", Store<Space, u32, 3>},                  \
  {prefix "_store_dwordx4", Store<Space, u32, 4>}
// clang-format on

}  // namespace wave::emulator::WAVE_SIMD
