// What loads, stores and atomics do with undefined bits.
#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/uninitialized.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

/// Lanes' dwords of scratch lie side by side, so that what is known of it is as long as it is deep.
u64 UninitializedChecker::place(const Access& access, u64 i) const {
  const u64 address = access.span.begin() + i;
  if (access.memory == &lds_) return address;
  return (address / 4 * kLanes + static_cast<u32>(access.lane)) * 4 + address % 4;
}

u8* UninitializedChecker::host(const Access& access) const {
  if (access.memory == &lds_) return wave_->group->lds() + access.span.begin();
  return wave_->scratch + static_cast<u64>(access.lane) * wave_->scratch_size + access.span.begin();
}

/// Of the first undefined bits of an access; 0: there are none.
UninitializedChecker::Source UninitializedChecker::source_of(const Access& access) {
  for (u64 i = 0; i < access.span.size(); ++i) {
    if (access.memory->bits(place(access, i)) == 0) continue;
    const Source source = access.memory->source(place(access, i));
    if ((source & ~kComputed) != 0) return source;
    const bool is_lds = access.memory == &lds_;
    return origin(is_lds ? "lds" : "scratch", is_lds ? "LDS" : "scratch", access.lane);
  }
  return 0;
}

/// The parts of an access that lie in one dword each, by their place in what is known of the memory.
template <class Visit>
void UninitializedChecker::each_dword(const Access& access, Visit visit) const {
  if (access.memory == &lds_) return visit(access.span.begin(), access.span.size());  // all dwords lie side by side
  for (u64 i = 0; i < access.span.size();) {
    const u64 size = std::min<u64>(sizeof(u32) - (access.span.begin() + i) % sizeof(u32), access.span.size() - i);
    visit(place(access, i), size);
    i += size;
  }
}

/// What is read past the end of memory reads as zero, whatever lies there.
bool UninitializedChecker::is_undefined(u64 address) {
  return !global_.is_defined(address) && memory_of(*wave_).has(address);
}

/// The same of the launch's memory.
UninitializedChecker::Source UninitializedChecker::source_of_memory(const Access& access) {
  for (u64 i = 0; i < access.span.size(); ++i) {
    const u64 address = access.span.begin() + i;
    if (is_undefined(address)) return origin("global", memory_of(*wave_).name_of(address), access.lane, address);
  }
  return 0;
}

void UninitializedChecker::note_load(const Access& access) {
  if (now_->replaces) return;  // its store says what was there
  bool is_defined = true;
  each_dword(access, [&](u64 at, u64 size) { is_defined &= access.memory->is_defined(at, size); });
  if (!is_defined) accesses_.push_back(access);
}

void UninitializedChecker::note_store(const Access& access) {
  if (now_->goes_to_lds && access.memory == &lds_) to_lds_.push_back(access);
  if (now_->effect == Effect::Modifies || stores_some_) return accesses_.push_back(access);
  if (access.memory == nullptr) return global_.define(access.span);
  each_dword(access, [&](u64 at, u64 size) { access.memory->define(at, size); });
}

void UninitializedChecker::load_lds(AddressSpan span, int lane) {
  if (now_ != nullptr) note_load({span, lane, &lds_, 0});
}

void UninitializedChecker::load_scratch(AddressSpan span, int lane) {
  if (now_ != nullptr) note_load({span, lane, &state_->scratch, 0});
}

void UninitializedChecker::store_lds(AddressSpan span, const void* data, int lane) {
  if (now_ == nullptr) return;
  Access access{span, lane, &lds_, 0};
  if (data != nullptr) std::memcpy(&access.copied, data, std::min<u64>(span.size(), sizeof(access.copied)));
  note_store(access);
}

void UninitializedChecker::load_memory(AddressSpan span, int lane) {
  if (now_ == nullptr || global_.is_defined(span)) return;
  Loaded loaded{span, lane, std::vector<u8>(span.size()), std::vector<u8>(span.size())};
  bool has_some = false;
  for (u64 i = 0; i < span.size(); ++i) {
    const u64 address = span.begin() + i;
    if (!memory_of(*wave_).has(address)) continue;
    loaded.bytes[i] = *reinterpret_cast<const u8*>(address);
    if (global_.is_defined(address)) continue;
    loaded.undefined[i] = 0xff;
    has_some = true;
  }
  if (!has_some) return;
  loaded_.push_back(std::move(loaded));
  accesses_.push_back({span, lane, nullptr, 0});
}

