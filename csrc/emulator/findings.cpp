#include "emulator/findings.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

/// Different ones of a launch. What has more is wrong all over.
constexpr size_t kMostFindings = 1000;
/// ... that one message lists.
constexpr size_t kMostListed = 50;

/// "kernel+0x1c (file.hip:12): v_add_f32 ...".
std::string line(const FindingSite& site) {
  std::string source;
  if (!site.frames.empty()) {
    const SourceFrame& frame = site.frames[0];
    source = text(" (", frame.file.substr(frame.file.rfind('/') + 1), ":", frame.line, ")");
  }
  return text(site.symbol, source, ": ", site.instruction);
}

struct Noun {
  Tool tool;
  const char* noun;
  const char* clause;
};
constexpr Noun kNouns[] = {{kWaitsTool, "hazard", "that hardware does not wait for"},
                           {kRacesTool, "race", "in LDS, which hardware may decide either way"}};

KernelFault fault_of(const std::vector<Finding>& found, const Noun& noun) {
  std::string list = text(kernel_text(found[0].kernel), " has ", found.size(), " ", noun.noun,
                          found.size() == 1 ? " " : "s ", noun.clause, ":");
  for (size_t i = 0; i < std::min(found.size(), kMostListed); ++i) {
    list += text("\n", found[i].message, "\n  at ", line(found[i].at));
    if (found[i].other) list += text("\n  after ", line(*found[i].other));
  }
  KernelFault fault(list);
  fault.kernel = found[0].kernel;
  fault.workgroup = found[0].at.workgroup;
  fault.wave = found[0].at.wave;
  fault.pc = found[0].at.pc;
  fault.instruction = found[0].at.instruction;
  return fault;
}

}  // namespace

FindingSite site_at(const Module& module, const KernelInfo& kernel, u32 lanes, u64 pc, const WaveName& name) {
  return {.pc = module.offset_in(kernel, pc),
          .symbol = module.symbol(pc),
          .instruction = module.disassemble(pc, lanes),
          .frames = module.frames(pc),
          .workgroup = name.workgroup,
          .wave = name.wave,
          .lane = name.lane};
}

Witness Findings::witness(const Wave& wave) {
  return {wave.group->launch(), wave.group->number(), {wave.group->id(), wave.index}};
}

Finding* Findings::note(const Witness& witness, const Sighting& sighting) {
  const Key key{sighting.tool, sighting.kind, sighting.pc, sighting.earlier_pc};
  const u64 workgroup = witness.workgroup;
  auto known = found_.find(key);
  if (known != found_.end()) {
    ++known->second.finding.count;
    if (workgroup >= known->second.workgroup) return nullptr;
  } else {
    if (found_.size() == kMostFindings) return nullptr;
    known = found_.emplace(key, Entry{}).first;
  }
  Entry& entry = known->second;
  entry.workgroup = workgroup;
  entry.order = next_++;
  const LaunchState& launch = witness.launch;
  Finding& finding = entry.finding;
  finding.tool = tool_name(sighting.tool);
  finding.kind = sighting.kind;
  finding.kernel = launch.kernel.metadata.name;
  const auto site = [&](u64 pc, const WaveName& name) {
    return site_at(launch.module, launch.kernel, launch.lanes, pc, name);
  };
  finding.at = site(sighting.pc, {witness.name.workgroup, witness.name.wave, sighting.lane});
  if (sighting.earlier_pc != 0) finding.other = site(sighting.earlier_pc, sighting.earlier);
  finding.address = sighting.address;
  const bool is_of_freed = sighting.kind == std::string_view("use-after-free");  // which was meant for no other
  if (sighting.address && !is_of_freed) finding.tensor = element_at(tensors_, *sighting.address);
  return &finding;
}

std::vector<Finding> Findings::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Entry*> entries;
  for (const auto& [key, entry] : found_) entries.push_back(&entry);
  std::ranges::sort(entries, {}, [](const Entry* entry) { return std::pair(entry->workgroup, entry->order); });
  std::vector<Finding> all;
  for (const Entry* entry : entries) all.push_back(entry->finding);
  return all;
}

std::optional<KernelFault> Findings::fault(Tools tools) const {
  std::optional<KernelFault> fault;
  for (const Noun& noun : kNouns) {
    std::vector<Finding> found = all();
    std::erase_if(found, [&](const Finding& finding) {
      return finding.tool != tool_name(noun.tool) || finding.kind == kGlobalRace;  // a sanitizer asked for those
    });
    if (found.empty() || (tools & noun.tool) == 0) continue;
    const KernelFault next = fault_of(found, noun);
    fault = fault ? fault->followed_by(next.what()) : next;
  }
  return fault;
}

}  // namespace wave::emulator
