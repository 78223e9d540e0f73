// Numbers out of text, as Spark's CAST reads them. Pure; any thread.
// Source: tabular.md 10.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace serval::tabular::sql {

// As CAST does: blanks around it do not count, a fraction is cut, anything else is none.
std::optional<int64_t> integer_of_text(std::string_view text);
std::optional<double> real_of_text(std::string_view text);
std::optional<float> float_of_text(std::string_view text);

// Without the characters up to and including ' ' at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace serval::tabular::sql
