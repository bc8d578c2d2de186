#include "hip_emulator/dumped_launch.h"

#include <set>

#include "base/error.h"
#include "code_object/launch_dump.h"

namespace wave::hip_emulator {

namespace {

/// The allocations that numbers among some bytes are addresses of, and those that numbers in these are addresses of.
class ReachableMemory {
 public:
  explicit ReachableMemory(std::span<const uint8_t> arguments) {
    look_into(arguments, kPointerStep);
    while (!waiting_.empty()) {
      const AddressSpan next = waiting_.back();
      waiting_.pop_back();
      look_into({reinterpret_cast<const uint8_t*>(next.begin()), next.size()}, sizeof(uint64_t));
    }
  }

  std::vector<AddressSpan> found() const { return {found_.begin(), found_.end()}; }

 private:
  struct Before {
    bool operator()(const AddressSpan& a, const AddressSpan& b) const { return a.begin() < b.begin(); }
  };

  void look_into(std::span<const uint8_t> bytes, size_t step) {
    runtime().memory.visit_pointed_to(bytes, step, [&](const Allocation& allocation) {
      const AddressSpan found = allocation.bytes();
      if (!found.is_empty() && found_.insert(found).second) waiting_.push_back(found);
    });
  }

  std::set<AddressSpan, Before> found_;
  std::vector<AddressSpan> waiting_;
};

}  // namespace

void run_dumped(const PackedLaunch& launch, const std::function<void()>& run) {
  const KernelFunction& function = *launch.function;
  const KernelMetadata& metadata = function.kernel->metadata;
  const Signature signature = signature_from_metadata(metadata).value_or(Signature{});
  const LaunchDump dump({.code = function.module->emulated.code().bytes().span(),
                         .kernel = metadata.name,
                         .signature = signature,
                         .strict = false,
                         .grid = launch.grid,
                         .block = launch.block,
                         .shared_memory = launch.shared_memory,
                         .cooperative = launch.cooperative,
                         .arguments = launch.arguments,
                         .memory = ReachableMemory(launch.arguments).found()});
  try {
    run();
  } catch (const KernelFault& fault) {
    throw dump.written(launch.options.dump, fault);
  }
}

}  // namespace wave::hip_emulator
