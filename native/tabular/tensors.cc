// Conversion of tensors to columns and back. Hot path; one thread at a time.
#include "tabular/tensors.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace serval::tabular {
namespace {

// Memory that an output keeps from run to run.
constexpr size_t kKeptBytes = 1u << 20;

Type scalar_type(const TensorView& tensor, const FieldSpec& field) {
  const Type wanted = field.type == Type::List ? field.element : field.type;
  switch (tensor.dtype) {
    case DType::Bool: return Type::Bool;
    case DType::Int8: return Type::Int8;
    case DType::Int16: return Type::Int16;
    case DType::Int32: return Type::Int32;
    case DType::Int64: return wanted == Type::Time ? Type::Time : Type::Int64;
    case DType::Fp32: return Type::Float;
    case DType::Fp64:
    case DType::Vector: return Type::Double;
    case DType::Decimal: return Type::Decimal;
    case DType::String: return Type::String;
    case DType::Bytes: return wanted == Type::Binary ? Type::Binary : Type::String;
    case DType::Date: return Type::Date;
    case DType::Timestamp: return Type::Timestamp;
    default: return Type::Any;
  }
}

// Copies a tensor's elements into a column's storage.
template <typename From, typename To>
void copy_as(const TensorView& tensor, std::vector<To>& to) {
  const size_t count = tensor.bytes / sizeof(From);
  to.resize(count);
  if constexpr (sizeof(From) == sizeof(To) && !std::is_same_v<From, bool>) {
    if (count > 0) std::memcpy(to.data(), tensor.data, tensor.bytes);
  } else {
    for (size_t i = 0; i < count; ++i) {
      From one;
      std::memcpy(&one, tensor.data + i * sizeof(From), sizeof one);
      to[i] = static_cast<To>(one);
    }
  }
}

bool copy_values(Frame& frame, Column& column, Type type, const TensorView& tensor) {
  switch (type) {
    case Type::Bool: copy_as<bool>(tensor, column.integers); break;
    case Type::Int8: copy_as<int8_t>(tensor, column.integers); break;
    case Type::Int16: copy_as<int16_t>(tensor, column.integers); break;
    case Type::Int32: copy_as<int32_t>(tensor, column.integers); break;
    case Type::Int64:
    case Type::Date:
    case Type::Time:
    case Type::Timestamp: copy_as<int64_t>(tensor, column.integers); break;
    case Type::Float: copy_as<float>(tensor, column.reals); break;
    case Type::Double: copy_as<double>(tensor, column.reals); break;
    case Type::Decimal: copy_as<Int128>(tensor, column.decimals); break;
    case Type::String:
    case Type::Binary:
      column.texts.resize(tensor.strings.size());
      for (size_t i = 0; i < tensor.strings.size(); ++i) {
        column.texts[i] = frame.strings.intern(tensor.strings[i]);
      }
      break;
    default: return false;
  }
  return true;
}

Error bad_tensor(const FieldSpec& field, const TensorView& tensor) {
  return make_error(ErrorCode::Internal, "tabular: field '" + field.name + "' got " +
                                             std::string(dtype_name(tensor.dtype)) + " of shape " +
                                             tensor.shape.to_string());
}

size_t element_count(const TensorView& tensor) {
  if (dtype_is_text(tensor.dtype)) return tensor.strings.size();
  return tensor.bytes / std::max<size_t>(dtype_bytes(tensor.dtype), 1);
}

// Sets the row ends of [R,D] or, with lengths, [R,-1].
bool make_offsets(Column& column, const TensorView& tensor) {
  const bool ragged = is_ragged(tensor);
  if (!ragged && tensor.shape[1] < 0) return false;
  const uint64_t width = ragged ? 0 : static_cast<uint64_t>(tensor.shape[1]);
  uint64_t end = 0;
  column.offsets.assign(1, 0);
  for (uint32_t row = 0; row < column.rows; ++row) {
    end += ragged ? tensor.lengths[row] : width;
    column.offsets.push_back(end);
  }
  return end == element_count(tensor);
}

// Widens elements that are narrower than the column's.
template <typename To, typename From>
void narrow(std::span<const From> from, std::vector<uint8_t>& bytes, TensorView& out) {
  bytes.resize(from.size() * sizeof(To));
  for (size_t i = 0; i < from.size(); ++i) {
    const auto one = static_cast<To>(from[i]);
    std::memcpy(bytes.data() + i * sizeof one, &one, sizeof one);
  }
  out.data = bytes.data();
  out.bytes = bytes.size();
}

template <typename T>
void view(std::span<const T> from, TensorView& out) {
  out.data = reinterpret_cast<const uint8_t*>(from.data());
  out.bytes = from.size_bytes();
}

// Writes all elements of a tensor from a column, consecutively.
void set_elements(const Frame& frame, const Column& column, Type type, std::vector<uint8_t>& bytes,
                  std::vector<std::string_view>& strings, TensorView& out) {
  out.dtype = dtype_of(type);
  switch (type) {
    case Type::Bool: narrow<bool>(std::span<const int64_t>(column.integers), bytes, out); break;
    case Type::Int8: narrow<int8_t>(std::span<const int64_t>(column.integers), bytes, out); break;
    case Type::Int16: narrow<int16_t>(std::span<const int64_t>(column.integers), bytes, out); break;
    case Type::Int32: narrow<int32_t>(std::span<const int64_t>(column.integers), bytes, out); break;
    case Type::Float: narrow<float>(std::span<const double>(column.reals), bytes, out); break;
    case Type::Double:
    case Type::Vector: view(std::span<const double>(column.reals), out); break;
    case Type::Decimal: view(std::span<const Int128>(column.decimals), out); break;
    case Type::String:
    case Type::Binary:
      strings.resize(column.texts.size());
      for (size_t i = 0; i < strings.size(); ++i) {
        strings[i] = frame.strings.has(column.texts[i]) ? frame.strings.text(column.texts[i])
                                                        : std::string_view();
      }
      out.strings = strings;
      break;
    default: view(std::span<const int64_t>(column.integers), out); break;
  }
}

template <typename T>
void append_row(const std::vector<T>& from, const Column& column, uint32_t row, uint32_t length,
                std::vector<T>& to) {
  const auto first = from.begin() + static_cast<ptrdiff_t>(column.offsets[row]);
  const size_t held = static_cast<size_t>(column.offsets[row + 1] - column.offsets[row]);
  to.insert(to.end(), first, first + static_cast<ptrdiff_t>(std::min<size_t>(held, length)));
  if (held < length) to.resize(to.size() + length - held);
}

// Spreads the column's values to rows of these lengths: sparse ones become dense, and missing rows
// become zeros.
void spread(const Column& column, const std::vector<uint32_t>& lengths, Column& to) {
  to.reset(column.type, 0, column.element);
  for (uint32_t row = 0; row < lengths.size(); ++row) {
    if (column.sparse) {
      const size_t first = to.reals.size();
      to.reals.resize(first + lengths[row]);
      const std::span<const double> values = column.row_reals(row);
      const std::span<const int32_t> indices = column.row_indices(row);
      for (size_t i = 0; i < values.size(); ++i) {
        const auto at = static_cast<size_t>(indices[i]);
        if (at < lengths[row]) to.reals[first + at] = values[i];
      }
      continue;
    }
    switch (storage_of(column.type == Type::List ? column.element : column.type)) {
      case Storage::Real: append_row(column.reals, column, row, lengths[row], to.reals); break;
      case Storage::Integer:
        append_row(column.integers, column, row, lengths[row], to.integers);
        break;
      case Storage::Text: append_row(column.texts, column, row, lengths[row], to.texts); break;
      case Storage::Decimal:
        append_row(column.decimals, column, row, lengths[row], to.decimals);
        break;
    }
  }
}

// Fills a column of numbers that the last run left as one of the same type and rows. Returns
// whether it was one.
bool refill(Column& column, Type type, const TensorView& tensor) {
  const size_t rows = column.reals.size();
  const bool same = column.type == type && column.rows == rows && tensor.shape.rank() == 1 &&
                    tensor.shape[0] == static_cast<int64_t>(rows) && column.states.empty() &&
                    column.failures.empty() && tensor.states == nullptr;
  if (!same) return false;
  if (type == Type::Float && tensor.bytes == rows * sizeof(float)) {
    copy_as<float>(tensor, column.reals);
    return true;
  }
  if (type != Type::Double || tensor.bytes != rows * sizeof(double)) return false;
  copy_as<double>(tensor, column.reals);
  return true;
}

void mark_refused(const Frame& frame, Column& column) {
  for (uint32_t row = 0; row < frame.refused.size(); ++row) {
    if (frame.refused[row] != 0) column.set_missing(row);
  }
}

}  // namespace

