#include "base/profile_log.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/environment.h"
#include "base/error.h"
#include "base/fork_safe.h"
#include "base/json.h"
#include "base/output_file.h"

namespace wave {

namespace {

const Variable& kLog = at_load("WAVE_RUNTIME_PROFILE_LOG");

struct Log {
  const std::shared_ptr<ProfileSession> session = std::make_shared<ProfileSession>();
  const pid_t process = getpid();
};

template <class Key>
std::string counts_json(const std::map<Key, uint64_t>& counts) {
  std::string out;
  for (const auto& [name, count] : counts) out += text(out.empty() ? "" : ", ", json_text(name), ": ", count);
  return "{" + out + "}";
}

std::string launch_json(const ProfiledLaunch& launch) {
  return text("{\"grid\": ", numbers_json(launch.grid), ", \"block\": ", numbers_json(launch.block),
              ", \"shared_memory\": ", launch.shared_memory, ", \"instructions\": ", launch.instructions,
              ", \"waves\": ", launch.waves, ", \"workgroups\": ", launch.workgroups, ", \"seconds\": ", launch.seconds,
              "}");
}

/// The address, then what the instruction's profile has.
std::string instruction_json(const std::pair<const uint64_t, InstructionProfile>& one) {
  const InstructionProfile& counted = one.second;
  return text("[", one.first, ", ", json_text(counted.kind), ", ", counted.count, ", ", counted.lanes, ", ",
              counted.bytes, ", ", counted.moved, ", ", counted.lds_cycles, ", ", counted.lds_conflict_cycles, ", ",
              counted.operations, "]");
}

std::string kernel_json(const ProfiledKernel& kernel, const std::string& image) {
  const LaunchProfile& profile = kernel.profile;
  return text("{\"name\": ", json_text(kernel.name), ", \"target\": ", json_text(kernel.target),
              ", \"image\": ", json_text(image), ", \"launches\": ", json_list(kernel.launches, launch_json),
              ", \"code\": ", json_list(profile.code, instruction_json), ", \"kinds\": ", counts_json(profile.kinds),
              ", \"bytes\": ", counts_json(profile.bytes), ", \"operations\": ", counts_json(profile.operations),
              ", \"vector_instructions\": ", profile.vector_instructions, ", \"lanes\": ", profile.lanes,
              ", \"wave_lanes\": ", profile.wave_lanes, ", \"moved\": ", profile.moved,
              ", \"touched\": ", profile.touched, ", \"lds_cycles\": ", profile.lds_cycles,
              ", \"lds_conflict_cycles\": ", profile.lds_conflict_cycles, ", \"waves\": ", numbers_json(profile.waves),
              "}\n");
}

void write(const Log& log) {
  if (getpid() != log.process) return;  // a forked child, which launches nothing
  const std::vector<ProfiledKernel> kernels = log.session->kernels();
  if (kernels.empty()) return;
  std::error_code error;  // what is wrong with the folder a file tells
  std::filesystem::create_directories(kLog.text, error);
  const auto open = [&](const std::string& name) {
    return OutputFile(kLog.name, text(kLog.text, "/", name), OutputFile::Mode::Replace);
  };
  OutputFile lines = open(text(log.process, ".jsonl"));
  std::map<const uint8_t*, std::string> images;
  for (const ProfiledKernel& kernel : kernels) {
    std::string& image = images[kernel.image.data()];
    if (image.empty()) {
      image = text(log.process, "-", images.size(), ".image");
      OutputFile file = open(image);
      file.write({reinterpret_cast<const char*>(kernel.image.data()), kernel.image.size()});
      file.close();
    }
    lines.write(kernel_json(kernel, image));
  }
  lines.close();
}

Lazy<Log>& log = *new Lazy<Log>;

void write_at_exit() {
  try {
    write(*log.find());
  } catch (const std::exception& error) {
    OutputFile errors("stderr", "-", OutputFile::Mode::Append);
    errors.write(text("wave_runtime: ", error.what(), "\n"));
  }
}

}  // namespace

std::shared_ptr<ProfileSession> logged_session() {
  if (!kLog.is_set()) return nullptr;
  const Log& made = log.get([] {
    std::atexit(write_at_exit);
    return Log();
  });
  return made.session;
}

}  // namespace wave