void UninitializedChecker::store_memory(AddressSpan span, const void* data, int lane) {
  if (now_ == nullptr) return global_.define(span);
  const bool is_defined = global_.is_defined(span);  // asked now, before the contents that tell it change
  if (now_->effect == Effect::Modifies && is_defined) return;
  Access access{span, lane, nullptr, 0};
  if (data != nullptr) std::memcpy(&access.copied, data, std::min<u64>(span.size(), sizeof(access.copied)));
  note_store(access);
}

/// Whether all that is stored is defined, and goes nowhere but to where it is stored.
bool UninitializedChecker::only_defines() const {
  return now_->effect == Effect::Stores && !stores_some_ && !now_->goes_to_lds;
}

/// How far lanes may reach for what lies between them to be asked for as well.
constexpr u64 kSmallHull = 4096;

void UninitializedChecker::load_lds_lanes(const LaneAccesses& all) {
  if (now_ == nullptr || lds_.are_defined(all.begins.data(), all.lanes, all.size)) return;
  for (u64 left = all.lanes; left != 0;) {
    const u64 same = all.same_as_first(left);
    const AddressSpan span = all.span(std::countr_zero(left));
    left &= ~same;
    if (lds_.is_defined(span.begin(), span.size())) continue;
    for (u64 one = same; one != 0; one &= one - 1) accesses_.push_back({span, std::countr_zero(one), &lds_, 0});
  }
}

void UninitializedChecker::store_lds_lanes(const LaneAccesses& all) {
  if (now_ == nullptr) return;
  if (!only_defines()) return Observer::store_lds_lanes(all);
  const AddressSpan hull = all.hull();
  if (hull.size() == all.bytes()) return lds_.define(hull.begin(), hull.size());
  all.each([&](int lane) { lds_.define(all.span(lane).begin(), all.size); });
}

void UninitializedChecker::load_memory_lanes(const LaneAccesses& all) {
  if (now_ == nullptr || !global_.has_some()) return;
  const AddressSpan hull = all.hull();
  if (hull.size() <= kSmallHull && global_.is_defined(hull)) return;
  Observer::load_memory_lanes(all);
}

void UninitializedChecker::store_memory_lanes(const LaneAccesses& all) {
  if (now_ != nullptr && !only_defines()) return Observer::store_memory_lanes(all);
  if (!global_.has_some()) return;
  const AddressSpan hull = all.hull();
  if (hull.size() == all.bytes()) return global_.define(hull);
  all.each([&](int lane) { global_.define(all.span(lane)); });
}

void UninitializedChecker::store_scratch(AddressSpan span, int lane, bool) {
  if (now_ != nullptr) note_store({span, lane, &state_->scratch, 0});
}

/// As an instruction's trial reads what it has loaded, with the undefined bits turned or as they were.
bool UninitializedChecker::recall(AddressSpan span, void* to, int lane, bool turns) const {
  const auto found =
      std::ranges::find_if(loaded_, [&](const Loaded& one) { return one.span == span && one.lane == lane; });
  if (found == loaded_.end()) return false;
  for (u64 i = 0; i < span.size(); ++i) {
    static_cast<u8*>(to)[i] = static_cast<u8>(found->bytes[i] ^ (turns ? found->undefined[i] : 0));
  }
  return true;
}

/// Loads again, with the undefined bits of memory as they are and turned: so it does not matter how they come into
/// registers. Leaves the rows as they are.
void UninitializedChecker::load_again(const Op* op, const std::map<u8*, u8>& turned) {
  const Wave& wave = *wave_;
  std::vector<LaneRow> actual;
  for (const u32 row : now_->rows) actual.push_back(wave.v[row]);
  const auto turn_memory = [&] {
    for (const auto& [byte, bits] : turned) *byte ^= bits;
  };
  trials_[kAsIs].has_failed = false;
  trials_[kAsIs].rows.clear();
  for (const u32 row : now_->writes) trials_[kAsIs].rows.push_back(wave.v[row]);
  std::copy_n(wave.s, trials_[kAsIs].scalars.size(), trials_[kAsIs].scalars.begin());
  for (const int turn : {kAsIs, kAll}) {
    if (turn == kAsIs && loaded_.empty()) continue;  // nobody else writes LDS and scratch meanwhile
    const auto recalled = [&](AddressSpan span, void* to, int lane) { return recall(span, to, lane, turn == kAll); };
    restore_rows(wave);
    if (turn == kAll) turn_memory();
    wave.group->unwatched(recalled, [&] { try_with(op, turn, trials_[turn]); });
    if (turn == kAll) turn_memory();
  }
  for (size_t i = 0; i < actual.size(); ++i) wave.v[now_->rows[i]] = actual[i];
}

