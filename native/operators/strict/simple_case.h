// Lower and upper case of one character by one character, as ONNX Runtime's StringNormalizer has
// it of a machine with the locale en_US.UTF-8, without the machine's locales. Hot path; pure.
// Source: glibc 2.36's towlower and towupper.
#pragma once

#include <cstdint>
#include <string_view>

namespace serval::operators {

// Whose letters have a case: ASCII's (the locales C and POSIX), Unicode's, and Unicode's with the
// dotted and dotless i of Turkish.
enum class CaseRules : uint8_t { Ascii, Unicode, Turkish };

// The rules of a locale's name ("en_US", "tr_TR.UTF-8"). Other names have Unicode's.
CaseRules case_rules_of(std::string_view locale);

char32_t simple_lower(char32_t c, CaseRules rules);
char32_t simple_upper(char32_t c, CaseRules rules);

}  // namespace serval::operators
