// Reads the options of attach() by the generated list of their names. Control plane; the thread
// that attaches.
#include "addon/attach_options.h"

#include <cstdint>
#include <set>
#include <type_traits>

#include "base/generated/attach_options.h"

namespace serval {

namespace {

// Returns the name of the type that a member must have in JavaScript.
template <typename T>
const char* expected_type() {
  if (std::is_same_v<T, std::string>) return "a string";
  return std::is_same_v<T, bool> ? "a boolean" : "a number of 0 or more";
}

// Stores `value` in `out`; returns false if it has another type, or is negative.
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
    const int64_t number = value.As<Napi::Number>().Int64Value();
    if (number < 0) return false;
    out = static_cast<T>(number);
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
              expected_type<std::remove_reference_t<decltype(member)>>();
  });
  const Napi::Array names = object.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length() && problem.empty(); i++) {
    const std::string name = names.Get(i).ToString().Utf8Value();
    if (!known.contains(name)) problem = "attach: unknown option " + name;
  }
  return problem;
}

}  // namespace serval
