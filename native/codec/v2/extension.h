// The features of tabular models, with the text with which other models refuse them. Any thread.
// Source: tabular.md 2.1 X1.
#pragma once

#include <string>
#include <string_view>

namespace serval {

// "<what> belongs to the extension tabular_v1, which ..."
inline std::string of_tabular_extension(std::string_view what) {
  return std::string(what) +
         " belongs to the extension tabular_v1, which Spark, MLeap and PMML models have, and this "
         "model has not";
}

// Whether a tensor parameter changes the meaning of its elements.
constexpr bool is_tabular_parameter(std::string_view key) {
  return key == "features" || key == "null_indices";
}

}  // namespace serval
