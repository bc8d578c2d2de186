// Address spaces, and the two in which all others end. Included once for each SIMD level (each_simd_level.h), inside no
// namespace.
//
// An address space is a struct of static functions that the templates of vector_memory.inl take as Space:
//
//   Memory                                                       whose host() and teller() it has
//   Address                                                      u64, or u32 where addresses have 32 bits
//   bool find(const Wave&, const Op*, Addresses<Address>&)       the lanes' addresses; false where no lane is enabled
//   AddressParts parts(const Wave&, const Op*)                   what they are made of, where it is that simple
//   bool covers(const Wave&, u64 low, u64 high, u32 size, bool write)   whether all that lies between two addresses,
//                                                                and so many bytes from the second on, may be
//                                                                accessed where host() says
//   u8* host(const Wave&, u64 address)                           the host's memory of one that is covered, or of 0
//   void read(Wave&, AddressSpan, void* to, int lane)            and write: with the space's checks; they throw Fault
//   Observer* teller(const Wave&, u64 low, u64 high, u32 size, bool write)   who is told of accesses there by tell(),
//                                                                where somebody watches them; nullptr where they go
//                                                                through read() and write()
//   AtomicTarget atomic(Wave&, const AtomicAccess&)   where an atomic may work; throws Fault
//   bool kShared                                                 whether other threads use it at the same time

namespace wave::emulator::WAVE_SIMD {

/// The memory of the launch: what the address spaces beyond LDS and scratch end in.
struct GlobalMemory {
  using Memory = GlobalMemory;
  using Address = u64;
  static constexpr bool kShared = true;
  static bool covers(const Wave& wave, u64 low, u64 high, u32 size, bool write) {
    return wave.group->covers_memory(AddressSpan::over(low, high, size), write);
  }
  static Observer* teller(const Wave& wave, u64 low, u64 high, u32 size, bool write) {
    return wave.group->teller_of_memory(AddressSpan::over(low, high, size), write);
  }
  static void tell(Observer& observer, const LaneAccesses& all) {
    all.data == nullptr ? observer.load_memory_lanes(all) : observer.store_memory_lanes(all);
  }
  static u8* host(const Wave&, u64 address) { return reinterpret_cast<u8*>(address); }
  static void read(Wave& wave, AddressSpan span, void* to, int lane) { wave.group->read_memory(span, to, lane); }
  static void write(Wave& wave, AddressSpan span, const void* from, int lane) {
    wave.group->write_memory(span, from, lane);
  }
  static AtomicTarget atomic(Wave& wave, const AtomicAccess& access) { return wave.group->atomic_memory(access); }
};

/// LDS of the wave's workgroup, from address 0 on.
struct LdsMemory {
  using Memory = LdsMemory;
  using Address = u32;
  static constexpr bool kShared = false;
  static bool covers(const Wave& wave, u64, u64 high, u32 size, bool) {
    return wave.group->direct_lds_bytes().contains({high, size});  // LDS begins at 0
  }
  static Observer* teller(const Wave& wave, u64, u64 high, u32 size, bool) {
    return wave.group->teller_of_lds({high, size});
  }
  static void tell(Observer& observer, const LaneAccesses& all) {
    all.data == nullptr ? observer.load_lds_lanes(all) : observer.store_lds_lanes(all);
  }
  static u8* host(const Wave& wave, u64 address) { return wave.group->lds() + address; }
  static void read(Wave& wave, AddressSpan span, void* to, int lane) { wave.group->read_lds(span, to, lane); }
  static void write(Wave& wave, AddressSpan span, const void* from, int lane) {
    wave.group->write_lds(span, from, lane);
  }
  static AtomicTarget atomic(Wave& wave, const AtomicAccess& access) { return wave.group->atomic_lds(access); }
};

template <class Space>
constexpr bool kTells = requires(Observer& observer, const LaneAccesses& all) { Space::tell(observer, all); };

}  // namespace wave::emulator::WAVE_SIMD
