// Reads regular expressions as Java 17 does. Load thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tabular/java/regex/ast.h"

namespace serval::tabular::regex {

struct Flags {
  bool ignore_case = false, multi_line = false, dot_all = false, unix_lines = false;
  bool unicode_case = false, comments = false, unicode_classes = false;
  Fold fold() const {
    return !ignore_case ? Fold::None : unicode_case ? Fold::Unicode : Fold::Ascii;
  }
};

// The characters of an expression and the reader's position. Throws nothing: fail() moves it to the
// end, and its result is discarded.
class Reader {
 public:
  explicit Reader(std::string_view text);

  bool failed() const { return !fault_.empty(); }
  const std::string& fault() const { return fault_; }
  size_t fault_at() const { return fault_at_; }

 protected:
  static constexpr uint32_t kEnd = 0xFFFFFFFF;
  void fail(std::string what);
  bool at_end() const { return at_ >= text_.size(); }
  uint32_t raw(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : kEnd;
  }
  // The next character, past blanks and comments under (?x).
  uint32_t peek();
  bool take(uint32_t c);

  // A backslash and the character it stands for: \n, \x41, é, \0101, \cA, \-. kEnd: no such escape.
  uint32_t escaped_character(bool in_range);
  // \d, \W, \h, ...: returns whether one follows, and sets `set`.
  bool escaped_set(Set& set);
  // Reads what follows \p or \P.
  Set property(bool negated);
  // Reads [ ... ] after the opening [.
  Set char_class(bool takes_end);
  Set single(uint32_t c) const;

  std::vector<uint32_t> text_;
  size_t at_ = 0;
  Flags flags_;

 private:
  void unquote(std::string_view text);
  uint32_t octal();
  uint32_t hexadecimal(size_t digits);
  uint32_t code_unit();
  uint32_t braced_hexadecimal();
  Set in_class(uint32_t c) const;
  Set class_item();
  Set class_range(uint32_t first, uint32_t last) const;
  Set intersected(Set left, const Set& last, bool has_left);
  std::string property_name();
  std::string fault_;
  size_t fault_at_ = 0;
  int depth_ = 0;
};

std::string utf8_of(uint32_t c);

}  // namespace serval::tabular::regex
