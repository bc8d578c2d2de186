// Whatever includes torch's headers needs the library, which gives tensors their bounds: linkers that take what is
// needed alone, as Ubuntu's do, would leave it out of an extension that calls nothing of it.
#pragma once

extern "C" const int wave_torch_hip_library;
__attribute__((used)) static const int* const wave_torch_hip_is_needed = &wave_torch_hip_library;
