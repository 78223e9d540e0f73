// Numbers and booleans as text, as PMML's fields accept them. Hot path; pure, any thread.
// Source: tabular.md 2.1 X25 "PMML also parses strings".
#pragma once

#include <cstdint>
#include <string_view>

namespace serval {

// Each reads all of `text`; false if it is something else. An integer may have a fraction of zeros.
// "NaN", "Infinity" and "-Infinity" are doubles. Booleans are "true" or "false" in any case.
bool read_integer_text(std::string_view text, int64_t& out);
bool read_double_text(std::string_view text, double& out);
bool read_bool_text(std::string_view text, uint8_t& out);

}  // namespace serval
