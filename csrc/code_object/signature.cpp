#include "code_object/signature.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"

namespace wave {

namespace {

struct TypeRow {
  Type type;
  const char* name;
  uint32_t size;
  bool is_scalar;  ///< may stand alone, not only behind "*"
};

constexpr TypeRow kTypes[] = {
    {Type::I8, "i8", 1, true},
    {Type::I16, "i16", 2, true},
    {Type::I32, "i32", 4, true},
    {Type::I64, "i64", 8, true},
    {Type::U8, "u8", 1, true},
    {Type::U16, "u16", 2, true},
    {Type::U32, "u32", 4, true},
    {Type::U64, "u64", 8, true},
    {Type::Bool, "bool", 1, true},
    {Type::F16, "f16", 2, true},
    {Type::BF16, "bf16", 2, true},
    {Type::F32, "f32", 4, true},
    {Type::F64, "f64", 8, true},
    {Type::B8, "b8", 1, true},
    {Type::B16, "b16", 2, true},
    {Type::B32, "b32", 4, true},
    {Type::B64, "b64", 8, true},
    {Type::Bytes, "bytes", 0, false},
    {Type::F8E4M3FN, "f8e4m3fn", 1, false},
    {Type::F8E4M3FNUZ, "f8e4m3fnuz", 1, false},
    {Type::F8E5M2, "f8e5m2", 1, false},
    {Type::F8E5M2FNUZ, "f8e5m2fnuz", 1, false},
    {Type::F8E8M0FNU, "f8e8m0fnu", 1, false},
    {Type::F4E2M1FNX2, "f4e2m1fn_x2", 1, false},
    {Type::Void, "void", 0, false},
};

constexpr uint32_t kPointerSize = 8;

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// A name that may stand in a signature. Names in files can be anything.
bool is_identifier(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), is_word_character);
}

/// Reads one signature text. Positions in messages count characters from 0.
class SignatureParser {
 public:
  explicit SignatureParser(std::string_view text) : text_(text) {}

  std::vector<Parameter> parse() {
    std::vector<Parameter> parameters;
    skip_space();
    if (position_ == text_.size()) return parameters;
    for (;;) {
      parameters.push_back(parameter());
      skip_space();
      if (position_ == text_.size()) return parameters;
      if (!take(',')) fail("expected ',' or the end");
    }
  }

 private:
  Parameter parameter() {
    Parameter parameter;
    skip_space();
    const size_t start = position_;
    const std::string_view first = word();
    skip_space();
    if (!first.empty() && take(':')) {
      parameter.name = first;
    } else {
      position_ = start;
    }
    skip_space();
    if (take('*')) {
      parameter.is_pointer = true;
      parameter.size = kPointerSize;
      pointee(parameter);
    } else {
      scalar(parameter);
    }
    return parameter;
  }

  void pointee(Parameter& parameter) {
    skip_space();
    std::string_view element = word();
    if (!element.empty() && element != "const") {
      const TypeRow* row = find(element);
      if (row == nullptr || row->type == Type::Bytes) fail_type(element);
      parameter.type = row->type;
      skip_space();
      element = word();
    }
    if (element.empty()) return;
    if (element != "const") fail(text("expected 'const', ',' or the end, found '", element, "'"));
    parameter.is_const = true;
  }

  void scalar(Parameter& parameter) {
    const std::string_view type = word();
    if (type == "bytes") {
      parameter.type = Type::Bytes;
      parameter.size = byte_count();
      return;
    }
    const TypeRow* row = find(type);
    if (row == nullptr || !row->is_scalar) fail_type(type);
    parameter.type = row->type;
    parameter.size = row->size;
  }

