// A kernel's parameters: their types, where they lie in the kernarg segment, and which pointers the kernel may write.
//
// A signature is read from the metadata, which knows offset, size and kind of each argument but (except in PTX) not the
// type of a by-value one, or it is given as text:
//
//   signature  = parameter {"," parameter}
//   parameter  = [name ":"] (pointer | scalar)
//   pointer    = "*" [element] ["const"]        const: the kernel only reads what it points to
//   scalar     = "i8" ... "i64" | "u8" ... "u64" | "bool" | "f16" | "bf16" | "f32" | "f64" | "b8" ... "b64"
//              | "bytes[N]"
//   element    = any scalar but bytes | "f8e4m3fn" | "f8e4m3fnuz" | "f8e5m2" | "f8e5m2fnuz" | "f8e8m0fnu"
//              | "f4e2m1fn_x2" | "void"     f4e2m1fn_x2: two numbers in a byte
//
// b8 to b64 are bits of an unknown type, as the metadata gives them (named as in PTX).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "code_object/code_object.h"

namespace wave {

enum class Type : uint8_t {
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  Bool,
  F16,
  BF16,
  F32,
  F64,
  B8,
  B16,
  B32,
  B64,
  Bytes,
  F8E4M3FN,
  F8E4M3FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  F8E8M0FNU,
  F4E2M1FNX2,
  Void,
};

/// The name in signatures: "f32".
const char* name(Type type);
/// Bytes of a value; 0 for Bytes and Void.
uint32_t size_of(Type type);

struct Parameter {
  std::string name;        ///< may be empty
  Type type = Type::Void;  ///< of a pointer: what it points to, Void where that is not known
  bool is_pointer = false;
  bool is_const = false;  ///< of a pointer: the kernel only reads what it points to
  /// Type B64: the binary does not say whether it is a pointer or a number (cubins, and PTX without .ptr).
  bool may_be_pointer = false;
  uint32_t offset = 0;  ///< bytes into the kernarg segment
  uint32_t size = 0;    ///< bytes

  /// Whether a float is passed by value.
  bool is_float() const { return !is_pointer && type >= Type::F16 && type <= Type::F64; }

  /// "*f32 const", "i32", "bytes[16]".
  std::string type_text() const;
};

struct Signature {
  std::vector<Parameter> parameters;
  /// Whether `is_const` of the pointers can be relied on. If not, every pointer counts as written.
  bool mutability_known = false;

  /// The text that parses to this signature, in one form only: ", " between parameters, ": " behind names.
  std::string text() const;
};

/// The signature that the metadata of a kernel gives: of PTX with types, of others with sizes. Hidden arguments and
/// those named "pad" are left out. Pointers are const where `.actual_access` says read_only, and mutability is known
/// where it marks at least one pointer writable. A kernel without argument metadata has no signature.
std::optional<Signature> signature_from_metadata(const KernelMetadata& metadata);

/// Parses `text` and lays the parameters out for `kernel`: over the arguments that its metadata lists ("pad" excepted),
/// each parameter taking whole arguments until its size is met, or by natural alignment where it lists none. Throws
/// ValueError that shows the signature, the position, and the metadata's layout where they do not fit.
Signature parse_signature(std::string_view text, const KernelMetadata& metadata);

}  // namespace wave
