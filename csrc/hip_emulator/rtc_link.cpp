// Linking of bitcode, as hipRTC's and HIP's own functions ask for it.
#include "base/error.h"
#include "code_object/offload_bundle.h"
#include "code_object/select.h"
#include "emulator/processor.h"
#include "hip_emulator/rtc.h"
#include "hip_emulator/rtc_compiler.h"

namespace wave::hip_emulator {

namespace fs = std::filesystem;

std::string bitcode_in_bundle(std::string_view bundle) {
  const std::span<const char> characters(bundle);
  const std::span<const uint8_t> data(reinterpret_cast<const uint8_t*>(characters.data()), characters.size());
  const Target& device = emulator::device_processor().target();
  std::string found;
  std::optional<int> best;
  try {
    read_bundles(Bytes(data, "bundle of bitcode"), 0, 0, [&](const Entry& entry, size_t) {
      if (!entry.target || entry.bytes.size() == 0) return;
      const std::optional<int> suits = suitability(Format::AmdGpu, *entry.target, device);
      if (!suits || (best && *suits <= *best)) return;
      best = suits;
      found.assign(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
    });
  } catch (const ValueError& error) {
    throw RtcFailure(kRtcInvalidInput, error.what());
  }
  if (!best) throw RtcFailure(kRtcInvalidInput, text("the bundle has no bitcode for ", device.id()));
  return found;
}

void link(LinkedProgram& program) {
  if (program.inputs.empty()) throw RtcFailure(kRtcLinking, "nothing was added to be linked");
  const ScratchFolder folder;
  const fs::path image = folder.path / "image", log = folder.path / "log";
  std::vector<std::string> files;
  for (const std::string& input : program.inputs) {
    files.push_back(folder.path / text("input", files.size(), ".bc"));
    write_file(files.back(), input);
  }
  const auto command = [&](const std::string& compiler) {
    std::vector<std::string> words{compiler, "--target=amdgcn-amd-amdhsa", "-nogpulib", "-flto", "-O3", "-x",
                                   "ir",     "-mcode-object-version=5"};
    words.push_back(text("-mcpu=", emulator::device_processor().code));
    words.insert(words.end(), program.options.begin(), program.options.end());
    words.insert(words.end(), files.begin(), files.end());
    words.insert(words.end(), {"-o", image});
    return words;
  };
  if (run_compiler(command, log) != 0) throw RtcFailure(kRtcLinking, read_file(log));
  program.code = read_file(image);
}

}  // namespace wave::hip_emulator
