// A parsed code object: what the driver, the signature and the emulator need to know of a file, and its bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
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

/// A defined symbol. Addresses are those of the file, before loading.
struct Symbol {
  std::string name;
  uint64_t address;
  uint64_t size;
  bool is_function;
};

/// A dynamic relocation (R_AMDGPU_*), with its symbol resolved within the file. The bytes to patch lie in a segment.
struct Relocation {
  uint32_t type;
  uint64_t address;         ///< where to patch
  uint64_t symbol_address;  ///< S; 0 for relative relocations and for undefined symbols
  int64_t addend;
  std::string undefined;  ///< the symbol's name where the file does not define it: then it cannot be loaded; else empty
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
  KernelDescriptor descriptor;
  uint64_t descriptor_address;
  uint64_t entry_address;
  uint64_t code_size;  ///< st_size of the kernel's function symbol; up to the segment's end where the file has none
};

struct BundleImage;  // offload_bundle.h

/// An immutable code object that owns its bytes. Parsing checks every read: malformed input throws FormatError with
/// offset and reason, allocates no more than a small multiple of the input's size, and never hangs.
class CodeObject {
 public:
  /// Parses an ELF code object, a clang offload bundle (plain or compressed), or a host object that carries HIP fat
  /// binaries. Of several entries the one that runs on `target` is taken; without a target there must be only one for a
  /// GPU. Throws ValueError that lists the entries there are, or where a single code object does not run on `target`.
  /// A kernel's metadata comes from the file's note; a file without one gets it from its kernel descriptors.
  /// Throws ValueError that lists the kernels where there are several, one for each translation unit: see parse_all.
  static std::shared_ptr<const CodeObject> parse(std::span<const uint8_t> file, const std::optional<Target>& target);

  /// The same for files that hold several code objects for one target, as HIP libraries do: one for each translation
  /// unit, in the order of the file, and never none.
  static std::vector<std::shared_ptr<const CodeObject>> parse_all(std::span<const uint8_t> file,
                                                                  const std::optional<Target>& target);

  /// The ELF image, which is what a driver loads. For an entry of a bundle: that entry alone.
  Bytes bytes() const { return Bytes(bytes_, "code object"); }

  const Target& target() const { return target_; }
  /// 3 to 6.
  unsigned version() const { return version_; }
  /// SHA-256 of `bytes()`, in hexadecimal.
  const std::string& sha256() const { return sha256_; }

  const std::vector<KernelInfo>& kernels() const { return kernels_; }
  /// Throws ValueError that lists the kernels there are.
  const KernelInfo& kernel(std::string_view name) const;

  const std::vector<Segment>& segments() const { return segments_; }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  const std::vector<Relocation>& relocations() const { return relocations_; }

 private:
  CodeObject() = default;
  static std::shared_ptr<const CodeObject> parse_image(BundleImage image, const std::optional<Target>& target);

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
