// V1 predict for a tabular model: see table.h. Hot path; any thread. A first pass records the
// position of each row's value of each field; a second one, field by field, determines the type of
// the values and reads them as a tensor of one field, so that all of V2's conversion rules apply.
// Source: tabular.md 2.1 X23, X25; tfserving.md 1.3.
#include <algorithm>
#include <cstring>

#include "base/bytes/utf8.h"
#include "codec/json/text.h"
#include "codec/serving/json_body.h"
#include "codec/serving/json_request.h"
#include "codec/table/bind.h"
#include "codec/table/coerce.h"
#include "codec/table/json_data.h"
#include "codec/table/table.h"

namespace serval {

namespace {

using namespace table;
using Type = plan::Type;
using Place = const char*;  // a value's position in the text; null = the row has none

constexpr size_t kFirstRows = 16;

// The kinds of values that a field has.
struct Kinds {
  bool text = false, boolean = false, integer = false, real = false, list = false, bytes = false;
  bool number() const { return integer || real; }
  bool only_numbers() const { return number() && !text && !boolean && !bytes; }
  bool only_text() const { return text && !number() && !boolean && !bytes; }
};

class V1Decoder {
 public:
  V1Decoder(std::string_view text, const TableSchema& table, Arena& arena, DecodedRequest& out)
      : body_(text, arena), table_(table), arena_(arena), out_(out) {}

  Status decode(const Signature& signature);

 private:
  const char* read_root(const char* p);
  const char* read_instances(const char* p);
  const char* read_row(const char* p);
  const char* read_object(const char* p);
  const char* read_list(const char* p);
  const char* read_columns(const char* p);
  const char* read_column(std::string_view name, const char* p);
  const char* pass(const char* p) { return pass_value(p, body_, unchecked_); }
  const char* note(size_t field, const char* p);
  bool add_row();
  bool is_base64(const char* p) const { return *p == '{' && is_base64_front(p, body_.end); }

  Status check_syntax();
  Status make_fields();
  Status make_one(size_t field);
  void look_at(const char* p, bool in_list, Kinds& kinds) const;
  DType choose_dtype(const FieldSpec& field, const Kinds& kinds) const;
  template <typename T>
  Status read_values(size_t field, RequestTensor& tensor);
  template <typename T>
  Status read_cell(size_t row, const char* p, RequestTensor& tensor, T*& out);
  template <typename T>
  const char* read_value(const char* p, T& out);
  Status set_null(size_t row, RequestTensor& tensor);
  Error wrong_value(size_t row, const char* p, const RequestTensor& tensor) const;
  std::string value_text(const char* p) const;

  Place& place(size_t row, size_t field) { return places_[row * table_.fields.size() + field]; }

  const char* fail(Status fault) {
    if (fault_.ok()) fault_ = std::move(fault);
    return nullptr;
  }
  const char* fail(const std::string& what) { return fail(Status(invalid_argument(what))); }

