#include "code_object/ptx.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "code_object/cuda_kernel.h"
#include "code_object/ptx_lexer.h"

namespace wave {
namespace {

constexpr uint64_t kMaxParameterBytes = 1 << 20;  // ptxas takes 32,764
constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 40;
constexpr uint64_t kMaxAlignment = 1 << 12;

// PTX ISA, "Fundamental Types" and "Alternate Floating-Point Data Formats": with the name that signatures use.
struct PtxTypeRow {
  std::string_view ptx;
  uint32_t size;
  const char* signature;
};

constexpr PtxTypeRow kPtxTypes[] = {
    {".b8", 1, "b8"},          {".u8", 1, "u8"},       {".s8", 1, "i8"},   {".b16", 2, "b16"},
    {".u16", 2, "u16"},        {".s16", 2, "i16"},     {".f16", 2, "f16"}, {".bf16", 2, "bf16"},
    {".b32", 4, "b32"},        {".u32", 4, "u32"},     {".s32", 4, "i32"}, {".f32", 4, "f32"},
    {".f16x2", 4, "b32"},      {".bf16x2", 4, "b32"},  {".b64", 8, "b64"}, {".u64", 8, "u64"},
    {".s64", 8, "i64"},        {".f64", 8, "f64"},     {".b128", 16, ""},  {".texref", 8, "b64"},
    {".samplerref", 8, "b64"}, {".surfref", 8, "b64"},
};

const PtxTypeRow* find_type(std::string_view word) {
  const auto* found = std::ranges::find(kPtxTypes, word, &PtxTypeRow::ptx);
  return found == std::end(kPtxTypes) ? nullptr : found;
}

// A declaration of a parameter or a variable, without its initial value.
struct PtxDeclaration {
  const PtxTypeRow* type = nullptr;
  uint64_t alignment = 0;
  bool is_pointer = false;
  std::string_view space{};  ///< that a pointer points to; empty for a generic one
  std::string_view name{};
  uint64_t size = 0;  ///< 0 where an array has no dimension
  bool is_array = false;
};

class PtxParser {
 public:
  explicit PtxParser(const Bytes& file) : lexer_(file) {}

  Ptx parse() {
    read_header();
    while (!lexer_.at_end()) read_directive();
    return std::move(ptx_);
  }

 private:
  // .version and .target come first; .address_size is 64 on every processor that drivers still run.
  void read_header() {
    lexer_.expect(".version");
    const uint64_t major = lexer_.take_number();
    const std::string_view minor = lexer_.take();  // ".5": a dot and its digits lex as one word
    uint64_t number = 0;
    for (char digit : minor.substr(1)) {
      if (digit < '0' || digit > '9' || number > 99) lexer_.fail_taken("a version such as 8.5 expected");
      number = number * 10 + static_cast<uint64_t>(digit - '0');
    }
    if (!minor.starts_with('.') || minor.size() < 2 || major > 99) lexer_.fail_taken("a version such as 8.5 expected");
    ptx_.version = static_cast<unsigned>(major * 10 + number);
    lexer_.expect(".target");
    read_target();
  }

  void read_target() {
    do {
      const std::string_view word = lexer_.take();
      if (!parse_sm(word)) continue;  // texmode_unified, debug
      if (!ptx_.target.processor.empty()) lexer_.fail_taken("a second processor");
      ptx_.target.processor = word;
    } while (lexer_.accept(","));
    if (ptx_.target.processor.empty()) lexer_.fail_taken("a processor such as sm_90 expected");
  }

  void read_directive() {
    while (lexer_.accept(".visible") || lexer_.accept(".weak") || lexer_.accept(".extern") ||
           lexer_.accept(".common")) {
    }
    if (lexer_.accept(".entry")) {
      read_kernel();
    } else if (lexer_.accept(".func")) {
      skip_function();
    } else if (lexer_.accept(".global") || lexer_.accept(".const")) {
      read_variables();
    } else if (lexer_.accept(".address_size")) {
      lexer_.take_number();
    } else if (lexer_.accept(".file")) {
      skip_file();
    } else if (lexer_.accept(".section")) {
      lexer_.take();
      lexer_.skip_brackets();
    } else if (lexer_.peek().starts_with('.') && lexer_.peek().size() > 1) {
      lexer_.skip_statement();  // .pragma, .alias, .shared, .tex and what later versions bring
    } else {
      lexer_.fail("a directive expected");
    }
  }

