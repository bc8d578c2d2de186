// What a launch did to memory, to be compared with launches that nothing orders with it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/finding.h"
#include "emulator/dispatch.h"
#include "emulator/global_shadow.h"

namespace wave::emulator {

/// Of a launch that has ended: the accesses that GlobalShadow knows of it, which are the last ones of each dword. The
/// code may be unloaded after that.
class LaunchAccesses {
 public:
  LaunchAccesses(GlobalShadow& shadow, const Dispatch& dispatch);

  /// The races with an earlier launch, of each pair of instructions once: accesses of a byte, one of which writes, not
  /// both atomic. The names say where the two launches ran: "stream 2".
  std::vector<Finding> races_with(const LaunchAccesses& earlier, const std::string& own_name,
                                  const std::string& earlier_name) const;

  /// The bytes were freed: what is there later is something else.
  void forget(AddressSpan bytes);
  /// Whether it wrote in a page of which this is true.
  template <class Is>
  bool has_written(const Is& is) const {
    for (const auto& [page, accesses] : pages_) {
      for (const Access& access : accesses) {
        if (!access.is_store) continue;
        if (is(page)) return true;
        break;
      }
    }
    return false;
  }
  size_t size() const { return size_; }

 private:
  struct Access {
    u16 dword;  ///< of the page
    u8 bytes;   ///< a bit for each
    bool is_store, is_atomic, is_maybe;
    i8 lane;
    u32 wave;  ///< its number in the launch
    u32 site;  ///< in sites_
  };

  static bool is_race(const Access& one, const Access& other);
  FindingSite site_of(const Access& access) const;
  template <class Look>
  void each_conflict(const LaunchAccesses& earlier, const Look& look) const;

  std::string kernel_;
  std::array<u32, 3> grid_;
  u32 waves_;                                 ///< of a workgroup
  std::vector<FindingSite> sites_;            ///< of each instruction that accessed memory
  std::map<u64, std::vector<Access>> pages_;  ///< by address, each by dword
  size_t size_ = 0;
};

}  // namespace wave::emulator
