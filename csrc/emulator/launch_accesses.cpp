#include "emulator/launch_accesses.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/tools.h"
#include "emulator/findings.h"

namespace wave::emulator {

namespace {

/// A launch that has more is known in part.
constexpr size_t kMostAccesses = size_t{1} << 22;

const char* verb_of(bool is_store) { return is_store ? "written" : "read"; }

}  // namespace

LaunchAccesses::LaunchAccesses(GlobalShadow& shadow, const Dispatch& dispatch)
    : kernel_(dispatch.kernel->metadata.name), grid_(dispatch.grid) {
  const Module& module = *dispatch.module;
  const u32 lanes = dispatch.kernel->descriptor->enable_wavefront_size32 ? 32 : 64;
  waves_ = (dispatch.block[0] * dispatch.block[1] * dispatch.block[2] + lanes - 1) / lanes;
  std::map<u32, u32> site_of_pc;
  shadow.visit([&](u64 page, size_t dword, const PastAccesses& all) {
    for (const PastAccess& past : all) {
      if (past.wave == 0 || size_ == kMostAccesses) continue;
      const auto [site, is_new] = site_of_pc.try_emplace(past.pc, static_cast<u32>(sites_.size()));
      if (is_new) sites_.push_back(site_at(module, *dispatch.kernel, lanes, module.load_address(0) + past.pc, {}));
      pages_[page].push_back({static_cast<u16>(dword), past.bytes, past.is_store, past.is_atomic && !past.is_local,
                              past.is_maybe, past.lane, past.wave - 1, site->second});
      ++size_;
    }
  });
}

FindingSite LaunchAccesses::site_of(const Access& access) const {
  FindingSite site = sites_[access.site];
  const u32 group = access.wave / waves_;
  site.workgroup = {group % grid_[0], group / grid_[0] % grid_[1], group / grid_[0] / grid_[1]};
  site.wave = access.wave % waves_;
  site.lane = access.lane;
  return site;
}

bool LaunchAccesses::is_race(const Access& one, const Access& other) {
  const bool are_atomic = one.is_atomic && other.is_atomic && !(one.is_maybe && other.is_maybe);
  return (one.bytes & other.bytes) != 0 && (one.is_store || other.is_store) && !are_atomic;
}

/// Calls `look` with the page, an access of this launch and one of the other that are a race.
template <class Look>
void LaunchAccesses::each_conflict(const LaunchAccesses& earlier, const Look& look) const {
  for (const auto& [page, accesses] : pages_) {
    const auto found = earlier.pages_.find(page);
    if (found == earlier.pages_.end()) continue;
    for (const Access& access : accesses) {
      for (const Access& past : std::ranges::equal_range(found->second, access.dword, {}, &Access::dword)) {
        if (is_race(access, past)) look(page, access, past);
      }
    }
  }
}

std::vector<Finding> LaunchAccesses::races_with(const LaunchAccesses& earlier, const std::string& own_name,
                                                const std::string& earlier_name) const {
  std::map<std::pair<u32, u32>, Finding> found;
  each_conflict(earlier, [&](u64 page, const Access& access, const Access& past) {
    const auto [place, is_new] = found.try_emplace({access.site, past.site});
    Finding& finding = place->second;
    if (!is_new) return static_cast<void>(++finding.count);
    finding.tool = tool_name(kRacesTool);
    finding.kind = "launch-race";
    finding.kernel = kernel_;
    finding.message =
        text("memory is ", verb_of(access.is_store), " by a launch of ", kernel_text(kernel_), " on ", own_name,
             ", and ", verb_of(past.is_store), " by one of ", kernel_text(earlier.kernel_), " on ", earlier_name,
             ": nothing orders the two, such as an event that the one stream waits for");
    finding.at = site_of(access);
    finding.other = earlier.site_of(past);
    finding.address = page + access.dword * sizeof(u32);
  });
  std::vector<Finding> all;
  for (auto& [sites, finding] : found) all.push_back(std::move(finding));
  return all;
}

void LaunchAccesses::forget(AddressSpan bytes) {
  const auto first = pages_.lower_bound(bytes.begin() & ~(GlobalShadow::kPage - 1));
  const auto end = pages_.lower_bound(bytes.end());
  for (auto page = first; page != end; ++page) size_ -= page->second.size();
  pages_.erase(first, end);
}

}  // namespace wave::emulator
