// Hot path. Reads the values of a TensorProto: one loop over each run, with the dtype chosen
// outside of it. Any thread. Allocates memory for the message's values, and for the fill values
// that fill_left allows.
#include "codec/serving/wire_tensor_values.h"

#include <limits>

#include "base/bytes/wire_lists.h"
#include "base/copies.h"
#include "codec/checked.h"
#include "codec/v2/wire_read.h"

namespace serval {

namespace {

using Bytes = std::span<const uint8_t>;

template <typename Take>
void each_piece(const TensorDecode& decode, Take take) {
  const WireTensor& wire = decode.wire;
  const uint32_t number = decode.type.field;
  if (!wire.in_entry) {
    each_wire_field(wire.message, number, take);
    return;
  }
  each_wire_field(wire.message, MapEntry::kValue, [&](const WireField& value) {
    return value.type() != WireType::Bytes || each_wire_field(value.bytes, number, take);
  });
}

// Converts a varint to an element; false if it does not fit. Varints of one byte always fit.
template <typename T>
struct Cut {
  using Type = T;
  static bool convert(uint64_t value, T& out) {
    out = static_cast<T>(value);
    return true;
  }
};

// int_val is an int32; TensorFlow would truncate it further silently. Source: tfserving.md 9 "8-
// and 16-bit integers out of range".
template <typename T>
struct Narrow {
  using Type = T;
  static bool convert(uint64_t value, T& out) {
    const auto number = static_cast<int32_t>(value);
    out = static_cast<T>(number);
    return number >= std::numeric_limits<T>::min() && number <= std::numeric_limits<T>::max();
  }
};

template <typename T>
using Integer = std::conditional_t<(sizeof(T) < sizeof(int32_t)), Narrow<T>, Cut<T>>;

struct Flag {
  using Type = uint8_t;
  static bool convert(uint64_t value, uint8_t& out) {
    out = value != 0;
    return true;
  }
};

// The state of a conversion: elements written, and the value that did not fit.
template <typename Kind>
struct Fill {
  typename Kind::Type* out;
  uint64_t wanted;
  uint64_t index = 0;
  int32_t bad = 0;

  bool add(uint64_t value) {
    if (index == wanted) return false;
    if (Kind::convert(value, out[index])) {
      ++index;
      return true;
    }
    bad = static_cast<int32_t>(value);
    return false;
  }

