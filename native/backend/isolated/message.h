// The serialization between a model's process and the server: numbers, texts, model information,
// and errors. Both ends; control plane and hot path (heads of requests), any thread. Input is never
// trusted: a reader that runs out of bytes, or finds an impossible value, is not ok() from then on.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "backend/backend.h"
#include "base/error.h"

namespace serval::isolated {

// Appends values. May throw what its vector throws.
class Writer {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T>
  void number(T value) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void text(std::string_view text) {
    number(static_cast<uint64_t>(text.size()));
    raw(text.data(), text.size());
  }
  void raw(const void* data, size_t count) {
    const auto* from = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), from, from + count);
  }
  void clear() { bytes_.clear(); }
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

// Reads values. Borrows the bytes, which must not change meanwhile.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : left_(bytes) {}

  // 0 if it is not ok().
  template <typename T>
  requires std::is_arithmetic_v<T> T number() {
    T value{};
    const std::span<const uint8_t> from = raw(sizeof value);
    if (ok_) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  bool flag() { return number<uint8_t>() != 0; }
  // Reads a count of items of at least `bytes_each` bytes each; fails if they cannot fit the rest.
  size_t count(size_t bytes_each) {
    const auto value = number<uint64_t>();
    if (ok_ && value > left_.size() / bytes_each) ok_ = false;
    return ok_ ? static_cast<size_t>(value) : 0;
  }
  std::string_view text() {
    const std::span<const uint8_t> from = raw(count(1));
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  std::span<const uint8_t> raw(size_t count) {
    if (!ok_ || count > left_.size()) {
      ok_ = false;
      return {};
    }
    const std::span<const uint8_t> taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  void fail() { ok_ = false; }
  bool ok() const { return ok_; }
  bool ended() const { return left_.empty(); }

 private:
  std::span<const uint8_t> left_;
  bool ok_ = true;
};

void write_signatures(const std::vector<Signature>& signatures, Writer& out);
// Writes everything but the table: a tabular model is never isolated.
void write_info(const BackendModelInfo& info, Writer& out);
// Errors: internal (not the output of write_info()).
Result<BackendModelInfo> read_info(std::span<const uint8_t> bytes);

void write_error(const Error& error, Writer& out);
// Returns an internal error if the content is not an error, or has an unknown code.
Error read_error(Reader& in);

}  // namespace serval::isolated
