// Reads tensor data from JSON. Hot path; any thread. The type is chosen outside of the loops.
// Nothing recurses.
#include "codec/table/json_data.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "codec/v2/json_parts.h"
#include "codec/values/text_values.h"

namespace serval::table {

namespace {

// Reads a number, or a string that names a number JSON cannot write.
const char* read_number(const char* p, const char* end, Arena& arena, double& out) {
  if (*p == '"') {
    std::string_view text;
    const char* stop = read_text(p, end, arena, text);
    const bool named = text == "NaN" || text == "Infinity" || text == "-Infinity";
    return stop != nullptr && named && read_double_text(text, out) ? stop : nullptr;
  }
  if (*p == 'n') return nullptr;
  const char* stop = read_double(p, end, out);
  return stop != nullptr && stop <= end ? stop : nullptr;
}

template <typename T>
using JsonElement = std::conditional_t<std::same_as<T, bool>, JsonBool, T>;

// Reads one tensor.
class DataReader {
 public:
  DataReader(std::string_view data, Arena& arena, RequestTensor& tensor)
      : begin_(data.data()), end_(data.data() + data.size()), arena_(arena), tensor_(tensor) {}

  template <typename T>
  bool read_flat(uint64_t elements, uint32_t depth_max, Status& fault);
  template <typename T>
  Status read_nested();

 private:
  template <typename T>
  T* make_room(uint64_t elements);
  template <typename T>
  Status read_cell(std::string_view text, uint64_t cell, T*& out);
  Status set_null(uint64_t cell);
  // Accepts the null at `index` elements, `depth` lists deep; returns how many elements it
  // represents.
  uint64_t take_null(uint64_t index, uint32_t depth, Status& fault);
  bool nulls_are_elements();
  Error null_in_cell(uint64_t index) const;
  Error wrong_count(uint64_t expected) const;
  Error wrong_value(const std::string& place, const char* p) const;
  // The error for data without a companion that lack the required nesting.
  Error not_nested(const std::string& what, const std::string& got) const;