  FastBody body_;
  const TableSchema& table_;
  Arena& arena_;
  DecodedRequest& out_;
  Place* places_ = nullptr;  // rows_ by the number of fields
  size_t rows_ = 0, room_ = 0;
  std::string_view signature_name_;
  bool has_rows_ = false, unchecked_ = false;
  Status fault_;
};

std::string V1Decoder::value_text(const char* p) const {
  const char* stop = v2::behind_value(p, body_.end);
  return echo_text({p, static_cast<size_t>((stop == nullptr ? body_.end : stop) - p)});
}

// Adds a row without any values.
bool V1Decoder::add_row() {
  const size_t fields = table_.fields.size();
  if (rows_ == kTableRowsMax) {
    fail(Status(over_limit("rows", rows_ + 1, kTableRowsMax)));
    return false;
  }
  if (rows_ == room_) {
    const size_t room = std::max(room_ * 2, kFirstRows);
    Place* places = arena_.allocate_array<Place>(room * fields);
    if (places == nullptr) {
      fail(Status(no_memory()));
      return false;
    }
    std::copy_n(places_, rows_ * fields, places);
    places_ = places;
    room_ = room;
  }
  std::fill_n(places_ + rows_ * fields, fields, nullptr);
  ++rows_;
  return true;
}

// Records the value's position in the latest row.
const char* V1Decoder::note(size_t field, const char* p) {
  Place& at = place(rows_ - 1, field);
  if (at != nullptr) {
    return fail("row " + std::to_string(rows_ - 1) + ": field " +
                quoted(table_.fields[field].name) + " is given more than once");
  }
  at = p;
  return v2::behind_value(p, body_.end);
}

// Ignores fields that the model does not have. Source: X24.
const char* V1Decoder::read_object(const char* p) {
  size_t guess = 0;
  return each_entry(p, body_.end, arena_, [&](std::string_view key, const char* at) {
    const int field = table_.find_field(key, guess++);
    return field < 0 ? pass(at) : note(static_cast<size_t>(field), at);
  });
}

const char* V1Decoder::read_list(const char* p) {
  size_t field = 0;
  const char* stop = each_item(p, body_.end, [&](const char* at) {
    if (field < table_.fields.size()) return note(field++, at);
    ++field;
    return pass(at);
  });
  if (stop == nullptr || field == table_.fields.size()) return stop;
  return fail("row " + std::to_string(rows_ - 1) + ": expected a list of " +
              std::to_string(table_.fields.size()) + " values, one per field, got " +
              std::to_string(field));
}

const char* V1Decoder::read_row(const char* p) {
  if (!add_row()) return nullptr;
  if (*p == '{' && !is_base64(p)) return read_object(p);
  const bool is_cell = table_.fields.size() == 1 && has_cells(table_.fields[0]);
  if (*p == '[' && !is_cell) return read_list(p);
  if (table_.fields.size() == 1) return note(0, p);
  return fail("row " + std::to_string(rows_ - 1) + ": expected an object of fields, or a list of " +
              std::to_string(table_.fields.size()) + " values, got " + value_text(p));
}

const char* V1Decoder::read_instances(const char* p) {
  if (*p != '[') return fail("'instances': expected a list of rows, got " + value_text(p));
  return each_item(p, body_.end, [this](const char* at) { return read_row(at); });
}

const char* V1Decoder::read_column(std::string_view name, const char* p) {
  const int found = table_.find_field(name, 0);
  if (found < 0) return pass(p);
  const auto field = static_cast<size_t>(found);
  if (*p != '[') {
    return fail("'inputs': field " + quoted(name) + ": expected a list of rows, got " +
                value_text(p));
  }
  size_t row = 0;
  const bool is_first = rows_ == 0;
  const char* stop = each_item(p, body_.end, [&](const char* at) -> const char* {
    if (is_first && !add_row()) return nullptr;
    if (row < rows_) {
      Place& here = place(row, field);
      if (here != nullptr) return fail("'inputs': field " + quoted(name) + " is given twice");
      here = at;
    }
    ++row;
    return v2::behind_value(at, body_.end);
  });
  if (stop == nullptr || row == rows_) return stop;
  return fail("'inputs': field " + quoted(name) + ": expected " + std::to_string(rows_) +
              " rows as in the others, got " + std::to_string(row));
}

const char* V1Decoder::read_columns(const char* p) {
  if (*p == '{' && !is_base64(p)) {
    // columns of unknown fields do not determine the number of rows
    if (table_.fields.empty()) rows_ = 1;
    return each_entry(p, body_.end, arena_, [this](std::string_view name, const char* at) {
      return read_column(name, at);
    });
  }
  if (table_.fields.size() == 1) return read_column(table_.fields[0].name, p);
  return fail("'inputs': expected an object of columns, got " + value_text(p));
}

const char* V1Decoder::read_root(const char* p) {
  return each_entry(p, body_.end, arena_, [&](std::string_view key, const char* at) {
    const bool row_format = key == kInstancesKey;
    if (row_format || key == kInputsKey) {
      if (has_rows_) return fail("expected 'instances' or 'inputs', once");
      has_rows_ = true;
      out_.row_format = row_format;
      return row_format ? read_instances(at) : read_columns(at);
    }
    if (key != kSignatureNameKey) return pass(at);
    if (*at == '"') return read_text(at, body_.end, arena_, signature_name_);
    return fail("'signature_name': expected a string, got " + value_text(at));
  });
}

Status V1Decoder::check_syntax() {
  const std::string_view text(body_.begin, static_cast<size_t>(body_.end - body_.begin));
  if (!is_valid_utf8(text)) return invalid_argument("the body is not valid UTF-8");
  return parse_json(text, arena_, kTfJsonRules, nullptr);
}

// Records the kind of a value, or of a list's elements.
void V1Decoder::look_at(const char* p, bool in_list, Kinds& kinds) const {
  switch (*p) {
    case '"': kinds.text = true; return;
    case 't':
    case 'f': kinds.boolean = true; return;
    case 'n': return;
    case '{': kinds.bytes = true; return;
    case '[': break;
    default: {
      const char* end = p;
      bool whole = true;
      for (; end < body_.end && !ends_number(*end); ++end) {
        whole = whole && *end != '.' && (*end | 0x20) != 'e' && (*end | 0x20) != 'i';
      }
      int64_t value = 0;
      whole = whole && read_integer<int64_t>(p, body_.end, value) == end;
      kinds.integer |= whole;
      kinds.real |= !whole;
      return;
    }
  }
  kinds.list = true;
  if (in_list) return;
  const char* stop = v2::behind_value(p, body_.end);
  if (stop == nullptr) return;
  for (v2::JsonItems items({p, static_cast<size_t>(stop - p)}); items.next();) {
    look_at(items.value().data(), true, kinds);
  }
}

// The datatype to read the values as: the model's if they can be that; otherwise their own.
DType V1Decoder::choose_dtype(const FieldSpec& field, const Kinds& kinds) const {
  const Type wanted = field.type == Type::List ? field.element : field.type;
  const DType own = dtype_of(wanted);
  const bool is_number = is_real(wanted) || wanted == Type::Vector;
  const bool is_time = wanted == Type::Date || wanted == Type::Timestamp;
  if (kinds.bytes) return DType::Bytes;
  if (kinds.only_text()) {
    if (wanted == Type::Vector) return DType::Vector;  // "NaN"
    const bool names_number = is_number && !field.parse_text && !field.any;
    if (names_number) return own;
    return is_time ? own : DType::String;
  }
  if (kinds.number() && is_number && !kinds.boolean) return own;  // texts among them may be "NaN"
  if (kinds.only_numbers()) {
    if (wanted == Type::Decimal) return DType::Fp64;
    if (is_integer(wanted) && (!kinds.real || (!field.any && !field.parse_text))) return own;
    return kinds.real ? DType::Fp64 : DType::Int64;
  }
  if (kinds.boolean && !kinds.number() && !kinds.text) return DType::Bool;
  const bool all_null = !kinds.boolean && !kinds.number() && !kinds.text;
  const bool as_values = field.any && !all_null;
  if (as_values || own == DType::Invalid) return kinds.text ? DType::String : DType::Fp64;
  return own == DType::Decimal ? DType::Fp64 : own;
}

template <typename T>
const char* V1Decoder::read_value(const char* p, T& out) {
  if constexpr (std::same_as<T, std::string_view>) {
    if (*p == '{') return is_base64(p) ? read_base64_object(p, body_, out) : nullptr;
  }
  const char* stop = read_json_value(p, body_.end, arena_, out);
  return stop != nullptr && stop <= body_.end && ends_number(*stop) ? stop : nullptr;
}

Error V1Decoder::wrong_value(size_t row, const char* p, const RequestTensor& tensor) const {
  return invalid_argument("field " + quoted(tensor.name) + ", row " + std::to_string(row) +
                          ": expected " + json_value_text(carrier_of(tensor.dtype)) + ", got " +
                          value_text(p));
}

Status V1Decoder::set_null(size_t row, RequestTensor& tensor) {
  if (tensor.nulls == nullptr) {
    tensor.nulls = arena_.allocate_array<uint8_t>(rows_);
    if (tensor.nulls == nullptr) return no_memory();
    std::memset(tensor.nulls, 0, rows_);
  }
  tensor.nulls[row] = 1;
  return {};
}

template <typename T>
Status V1Decoder::read_cell(size_t row, const char* p, RequestTensor& tensor, T*& out) {
  if (*p != '[') {
    const char* stop = read_value(p, *out++);
    return stop != nullptr ? Status() : wrong_value(row, p, tensor);
  }
  const char* stop = each_item(p, body_.end, [&](const char* at) {
    const char* behind = read_value(at, *out++);
    if (behind == nullptr) fail(Status(wrong_value(row, at, tensor)));
    return behind;
  });
  if (stop != nullptr) return {};
  return fault_.ok() ? Status(wrong_value(row, p, tensor)) : std::move(fault_);
}

// The values of all rows as a tensor of one field.
template <typename T>
Status V1Decoder::read_values(size_t field, RequestTensor& tensor) {
  uint64_t count = rows_;
  if (tensor.has_cells) {
    count = 0;
    for (size_t row = 0; row < rows_; ++row) {
      const char* p = place(row, field);
      if (p == nullptr || *p == 'n') continue;
      const char* stop = v2::behind_value(p, body_.end);
      if (stop == nullptr) return wrong_value(row, p, tensor);
      if (*p != '[') {
        ++count;
        continue;
      }
      for (v2::JsonItems items({p, static_cast<size_t>(stop - p)}); items.next();) ++count;
    }
  }
  auto* lengths = tensor.has_cells ? arena_.allocate_array<uint32_t>(rows_) : nullptr;
  T* const room = arena_.allocate_array<T>(count);
  if (room == nullptr || (tensor.has_cells && lengths == nullptr)) return no_memory();
  T* out = room;
  for (size_t row = 0; row < rows_; ++row) {
    const char* p = place(row, field);
    T* const begin = out;
    Status done;
    const char* behind = p == nullptr || *p != 'n' ? p : read_word(p, body_.end, "null");
    if (p != nullptr && *p == 'n' && (behind == nullptr || !ends_number(*behind))) {
      return wrong_value(row, p, tensor);
    }
    if (p == nullptr || *p == 'n') {
      done = set_null(row, tensor);
      if (!tensor.has_cells) *out++ = T();
    } else if (tensor.has_cells) {
      done = read_cell(row, p, tensor, out);
    } else if (read_value(p, *out++) == nullptr) {
      return wrong_value(row, p, tensor);
    }
    if (!done.ok()) return done;
    if (lengths != nullptr) lengths[row] = static_cast<uint32_t>(out - begin);
  }
  tensor.elements = count;
  tensor.lengths = lengths;
  if constexpr (std::same_as<T, std::string_view>) tensor.strings = room;
  else tensor.data = reinterpret_cast<const uint8_t*>(room);
  return {};
}

Status V1Decoder::make_one(size_t index) {
  const FieldSpec& field = table_.fields[index];
  Kinds kinds;
  bool given = false;
  for (size_t row = 0; row < rows_; ++row) {
    const char* p = place(row, index);
    if (p == nullptr) continue;
    given = true;
    look_at(p, false, kinds);
  }
  const bool optional = field.optional || !field.by_default;  // V1 requests the default outputs
  if (!given && optional) return {};
  for (size_t row = 0; row < rows_ && !optional; ++row) {
    if (place(row, index) != nullptr) continue;
    return invalid_argument("row " + std::to_string(row) + ": missing field " + quoted(field.name));
  }
  RequestTensor tensor;
  tensor.name = field.name;
  tensor.dtype = choose_dtype(field, kinds);
  tensor.has_cells =
      has_cells(field) ? !field.any || kinds.list || field.type == Type::Vector : kinds.list;
  if (tensor.has_cells && field.type == Type::Vector) tensor.dtype = DType::Vector;
  const bool as_decimal = field.type == Type::Decimal && kinds.only_text();
  if (as_decimal) {
    tensor.parameters.has_precision = tensor.parameters.has_scale = true;
    tensor.parameters.precision = field.precision;
    tensor.parameters.scale = field.scale;
  }
  tensor.rows = rows_;
  tensor.fields = tensor.size = 1;
  (void)tensor.shape.push_back(static_cast<int64_t>(rows_));
  Status done = visit(carrier_of(tensor.dtype), [&]<typename T>(TypeTag<T>) -> Status {
    if constexpr (std::same_as<T, bool>) return read_values<JsonBool>(index, tensor);
    else if constexpr (std::same_as<T, int8_t> || std::same_as<T, int16_t> ||
                       std::same_as<T, int32_t> || std::same_as<T, int64_t> ||
                       std::floating_point<T> || std::same_as<T, std::string_view>)
      return read_values<T>(index, tensor);
    else return make_error(ErrorCode::Internal, "a field without a datatype");
  });
  if (!done.ok()) return done;
  if (tensor.has_cells) {
    (void)tensor.shape.push_back(1);
    const uint32_t* lengths = tensor.lengths;
    const bool same = std::all_of(lengths, lengths + rows_,
                                  [&](uint32_t length) { return length == lengths[0]; });
    (void)tensor.shape.push_back(same && rows_ != 0 ? int64_t{lengths[0]} : -1);
    tensor.size = same && rows_ != 0 ? lengths[0] : 0;
    if (same && rows_ != 0) tensor.lengths = nullptr;
  }
  return make_field(tensor, 0, field, table_, true, arena_, out_.inputs[index]);
}

Status V1Decoder::make_fields() {
  out_.inputs.assign(table_.fields.size(), TensorView());
  for (size_t field = 0; field < table_.fields.size(); ++field) {
    if (Status made = make_one(field); !made.ok()) return made;
  }
  return fill_missing(table_, rows_, arena_, out_);
}

Status V1Decoder::decode(const Signature& signature) {
  const char* p = skip_blanks(body_.begin, body_.end);
  p = p < body_.end && is_valid_utf8({p, static_cast<size_t>(body_.end - p)}) ? read_root(p)
                                                                              : nullptr;
  const bool whole = p != nullptr && skip_blanks(p, body_.end) == body_.end;
  Status done;
  if (whole && fault_.ok()) {
    if (!has_rows_) {
      done = invalid_argument("missing 'inputs' or 'instances' key");
    } else if (!signature_name_.empty() && signature_name_ != signature.name) {
      done = with_signature(make_error(ErrorCode::SignatureNotFound,
                                       "Serving signature name: \"" + echo_text(signature_name_) +
                                           "\" not found in signature def"),
                            signature_name_);
    } else {
      done = make_fields();
    }
    // Values that nothing read were only matched by their brackets.
    if (done.ok() && !unchecked_) return done;
  }
  if (Status sound = check_syntax(); !sound.ok()) return sound;
  if (!fault_.ok()) return std::move(fault_);
  if (whole) return done;
  return invalid_argument("expected one JSON object with 'instances' or 'inputs'");
}

}  // namespace

Status decode_table_v1(std::span<const uint8_t> body, const TableSchema& table,
                       const Signature& signature, const Limits&, Arena& arena,
                       DecodedRequest& out) {
  out.clear();
  const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
  Status done = V1Decoder(text, table, arena, out).decode(signature);
  if (done.ok()) add_default_outputs(table, false, out);
  return done;
}

}  // namespace serval
