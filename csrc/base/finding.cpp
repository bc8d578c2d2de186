#include "base/finding.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/json.h"

namespace wave {

namespace {

std::string frame_json(const SourceFrame& frame) {
  return text("{\"function\": ", json_text(frame.function), ", \"file\": ", json_text(frame.file),
              ", \"line\": ", frame.line, "}");
}

std::string site_json(const FindingSite& site) {
  return text("{\"pc\": ", site.pc, ", \"symbol\": ", json_text(site.symbol),
              ", \"instruction\": ", json_text(site.instruction), ", \"frames\": ", json_list(site.frames, frame_json),
              ", \"workgroup\": ", numbers_json(site.workgroup), ", \"wave\": ", site.wave,
              ", \"lane\": ", site.lane < 0 ? "null" : std::to_string(site.lane), "}");
}

std::string element_json(const TensorElement& element) {
  const TensorLayout& tensor = element.tensor;
  return text("{\"parameter\": ", json_text(tensor.parameter), ", \"argument\": ", tensor.argument,
              ", \"dtype\": ", json_text(tensor.dtype), ", \"shape\": ", numbers_json(tensor.shape),
              ", \"data\": ", tensor.data,
              ", \"index\": ", element.index.empty() ? "null" : numbers_json(element.index), "}");
}

/// "file.hip:12", or the instruction's place in the code. What is inlined of this package's own headers is called by
/// the line that a kernel's author knows.
std::string place_text(const FindingSite& site) {
  if (site.frames.empty() || site.frames[0].line == 0) return site.symbol;
  const auto is_of_others = [](const SourceFrame& frame) {
    return frame.line != 0 && frame.file.find("/wave_device/") == std::string::npos;
  };
  const auto own = std::ranges::find_if(site.frames, is_of_others);
  const SourceFrame& frame = own != site.frames.end() ? *own : site.frames[0];
  return text(frame.file, ":", frame.line);
}

/// Where it is, besides place_text().
std::string site_text(const FindingSite& site) {
  std::string lines = text("\n    at ", site.symbol, ": ", site.instruction);
  for (size_t i = 0; i < site.frames.size(); ++i) {
    const SourceFrame& frame = site.frames[i];
    if (frame.function.empty()) continue;
    lines += text("\n    ", i == 0 ? "in " : "inlined into ", frame.function, " (", frame.file, ":", frame.line, ")");
  }
  const auto& [x, y, z] = site.workgroup;
  lines += text("\n    workgroup (", x, ", ", y, ", ", z, "), wave ", site.wave);
  return site.lane < 0 ? lines : text(lines, ", lane ", site.lane);
}

/// "c[64, 0] of float32 [64, 500]".
std::string element_text(const TensorElement& element) {
  const TensorLayout& tensor = element.tensor;
  const std::string name = tensor.parameter.empty() ? text("argument ", tensor.argument) : tensor.parameter;
  const std::string index = element.index.empty() ? "" : numbers_json(element.index);
  return text(name, index, " of ", tensor.dtype, " ", numbers_json(tensor.shape));
}

constexpr uint64_t kNear = uint64_t{1} << 20;

uint64_t distance(const AddressSpan& bytes, uint64_t address) {
  if (address < bytes.begin()) return bytes.begin() - address;
  return bytes.contains(address) ? 0 : address - bytes.end() + 1;
}

}  // namespace

std::vector<int64_t> TensorLayout::index_of(uint64_t address) const {
  if (address < data || element_size == 0) return {};
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  auto left = static_cast<int64_t>((address - data) / element_size);
  std::vector<int64_t> index(shape.size());
  for (const size_t dim : order) {
    if (strides[dim] <= 0 || shape[dim] == 1) continue;
    index[dim] = left / strides[dim];
    left -= index[dim] * strides[dim];
  }
  return left == 0 ? index : std::vector<int64_t>();
}

std::optional<TensorElement> element_at(std::span<const TensorLayout> tensors, uint64_t address) {
  const auto nearest = std::ranges::min_element(
      tensors, {}, [&](const TensorLayout& tensor) { return distance(tensor.storage, address); });
  if (nearest == tensors.end() || distance(nearest->storage, address) > kNear) return std::nullopt;
  return TensorElement{*nearest, nearest->index_of(address)};
}

std::string finding_text(const Finding& finding) {
  std::string lines = text(place_text(finding.at), ": error: ", kernel_text(finding.kernel), ": ", finding.message,
                           " [", finding.tool, ":", finding.kind, "]", site_text(finding.at));
  if (finding.tensor) lines += text(", ", element_text(*finding.tensor));
  if (!finding.other) return lines;
  return text(lines, "\n", place_text(*finding.other), ": note: the other access is here", site_text(*finding.other));
}

FindingKey finding_key(const Finding& finding) {
  return {finding.tool,
          finding.kind,
          finding.kernel,
          finding.at.pc,
          finding.other ? finding.other->pc : finding.at.pc,
          finding.tensor ? int64_t{finding.tensor->tensor.argument} : -1};
}

std::string finding_json(const Finding& finding) {
  return text("{\"tool\": ", json_text(finding.tool), ", \"kind\": ", json_text(finding.kind),
              ", \"kernel\": ", json_text(finding.kernel), ", \"message\": ", json_text(finding.message),
              ", \"at\": ", site_json(finding.at), ", \"other\": ", finding.other ? site_json(*finding.other) : "null",
              ", \"address\": ", finding.address ? std::to_string(*finding.address) : "null",
              ", \"tensor\": ", finding.tensor ? element_json(*finding.tensor) : "null", ", \"count\": ", finding.count,
              ", \"text\": ", json_text(finding_text(finding)), "}");
}

}  // namespace wave
