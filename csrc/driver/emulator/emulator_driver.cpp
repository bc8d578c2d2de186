// The emulator as a driver: modules by content, one launch at a time for each caller.
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/error.h"
#include "driver/driver.h"
#include "emulator/dispatch.h"
#include "emulator/module.h"

namespace wave {

namespace {

std::atomic<void (*)()> interrupt_check{nullptr};
thread_local EmulatorStatistics statistics;

uint64_t max_instructions() {
  const char* value = std::getenv("WAVE_RUNTIME_MAX_INSTRUCTIONS");
  return value == nullptr ? 0 : std::strtoull(value, nullptr, 10);
}

class EmulatorDriver : public Driver {
 public:
  std::vector<std::string> launch(const Launch& launch) override {
    emulator::Dispatch dispatch;
    dispatch.module = &module(launch.code);
    dispatch.kernel = &launch.kernel;
    dispatch.grid = launch.grid;
    dispatch.block = launch.block;
    dispatch.dynamic_lds = launch.shared_memory;
    dispatch.arguments = launch.arguments;
    dispatch.memory = launch.memory;
    dispatch.strict = launch.strict;
    dispatch.trace = launch.trace;
    dispatch.parallel = launch.parallel;
    dispatch.max_instructions = max_instructions();
    if (auto* check = interrupt_check.load()) dispatch.interrupted = check;
    emulator::Statistics result = emulator::run(dispatch);
    statistics = {result.instructions, result.waves, result.workgroups};
    for (std::string& line : result.over_reads) line = text("kernel '", launch.kernel.metadata.name, "': ", line);
    return std::move(result.over_reads);
  }

 private:
  /// Modules stay loaded: their globals keep their values from launch to launch, as on a device.
  const emulator::Module& module(const std::shared_ptr<const CodeObject>& code) {
    std::lock_guard lock(mutex_);
    std::unique_ptr<emulator::Module>& loaded = modules_[code->sha256()];
    if (loaded == nullptr) loaded = std::make_unique<emulator::Module>(code);
    return *loaded;
  }

  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<emulator::Module>> modules_;
};

}  // namespace

Driver& emulator_driver() {
  static EmulatorDriver* driver = new EmulatorDriver();  // never destroyed: launches may come from static destructors
  return *driver;
}

EmulatorStatistics last_emulator_statistics() { return statistics; }

void set_interrupt_check(void (*check)()) { interrupt_check.store(check); }

}  // namespace wave
