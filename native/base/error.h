// Error and Result: the only form of a failure in native code. Hot and control plane, any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/generated/engine_names.h"

namespace serval {

using ErrorCode = fb::ErrorCode;

// `message` is for the client: what, where (input, index, byte), expected, got. `detail` is for the
// log only. `signature`: the requested signature that does not exist; `missing`: bytes of a
// fb::Missing, made by the engine for the code that formats the error.
struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  std::string detail;
  std::string signature;
  std::string missing;
};

// A value or an Error. Never empty. Not for large values on the hot path: pass an out parameter and
// return Status instead.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : value_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit
  bool ok() const { return value_.index() == 0; }
  T& value() { return *std::get_if<0>(&value_); }
  const T& value() const { return *std::get_if<0>(&value_); }
  Error& error() { return *std::get_if<1>(&value_); }
  const Error& error() const { return *std::get_if<1>(&value_); }

 private:
  std::variant<T, Error> value_;
};

// Success, or an Error on the heap: one pointer wide, so that the hot path returns it in a
// register.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error)  // NOLINT: implicit
      : error_(std::make_unique<Error>(std::move(error))) {}
  bool ok() const { return error_ == nullptr; }
  Error& error() { return *error_; }
  const Error& error() const { return *error_; }

 private:
  std::unique_ptr<Error> error_;
};

inline Status ok_status() { return Status(); }

inline Error make_error(ErrorCode code, std::string message, std::string detail = {}) {
  return Error{code, std::move(message), std::move(detail), {}, {}};
}

inline Error with_signature(Error error, std::string_view signature) {
  error.signature = signature;
  return error;
}

inline Error invalid_argument(std::string message) {
  return make_error(ErrorCode::InvalidArgument, std::move(message));
}

inline Error malformed_body(std::string message) {
  return make_error(ErrorCode::MalformedBody, std::move(message));
}

}  // namespace serval
