#include "hip_emulator/rtc.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "code_object/code_object.h"
#include "emulator/processor.h"
#include "hip_emulator/rtc_compiler.h"

namespace wave::hip_emulator {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRelocatable = "-fgpu-rdc";
/// By which programs ask for the ptrdiff_t that hipRTC has on Windows.
constexpr std::string_view kLongLongDifference = "-D__HIPRTC_PTRDIFF_T_IS_LONG_LONG__=1";

bool names_processor(const std::string& option) {
  return option.starts_with("--offload-arch=") || option.starts_with("--gpu-architecture=");
}

/// What a name expression names: in front of it may be the "&" of an address, as NVRTC asks for of variables.
std::string_view named_by(std::string_view expression) {
  const size_t first = expression.find_first_not_of(" \t");
  return first != expression.npos && expression[first] == '&' ? expression.substr(first + 1) : expression;
}

std::string variable_of(size_t expression) { return text("__wave_name_", expression); }

/// A pointer to each thing whose name is wanted: the code object, or the bitcode, tells what it points to. Files of
/// bitcode are linked with each other, so that theirs are not seen outside.
///
/// The macro by which sources tell hipRTC from hipcc comes behind the headers: with it HIP's own would leave out types
/// that the real hipRTC has built in. The line that defines it does not count.
std::string with_expressions(const RtcProgram& program, bool relocatable) {
  std::string source = "#define __HIPCC_RTC__ 1\n#line 1\n" + program.source + "\n";
  const std::string_view linkage = relocatable ? "static" : "extern \"C\"";
  for (size_t i = 0; i < program.expressions.size(); ++i) {
    source += text(linkage, " __attribute__((used)) __device__ const void* const ", variable_of(i), " = (void*)(&(",
                   named_by(program.expressions[i]), "));\n");
  }
  return source;
}

/// What the pointer at an address of the file is relocated to.
std::optional<uint64_t> target_of(const CodeObject& code, uint64_t address) {
  for (const Relocation& relocation : code.relocations()) {
    if (relocation.address == address) return relocation.symbol_address + static_cast<uint64_t>(relocation.addend);
  }
  return std::nullopt;
}

std::string name_at(const CodeObject& code, uint64_t address) {
  for (const KernelInfo& kernel : code.kernels()) {
    if (kernel.entry_address == address) return kernel.metadata.name;
  }
  const auto found = std::ranges::find(code.symbols(), address, &Symbol::address);
  return found == code.symbols().end() ? std::string() : found->name;
}

void find_names(RtcProgram& program) {
  const auto code = CodeObject::parse(program.code, std::nullopt);
  for (size_t i = 0; i < program.expressions.size(); ++i) {
    const Symbol* pointer = code->variable(variable_of(i));
    const auto target = pointer == nullptr ? std::nullopt : target_of(*code, pointer->address);
    if (target) program.lowered[program.expressions[i]] = name_at(*code, *target);
  }
}

/// The name behind "@" in what follows the variable's, in LLVM's text: `@_ZL13__wave_name_0 = ... ptr @name, align 8`.
std::string name_in(const std::string& text, const std::string& variable) {
  const size_t begin = text.find(variable + " ="), end = text.find('\n', begin);
  if (begin == text.npos) return {};
  const std::string line = text.substr(begin, end - begin);
  const size_t at = line.find('@');
  if (at == line.npos) return {};
  const size_t first = at + 1;
  return line.substr(first, line.find_first_of(" ,)", first) - first);
}

/// Of bitcode, which clang gives out as text.
void find_names_in_bitcode(RtcProgram& program, const fs::path& folder) {
  if (program.expressions.empty()) return;
  const fs::path bitcode = folder / "names.bc", listing = folder / "names.ll";
  write_file(bitcode, program.bitcode);
  const auto command = [&](const std::string& compiler) {
    return std::vector<std::string>{
        compiler,  "--target=amdgcn-amd-amdhsa", "-nogpulib", "-x", "ir",   "-S", "-emit-llvm",
        "-Xclang", "-disable-llvm-passes",       bitcode,     "-o", listing};
  };
  if (run_compiler(command, folder / "names.log") != 0) return;
  const std::string text = read_file(listing);
  for (size_t i = 0; i < program.expressions.size(); ++i) {
    const std::string name = name_in(text, variable_of(i));
    if (!name.empty()) program.lowered[program.expressions[i]] = name;
  }
}

/// The command for one of the compilers, which comes first.
std::vector<std::string> command_of(const std::string& compiler, const std::vector<std::string>& options,
                                    const fs::path& source, const fs::path& image) {
  std::string processor = emulator::device_processor().code;
  std::vector<std::string> command{
      compiler, "-x",         "hip",      "--offload-device-only", "--no-gpu-bundle-output",
      "-O3",    "-std=c++17", "-include", "hip/hip_runtime.h"};
  const std::vector<std::string> libraries = library_options(compiler);
  command.insert(command.end(), libraries.begin(), libraries.end());
  const fs::path headers = header_folder(compiler);
  for (const char* header :  // which hipRTC has built in
       {"hip/hip_fp16.h", "hip/hip_bfloat16.h", "hip/hip_complex.h", "hip/hip_math_constants.h"}) {
    if (fs::exists(headers / header)) command.insert(command.end(), {"-include", header});
  }
  command.push_back("-I" + source.parent_path().string());
  for (const std::string& option : options) {
    if (names_processor(option)) {
      processor = option.substr(option.find('=') + 1);
    } else {
      command.push_back(option);
    }
    if (option == kLongLongDifference) {
      command.insert(command.end(), {"-U__PTRDIFF_TYPE__", "-D__PTRDIFF_TYPE__=long long"});
    }
    if (option == kRelocatable) command.insert(command.end(), {"-emit-llvm", "-c"});
  }
  // The oldest version of code objects that each target has, as everywhere here, unless an option names one. Bitcode is
  // linked with what others compile, which has the compiler's own version, 6 since LLVM 20: two are not linked.
  if (std::ranges::find(options, kRelocatable) == options.end()) {
    const std::string_view name = std::string_view(processor).substr(0, processor.find(':'));
    command.insert(command.begin() + 1, text("-mcode-object-version=", is_generic(name) ? 6 : 5));
  }
  for (const std::string& last : {"--offload-arch=" + processor, source.string(), std::string("-o"), image.string()}) {
    command.push_back(last);
  }
  return command;
}

}  // namespace

void compile(RtcProgram& program, const std::vector<std::string>& options) {
  const ScratchFolder folder;
  const bool relocatable = std::ranges::find(options, kRelocatable) != options.end();
  const std::string name = program.name.empty() ? "program.hip" : fs::path(program.name).filename().string();
  const fs::path source = folder.path / name, image = folder.path / "image", log = folder.path / "log";
  write_file(source, with_expressions(program, relocatable));
  for (const auto& [header, content] : program.headers) write_file(folder.path / header, content);
  const auto command = [&](const std::string& compiler) { return command_of(compiler, options, source, image); };
  const int status = run_compiler(command, log);
  program.log = read_file(log);
  if (status != 0) throw RtcFailure(kRtcCompilation);
  const std::string bytes = read_file(image);
  if (relocatable) {
    program.bitcode = bytes;
    find_names_in_bitcode(program, folder.path);
  } else {
    program.code.assign(bytes.begin(), bytes.end());
    find_names(program);
  }
  program.is_compiled = true;
}

}  // namespace wave::hip_emulator
