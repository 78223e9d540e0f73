// Hot path. Finds the k largest elements of each row with a heap of k indices, then writes all
// texts into one block of the arena. Any thread. Allocates nothing per element.
// Source: v2-protocol.md 2 "classification": BYTES `value:index[:label]`, shape [batch, k].
#include "codec/classification.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "codec/json/echo.h"

namespace serval {

namespace {

constexpr size_t kIndexTextMax = 20;
constexpr size_t kShortTextMax = 24;    // for an integer, or a float below 1e16 with six decimals
constexpr size_t kDoubleTextMax = 320;  // for "-", 309 digits, ".", six decimals
constexpr int kDecimals = 6;            // as "%f" prints

// The rows of an output.
struct Rows {
  const uint8_t* data;
  uint64_t count;     // number of rows
  uint64_t elements;  // per row
  uint64_t classes;   // per row, at most `elements`
};

// Loads an element for comparison and printing: a half as float.
template <typename T>
auto load(const uint8_t* data, uint64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  if constexpr (IsHalf<T>) return static_cast<float>(value);
  else return value;
}

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

// Whether element `a` of a row precedes `b`: larger, a number rather than NaN, or earlier.
template <typename T>
struct Before {
  const uint8_t* row;

  bool operator()(uint64_t a, uint64_t b) const {
    const auto x = load<T>(row, a);
    const auto y = load<T>(row, b);
    if (x > y) return true;
    if (x == y) return a < b;
    const bool x_nan = is_nan(x), y_nan = is_nan(y);
    return y_nan && (!x_nan || a < b);
  }
};

// Selects the first `classes` of a row's elements, in order.
template <typename T>
void select(const uint8_t* row, uint64_t elements, uint64_t classes, uint64_t* chosen) {
  const Before<T> before{row};
  uint64_t* const end = chosen + classes;
  for (uint64_t i = 0; i < classes; ++i) chosen[i] = i;
  std::make_heap(chosen, end, before);  // puts the last of them at the front
  for (uint64_t i = classes; i < elements; ++i) {
    if (!before(i, chosen[0])) continue;
    std::pop_heap(chosen, end, before);
    end[-1] = i;
    std::push_heap(chosen, end, before);
  }
  std::sort_heap(chosen, end, before);
}

template <typename T>
size_t value_text_max(T value) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    return std::fabs(value) >= static_cast<T>(1e16) ? kDoubleTextMax : kShortTextMax;
  }
  return kShortTextMax;
}

template <typename T>
char* write_value(char* out, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) {
      std::memcpy(out, "nan", 3);  // regardless of its sign
      return out + 3;
    }
    return std::to_chars(out, out + kDoubleTextMax, static_cast<double>(value),
                         std::chars_format::fixed, kDecimals)
        .ptr;
  } else {
    return std::to_chars(out, out + kShortTextMax, value).ptr;
  }
}

std::string_view label_of(std::span<const std::string> labels, uint64_t index) {
  return index < labels.size() ? std::string_view(labels[index]) : std::string_view();
}

template <typename T>
char* write_class(char* out, T value, uint64_t index, std::string_view label) {
  out = write_value(out, value);
  *out++ = ':';
  out = std::to_chars(out, out + kIndexTextMax, index).ptr;
  if (label.empty()) return out;
  *out++ = ':';
  std::memcpy(out, label.data(), label.size());
  return out + label.size();
}

// Fills `strings`, rows.count * rows.classes of them. False: out of memory.
template <typename T>
bool classify(const Rows& rows, std::span<const std::string> labels, Arena& arena,
              std::span<std::string_view> strings) {
  auto* chosen = arena.allocate_array<uint64_t>(strings.size());
  if (chosen == nullptr) return false;
  const auto row_of = [&rows](uint64_t i) {
    return rows.data + i / rows.classes * rows.elements * sizeof(T);
  };
  size_t room = kDoubleTextMax;  // to_chars may write this far after the last text
  for (uint64_t i = 0; i < strings.size(); ++i) {
    const uint8_t* row = row_of(i);
    if (i % rows.classes == 0) select<T>(row, rows.elements, rows.classes, chosen + i);
    const auto value = load<T>(row, chosen[i]);
    room += value_text_max(value) + 2 + kIndexTextMax + label_of(labels, chosen[i]).size();
  }
  char* const text = arena.allocate_array<char>(room);
  if (text == nullptr) return false;
  char* end = text;
  for (uint64_t i = 0; i < strings.size(); ++i) {
    char* const begin = end;
    const auto value = load<T>(row_of(i), chosen[i]);
    end = write_class(begin, value, chosen[i], label_of(labels, chosen[i]));
    strings[i] = {begin, static_cast<size_t>(end - begin)};
  }
  arena.shrink_last(text, static_cast<size_t>(end - text));
  return true;
}

std::string output_text(std::string_view name) { return "output '" + echo_text(name) + "': "; }

}  // namespace

Status classify_output(std::string_view name, uint32_t k, bool batch_dim,
                       std::span<const std::string> labels, Arena& arena, TensorView& output) {
  const size_t element_bytes = dtype_bytes(output.dtype);
  if (element_bytes == 0 || output.dtype == DType::Bool) {
    return invalid_argument(output_text(name) + "classification: expected a numeric output, got " +
                            std::string(dtype_name(output.dtype)));
  }
  const bool batched = batch_dim && output.shape.rank() != 0;
  const auto batch = batched ? output.shape.dims().first(1) : std::span<const int64_t>();
  const auto row = Shape(output.shape.dims().subspan(batch.size())).elements();
  const auto total = output.shape.elements();
  if (!row || !total || *total * element_bytes != output.bytes) {
    return make_error(ErrorCode::Internal,
                      output_text(name) + "classification: " + std::to_string(output.bytes) +
                          " bytes do not fit shape " + output.shape.to_string());
  }
  const uint64_t count = batched ? static_cast<uint64_t>(output.shape[0]) : 1;
  const Rows rows{output.data, count, *row, std::min<uint64_t>(k, *row)};
  Shape shape(batch);
  (void)shape.push_back(static_cast<int64_t>(rows.classes));
  const uint64_t strings = shape.elements().value_or(0);
  auto* texts = arena.allocate_array<std::string_view>(strings);
  const auto classify_all = [&]<typename T>(TypeTag<T>) {
    if constexpr (IsNumber<T>) return classify<T>(rows, labels, arena, {texts, strings});
    else return false;
  };
  if (texts == nullptr || (strings != 0 && !visit(output.dtype, classify_all))) {
    return make_error(ErrorCode::Internal,
                      output_text(name) + "no memory for the text of its classes");
  }
  output = {DType::Bytes, shape, nullptr, 0, {texts, strings}};
  return {};
}

}  // namespace serval