/// As `load` does, without a trial: registers that a function saves come back undefined as often as it is called.
void UninitializedChecker::copy_scratch() {
  define_results(*wave_);
  for (const Access& access : accesses_) {
    const Source source = source_of(access);
    for (u64 i = 0; i < access.span.size(); i += sizeof(u32)) {
      u32 bits = 0;
      for (u64 j = 0; j < sizeof(u32); ++j) bits |= u32{access.memory->bits(place(access, i + j))} << 8 * j;
      state_->set(now_->writes[i / sizeof(u32)], access.lane, bits, source);
    }
  }
}

void UninitializedChecker::load(const Op* op) {
  const Wave& wave = *wave_;
  if (accesses_.empty() && now_->writes_whole) return define_results(wave);
  const auto is_whole = [&](const Access& one) { return one.span.size() == sizeof(u32) * now_->writes.size(); };
  if (now_->copies_scratch && std::ranges::all_of(accesses_, is_whole)) return copy_scratch();
  u64 concerned = now_->is_lds ? ~u64{0} : 0;
  std::map<u8*, u8> turned;
  Source any = 0;
  std::array<Source, kLanes> sources{};
  for (const Access& access : accesses_) {
    const Source source = access.memory == nullptr ? source_of_memory(access) : source_of(access);
    if (source == 0) continue;
    any = source;
    if (access.lane >= 0) {
      sources[static_cast<size_t>(access.lane)] = source;
      concerned |= lane_bit(access.lane);
    }
    for (u64 i = 0; access.memory != nullptr && i < access.span.size(); ++i)
      turned[host(access) + i] = access.memory->bits(place(access, i));
  }
  u64 kept = 0;
  if (!now_->writes_whole) {
    for (const u32 row : now_->writes) kept |= state_->lanes[row];
  }
  if (any != 0 && now_->goes_to_lds) copy_to_lds();
  if ((any == 0 && kept == 0) || (now_->writes.empty() && now_->scalar_writes.none())) return define_results(wave);
  concerned |= kept;
  load_again(op, turned);
  const Trial &as_is = trials_[kAsIs], &trial = trials_[kAll];
  if (as_is.has_failed || trial.has_failed) return define_results(wave);
  for (size_t i = 0; i < now_->writes.size(); ++i) {
    for (u64 left = wave.exec(); left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const u32 row = now_->writes[i];
      const bool is_concerned = concerned >> lane & 1;
      const u32 bits = is_concerned ? as_is.rows[i].lane[lane] ^ trial.rows[i].lane[lane] : 0;
      const Source own = state_->lanes[row] >> lane & 1 ? state_->source_of(row, lane) : 0;
      const Source loaded = sources[static_cast<size_t>(lane)];
      state_->set(row, lane, bits, loaded != 0 ? loaded : kept >> lane & 1 ? own : any);
    }
  }
  take_loaded_scalars(any);
}

void UninitializedChecker::take_loaded_scalars(Source source) {
  for (u32 number = 0; number < 128; ++number) {
    if (!now_->scalar_writes[number]) continue;
    state_->set_scalar(number, trials_[kAsIs].scalars[number] ^ trials_[kAll].scalars[number], source);
  }
}

/// A load that goes to LDS copies bytes, of which there may be fewer than the dwords that are stored.
void UninitializedChecker::copy_to_lds() {
  for (const Access& to : to_lds_) {
    const auto of_lane = [&](const Access& one) { return one.lane == to.lane; };
    const auto from = std::ranges::find_if(accesses_, of_lane);
    if (from == accesses_.end() || (from->span.size() != to.span.size() && to.span.size() != sizeof(u32))) continue;
    const Source source = from->memory == nullptr ? source_of_memory(*from) : source_of(*from);
    for (u64 i = 0; i < std::min(from->span.size(), to.span.size()); ++i) {
      const bool is_global = from->memory == nullptr;
      const u8 bits =
          is_global ? (is_undefined(from->span.begin() + i) ? 0xff : 0) : from->memory->bits(place(*from, i));
      if (bits != 0) lds_.set(place(to, i), bits, source);
    }
  }
}

