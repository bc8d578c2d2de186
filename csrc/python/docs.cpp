#include "python/docs.h"

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
  return nullptr;
}

}  // namespace wave
