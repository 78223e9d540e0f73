// The frame of every export: its name, its arguments, and its errors. Foreign exceptions become
// JavaScript errors, wrong argument types become TypeErrors. Thread: JavaScript's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <span>
#include <string>

#include "addon/napi_api.h"

namespace serval {

// Runs `body`, which returns a napi_value; turns a C++ exception into a thrown Error.
template <typename Body>
napi_value catch_exceptions(napi_env env, Body body) {
  try {
    return body();
  } catch (const std::exception& problem) {
    napi_throw_error(env, "ERR_SERVAL_INTERNAL", problem.what());
  } catch (...) {
    napi_throw_error(env, "ERR_SERVAL_INTERNAL", "unknown native exception");
  }
  return nullptr;
}

// A call as JavaScript sees it.
struct Export {
  const char* name;
  napi_callback call;
};

template <size_t N>
struct ExportName {
  constexpr ExportName(const char (&name)[N]) {  // NOLINT: implicit
    std::copy_n(name, N, text);
  }
  char text[N];
};

// The arguments of one call. A wrong type throws a TypeError naming the argument, and ok() is
// false.
template <size_t N>
class Arguments {
 public:
  Arguments(napi_env env, napi_callback_info info, const char* call) : env_(env), call_(call) {
    size_t count = N;
    if (napi_get_cb_info(env, info, &count, values_, nullptr, &data_) != napi_ok || count < N) {
      fail("arguments");
    }
  }
  bool ok() const { return ok_; }
  napi_env env() const { return env_; }
  void* data() const { return data_; }
  napi_value value(size_t i) const { return values_[i]; }

  uint32_t u32(size_t i, const char* name) {
    uint32_t out = 0;
    if (napi_get_value_uint32(env_, values_[i], &out) != napi_ok) fail(name);
    return out;
  }
  // Returns a JavaScript number as a 64-bit integer (exact up to 2^53).
  int64_t i64(size_t i, const char* name) {
    int64_t out = 0;
    if (napi_get_value_int64(env_, values_[i], &out) != napi_ok) fail(name);
    return out;
  }
  bool boolean(size_t i, const char* name) {
    bool out = false;
    if (napi_get_value_bool(env_, values_[i], &out) != napi_ok) fail(name);
    return out;
  }
  std::span<const uint8_t> array_buffer(size_t i, const char* name) {
    void* data = nullptr;
    size_t bytes = 0;
    if (napi_get_arraybuffer_info(env_, values_[i], &data, &bytes) != napi_ok) fail(name);
    return {static_cast<const uint8_t*>(data), bytes};
  }
  std::span<const uint8_t> buffer(size_t i, const char* name) {
    void* data = nullptr;
    size_t bytes = 0;
    if (napi_get_buffer_info(env_, values_[i], &data, &bytes) != napi_ok) fail(name);
    return {static_cast<const uint8_t*>(data), bytes};
  }

  // Returns a short text; a longer one is cut.
  std::string text(size_t i, const char* name) {
    char out[128];
    size_t bytes = 0;
    if (napi_get_value_string_utf8(env_, values_[i], out, sizeof out, &bytes) != napi_ok) {
      fail(name);
    }
    return {out, bytes};
  }

  // Throws a TypeError naming the argument, for values of the right type that are out of range.
  void fail(const char* name) { fail_with(std::string("wrong type or missing: ") + name); }
  void fail_with(const std::string& why) {
    if (ok_) napi_throw_type_error(env_, nullptr, (std::string(call_) + ": " + why).c_str());
    ok_ = false;
  }

 private:
  napi_env env_;
  const char* call_;
  napi_value values_[N] = {};
  void* data_ = nullptr;
  bool ok_ = true;
};

}  // namespace serval
