// Parses numbers as Spark's CAST does. Pure; any thread. Source: tabular.md 10.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace serval::tabular::sql {

// Ignores surrounding blanks and truncates a fraction; empty for any other text.
std::optional<int64_t> integer_of_text(std::string_view text);
std::optional<double> real_of_text(std::string_view text);
std::optional<float> float_of_text(std::string_view text);

// Strips characters up to and including ' ' from both ends.
std::string_view trimmed(std::string_view text);

}  // namespace serval::tabular::sql
