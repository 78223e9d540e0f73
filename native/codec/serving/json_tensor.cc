// Values of a parsed V1 predict body as tensor memory, with TensorFlow Serving's checks in its
// order. Control plane of the hot path (plain decoder); any thread. Recursion ends at kRankMax.
#include "codec/serving/json_tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "codec/json/echo.h"
#include "codec/json/text.h"
#include "codec/serving/json_request.h"

namespace serval {

namespace {

// Upstream's shape of a value: the sizes met on the way down its first elements. False past
// rank_max.
bool dense_shape(const JsonDocument& document, const JsonNode& value, size_t rank_max,
                 Shape& shape) {
  shape.clear();
  const JsonNode* node = &value;
  while (node != nullptr && node->kind == JsonKind::Array) {
    if (shape.rank() == rank_max || !shape.push_back(node->children)) return false;
    node = document.child(*node);
  }
  return true;
}

Error type_error(const PlainBody& body, const JsonNode& value, DType dtype) {
  return invalid_argument("JSON Value: " + echo_json(body.document, value, body.text) +
                          " Type: " + std::string(json_kind_name(value.kind)) +
                          " is not of expected type: " + std::string(dtype_tf_name(dtype)));
}

struct IntegerRange {
  int64_t min;
  uint64_t max;
};

template <typename T>
constexpr IntegerRange range_of() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

// Of the integer dtypes; {0, 0} for others.
IntegerRange integer_range(DType dtype) {
  switch (dtype) {
    case DType::Uint8: return range_of<uint8_t>();
    case DType::Uint16: return range_of<uint16_t>();
    case DType::Uint32: return range_of<uint32_t>();
    case DType::Uint64: return range_of<uint64_t>();
    case DType::Int8: return range_of<int8_t>();
    case DType::Int16: return range_of<int16_t>();
    case DType::Int32: return range_of<int32_t>();
    case DType::Int64: return range_of<int64_t>();
    case DType::Invalid:
    case DType::Bool:
    case DType::Fp16:
    case DType::Fp32:
    case DType::Fp64:
    case DType::Bytes:
    case DType::Bf16: break;
  }
  return {0, 0};
}

bool in_range(const JsonNumber& number, IntegerRange range) {
  if (number.form == JsonNumber::Form::Uint64) return number.u64 <= range.max;
  if (number.i64 < 0) return number.i64 >= range.min;
  return static_cast<uint64_t>(number.i64) <= range.max;
}

}  // namespace

bool is_base64_object(const JsonDocument& document, const JsonNode& value) {
  if (value.kind != JsonKind::Object || value.children != 1) return false;
  const JsonNode* member = document.child(value);
  return member->key == kBase64Key && member->kind == JsonKind::String;
}

Status PlainTensor::append(const PlainBody& body, const JsonNode& value) {
  if (!dense_shape(body.document, value, rank_max_, shape_)) {
    return invalid_argument("Encountered list nested deeper than " + std::to_string(rank_max_) +
                            " levels in the value of input: " + spec_->name);
  }
  if (first_) {
    Status reserved = reserve(body);
    if (!reserved.ok()) return reserved;
  }
  count_ = 0;
  Status filled = fill(body, value, 0);
  if (!filled.ok()) return filled;
  if (!first_) return compare_with_first();
  first_ = false;
  first_shape_ = shape_;
  first_count_ = count_;
  return {};
}

Status PlainTensor::compare_with_first() const {
  if (count_ != first_count_) {
    return invalid_argument("Expecting tensor size: " + std::to_string(first_count_) +
                            " but got: " + std::to_string(count_));
  }
  if (!(shape_ == first_shape_)) {
    return invalid_argument("Expecting shape " + first_shape_.to_string() +
                            " but got: " + shape_.to_string());
  }
  return {};
}

// As many elements as the first value's shape promises for all values, but not more than the body
// has values: a body whose later values differ is refused, so what goes beyond is not stored.
Status PlainTensor::reserve(const PlainBody& body) {
  const uint64_t present = body.document.nodes.size();
  const std::optional<uint64_t> each = shape_.elements();
  uint64_t all = present;
  if (each && !__builtin_mul_overflow(*each, values_, &all)) all = std::min(all, present);
  capacity_ = std::min(all, present);
  if (spec_->dtype == DType::Bytes) {
    strings_ = body.arena.allocate_array<std::string_view>(capacity_);
  } else {
    data_ = body.arena.allocate_array<uint8_t>(capacity_ * dtype_bytes(spec_->dtype));
  }
  if (data_ != nullptr || strings_ != nullptr) return {};
  return make_error(ErrorCode::MemoryFull, "out of memory for input: " + spec_->name);
}

Status PlainTensor::fill(const PlainBody& body, const JsonNode& value, size_t level) {
  const size_t rank = shape_.rank();
  if (value.kind != JsonKind::Array) {
    if (level != rank) {
      return invalid_argument("JSON Value: " + echo_json(body.document, value, body.text) +
                              " found at incorrect level: " + std::to_string(level + 1) +
                              " in the JSON DOM. Expected at level: " + std::to_string(rank));
    }
    Status status = leaf(body, value);
    ++count_;
    ++total_;
    return status;
  }
  if (level >= rank) {
    return invalid_argument("Encountered list at unexpected level: " + std::to_string(level) +
                            " expected < " + std::to_string(rank));
  }
  if (value.children != static_cast<uint64_t>(shape_[level])) {
    return invalid_argument(
        "Encountered list at unexpected size: " + std::to_string(value.children) +
        " at level: " + std::to_string(level) + " expected size: " + std::to_string(shape_[level]));
  }
  const JsonNode* item = body.document.child(value);
  for (; item != nullptr; item = body.document.sibling(*item)) {
    Status status = fill(body, *item, level + 1);
    if (!status.ok()) return status;
  }
  return {};
}

template <typename T>
void PlainTensor::store(T value) {
  if (total_ < capacity_) std::memcpy(data_ + total_ * sizeof(T), &value, sizeof(T));
}

Status PlainTensor::leaf(const PlainBody& body, const JsonNode& value) {
  const DType dtype = spec_->dtype;
  switch (dtype) {
    case DType::Bytes: return text_leaf(body, value);
    case DType::Bool: {
      const bool yes = value.kind == JsonKind::True;
      if (!yes && value.kind != JsonKind::False) return type_error(body, value, dtype);
      store<uint8_t>(yes);
      return {};
    }
    case DType::Fp16:
    case DType::Bf16:
    case DType::Fp32:
    case DType::Fp64: {
      if (value.kind != JsonKind::Number) return type_error(body, value, dtype);
      const double number = value.number.f64;
      if (dtype == DType::Fp64) store<double>(number);
      if (dtype == DType::Fp32) store<float>(static_cast<float>(number));
      if (dtype == DType::Fp16) store<uint16_t>(double_to_half(number));
      if (dtype == DType::Bf16) store<uint16_t>(double_to_bf16(number));
      return {};
    }
    case DType::Invalid:
      return make_error(ErrorCode::Unimplemented,
                        "Conversion of JSON Value: " + echo_json(body.document, value, body.text) +
                            " to type: " + std::string(dtype_tf_name(dtype)));
    case DType::Uint8:
    case DType::Uint16:
    case DType::Uint32:
    case DType::Uint64:
    case DType::Int8:
    case DType::Int16:
    case DType::Int32:
    case DType::Int64: return integer_leaf(body, value);
  }
  return {};
}

// Source: tfserving.md 1.5 "Types"; 9 "8- and 16-bit integers out of range".
Status PlainTensor::integer_leaf(const PlainBody& body, const JsonNode& value) {
  const DType dtype = spec_->dtype;
  const JsonNumber& number = value.number;
  const bool integer = value.kind == JsonKind::Number && number.form != JsonNumber::Form::Double;
  const IntegerRange range = integer_range(dtype);
  if (integer && !in_range(number, range) && dtype_bytes(dtype) <= 2) {
    return invalid_argument("JSON Value: " + echo_json(body.document, value, body.text) +
                            " of input: " + spec_->name + " at index: " + std::to_string(count_) +
                            " is out of range for type: " + std::string(dtype_tf_name(dtype)) +
                            ". Expected " + std::to_string(range.min) + " to " +
                            std::to_string(range.max));
  }
  if (!integer || !in_range(number, range)) return type_error(body, value, dtype);
  const bool large = number.form == JsonNumber::Form::Uint64;
  const uint64_t bits = large ? number.u64 : static_cast<uint64_t>(number.i64);
  switch (dtype_bytes(dtype)) {
    case 1: store(static_cast<uint8_t>(bits)); break;
    case 2: store(static_cast<uint16_t>(bits)); break;
    case 4: store(static_cast<uint32_t>(bits)); break;
    default: store(bits);
  }
  return {};
}

Status PlainTensor::text_leaf(const PlainBody& body, const JsonNode& value) {
  std::string_view text = value.text;
  if (value.kind == JsonKind::Object) {
    if (!is_base64_object(body.document, value)) {
      return invalid_argument("JSON Value: " + echo_json(body.document, value, body.text) +
                              " not formatted correctly for base64 data");
    }
    const Base64Result decoded = decode_base64(body.document.child(value)->text, body.arena);
    if (!decoded.ok) return invalid_argument("Unable to base64 decode");
    text = decoded.bytes;
  } else if (value.kind != JsonKind::String) {
    return type_error(body, value, DType::Bytes);
  }
  if (total_ < capacity_) strings_[total_] = text;
  return {};
}

TensorView PlainTensor::view(const Shape& shape) const {
  TensorView view;
  view.dtype = spec_->dtype;
  view.shape = shape;
  if (view.dtype == DType::Bytes) {
    view.strings = {strings_, total_};
  } else {
    view.data = data_;
    view.bytes = total_ * dtype_bytes(view.dtype);
  }
  return view;
}

TensorView PlainTensor::whole() const { return view(first_shape_); }

TensorView PlainTensor::batch() const {
  Shape shape;
  bool fits = shape.push_back(static_cast<int64_t>(values_));
  for (int64_t dim : first_shape_.dims()) fits = fits && shape.push_back(dim);
  return view(shape);
}

}  // namespace serval
