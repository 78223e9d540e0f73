// Converts values of a parsed V1 predict body to tensor memory with TensorFlow Serving's checks, in
// its order. Control plane of the hot path (plain decoder); any thread. Recursion ends at kRankMax.
#include "codec/serving/json_tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "codec/json/echo.h"
#include "codec/json/text.h"
#include "codec/serving/json.h"
#include "codec/serving/json_request.h"

namespace serval {

namespace {

// Upstream's shape of a value: the list sizes on the path through its first elements. False: deeper
// than rank_max.
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

}  // namespace

bool is_v1_column(const TensorSpec& spec) {
  return !spec.unchecked && !spec.unknown_rank && spec.dims.size() == 2 && spec.dims[0] < 0 &&
         spec.dims[1] == 1;
}

Status PlainTensor::append(const PlainBody& body, const JsonNode& value) {
  ++given_;
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

// Reserves the elements that the first value's shape predicts for all values, limited by the number
// of values in the body: a body whose later values differ is refused, so anything beyond is never
// stored.
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

// Source: tfserving.md 1.5 "Types"; 9 "8- and 16-bit integers out of range".
template <typename T>
Status PlainTensor::integer_leaf(const PlainBody& body, const JsonNode& value) {
  const DType dtype = spec_->dtype;
  T number;
  if (value.kind == JsonKind::Number && value.number.to_integer(number)) {
    store(number);
    return {};
  }
  const bool integer =
      value.kind == JsonKind::Number && value.number.form != JsonNumber::Form::Double;
  if (!integer || sizeof(T) > 2) return type_error(body, value, dtype);
  return invalid_argument("JSON Value: " + echo_json(body.document, value, body.text) +
                          " of input: " + spec_->name + " at index: " + std::to_string(count_) +
                          " is out of range for type: " + std::string(dtype_tf_name(dtype)) +
                          ". Expected " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                          std::to_string(std::numeric_limits<T>::max()));
}

Status PlainTensor::leaf(const PlainBody& body, const JsonNode& value) {
  const DType dtype = spec_->dtype;
  return visit(dtype, [&]<typename T>(TypeTag<T>) -> Status {
    if constexpr (std::same_as<T, std::string_view>) {
      return text_leaf(body, value);
    } else if constexpr (std::same_as<T, bool>) {
      const bool yes = value.kind == JsonKind::True;
      if (!yes && value.kind != JsonKind::False) return type_error(body, value, dtype);
      store(yes);
    } else if constexpr (IsInteger<T>) {
      return integer_leaf<T>(body, value);
    } else if constexpr (IsReal<T>) {
      if (value.kind == JsonKind::Null && is_v1_column(*spec_)) {
        store(T(std::numeric_limits<double>::quiet_NaN()));
        return {};
      }
      if (value.kind != JsonKind::Number) return type_error(body, value, dtype);
      store(T(value.number.f64));
    } else {
      return make_error(ErrorCode::Unimplemented,
                        "Conversion of JSON Value: " + echo_json(body.document, value, body.text) +
                            " to type: " + std::string(dtype_tf_name(dtype)));
    }
    return {};
  });
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
