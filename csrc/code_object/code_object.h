// Parsed GPU code, AMD's or NVIDIA's: what the driver, the signature and the emulator need to know of a file, and its
// bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "code_object/format.h"
#include "code_object/kernel_descriptor.h"
#include "code_object/metadata.h"
#include "code_object/target.h"

namespace wave {

/// A PT_LOAD segment: `file_size` bytes at `file_offset` of the image, to lie at `address`, zero-filled up to
/// `memory_size`. Segments are in the order of their addresses, do not overlap and span less than 64 GiB.
struct Segment {
  uint64_t address;
  uint64_t file_offset;
  uint64_t file_size;
  uint64_t memory_size;
  bool writable;
  bool executable;
};

/// A defined symbol. Addresses are those of the file, before loading: of a cubin they count in the symbol's section,
/// and PTX has none.
struct Symbol {
  std::string name;
  uint64_t address;
  uint64_t size;
  bool is_function;
  bool is_exported = true;  ///< of local symbols several may have one name
};

/// A dynamic relocation (R_AMDGPU_*), with its symbol resolved within the file. The bytes to patch lie in a segment.
struct Relocation {
  uint32_t type;
  uint64_t address;         ///< where to patch
  uint64_t symbol_address;  ///< S; 0 for relative relocations and for undefined symbols
  int64_t addend;
  std::string undefined;  ///< the symbol's name where the file does not define it: then it cannot be loaded; else empty
  /// Whether the symbol is a number that does not move with the file: an absolute one, or 0 for an undefined weak one.
  bool is_absolute = false;
};

/// Figures of the ELF specification for AMDGPU that the loader applies.
enum RelocationType : uint32_t {
  R_AMDGPU_NONE = 0,
  R_AMDGPU_ABS32_LO = 1,
  R_AMDGPU_ABS32_HI = 2,
  R_AMDGPU_ABS64 = 3,
  R_AMDGPU_REL32 = 4,
  R_AMDGPU_REL64 = 5,
  R_AMDGPU_ABS32 = 6,
  R_AMDGPU_RELATIVE64 = 13,
};

struct KernelInfo {
  KernelMetadata metadata;
  std::optional<KernelDescriptor> descriptor;  ///< AMD's code objects have one, NVIDIA's have none
  uint64_t descriptor_address = 0;             ///< AMD
  uint64_t entry_address = 0;                  ///< AMD
  /// st_size of the kernel's function symbol; up to the segment's end where an AMD file has none; 0 for PTX.
  uint64_t code_size = 0;
};

struct Image;  // image.h

/// Immutable GPU code for one target that owns its bytes. Parsing checks every read: malformed input throws FormatError
/// with offset and reason, allocates no more than a small multiple of the input's size, and never hangs.
class CodeObject {
 public:
  /// Parses an AMD code object, a cubin or PTX, or takes one out of a container: a clang offload bundle (plain or
  /// compressed), a CUDA fat binary, or a host object that carries HIP or CUDA fat binaries. Of several entries the one
  /// that suits `target` best is taken; without a target there must be only one for a GPU. Throws ValueError that lists
  /// the entries there are, or where a single image does not run on `target`. An AMD kernel's metadata comes from the
  /// file's note; a file without one gets it from its kernel descriptors. Throws ValueError that lists the kernels
  /// where there are several code objects for the target, one for each translation unit: see parse_all.
  static std::shared_ptr<const CodeObject> parse(std::span<const uint8_t> file, const std::optional<Target>& target);

  /// The same for files that hold several code objects, in the order of the file, and never none: for one target, as
  /// libraries do, one for each translation unit; without a target all that are for a known GPU.
  static std::vector<std::shared_ptr<const CodeObject>> parse_all(std::span<const uint8_t> file,
                                                                  const std::optional<Target>& target);

  Format format() const { return format_; }

  /// What a driver loads: an ELF image, or the text of PTX, without a zero at its end. For an entry of a container:
  /// that entry alone.
  Bytes bytes() const { return Bytes(bytes_, "code object"); }

  const Target& target() const { return target_; }
  /// AMD: of the code object, 3 to 6. A cubin: EI_ABIVERSION, 7 or 8. PTX: of the ISA, 85 for 8.5.
  unsigned version() const { return version_; }
  /// SHA-256 of `bytes()`, in hexadecimal.
  const std::string& sha256() const { return sha256_; }

  const std::vector<KernelInfo>& kernels() const { return kernels_; }
  /// Throws ValueError that lists the kernels there are.
  const KernelInfo& kernel(std::string_view name) const;

  /// None for NVIDIA's formats, which only their driver loads; relocations likewise.
  const std::vector<Segment>& segments() const { return segments_; }
  /// Of NVIDIA's formats the variables in global and constant memory.
  const std::vector<Symbol>& symbols() const { return symbols_; }
  /// The variable of this name that is exported, or else the only one; nullptr where there is none. Throws ValueError
  /// where several that are not exported have the name.
  const Symbol* variable(std::string_view name) const;
  const std::vector<Relocation>& relocations() const { return relocations_; }

 private:
  CodeObject() = default;
  static std::shared_ptr<const CodeObject> parse_image(Image image, const std::optional<Target>& target);
  void read_amd(const Bytes& image);
  void read_cubin(const Bytes& image);
  void read_ptx(const Bytes& image);

  Format format_ = Format::AmdGpu;
  std::vector<uint8_t> bytes_;
  std::string sha256_;
  Target target_;
  unsigned version_ = 0;
  std::vector<KernelInfo> kernels_;
  std::vector<Segment> segments_;
  std::vector<Symbol> symbols_;
  std::vector<Relocation> relocations_;
};

}  // namespace wave
