// Java's regular expressions by RE2, which takes no more time than the text is long. Made at load;
// matching: hot path, pure, any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace re2 {
class RE2;
}

namespace serval::tabular {

// What RE2 has no equal for is refused at load: looking around, references back, possessive
// quantifiers, atomic groups, classes made of classes, \G \Z \R \X \h and the like. What is written
// alike but means something else (`.`, \s, \p{Alpha} ...) is translated.
class JavaRegex {
 public:
  // `text` of java.util.regex.Pattern, without flags.
  // Errors: model_invalid saying what of the expression, and where, cannot be done.
  static Result<JavaRegex> compile(std::string_view text);

  struct Match {
    size_t begin = 0, end = 0;
  };
  // Matcher.find(from): the next match that begins at `from` or behind.
  bool find(std::string_view text, size_t from, Match& match) const;
  // Matcher.matches(): the whole text.
  bool matches(std::string_view text) const;
  const re2::RE2& re2() const { return *re2_; }

  // A `$` stands before a line end at the end of a text in Java, not for RE2: whether matches in
  // `text` are therefore not known.
  bool is_unsure_of(std::string_view text) const;

 private:
  std::shared_ptr<const re2::RE2> re2_;
  bool has_end_ = false;
};

// The expression in RE2's syntax. Errors: as compile(). `has_end`: whether there is a `$`.
Result<std::string> to_re2(std::string_view java, bool& has_end);

}  // namespace serval::tabular
