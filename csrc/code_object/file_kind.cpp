#include "code_object/file_kind.h"

#include <algorithm>
#include <string>

#include "code_object/elf.h"

namespace wave {
namespace {

constexpr const char* kExpected =
    "expected an AMDGPU code object (ELF), a clang offload bundle, or a host object or library with HIP fat binaries";
constexpr size_t kNamesShown = 8;

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

// PTX starts with the directive .version, after blanks and comments.
bool is_ptx(const Bytes& file) {
  std::string_view rest = file.characters(0, std::min<uint64_t>(file.size(), 4096));
  for (;;) {
    const size_t start = rest.find_first_not_of(" \t\r\n");
    if (start == rest.npos) return false;
    rest.remove_prefix(start);
    size_t end = rest.npos;
    if (rest.starts_with("//")) end = rest.find('\n');
    if (rest.starts_with("/*")) end = rest.find("*/", 2);
    if (end == rest.npos) return rest.starts_with(".version");
    rest.remove_prefix(std::min(end + (rest[1] == '*' ? 2 : 1), rest.size()));
  }
}

// The processor's number moved in e_flags with ABI version 8 (CUDA 13). Each kernel's code is a section ".text.NAME".
std::string describe_cubin(const Elf& elf) {
  const uint32_t flags = elf.identity().flags;
  const uint32_t processor = elf.identity().abi_version >= 8 ? flags >> 8 & 0xff : flags & 0xff;
  std::string result = text("an NVIDIA cubin for sm_", processor);
  size_t kernels = 0;
  for (const ElfSection& section : elf.sections()) {
    if (!section.name.starts_with(".text.") || ++kernels > kNamesShown) continue;
    result += text(kernels == 1 ? " with the kernels " : ", ", section.name.substr(6, 200));
  }
  if (kernels > kNamesShown) result += text(" and ", kernels - kNamesShown, " more");
  return result;
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
  if (identity.machine == EM_CUDA)
    throw ValueError(text(describe_cubin(Elf(file, Elf::Depth::Sections)), kNvidiaSupport));
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
  // Of the fat binary itself, and of the wrapper that host code registers.
  if (file.starts_with("\x50\xed\x55\xba"sv)) throw ValueError(text("an NVIDIA fat binary", kNvidiaSupport));
  if (file.starts_with("\xb1\x43\x62\x46"sv)) throw ValueError(text("an NVIDIA fat binary wrapper", kNvidiaSupport));
  if (is_ptx(file)) throw ValueError(text("NVIDIA PTX", kNvidiaSupport));
  throw ValueError(text("not a file with GPU code: it starts with ", first_bytes(file), "; ", kExpected));
}

}  // namespace wave
