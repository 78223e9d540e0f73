// Converts a field's values to the type that the model requires. Each loop runs over one type;
// whether a value is null is only checked for values that cannot be converted. Hot path; any
// thread.
#include "codec/table/convert.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/bytes/utf8.h"
#include "base/values/decimal.h"
#include "codec/values/calendar.h"
#include "codec/values/text_values.h"

namespace serval::table {

namespace {

using Type = plan::Type;
using View = std::string_view;

constexpr int64_t kExactMax = int64_t{1} << 53;  // above this, not every integer is a double

}  // namespace

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

// Widens any integers to 64 bits.
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
    } else if constexpr (IsReal<T>) {  // PMML accepts whole numbers of any type
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

// Source: X25; PMML accepts what JPMML casts without loss.
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

// Converts any numbers to doubles.
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

// Source: X23: in PMML, NaN is a missing value.
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
  // The conversion must be exact: no digit after the point may be dropped.
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
      return over_limit(place_of(i) + ": bytes of a text", strings_[i].size(), kTableTextBytesMax);
    }
    if (from_ == Type::Binary || text_is_checked_ || is_valid_utf8(strings_[i])) continue;
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

}  // namespace serval::table
