// The compiler behind hipRTC: the clang that is there, in a process of its own.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace wave::hip_emulator {

/// A folder that goes with its files.
struct ScratchFolder {
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ~ScratchFolder();
  std::filesystem::path path;
};

void write_file(const std::filesystem::path& path, std::string_view content);
std::string read_file(const std::filesystem::path& path);

/// Which headers and device libraries a compiler takes: ROCm's own where it is a file of ROCm's, those of $ROCM_PATH
/// where that has any, else this project's.
std::vector<std::string> library_options(const std::filesystem::path& compiler);
/// The folder of these headers.
std::filesystem::path header_folder(const std::filesystem::path& compiler);

/// Runs a command with the first compiler that there is: $CLANG, ROCm's, or the newest clang on PATH. Gives its exit
/// status; its messages go to the file `log`. Throws RtcFailure where there is none.
using CommandOf = std::function<std::vector<std::string>(const std::string& compiler)>;
int run_compiler(const CommandOf& command, const std::filesystem::path& log);

}  // namespace wave::hip_emulator