  uint32_t byte_count() {
    if (!take('[')) fail("expected '[' behind 'bytes'");
    uint32_t count = 0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), count);
    position_ += static_cast<size_t>(end - begin);
    constexpr uint32_t kMost = 4096;
    if (error != std::errc() || count == 0 || count > kMost) fail(text("expected a size from 1 to ", kMost));
    if (!take(']')) fail("expected ']'");
    return count;
  }

  static const TypeRow* find(std::string_view name) {
    const auto* row =
        std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& r) { return r.name == name; });
    return row == std::end(kTypes) ? nullptr : row;
  }

  std::string_view word() {
    const size_t start = position_;
    while (position_ < text_.size() && is_word_character(text_[position_])) ++position_;
    return text_.substr(start, position_ - start);
  }

  void skip_space() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_]))) ++position_;
  }

  bool take(char c) {
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  /// Points at the word that was just read.
  [[noreturn]] void fail_type(std::string_view found) {
    position_ -= found.size();
    std::string known;
    for (const TypeRow& row : kTypes) known += text(known.empty() ? "" : ", ", row.name);
    fail(text(found.empty() ? "expected a type" : text("unknown type '", found, "'"), "; the types are ", known,
              ", and '*' in front makes a pointer"));
  }

  [[noreturn]] void fail(const std::string& reason) {
    throw ValueError(text("signature \"", text_, "\", position ", position_, ": ", reason));
  }

  std::string_view text_;
  size_t position_ = 0;
};

/// Arguments that callers do not pass: some toolchains pad each argument to 16 bytes with arguments of this name.
bool is_padding(const ArgumentMetadata& argument) {
  return argument.kind == ValueKind::ByValue &&
         (argument.name == "pad" || argument.name == "_pad" || argument.name == "padding");
}

/// In the order of their offsets.
std::vector<const ArgumentMetadata*> visible_arguments(const KernelMetadata& metadata) {
  std::vector<const ArgumentMetadata*> arguments;
  for (const ArgumentMetadata& argument : *metadata.arguments) {
    if (!is_hidden(argument.kind)) arguments.push_back(&argument);
  }
  std::stable_sort(arguments.begin(), arguments.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
  return arguments;
}

std::vector<const ArgumentMetadata*> explicit_arguments(const KernelMetadata& metadata) {
  std::vector<const ArgumentMetadata*> arguments = visible_arguments(metadata);
  std::erase_if(arguments, [](const ArgumentMetadata* argument) { return is_padding(*argument); });
  return arguments;
}

Type bits_of_size(uint32_t size) {
  switch (size) {
    case 1:
      return Type::B8;
    case 2:
      return Type::B16;
    case 4:
      return Type::B32;
    case 8:
      return Type::B64;
    default:
      return Type::Bytes;
  }
}

// Of an argument that is passed by value.
Type value_type(const ArgumentMetadata& argument) {
  const auto* row =
      std::ranges::find(kTypes, argument.value_type, [](const TypeRow& r) { return std::string_view(r.name); });
  return row != std::end(kTypes) ? row->type : bits_of_size(argument.size);
}

std::string layout_text(const std::vector<const ArgumentMetadata*>& arguments) {
  std::string lines;
  for (const ArgumentMetadata* argument : arguments) {
    lines += text("\n  offset ", argument->offset, ", ", argument->size, " bytes, ", argument->kind_name,
                  argument->name.empty() ? "" : text(" '", argument->name, "'"));
  }
  return lines;
}

/// Lays the parameters over the arguments of the metadata. They may end in the padding behind an argument: there are
/// files that list the low half of a pointer and call the high half padding.
void place_over_arguments(std::string_view given, const KernelMetadata& metadata, std::vector<Parameter>& parameters) {
  const std::vector<const ArgumentMetadata*> arguments = visible_arguments(metadata);
  const auto fail = [&](const std::string& reason) {
    throw ValueError(text("signature \"", given, "\" does not fit ", kernel_text(metadata.name), ": ", reason,
                          "; its metadata lists", layout_text(explicit_arguments(metadata))));
  };
  size_t next = 0;
  const auto skip_padding = [&] {
    while (next < arguments.size() && is_padding(*arguments[next])) ++next;
  };
  skip_padding();
  for (size_t i = 0; i < parameters.size(); ++i) {
    Parameter& parameter = parameters[i];
    if (next == arguments.size()) fail(text("parameter ", i, " (", parameter.type_text(), ") is one too many"));
    parameter.offset = arguments[next]->offset;
    if (parameter.name.empty()) parameter.name = arguments[next]->name;
    uint32_t covered = 0;
    while (covered < parameter.size && next < arguments.size() &&
           arguments[next]->offset == parameter.offset + covered) {
      const ArgumentMetadata& argument = *arguments[next++];
      covered += is_padding(argument) ? std::min(argument.size, parameter.size - covered) : argument.size;
    }
    if (covered != parameter.size) {
      fail(text("parameter ", i, " (", parameter.type_text(), ", ", parameter.size, " bytes) meets ", covered,
                " bytes at offset ", parameter.offset));
    }
    skip_padding();
  }
  if (next != arguments.size()) fail(text("the argument at offset ", arguments[next]->offset, " has no parameter"));
}

/// Lays the parameters out as a C compiler would. Bytes align to 4, or to 8 where they are a multiple of 8 long.
void place_by_alignment(std::string_view given, const KernelMetadata& metadata, std::vector<Parameter>& parameters) {
  uint32_t end = 0;
  for (Parameter& parameter : parameters) {
    uint32_t alignment = parameter.size;
    if (!parameter.is_pointer && parameter.type == Type::Bytes) {
      alignment = parameter.size % 8 == 0 ? 8 : parameter.size % 4 == 0 ? 4 : 1;
    }
    parameter.offset = (end + alignment - 1) / alignment * alignment;
    end = parameter.offset + parameter.size;
  }
  if (metadata.kernarg_segment_size != 0 && end > metadata.kernarg_segment_size) {
    throw ValueError(text("signature \"", given, "\" takes ", end, " bytes, but the kernarg segment of ",
                          kernel_text(metadata.name), " has ", metadata.kernarg_segment_size));
  }
}

}  // namespace

