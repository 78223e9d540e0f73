// Patterns of dates and times as Spark takes them (java.time's letters): made at load, immutable.
// Pure; any thread.
// Source: tabular.md 10; Spark's page on datetime patterns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace serval::tabular::sql {

class DatePattern {
 public:
  // Errors: model_invalid naming a letter that is not supported.
  static Result<DatePattern> compile(std::string_view pattern);

  std::string format(int64_t micros) const;
  // Micros since 1970; the whole text must be of the pattern. What it does not say is the beginning
  // of 1970.
  std::optional<int64_t> parse(std::string_view text) const;

 private:
  // A letter as often as it is written, or a text (letter 0).
  struct Piece {
    char letter = 0;
    int count = 0;
    std::string text;
  };
  struct Fields;
  static bool parse_piece(const Piece& piece, bool joined, std::string_view text, size_t& at,
                          Fields& fields);
  std::vector<Piece> pieces_;
};

}  // namespace serval::tabular::sql