  // .file 1 "name", 1700000000, 120: the only directive without an end.
  void skip_file() {
    lexer_.take_number();
    lexer_.take();
    while (lexer_.accept(",")) lexer_.take_number();
  }

  // .func (results) name (parameters) directives { body }, or a semicolon instead of the body.
  void skip_function() {
    while (!lexer_.accept(";")) {
      const bool is_body = lexer_.peek() == "{";
      if (is_body || lexer_.peek() == "(") {
        lexer_.skip_brackets();
        if (is_body) return;
      } else if (lexer_.accept(".pragma")) {
        lexer_.skip_statement();
      } else {
        lexer_.take();
      }
    }
  }

  void read_kernel() {
    KernelMetadata kernel;
    kernel.name = kernel.symbol = lexer_.take_name();
    kernel.wavefront_size = kWarpSize;
    kernel.max_flat_workgroup_size = kMaxThreads;
    kernel.arguments.emplace();
    if (lexer_.accept("(")) read_parameters(kernel);
    while (lexer_.peek() != "{") {
      if (lexer_.accept(";")) return;  // a declaration without a body
      read_tuning(kernel);
    }
    lexer_.skip_brackets();
    if (!names_.insert(kernel.name).second) {
      lexer_.fail_taken(text("kernel ", kernel.name, " is defined twice"));
    }
    ptx_.kernels.push_back(std::move(kernel));
  }

  void read_tuning(KernelMetadata& kernel) {
    if (lexer_.accept(".reqntid")) {
      kernel.reqd_workgroup_size = read_dimensions();
    } else if (lexer_.accept(".maxntid")) {
      kernel.max_flat_workgroup_size = threads_of(read_dimensions());
    } else if (lexer_.accept(".reqnctapercluster")) {
      kernel.cluster_size = read_dimensions();
    } else if (lexer_.accept(".pragma")) {
      lexer_.skip_statement();
    } else {
      lexer_.take();  // .maxnreg 64 and others that say nothing about a launch
    }
  }

  std::array<uint32_t, 3> read_dimensions() {
    std::array<uint32_t, 3> size{1, 1, 1};
    for (size_t axis = 0; axis < 3; ++axis) {
      if (axis > 0 && !lexer_.accept(",")) break;
      const uint64_t number = lexer_.take_number();
      if (number > UINT32_MAX) lexer_.fail_taken("a dimension beyond 32 bits");
      size[axis] = static_cast<uint32_t>(number);
    }
    return size;
  }

  // Parameters lie one after another, each at a multiple of its alignment (PTX ISA, "Kernel Function Parameters").
  void read_parameters(KernelMetadata& kernel) {
    uint64_t end = 0;
    if (lexer_.accept(")")) return;
    do {
      lexer_.expect(".param");
      const PtxDeclaration declaration = read_declaration();
      if (declaration.size == 0) lexer_.fail_taken("a parameter without a size");
      end = (end + declaration.alignment - 1) / declaration.alignment * declaration.alignment;
      kernel.arguments->push_back(argument(declaration, end));
      end += declaration.size;
      if (end > kMaxParameterBytes) lexer_.fail_taken(text("more than ", kMaxParameterBytes, " bytes of parameters"));
    } while (lexer_.accept(","));
    lexer_.expect(")");
    kernel.kernarg_segment_size = static_cast<uint32_t>(end);
  }

