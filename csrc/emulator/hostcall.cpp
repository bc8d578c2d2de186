#include "emulator/hostcall.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "emulator/device_heap.h"
#include "emulator/op.h"
#include "emulator/print_format.h"

namespace wave::emulator {

// What the device libraries and the kernel read and write; all of it is 0 unless said otherwise.

/// What `hidden_hostcall_buffer` points to. Packets are named by their index and, above it, a tag that changes with
/// each use.
struct Hostcalls::Buffer {
  Header* headers;
  Payload* payloads;
  void* doorbell;
  u64 free_stack;
  u64 ready_stack;
  u64 index_mask;
};

struct Hostcalls::Header {
  u64 next;  ///< in the stack that the packet is on
  u64 active_lanes;
  u32 service;
  u32 control;  ///< bit 0: the host has not answered yet
};

struct Hostcalls::Payload {
  u64 slots[kLanes][8];  ///< of each lane: what it asks, and in the first two what the host answers
};

namespace {

/// amd_signal_t (ROCr's amd_hsa_signal.h), which a wave adds to. Without a mailbox it sends no interrupt besides.
struct Signal {
  i64 kind;
  i64 value;
  u64 mailbox;
  u32 event;
  u32 reserved[9];
};

enum Service : u32 { kFunctionCall = 1, kPrintf = 2, kMemory = 3, kSanitizer = 4 };

/// Far more than a line of text: a kernel that sends more sends a string without an end.
constexpr size_t kLongestMessage = (1 << 20) / sizeof(u64);
/// Words of all messages that have not ended: of a launch, and of each of its work-items in one that has many.
constexpr u64 kLeastUnfinished = (64 << 20) / sizeof(u64), kUnfinishedOfEach = (8 << 10) / sizeof(u64);
constexpr size_t kErrorsKept = 4;

/// The first word of a part of a message: flags, how many of the words behind it count, and the message's number.
struct Descriptor {
  u64 bits;
  bool begins() const { return bits & 1; }
  bool ends() const { return bits & 2; }
  u32 words() const { return bits >> 5 & 7; }
  u64 message() const { return bits >> 8; }
};

[[noreturn]] void refuse_damage() { fault("the kernel has overwritten the hostcall buffer, through which it prints"); }

}  // namespace

Hostcalls::Hostcalls(u64 waves) : count_(std::max<u64>(waves, 2)) {
  const u64 headers = sizeof(Buffer) + sizeof(Signal), unaligned = headers + count_ * sizeof(Header);
  const u64 payloads = (unaligned + alignof(LaneRow) - 1) / alignof(LaneRow) * alignof(LaneRow);
  memory_ = MappedMemory(payloads + count_ * sizeof(Payload), "the hostcall buffer");
  u8* const begin = memory_.begin();
  headers_ = reinterpret_cast<Header*>(begin + headers);
  payloads_ = reinterpret_cast<Payload*>(begin + payloads);
  const u64 mask = std::bit_ceil(count_) - 1;
  // Packet 0 has a tag from the start, since 0 is the end of a stack.
  u64 next = mask + 1;
  for (u64 i = 1; i < count_; ++i) {
    headers_[i].next = next;
    next = i;
  }
  buffer_ = new (begin) Buffer{headers_, payloads_, begin + sizeof(Buffer), next, 0, mask};
}

/// What is printed is written packet by packet, so that memory never has all that many of them print.
bool Hostcalls::serve(const KernelOutput::Look& look) {
  if (__atomic_load_n(&buffer_->ready_stack, __ATOMIC_RELAXED) == 0) return false;
  const std::vector<u64> ready = take_ready();
  for (const u64 index : ready) {
    try {
      serve_packet(index);
    } catch (const Fault&) {
      output_.write(look);  // what others have printed before
      throw;
    }
    output_.write(look);
  }
  return !ready.empty();
}

void Hostcalls::serve_packet(u64 index) {
  const std::lock_guard lock(mutex_);
  Header& header = headers_[index];
  for (u64 lanes = header.active_lanes; lanes != 0; lanes &= lanes - 1) {
    serve_lane(header.service, payloads_[index].slots[std::countr_zero(lanes)]);
  }
  __atomic_store_n(&header.control, header.control & ~1u, __ATOMIC_RELEASE);
}

/// The packets that wait, as they were pushed.
std::vector<u64> Hostcalls::take_ready() {
  std::vector<u64> ready;
  const u64 mask = std::bit_ceil(count_) - 1;
  for (u64 at = __atomic_exchange_n(&buffer_->ready_stack, 0, __ATOMIC_ACQUIRE); at != 0;) {
    const u64 index = at & mask;
    if (index >= count_ || ready.size() == count_) refuse_damage();
    ready.push_back(index);
    at = headers_[index].next;
  }
  std::reverse(ready.begin(), ready.end());
  return ready;
}

void Hostcalls::serve_lane(u32 service, u64 (&slot)[8]) {
  switch (service) {
    case kPrintf:
      return serve_message(slot);
    case kMemory:
      return serve_memory(slot);
    case kFunctionCall:
      fault(text("the kernel calls a function of the host, at ", hex(slot[0]),
                 " (hostcall service 1), which the emulator does not do"));
    case kSanitizer:
      fault(text("the address sanitizer that the kernel was compiled with reports an access at ", hex(slot[0])));
    default:
      fault(text("the kernel asks for hostcall service ", service, ", which is none"));
  }
}

/// A message comes in parts of up to seven words. The answer to each is the first word of the next, and to the last one
/// what printf returns.
void Hostcalls::serve_message(u64 (&slot)[8]) {
  const Descriptor descriptor{slot[0]};
  const u64 number = descriptor.begins() ? next_message_++ : descriptor.message();
  if (descriptor.begins()) begin_message(number);
  const auto found = messages_.find(number);
  if (found == messages_.end()) fault(text("the kernel goes on with printf's message ", number, ", which never began"));
  std::vector<u64>& message = found->second;
  message.insert(message.end(), slot + 1, slot + 1 + descriptor.words());
  unfinished_ += descriptor.words();
  if (message.size() > kLongestMessage) fault("a printf of more than 1 MiB: does a string lack its end?");
  if (const u64 most = std::max(kLeastUnfinished, count_ * kLanes * kUnfinishedOfEach); unfinished_ > most) {
    fault(text("printf's messages that have begun and not ended have more than ", most >> 17, " MiB in all"));
  }
  slot[0] = (descriptor.bits & 0xe0) | number << 8;
  if (!descriptor.ends()) return;
  slot[0] = static_cast<u64>(print(message));
  unfinished_ -= message.size();
  messages_.erase(found);
}

/// A work-item has one under way at most.
void Hostcalls::begin_message(u64 number) {
  if (messages_.size() == count_ * kLanes) {
    fault(text("the kernel has begun ", messages_.size(),
               " messages of printf and ended none of them, which is one for each work-item under way"));
  }
  messages_[number];
}

/// The first word of a message says where it goes.
i64 Hostcalls::print(const std::vector<u64>& message) {
  if (message.empty() || message[0] > 1) return -1;
  const bool is_error = message[0] == 1;
  const std::string line = print_format({message.begin() + 1, message.end()});
  output_.add(is_error, line);
  if (is_error && std::find(errors_.begin(), errors_.end(), line) == errors_.end()) {
    errors_.push_back(line);
    if (errors_.size() > kErrorsKept) errors_.pop_front();
  }
  return static_cast<i64>(line.size());
}

/// An address to free, or 0 and a size to allocate.
void Hostcalls::serve_memory(u64 (&slot)[8]) {
  if (slot[0] == 0) {
    slot[0] = DeviceHeap::get().allocate(slot[1]);
  } else if (!DeviceHeap::get().free(slot[0])) {
    fault_at("the kernel frees memory that it did not allocate", -1, slot[0]);
  }
}

std::string Hostcalls::error_output() const {
  std::lock_guard lock(mutex_);
  std::string all;
  for (const std::string& line : errors_) all += line;
  return all;
}

}  // namespace wave::emulator