/// Bits that no instruction has read have one name in all lanes, which takes long to make.
UninitializedChecker::Stored UninitializedChecker::stored(const Access& access, u64 dword) {
  const State& state = *state_;
  if (access.lane >= 0) {
    const u32 row = now_->data[dword], bits = state.bits_of(row, access.lane);
    if (bits == 0) return {0, 0};
    const Source source = state.source_of(row, access.lane);
    if ((source & ~kComputed) != 0) return {bits, source};
    Source& named = named_[dword];
    if (named == 0) named = origin("register", text("register ", row_name(row)), access.lane);
    return {bits, named | source};
  }
  const u32 number = now_->scalar_data[dword];
  if (!state.scalars_with_some[number]) return {0, 0};
  return {state.scalars[number], noted(state.scalar_sources[number], text("s", number), -1)};
}

void UninitializedChecker::store() {
  const State& state = *state_;
  std::array<u32, kLanes> done{};  // bytes
  named_.assign(now_->data.size(), 0);
  for (const Access& access : accesses_) {
    if (access.memory == nullptr) global_.define(access.span);
    u32& first = done[static_cast<size_t>(std::max(access.lane, 0))];
    Source computed = 0;
    Stored dword{};
    u64 number = ~u64{0};  // of the dword
    for (u64 i = 0; i < access.span.size(); ++i) {
      u64 byte = (first + i) % now_->data_bytes;
      if (byte / 4 >= (access.lane < 0 ? now_->scalar_data : now_->data).size()) break;
      if (now_->data_bytes < 4) {  // the lower part of the register, or of its upper half
        const u32 value = wave_->v[now_->data[0]].lane[access.lane];
        u64 bytes = access.copied;
        if (access.memory == &state.scratch) std::memcpy(&bytes, host(access), access.span.size());
        if (std::memcmp(&bytes, &value, access.span.size()) != 0) byte += 2;
      }
      if (byte / 4 != number) number = byte / 4, dword = stored(access, number);
      const u8 bits = static_cast<u8>(dword.bits >> 8 * (byte % 4));
      const Source source = bits == 0 ? 0 : dword.source;
      if (access.memory != nullptr) {
        access.memory->set(place(access, i), bits, source);
      } else if (bits == 0xff && (source & kComputed) == 0) {
        global_.undefine(access.span.begin() + i);
      }
      if (computed == 0 && (source & kComputed) != 0) computed = source;
    }
    first += static_cast<u32>(access.span.size());
    if (access.memory == nullptr && computed != 0) report(computed, access.lane, "a computed value that is stored");
  }
}

/// What an exchange returns is what was there.
void UninitializedChecker::take_exchanged(const Access& access, u64 dword, u32 bits, Source source) {
  if (bits == 0) return;
  if (access.lane >= 0) {
    if (dword < now_->writes.size()) state_->set(now_->writes[dword], access.lane, bits, source);
  } else if (const u32 number = now_->scalar_data[dword]; now_->scalar_writes[number]) {
    state_->set_scalar(number, bits, source);
  }
}

/// It stores what it is given, so that only what it returns is undefined. Lanes that exchange in one place find what
/// those before them have stored.
void UninitializedChecker::exchange() {
  define_results(*wave_);
  std::array<u32, kLanes> done{};  // bytes
  for (const Access& access : accesses_) {
    const Source source = access.memory == nullptr ? source_of_memory(access) : source_of(access);
    u32& first = done[static_cast<size_t>(std::max(access.lane, 0))];
    u32 bits = 0;
    for (u64 i = 0; source != 0 && i < access.span.size(); ++i) {
      const u32 undefined = access.memory != nullptr                ? access.memory->bits(place(access, i))
                            : is_undefined(access.span.begin() + i) ? 0xffu
                                                                    : 0u;
      bits |= undefined << 8 * (i % sizeof(u32));
      if (i % sizeof(u32) != sizeof(u32) - 1) continue;
      take_exchanged(access, (first + i) / sizeof(u32), bits, source);
      bits = 0;
    }
    first += static_cast<u32>(access.span.size());
    if (access.memory == nullptr) {
      global_.define(access.span);
    } else {
      each_dword(access, [&](u64 at, u64 size) { access.memory->define(at, size); });
    }
  }
}

void UninitializedChecker::modify() {
  if (now_->replaces) return exchange();
  for (const Access& access : accesses_) {
    if (access.memory == nullptr) {
      const Source source = source_of_memory(access);
      if (source == 0) continue;
      report(source, access.lane, "what an atomic makes");
      global_.note_told(access.span);
      continue;
    }
    if (const Source source = source_of(access); source != 0) report(source, access.lane, "what an atomic makes");
    for (u64 i = 0; i < access.span.size(); ++i) access.memory->set(place(access, i), 0, 0);
  }
  define_results(*wave_);
}

}  // namespace wave::emulator
