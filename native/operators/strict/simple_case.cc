// Maps the case of single characters (simple_case.h). Hot path; pure.
#include "operators/strict/simple_case.h"

#include "base/unicode/letters.h"

namespace serval::operators {
namespace {

constexpr char32_t kDotlessI = 0x131;

// Letters added to Unicode after version 13, or whose only upper case is a title case letter.
struct Pairs {
  char32_t first, last;  // lower case
  int32_t upper;         // difference to the other case
};
constexpr Pairs kTitles[] = {{0x1F80, 0x1F87, 8}, {0x1F90, 0x1F97, 8}, {0x1FA0, 0x1FA7, 8},
                             {0x1FB3, 0x1FB3, 9}, {0x1FC3, 0x1FC3, 9}, {0x1FF3, 0x1FF3, 9}};
constexpr Pairs kLater[] = {
    {0x2C5F, 0x2C5F, -48},   {0xA7C1, 0xA7C1, -1},    {0xA7D1, 0xA7D1, -1},
    {0xA7D7, 0xA7D7, -1},    {0xA7D9, 0xA7D9, -1},    {0x10597, 0x105A1, -39},
    {0x105A3, 0x105B1, -39}, {0x105B3, 0x105B9, -39}, {0x105BB, 0x105BC, -39}};

char32_t moved(char32_t c, int32_t by) {
  return static_cast<char32_t>(static_cast<int32_t>(c) + by);
}

bool is_ascii_letter(char32_t c, char32_t first) { return c >= first && c <= first + 25; }

}  // namespace

CaseRules case_rules_of(std::string_view locale) {
  if (locale == "C" || locale == "POSIX") return CaseRules::Ascii;
  const std::string_view language = locale.substr(0, locale.find_first_of("_.-@"));
  const bool turkish = language == "tr" || language == "az" || language == "crh";
  return turkish || locale.starts_with("ku_TR") ? CaseRules::Turkish : CaseRules::Unicode;
}

char32_t simple_lower(char32_t c, CaseRules rules) {
  if (rules == CaseRules::Ascii) return is_ascii_letter(c, 'A') ? c + 32 : c;
  if (c < 0x80) {
    if (rules == CaseRules::Turkish && c == 'I') return kDotlessI;
    return is_ascii_letter(c, 'A') ? c + 32 : c;
  }
  if (c == kDottedI) return 'i';
  for (const Pairs& pairs : kLater) {
    const char32_t lower = moved(c, -pairs.upper);
    if (lower >= pairs.first && lower <= pairs.last) return lower;
  }
  return lower_of(c);
}

char32_t simple_upper(char32_t c, CaseRules rules) {
  if (rules == CaseRules::Ascii) return is_ascii_letter(c, 'a') ? c - 32 : c;
  if (c < 0x80) {
    if (rules == CaseRules::Turkish && c == 'i') return kDottedI;
    return is_ascii_letter(c, 'a') ? c - 32 : c;
  }
  if (rules == CaseRules::Turkish && c == kDotlessI) return 'I';
  for (const Pairs& pairs : kTitles) {
    if (c >= pairs.first && c <= pairs.last) return moved(c, pairs.upper);
  }
  for (const Pairs& pairs : kLater) {
    if (c >= pairs.first && c <= pairs.last) return moved(c, pairs.upper);
  }
  return upper_of(c);
}

}  // namespace serval::operators
