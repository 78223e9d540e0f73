// Makes up requests and compares outputs.
#include "batch/probe_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

#include "batch/gather.h"

namespace serval {

namespace {

// Sizes of free trailing dims: different from the numbers of rows that are tried (1 to 4), and from
// each other, so that confused dims show.
constexpr int64_t kSizes[2][6] = {{5, 7, 6, 9, 8, 10}, {11, 6, 13, 7, 15, 9}};
constexpr int64_t kLargeSizes[2] = {64, 96};

uint64_t mix(uint64_t value) {  // splitmix64
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// The shapes of one row of every input. Dims with the same symbol have the same size; dims without
// a symbol have the same size on the same axis.
std::vector<Shape> shapes_of(const std::vector<TensorSpec>& inputs, ProbeStyle style,
                             uint32_t variant) {
  std::map<std::string, int64_t> sizes;
  std::vector<Shape> shapes;
  for (const TensorSpec& input : inputs) {
    Shape shape(input.dims);
    shape.set(0, 1);
    for (size_t axis = 1; axis < input.dims.size(); ++axis) {
      if (input.dims[axis] >= 0) continue;
      const bool named = axis < input.symbols.size() && !input.symbols[axis].empty();
      const std::string key = named ? input.symbols[axis] : "#" + std::to_string(axis);
      const size_t turn = sizes.size() % std::size(kSizes[0]);
      const int64_t size = style.large ? kLargeSizes[variant % 2] : kSizes[variant % 2][turn];
      shape.set(axis, sizes.try_emplace(key, size).first->second);
    }
    shapes.push_back(shape);
  }
  return shapes;
}

// The position of a value: the same position gets the same value.
struct Place {
  ProbeStyle style;
  uint64_t seed = 0;
  uint32_t row = 0;

  uint64_t bits(size_t element) const { return mix(seed + element * 0x9e3779b97f4a7c15u); }
  double number(size_t element) const {
    const double unit = static_cast<double>(bits(element) >> 11) * 0x1p-53;
    return style.narrow ? 0.05 + unit * 0.95 : unit * 4 - 2;
  }
  // The first element distinguishes rows.
  uint64_t integer(size_t element, uint64_t count) const {
    const uint64_t value = element == 0 ? row : bits(element);
    return style.narrow ? value % 2 : 1 + value % count;
  }
  std::string text(size_t element) const {
    uint64_t rest = bits(element);
    std::string out;
    for (uint64_t left = 1 + rest % 6; left > 0; --left) {
      rest = mix(rest);
      out += static_cast<char>(style.narrow ? '0' + rest % 10 : 'a' + rest % 26);
    }
    return out;
  }
};

template <typename T, typename Make>
void fill(std::vector<uint8_t>& bytes, const Make& make) {
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    const T value = static_cast<T>(make(i));
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

void fill_numbers(DType dtype, const Place& place, std::vector<uint8_t>& bytes) {
  visit(dtype, [&]<typename T>(TypeTag<T>) {
    constexpr bool kUnsigned = std::same_as<T, uint8_t>;
    constexpr uint64_t kCount = kUnsigned ? 199 : std::same_as<T, int8_t> ? 99 : 7;
    if constexpr (std::same_as<T, bool>) {
      fill<T>(bytes, [&](size_t i) { return place.integer(i, 2) % 2; });
    } else if constexpr (IsInteger<T>) {
      fill<T>(bytes, [&](size_t i) { return place.integer(i, kCount); });
    } else if constexpr (IsReal<T>) {
      fill<T>(bytes, [&](size_t i) { return place.number(i); });
    }
  });
}

template <typename T>
T load(const TensorView& tensor, size_t element) {
  T value;
  std::memcpy(&value, tensor.data + element * sizeof(T), sizeof(T));
  return value;
}

double number_at(const TensorView& tensor, size_t element) {
  return visit(tensor.dtype, [&]<typename T>(TypeTag<T>) -> double {
    if constexpr (IsNumber<T>) return static_cast<double>(load<T>(tensor, element));
    else return std::same_as<T, bool> ? tensor.data[element] : 0;
  });
}

size_t elements_of(const TensorView& tensor) {
  if (tensor.dtype == DType::Bytes) return tensor.strings.size();
  return tensor.bytes / dtype_bytes(tensor.dtype);
}

double largest_of(const TensorView& tensor) {
  double largest = 0;
  for (size_t i = 0; i < elements_of(tensor); ++i) {
    const double size = std::abs(number_at(tensor, i));
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  return largest;
}

// `largest`: largest magnitude in the row.
bool same_floats(double a, double b, bool is_coarse, double largest) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;  // includes infinities
  const double own = is_coarse ? 1e-2 : 1e-3, of_row = is_coarse ? 1e-2 : 1e-4;
  return std::abs(a - b) <= own * std::max(std::abs(a), std::abs(b)) + of_row * largest + 1e-7;
}

std::string text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.7g", value);
  return buffer;
}

bool same_element(const TensorView& a, const TensorView& b, size_t i, double largest,
                  ProbeDigits digits) {
  if (a.dtype == DType::Bytes) return a.strings[i] == b.strings[i];
  if (!dtype_is_real(a.dtype)) {
    const size_t size = dtype_bytes(a.dtype);
    return std::memcmp(a.data + i * size, b.data + i * size, size) == 0;
  }
  const bool is_coarse = digits == ProbeDigits::Coarse || dtype_bytes(a.dtype) == 2;
  return same_floats(number_at(a, i), number_at(b, i), is_coarse, largest);
}

}  // namespace

bool ProbeTensors::make(const std::vector<TensorSpec>& inputs, ProbeStyle style, uint32_t variant,
                        uint32_t row) {
  const std::vector<Shape> shapes = shapes_of(inputs, style, variant);
  uint64_t total = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::optional<uint64_t> elements = shapes[i].elements();
    const size_t width = std::max<size_t>(dtype_bytes(inputs[i].dtype), 1);
    if (!elements || *elements > kProbeRowBytesMax / width) return false;
    total += *elements * width;
    if (total > kProbeRowBytesMax) return false;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto count = static_cast<size_t>(*shapes[i].elements());
    const Place place{style, mix(i * 64 + variant * 32 + row), row};
    TensorView& view = views_.emplace_back();
    view.dtype = inputs[i].dtype;
    view.shape = shapes[i];
    if (view.dtype == DType::Bytes) {
      std::vector<std::string>& texts = texts_.emplace_back();
      for (size_t k = 0; k < count; ++k) texts.push_back(place.text(k));
      view.strings = strings_.emplace_back(texts.begin(), texts.end());
      continue;
    }
    std::vector<uint8_t>& bytes = bytes_.emplace_back(count * dtype_bytes(view.dtype));
    fill_numbers(view.dtype, place, bytes);
    view.data = bytes.data();
    view.bytes = bytes.size();
  }
  return true;
}

void ProbeTensors::copy(std::span<const TensorView> tensors) {
  for (const TensorView& tensor : tensors) {
    TensorView& view = views_.emplace_back(tensor);
    if (tensor.dtype == DType::Bytes) {
      std::vector<std::string>& texts =
          texts_.emplace_back(tensor.strings.begin(), tensor.strings.end());
      view.strings = strings_.emplace_back(texts.begin(), texts.end());
      continue;
    }
    view.data = bytes_.emplace_back(tensor.data, tensor.data + tensor.bytes).data();
  }
}

bool has_free_inner_dims(const std::vector<TensorSpec>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const TensorSpec& input) {
    return std::find(input.dims.begin() + 1, input.dims.end(), -1) != input.dims.end();
  });
}

