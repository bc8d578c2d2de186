#include "launch/device_function.h"

#include <algorithm>
#include <map>
#include <thread>
#include <tuple>

#include "base/error.h"
#include "base/fork_safe.h"
#include "driver/emulator_targets.h"
#include "launch/driver_errors.h"
#include "launch/kernel.h"

namespace wave {

struct ModuleRecord {
  struct Entry {
    FunctionSlot* slot;
    std::unique_ptr<DeviceFunction> function;
    bool is_chosen;  ///< among several builds
  };

  Place place;
  std::shared_ptr<const CodeObject> code;
  std::unique_ptr<LoadedModule> module;
  std::vector<Entry> entries;  ///< destroyed before the module
  std::atomic<bool> pinned{false};
  bool is_abandoned = false;                                     ///< nobody holds it any more
  std::shared_ptr<const void> views = std::make_shared<char>();  ///< shared by who sees its variables

  /// New launches find it no more.
  void hide() {
    for (const Entry& entry : entries) entry.slot->function.store(nullptr);
  }
  void show() {
    for (const Entry& entry : entries) {
      DeviceFunction* none = nullptr;  // else launches have come to another build meanwhile
      entry.slot->function.compare_exchange_strong(none, entry.function.get());
    }
  }
  /// In a child of fork(), where the launches of other threads never end, and nobody is unloading.
  void forget_other_threads() {
    for (const Entry& entry : entries) {
      for (auto& users : entry.slot->users) users.count.store(0);
    }
    show();
  }
  /// Whether a launch under way uses it. Of a hidden one the answer "no" stays true.
  bool is_used() const {
    return std::ranges::any_of(entries, [](const Entry& entry) {
      return std::ranges::any_of(entry.slot->users, [](const auto& users) { return users.count.load() != 0; });
    });
  }
};

namespace {

/// HSA counts work-items in 32 bits (AQL packet, grid_size_x).
constexpr int64_t kMaxWorkItemsOfAmd = (int64_t{1} << 32) - 1;

struct Table {
  using Key = std::tuple<DriverKind, int, std::string>;  ///< driver, device, SHA-256

