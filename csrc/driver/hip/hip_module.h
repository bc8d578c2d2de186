// Code loaded on a HIP device.
#pragma once

#include <atomic>
#include <set>

#include "base/fork_safe.h"
#include "driver/driver.h"
#include "driver/hip/hip_api.h"

namespace wave::hip {

/// The streams that launches of a module went to. The runtime unloads code without waiting for kernels that are queued.
class StreamSet {
 public:
  void add(Stream stream) {
    if (last_.load(std::memory_order_relaxed) == stream) return;
    last_.store(stream, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    streams_.insert(stream);
  }
  const std::set<Stream>& streams() const { return streams_; }

 private:
  std::atomic<Stream> last_{reinterpret_cast<Stream>(~uintptr_t{0})};  ///< no stream
  Mutex mutex_;
  std::set<Stream> streams_;
};

class HipModule : public LoadedModule {
 public:
  HipModule(const Api& api, Device device, std::shared_ptr<const CodeObject> code);
  ~HipModule() override;
  HipModule(const HipModule&) = delete;
  HipModule& operator=(const HipModule&) = delete;

  std::unique_ptr<LoadedFunction> function(const KernelInfo& kernel) override;
  std::optional<Global> global(const std::string& name) override;

 private:
  const Api& api_;
  const Device device_;
  const std::shared_ptr<const CodeObject> code_;  ///< the runtime does not say that it copies the image
  Module module_ = nullptr;
  StreamSet streams_;
};

}  // namespace wave::hip
