// Loads and stores of a wave's lanes: what GLOBAL, FLAT, SCRATCH, MUBUF and DS instructions have in common. Included
// once for each SIMD level (each_simd_level.h), inside no namespace.
//
// An address space is a struct of static functions that the templates below take as Space:
//
//   Address                                                      u64, or u32 where addresses have 32 bits
//   bool find(const Wave&, const Op*, Addresses<Address>&)       the lanes' addresses; false where no lane is enabled
//   bool covers(const Wave&, const Addresses<Address>&, u32 size, bool write)   whether host() is right for all of them
//   u8* host(const Wave&, u64 address)
//   void read(Wave&, AddressSpan, void* to, int lane)            and write: with the space's checks; they throw Fault
//   AtomicTarget atomic(Wave&, AddressSpan, bool serves_parts, int lane)   where an atomic may work; throws Fault
//   bool kShared                                                 whether other threads use it at the same time

namespace wave::emulator::WAVE_SIMD {

/// How many lanes' dwords are copied at once where they lie side by side.
inline constexpr u32 kContiguous = 16;

/// Where the lanes of a wave access memory.
template <class Address>
struct Addresses {
  alignas(64) Address lane[kLanes];
  const LaneRow* enabled;  ///< ~0 for the lanes that access it, 0 for the others
  bool all_enabled;        ///< all of the row's lanes
  Address low;             ///< the lowest address of an enabled lane, or where memory begins at 0 less
  Address high;            ///< ... and the highest: of an access's first byte

  /// LDS begins at 0, so that all that matters of it is where accesses end.
  static constexpr bool kFromZero = sizeof(Address) == sizeof(u32);

  /// A lane's mask in as many bits as addresses have.
  static Address mask(u32 enabled) { return static_cast<Address>(sign_extend(enabled)); }

  /// Sets the range of the addresses. False where no lane is enabled.
  bool find_range(const LaneRow& enabled_lanes) {
    enabled = &enabled_lanes;
    u32 all = ~0u;
    for (int i = 0; i < kLanes; ++i) all &= enabled_lanes.lane[i];
    all_enabled = all != 0;
    Address lowest = ~Address{0}, highest = 0;
    if (all_enabled) {
      for (int i = 0; i < kLanes; ++i) highest = std::max(highest, lane[i]);
      if constexpr (kFromZero) {
        lowest = 0;
      } else {
        for (int i = 0; i < kLanes; ++i) lowest = std::min(lowest, lane[i]);
      }
    } else {
      for (int i = 0; i < kLanes; ++i) {
        const Address enable = mask(enabled_lanes.lane[i]);
        lowest = std::min(lowest, lane[i] | ~enable);
        highest = std::max(highest, lane[i] & enable);
      }
    }
    low = lowest;
    high = highest;
    return low <= high;
  }

  /// The same, `offset` behind.
  Addresses moved(Address offset) const {
    Addresses result;
    for (int i = 0; i < kLanes; ++i) result.lane[i] = lane[i] + offset;
    result.enabled = enabled;
    result.all_enabled = all_enabled;
    result.low = low + offset;
    result.high = high + offset;
    if (result.low > result.high) result.find_range(*enabled);  // some have wrapped around
    return result;
  }

  /// How many lanes, all of a wave, are enabled where of each sixteen every lane accesses what lies kStep bytes behind
  /// that of the lane before it: how work-items of a row of a tile, or of a whole wave, do. Else 0. A step of 0: they
  /// access the same.
  template <u32 kStep>
  u32 lanes_in_steps() const {
    if (lane[kContiguous - 1] - lane[0] != kStep * (kContiguous - 1)) return 0;  // most that are not differ here
    if (all_enabled) return are_in_steps<kStep, kLanes>() ? kLanes : 0;
    return are_in_steps<kStep, kLanes / 2>() && is_half_enabled() ? kLanes / 2 : 0;
  }

 private:
  // Written out for vectors: compilers transpose the loop.
  typedef Address Chunk __attribute__((vector_size(64)));

