#include "launch/variable.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "code_object/managed.h"
#include "code_object/select.h"

namespace wave {

namespace {

void check_only_one_has(const CodeObjects& codes, const CodeObject& code, const std::string& name) {
  const auto count = std::ranges::count_if(codes, [&](const auto& other) {
    return other->format() == code.format() && other->target() == code.target() && other->variable(name) != nullptr;
  });
  if (count < 2) return;
  throw ValueError(text("variable '", name, "' is in ", count, " translation units of the module, each of which has ",
                        "its own, so that it cannot be told which is meant: give them different names"));
}

/// "[counter, table]", of all code objects.
std::string variable_names(const CodeObjects& codes) {
  std::set<std::string> names;
  for (const auto& code : codes) {
    for (const Symbol& symbol : code->symbols()) {
      const std::string_view symbol_name = symbol.name;
      const bool is_compilers =
          symbol_name.ends_with(".kd") || symbol_name.ends_with(kManagedValue) || symbol_name.starts_with("__hip_");
      if (!symbol.is_function && symbol.size != 0 && !is_compilers) names.insert(symbol.name);
    }
  }
  std::string out = "[";
  for (const std::string& name : names) out += text(out.size() > 1 ? ", " : "", name);
  return out + "]";
}

}  // namespace

FoundVariable find_variable(CodeObjects codes, const std::string& name, const Place& place) {
  const DeviceInfo& info = place.driver().device(place.device);
  if (name.empty()) throw ValueError("no variable '' in the module");
  const CodeObjects all = codes;
  bool any = false;
  while (std::shared_ptr<const CodeObject> code = select_for(codes, info.target)) {
    any = true;
    std::shared_ptr<const void> held = hold_loaded(code);
    if (const std::optional<GlobalView> view = find_global(code, place, name)) {
      check_only_one_has(codes, *code, name);
      return {code, held, *view};
    }
    std::erase(codes, code);
  }
  if (any) throw ValueError(text("no variable '", name, "' in the module; its variables are ", variable_names(all)));
  throw ValueError(text("symbol '", name, "': no code object of the module runs on ", place.text(), " (", info.name,
                        ", ", info.target.id(), ")"));
}

}  // namespace wave
