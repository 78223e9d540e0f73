// Types used by generated/stages.h and generated/functions.h: names and types of a stage's
// attributes, and function names. Data only; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace serval::tabular {

struct Attribute {
  std::string_view name;
  bool required = true;
};

// One struct per type, so that StageSpec's getters accept only attributes of their type. `fallback`
// is the value a getter returns if the plan lacks the attribute.
struct RealAttribute : Attribute {
  double fallback = 0;
};
struct IntegerAttribute : Attribute {
  int32_t fallback = 0;
};
struct FlagAttribute : Attribute {};  // absent: false
struct TextAttribute : Attribute {
  std::string_view fallback = {};
};
struct RealsAttribute : Attribute {};
struct IntegersAttribute : Attribute {};
struct TextsAttribute : Attribute {};
struct ValuesAttribute : Attribute {};
struct ExpressionsAttribute : Attribute {};
struct BlocksAttribute : Attribute {};
// A word of an enum, or a list of them; words[i] names the enumerator i.
template <typename Enum>
struct ChoiceAttribute : Attribute {
  std::span<const std::string_view> words;
  Enum fallback = {};
};
template <typename Enum>
struct ChoicesAttribute : Attribute {
  std::span<const std::string_view> words;
};

// A kind of stage with all its attributes.
struct KindRule {
  std::string_view name;
  std::span<const Attribute> attributes;
};

// A function's name including its dialect (pmml.if), and its argument count.
struct FunctionName {
  std::string_view name;
  int arguments_min = 0, arguments_max = 0;  // -1: any number
};

}  // namespace serval::tabular