  /// Of the first kCount lanes.
  template <u32 kStep, u32 kCount>
  bool are_in_steps() const {
    constexpr u32 kAtOnce = sizeof(Chunk) / sizeof(Address);
    Chunk differences{};
    for (u32 i = 0; i < kCount; i += kAtOnce) {
      Chunk addresses, steps;
      std::memcpy(&addresses, &lane[i], sizeof(Chunk));
      for (u32 k = 0; k < kAtOnce; ++k) steps[k] = kStep * ((i + k) % kContiguous);
      differences |= addresses - lane[i / kContiguous * kContiguous] - steps;
    }
    Address any = 0;
    for (u32 k = 0; k < kAtOnce; ++k) any |= differences[k];
    return any == 0;
  }

  /// Whether the first half of the lanes, and no other, is enabled: a wave of 32.
  bool is_half_enabled() const {
    u32 first = ~0u, others = 0;
    for (u32 i = 0; i < kLanes / 2; ++i) first &= enabled->lane[i];
    for (u32 i = kLanes / 2; i < kLanes; ++i) others |= enabled->lane[i];
    return first == ~0u && others == 0;
  }
};

/// The memory of the launch: what the address spaces beyond LDS and scratch end in.
struct GlobalMemory {
  using Address = u64;
  static constexpr bool kShared = true;
  static bool covers(const Wave& wave, const Addresses<u64>& addresses, u32 size, bool write) {
    return wave.group->covers_memory(AddressSpan::over(addresses.low, addresses.high, size), write);
  }
  static u8* host(const Wave&, u64 address) { return reinterpret_cast<u8*>(address); }
  static void read(Wave& wave, AddressSpan span, void* to, int lane) { wave.group->read_memory(span, to, lane); }
  static void write(Wave& wave, AddressSpan span, const void* from, int lane) {
    wave.group->write_memory(span, from, lane);
  }
  static AtomicTarget atomic(Wave& wave, AddressSpan span, bool serves_parts, int lane) {
    return wave.group->atomic_memory(span, serves_parts, lane);
  }
};

/// LDS of the wave's workgroup, from address 0 on.
struct LdsMemory {
  using Address = u32;
  static constexpr bool kShared = false;
  static bool covers(const Wave& wave, const Addresses<u32>& addresses, u32 size, bool) {
    return wave.group->direct_lds_bytes().contains({addresses.high, size});  // LDS begins at 0
  }
  static u8* host(const Wave& wave, u64 address) { return wave.group->lds() + address; }
  static void read(Wave& wave, AddressSpan span, void* to, int lane) { wave.group->read_lds(span, to, lane); }
  static void write(Wave& wave, AddressSpan span, const void* from, int lane) {
    wave.group->write_lds(span, from, lane);
  }
  static AtomicTarget atomic(Wave& wave, AddressSpan span, bool, int lane) {
    return wave.group->atomic_lds(span, lane);
  }
};

/// The part of a register that an access of less than 32 bits concerns. A load keeps the rest.
enum class Part : u8 { Whole, Low, High };

template <Part kPart, class T>
inline void set_part(u32& dword, T value) {
  const u32 extended = static_cast<u32>(static_cast<i32>(value));
  if constexpr (kPart == Part::Whole) dword = extended;
  if constexpr (kPart == Part::Low) dword = (dword & 0xffff0000u) | (extended & 0xffffu);
  if constexpr (kPart == Part::High) dword = (dword & 0xffffu) | extended << 16;
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

/// kCount dwords of each of four lanes, between memory, which has a lane's side by side, and rows.
template <int kCount>
struct FourLanes {
#if defined(__x86_64__)
  __m128i part[4];  ///< of a lane each, or of a row

  void read(int lane, const u8* from) {
    if constexpr (kCount == 4) {
      part[lane] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    } else {
      part[lane] = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
      if constexpr (kCount == 3) part[lane] = _mm_unpacklo_epi64(part[lane], _mm_loadu_si32(from + 2 * sizeof(u32)));
    }
  }
  void write(int lane, u8* to) const {
    if constexpr (kCount == 4) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), part[lane]);
    } else {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to), part[lane]);
      if constexpr (kCount == 3) _mm_storeu_si32(to + 2 * sizeof(u32), _mm_unpackhi_epi64(part[lane], part[lane]));
    }
  }
  void read_rows(const LaneRow* rows, int first) {
    for (int k = 0; k < 4; ++k) {
      part[k] = k < kCount ? _mm_load_si128(reinterpret_cast<const __m128i*>(&rows[k].lane[first])) : __m128i{};
    }
  }
  void write_rows(LaneRow* rows, int first) const {
    for (int k = 0; k < kCount; ++k) _mm_store_si128(reinterpret_cast<__m128i*>(&rows[k].lane[first]), part[k]);
  }
  void transpose() {
    const __m128i low01 = _mm_unpacklo_epi32(part[0], part[1]), low23 = _mm_unpacklo_epi32(part[2], part[3]);
    const __m128i high01 = _mm_unpackhi_epi32(part[0], part[1]), high23 = _mm_unpackhi_epi32(part[2], part[3]);
    part[0] = _mm_unpacklo_epi64(low01, low23);
    part[1] = _mm_unpackhi_epi64(low01, low23);
    part[2] = _mm_unpacklo_epi64(high01, high23);
    part[3] = _mm_unpackhi_epi64(high01, high23);
  }