  static ArgumentMetadata argument(const PtxDeclaration& declaration, uint64_t offset) {
    ArgumentMetadata result;
    const bool is_global = declaration.space != ".shared" && declaration.space != ".local";
    const bool is_pointer = declaration.is_pointer && is_global && declaration.size == 8;
    result.name = declaration.name;
    result.type_name = declaration.type->ptx;
    result.offset = static_cast<uint32_t>(offset);
    result.size = static_cast<uint32_t>(declaration.size);
    const std::string_view ptx = declaration.type->ptx;
    const bool may_be_pointer = !declaration.is_pointer && !declaration.is_array && (ptx == ".u64" || ptx == ".b64");
    set_kind(result, is_pointer, may_be_pointer);
    if (declaration.is_array) {
      result.value_type = "bytes";
    } else if (!declaration.is_pointer && !may_be_pointer) {
      result.value_type = declaration.type->signature;
    }
    return result;
  }

  // [.align N] [.attribute(...)] [.v4] .type [.ptr [.space] [.align N]] name [dimensions]
  PtxDeclaration read_declaration() {
    PtxDeclaration declaration;
    uint64_t elements = 1, alignment = 0;
    while (lexer_.peek().starts_with('.')) {
      const std::string_view word = lexer_.take();
      if (word == ".align") {
        const uint64_t number = lexer_.take_number();
        if (number == 0 || number > kMaxAlignment) lexer_.fail_taken("an alignment that cannot be");
        if (!declaration.is_pointer) alignment = number;  // behind .ptr: of what it points to
      } else if (word == ".v2" || word == ".v4" || word == ".v8") {
        elements = static_cast<uint64_t>(word[2] - '0');
      } else if (word == ".ptr") {
        declaration.is_pointer = true;
      } else if (word == ".attribute") {
        lexer_.skip_brackets();
      } else if (declaration.is_pointer) {
        declaration.space = word;
      } else if (const PtxTypeRow* type = find_type(word)) {
        declaration.type = type;
      } else {
        lexer_.fail_taken(text("unknown type or property ", word.substr(0, 40)));
      }
    }
    if (declaration.type == nullptr) lexer_.fail_taken("a type expected");
    const uint64_t unit = declaration.type->size * elements;
    declaration.alignment = alignment != 0 ? alignment : unit;
    declaration.is_array = elements > 1;
    read_name(declaration, unit);
    return declaration;
  }

  // The name, and the dimensions of an array; the first one may be left out where an initial value follows.
  void read_name(PtxDeclaration& declaration, uint64_t unit) {
    declaration.name = lexer_.take_name();
    declaration.size = unit;
    while (lexer_.accept("[")) {
      declaration.is_array = true;
      const uint64_t count = lexer_.peek() == "]" ? 0 : lexer_.take_number();
      if (count != 0 && declaration.size > kMaxVariableBytes / count) lexer_.fail_taken("an array that is too large");
      declaration.size *= count;
      lexer_.expect("]");
    }
  }

  void read_variables() {
    PtxDeclaration declaration = read_declaration();
    const uint64_t unit = declaration.type->size;
    for (;;) {
      ptx_.variables.push_back({std::string(declaration.name), declaration.size});
      if (lexer_.accept("=")) {
        while (lexer_.peek() != "," && lexer_.peek() != ";") {
          if (lexer_.peek() == "{" || lexer_.peek() == "(") {
            lexer_.skip_brackets();
          } else {
            lexer_.take();
          }
        }
      }
      if (!lexer_.accept(",")) break;
      read_name(declaration, unit);
    }
    lexer_.expect(";");
  }

  PtxLexer lexer_;
  Ptx ptx_;
  std::unordered_set<std::string> names_;  ///< of the kernels
};

}  // namespace

Ptx parse_ptx(const Bytes& file) { return PtxParser(file).parse(); }

bool is_ptx(const Bytes& file) {
  // Where PTX ends is looked for in text that may be some: who gives an image in memory does not say where that ends.
  constexpr std::string_view kFirst = "./ \t\r\n\v\f";
  if (file.size() == 0 || kFirst.find(file.characters(0, 1)[0]) == kFirst.npos) return false;
  try {
    return PtxLexer(file).peek() == ".version";
  } catch (const FormatError&) {  // a comment or a string without an end
    return false;
  }
}

}  // namespace wave
