// Sessions of the profiler, from Python: for wave_runtime.profile().
#include <pybind11/stl.h>

#include "base/profile_session.h"
#include "python/bindings.h"
#include "python/errors.h"

namespace py = pybind11;
using namespace pybind11::literals;

namespace wave {
namespace {

std::shared_ptr<ProfileSession> begin() {
  auto session = std::make_shared<ProfileSession>();
  ProfileSession::begin(session);
  return session;
}

py::dict describe(const ProfiledLaunch& launch) {
  return py::dict("grid"_a = launch.grid, "block"_a = launch.block, "shared_memory"_a = launch.shared_memory,
                  "instructions"_a = launch.instructions, "waves"_a = launch.waves, "workgroups"_a = launch.workgroups,
                  "seconds"_a = launch.seconds);
}

/// By address: kind, count, lanes, bytes, moved, LDS cycles, of these conflicts, operations.
py::dict describe(const std::map<uint64_t, InstructionProfile>& code) {
  py::dict result;
  for (const auto& [address, counted] : code) {
    result[py::int_(address)] =
        py::make_tuple(py::str(counted.kind.data(), counted.kind.size()), counted.count, counted.lanes, counted.bytes,
                       counted.moved, counted.lds_cycles, counted.lds_conflict_cycles, counted.operations);
  }
  return result;
}

py::dict describe(const ProfiledKernel& kernel) {
  py::list launches;
  for (const ProfiledLaunch& launch : kernel.launches) launches.append(describe(launch));
  const LaunchProfile& profile = kernel.profile;
  return py::dict("name"_a = python_text(kernel.name), "target"_a = kernel.target,
                  "image"_a = py::bytes(reinterpret_cast<const char*>(kernel.image.data()), kernel.image.size()),
                  "launches"_a = launches, "code"_a = describe(profile.code), "kinds"_a = profile.kinds,
                  "bytes"_a = profile.bytes, "operations"_a = profile.operations,
                  "vector_instructions"_a = profile.vector_instructions, "lanes"_a = profile.lanes,
                  "wave_lanes"_a = profile.wave_lanes, "moved"_a = profile.moved, "touched"_a = profile.touched,
                  "lds_cycles"_a = profile.lds_cycles, "lds_conflict_cycles"_a = profile.lds_conflict_cycles,
                  "waves"_a = profile.waves);
}

py::list kernels(ProfileSession& session) {
  py::list result;
  for (const ProfiledKernel& kernel : session.kernels()) result.append(describe(kernel));
  return result;
}

}  // namespace

void bind_profile(py::module_& module) {
  py::class_<ProfileSession, std::shared_ptr<ProfileSession>>(module, "ProfileSession", py::is_final())
      .def("kernels", &kernels)
      .def("end", [](const ProfileSession& session) { ProfileSession::end(session); });
  module.def("begin_profile", &begin);
}

}  // namespace wave
