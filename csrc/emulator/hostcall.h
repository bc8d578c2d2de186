// Hostcalls: what a kernel asks of the host while it runs. printf, assert and malloc of HIP are made of them (ROCm's
// device libraries, ockl/src/hostcall_impl.cl and services.cl, have the device's side).
//
// A wave takes a packet from the stack of free ones, fills it for all of its active lanes, pushes it onto the stack of
// ready ones, and sleeps until the host has cleared the packet's ready flag.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "emulator/kernel_output.h"
#include "emulator/mapped_memory.h"
#include "emulator/memory.h"

namespace wave::emulator {

/// The buffer that a launch's `hidden_hostcall_buffer` points to, and the host's side of it.
class Hostcalls {
 public:
  /// `waves`: as many as may be under way at once, each of which may hold a packet.
  explicit Hostcalls(u64 waves);
  Hostcalls(const Hostcalls&) = delete;
  Hostcalls& operator=(const Hostcalls&) = delete;

  u64 address() const { return memory_.span().begin(); }
  Region region() const { return {memory_.span(), true, "the hostcall buffer"}; }

  /// Does what waves have asked for. Returns whether there was anything. Throws Fault where it cannot be done, and what
  /// `look` throws, which is asked while nobody takes what the kernel prints. Any thread.
  bool serve(const KernelOutput::Look& look);

  /// What the launch has written to stderr, each different text once, the last ones only: messages of assert.
  std::string error_output() const;

 private:
  struct Buffer;
  struct Header;
  struct Payload;

  std::vector<u64> take_ready();
  void serve_packet(u64 index);
  void serve_lane(u32 service, u64 (&slot)[8]);
  void serve_message(u64 (&slot)[8]);
  void begin_message(u64 number);
  void serve_memory(u64 (&slot)[8]);
  i64 print(const std::vector<u64>& message);

  u64 count_;  ///< packets
  MappedMemory memory_;
  Buffer* buffer_;
  Header* headers_;  ///< the kernel may overwrite the buffer's own pointers
  Payload* payloads_;

  KernelOutput output_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::map<u64, std::vector<u64>> messages_;
  u64 next_message_ = 0;
  u64 unfinished_ = 0;  ///< words of messages_
  std::deque<std::string> errors_;
};

}  // namespace wave::emulator
