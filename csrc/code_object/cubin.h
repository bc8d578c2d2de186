// Cubins: ELF files with code for NVIDIA GPUs.
//
// NVIDIA documents the tools that print them (CUDA Binary Utilities: cuobjdump, nvdisasm), not the format. Numbers here
// come from LLVM's BinaryFormat/ELF.h (EF_CUDA_*), from the attribute tables of the CuAssembler project
// (github.com/cloudcores/CuAssembler, CuAsm/config/DefaultNVInfo.py), and from what cuobjdump -elf prints of files made by
// ptxas 12.9 and 13.5 from PTX that states the values.
#pragma once

#include <vector>

#include "code_object/elf.h"
#include "code_object/metadata.h"
#include "code_object/target.h"

namespace wave {

/// What a cubin was built for. The suffix "f" of a family is not in the file: sm_100 and sm_100f give equal cubins.
Target cubin_target(const Elf& cubin);

/// A kernel, and how much code it has.
struct CubinKernel {
  KernelMetadata metadata;
  uint64_t code_size;
};

/// The kernels, in the order of the symbol table. Of each argument the file has offset and size, and whether it is a
/// pointer only where the PTX said so: then an argument of 8 bytes may be one. Throws FormatError.
std::vector<CubinKernel> read_cubin_kernels(const Elf& cubin);

}  // namespace wave
