// See coerce.h. Hot path; any thread. Two steps: a field's values are brought together, without a
// copy where they are so already, and then converted where the model wants another type. Loops run
// over one type; which values are null is asked only about those that cannot be converted.
#include "codec/table/coerce.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "base/bytes/utf8.h"
#include "base/copies.h"
#include "codec/values/calendar.h"
#include "codec/values/decimal.h"
#include "codec/values/text_values.h"

namespace serval::table {

namespace {

using Type = plan::Type;
using View = std::string_view;

constexpr int64_t kExactMax = int64_t{1} << 53;  // beyond it not every integer is a double

constexpr bool is_integer(Type type) { return type >= Type::Int8 && type <= Type::Int64; }
constexpr bool is_real(Type type) { return type == Type::Float || type == Type::Double; }
constexpr bool is_text(Type type) { return type == Type::String || type == Type::Binary; }
constexpr bool is_time(Type type) {
  return type == Type::Date || type == Type::Time || type == Type::Timestamp;
}

// What a tensor's elements are where nobody wants anything else. Any: nothing that a model takes.
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

// A field's type in words: "FP64 (Double)".
std::string type_text(const FieldSpec& field) {
  if (field.type == Type::List) {
    return "ARRAY<" + std::string(dtype_name(dtype_of(field.element))) + ">";
  }
  return std::string(dtype_name(dtype_of(field.type))) + " (" +
         std::string(plan::EnumNameType(field.type)) + ")";
}

class FieldMaker {
 public:
  FieldMaker(const RequestTensor& tensor, uint64_t place, const FieldSpec& field,
             const TableSchema& table, bool text_is_checked, Arena& arena, TensorView& out)
      : tensor_(tensor),
        place_(place),
        field_(field),
        table_(table),
        text_is_checked_(text_is_checked),
        arena_(arena),
        out_(out) {}

  Status make();

 private:
  // Values of the field, one behind the other.
  Status take();
  Status take_nulls();
  Status take_ragged();
  template <typename T>
  Status take_values(const T* from, const T*& to);

  Status settle_type();
  Status convert();
  Status to_integers(Type to);
  Status to_reals(Type to);
  Status to_decimals();
  Status to_text();
  Status to_time(Type to);
  Status to_bools();
  template <typename T>
  Status narrow(const int64_t* wide);
  Status widen(const int64_t*& wide);
  Status widen(const double*& wide);
  Status find_nan();
  Status check_sizes();
  void set_shape();

  template <typename To, typename From, typename Step>
  Status each(const From* in, To* out, View expected, Step step);
  template <typename T>
  void set_data(const T* values) {
    out_.data = reinterpret_cast<const uint8_t*>(values);
    out_.bytes = static_cast<size_t>(count_) * sizeof(T);
  }
  bool as_it_is(DType dtype) const {
    return tensor_.dtype == dtype && !tensor_.parameters.is_decimal();
  }
  bool has_strings() const { return dtype_is_text(carrier_of(tensor_.dtype)); }

  // The row and, in cells, the element that value `index` is.
  uint64_t row_of(uint64_t index, uint64_t& element) const;
  bool is_null(uint64_t index) const {
    uint64_t element = 0;
    return states_ != nullptr && states_[row_of(index, element)] != 0;
  }
  Status set_null(uint64_t index);
  std::string where() const {
    const bool own_name = tensor_.name == field_.name;
    return input_text(tensor_) + (own_name ? "" : ", field " + quoted(field_.name));
  }
  Error bad_value(uint64_t index, View expected, const std::string& got) const;
  Error mismatch() const;

  static std::string text_of(View value) { return quoted(value); }
  static std::string text_of(int64_t value) { return std::to_string(value); }
  static std::string text_of(uint64_t value) { return std::to_string(value); }
  static std::string text_of(double value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value);
    return {text, end.ptr};
  }

  const RequestTensor& tensor_;
  const uint64_t place_;
  const FieldSpec& field_;
  const TableSchema& table_;
  const bool text_is_checked_;
  Arena& arena_;
  TensorView& out_;