Status fill_column(Frame& frame, Column& column, const FieldSpec& field, const TensorView& tensor) {
  const size_t rank = tensor.shape.rank();
  const Type type = scalar_type(tensor, field);
  if (column.reals.size() == frame.rows && refill(column, type, tensor)) return {};
  if (type == Type::Any || rank < 1 || rank > 2 || tensor.shape[0] != frame.rows) {
    return bad_tensor(field, tensor);
  }
  if (rank == 1) {
    column.reset(type, frame.rows);
  } else {
    const bool vector =
        tensor.dtype == DType::Vector || (field.type == Type::Vector && type == Type::Double);
    column.reset(vector ? Type::Vector : Type::List, frame.rows, vector ? Type::Any : type);
    if (!make_offsets(column, tensor)) return bad_tensor(field, tensor);
  }
  if (!copy_values(frame, column, type, tensor)) return bad_tensor(field, tensor);
  if (rank == 1 && element_count(tensor) != frame.rows) return bad_tensor(field, tensor);
  column.precision = tensor.precision;
  column.scale = tensor.scale;
  if (tensor.states != nullptr) column.states.assign(tensor.states, tensor.states + frame.rows);
  return {};
}

size_t OutputTensors::Memory::held() const {
  return bytes.capacity() + states.capacity() + spread.held_bytes() +
         lengths.capacity() * sizeof(uint32_t) + strings.capacity() * sizeof(std::string_view);
}