#else
  u32 part[4][4] = {};

  void read(int lane, const u8* from) { std::memcpy(part[lane], from, sizeof(u32) * kCount); }
  void write(int lane, u8* to) const { std::memcpy(to, part[lane], sizeof(u32) * kCount); }
  void read_rows(const LaneRow* rows, int first) {
    for (int k = 0; k < kCount; ++k) std::memcpy(part[k], &rows[k].lane[first], sizeof(part[k]));
  }
  void write_rows(LaneRow* rows, int first) const {
    for (int k = 0; k < kCount; ++k) std::memcpy(&rows[k].lane[first], part[k], sizeof(part[k]));
  }
  void transpose() {
    for (int i = 0; i < 4; ++i) {
      for (int k = 0; k < i; ++k) std::swap(part[i][k], part[k][i]);
    }
  }
#endif
};

/// The value, which a compiler cannot see: it would take addresses out of vector registers one by one, which is slower
/// than to load them.
template <class T>
inline T opaque(T value) {
  asm("" : "+r"(value));
  return value;
}

/// Loads what all of each sixteen lanes access from memory that is known to be covered. False where they do not.
template <class Space, int kCount>
inline bool load_same(const Wave& wave, const Addresses<typename Space::Address>& addresses, LaneRow* rows,
                      i64 behind) {
  const u32 lanes = addresses.template lanes_in_steps<0>();
  for (u32 i = 0; i < lanes; i += kContiguous) {
    u32 dwords[kCount];
    std::memcpy(dwords, Space::host(wave, addresses.lane[i]) + behind, sizeof(dwords));
    for (int k = 0; k < kCount; ++k) {
      for (u32 j = 0; j < kContiguous; ++j) rows[k].lane[i + j] = dwords[k];
    }
  }
  return lanes != 0;
}

/// Loads the values of all lanes from memory that is known to be covered, those of disabled lanes from the lowest
/// address: the loops are without branches. What lies so many bytes `behind` the addresses, or before them.
template <class Space, class T, int kCount>
inline void load_covered(const Wave& wave, const Addresses<typename Space::Address>& addresses, LaneRow* rows,
                         i64 behind = 0) {
  if constexpr (sizeof(T) == sizeof(u32)) {
    if (load_same<Space, kCount>(wave, addresses, rows, behind)) return;
  }
  if constexpr (kCount == 1 && sizeof(T) == sizeof(u32)) {
    if (const u32 lanes = addresses.template lanes_in_steps<sizeof(T)>(); lanes != 0) {
      for (u32 i = 0; i < lanes; i += kContiguous) {
        std::memcpy(&rows[0].lane[i], Space::host(wave, addresses.lane[i]) + behind, sizeof(T) * kContiguous);
      }
      return;
    }
  }
  typename Space::Address enabled[kLanes];
  const typename Space::Address* at = addresses.lane;
  if (!addresses.all_enabled) {
    for (int i = 0; i < kLanes; ++i) {
      const auto enable = addresses.mask(addresses.enabled->lane[i]);
      enabled[i] = (addresses.lane[i] & enable) | (addresses.low & ~enable);
    }
    at = enabled;
  }
  if constexpr (kCount == 1) {
    for (int i = 0; i < kLanes; ++i) {
      T value;
      std::memcpy(&value, Space::host(wave, opaque(at[i])) + behind, sizeof(T));
      rows[0].lane[i] = static_cast<u32>(static_cast<i32>(value));
    }
  } else {
    for (int i = 0; i < kLanes; i += 4) {
      FourLanes<kCount> lanes;
      for (int j = 0; j < 4; ++j) lanes.read(j, Space::host(wave, opaque(at[i + j])) + behind);
      lanes.transpose();
      lanes.write_rows(rows, i);
    }
  }
}

