#include "emulator/findings.h"

#include "emulator/workgroup.h"

namespace wave::emulator {

void Findings::add(const Wave& wave, u64 pc, u64 earlier_pc, const std::string& reason) {
  constexpr size_t kMost = 50;
  if (!reported_.insert({pc, earlier_pc}).second || found_.size() == kMost) return;
  const LaunchState& launch = wave.group->launch();
  const Module& module = launch.module;
  KernelFault fault(text(reason, "\n  at ", module.describe(pc), ": ", module.disassemble(pc, launch.lanes),
                         "\n  after ", module.describe(earlier_pc), ": ",
                         module.disassemble(earlier_pc, launch.lanes)));
  fault.kernel = launch.kernel.metadata.name;
  fault.workgroup = wave.group->id();
  fault.wave = wave.index;
  fault.pc = pc - module.load_address(launch.kernel.entry_address);
  fault.instruction = module.disassemble(pc, launch.lanes);
  found_.push_back(std::move(fault));
}

std::optional<KernelFault> Findings::fault() const {
  if (found_.empty()) return std::nullopt;
  std::string list = text("kernel '", found_[0].kernel, "' has ", found_.size(), " ", noun_,
                          found_.size() == 1 ? " " : "s ", clause_, ":");
  for (const KernelFault& fault : found_) list += text("\n", fault.what());
  KernelFault all(found_[0]);
  static_cast<RuntimeError&>(all) = RuntimeError(list);
  return all;
}

}  // namespace wave::emulator
