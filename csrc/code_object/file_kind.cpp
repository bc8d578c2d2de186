#include "code_object/file_kind.h"

#include <algorithm>
#include <string>

#include "code_object/elf.h"
#include "code_object/fatbin.h"
#include "code_object/ptx.h"

namespace wave {
namespace {

constexpr const char* kExpected =
    "expected an AMDGPU code object (ELF), a clang offload bundle, a cubin, PTX, a CUDA fat binary, or a host object or "
    "library with HIP or CUDA fat binaries";

struct Magic {
  std::string_view bytes;
  std::string_view meaning;
};

using namespace std::string_view_literals;

constexpr Magic kRefused[] = {
    {"BC\xc0\xde"sv, "LLVM bitcode: compile and link it first (clang -target amdgcn-amd-amdhsa -mcpu=...)"},
    {"\xde\xc0\x17\x0b"sv,
     "wrapped LLVM bitcode: compile and link it first (clang -target amdgcn-amd-amdhsa -mcpu=...)"},
    {"\x03\x02\x23\x07"sv, "SPIR-V: compile it for a processor first"},
    {"\x10\xff\x10\xad"sv, "an LLVM offload binary: unpack it first with clang-offload-packager"},
    {"!<arch>\n"sv, "an archive: extract its members first with ar x"},
};

// "7f 45 4c 46 (.ELF)".
std::string first_bytes(const Bytes& file) {
  std::string digits, characters;
  for (uint64_t i = 0; i < std::min<uint64_t>(file.size(), 8); ++i) {
    const auto byte = file.read<uint8_t>(i);
    digits += text(i == 0 ? "" : " ", "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]);
    characters += byte >= 0x20 && byte < 0x7f ? static_cast<char>(byte) : '.';
  }
  return text(digits, " (", characters, ")");
}

FileKind classify_amdgpu(const ElfIdentity& elf) {
  if (elf.osabi == ELFOSABI_AMDGPU_PAL || elf.osabi == ELFOSABI_AMDGPU_MESA3D) {
    const char* stack = elf.osabi == ELFOSABI_AMDGPU_PAL ? "PAL (amdpal)" : "Mesa (mesa3d)";
    throw ValueError(text("an AMDGPU ELF for ", stack, ", not an HSA code object (amdhsa)"));
  }
  if (elf.osabi != ELFOSABI_AMDGPU_HSA) {
    throw ValueError(text("an AMDGPU ELF for OS ABI ", unsigned{elf.osabi}, ", not an HSA code object (amdhsa, 64)"));
  }
  if (elf.type == ET_REL) {
    throw ValueError("an AMDGPU relocatable object, not a code object: link it first with ld.lld -shared");
  }
  if (elf.type != ET_DYN && elf.type != ET_EXEC) {
    throw ValueError(text("an AMDGPU ELF of type ", elf.type, ", not a code object (shared object, 3)"));
  }
  return FileKind::CodeObject;
}

FileKind classify_elf(const Bytes& file) {
  const ElfIdentity identity = read_elf_identity(file);
  if (identity.machine == EM_AMDGPU) return classify_amdgpu(identity);
  if (identity.machine == EM_CUDA) {
    if (identity.type == ET_EXEC) return FileKind::Cubin;
    throw ValueError("a relocatable cubin (nvcc -rdc=true): link it first with nvcc -dlink -cubin, or nvlink");
  }
  return FileKind::HostObject;
}

}  // namespace

FileKind classify(const Bytes& file) {
  if (file.size() == 0) throw ValueError(text("an empty file; ", kExpected));
  if (file.starts_with("\x7f"
                       "ELF"))
    return classify_elf(file);
  if (file.starts_with("__CLANG_OFFLOAD_BUNDLE__")) return FileKind::OffloadBundle;
  if (file.starts_with("CCOB")) return FileKind::CompressedBundle;
  for (const Magic& magic : kRefused) {
    if (file.starts_with(magic.bytes)) throw ValueError(text(magic.meaning, "; ", kExpected));
  }
  if (file.starts_with(kFatbinMagic)) return FileKind::Fatbin;
  if (file.starts_with(kFatbinWrapperMagic)) return FileKind::FatbinWrapper;
  if (is_ptx(file)) return FileKind::Ptx;
  throw ValueError(text("not a file with GPU code: it starts with ", first_bytes(file), "; ", kExpected));
}

}  // namespace wave
