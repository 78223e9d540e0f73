// Java 17's character properties (Unicode 13) for its regular expressions, and sets of characters.
// The tables are in ../generated/, written by scripts/tabular/JavaUnicode.java. Immutable; any
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

namespace serval::tabular::regex {

inline constexpr uint32_t kCharacterMax = 0x10FFFF;

struct Range {
  uint32_t first = 0, last = 0;
};
// Every character of a stride from `first` to `last` becomes itself plus `delta`.
struct CaseRange {
  uint32_t first = 0, last = 0, stride = 1;
  int32_t delta = 0;
};
// `categories`: bits of Character.getType(); the ranges are the rest.
struct NamedSet {
  const char* name = nullptr;
  uint32_t categories = 0, first = 0, count = 0;
};

// Runs: the first character << 5 | value.
extern const uint32_t kCategories[], kGraphemes[];
extern const Range kNamedRanges[];
extern const NamedSet kNamedSets[];  // by name, ascending
extern const CaseRange kUpper[], kLower[];
extern const size_t kCategoriesCount, kGraphemesCount, kNamedSetCount, kUpperCount, kLowerCount;

// A set of characters: ascending ranges that do not touch.
class Set {
 public:
  Set() = default;
  static Set of(uint32_t first, uint32_t last);
  static Set of(std::initializer_list<Range> ranges);
  static Set all() { return of(0, kCharacterMax); }

  bool has(uint32_t c) const {
    return c < 128 ? (ascii_[c >> 6] >> (c & 63) & 1) != 0 : has_beyond(c);
  }
  Set operator|(const Set& other) const;
  Set operator&(const Set& other) const;
  Set operator~() const;
  void add(uint32_t first, uint32_t last);  // slow for sets with many ranges
  const std::vector<Range>& ranges() const { return ranges_; }
  // Makes a set of ascending ranges that do not touch.
  static Set made(std::vector<Range> ranges);

 private:
  bool has_beyond(uint32_t c) const;
  std::vector<Range> ranges_;
  std::array<uint64_t, 2> ascii_ = {};
};

// The set named in kNamedSets; empty if there is no such name.
std::optional<Set> named_set(std::string_view name);

// Character.toUpperCase(), toLowerCase(): one character for one.
uint32_t upper(uint32_t c);
uint32_t lower(uint32_t c);
// The representative of the characters that are equal under (?iu).
inline uint32_t folded(uint32_t c) { return lower(upper(c)); }

int category(uint32_t c);  // Character.getType()
inline constexpr int kNonSpacingMark = 6;
bool is_letter_or_digit(uint32_t c);

// End of the grapheme that begins at `at`: \X.
size_t grapheme_end(std::string_view text, size_t at);
// Returns whether `at` is between two graphemes of `text`: \b{g}.
bool is_grapheme_boundary(std::string_view text, size_t at);

}  // namespace serval::tabular::regex
