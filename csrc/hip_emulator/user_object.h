// What programs give graphs to keep: data that a function ends when nobody refers to it any more.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "hip_emulator/hip_handles.h"

namespace wave::hip_emulator {

/// hipUserObject_t: references that the program holds, and others of graphs. Thread-safe.
class KeptObject {
 public:
  KeptObject(void* data, hip::HostFunction destroy, unsigned count) : data_(data), destroy_(destroy), own_(count) {}

  void set_handle(hip::UserObject handle) { handle_ = handle; }

  /// The program's own. Nothing is done where it has fewer to give back.
  void retain(unsigned count);
  void release(unsigned count);
  /// As many of them as there are become a graph's, which holds others already.
  void hand_over(unsigned count);

  /// A graph's.
  void lend(unsigned count);
  void give_back(unsigned count);

 private:
  /// Ends the data where nobody refers to it. The function runs without this lock, and a stream's thread lets it wait
  /// for nothing: what it has let go of is part of its work.
  void end_if_unused(std::unique_lock<std::mutex> lock);

  void* const data_;
  const hip::HostFunction destroy_;
  hip::UserObject handle_ = nullptr;
  std::mutex mutex_;  ///< guards what follows
  uint64_t own_;
  uint64_t lent_ = 0;
};

/// The objects that a graph refers to. A copy refers to them, too.
class OwnedObjects {
 public:
  OwnedObjects() = default;
  OwnedObjects(const OwnedObjects& other);
  OwnedObjects& operator=(const OwnedObjects&) = delete;
  ~OwnedObjects();

  void add(const std::shared_ptr<KeptObject>& object, unsigned count);
  /// Nothing is done, and the result is false, where there are fewer references. They are still to be given back.
  bool remove(const std::shared_ptr<KeptObject>& object, unsigned count);

 private:
  std::map<std::shared_ptr<KeptObject>, unsigned> counts_;
};

}  // namespace wave::hip_emulator
