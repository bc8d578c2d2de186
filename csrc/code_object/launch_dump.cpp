#include "code_object/launch_dump.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "base/json.h"
#include "base/output_file.h"

namespace wave {

namespace {

std::string dims(const std::array<uint32_t, 3>& value) {
  return json_list(value, [](uint32_t extent) { return std::to_string(extent); });
}

std::string digits(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : bytes) out += {kDigits[byte >> 4], kDigits[byte & 15]};
  return out;
}

std::string parameter(const Parameter& parameter) {
  return text("{\"type\": ", json_text(parameter.type_text()), ", \"offset\": ", parameter.offset,
              ", \"size\": ", parameter.size, "}");
}

template <class Bytes>
void write_file(const std::filesystem::path& path, const Bytes& bytes) {
  OutputFile file("WAVE_RUNTIME_DUMP", path.string(), OutputFile::Mode::Replace);
  file.write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  file.close();
}

/// A name that there is nothing of yet: of the kernel, the process, and a number.
std::filesystem::path folder_for(const std::string& parent, std::string name) {
  static std::atomic<int> next{0};
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_'; }, '_');
  return std::filesystem::path(parent) / text(name.substr(0, 80), "-", getpid(), "-", next++);
}

}  // namespace

LaunchDump::LaunchDump(LaunchRecord launch) : launch_(std::move(launch)) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const AddressSpan& range : launch_.memory) ranges.emplace_back(range.begin(), range.end());
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 0; i < ranges.size();) {
    const uint64_t begin = ranges[i].first;
    uint64_t end = ranges[i].second;
    while (++i < ranges.size() && ranges[i].first < end) end = std::max(end, ranges[i].second);
    const auto* data = reinterpret_cast<const uint8_t*>(begin);
    blocks_.push_back({begin, std::vector<uint8_t>(data, data + (end - begin))});
  }
}

std::string LaunchDump::json(const KernelFault& fault) const {
  return text("{\n  \"kernel\": ", json_text(launch_.kernel),
              ",\n  \"signature\": ", json_text(launch_.signature.text()),
              ",\n  \"strict\": ", launch_.strict ? "true" : "false", ",\n  \"grid\": ", dims(launch_.grid),
              ",\n  \"block\": ", dims(launch_.block), ",\n  \"shared_memory\": ", launch_.shared_memory,
              ",\n  \"cooperative\": ", launch_.cooperative ? "true" : "false",
              ",\n  \"arguments\": ", json_text(digits(launch_.arguments)),
              ",\n  \"parameters\": ", json_list(launch_.signature.parameters, parameter), ",\n  \"ranges\": ",
              json_list(launch_.memory,
                        [](const AddressSpan& range) { return text("[", range.begin(), ", ", range.end(), "]"); }),
              ",\n  \"blocks\": ", json_list(blocks_, [](const Block& block) { return std::to_string(block.address); }),
              ",\n  \"fault\": ", json_text(fault.what()), "\n}\n");
}

std::string LaunchDump::write(const std::string& parent, const KernelFault& fault) const {
  const std::filesystem::path folder = folder_for(parent, std::string(launch_.kernel));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw RuntimeError(text("WAVE_RUNTIME_DUMP=", folder.string(), ": cannot make it: ", error.message()));
  write_file(folder / "kernel.hsaco", launch_.code);
  for (size_t i = 0; i < blocks_.size(); ++i) write_file(folder / text("memory-", i, ".bin"), blocks_[i].bytes);
  write_file(folder / "launch.json", json(fault));
  return folder.string();
}

KernelFault LaunchDump::written(const std::string& parent, const KernelFault& fault) const {
  try {
    return fault.followed_by(text("  written to ", write(parent, fault), ", for `python -m wave_runtime run`"));
  } catch (const RuntimeError& error) {
    return fault.followed_by(text("  not written: ", error.what()));
  }
}

}  // namespace wave