/// Loads kCount values of type T for each enabled lane into as many rows.
template <class Space, class T, int kCount, Part kPart>
inline void load_rows(Wave& wave, const Addresses<typename Space::Address>& addresses, LaneRow* rows) {
  LaneRow values[kCount];
  if (Space::covers(wave, addresses, sizeof(T) * kCount, false)) [[likely]] {
    load_covered<Space, T, kCount>(wave, addresses, values);
  } else {
    for (LaneRow& row : values) row = {};
    for (int i = 0; i < kLanes; ++i) {
      if (addresses.enabled->lane[i] == 0) continue;
      T value[kCount];
      Space::read(wave, {addresses.lane[i], sizeof(value)}, value, i);
      for (int k = 0; k < kCount; ++k) values[k].lane[i] = static_cast<u32>(static_cast<i32>(value[k]));
    }
  }
  for (int k = 0; k < kCount; ++k) set_rows<kPart>(rows[k], values[k], *addresses.enabled);
}

/// Stores kCount rows as T for each enabled lane.
template <class Space, class T, int kCount, Part kPart>
inline void store_rows(Wave& wave, const Addresses<typename Space::Address>& addresses, const LaneRow* rows) {
  const bool covered = Space::covers(wave, addresses, sizeof(T) * kCount, true);
  if constexpr (kCount == 1 && sizeof(T) == sizeof(u32)) {
    if (const u32 lanes = covered ? addresses.template lanes_in_steps<sizeof(T)>() : 0; lanes != 0) {
      for (u32 i = 0; i < lanes; i += kContiguous) {
        std::memcpy(Space::host(wave, addresses.lane[i]), &rows[0].lane[i], sizeof(T) * kContiguous);
      }
      return;
    }
  }
  const bool is_direct = covered && addresses.all_enabled;
  const auto host = [&](int lane) { return Space::host(wave, opaque(addresses.lane[lane])); };
  const auto put = [&](int lane, const T* value) {
    if (addresses.enabled->lane[lane] == 0) return;
    if (covered) [[likely]] {
      std::memcpy(host(lane), value, sizeof(T) * kCount);
    } else {
      Space::write(wave, {addresses.lane[lane], sizeof(T) * kCount}, value, lane);
    }
  };
  if constexpr (kCount == 1) {
    for (int i = 0; i < kLanes; ++i) {
      const T value = static_cast<T>(get_part<kPart>(rows[0].lane[i]));
      if (is_direct) {
        std::memcpy(host(i), &value, sizeof(T));
      } else {
        put(i, &value);
      }
    }
  } else {
    for (int i = 0; i < kLanes; i += 4) {
      FourLanes<kCount> lanes;
      lanes.read_rows(rows, i);
      lanes.transpose();
      for (int j = 0; j < 4; ++j) {
        if (is_direct) {
          lanes.write(j, host(i + j));
        } else {
          u32 dwords[4];
          lanes.write(j, reinterpret_cast<u8*>(dwords));
          put(i + j, dwords);
        }
      }
    }
  }
}

template <class Space, class T, int kCount = 1, Part kPart = Part::Whole>
const Op* load(Wave& wave, const Op* op) {
  Addresses<typename Space::Address> addresses;
  if (Space::find(wave, op, addresses))
    load_rows<Space, T, kCount, kPart>(wave, addresses, &wave.v[Space::destination(op)]);
  return next(op);
}

