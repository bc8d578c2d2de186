#include "launch/dump.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "base/json.h"
#include "base/output_file.h"

namespace wave {

namespace {

std::string dims(const Dims& value) {
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

std::unique_ptr<LaunchDump> LaunchDump::prepare(const LaunchSite& site, std::span<const uint8_t> arguments,
                                                const HostLaunch& host) {
  if (host.options.dump.empty()) return nullptr;
  return std::unique_ptr<LaunchDump>(new LaunchDump(site, arguments, host));
}

LaunchDump::LaunchDump(const LaunchSite& site, std::span<const uint8_t> arguments, const HostLaunch& host)
    : site_(site), arguments_(arguments.begin(), arguments.end()), host_(host) {
  copy_memory();
}

void LaunchDump::copy_memory() {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const MemoryRange& range : host_.memory.ranges) ranges.emplace_back(range.bytes.begin(), range.bytes.end());
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
  const Kernel& kernel = site_.kernel;
  const Geometry& geometry = site_.geometry;
  return text(
      "{\n  \"kernel\": ", json_text(kernel.name()), ",\n  \"signature\": ", json_text(kernel.signature().text()),
      ",\n  \"strict\": ", kernel.strict() ? "true" : "false", ",\n  \"grid\": ", dims(geometry.grid),
      ",\n  \"block\": ", dims(geometry.block), ",\n  \"shared_memory\": ", geometry.shared_memory,
      ",\n  \"arguments\": ", json_text(digits(arguments_)),
      ",\n  \"parameters\": ", json_list(kernel.signature().parameters, parameter), ",\n  \"ranges\": ",
      json_list(host_.memory.ranges,
                [](const MemoryRange& range) { return text("[", range.bytes.begin(), ", ", range.bytes.end(), "]"); }),
      ",\n  \"blocks\": ", json_list(blocks_, [](const Block& block) { return std::to_string(block.address); }),
      ",\n  \"fault\": ", json_text(fault.what()), "\n}\n");
}

std::string LaunchDump::write(const KernelFault& fault) const {
  const std::filesystem::path folder = folder_for(host_.options.dump, site_.kernel.name());
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw RuntimeError(text("WAVE_RUNTIME_DUMP=", folder.string(), ": cannot make it: ", error.message()));
  write_file(folder / "kernel.hsaco", site_.function.code->bytes());
  for (size_t i = 0; i < blocks_.size(); ++i) write_file(folder / text("memory-", i, ".bin"), blocks_[i].bytes);
  write_file(folder / "launch.json", json(fault));
  return folder.string();
}

}  // namespace wave