  bool cells_ = false;                      // vectors or lists
  Type from_ = Type::Any, to_ = Type::Any;  // of an element
  uint64_t count_ = 0;                      // elements
  const uint8_t* data_ = nullptr;
  const View* strings_ = nullptr;
  const uint32_t* lengths_ = nullptr;
  uint8_t* states_ = nullptr;
};

uint64_t FieldMaker::row_of(uint64_t index, uint64_t& element) const {
  element = 0;
  if (!cells_) return index;
  if (lengths_ == nullptr) {
    element = index % tensor_.size;
    return index / tensor_.size;
  }
  uint64_t row = 0;
  while (index >= lengths_[row]) index -= lengths_[row++];
  element = index;
  return row;
}

Error FieldMaker::bad_value(uint64_t index, View expected, const std::string& got) const {
  uint64_t element = 0;
  std::string place = ", row " + std::to_string(row_of(index, element));
  if (cells_) place += ", element " + std::to_string(element);
  return invalid_argument(where() + place + ": expected " + std::string(expected) + ", got " + got);
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

// Calls step(in, out) for each value; false stops at a value that is not null.
template <typename To, typename From, typename Step>
Status FieldMaker::each(const From* in, To* out, View expected, Step step) {
  for (uint64_t i = 0; i < count_; ++i) {
    if (step(in[i], out[i])) [[likely]]
      continue;
    if (!is_null(i)) return bad_value(i, expected, text_of(in[i]));
    out[i] = To();
  }
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

// The field's own lengths.
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

// What the values are, and what they are to be.
Status FieldMaker::settle_type() {
  const Type wanted = field_.type == Type::List ? field_.element : field_.type;
  from_ = natural_type(tensor_, wanted);
  if (from_ == Type::Any) {
    return invalid_argument(where() + ": datatype " + std::string(dtype_name(tensor_.dtype)) +
                            " is none that a tabular model takes");
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

Status FieldMaker::convert() {
  out_.dtype = dtype_of(to_);
  switch (to_) {
    case Type::Bool: return to_bools();
    case Type::Int8:
    case Type::Int16:
    case Type::Int32:
    case Type::Int64: return to_integers(to_);
    case Type::Float:
    case Type::Double:
    case Type::Vector: return to_reals(to_);
    case Type::Decimal: return to_decimals();
    case Type::String:
    case Type::Binary: return to_text();
    case Type::Date:
    case Type::Time:
    case Type::Timestamp: return to_time(to_);
    case Type::Any:
    case Type::List: break;
  }
  return mismatch();
}

Status FieldMaker::to_bools() {
  if (from_ == Type::Bool) {
    set_data(data_);
    return {};
  }
  if (!field_.parse_text || !is_text(from_)) return mismatch();
  auto* out = arena_.allocate_array<uint8_t>(count_);
  if (out == nullptr) return no_memory();
  set_data(out);
  return each(strings_, out, "'true' or 'false'", read_bool_text);
}

// 64-bit integers of whatever integers there are.
Status FieldMaker::widen(const int64_t*& wide) {
  if (tensor_.dtype == DType::Int64) {
    wide = reinterpret_cast<const int64_t*>(data_);
    return {};
  }
  auto* out = arena_.allocate_array<int64_t>(count_);
  if (out == nullptr) return no_memory();
  wide = out;
  return visit(tensor_.dtype, [&]<typename T>(TypeTag<T>) -> Status {
    if constexpr (IsInteger<T>) {
      const T* in = reinterpret_cast<const T*>(data_);
      for (uint64_t i = 0; i < count_; ++i) out[i] = static_cast<int64_t>(in[i]);
      return {};
    } else if constexpr (IsReal<T>) {  // PMML: whole numbers, whatever their type
      const T* in = reinterpret_cast<const T*>(data_);
      for (uint64_t i = 0; i < count_; ++i) {
        const auto value = static_cast<double>(in[i]);
        const bool whole = value == std::trunc(value) && std::fabs(value) <= double{kExactMax};
        out[i] = whole ? static_cast<int64_t>(value) : 0;
        if (whole || is_null(i)) continue;
        const bool missing = std::isnan(value) && table_.nan_is_missing && !cells_;
        if (!missing) return bad_value(i, "a whole number", text_of(value));
        if (Status set = set_null(i); !set.ok()) return set;
      }
      return {};
    } else {
      return mismatch();
    }
  });
}

template <typename T>
Status FieldMaker::narrow(const int64_t* wide) {
  T* out = arena_.allocate_array<T>(count_);
  if (out == nullptr) return no_memory();
  set_data(out);
  const std::string expected = "a " + std::string(plan::EnumNameType(to_)) + " (" +
                               std::to_string(std::numeric_limits<T>::min()) + " to " +
                               std::to_string(std::numeric_limits<T>::max()) + ")";
  return each(wide, out, expected, [](int64_t value, T& place) {
    place = static_cast<T>(value);
    return place == value;
  });
}

// Source: X25; PMML takes what JPMML casts without a loss.
Status FieldMaker::to_integers(Type to) {
  const bool widens = is_integer(from_) && from_ <= to;
  const bool casts = field_.parse_text && (is_integer(from_) || is_real(from_) || is_text(from_));
  if (!widens && !casts) return mismatch();
  if (as_it_is(out_.dtype)) {
    set_data(data_);
    out_.bytes = static_cast<size_t>(count_) * dtype_bytes(out_.dtype);
    return {};
  }
  const int64_t* wide = nullptr;
  if (is_text(from_)) {
    auto* read = arena_.allocate_array<int64_t>(count_);
    if (read == nullptr) return no_memory();
    wide = read;
    Status done = each(strings_, read, "an integer", read_integer_text);
    if (!done.ok()) return done;
  } else if (Status widened = widen(wide); !widened.ok()) {
    return widened;
  }
  switch (to) {
    case Type::Int8: return narrow<int8_t>(wide);
    case Type::Int16: return narrow<int16_t>(wide);
    case Type::Int32: return narrow<int32_t>(wide);
    default: set_data(wide); return {};
  }
}

// Doubles of whatever numbers there are.
Status FieldMaker::widen(const double*& wide) {
  if (carrier_of(tensor_.dtype) == DType::Fp64) {
    wide = reinterpret_cast<const double*>(data_);
    return {};
  }
  auto* out = arena_.allocate_array<double>(count_);
  if (out == nullptr) return no_memory();
  wide = out;
  if (is_text(from_)) return each(strings_, out, "a number", read_double_text);
  return visit(tensor_.dtype, [&]<typename T>(TypeTag<T>) -> Status {
    if constexpr (IsInteger<T>) {
      const auto step = [](T value, double& place) {
        place = static_cast<double>(value);
        if constexpr (sizeof(T) < 8) return true;
        const auto exact = static_cast<int64_t>(value);
        return exact >= -kExactMax && exact <= kExactMax;
      };
      for (uint64_t i = 0; i < count_; ++i) {
        const T value = reinterpret_cast<const T*>(data_)[i];
        if (step(value, out[i])) [[likely]]
          continue;
        if (!is_null(i)) {
          return bad_value(i, "an integer that a double has exactly (up to 2^53)",
                           std::to_string(value));
        }
      }
      return {};
    } else if constexpr (IsReal<T>) {
      const T* in = reinterpret_cast<const T*>(data_);
      for (uint64_t i = 0; i < count_; ++i) out[i] = static_cast<double>(in[i]);
      return {};
    } else {
      return mismatch();
    }
  });
}

Status FieldMaker::to_reals(Type to) {
  const bool number = is_integer(from_) || is_real(from_);
  if (!number && !(field_.parse_text && is_text(from_))) return mismatch();
  if (to == Type::Float && as_it_is(DType::Fp32)) {
    set_data(reinterpret_cast<const float*>(data_));
    return find_nan();
  }
  const double* wide = nullptr;
  if (Status widened = widen(wide); !widened.ok()) return widened;
  set_data(wide);
  if (to != Type::Float) return find_nan();
  auto* out = arena_.allocate_array<float>(count_);
  if (out == nullptr) return no_memory();
  set_data(out);
  Status done = each(wide, out, "a number within a float's range", [](double value, float& place) {
    place = static_cast<float>(value);
    return !std::isinf(place) || std::isinf(value);
  });
  return done.ok() ? find_nan() : std::move(done);
}

// Source: X23: of PMML, NaN is a missing value.
Status FieldMaker::find_nan() {
  if (!table_.nan_is_missing || cells_) return {};
  return visit(out_.dtype, [this]<typename T>(TypeTag<T>) -> Status {
    if constexpr (std::floating_point<T>) {
      const T* values = reinterpret_cast<const T*>(out_.data);
      for (uint64_t i = 0; i < count_; ++i) {
        if (values[i] == values[i]) [[likely]]
          continue;
        if (Status set = set_null(i); !set.ok()) return set;
      }
    }
    return {};
  });
}

Status FieldMaker::to_decimals() {
  const TensorParameters& given = tensor_.parameters;
  const bool own = given.is_decimal();
  const bool number = own || is_integer(from_) || from_ == Type::Double;
  if (!number) return mismatch();
  out_.precision = own && field_.any ? given.precision : field_.precision;
  out_.scale = own && field_.any ? given.scale : field_.scale;
  // Without a loss: no digit behind the point is left out.
  if (own && given.scale > out_.scale) return mismatch();
  const unsigned precision = own ? given.precision : out_.precision;
  const unsigned scale = own ? given.scale : out_.scale;
  auto* out = arena_.allocate_array<Int128>(count_);
  if (out == nullptr) return no_memory();
  set_data(out);
  const std::string expected =
      "a decimal of precision " + std::to_string(precision) + " and scale " + std::to_string(scale);
  Status done;
  if (has_strings()) {
    done = each(strings_, out, expected, [&](View text, Int128& place) {
      return read_decimal(text, precision, scale, place) == DecimalFault::None;
    });
  } else if (is_integer(from_)) {
    const int64_t* wide = nullptr;
    done = widen(wide);
    if (!done.ok()) return done;
    done = each(wide, out, expected, [&](int64_t value, Int128& place) {
      return read_decimal(std::to_string(value), precision, scale, place) == DecimalFault::None;
    });
  } else {
    done = each(reinterpret_cast<const double*>(data_), out, expected,
                [&](double value, Int128& place) {
                  return round_decimal(value, precision, scale, place) == DecimalFault::None;
                });
  }
  if (!done.ok() || (precision == out_.precision && scale == out_.scale)) return done;
  const std::string wider = "a decimal of precision " + std::to_string(out_.precision) +
                            " and scale " + std::to_string(out_.scale);
  for (uint64_t i = 0; i < count_; ++i) {
    char text[kDecimalTextMax];
    const View written(text, static_cast<size_t>(write_decimal(text, out[i], scale) - text));
    if (read_decimal(written, out_.precision, out_.scale, out[i]) != DecimalFault::None) {
      return bad_value(i, wider, text_of(written));
    }
  }
  return {};
}

// Source: X2.
Status FieldMaker::to_text() {
  if (!is_text(from_)) return mismatch();
  out_.strings = {strings_, static_cast<size_t>(count_)};
  for (uint64_t i = 0; i < count_; ++i) {
    if (strings_[i].size() > kTableTextBytesMax) {
      return over_limit(where() + ": bytes of a text", strings_[i].size(), kTableTextBytesMax);
    }
    if (to_ == Type::Binary || text_is_checked_ || is_valid_utf8(strings_[i])) continue;
    if (is_null(i)) continue;
    return bad_value(i, "text in UTF-8", "bytes that are not");
  }
  return {};
}

// Source: X3, X4, X23 "an empty string is null".
Status FieldMaker::to_time(Type to) {
  if (from_ != to && !is_text(from_)) return mismatch();
  auto* out = arena_.allocate_array<int64_t>(count_);
  if (out == nullptr) return no_memory();
  set_data(out);
  const bool iso = tensor_.parameters.is_iso() || field_.parse_text;
  const bool is_utc = table_.timezone.empty() || table_.timezone == "UTC";
  View expected = "a time of the form HH:MM:SS";
  if (to == Type::Date) expected = "a date of the form YYYY-MM-DD, year 0001 to 9999";
  if (to == Type::Timestamp) {
    expected = iso ? "a timestamp of the form dd/mm/yyyy HH:MM:SS or of ISO 8601 (a zone only "
                     "where the model's time zone is UTC)"
                   : "a timestamp of the form dd/mm/yyyy HH:MM:SS";
  }
  const auto read = [&](View text, int64_t& value) {
    if (to == Type::Date) return read_date(text, value);
    if (to == Type::Time) return read_time(text, value);
    bool zoned = false;
    if (read_timestamp(text, value)) return true;
    return iso && read_iso_timestamp(text, value, zoned) && (!zoned || is_utc);
  };
  for (uint64_t i = 0; i < count_; ++i) {
    if (read(strings_[i], out[i])) [[likely]]
      continue;
    out[i] = 0;
    if (is_null(i)) continue;
    if (!strings_[i].empty() || cells_) return bad_value(i, expected, text_of(strings_[i]));
    if (Status set = set_null(i); !set.ok()) return set;
  }
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

}  // namespace

Status make_field(const RequestTensor& tensor, uint64_t place, const FieldSpec& field,
                  const TableSchema& table, bool text_is_checked, Arena& arena, TensorView& out) {
  return FieldMaker(tensor, place, field, table, text_is_checked, arena, out).make();
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
