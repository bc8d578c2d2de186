// Runs a model that torch._inductor.aoti_compile_and_package has compiled, kernels included, without Python:
//
//   run_package model.pt2 inputs.pt outputs.pt [runs]
//
// inputs.pt is what torch.save([tensor, ...], "inputs.pt") wrote; torch.load("outputs.pt") reads the results. With a
// number of runs it prints how long one takes.
#include <c10/core/InferenceMode.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Tensors = std::vector<at::Tensor>;
using Loader = torch::inductor::AOTIModelPackageLoader;

Tensors read_tensors(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(std::string("cannot open ") + path);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const c10::IValue list = torch::jit::pickle_load(bytes);
  Tensors tensors;
  for (const c10::IValue& item : list.toListRef()) tensors.push_back(item.toTensor());
  return tensors;
}

void write_tensors(const char* path, const Tensors& tensors) {
  const std::vector<c10::IValue> items(tensors.begin(), tensors.end());
  const std::vector<char> bytes = torch::jit::pickle_save(c10::ivalue::Tuple::create(items));
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Waits for the device, as all work on it does that copies to the host.
void synchronize(const Tensors& outputs) {
  for (const at::Tensor& output : outputs) {
    if (!output.is_cpu() && output.numel() != 0) output.flatten()[0].item();
  }
}

void measure(Loader& model, const Tensors& inputs, int runs) {
  synchronize(model.run(inputs));
  const auto start = std::chrono::steady_clock::now();
  Tensors outputs;
  for (int i = 0; i < runs; ++i) outputs = model.run(inputs);
  const std::chrono::duration<double, std::micro> enqueued = std::chrono::steady_clock::now() - start;
  synchronize(outputs);
  const std::chrono::duration<double, std::micro> done = std::chrono::steady_clock::now() - start;
  std::printf("%.2f us a run on the host, %.2f us until it is done\n", enqueued.count() / runs, done.count() / runs);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: run_package model.pt2 inputs.pt outputs.pt [runs]\n");
    return 2;
  }
  const c10::InferenceMode inference;
  Loader model(argv[1]);
  const Tensors inputs = read_tensors(argv[2]);
  write_tensors(argv[3], model.run(inputs));
  if (argc == 5) measure(model, inputs, std::atoi(argv[4]));
  return 0;
} catch (const c10::Error& error) {
  std::fprintf(stderr, "run_package: %s\n", error.what_without_backtrace());
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "run_package: %s\n", error.what());
  return 1;
}
