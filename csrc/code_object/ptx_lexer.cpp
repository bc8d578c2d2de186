#include "code_object/ptx_lexer.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace wave {
namespace {

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }

bool opens(std::string_view word) { return word == "{" || word == "(" || word == "["; }
bool closes(std::string_view word) { return word == "}" || word == ")" || word == "]"; }

}  // namespace

PtxLexer::PtxLexer(const Bytes& file) : file_(file), text_(file.characters(0, file.size())) {
  text_ = text_.substr(0, text_.find('\0'));
  advance();
}

void PtxLexer::advance() {
  taken_ = start_;
  for (;;) {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("//")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (rest.starts_with("/*")) {
      const size_t end = text_.find("*/", at_ + 2);
      if (end == text_.npos) file_.fail(at_, "a comment without an end");
      at_ = end + 2;
    } else {
      break;
    }
  }
  start_ = at_;
  if (at_ == text_.size()) {
    word_ = {};
    return;
  }
  const char first = text_[at_++];
  if (first == '"') {
    at_ = text_.find('"', at_);
    if (at_ == text_.npos) file_.fail(start_, "a string without an end");
    ++at_;
  } else if (first == '.' || is_of_word(first)) {
    while (at_ < text_.size() && is_of_word(text_[at_])) ++at_;
  }
  word_ = text_.substr(start_, at_ - start_);
}

std::string_view PtxLexer::take() {
  if (at_end()) fail("the PTX ends in the middle");
  const std::string_view word = word_;
  advance();
  return word;
}

bool PtxLexer::accept(std::string_view word) {
  if (word_ != word) return false;
  advance();
  return true;
}

void PtxLexer::expect(std::string_view word) {
  if (!accept(word)) fail(text("\"", word, "\" expected"));
}

std::string_view PtxLexer::take_name() {
  if (word_.empty() || !is_of_word(word_.front())) fail("a name expected");
  return take();
}

uint64_t PtxLexer::take_number() {
  // "16", "0x10", and as unsigned ones "16U".
  std::string_view digits = word_;
  if (digits.ends_with('U')) digits.remove_suffix(1);
  const bool is_hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  if (is_hexadecimal) digits.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hexadecimal ? 16 : 10);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) fail("a number expected");
  advance();
  return value;
}

void PtxLexer::skip_brackets() {
  uint64_t depth = 0;
  do {
    const std::string_view word = take();
    if (opens(word)) ++depth;
    if (closes(word)) --depth;
  } while (depth != 0);
}

void PtxLexer::skip_statement() {
  while (!accept(";")) {
    if (opens(peek())) {
      skip_brackets();
    } else {
      take();
    }
  }
}

void PtxLexer::fail_taken(const std::string& reason) const { file_.fail(taken_, reason); }

void PtxLexer::fail(const std::string& reason) const {
  constexpr size_t kShown = 40;
  file_.fail(start_,
             word_.empty() ? text(reason, ", the text ends") : text(reason, " at \"", word_.substr(0, kShown), "\""));
}

}  // namespace wave
