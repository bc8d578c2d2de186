#include "python/docs.h"

#include <stdexcept>
#include <string>

namespace wave {
namespace {

struct Doc {
  std::string_view name;
  const char* text;
};

// Made by tools/generate_api.py.
constexpr Doc kDocs[] = {
#include "python/docs.inc"
};

}  // namespace

const char* doc_of(std::string_view name) {
  for (const Doc& doc : kDocs) {
    if (doc.name == name) return doc.text;
  }
  throw std::out_of_range("_C.pyi has no docstring of " + std::string(name));
}

}  // namespace wave