  // False: no more values are needed.
  bool add_run(Bytes run) {
    const uint8_t* at = run.data();
    const uint8_t* const end = at + run.size();
    while (at != end) {
      uint64_t word = ~uint64_t{0};
      if (end - at >= 8 && wanted - index >= 8) std::memcpy(&word, at, 8);
      if ((word & 0x8080808080808080u) == 0) {  // eight varints of one byte
        for (size_t i = 0; i < 8; ++i) (void)Kind::convert(at[i], out[index + i]);
        index += 8;
        at += 8;
        continue;
      }
      if (!add(checked_varint(at, end))) return false;
    }
    return true;
  }
};

template <typename T>
void repeat_last(T* data, uint64_t given, uint64_t elements) {
  std::fill_n(data + given, elements - given, given == 0 ? T{} : data[given - 1]);
}

template <typename Kind>
Status fill_varints(const TensorDecode& decode) {
  using T = typename Kind::Type;
  T* data = decode.arena.allocate_array<T>(decode.elements);
  if (data == nullptr) return tensor_memory_out(decode.name);
  const uint64_t given = decode.given();
  Fill<Kind> fill{data, given};
  const WireTensor::Values& values = decode.values();
  if (values.pieces == 1 && !values.packed_run.empty()) {
    fill.add_run(values.packed_run);
  } else {
    each_piece(decode, [&](const WireField& piece) {
      if (piece.type() == WireType::Varint) return fill.add(piece.value);
      return piece.type() != WireType::Bytes || fill.add_run(piece.bytes);
    });
  }
  if (fill.index != given) {
    return invalid_argument("input " + wire_quoted(decode.name) + ": value " +
                            std::to_string(fill.bad) + " at index " + std::to_string(fill.index) +
                            " is out of range for " + std::string(decode.type.name) + " (" +
                            std::to_string(std::numeric_limits<T>::min()) + " to " +
                            std::to_string(std::numeric_limits<T>::max()) + ")");
  }
  repeat_last(data, given, decode.elements);
  decode.out.data = reinterpret_cast<const uint8_t*>(data);
  decode.out.bytes = decode.elements * sizeof(T);
  count_copied(decode.out.bytes);
  return {};
}

// For float_val and double_val a packed run equals the tensor's bytes.
template <typename T>
Status fill_fixed(const TensorDecode& decode) {
  const WireTensor::Values& values = decode.values();
  const uint64_t given = decode.given();
  if (values.pieces == 1 && !values.packed_run.empty() && given == decode.elements) {
    return raw_fixed_tensor(values.packed_run.first(given * sizeof(T)), decode.type.dtype,
                            decode.wire.shape, decode.name, decode.arena, decode.out);
  }
  T* data = decode.arena.allocate_array<T>(decode.elements);
  if (data == nullptr) return tensor_memory_out(decode.name);
  uint64_t index = 0;
  each_piece(decode, [&](const WireField& piece) {
    if (piece.type() == typed_type(piece.number())) {
      std::memcpy(data + index++, &piece.value, sizeof(T));
    } else if (piece.type() == WireType::Bytes && !piece.bytes.empty()) {
      const uint64_t count = std::min(piece.bytes.size() / sizeof(T), given - index);
      std::memcpy(data + index, piece.bytes.data(), count * sizeof(T));
      index += count;
    }
    return index != given;
  });
  repeat_last(data, given, decode.elements);
  decode.out.data = reinterpret_cast<const uint8_t*>(data);
  decode.out.bytes = decode.elements * sizeof(T);
  count_copied(decode.out.bytes);
  return {};
}

std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status fill_strings(const TensorDecode& decode) {
  auto* strings = decode.arena.allocate_array<std::string_view>(decode.elements);
  if (strings == nullptr) return tensor_memory_out(decode.name);
  const uint64_t given = decode.given();
  uint64_t index = 0, viewed = 0;
  if (given != 0) {
    each_piece(decode, [&](const WireField& piece) {
      if (piece.type() != WireType::Bytes) return true;
      strings[index++] = as_text(piece.bytes);
      viewed += piece.bytes.size();
      return index != given;
    });
  }
  repeat_last(strings, given, decode.elements);
  decode.out.strings = {strings, static_cast<size_t>(decode.elements)};
  count_viewed(viewed);
  return {};
}

// Splits strings in tensor_content: the length of each as a varint, then the bytes of all.
Status split_strings(const TensorDecode& decode) {
  const Bytes content = decode.wire.content;
  const auto wrong = [&] {
    return tensor_parsing_error(decode.name, "tensor_content of " + std::to_string(content.size()) +
                                                 " bytes does not hold " +
                                                 std::to_string(decode.elements) + " strings");
  };
  if (decode.elements > content.size()) return wrong();  // each length takes at least a byte
  auto* strings = decode.arena.allocate_array<std::string_view>(decode.elements);
  if (strings == nullptr) return tensor_memory_out(decode.name);
  WireCursor cursor(content);
  uint64_t total = 0;
  for (uint64_t i = 0; i < decode.elements; ++i) {
    uint64_t length = 0;
    const uint8_t* const start = cursor.at;
    if (!cursor.varint(length) || cursor.at - start > 5 || length > content.size() - total) {
      return wrong();
    }
    // the data pointer is set below
    strings[i] = std::string_view(as_text(content).data(), length);
    total += length;
  }
  if (total != static_cast<uint64_t>(cursor.end - cursor.at)) return wrong();
  const uint8_t* at = cursor.at;
  for (uint64_t i = 0; i < decode.elements; ++i) {
    strings[i] = {reinterpret_cast<const char*>(at), strings[i].size()};
    at += strings[i].size();
  }
  decode.out.strings = {strings, static_cast<size_t>(decode.elements)};
  count_viewed(total);
  return {};
}

// Checks, before it is allocated, memory that the message's size does not account for.
Status check_fill(const TensorDecode& decode, uint64_t& fill_left) {
  const size_t each =
      decode.type.dtype == DType::Bytes ? sizeof(std::string_view) : dtype_bytes(decode.type.dtype);
  uint64_t bytes = 0;
  const bool fits = !__builtin_mul_overflow(decode.elements - decode.given(), each, &bytes);
  if (fits && bytes <= fill_left) {
    fill_left -= bytes;
    return {};
  }
  return make_error(ErrorCode::BodyTooLarge, "input " + wire_quoted(decode.name) + ": shape " +
                                                 decode.wire.shape.to_string() + " of " +
                                                 std::string(decode.type.name) + " with " +
                                                 std::to_string(decode.given()) +
                                                 " values is over the limit of a request's size");
}

}  // namespace

Error tensor_parsing_error(std::string_view name, std::string reason) {
  return make_error(ErrorCode::InvalidArgument, "tensor parsing error: " + std::string(name),
                    std::move(reason));
}

Error tensor_memory_out(std::string_view name) {
  return make_error(ErrorCode::MemoryFull, "out of memory for input " + wire_quoted(name));
}

Status take_tensor_content(const TensorDecode& decode) {
  if (decode.type.dtype == DType::Bytes) return split_strings(decode);
  uint64_t expected = 0;
  const bool fits =
      !__builtin_mul_overflow(decode.elements, dtype_bytes(decode.type.dtype), &expected);
  if (!fits || expected != decode.wire.content.size()) {
    return tensor_parsing_error(decode.name,
                                "tensor_content has " + std::to_string(decode.wire.content.size()) +
                                    " bytes for shape " + decode.wire.shape.to_string() + " of " +
                                    std::string(decode.type.name));
  }
  return raw_fixed_tensor(decode.wire.content, decode.type.dtype, decode.wire.shape, decode.name,
                          decode.arena, decode.out);
}

Status take_tensor_values(const TensorDecode& decode, uint64_t& fill_left) {
  if (Status status = check_fill(decode, fill_left); !status.ok()) return status;
  return visit(decode.type.dtype, [&]<typename T>(TypeTag<T>) -> Status {
    if constexpr (std::same_as<T, bool>) return fill_varints<Flag>(decode);
    else if constexpr (IsHalf<T>) return fill_varints<Cut<uint16_t>>(decode);
    else if constexpr (IsInteger<T>) return fill_varints<Integer<T>>(decode);
    else if constexpr (IsReal<T>) return fill_fixed<T>(decode);
    else if constexpr (std::same_as<T, std::string_view>) return fill_strings(decode);
    else return make_error(ErrorCode::Internal, "a TensorProto of a dtype that has no values");
  });
}

}  // namespace serval
