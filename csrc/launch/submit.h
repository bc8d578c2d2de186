// The one way of a launch, whoever read its arguments: kernel(...), bound launches, operators, upstream's interface, C.
//
//   read      fills a call with arguments and options        csrc/python, csrc/op, csrc/c_api: all in which they differ
//   submit    checks the arguments together, loads the kernel, checks the geometry, tells autograd, packs    here
//   enqueue   calls hooks, the driver, and says what its errors mean                                  launch/enqueue.h
//   launch    is the driver's own call (driver/driver.h), which on the emulator runs the kernel
//
// docs/architecture.md follows a launch through them.
#pragma once

#include "launch/arguments.h"
#include "launch/enqueue.h"
#include "launch/function_use.h"

namespace wave {

/// Launches what was read. A call has
///
///   kernel, options, packer    the packer has all arguments but the addresses of tensors
///   check()                    throws where the arguments do not fit together, or nothing says where to launch
///   place(), stream()          where to launch
///   tell_autograd()            throws where the launch would cut a graph, and marks what is written
///   pack(packer)               adds the tensors' addresses
///   enqueue(site, arguments)   calls the other enqueue(), for the emulator with what the kernel may touch
///
/// Needs no lock of an interpreter, and should be called without: it may wait for other threads' launches.
template <class Call>
void submit(Call& call) {
  call.check();
  const FunctionUse function(call.kernel, call.place());
  const Geometry geometry = check_geometry(*function, call.options);
  call.tell_autograd();
  call.pack(call.packer);
  call.enqueue({call.kernel, *function, geometry, call.stream()}, call.packer.packed());
}

/// The part of submit() before autograd: everything that can be known once for many launches of the same call.
template <class Call>
Geometry prepare(const Call& call) {
  call.check();
  const FunctionUse function(call.kernel, call.place());
  return check_geometry(*function, call.options);
}

}  // namespace wave