void OutputTensors::begin(size_t count, uint64_t bytes_max) {
  bytes_left_ = bytes_max;
  views_.clear();
  views_.reserve(count);
  if (memory_.size() < count) memory_.resize(count);
}

void OutputTensors::release() {
  views_.clear();
  for (Memory& memory : memory_) {
    if (memory.held() > kKeptBytes) memory = Memory();
  }
}

Status OutputTensors::add(const Frame& frame, Column& column, const FieldSpec& spec) {
  if (column.type == Type::Any) {  // a field that no request fills and whose type is not declared
    column.reset(spec.type == Type::Any ? Type::Double : spec.type, frame.rows, spec.element);
    if (is_list(column.type)) column.end_rows(frame.rows);
    else column.states.assign(frame.rows, static_cast<uint8_t>(State::Missing));
  }
  if (!frame.refused.empty()) mark_refused(frame, column);
  Memory& memory = memory_[views_.size()];
  TensorView& out = views_.emplace_back();
  if (!is_list(column.type)) {
    add_scalars(frame, column, memory, out);
  } else if (Status added = add_cells(frame, column, spec, memory, out); !added.ok()) {
    return added;
  }
  out.precision = column.precision;
  out.scale = column.scale;
  if (column.states.empty()) return {};
  constexpr auto kMissing = static_cast<uint8_t>(State::Missing);
  if (std::find(column.states.begin(), column.states.end(), kMissing) == column.states.end()) {
    return {};
  }
  memory.states.resize(frame.rows);
  for (uint32_t row = 0; row < frame.rows; ++row) {
    memory.states[row] = column.states[row] == kMissing ? 1 : 0;
  }
  out.states = memory.states.data();
  return {};
}

void OutputTensors::add_scalars(const Frame& frame, const Column& column, Memory& memory,
                                TensorView& out) {
  set_elements(frame, column, column.type, memory.bytes, memory.strings, out);
  (void)out.shape.push_back(frame.rows);
}

// Rows of one length, ignoring missing ones, are [R,D]; others [R,-1]. A model may declare vectors
// of 2^31 elements whose sparse form is small, so bytes are counted before allocation.
Status OutputTensors::add_cells(const Frame& frame, const Column& column, const FieldSpec& spec,
                                Memory& memory, TensorView& out) {
  const Type type = column.type == Type::List ? column.element : Type::Vector;
  size_t width = spec.size > 0 ? static_cast<size_t>(spec.size) : 0;
  bool known = false, equal = true;
  uint64_t elements = 0;
  memory.lengths.assign(frame.rows, 0);
  for (uint32_t row = 0; row < frame.rows; ++row) {
    if (column.state(row) == State::Missing) continue;
    const size_t length = column.length(row);
    memory.lengths[row] = static_cast<uint32_t>(length);
    equal = equal && (!known || length == width);
    width = length;
    known = true;
    elements += length;
  }
  (void)out.shape.push_back(frame.rows);
  (void)out.shape.push_back(equal ? static_cast<int64_t>(width) : -1);
  if (equal) memory.lengths.assign(frame.rows, static_cast<uint32_t>(width));
  else out.lengths = memory.lengths.data();
  bool in_place = !column.sparse;
  for (uint32_t row = 0; row < frame.rows && in_place; ++row) {
    in_place = column.offsets[row + 1] - column.offsets[row] == memory.lengths[row];
  }
  if (!in_place) {
    if (equal) elements = uint64_t{frame.rows} * width;
    const uint64_t bytes = elements * std::max<uint64_t>(dtype_bytes(dtype_of(type)), 1);
    if (bytes > bytes_left_) {
      return make_error(ErrorCode::BodyTooLarge,
                        "output '" + spec.name + "': " + std::to_string(frame.rows) +
                            " rows with a total of " + std::to_string(elements) + " elements are " +
                            std::to_string(bytes) + " bytes, but the response has space for " +
                            std::to_string(bytes_left_));
    }
    bytes_left_ -= bytes;
    spread(column, memory.lengths, memory.spread);
  }
  set_elements(frame, in_place ? column : memory.spread, type, memory.bytes, memory.strings, out);
  return {};
}

}  // namespace serval::tabular
