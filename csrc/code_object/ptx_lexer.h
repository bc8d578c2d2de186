// The words of PTX (PTX ISA, "Lexical Structure").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace wave {

/// Reads one word after another: a directive (".param"), an identifier, a number, a string in quotes, or one character.
/// Blanks and comments are passed over. The text ends at a zero byte. Borrows the bytes.
class PtxLexer {
 public:
  explicit PtxLexer(const Bytes& file);

  /// The next word, which stays; empty at the end.
  std::string_view peek() const { return word_; }
  bool at_end() const { return word_.empty(); }
  /// Takes the next word, whatever it is. Throws FormatError at the end.
  std::string_view take();
  /// Takes the next word if it is this one.
  bool accept(std::string_view word);
  /// Takes the next word, which must be this one.
  void expect(std::string_view word);
  /// Takes a name: of a kernel, a parameter or a variable.
  std::string_view take_name();
  /// Takes an integer that is not negative.
  uint64_t take_number();
  /// Passes over what stands between "{" and "}", or between other brackets, which are next, with all that it contains.
  void skip_brackets();
  /// Passes over everything up to a semicolon that stands outside of brackets, and over it.
  void skip_statement();

  /// Throws FormatError at the next word.
  [[noreturn]] void fail(const std::string& reason) const;
  /// Throws FormatError at the word that was taken last.
  [[noreturn]] void fail_taken(const std::string& reason) const;

 private:
  void advance();

  Bytes file_;
  std::string_view text_;
  size_t start_ = 0;  ///< of word_
  size_t at_ = 0;     ///< behind word_
  size_t taken_ = 0;  ///< where the word before starts
  std::string_view word_;
};

}  // namespace wave
