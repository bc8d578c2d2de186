// The emulator as a driver: one device, for tensors in the host's memory.
#include <map>

#include "base/error.h"
#include "base/fork_safe.h"
#include "driver/driver.h"
#include "driver/emulator/emulator_module.h"
#include "driver/emulator_targets.h"
#include "emulator/processor.h"

namespace wave::emulator {

namespace {

class EmulatorDriver : public Driver {
 public:
  const char* name() const override { return "emulator"; }
  std::string describe() override { return text("in this process, ", device_processor().name); }
  int device_count() override { return 1; }
  const DeviceInfo& device(int index) override {
    if (index != 0) throw RuntimeError(text("there is no emulated device ", index, ": there is one, 0"));
    return device_with(device_processor());
  }
  const DeviceInfo& device_for(const Target& code, int) override { return device_with(*find_processor_for(code)); }
  std::unique_ptr<LoadedModule> load(std::shared_ptr<const CodeObject> code, int index) override {
    device(index);
    return std::make_unique<EmulatorModule>(std::move(code));
  }
  bool is_capturing(void*) override { return false; }
  std::optional<int> device_of(const void*) override { return std::nullopt; }
  void synchronize(int, void*) override {}

 private:
  const DeviceInfo& device_with(const ProcessorTraits& processor) {
    const std::lock_guard lock(mutex_);
    const auto found = devices_.find(&processor);
    return found != devices_.end() ? found->second : devices_.emplace(&processor, make_device(processor)).first->second;
  }
  /// Its features are at no setting: code for any of them runs. The grid is what HIP launches.
  static DeviceInfo make_device(const ProcessorTraits& processor) {
    return {.name = "emulator",
            .target = Target::parse(processor.code),
            .max_grid = kMostWorkgroups,
            .max_block = {kMostWorkItems, kMostWorkItems, kMostWorkItems},
            .max_block_size = kMostWorkItems,
            .shared_memory = processor.limits.lds_bytes,
            .multiprocessors = processor.multiprocessors(),
            .cooperative = true,
            .max_cluster = 1,
            .programmatic = true,
            .priority = true};
  }

  Mutex mutex_;                                           ///< guards what follows
  std::map<const ProcessorTraits*, DeviceInfo> devices_;  ///< that have been asked for: loaded kernels point to them
};

}  // namespace

}  // namespace wave::emulator

namespace wave {

namespace {
// Never destroyed: launches may come from static destructors.
emulator::EmulatorDriver& emulator_instance = *new emulator::EmulatorDriver();
}  // namespace

std::vector<Target> emulator_targets() {
  std::vector<Target> all;
  for (const emulator::ProcessorTraits* processor : emulator::all_processors())
    all.push_back(Target::parse(processor->code));
  return all;
}

Driver& emulator_driver() { return emulator_instance; }

}  // namespace wave