std::optional<std::string> row_difference(const TensorView& together, uint32_t rows, uint32_t row,
                                          const TensorView& alone, ProbeDigits digits) {
  const std::string shapes = std::to_string(rows) + " rows together return shape " +
                             together.shape.to_string() + ", one row alone returns " +
                             alone.shape.to_string();
  const Shape& shape = together.shape;
  if (alone.shape.rank() == 0 || alone.shape[0] != 1 || shape.rank() != alone.shape.rank() ||
      shape[0] != int64_t{rows} ||
      !std::ranges::equal(shape.dims().subspan(1), alone.shape.dims().subspan(1))) {
    return shapes;
  }
  const TensorView own = slice_rows(together, row, 1);
  const bool numbers = own.dtype != DType::Bytes;
  const double largest = numbers ? std::max(largest_of(own), largest_of(alone)) : 0;
  const size_t count = elements_of(alone);
  size_t differ = 0, worst = 0;
  double most = -1;
  for (size_t i = 0; i < count; ++i) {
    if (same_element(own, alone, i, largest, digits)) continue;
    ++differ;
    double by = numbers ? std::abs(number_at(own, i) - number_at(alone, i)) : 0;
    if (std::isnan(by)) by = HUGE_VAL;
    if (by > most) {
      most = by;
      worst = i;
    }
  }
  if (differ == 0) return std::nullopt;
  std::string found = shapes + "; row " + std::to_string(row) + " differs in " +
                      std::to_string(differ) + " of " + std::to_string(count) + " elements";
  if (!numbers) return found;
  return found + ", by up to " + text(std::max(most, 0.0)) + " (" + text(number_at(own, worst)) +
         " together, " + text(number_at(alone, worst)) + " alone)";
}

ProbeSight sight_of(std::span<const TensorView> one, std::span<const TensorView> other) {
  ProbeSight sight = ProbeSight::Constant;
  for (size_t i = 0; i < one.size(); ++i) {
    const TensorView &a = one[i], &b = other[i];
    if (!(a.shape == b.shape)) sight = ProbeSight::Clear;
    const size_t count = std::min(elements_of(a), elements_of(b));
    bool finite = !dtype_is_real(a.dtype) || count == 0;
    const double largest = dtype_is_real(a.dtype) ? largest_of(a) : 0;
    for (size_t k = 0; k < count; ++k) {
      if (!finite) finite = std::isfinite(number_at(a, k)) || std::isfinite(number_at(b, k));
      if (!same_element(a, b, k, largest, ProbeDigits::Full)) sight = ProbeSight::Clear;
    }
    if (!finite) return ProbeSight::Blind;
  }
  return sight;
}

}  // namespace serval
