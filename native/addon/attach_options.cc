// Reads the options of attach() by the generated list of their names. Control plane; the thread
// that attaches.
#include "addon/attach_options.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include "base/generated/attach_options.h"

namespace serval {

namespace {

// The integers that a JavaScript number holds exactly. Source: ECMAScript, Number.MAX_SAFE_INTEGER.
constexpr int64_t kSafeMax = (int64_t{1} << 53) - 1;

// Describes the values that a member may have.
template <typename T>
std::string expected_value() {
  if constexpr (std::is_same_v<T, std::string>) return "a string";
  else if constexpr (std::is_same_v<T, bool>) return "a boolean";
  else {
    constexpr T kMax = std::numeric_limits<T>::max();
    const int64_t max =
        std::in_range<int64_t>(kMax) ? std::min(static_cast<int64_t>(kMax), kSafeMax) : kSafeMax;
    return "an integer from 0 to " + std::to_string(max);
  }
}

// Describes a value that an option cannot have, without calling into JavaScript.
std::string text_of(const Napi::Value& value) {
  if (value.IsNumber() || value.IsBoolean()) return value.ToString().Utf8Value();
  if (value.IsString()) return "a string";
  return value.IsNull() ? "null" : "another type";
}

// Stores `value` in `out`; returns false if it has another type or is out of range.
template <typename T>
bool store(const Napi::Value& value, T& out) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (!value.IsString()) return false;
    out = value.As<Napi::String>().Utf8Value();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!value.IsBoolean()) return false;
    out = value.As<Napi::Boolean>().Value();
  } else {
    if (!value.IsNumber()) return false;
    const double number = value.As<Napi::Number>().DoubleValue();
    // Also false for NaN.
    if (!(number >= 0 && number <= static_cast<double>(kSafeMax)) || number != std::trunc(number))
      return false;
    const auto integer = static_cast<int64_t>(number);
    if (!std::in_range<T>(integer)) return false;
    out = static_cast<T>(integer);
  }
  return true;
}

}  // namespace

std::string AttachOptions::read(const Napi::Object& object) {
  std::string problem;
  std::set<std::string> known;
  each_attach_option(engine, serve, thread, [&](const char* name, auto& member) {
    known.insert(name);
    const Napi::Value value = object.Get(name);
    if (value.IsUndefined() || store(value, member) || !problem.empty()) return;
    problem = std::string("attach: ") + name + ": expected " +
              expected_value<std::remove_reference_t<decltype(member)>>() + ", got " +
              text_of(value);
  });
  const Napi::Array names = object.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length() && problem.empty(); i++) {
    const std::string name = names.Get(i).ToString().Utf8Value();
    if (!known.contains(name)) problem = "attach: unknown option " + name;
  }
  return problem;
}

}  // namespace serval
