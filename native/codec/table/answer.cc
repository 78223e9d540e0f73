// Converts a tabular run's outputs to tensors of the protocols. Hot path; any thread.
#include "codec/table/answer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/values/decimal.h"
#include "codec/json/echo.h"
#include "codec/table/tensor.h"
#include "codec/values/calendar.h"

namespace serval::table {

namespace {

constexpr size_t kIndexTextMax = 20;

size_t rows_of(const TensorView& view) { return static_cast<size_t>(view.shape[0]); }

size_t elements_of(const TensorView& view) {
  return dtype_is_text(view.dtype) ? view.strings.size() : view.bytes / dtype_bytes(view.dtype);
}

bool is_missing(const TensorView& view, size_t row) {
  return view.states != nullptr && view.states[row] != 0;
}

bool any_missing(const TensorView& view) {
  return view.states != nullptr &&
         std::any_of(view.states, view.states + rows_of(view), [](uint8_t it) { return it != 0; });
}

// Makes the tensors one after the other, and the groups last.
class AnswerMaker {
 public:
  AnswerMaker(const TableSchema& table, const Signature& signature, const DecodedRequest& request,
              AnswerForm form, Arena& arena)
      : table_(table), signature_(signature), request_(request), form_(form), arena_(arena) {}

  Status make(std::span<const TensorView> outputs, std::span<AnswerTensor>& out);

 private:
  Status make_one(const TensorView& view, const RequestedOutput& requested, AnswerTensor& out);
  Status check(const TensorView& view, const AnswerTensor& out) const;
  Status make_dense(AnswerTensor& out);
  Status make_text(AnswerTensor& out, bool is_clock);
  Status make_doubles(AnswerTensor& out);
  Status make_nulls(AnswerTensor& out);
  Status blank_missing(AnswerTensor& out, bool as_nan);
  Status list_nulls(AnswerTensor& out);
  Status group(std::span<AnswerTensor> all, size_t& count);
  Status join(std::span<AnswerTensor* const> members, AnswerTensor& out);
  Status add_companion(AnswerTensor& ragged, AnswerTensor& out);
  bool is_raw(const AnswerTensor& tensor) const {
    return form_ == AnswerForm::Wire || tensor.binary;
  }
  std::string_view keep(std::string_view text);
  std::string_view keep_number(uint64_t number);

