#include "launch/embedded.h"

#include "base/error.h"
#include "code_object/offload_bundle.h"

namespace wave {

std::vector<uint8_t> embedded_code(const Kernel& kernel) {
  if (kernel.variants().size() > 1) return write_bundle(kernel.variants());
  const std::span<const uint8_t> image = kernel.code().bytes().span();
  return {image.begin(), image.end()};
}

const Kernel& find_embedded(std::string_view handle, const std::function<std::vector<uint8_t>()>& code) {
  if (const Kernel* kernel = find_kernel_if_known(handle)) return *kernel;
  const std::vector<uint8_t> bytes = code();
  try {
    return register_kernel(remake_kernel(handle, CodeObject::parse_all(bytes, std::nullopt)));
  } catch (const ValueError& error) {
    throw ValueError(text("the code that travels with ", kernel_text(name_in_handle(handle)), ": ", error.what()));
  }
}

}  // namespace wave
