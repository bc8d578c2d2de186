// Sessions of the profiler, from Python: for wave_runtime.profile().

#include "base/profile_session.h"
#include "python/bindings.h"
#include "python/define.h"

namespace wave {

template <>
struct py::Converter<InstructionProfile> {
  static object to(const InstructionProfile& counted) {
    return make_tuple(counted.kind, counted.count, counted.lanes, counted.bytes, counted.moved, counted.lds_cycles,
                      counted.lds_conflict_cycles, counted.operations);
  }
};

WAVE_AS_DICT(ProfiledLaunch, WAVE_MEMBERS(value, grid, block, shared_memory, instructions, waves, workgroups, seconds))
WAVE_AS_DICT(ProfiledKernel, WAVE_MEMBERS(value, name, target), {"image", bytes(value.image)},
             WAVE_MEMBERS(value, launches),
             WAVE_MEMBERS(value.profile, code, kinds, bytes, operations, vector_instructions, lanes, wave_lanes, moved,
                          touched, lds_cycles, lds_conflict_cycles, waves))

namespace {

struct SessionState {
  static constexpr const char* kName = "wave_runtime._C.ProfileSession";
  std::shared_ptr<ProfileSession> session;
};

py::object begin_profile() {
  auto session = std::make_shared<ProfileSession>();
  ProfileSession::begin(session);
  return make_callable<SessionState>(std::move(session));
}

void end_profile(const SessionState& state) { ProfileSession::end(*state.session); }

std::vector<ProfiledKernel> kernels(const SessionState& state) { return state.session->kernels(); }

}  // namespace

void bind_profile(py::handle module) {
  py::add_type<SessionState>(module,
                             {.methods = {py::method<kernels>("kernels", ""), py::method<end_profile>("end", "")}});
  py::add_functions(module, {py::function<begin_profile>("begin_profile", "")});
}

}  // namespace wave
