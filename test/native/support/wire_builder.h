// Builds protobuf wire bytes for tests, field by field, well formed or not.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace serval::test {

class WireBuilder {
 public:
  WireBuilder& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  WireBuilder& bare_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  WireBuilder& tag(uint32_t number, uint32_t type) {
    return bare_varint(static_cast<uint64_t>(number) << 3 | type);
  }
  // Negative values take ten bytes, as protobuf writes int32 and int64.
  WireBuilder& varint(uint32_t number, int64_t value) {
    return tag(number, 0).bare_varint(static_cast<uint64_t>(value));
  }
  WireBuilder& bytes(uint32_t number, std::string_view bytes) {
    return tag(number, 2).bare_varint(bytes.size()).raw(bytes);
  }
  WireBuilder& message(uint32_t number, const WireBuilder& inner) {
    return bytes(number, inner.bytes_);
  }
  template <typename T>
  WireBuilder& fixed(uint32_t number, T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    return tag(number, sizeof(T) == 4 ? 5 : 1).bare_fixed(value);
  }
  template <typename T>
  WireBuilder& bare_fixed(T value) {
    char image[sizeof(T)];
    std::memcpy(image, &value, sizeof(T));
    return raw({image, sizeof(T)});
  }
  WireBuilder& packed(uint32_t number, std::initializer_list<int64_t> values) {
    WireBuilder run;
    for (int64_t value : values) run.bare_varint(static_cast<uint64_t>(value));
    return bytes(number, run.bytes_);
  }
  template <typename T>
  WireBuilder& packed_fixed(uint32_t number, std::initializer_list<T> values) {
    WireBuilder run;
    for (T value : values) run.bare_fixed(value);
    return bytes(number, run.bytes_);
  }

  const std::string& str() const { return bytes_; }
  std::span<const uint8_t> span() const {
    return {reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()};
  }

 private:
  std::string bytes_;
};

// The bytes of an array of numbers, as raw contents hold them.
template <typename T>
std::string raw_of(std::initializer_list<T> values) {
  WireBuilder run;
  for (T value : values) run.bare_fixed(value);
  return run.str();
}

// InferInputTensor{name, datatype, shape}.
inline WireBuilder wire_input(std::string_view name, std::string_view datatype,
                              std::initializer_list<int64_t> shape) {
  WireBuilder input;
  input.bytes(1, name).bytes(2, datatype);
  return shape.size() == 0 ? input : input.packed(3, shape);
}

}  // namespace serval::test