  const TableSchema& table_;
  const Signature& signature_;
  const DecodedRequest& request_;
  const AnswerForm form_;
  Arena& arena_;
};

std::string_view AnswerMaker::keep(std::string_view text) {
  char* place = arena_.allocate_array<char>(text.size());
  if (place == nullptr) return {};
  std::copy_n(text.data(), text.size(), place);
  return {place, text.size()};
}

std::string_view AnswerMaker::keep_number(uint64_t number) { return keep(std::to_string(number)); }

Error bad_output(std::string_view name, const std::string& what) {
  return make_error(ErrorCode::BackendFailed, "output " + quoted(name) + what);
}

// Checks that the backend's tensors match their shapes.
Status AnswerMaker::check(const TensorView& view, const AnswerTensor& out) const {
  const size_t rank = view.shape.rank();
  uint64_t expected = 0;
  bool right = view.dtype != DType::Invalid && (rank == 1 || rank == 2) && view.shape[0] >= 0;
  if (right && is_ragged(view)) {
    for (size_t row = 0; row < rows_of(view); ++row) expected += view.lengths[row];
  } else if (right) {
    right = view.shape.elements().has_value();
    expected = view.shape.elements().value_or(0);
  }
  if (right && elements_of(view) == expected) return {};
  return bad_output(out.name, ": " + std::to_string(right ? elements_of(view) : 0) +
                                  " elements do not fit its shape " + view.shape.to_string());
}

// Makes rows of equal length dense, without a companion; missing float rows get NaN. Source: 2.4
// "dense".
Status AnswerMaker::make_dense(AnswerTensor& out) {
  TensorView& view = out.view;
  const size_t rows = rows_of(view);
  const bool real = dtype_is_real(view.dtype);
  size_t size = SIZE_MAX;
  bool fills = false;
  for (size_t row = 0; row < rows; ++row) {
    if (real && is_missing(view, row) && view.lengths[row] == 0) {
      fills = true;
      continue;
    }
    if (size == SIZE_MAX) size = view.lengths[row];
    if (size != view.lengths[row]) return {};
  }
  if (size == SIZE_MAX) size = 0;
  if (size == 0 && any_missing(view)) return {};  // there are no elements to set to NaN
  if (fills && size != 0) {
    const size_t width = size * dtype_bytes(view.dtype);
    auto* place = arena_.allocate_array<uint8_t>(rows * width);
    if (place == nullptr) return no_memory();
    const uint8_t* from = view.data;
    view.data = place;
    view.bytes = rows * width;
    for (size_t row = 0; row < rows; ++row, place += width) {
      if (view.lengths[row] == 0) {
        std::memset(place, 0, width);  // set to NaN or null later, with all missing values
      } else {
        std::memcpy(place, from, width);
        from += width;
      }
    }
  }
  view.lengths = nullptr;
  view.shape.set(1, static_cast<int64_t>(size));
  return {};
}

// Formats dates, timestamps and times of the day. A timestamp with a fraction of a second is
// written as ISO 8601, which allows one, and marked as such.
Status AnswerMaker::make_text(AnswerTensor& out, bool is_clock) {
  TensorView& view = out.view;
  const size_t count = elements_of(view);
  const size_t width = is_ragged(view) ? 0 : out.width();  // a missing ragged row has no elements
  const auto* values = reinterpret_cast<const int64_t*>(view.data);
  auto* texts = arena_.allocate_array<std::string_view>(count);
  char* place = arena_.allocate_array<char>(count * kIsoTextBytesMax);
  if (texts == nullptr || place == nullptr) return no_memory();
  const auto missing = [&](size_t i) { return width != 0 && is_missing(view, i / width); };
  bool iso = false;
  for (size_t i = 0; i < count && view.dtype == DType::Timestamp; ++i) {
    iso |= values[i] % 1'000'000 != 0 && !missing(i);
  }
  for (size_t i = 0; i < count; ++i) {
    texts[i] = {};
    if (missing(i)) continue;
    char* end = nullptr;
    if (is_clock) end = write_time(place, values[i]);
    else if (view.dtype == DType::Date) end = write_date(place, values[i]);
    else end = iso ? write_iso_timestamp(place, values[i]) : write_timestamp(place, values[i]);
    if (end == nullptr) {
      return bad_output(out.name, ", element " + std::to_string(i) +
                                      ": expected a day of the years 0001 to 9999 or a time of " +
                                      "the day, got the number " + std::to_string(values[i]));
    }
    texts[i] = {place, static_cast<size_t>(end - place)};
    place = end;
  }
  if (iso) out.add(kFormatKey, kIsoFormat);
  view.dtype = DType::String;
  view.data = nullptr;
  view.bytes = 0;
  view.strings = {texts, count};
  return {};
}

// Source: 2.4 "Decimal outputs".
Status AnswerMaker::make_doubles(AnswerTensor& out) {
  TensorView& view = out.view;
  const size_t count = elements_of(view);
  auto* values = arena_.allocate_array<double>(count);
  if (values == nullptr) return no_memory();
  for (size_t i = 0; i < count; ++i) {
    Decimal decimal;
    std::memcpy(&decimal, view.data + i * sizeof decimal, sizeof decimal);
    values[i] = decimal_to_double(decimal.unscaled, view.scale);
  }
  out.add(kPrecisionKey, keep_number(view.precision));
  out.add(kScaleKey, keep_number(view.scale));
  view.dtype = DType::Fp64;
  view.data = reinterpret_cast<const uint8_t*>(values);
  view.bytes = count * sizeof(double);
  return {};
}

Status AnswerMaker::make_one(const TensorView& view, const RequestedOutput& requested,
                             AnswerTensor& out) {
  out.name = signature_.outputs[requested.index].name;
  out.binary = requested.binary;
  out.view = view;
  if (Status right = check(view, out); !right.ok()) return right;
  Status done;
  if (is_ragged(view)) done = make_dense(out);
  if (!done.ok()) return done;
  const bool as_string = request_.table.text_is_string;
  const bool is_clock =
      view.dtype == DType::Int64 && table_.outputs[requested.index].type == plan::Type::Time;
  switch (view.dtype) {
    case DType::String: out.datatype = as_string ? "STRING" : "BYTES"; break;
    case DType::Date: out.datatype = as_string ? "DATE" : "BYTES"; break;
    case DType::Timestamp: out.datatype = as_string ? "TIMESTAMP" : "BYTES"; break;
    case DType::Vector:
      out.datatype = as_string ? "VECTOR" : "FP64";
      out.view.dtype = DType::Fp64;
      break;
    default: out.datatype = dtype_name(view.dtype);
  }
  if (is_clock) out.datatype = as_string ? "STRING" : "BYTES";
  if (is_clock || view.dtype == DType::Date || view.dtype == DType::Timestamp) {
    return make_text(out, is_clock);
  }
  return view.dtype == DType::Decimal ? make_doubles(out) : Status();
}

// Sets the values of missing rows, which are undefined, to NaN or zeros.
Status AnswerMaker::blank_missing(AnswerTensor& out, bool as_nan) {
  TensorView& view = out.view;
  const size_t size = elements_of(view);
  const size_t width = out.width();
  if (dtype_is_text(view.dtype)) {
    auto* texts = arena_.allocate_array<std::string_view>(size);
    if (texts == nullptr) return no_memory();
    std::copy(view.strings.begin(), view.strings.end(), texts);
    for (size_t i = 0; i < size; ++i) {
      if (out.nulls[i / width] != 0) texts[i] = {};
    }
    view.strings = {texts, size};
    return {};
  }
  auto* bytes = arena_.allocate_array<uint8_t>(view.bytes);
  if (bytes == nullptr) return no_memory();
  if (view.bytes != 0) std::memcpy(bytes, view.data, view.bytes);
  view.data = bytes;
  return visit(view.dtype, [&]<typename T>(TypeTag<T>) -> Status {
    if constexpr (std::is_arithmetic_v<T>) {
      T blank{};
      if (as_nan) blank = std::numeric_limits<T>::quiet_NaN();
      auto* values = reinterpret_cast<T*>(bytes);
      for (size_t i = 0; i < size; ++i) {
        if (out.nulls[i / width] != 0) values[i] = blank;
      }
    }
    return {};
  });
}

// Writes the parameter null_indices, by cell.
Status AnswerMaker::list_nulls(AnswerTensor& out) {
  const size_t count = out.is_group ? elements_of(out.view) : rows_of(out.view);
  size_t missing = 0;
  for (size_t i = 0; i < count; ++i) missing += out.nulls[i] != 0 ? 1 : 0;
  char* text = arena_.allocate_array<char>(missing * (kIndexTextMax + 1));
  if (text == nullptr) return no_memory();
  char* at = text;
  for (size_t i = 0; i < count; ++i) {
    if (out.nulls[i] == 0) continue;
    if (at != text) *at++ = ',';
    at = std::to_chars(at, at + kIndexTextMax, i).ptr;
  }
  out.add(kNullIndicesKey, {text, static_cast<size_t>(at - text)});
  return {};
}

// Source: 2.4 "Missing results".
Status AnswerMaker::make_nulls(AnswerTensor& out) {
  if (out.nulls == nullptr) return {};
  const bool real = dtype_is_real(out.view.dtype);
  const bool ragged = is_ragged(out.view);
  const bool empty = out.width() == 0;
  const bool scalars = out.width() == 1 || out.is_group || (real && !empty);
  if (form_ == AnswerForm::V1) return {};
  if (!is_raw(out) && !ragged && scalars) return {};
  Status done;
  if (!ragged) done = blank_missing(out, real);
  if (done.ok() && (!real || ragged || empty)) done = list_nulls(out);
  out.nulls = nullptr;
  return done;
}

// Whether two outputs are scalars of one datatype, requested in the same form.
bool same_group(const AnswerTensor& a, const AnswerTensor& b) {
  if (a.datatype != b.datatype || a.binary != b.binary || b.view.shape.rank() != 1 ||
      a.view.dtype != b.view.dtype || a.parameter_count != b.parameter_count) {
    return false;
  }
  return std::equal(a.parameters.begin(), a.parameters.begin() + a.parameter_count,
                    b.parameters.begin(), [](const auto& one, const auto& other) {
                      return one.key == other.key && one.text == other.text;
                    });
}

// Appends a name to a list of features, in quotation marks if it would be misread otherwise.
void append_feature(std::string& list, std::string_view name) {
  if (!list.empty()) list += ',';
  const bool plain = name.find_first_of(",\"") == std::string_view::npos && !name.empty() &&
                     name.front() != ' ' && name.back() != ' ' && name.front() != '\t' &&
                     name.back() != '\t';
  if (plain) {
    list += name;
    return;
  }
  list += '"';
  for (const char c : name) list.append(c == '"' ? 2 : 1, c);
  list += '"';
}

// Source: 2.4 "group_outputs".
Status AnswerMaker::join(std::span<AnswerTensor* const> members, AnswerTensor& out) {
  const size_t fields = members.size();
  const TensorView first = members[0]->view;
  const size_t rows = rows_of(first);
  std::string features;
  bool nulls = false;
  for (const AnswerTensor* member : members) {
    append_feature(features, member->name);
    nulls |= member->nulls != nullptr;
  }
  AnswerTensor joined = *members[0];
  joined.is_group = true;
  joined.add(kFeaturesKey, keep(features));
  (void)joined.view.shape.push_back(static_cast<int64_t>(fields));
  const size_t count = rows * fields;
  auto* states = nulls ? arena_.allocate_array<uint8_t>(count) : nullptr;
  const bool is_text = dtype_is_text(first.dtype);
  const size_t size = is_text ? sizeof(std::string_view) : dtype_bytes(first.dtype);
  auto* place = arena_.allocate_array<uint8_t>(count * size);
  if (place == nullptr || (nulls && states == nullptr)) return no_memory();
  for (size_t field = 0; field < fields; ++field) {
    const AnswerTensor& member = *members[field];
    const auto* from =
        is_text ? reinterpret_cast<const uint8_t*>(member.view.strings.data()) : member.view.data;
    for (size_t row = 0; row < rows; ++row) {
      const size_t at = row * fields + field;
      std::memcpy(place + at * size, from + row * size, size);
      if (nulls) states[at] = member.nulls != nullptr ? member.nulls[row] : 0;
    }
  }
  if (is_text) joined.view.strings = {reinterpret_cast<const std::string_view*>(place), count};
  else joined.view.data = place;
  joined.view.bytes = is_text ? 0 : count * size;
  joined.nulls = states;
  out = joined;
  return {};
}

// "outputs_FP64"; with a number appended if another tensor of the response has that name.
std::string group_name(std::string_view datatype, std::span<const AnswerTensor> outputs,
                       std::span<const AnswerTensor> groups) {
  const std::string first = "outputs_" + std::string(datatype);
  std::string name = first;
  const auto is_taken = [&name](const AnswerTensor& tensor) { return tensor.name == name; };
  for (size_t number = 2;
       std::ranges::any_of(outputs, is_taken) || std::ranges::any_of(groups, is_taken); ++number) {
    name = first + "_" + std::to_string(number);
  }
  return name;
}

// A group takes the place of its first member.
Status AnswerMaker::group(std::span<AnswerTensor> all, size_t& count) {
  std::vector<AnswerTensor*> members;
  std::vector<bool> taken(count, false);
  size_t kept = 0;
  auto* grouped = arena_.allocate_array<AnswerTensor>(count);
  if (grouped == nullptr) return no_memory();
  for (size_t i = 0; i < count; ++i) {
    if (taken[i]) continue;
    members.assign(1, &all[i]);
    for (size_t k = i + 1; k < count && all[i].view.shape.rank() == 1; ++k) {
      if (taken[k] || !same_group(all[i], all[k])) continue;
      members.push_back(&all[k]);
      taken[k] = true;
    }
    new (&grouped[kept]) AnswerTensor(all[i]);
    if (members.size() > 1) {
      if (Status joined = join(members, grouped[kept]); !joined.ok()) return joined;
      grouped[kept].name = keep(group_name(all[i].datatype, all.first(count), {grouped, kept}));
    }
    ++kept;
  }
  std::copy_n(grouped, kept, all.begin());
  count = kept;
  return {};
}

// Source: 2.4 "Ragged outputs": [R,1,-1] and the lengths, of shape [1].
Status AnswerMaker::add_companion(AnswerTensor& ragged, AnswerTensor& out) {
  TensorView& view = ragged.view;
  const auto rows = static_cast<int64_t>(rows_of(view));
  out.name = keep(std::string(ragged.name) + std::string(kCompanionSuffix));
  out.datatype = "INT32";
  out.binary = ragged.binary;
  out.view.dtype = DType::Int32;
  (void)out.view.shape.push_back(1);
  out.view.data = reinterpret_cast<const uint8_t*>(view.lengths);  // all lengths are below 2^31
  out.view.bytes = static_cast<size_t>(rows) * sizeof(int32_t);
  view.shape.clear();
  for (const int64_t dim : {rows, int64_t{1}, int64_t{-1}}) (void)view.shape.push_back(dim);
  return {};
}

Status AnswerMaker::make(std::span<const TensorView> outputs, std::span<AnswerTensor>& out) {
  size_t count = outputs.size();
  auto* tensors = arena_.allocate_array<AnswerTensor>(2 * count);
  if (tensors == nullptr) return no_memory();
  for (size_t i = 0; i < count; ++i) {
    AnswerTensor& tensor = *new (&tensors[i]) AnswerTensor();
    Status made = make_one(outputs[i], request_.outputs[i], tensor);
    if (!made.ok()) return made;
    if (any_missing(tensor.view)) tensor.nulls = tensor.view.states;
  }
  if (request_.table.group_outputs && form_ != AnswerForm::V1) {
    if (Status grouped = group({tensors, count}, count); !grouped.ok()) return grouped;
  }
  for (size_t i = 0; i < count; ++i) {
    if (Status done = make_nulls(tensors[i]); !done.ok()) return done;
  }
  for (size_t i = 0; form_ != AnswerForm::V1 && i < count; ++i) {
    if (!is_ragged(tensors[i].view) || tensors[i].view.shape.rank() != 2) continue;
    std::copy_backward(tensors + i + 1, tensors + count, tensors + count + 1);
    AnswerTensor& companion = *new (&tensors[i + 1]) AnswerTensor();
    if (Status added = add_companion(tensors[i], companion); !added.ok()) return added;
    ++count;
    ++i;
  }
  out = {tensors, count};
  return {};
}

}  // namespace

Status make_answer(const TableSchema& table, const Signature& signature,
                   const DecodedRequest& request, std::span<const TensorView> outputs,
                   AnswerForm form, Arena& arena, std::span<AnswerTensor>& out) {
  return AnswerMaker(table, signature, request, form, arena).make(outputs, out);
}

}  // namespace serval::table
