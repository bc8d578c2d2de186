// Sessions of the profiler, from Python: for wave_runtime.profile().

#include "base/profile_session.h"
#include "python/bindings.h"
#include "python/define.h"

namespace wave {
namespace {

struct SessionState {
  static constexpr const char* kName = "wave_runtime._C.ProfileSession";
  std::shared_ptr<ProfileSession> session;
};

py::object begin() {
  auto session = std::make_shared<ProfileSession>();
  ProfileSession::begin(session);
  return make_callable<SessionState>(std::move(session));
}

void end(const SessionState& state) { ProfileSession::end(*state.session); }

py::dict describe(const ProfiledLaunch& launch) {
  return py::make_dict({{"grid", launch.grid},
                        {"block", launch.block},
                        {"shared_memory", launch.shared_memory},
                        {"instructions", launch.instructions},
                        {"waves", launch.waves},
                        {"workgroups", launch.workgroups},
                        {"seconds", launch.seconds}});
}

/// By address: kind, count, lanes, bytes, moved, LDS cycles, of these conflicts, operations.
py::dict describe(const std::map<uint64_t, InstructionProfile>& code) {
  py::dict result;
  for (const auto& [address, counted] : code) {
    result.set(address, py::make_tuple(counted.kind, counted.count, counted.lanes, counted.bytes, counted.moved,
                                       counted.lds_cycles, counted.lds_conflict_cycles, counted.operations));
  }
  return result;
}

py::dict describe(const ProfiledKernel& kernel) {
  const LaunchProfile& profile = kernel.profile;
  return py::make_dict(
      {{"name", kernel.name},
       {"target", kernel.target},
       {"image", py::bytes(std::span(kernel.image))},
       {"launches", py::list_of(kernel.launches, [](const ProfiledLaunch& launch) { return describe(launch); })},
       {"code", describe(profile.code)},
       {"kinds", profile.kinds},
       {"bytes", profile.bytes},
       {"operations", profile.operations},
       {"vector_instructions", profile.vector_instructions},
       {"lanes", profile.lanes},
       {"wave_lanes", profile.wave_lanes},
       {"moved", profile.moved},
       {"touched", profile.touched},
       {"lds_cycles", profile.lds_cycles},
       {"lds_conflict_cycles", profile.lds_conflict_cycles},
       {"waves", profile.waves}});
}

py::list kernels(const SessionState& state) {
  return py::list_of(state.session->kernels(), [](const ProfiledKernel& kernel) { return describe(kernel); });
}

}  // namespace

void bind_profile(py::handle module) {
  py::add_object(
      module, "ProfileSession",
      make_callable_type<SessionState>({.methods = {py::method<kernels>("kernels", ""), py::method<end>("end", "")}}));
  py::add_functions(module, {py::function<begin>("begin_profile", "")});
}

}  // namespace wave
