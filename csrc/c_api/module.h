// Modules and kernels as wave_runtime.h hands them out.
#pragma once

#include <wave_runtime.h>

#include <memory>
#include <string>
#include <vector>

#include "launch/kernel.h"

/// A parsed file. Immutable.
struct wave_module {
  wave::CodeObjects codes;
  std::vector<std::string> kernels;
  std::vector<std::shared_ptr<const void>> held;  ///< keeps the code loaded where it is
};

/// A registered kernel and the strings that describe it. Never destroyed.
struct wave_kernel {
  const wave::Kernel& kernel;
  std::string signature;
  std::vector<std::string> types;  ///< of the parameters
};
