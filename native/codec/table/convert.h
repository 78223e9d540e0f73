// The conversion of one field's values from a tensor to the model's type: the state shared by the
// two steps, coerce.cc (makes values contiguous) and convert.cc (converts their type). Hot path;
// any thread. Source: tabular.md 2.1 X2, X3, X4, X18, X23, X25.
#pragma once

#include <charconv>
#include <string>

#include "codec/table/coerce.h"

namespace serval::table {

class FieldMaker {
 public:
  using Type = plan::Type;
  using View = std::string_view;

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
  // Makes the field's values contiguous.
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

  // The row and, in cells, the element of value `index`. Loops ask in ascending order, so the
  // search starts at the last row found.
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
  // The field, its row and the element, for errors.
  std::string place_of(uint64_t index) const;
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
  Type from_ = Type::Any, to_ = Type::Any;  // element types
  uint64_t count_ = 0;                      // number of elements
  const uint8_t* data_ = nullptr;
  const View* strings_ = nullptr;
  const uint32_t* lengths_ = nullptr;
  uint8_t* states_ = nullptr;
  mutable uint64_t row_at_ = 0, row_begin_ = 0;  // cache of row_of() for ragged cells
};

// Calls step(in, out) for each value; step returns false for a value that it cannot convert, which
// is an error unless that is null.
template <typename To, typename From, typename Step>
Status FieldMaker::each(const From* in, To* out, std::string_view expected, Step step) {
  for (uint64_t i = 0; i < count_; ++i) {
    if (step(in[i], out[i])) [[likely]]
      continue;
    if (!is_null(i)) return bad_value(i, expected, text_of(in[i]));
    out[i] = To();
  }
  return {};
}

}  // namespace serval::table
