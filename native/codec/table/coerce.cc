// Collects and converts a field's values. Hot path; any thread. Two steps: a field's values are
// made contiguous, without a copy if they already are, and then converted (convert.cc) if the model
// requires another type.
#include <algorithm>
#include <cstring>

#include "codec/table/convert.h"

namespace serval::table {

namespace {

using Type = plan::Type;
using View = std::string_view;

// The type of a tensor's elements unless the model requires another. Any: no model accepts it.
Type natural_type(const RequestTensor& tensor, Type wanted) {
  if (tensor.parameters.is_decimal()) return Type::Decimal;
  switch (tensor.dtype) {
    case DType::Bool: return Type::Bool;
    case DType::Int8: return Type::Int8;
    case DType::Uint8:
    case DType::Int16: return Type::Int16;
    case DType::Uint16:
    case DType::Int32: return Type::Int32;
    case DType::Uint32:
    case DType::Int64: return Type::Int64;
    case DType::Fp16:
    case DType::Bf16:
    case DType::Fp32: return Type::Float;
    case DType::Fp64:
    case DType::Vector: return Type::Double;
    case DType::Bytes: return wanted == Type::Binary ? Type::Binary : Type::String;
    case DType::String: return Type::String;
    case DType::Date: return Type::Date;
    case DType::Timestamp: return Type::Timestamp;
    case DType::Uint64:
    case DType::Decimal:
    case DType::Invalid: break;
  }
  return Type::Any;
}

// A field's type for messages: "FP64 (Double)".
std::string type_text(const FieldSpec& field) {
  if (field.type == Type::List) {
    return "ARRAY<" + std::string(dtype_name(dtype_of(field.element))) + ">";
  }
  return std::string(dtype_name(dtype_of(field.type))) + " (" +
         std::string(plan::EnumNameType(field.type)) + ")";
}

}  // namespace

uint64_t FieldMaker::row_of(uint64_t index, uint64_t& element) const {
  element = 0;
  if (!cells_) return index;
  if (lengths_ == nullptr) {
    element = index % tensor_.size;
    return index / tensor_.size;
  }
  if (index < row_begin_) row_at_ = row_begin_ = 0;
  while (index - row_begin_ >= lengths_[row_at_]) row_begin_ += lengths_[row_at_++];
  element = index - row_begin_;
  return row_at_;
}

std::string FieldMaker::place_of(uint64_t index) const {
  uint64_t element = 0;
  std::string place = where() + ", row " + std::to_string(row_of(index, element));
  if (cells_) place += ", element " + std::to_string(element);
  return place;
}

Error FieldMaker::bad_value(uint64_t index, View expected, const std::string& got) const {
  return invalid_argument(place_of(index) + ": expected " + std::string(expected) + ", got " + got);
}

Error FieldMaker::mismatch() const {
  const bool array = tensor_.has_cells && tensor_.dtype != DType::Vector;
  std::string got(dtype_name(tensor_.dtype));
  if (array) got = "ARRAY<" + got + ">";
  if (tensor_.parameters.is_decimal()) got += " with precision and scale";
  return invalid_argument(where() + ": the model's type is " + type_text(field_) + ", got " + got +
                          " (shape " + tensor_.shape.to_string() + ")");
}

Status FieldMaker::set_null(uint64_t index) {
  if (states_ == nullptr) {
    states_ = arena_.allocate_array<uint8_t>(tensor_.rows);
    if (states_ == nullptr) return no_memory();
    std::memset(states_, 0, tensor_.rows);
  }
  states_[index] = 1;
  return {};
}

template <typename T>
Status FieldMaker::take_values(const T* from, const T*& to) {
  if (tensor_.fields == 1) {
    to = from;
    return {};
  }
  T* out = arena_.allocate_array<T>(count_);
  if (out == nullptr) return no_memory();
  to = out;
  if (lengths_ != nullptr) {
    const uint32_t* length = tensor_.lengths;
    for (uint64_t cell = 0; cell < tensor_.cells(); ++cell) {
      if (cell % tensor_.fields == place_) out = std::copy_n(from, length[cell], out);
      from += length[cell];
    }
    return {};
  }
  const uint64_t size = tensor_.size, step = tensor_.fields * size;
  from += place_ * size;
  for (uint64_t row = 0; row < tensor_.rows; ++row, from += step) {
    if (size == 1) *out++ = *from;
    else out = std::copy_n(from, size, out);
  }
  return {};
}

// Reads the field's own lengths.
Status FieldMaker::take_ragged() {
  lengths_ = tensor_.lengths;
  count_ = tensor_.elements;
  if (tensor_.fields == 1) return {};
  auto* lengths = arena_.allocate_array<uint32_t>(tensor_.rows);
  if (lengths == nullptr) return no_memory();
  count_ = 0;
  for (uint64_t row = 0; row < tensor_.rows; ++row) {
    lengths[row] = tensor_.lengths[row * tensor_.fields + place_];
    count_ += lengths[row];
  }
  lengths_ = lengths;
  return {};
}

Status FieldMaker::take_nulls() {
  if (tensor_.nulls == nullptr) return {};
  for (uint64_t row = 0; row < tensor_.rows; ++row) {
    if (tensor_.nulls[row * tensor_.fields + place_] == 0) continue;
    if (Status set = set_null(row); !set.ok()) return set;
  }
  return {};
}

Status FieldMaker::take() {
  count_ = tensor_.rows * tensor_.size;
  if (tensor_.is_ragged()) {
    if (Status taken = take_ragged(); !taken.ok()) return taken;
  }
  if (Status taken = take_nulls(); !taken.ok()) return taken;
  if (has_strings()) return take_values(tensor_.strings, strings_);
  return visit(carrier_of(tensor_.dtype), [this]<typename T>(TypeTag<T>) -> Status {
    if constexpr (std::is_trivially_copyable_v<T> && !std::same_as<T, View>) {
      const T* values = nullptr;
      Status taken = take_values(reinterpret_cast<const T*>(tensor_.data), values);
      data_ = reinterpret_cast<const uint8_t*>(values);
      return taken;
    } else {
      return make_error(ErrorCode::Internal, "a tensor without a datatype");
    }
  });
}

// Decides the type of the values, and the type to convert them to.
Status FieldMaker::settle_type() {
  const Type wanted = field_.type == Type::List ? field_.element : field_.type;
  from_ = natural_type(tensor_, wanted);
  if (from_ == Type::Any) {
    return invalid_argument(where() + ": datatype " + std::string(dtype_name(tensor_.dtype)) +
                            " is not supported by tabular models");
  }
  cells_ = tensor_.has_cells || (!field_.any && has_cells(field_));
  if (field_.any) {
    to_ = tensor_.dtype == DType::Vector || (cells_ && field_.type == Type::Vector) ? Type::Vector
                                                                                    : from_;
    return {};
  }
  if (cells_ != has_cells(field_)) return mismatch();
  to_ = wanted;
  return {};
}

// Source: 2.3 "vector_size".
Status FieldMaker::check_sizes() {
  if (!cells_) return {};
  const auto wrong = [&](uint64_t row, uint64_t size) {
    return invalid_argument(where() + ", row " + std::to_string(row) + ": expected " +
                            std::to_string(field_.size) + " elements, got " + std::to_string(size));
  };
  const bool fixed = field_.type == Type::Vector && field_.size >= 0;
  if (lengths_ == nullptr) {
    const bool fits = !fixed || tensor_.size == static_cast<uint64_t>(field_.size);
    return fits || tensor_.rows == 0 ? Status() : wrong(0, tensor_.size);
  }
  for (uint64_t row = 0; row < tensor_.rows; ++row) {
    if (lengths_[row] > kTableCellMax) {
      return over_limit(where() + ": elements of a cell", lengths_[row], kTableCellMax);
    }
    if (!fixed || lengths_[row] == static_cast<uint64_t>(field_.size)) continue;
    if (states_ == nullptr || states_[row] == 0) return wrong(row, lengths_[row]);
  }
  return {};
}

void FieldMaker::set_shape() {
  out_.shape.clear();
  (void)out_.shape.push_back(static_cast<int64_t>(tensor_.rows));
  if (cells_) {
    const bool ragged = lengths_ != nullptr;
    (void)out_.shape.push_back(ragged ? -1 : static_cast<int64_t>(tensor_.size));
    out_.lengths = lengths_;
  }
  out_.states = states_;
}

Status FieldMaker::make() {
  out_ = TensorView();
  Status done = settle_type();
  if (done.ok()) done = take();
  if (done.ok()) done = check_sizes();
  if (done.ok()) done = convert();
  if (done.ok()) set_shape();
  return done;
}

Status make_field(const RequestTensor& tensor, uint64_t place, const FieldSpec& field,
                  const TableSchema& table, bool text_is_checked, Arena& arena, TensorView& out) {
  return FieldMaker(tensor, place, field, table, text_is_checked, arena, out).make();
}

namespace {

// Copies column `place` of a matrix. Returns whether it has a NaN.
template <typename From, typename To>
bool copy_column(const RequestTensor& tensor, uint64_t place, To* to) {
  const From* from = reinterpret_cast<const From*>(tensor.data) + place;
  bool has_nan = false;
  for (uint64_t row = 0; row < tensor.rows; ++row, from += tensor.fields) {
    to[row] = static_cast<To>(*from);
    has_nan |= to[row] != to[row];
  }
  return has_nan;
}

}  // namespace

bool copy_matrix_column(const RequestTensor& tensor, uint64_t place, const FieldSpec& field,
                        const TableSchema& table, double* to, TensorView& out) {
  const bool floats = tensor.dtype == DType::Fp32;
  const bool to_float = field.type == plan::Type::Float && floats;
  if (tensor.nulls != nullptr || tensor.parameters.is_decimal() || field.any ||
      (!to_float && field.type != plan::Type::Double)) {
    return false;
  }
  const bool has_nan = to_float ? copy_column<float>(tensor, place, reinterpret_cast<float*>(to))
                                : (floats ? copy_column<float>(tensor, place, to)
                                          : copy_column<double>(tensor, place, to));
  if (has_nan && table.nan_is_missing) return false;
  out.dtype = to_float ? DType::Fp32 : DType::Fp64;
  out.data = reinterpret_cast<const uint8_t*>(to);
  out.bytes = tensor.rows * dtype_bytes(out.dtype);
  const int64_t dims[] = {static_cast<int64_t>(tensor.rows)};
  out.shape = Shape(dims);
  return true;
}

Status read_lengths(const RequestTensor& companion, uint64_t cells, Arena& arena,
                    const uint32_t*& lengths, uint64_t& total) {
  auto* out = arena.allocate_array<uint32_t>(cells);
  if (out == nullptr) return no_memory();
  lengths = out;
  total = 0;
  const bool wide = companion.dtype == DType::Int64;
  for (uint64_t i = 0; i < cells; ++i) {
    int64_t length = 0;
    if (wide) length = reinterpret_cast<const int64_t*>(companion.data)[i];
    else length = reinterpret_cast<const int32_t*>(companion.data)[i];
    if (length < 0) {
      return invalid_argument(input_text(companion) + ", element " + std::to_string(i) +
                              ": expected a length of 0 or more, got " + std::to_string(length));
    }
    const auto size = static_cast<uint64_t>(length);
    if (size > kTableCellMax) {
      return over_limit(input_text(companion) + ", element " + std::to_string(i) + ": a length",
                        size, kTableCellMax);
    }
    out[i] = static_cast<uint32_t>(size);
    total += size;
  }
  return {};
}

}  // namespace serval::table
