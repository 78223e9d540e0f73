// Converts JSON values to tensor elements, one by one, with a reason for each refusal.
// Source: v2-protocol.md 1.2 (literals), section 0 (no wrapping, 64-bit integers exact). Any
// thread.
#include "codec/v2/json_elements.h"

#include <cmath>
#include <limits>

#include "codec/json/echo.h"
#include "codec/v2/json_parts.h"

namespace serval::v2 {

namespace {

// One value of "data", with its place for errors.
struct Element {
  std::string_view text;  // text of the value
  std::string_view input;
  uint64_t index;
  DType dtype;
};

std::string place(const Element& element) {
  return "input '" + echo_text(element.input) + "', element " + std::to_string(element.index) +
         ": ";
}

Status wrong_kind(const Element& element, std::string_view expected) {
  return invalid_argument(place(element) + "expected " + std::string(expected) + " for " +
                          std::string(dtype_name(element.dtype)) + ", got " +
                          echo_text(element.text));
}

Status out_of_range(const Element& element, const std::string& range) {
  return invalid_argument(place(element) + echo_text(element.text) + " is out of range for " +
                          std::string(dtype_name(element.dtype)) + range);
}

// Parses text that is known to be a number.
JsonNumber number_of(std::string_view text, Arena& arena) {
  JsonNumber number;
  (void)JsonLexer(text, arena).number(number);
  return number;
}

template <typename T>
Status store_integer(const Element& element, Arena& arena, T& out) {
  if (kind_of(element.text) != JsonKind::Number || !is_integer_text(element.text)) {
    return wrong_kind(element, "an integer");
  }
  using Limits = std::numeric_limits<T>;
  if (number_of(element.text, arena).to_integer(out)) return {};
  return out_of_range(
      element, " (" + std::to_string(Limits::min()) + " to " + std::to_string(Limits::max()) + ")");
}

template <typename T>
Status store_real(const Element& element, Arena& arena, T& out) {
  if (kind_of(element.text) != JsonKind::Number) return wrong_kind(element, "a number");
  const double value = number_of(element.text, arena).f64;
  const char* begin = element.text.data();
  if (to_real(value, begin, begin + element.text.size(), out)) return {};
  return out_of_range(element, "");
}

Status store_bool(const Element& element, uint8_t& out) {
  const JsonKind kind = kind_of(element.text);
  if (kind != JsonKind::True && kind != JsonKind::False) {
    return wrong_kind(element, "true or false");
  }
  out = kind == JsonKind::True;
  return {};
}

// Reads the elements of one type: calls store(element, place) for each.
template <typename T, typename Store>
Status read_all(std::string_view list, Element element, void* memory, Store store) {
  auto* out = static_cast<T*>(memory);
  return each_leaf(list, [&](uint64_t index, std::string_view text) {
    element.index = index;
    element.text = text;
    return store(element, out[index]);
  });
}

Status read_strings(std::string_view list, const Element& element, Arena& arena, void* memory) {
  // One lexer for all elements: its memory for decoded text is as long as the list's text.
  JsonLexer lexer(list, arena);
  auto* out = static_cast<std::string_view*>(memory);
  Element one = element;
  return each_leaf(list, [&](uint64_t index, std::string_view text) -> Status {
    one.index = index;
    one.text = text;
    if (kind_of(text) != JsonKind::String) return wrong_kind(one, "a string");
    lexer.seek(static_cast<size_t>(text.data() - list.data()));
    if (lexer.string(out[index])) return {};
    return make_error(ErrorCode::Internal, place(one) + "no memory for its text");
  });
}

Status read_typed(std::string_view list, const Element& one, Arena& arena, void* memory) {
  return visit(one.dtype, [&]<typename T>(TypeTag<T>) -> Status {
    if constexpr (std::same_as<T, bool>) {
      return read_all<uint8_t>(list, one, memory, store_bool);
    } else if constexpr (IsInteger<T>) {
      return read_all<T>(list, one, memory, [&arena](const Element& element, T& out) {
        return store_integer<T>(element, arena, out);
      });
    } else if constexpr (IsReal<T>) {
      return read_all<T>(list, one, memory, [&arena](const Element& element, T& out) {
        return store_real<T>(element, arena, out);
      });
    } else if constexpr (std::same_as<T, std::string_view>) {
      return read_strings(list, one, arena, memory);
    } else {
      return make_error(ErrorCode::Internal, "a tensor without a datatype");
    }
  });
}

}  // namespace

Status read_elements(std::string_view list, std::string_view input, Arena& arena,
                     TensorView& tensor) {
  uint64_t count = 0;
  (void)each_leaf(list, [&count](uint64_t, std::string_view) -> Status {
    ++count;
    return {};
  });
  const auto expected = tensor.shape.elements();
  if (!expected || *expected != count) {
    return invalid_argument("input '" + echo_text(input) + "': expected " +
                            std::to_string(expected.value_or(0)) + " elements (shape " +
                            tensor.shape.to_string() + "), got " + std::to_string(count));
  }
  const bool strings = tensor.dtype == DType::Bytes;
  const size_t bytes = count * (strings ? sizeof(std::string_view) : dtype_bytes(tensor.dtype));
  void* memory = arena.allocate(bytes);
  if (memory == nullptr) {
    return make_error(ErrorCode::MemoryFull,
                      "no memory for the " + std::to_string(count) + " elements of an input");
  }
  if (strings) {
    tensor.strings = {static_cast<std::string_view*>(memory), count};
  } else {
    tensor.data = static_cast<uint8_t*>(memory);
    tensor.bytes = bytes;
  }
  return read_typed(list, {{}, input, 0, tensor.dtype}, arena, memory);
}

}  // namespace serval::v2
