#include "op/c_entry_points.h"

#include "base/error.h"
#include "op/raw_launch.h"

using namespace wave;

void load_functions() {}

void* wave_load_kernel(void*, void** cached_kernel_handle, const void* binary_pointer, size_t binary_size,
                       const char* kernel_name) {
  if (*cached_kernel_handle == nullptr) {
    CodeObjects codes = CodeObject::parse_all({static_cast<const uint8_t*>(binary_pointer), binary_size}, std::nullopt);
    std::erase_if(codes, [&](const auto& code) {
      return std::ranges::none_of(code->kernels(),
                                  [&](const auto& kernel) { return kernel.metadata.name == kernel_name; });
    });
    if (codes.empty()) throw ValueError(text("no ", kernel_text(kernel_name), " in the binary"));
    *cached_kernel_handle = reinterpret_cast<void*>(raw_handle(raw_kernel(std::move(codes), kernel_name)));
  }
  return *cached_kernel_handle;
}

void wave_launch_kernel(void* stream, void* function, int shared_memory_bytes, int grid_x, int grid_y, int grid_z,
                        int block_x, int block_y, int block_z, int cluster_x, int cluster_y, int cluster_z, void** args,
                        int num_args) {
  const Kernel& kernel = find_raw(reinterpret_cast<uint64_t>(function));
  const auto& parameters = kernel.signature().parameters;
  if (static_cast<size_t>(num_args) != parameters.size()) refuse_parameter_count(kernel, num_args);
  Call call(kernel);
  for (const Parameter& parameter : parameters) call.packer.raw(parameter.offset, *args++, parameter.size);
  complete_raw(call, raw_options({grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                                 {cluster_x, cluster_y, cluster_z}, shared_memory_bytes));
  call.wanted_stream = stream;
  call.has_addresses = true;
  submit_operator(call);
}