const char* name(Type type) { return kTypes[static_cast<size_t>(type)].name; }
uint32_t size_of(Type type) { return kTypes[static_cast<size_t>(type)].size; }

std::string Parameter::type_text() const {
  if (is_pointer) {
    return text("*", type == Type::Void ? "" : wave::name(type),
                is_const ? (type == Type::Void ? "const" : " const") : "");
  }
  return type == Type::Bytes ? text("bytes[", size, "]") : wave::name(type);
}

std::string Signature::text() const {
  std::string joined;
  for (const Parameter& parameter : parameters) {
    if (!joined.empty()) joined += ", ";
    if (is_identifier(parameter.name)) joined += parameter.name + ": ";
    joined += parameter.type_text();
  }
  return joined;
}

std::optional<Signature> signature_from_metadata(const KernelMetadata& metadata) {
  if (!metadata.arguments) return std::nullopt;
  Signature signature;
  for (const ArgumentMetadata* argument : explicit_arguments(metadata)) {
    Parameter parameter;
    parameter.name = argument->name;
    parameter.offset = argument->offset;
    parameter.size = argument->size;
    parameter.is_pointer = argument->kind == ValueKind::GlobalBuffer;
    if (parameter.is_pointer) {
      const bool writable =
          argument->actual_access == Access::WriteOnly || argument->actual_access == Access::ReadWrite;
      parameter.is_const = argument->actual_access == Access::ReadOnly;
      signature.mutability_known |= writable;
    } else {
      parameter.type = value_type(*argument);
      parameter.may_be_pointer = argument->may_be_pointer;
    }
    signature.parameters.push_back(std::move(parameter));
  }
  // With every pointer read-only or unmarked the metadata says nothing: real files mark pointers read-only that are
  // written.
  if (!signature.mutability_known) {
    bool any_pointer = false;
    for (Parameter& parameter : signature.parameters) {
      any_pointer |= parameter.is_pointer || parameter.may_be_pointer;
      parameter.is_const = false;
    }
    signature.mutability_known = !any_pointer;
  }
  return signature;
}

Signature parse_signature(std::string_view given, const KernelMetadata& metadata) {
  Signature signature;
  signature.parameters = SignatureParser(given).parse();
  signature.mutability_known = true;
  if (metadata.arguments) {
    place_over_arguments(given, metadata, signature.parameters);
  } else {
    place_by_alignment(given, metadata, signature.parameters);
  }
  return signature;
}

}  // namespace wave
