#include "hip_emulator/rtc_compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/environment.h"
#include "base/error.h"
#include "hip_emulator/rtc.h"

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

/// Runs a command whose output goes to a file; its exit status, or nothing where there is no such program.
std::optional<int> run(const std::vector<std::string>& command, const fs::path& log) {
  // waitpid() does not tell where the program ignores SIGCHLD, or waits for whatever child ends: a shell writes it
  // down.
  constexpr const char* kScript = R"("$@"; echo $? >"$0")";
  constexpr int kNotFound = 127;
  const std::string status_file = log.string() + ".status";
  std::vector<std::string> words{"/bin/sh", "-c", kScript, status_file};
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  // A compiler waits for children of its own, whatever this process does with its.
  posix_spawnattr_t attributes;
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGCHLD);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, &attributes, arguments.data(), inherited_environment());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  // Another thread's wait for any child may take this one: waitpid() fails then, when it has ended.
  while (error == 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  int status = -1;
  if (error != 0 || !(std::ifstream(status_file) >> status))
    throw RtcFailure(kRtcInternalError, "cannot run the compiler");
  return status == kNotFound ? std::nullopt : std::optional(status);
}

/// The headers that the package has beside the library.
fs::path own_headers() {
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&own_headers), &own) == 0) return {};
  return fs::canonical(own.dli_fname).parent_path() / "device";
}

bool has_headers(const fs::path& rocm) { return fs::exists(rocm / "include/hip/hip_runtime.h"); }

/// The ROCm that a compiler is of; an empty path where it is of none that has headers.
fs::path own_rocm_of(const fs::path& compiler) {
  if (!compiler.is_absolute() || !fs::exists(compiler)) return {};
  const fs::path rocm = fs::canonical(compiler).parent_path().parent_path().parent_path();
  return has_headers(rocm) ? rocm : fs::path();
}

/// The one that ROCM_PATH names, for compilers that are elsewhere: of Debian's packages it is /usr.
fs::path named_rocm() {
  if (!rocm_path.is_set() || !has_headers(rocm_path.text)) return {};
  return rocm_path.text;
}

/// Among clang's own files, where Debian has the device libraries: clang does not look there if ROCM_PATH is set.
fs::path device_libraries_beside(const fs::path& compiler) {
  const ScratchFolder folder;
  const fs::path answer = folder.path / "answer";
  if (run({compiler, "-print-resource-dir"}, answer) != 0) return {};
  std::string own_files;
  std::getline(std::ifstream(answer), own_files);
  const fs::path bitcode = fs::path(own_files) / "amdgcn/bitcode";
  return fs::exists(bitcode) ? bitcode : fs::path();
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "wave-hiprtc-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw RtcFailure(kRtcInternalError, text("cannot make a folder ", name));
  path = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

void write_file(const fs::path& path, std::string_view content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> library_options(const fs::path& compiler) {
  if (const fs::path own = own_rocm_of(compiler); !own.empty()) return {"--rocm-path=" + own.string()};
  if (const fs::path named = named_rocm(); !named.empty()) {
    const fs::path bitcode = fs::exists(named / "amdgcn/bitcode") ? fs::path() : device_libraries_beside(compiler);
    if (bitcode.empty()) return {"--rocm-path=" + named.string()};
    return {"--rocm-device-lib-path=" + bitcode.string(), "-idirafter", named / "include"};
  }
  // Below HIP 3.6, which clang takes a machine without for, it does not look for its headers for C++ in kernels.
  return {"-nogpulib", "-nogpuinc", "--hip-version=6.0", "-isystem", own_headers()};
}

fs::path header_folder(const fs::path& compiler) {
  for (const fs::path& rocm : {own_rocm_of(compiler), named_rocm()}) {
    if (!rocm.empty()) return rocm / "include";
  }
  return own_headers();
}

int run_compiler(const CommandOf& command, const fs::path& log) {
  for (const std::string& compiler : compilers()) {
    if (const auto status = run(command(compiler), log)) return *status;
  }
  throw RtcFailure(kRtcCompilation, "there is no clang: install one, or name one in CLANG");
}

}  // namespace wave::hip_emulator
