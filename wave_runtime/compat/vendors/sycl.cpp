// What calls the SYCL runtime, with an interface of C's. _sycl.py compiles it for the runtime that is installed, by any
// C++ compiler: the kernels are compiled by the runtime itself.
//
// Functions return null, or what went wrong, which holds until the thread's next call.

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <sycl/sycl.hpp>
#include <vector>

namespace experimental = sycl::ext::oneapi::experimental;

template <class Body>
static const char* guarded(const Body& body) {
  try {
    body();
    return nullptr;
  } catch (const std::exception& error) {
    static thread_local std::string text;
    text = error.what();
    return text.c_str();
  }
}

extern "C" {

/// A queue of the CPU's, which nobody deletes.
const char* wave_runtime_sycl_cpu(sycl::queue** queue) {
  return guarded([&] {
    static sycl::queue cpu{sycl::cpu_selector_v, sycl::property::queue::in_order()};
    *queue = &cpu;
  });
}

/// Compiles a kernel for the device of a queue. Nobody deletes it. files are names and texts, in turn, of what the
/// source includes.
const char* wave_runtime_sycl_compile(sycl::queue* queue, const char* source, const char* name,
                                      const char* const* options, std::size_t option_count, const char* const* files,
                                      std::size_t file_count, sycl::kernel** kernel) {
  return guarded([&] {
    experimental::include_files included;
    for (std::size_t i = 0; i < file_count; ++i) included.add(files[2 * i], files[2 * i + 1]);
    auto text =
        experimental::create_kernel_bundle_from_source(queue->get_context(), experimental::source_language::sycl,
                                                       std::string(source), experimental::properties{included});
    const std::vector<std::string> words(options, options + option_count);
    auto bundle = experimental::build(text, std::vector<sycl::device>{queue->get_device()},
                                      experimental::properties{experimental::build_options{words}});
    *kernel = std::make_unique<sycl::kernel>(bundle.ext_oneapi_get_kernel(name)).release();
  });
}

/// Enqueues a launch. grid and block are from x to z, which SYCL counts the other way. An argument's size is 0 where it
/// is a pointer; wait says whether to return only when the launch has ended.
const char* wave_runtime_sycl_launch(sycl::queue* queue, const sycl::kernel* kernel, const std::size_t* grid,
                                     const std::size_t* block, void* const* arguments, const std::size_t* sizes,
                                     std::size_t count, bool wait) {
  return guarded([&] {
    const sycl::range<3> local(block[2], block[1], block[0]);
    const sycl::range<3> global(grid[2] * block[2], grid[1] * block[1], grid[0] * block[0]);
    sycl::event done = queue->submit([&](sycl::handler& handler) {
      for (std::size_t i = 0; i < count; ++i) {
        if (sizes[i] == 0) {
          handler.set_arg(int(i), *static_cast<void* const*>(arguments[i]));
        } else {
          handler.set_arg(int(i), experimental::raw_kernel_arg(arguments[i], sizes[i]));
        }
      }
      handler.parallel_for(sycl::nd_range<3>(global, local), *kernel);
    });
    if (wait) done.wait_and_throw();
  });
}
}
