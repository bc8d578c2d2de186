#include "hip_emulator/rtc.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/environment.h"
#include "base/error.h"
#include "code_object/code_object.h"
#include "emulator/processor.h"

namespace wave::hip_emulator {

namespace {

namespace fs = std::filesystem;

const Variable& named_compiler = at_load("CLANG");
const Variable& rocm_path = at_load("ROCM_PATH");

/// Where wave_runtime.compile() looks, too (wave_runtime/_compile/_clang.py): files, and names on PATH.
std::vector<std::string> compilers() {
  if (named_compiler.is_set()) return {named_compiler.text};
  std::vector<std::string> names;
  if (rocm_path.is_set()) names.push_back(rocm_path.text + "/llvm/bin/clang");
  names.push_back("/opt/rocm/llvm/bin/clang");
  constexpr int kNewest = 25, kOldest = 17;
  for (int version = kNewest; version >= kOldest; --version) names.push_back(text("clang-", version));
  names.push_back("clang");
  return names;
}

/// A folder that goes with its files.
struct ScratchFolder {
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "wave-hiprtc-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw RtcFailure(kRtcInternalError, text("cannot make a folder ", name));
    path = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

void write_file(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Runs a command whose output goes to a file; its exit status, or nothing where there is no such program.
std::optional<int> run(const std::vector<std::string>& command, const fs::path& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), inherited_environment());
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return std::nullopt;
  int status = -1;
  if (error != 0 || waitpid(child, &status, 0) != child) throw RtcFailure(kRtcInternalError, "cannot run the compiler");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The headers that the package has beside the library.
fs::path own_headers() {
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&own_headers), &own) == 0) return {};
  return fs::canonical(own.dli_fname).parent_path() / "device";
}

/// With ROCm's own headers and device libraries where the compiler is a file of ROCm's.
std::vector<std::string> library_options(const fs::path& compiler) {
  if (compiler.is_absolute() && fs::exists(compiler)) {
    const fs::path rocm = fs::canonical(compiler).parent_path().parent_path().parent_path();
    if (fs::exists(rocm / "include/hip/hip_runtime.h")) return {"--rocm-path=" + rocm.string()};
  }
  return {"-nogpulib", "-nogpuinc", "-isystem", own_headers()};
}

bool names_processor(const std::string& option) {
  return option.starts_with("--offload-arch=") || option.starts_with("--gpu-architecture=");
}

std::string variable_of(size_t expression) { return text("__wave_name_", expression); }

/// A pointer to each thing whose name is wanted: the code object tells what it points to.
std::string with_expressions(const RtcProgram& program) {
  std::string source = program.source + "\n";
  for (size_t i = 0; i < program.expressions.size(); ++i) {
    source += text("extern \"C\" __attribute__((used)) __device__ const void* const ", variable_of(i), " = (void*)(&(",
                   program.expressions[i], "));\n");
  }
  return source;
}

/// What the pointer at an address of the file is relocated to.
std::optional<uint64_t> target_of(const CodeObject& code, uint64_t address) {
  for (const Relocation& relocation : code.relocations()) {
    if (relocation.address == address) return relocation.symbol_address + static_cast<uint64_t>(relocation.addend);
  }
  return std::nullopt;
}

std::string name_at(const CodeObject& code, uint64_t address) {
  for (const KernelInfo& kernel : code.kernels()) {
    if (kernel.entry_address == address) return kernel.metadata.name;
  }
  const auto found = std::ranges::find(code.symbols(), address, &Symbol::address);
  return found == code.symbols().end() ? std::string() : found->name;
}

void find_names(RtcProgram& program) {
  const auto code = CodeObject::parse(program.code, std::nullopt);
  for (size_t i = 0; i < program.expressions.size(); ++i) {
    const Symbol* pointer = code->variable(variable_of(i));
    const auto target = pointer == nullptr ? std::nullopt : target_of(*code, pointer->address);
    if (target) program.lowered[program.expressions[i]] = name_at(*code, *target);
  }
}

/// The command for one of the compilers, which comes first.
std::vector<std::string> command_of(const std::string& compiler, const std::vector<std::string>& options,
                                    const fs::path& source, const fs::path& image) {
  std::string processor = emulator::device_processor().code;
  std::vector<std::string> command{
      compiler, "-x",         "hip",      "--offload-device-only", "--no-gpu-bundle-output",
      "-O3",    "-std=c++17", "-include", "hip/hip_runtime.h",     "-mcode-object-version=5"};
  const std::vector<std::string> libraries = library_options(compiler);
  command.insert(command.end(), libraries.begin(), libraries.end());
  if (libraries.size() == 1) {  // ROCm's headers, of which hipRTC has these built in
    for (const char* header : {"hip/hip_fp16.h", "hip/hip_bfloat16.h", "hip/hip_complex.h"}) {
      command.insert(command.end(), {"-include", header});
    }
  }
  command.push_back("-I" + source.parent_path().string());
  for (const std::string& option : options) {
    if (names_processor(option)) {
      processor = option.substr(option.find('=') + 1);
    } else {
      command.push_back(option);
    }
  }
  for (const std::string& last : {"--offload-arch=" + processor, source.string(), std::string("-o"), image.string()}) {
    command.push_back(last);
  }
  return command;
}

}  // namespace

void compile(RtcProgram& program, const std::vector<std::string>& options) {
  const ScratchFolder folder;
  const std::string name = program.name.empty() ? "program.hip" : fs::path(program.name).filename().string();
  const fs::path source = folder.path / name, image = folder.path / "image", log = folder.path / "log";
  write_file(source, with_expressions(program));
  for (const auto& [header, content] : program.headers) write_file(folder.path / header, content);
  std::optional<int> status;
  for (const std::string& compiler : compilers()) {
    status = run(command_of(compiler, options, source, image), log);
    if (status) break;
  }
  if (!status) throw RtcFailure(kRtcCompilation, "there is no clang: install one, or name one in CLANG");
  program.log = read_file(log);
  if (*status != 0) throw RtcFailure(kRtcCompilation);
  const std::string bytes = read_file(image);
  program.code.assign(bytes.begin(), bytes.end());
  find_names(program);
  program.is_compiled = true;
}

}  // namespace wave::hip_emulator