  Mutex mutex;
  std::map<Key, std::unique_ptr<ModuleRecord>> modules;
  std::map<std::string, std::weak_ptr<const void>> holders;  ///< by SHA-256
  /// unload() waits for launches under way, which may take long and need the interpreter's lock: nobody else changes
  /// the table meanwhile, though the mutex is free, so that the process may fork.
  std::atomic<bool> is_unloading{false};
};

/// Never destroyed: what is loaded at the end of the process is the driver's to clean up.
Table& table = *new Table();

std::atomic<WaitRunner> wait_runner{nullptr};

/// Waits until the table is free. Without the mutex when it returns: the wait runner takes the interpreter's lock again
/// then, which who forks may hold while it waits for the mutex.
void wait_for_table() {
  const auto wait = [] {
    table.mutex.lock();
    table.mutex.unlock();
    while (table.is_unloading.load()) std::this_thread::yield();
  };
  if (const WaitRunner run = wait_runner.load()) {
    run(wait);
  } else {
    wait();
  }
}

/// Locks the table, to change it.
std::unique_lock<Mutex> lock_table() {
  for (;;) {
    std::unique_lock lock(table.mutex, std::try_to_lock);
    if (lock && !table.is_unloading.load()) return lock;
    if (lock) lock.unlock();
    wait_for_table();
  }
}

/// Where CPU tensors go to a HIP library that does not work.
constexpr const char* kHipForHost =
    ". CPU tensors are launched by HIP because WAVE_RUNTIME_CPU_DRIVER=hip: unset it for the emulator in this process, "
    "or set WAVE_RUNTIME_LIBHIP to what `python -m wave_emulator library` prints for the emulator's HIP library";

/// Launches under way on this thread that may call into other code.
thread_local int launches_of_thread = 0;

using Removed = std::vector<std::unique_ptr<ModuleRecord>>;

/// Takes the modules that `is_unused` hides and gives up out of the table. Needs the lock.
template <class IsUnused>
void remove_modules(Removed& removed, IsUnused is_unused) {
  auto& modules = table.modules;
  for (auto item = modules.begin(); item != modules.end();) {
    if (is_unused(*item->second)) {
      removed.push_back(std::move(item->second));
      item = modules.erase(item);
    } else {
      ++item;
    }
  }
}

/// Hides the modules of a code object that unload() may take away. Needs the lock.
std::vector<ModuleRecord*> hide_modules(const CodeObject& code) {
  std::vector<ModuleRecord*> hidden;
  for (const auto& [key, record] : table.modules) {
    if (record->pinned || record->views.use_count() > 1 || record->code->sha256() != code.sha256()) continue;
    record->hide();
    hidden.push_back(record.get());
  }
  return hidden;
}

/// The modules that nobody holds, but those that launches or graphs use. Needs the lock.
void remove_abandoned(Removed& removed) {
  remove_modules(removed, [](ModuleRecord& record) {
    if (!record.is_abandoned || record.pinned) return false;
    record.hide();
    const bool is_used = record.is_used() || record.pinned;
    if (is_used) record.show();
    return !is_used;
  });
}

/// Needs the lock. Another holder may have come since the last one let go.
void set_abandoned(const CodeObject& code, bool abandoned) {
  if (abandoned && !table.holders[code.sha256()].expired()) return;
  for (const auto& [key, record] : table.modules) {
    if (std::get<std::string>(key) == code.sha256()) record->is_abandoned = abandoned;
  }
  if (abandoned) table.holders.erase(code.sha256());
}

/// In a child of fork(). Where it was forked inside of a launch of its own thread, in a hook or a signal handler, it is
/// not known which of the users are others: then what is loaded stays so.
[[maybe_unused]] const int watching = [] {
  call_in_children([] {
    table.is_unloading.store(false);
    for (const auto& [key, record] : table.modules) {
      if (launches_of_thread == 0) {
        record->forget_other_threads();
      } else {
        record->pinned.store(true);
        record->show();
      }
    }
  });
  return 0;
}();

[[noreturn]] void rethrow(const RuntimeError& error, const std::string& what) {
  rethrow_with_advice(error, text(what, ": ", error.what()), During::Load);
}

/// The lock for who loads. Opens the driver's library before: that reads the environment, which waits for an
/// interpreter's lock, and who has that may wait for this one.
std::unique_lock<Mutex> lock_table_to_load(const Place& place) {
  try {
    place.driver().device_count();
  } catch (const RuntimeError&) {
    // Loading will say it.
  }
  return lock_table();
}

/// Needs the lock.
ModuleRecord& load_module(const std::shared_ptr<const CodeObject>& code, const Place& place) {
  std::unique_ptr<ModuleRecord>& record = table.modules[{place.kind, place.device, code->sha256()}];
  if (record != nullptr) return *record;
  auto loading = std::make_unique<ModuleRecord>();
  loading->place = place;
  loading->code = code;
  try {
    loading->module = place.driver().load(code, place.device);
  } catch (const RuntimeError& error) {
    table.modules.erase({place.kind, place.device, code->sha256()});
    rethrow(error, text("loading the ", code->target().id(), " code object on ", place.text()));
  } catch (...) {
    table.modules.erase({place.kind, place.device, code->sha256()});
    throw;
  }
  return *(record = std::move(loading));
}

/// ", or for gfx11-generic, which gfx1103 runs, too": the generic processor of a kernel's first build, where the
/// emulator runs its code, or nothing.
std::string generic_for(const Kernel& kernel) {
  const Processor* const built = find_processor(kernel.variants().front()->target().processor);
  const Processor* const generic = built == nullptr ? nullptr : find_generic_processor(*built);
  if (generic == nullptr || generic == built) return {};
  const auto is_run = [&](const Target& target) {
    const Processor* const known = find_processor(target.processor);
    return known != nullptr && std::string_view(known->family) == generic->family;
  };
  if (std::ranges::none_of(emulator_targets(), is_run)) return {};
  return text(", or for ", generic->name, ", which ", built->name, " runs, too");
}

[[noreturn]] void refuse_device(const Kernel& kernel, const Place& place, const DeviceInfo& device) {
  std::string built_for;
  for (const auto& code : kernel.variants()) append(built_for += built_for.empty() ? "" : ", ", code->target().id());
  if (place.kind == DriverKind::Emulator) {
    std::string runs;
    for (const Target& target : emulator_targets()) append(runs += runs.empty() ? "" : ", ", target.processor);
    throw ValueError(text(kernel_text(kernel.name()), " was built for ", built_for,
                          ", and the emulator, which launches on CPU tensors, runs code for ", runs,
                          ", and for generic targets that cover these: move the tensors to a device of that kind, or "
                          "build the kernel for gfx942",
                          generic_for(kernel)));
  }
  throw ValueError(text(kernel_text(kernel.name()), " was built for ", built_for, ", ", place.text(), " (", device.name,
                        ") is ", device.target.id(),
                        ": build the kernel for it, or load a bundle that has an entry for it"));
}

LaunchLimits limits_of(const DeviceFunction& function) {
  const KernelMetadata& metadata = function.kernel->metadata;
  const DeviceInfo& device = *function.device;
  LaunchLimits limits{};
  limits.max_grid = device.max_grid;
  limits.min_block = {1, 1, 1};
  limits.max_block = device.max_block;
  if (metadata.reqd_workgroup_size) {
    limits.min_block = *metadata.reqd_workgroup_size;
    for (int axis = 0; axis < 3; ++axis)
      limits.max_block[axis] = std::min(limits.max_block[axis], limits.min_block[axis]);
  }
  limits.max_block_size = device.max_block_size;
  for (const uint32_t limit : {metadata.max_flat_workgroup_size, function.info.max_block_size}) {
    if (limit != 0) limits.max_block_size = std::min(limits.max_block_size, limit);
  }
  limits.own_shared_memory = function.info.shared_memory;
  limits.max_shared_memory = int64_t{device.shared_memory} - function.info.shared_memory;
  limits.max_work_items = function.code->format() == Format::AmdGpu ? kMaxWorkItemsOfAmd : INT64_MAX;
  return limits;
}

/// The build to run. The emulator runs code for other processors where there is none for its own: for one of them
/// rather than for a generic target.
std::shared_ptr<const CodeObject> build_for(const Kernel& kernel, const Place& place, const DeviceInfo& device) {
  if (std::shared_ptr<const CodeObject> code = kernel.variant_for(device.target)) return code;
  if (place.kind != DriverKind::Emulator) return nullptr;
  std::shared_ptr<const CodeObject> generic;
  for (const Target& target : emulator_targets()) {
    const std::shared_ptr<const CodeObject> code = kernel.variant_for(target);
    if (code != nullptr && code->target().processor == target.processor) return code;
    if (generic == nullptr) generic = code;
  }
  return generic;
}

/// What is known of a place, or an error that says which kernel asks: the driver's library is opened here at last.
const DeviceInfo& device_of(const Kernel& kernel, const Place& place) {
  try {
    return place.driver().device(place.device);
  } catch (const RuntimeError& error) {
    std::string message = text(kernel_text(kernel.name()), " on ", place.text(), ": ", error.what());
    if (place.kind == DriverKind::Hip && place.in_host_memory()) append(message, kHipForHost);
    rethrow_with_advice(error, message, During::Load);
  }
}

/// Needs the lock.
std::unique_ptr<DeviceFunction> make_function(const Kernel& kernel, ModuleRecord& record) {
  const Place& place = record.place;
  const KernelInfo& info = record.code->kernel(kernel.name());
  auto function = std::make_unique<DeviceFunction>();
  function->place = place;
  function->kernel = &info;
  function->code = record.code.get();
  function->device = &place.driver().device_for(record.code->target(), place.device);
  try {
    function->function = record.module->function(info);
    function->info = function->function->info();
  } catch (const RuntimeError& error) {
    rethrow(error, text(kernel_text(kernel.name()), " on ", place.text()));
  }
  function->module = &record;
  function->limits = limits_of(*function);
  function->in_host_memory = place.in_host_memory();
  return function;
}

/// Needs the lock.
DeviceFunction& function_of(const Kernel& kernel, const Place& place, FunctionSlot& slot) {
  const DeviceInfo& device = device_of(kernel, place);
  const std::shared_ptr<const CodeObject> code = build_for(kernel, place, device);
  if (code == nullptr) refuse_device(kernel, place, device);
  ModuleRecord& record = load_module(code, place);
  const auto made = std::ranges::find(record.entries, &slot, &ModuleRecord::Entry::slot);
  if (made != record.entries.end()) return *made->function;
  record.entries.push_back({&slot, make_function(kernel, record), kernel.variants().size() > 1});
  return *record.entries.back().function;
}

}  // namespace

FunctionSlots::~FunctionSlots() {
  for (auto& devices : slots_) {
    for (auto& slot : devices) delete slot.load();
  }
}

FunctionSlot& FunctionSlots::make(const Place& place) const {
  auto made = std::make_unique<FunctionSlot>();
  FunctionSlot* there = nullptr;
  auto& slot = slots_[place.device][static_cast<int>(place.kind)];
  return slot.compare_exchange_strong(there, made.get()) ? *made.release() : *there;
}

void load_function(const Kernel& kernel, const Place& place) {
  FunctionSlot& slot = kernel.slots().at(place);
  Removed removed;  // destroyed without the lock
  const auto lock = lock_table_to_load(place);
  remove_abandoned(removed);
  if (slot.function.load() == nullptr) slot.function.store(&function_of(kernel, place, slot));
}

void choose_builds_anew() {
  const auto lock = lock_table();
  for (const auto& [key, record] : table.modules) {
    for (const ModuleRecord::Entry& entry : record->entries) {
      if (entry.is_chosen && record->place.kind == DriverKind::Emulator) entry.slot->function.store(nullptr);
    }
  }
}

void set_wait_runner(WaitRunner runner) { wait_runner.store(runner); }

void pin(const DeviceFunction& function) { function.module->pinned.store(true); }
bool is_pinned(const DeviceFunction& function) { return function.module->pinned.load(std::memory_order_relaxed); }

std::optional<GlobalView> find_global(const std::shared_ptr<const CodeObject>& code, const Place& place,
                                      const std::string& name) {
  const auto lock = lock_table_to_load(place);
  const ModuleRecord& record = load_module(code, place);
  const std::optional<Global> global = record.module->global(name);
  return global ? std::optional(GlobalView{*global, record.views}) : std::nullopt;
}

InsideLaunch::InsideLaunch() { ++launches_of_thread; }
InsideLaunch::~InsideLaunch() { --launches_of_thread; }

size_t unload(const CodeObject& code) {
  if (launches_of_thread != 0) {
    throw RuntimeError(
        "unload() inside a launch (in a hook or a signal handler) would wait for that launch: call it later");
  }
  Removed removed;  // destroyed without the lock
  auto lock = lock_table();
  const std::vector<ModuleRecord*> leaving = hide_modules(code);
  table.is_unloading.store(true);
  lock.unlock();
  for (const ModuleRecord* record : leaving) {
    while (record->is_used()) std::this_thread::yield();
  }
  lock.lock();
  table.is_unloading.store(false);
  remove_modules(removed, [&](ModuleRecord& record) {
    if (std::ranges::find(leaving, &record) == leaving.end()) return false;
    if (record.pinned) record.show();  // by a launch that was under way
    return !record.pinned;
  });
  return removed.size();
}

std::shared_ptr<const void> hold_loaded(const std::shared_ptr<const CodeObject>& code) {
  const auto let_go = [code](const void*) {
    Removed removed;  // destroyed without the lock
    const auto lock = lock_table();
    set_abandoned(*code, true);
    remove_abandoned(removed);
  };
  const auto lock = lock_table();
  std::weak_ptr<const void>& known = table.holders[code->sha256()];
  if (std::shared_ptr<const void> holder = known.lock()) return holder;
  const std::shared_ptr<const void> holder(static_cast<const void*>(code.get()), let_go);
  set_abandoned(*code, false);
  known = holder;
  return holder;
}

std::vector<LoadedInfo> loaded_modules() {
  Removed removed;  // destroyed without the lock
  const auto lock = lock_table();
  remove_abandoned(removed);
  std::vector<LoadedInfo> infos;
  for (const auto& [key, record] : table.modules) {
    LoadedInfo info{record->place, record->code->sha256(), record->code->target().id(), {}, record->pinned};
    for (const ModuleRecord::Entry& entry : record->entries) {
      const std::string& name = entry.function->kernel->metadata.name;
      if (std::ranges::find(info.kernels, name) == info.kernels.end()) info.kernels.push_back(name);
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace wave
