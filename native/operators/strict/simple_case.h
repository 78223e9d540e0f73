// One-to-one lower and upper case mapping, as in ONNX Runtime's StringNormalizer on a machine with
// the locale en_US.UTF-8, but without the machine's locales. Hot path; pure.
// Source: glibc 2.36's towlower and towupper.
#pragma once

#include <cstdint>
#include <string_view>

namespace serval::operators {

// The letters that have a case: ASCII's (the locales C and POSIX), Unicode's, or Unicode's with the
// dotted and dotless i of Turkish.
enum class CaseRules : uint8_t { Ascii, Unicode, Turkish };

// The rules for a locale's name ("en_US", "tr_TR.UTF-8"). Other names use Unicode's.
CaseRules case_rules_of(std::string_view locale);

char32_t simple_lower(char32_t c, CaseRules rules);
char32_t simple_upper(char32_t c, CaseRules rules);

}  // namespace serval::operators