template <class Space, class T, int kCount = 1, Part kPart = Part::Whole>
const Op* store(Wave& wave, const Op* op) {
  Addresses<typename Space::Address> addresses;
  if (Space::find(wave, op, addresses)) store_rows<Space, T, kCount, kPart>(wave, addresses, &wave.v[Space::data(op)]);
  return next(op);
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
  return next(op);
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

/// Where lanes' atomics may work: checked all at once, or lane by lane.
template <class Space, auto kModify>
class AtomicTargets {
  using Lanes = Addresses<typename Space::Address>;
  using T = typename Atomic<kModify>::Value;

 public:
  AtomicTargets(Wave& wave, const Lanes& addresses) : wave_(wave), addresses_(addresses) {
    typename Space::Address bits = 0;
    for (int i = 0; i < kLanes; ++i) bits |= addresses.lane[i] & addresses.mask(addresses.enabled->lane[i]);
    checked_ = bits % sizeof(T) == 0 && Space::covers(wave, addresses, sizeof(T), true);
  }
  AtomicTarget operator[](int lane) const {
    const u64 address = addresses_.lane[lane];
    if (checked_) [[likely]]
      return {Space::host(wave_, address)};
    return Space::atomic(wave_, {address, sizeof(T)}, Atomic<kModify>::kServesParts, lane);
  }

 private:
  Wave& wave_;
  const Lanes& addresses_;
  bool checked_;
};

/// Additions to the launch's memory whose old values nobody wants: they may wait. False where they may not.
template <class T>
inline bool add_later(Wave& wave, const Addresses<u64>& addresses, const LaneRow* values) {
  PendingAdds* const adds = wave.group->pending_adds();
  if (adds == nullptr) return false;
  u64 bits = 0;
  for (int i = 0; i < kLanes; ++i) bits |= addresses.lane[i] & addresses.mask(addresses.enabled->lane[i]);
  if (bits % sizeof(T) != 0) return false;
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
  const AtomicTargets<Space, kModify> targets(wave, addresses);
  for (int i = 0; i < kLanes; ++i) {
    if (addresses.enabled->lane[i] == 0) continue;
    const T a = get_value<T>(first, i), b = Atomic<kModify>::kHasTwo ? get_value<T>(second, i) : T{};
    const T old = Atomic<kModify>::template apply<Space::kShared>(wave, targets[i], a, b, i);
    if (returned != nullptr) set_value(returned, old, i);
  }
}

/// Where the function has two operands, the second follows the first in the registers.
template <auto kModify>
inline const LaneRow* second_operand(const LaneRow* first) {
  return first + sizeof(typename Atomic<kModify>::Value) / sizeof(u32);
}

template <class Space, auto kModify>
const Op* atomic(Wave& wave, const Op* op) {
  Addresses<typename Space::Address> addresses;
  if (!Space::find(wave, op, addresses)) return next(op);
  const LaneRow* data = &wave.v[op->flat.data];
  modify_rows<Space, kModify>(wave, addresses, data, second_operand<kModify>(data),
                              op->flat.returns ? &wave.v[op->flat.dst] : nullptr);
  return next(op);
}

/// What every address space but LDS has; Load and Store are templates like those above.
// clang-format off
#define WAVE_LOADS_AND_STORES(prefix, Load, Store, Space)           \
  {prefix "_load_ubyte", Load<Space, u8>},                          \
  {prefix "_load_sbyte", Load<Space, i8>},                          \
  {prefix "_load_ushort", Load<Space, u16>},                        \
  {prefix "_load_sshort", Load<Space, i16>},                        \
  {prefix "_load_ubyte_d16", Load<Space, u8, 1, Part::Low>},        \
  {prefix "_load_ubyte_d16_hi", Load<Space, u8, 1, Part::High>},    \
  {prefix "_load_sbyte_d16", Load<Space, i8, 1, Part::Low>},        \
  {prefix "_load_sbyte_d16_hi", Load<Space, i8, 1, Part::High>},    \
  {prefix "_load_short_d16", Load<Space, u16, 1, Part::Low>},       \
  {prefix "_load_short_d16_hi", Load<Space, u16, 1, Part::High>},   \
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