  const char* begin_;
  const char* end_;
  Arena& arena_;
  RequestTensor& tensor_;
  bool looked_at_nulls_ = false, by_element_ = false;  // see nulls_are_elements()
};

template <typename T>
T* DataReader::make_room(uint64_t elements) {
  T* out = arena_.allocate_array<T>(elements);
  if constexpr (std::same_as<T, std::string_view>) tensor_.strings = out;
  else tensor_.data = reinterpret_cast<const uint8_t*>(out);
  tensor_.elements = elements;
  return out;
}

Status DataReader::set_null(uint64_t cell) {
  if (tensor_.nulls == nullptr) {
    tensor_.nulls = arena_.allocate_array<uint8_t>(tensor_.cells());
    if (tensor_.nulls == nullptr) return no_memory();
    std::memset(tensor_.nulls, 0, tensor_.cells());
  }
  tensor_.nulls[cell] = 1;
  return {};
}

// For text that is not JSON the count is meaningless; the caller then reports that instead.
Error DataReader::wrong_count(uint64_t expected) const {
  uint64_t count = 0;
  (void)v2::each_leaf({begin_, static_cast<size_t>(end_ - begin_)},
                      [&count](uint64_t, std::string_view) -> Status {
                        ++count;
                        return {};
                      });
  return invalid_argument(input_text(tensor_) + ": expected " + std::to_string(expected) +
                          " elements (shape " + tensor_.shape.to_string() + "), got " +
                          std::to_string(count));
}

Error DataReader::wrong_value(const std::string& place, const char* p) const {
  const char* stop = v2::behind_value(p, end_);
  const std::string_view got(p, static_cast<size_t>((stop == nullptr ? end_ : stop) - p));
  return invalid_argument(input_text(tensor_) + place + ": expected " +
                          json_value_text(carrier_of(tensor_.dtype)) + " for " +
                          std::string(dtype_name(tensor_.dtype)) + ", got " + echo_text(got));
}

Error DataReader::null_in_cell(uint64_t index) const {
  return invalid_argument(input_text(tensor_) + ", element " + std::to_string(index) +
                          ": null replaces a whole vector or array, not an element of one");
}

// Whether a null is one element, as in vectors that we write: the data are not lists of cells.
bool DataReader::nulls_are_elements() {
  if (looked_at_nulls_) return by_element_;
  looked_at_nulls_ = true;
  const auto lists = std::count(begin_, end_, '[');
  const auto commas = static_cast<uint64_t>(std::count(begin_, end_, ','));
  by_element_ = lists == 1 && commas + 1 != tensor_.cells();
  return by_element_;
}

uint64_t DataReader::take_null(uint64_t index, uint32_t depth, Status& fault) {
  if (tensor_.has_cells && tensor_.size > 1 && !tensor_.is_ragged() && nulls_are_elements()) {
    const uint64_t at = index / tensor_.size;
    const bool goes_on = tensor_.nulls != nullptr && at < tensor_.cells() && tensor_.nulls[at] != 0;
    if (index % tensor_.size != 0 && !goes_on) fault = null_in_cell(index);
    else if (at < tensor_.cells()) fault = set_null(at);
    return 1;
  }
  const bool whole_cell = !tensor_.has_cells || depth + 1 == tensor_.shape.rank();
  if (tensor_.is_ragged() || !whole_cell || (tensor_.size != 0 && index % tensor_.size != 0)) {
    fault = null_in_cell(index);
    return 0;
  }
  const uint64_t cell = tensor_.size == 0 ? index : index / tensor_.size;
  if (tensor_.size != 0 && cell < tensor_.cells()) fault = set_null(cell);
  return tensor_.size;
}

template <typename T>
bool DataReader::read_flat(uint64_t elements, uint32_t depth_max, Status& fault) {
  // Every element takes at least one byte of text, except those of null cells.
  const auto bytes = static_cast<uint64_t>(end_ - begin_);
  const uint64_t most = std::max(bytes, tensor_.has_cells ? kTableNullElementsMax : 0);
  T* const out = elements <= most ? make_room<T>(elements) : nullptr;
  if (out == nullptr) {
    fault = elements <= most ? no_memory() : wrong_count(elements);
    return false;
  }
  const char* p = begin_;
  uint32_t depth = 0;
  uint64_t found = 0;
  for (;;) {
    p = skip_blanks(p, end_);
    if (p >= end_) return false;
    if (*p == '[') {
      if (++depth > depth_max) return false;
      p = skip_blanks(p + 1, end_);
      if (*p != ']') continue;
    } else if (depth == 0) {
      return false;
    } else if (*p == 'n') {
      uint64_t count = take_null(found, depth, fault);
      p = read_word(p, end_, "null");
      if (!fault.ok() || p == nullptr) return false;
      for (; count > 0 && found < elements; --count) out[found++] = T();
      if (count > 0) {
        fault = wrong_count(elements);
        return false;
      }
    } else {
      if (found == elements) {
        fault = wrong_count(elements);
        return false;
      }
      if (by_element_ && tensor_.nulls[found / tensor_.size] != 0) {
        fault = null_in_cell(found);
        return false;
      }
      const char* stop = read_json_value(p, end_, arena_, out[found]);
      if (stop == nullptr || stop > end_) {
        fault = wrong_value(", element " + std::to_string(found), p);
        return false;
      }
      ++found;
      p = stop;
    }
    for (p = skip_blanks(p, end_); p < end_ && *p == ']'; p = skip_blanks(p, end_)) {
      ++p;
      if (--depth != 0) continue;
      if (p == end_ && found == elements) return true;
      if (p == end_) fault = wrong_count(elements);
      return false;
    }
    if (p >= end_ || *p != ',') {
      // A number continues in a way that its type does not allow.
      if (p < end_ && found > 0 && !is_blank(*p)) {
        const char* front = p;
        while (front > begin_ && front[-1] != ',' && front[-1] != '[' && !is_blank(front[-1])) {
          --front;
        }
        fault = wrong_value(", element " + std::to_string(found - 1), front);
      }
      return false;
    }
    ++p;
  }
}

Error DataReader::not_nested(const std::string& what, const std::string& got) const {
  return invalid_argument(input_text(tensor_) + ": shape " + tensor_.shape.to_string() +
                          " without an input " +
                          quoted(std::string(tensor_.name) + std::string(kCompanionSuffix)) +
                          ": expected nested data, " + what + ", got " + got);
}

template <typename T>
Status DataReader::read_cell(std::string_view text, uint64_t cell, T*& out) {
  const auto row = [&] { return std::to_string(cell / tensor_.fields); };
  const auto field = [&] { return std::to_string(cell % tensor_.fields); };
  const JsonKind kind = v2::kind_of(text);
  if (kind == JsonKind::Null) return set_null(cell);
  if (kind != JsonKind::Array) {
    return not_nested("in row " + row() + " a list of elements for field " + field(),
                      echo_text(text));
  }
  for (v2::JsonItems items(text); items.next(); ++out) {
    const char* const p = items.value().data();
    const char* const stop = read_json_value(p, p + items.value().size(), arena_, *out);
    if (stop != p + items.value().size()) {
      return wrong_value(", row " + row() + ", field " + field(), p);
    }
  }
  return {};
}

template <typename T>
Status DataReader::read_nested() {
  const std::string_view data(begin_, static_cast<size_t>(end_ - begin_));
  const uint64_t cells = tensor_.cells();
  const auto expected = [&](const std::string& what, uint64_t got) {
    return not_nested(what, std::to_string(got));
  };
  const std::string rows_text = std::to_string(tensor_.rows) + " lists, one per row";
  uint64_t count = 0;
  (void)v2::each_leaf(data, [&count](uint64_t, std::string_view) -> Status {
    ++count;
    return {};
  });
  if (cells > data.size()) return expected(rows_text, 0);
  auto* lengths = arena_.allocate_array<uint32_t>(cells);
  T* const room = make_room<T>(count);
  if (lengths == nullptr || room == nullptr) return no_memory();
  tensor_.lengths = lengths;
  T* out = room;
  uint64_t row = 0;
  for (v2::JsonItems rows(data); rows.next(); ++row) {
    const std::string_view text = rows.value();
    if (row == tensor_.rows) return expected(rows_text, row + 1);
    uint64_t cell = row * tensor_.fields;
    const uint64_t cells_end = cell + tensor_.fields;
    const bool is_list = v2::kind_of(text) == JsonKind::Array;
    v2::JsonItems inner(is_list ? text : std::string_view("[]"));
    const bool has_first = inner.next();
    const JsonKind first = has_first ? v2::kind_of(inner.value()) : JsonKind::Number;
    const bool of_cells = first == JsonKind::Array || first == JsonKind::Null;
    if (tensor_.fields == 1 && !of_cells) {
      T* const begin = out;
      if (Status read = read_cell(text, cell, out); !read.ok()) return read;
      lengths[cell] = static_cast<uint32_t>(out - begin);
      continue;
    }
    if (!is_list) {
      return not_nested("in row " + std::to_string(row) + " a list per field", echo_text(text));
    }
    bool more = has_first;
    for (; more && cell != cells_end; more = inner.next(), ++cell) {
      T* const begin = out;
      if (Status read = read_cell(inner.value(), cell, out); !read.ok()) return read;
      lengths[cell] = static_cast<uint32_t>(out - begin);
    }
    for (; more; more = inner.next()) ++cell;
    if (cell != cells_end) {
      return expected("in row " + std::to_string(row) + " " + std::to_string(tensor_.fields) +
                          " lists, one per field",
                      cell - row * tensor_.fields);
    }
  }
  if (row != tensor_.rows) return expected(rows_text, row);
  tensor_.elements = static_cast<uint64_t>(out - room);
  return {};
}

}  // namespace

template <typename T>
const char* read_json_value(const char* p, const char* end, Arena& arena, T& out) {
  if constexpr (std::same_as<T, std::string_view>) {
    return read_text(p, end, arena, out);
  } else if constexpr (std::same_as<T, JsonBool>) {
    const bool is_true = *p == 't';
    const char* stop = read_word(p, end, is_true ? "true" : "false");
    if (stop != nullptr) out.value = is_true ? 1 : 0;
    return stop;
  } else if constexpr (IsReal<T>) {
    double value = 0;
    const char* stop = read_number(p, end, arena, value);
    return stop != nullptr && v2::to_real(value, p, stop, out) ? stop : nullptr;
  } else {
    const char* stop = read_integer<T>(p, end, out);
    return stop != nullptr && stop <= end ? stop : nullptr;
  }
}

#define SERVAL_JSON_VALUE(T) \
  template const char* read_json_value<T>(const char*, const char*, Arena&, T&)
SERVAL_JSON_VALUE(int8_t);
SERVAL_JSON_VALUE(int16_t);
SERVAL_JSON_VALUE(int32_t);
SERVAL_JSON_VALUE(int64_t);
SERVAL_JSON_VALUE(float);
SERVAL_JSON_VALUE(double);
SERVAL_JSON_VALUE(std::string_view);
SERVAL_JSON_VALUE(JsonBool);
#undef SERVAL_JSON_VALUE

bool read_data(std::string_view data, uint64_t elements, uint32_t depth_max, Arena& arena,
               RequestTensor& tensor, Status& fault) {
  DataReader reader(data, arena, tensor);
  return visit(carrier_of(tensor.dtype), [&]<typename T>(TypeTag<T>) -> bool {
    if constexpr (std::is_void_v<T> || std::same_as<T, Decimal>) return false;
    else return reader.read_flat<JsonElement<T>>(elements, depth_max, fault);
  });
}

Status read_nested_data(std::string_view data, Arena& arena, RequestTensor& tensor) {
  DataReader reader(data, arena, tensor);
  return visit(carrier_of(tensor.dtype), [&]<typename T>(TypeTag<T>) -> Status {
    if constexpr (std::is_void_v<T> || std::same_as<T, Decimal>) {
      return make_error(ErrorCode::Internal, "a tensor without a datatype");
    } else {
      return reader.read_nested<JsonElement<T>>();
    }
  });
}

std::string json_value_text(DType carrier) {
  return visit(carrier, []<typename T>(TypeTag<T>) -> std::string {
    if constexpr (std::same_as<T, bool>) {
      return "true or false";
    } else if constexpr (IsInteger<T>) {
      using Range = std::numeric_limits<T>;
      return "an integer from " + std::to_string(Range::min()) + " to " +
             std::to_string(Range::max());
    } else {
      return std::same_as<T, std::string_view> ? "a string" : "a number in its range";
    }
  });
}

}  // namespace serval::table
