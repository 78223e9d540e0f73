// What generated/stages.h and generated/functions.h are made of: the names and types of a stage's
// attributes, and the names of functions. Data only; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace serval::tabular {

struct Attribute {
  std::string_view name;
  bool required = true;
};

// One struct for each type, so that StageSpec's getters accept only attributes of their type.
// `fallback`: what a getter returns where the plan does not have the attribute.
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
// One of the words of an enum, or a list of them; words[i] is the enumerator i.
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

// A function's name with its dialect (pmml.if) and its count of arguments.
struct FunctionName {
  std::string_view name;
  int arguments_min = 0, arguments_max = 0;  // -1: any number
};

}  // namespace serval::tabular
