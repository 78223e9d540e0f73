// Converts examples to named inputs. Hot path, any thread. Reads the examples twice: first to learn
// that they fit and how large the tensors are, so that memory is proportional to the values that
// exist.
#include "codec/examples/named_inputs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/bytes/example_wire.h"
#include "base/copies.h"
#include "codec/examples/signature.h"
#include "codec/json/echo.h"

namespace serval {

namespace {

using Examples = std::span<const std::string_view>;

constexpr size_t kNamesShownMax = 16;

std::string quoted(std::string_view name) { return "'" + echo_text(name) + "'"; }

// One input, and its feature in the first example.
struct Column {
  const TensorSpec* spec = nullptr;
  uint64_t fixed = 1;    // product of the known trailing dimensions
  int free_dim = -1;     // index of the free trailing dimension
  uint64_t values = 0;   // per example
  bool absent = false;   // missing from all examples
  void* data = nullptr;  // elements, or views of texts
  size_t filled = 0;     // examples stored so far, when filled from JSON
};

std::string input_text(const TensorSpec& spec) {
  const std::string dims = spec.unknown_rank ? std::string("of any shape") : dims_text(spec);
  return "input " + quoted(spec.name) + " (" + std::string(dtype_name(spec.dtype)) + " " + dims +
         ")";
}

std::string place(size_t example, const TensorSpec& spec) {
  return "example " + std::to_string(example) + ": feature " + quoted(spec.name) + " for " +
         input_text(spec) + ": ";
}

// Reads what the shape alone determines.
Status read_dims(const TensorSpec& spec, Column& column) {
  column.spec = &spec;
  if (spec.unknown_rank) {
    column.free_dim = 1;
    return {};
  }
  if (spec.dims.empty()) {
    return invalid_argument("classify: " + input_text(spec) +
                            " has no dimension for rows, so Examples cannot be used; use predict");
  }
  for (size_t i = 1; i < spec.dims.size(); ++i) {
    if (spec.dims[i] < 0 && column.free_dim >= 0) {
      return invalid_argument("classify: " + input_text(spec) +
                              " has several free trailing dimensions, which a flat list of values "
                              "cannot describe; use predict");
    }
    if (spec.dims[i] < 0) column.free_dim = static_cast<int>(i);
    else column.fixed *= static_cast<uint64_t>(spec.dims[i]);
  }
  return {};
}

Error missing_feature(size_t example, std::string_view bytes, const TensorSpec& spec) {
  std::string names;
  for (const std::string_view name : feature_names(bytes, kNamesShownMax)) {
    if (name == spec.name) {
      names = "one without values";
      break;
    }
    names += (names.empty() ? "" : ", ") + quoted(name);
  }
  return invalid_argument("example " + std::to_string(example) + ": expected a feature " +
                          quoted(spec.name) + " for " + input_text(spec) + ", got " +
                          (names.empty() ? std::string("no features") : names));
}

bool takes_kind(DType input, DType kind) {
  return visit(input, [kind]<typename T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, std::string_view>) return kind == DType::Bytes;
    else if constexpr (IsReal<T>) return kind == DType::Fp32 || kind == DType::Int64;
    else if constexpr (std::integral<T>) return kind == DType::Int64;
    else return false;
  });
}

const char* kind_text(DType kind) {
  if (kind == DType::Bytes) return "texts";
  return kind == DType::Fp32 ? "reals" : "whole numbers";
}

const char* wanted_text(DType input) {
  if (input == DType::Bytes) return "texts";
  if (input == DType::Bool) return "true and false";
  return dtype_is_real(input) ? "numbers" : "whole numbers";
}

Status check_count(size_t example, uint64_t count, Column& column) {
  const bool first = example == 0;
  if (column.free_dim < 0 || !first) {
    const uint64_t wanted = column.free_dim < 0 ? column.fixed : column.values;
    column.values = wanted;
    if (count == wanted) return {};
    return invalid_argument(place(example, *column.spec) + "expected " + std::to_string(wanted) +
                            (wanted == 1 ? " value" : " values") +
                            (column.free_dim < 0 ? "" : " as in example 0") + ", got " +
                            std::to_string(count));
  }
  column.values = count;
  if (column.fixed != 0 && count % column.fixed == 0) return {};
  return invalid_argument(place(example, *column.spec) + "expected a multiple of " +
                          std::to_string(column.fixed) + " values, got " + std::to_string(count));
}

// Opens the list of a feature that exists. An empty list matches any kind.
Status open_feature(size_t example, FeatureBytes bytes, Column& column, FeatureList& list) {
  const TensorSpec& spec = *column.spec;
  if (!open_list(bytes, list)) {
    return invalid_argument(place(example, spec) + "its list of values cannot be read");
  }
  if (list.count != 0 && !takes_kind(spec.dtype, list.kind)) {
    return invalid_argument(place(example, spec) + "expected " + wanted_text(spec.dtype) +
                            ", got " + kind_text(list.kind));
  }
  return check_count(example, list.count, column);
}

// Finds the features of one example.
Status find(size_t example, std::string_view bytes, const FeatureIndex& index,
            const std::vector<bool>& empty_counts, ExampleFeatures& features) {
  if (find_features(bytes, index, empty_counts, features) == ExampleFault::None) return {};
  return invalid_argument("example " + std::to_string(example) +
                          ": expected a serialized tensorflow.Example, got other bytes or a "
                          "feature of no known kind");
}

Status check_example(size_t example, std::string_view bytes, const ExampleFeatures& features,
                     std::span<Column> columns) {
  for (size_t c = 0; c < columns.size(); ++c) {
    Column& column = columns[c];
    const bool found = features.columns[c].data != nullptr;
    if (example == 0 && !found && column.spec->may_be_absent) column.absent = true;
    if (!found && column.absent) continue;
    if (!found) return missing_feature(example, bytes, *column.spec);
    if (column.absent) {
      return invalid_argument(place(example, *column.spec) +
                              "expected it in all examples or in none; example 0 does not have it");
    }
    FeatureList list;
    if (Status fits = open_feature(example, features.columns[c], column, list); !fits.ok()) {
      return fits;
    }
  }
  return {};
}

// Converts a whole number to an element. False: out of range.
template <typename T>
bool from_integer(int64_t value, T& out) {
  if constexpr (std::is_same_v<T, bool>) {
    out = value != 0;
    return value == 0 || value == 1;
  } else if constexpr (IsHalf<T>) {
    out = T(static_cast<double>(value));
    return true;
  } else if constexpr (IsReal<T>) {
    out = static_cast<T>(value);
    return true;
  } else {
    out = static_cast<T>(value);
    return std::in_range<T>(value);
  }
}

template <typename T>
Status fill_integers(size_t example, const Column& column, std::span<const int64_t> from, T* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    if (from_integer<T>(from[i], to[i])) continue;
    return invalid_argument(place(example, *column.spec) + "value " + std::to_string(from[i]) +
                            " at index " + std::to_string(i) + " is out of the range of " +
                            std::string(dtype_name(column.spec->dtype)));
  }
  return {};
}

template <typename T>
void fill_reals(std::span<const float> from, T* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    if constexpr (IsHalf<T>) to[i] = T(static_cast<double>(from[i]));
    else to[i] = static_cast<T>(from[i]);
  }
}

// `scratch`: space for a row's values, 8 bytes each.
template <typename T>
Status fill_row(size_t example, const Column& column, const FeatureList& list, void* scratch) {
  T* const to = static_cast<T*>(column.data) + example * column.values;
  if (list.count == 0) return {};
  if constexpr (std::is_same_v<T, std::string_view>) {
    read_strings(list, to);
  } else if constexpr (std::integral<T> || IsReal<T>) {
    if (list.kind == DType::Int64) {
      auto* const values = static_cast<int64_t*>(scratch);
      read_integers(list, values);
      return fill_integers<T>(example, column, {values, list.count}, to);
    }
    if constexpr (IsReal<T>) {
      auto* const values = static_cast<float*>(scratch);
      read_floats(list, values);
      fill_reals<T>({values, list.count}, to);
    }
  }
  return {};
}

Status fill_example(size_t example, const ExampleFeatures& features, std::span<Column> columns,
                    void* scratch) {
  for (size_t c = 0; c < columns.size(); ++c) {
    Column& column = columns[c];
    if (column.absent) continue;
    FeatureList list;
    Status status = open_feature(example, features.columns[c], column, list);
    if (status.ok()) {
      status = visit(column.spec->dtype, [&]<typename T>(TypeTag<T>) -> Status {
        if constexpr (std::is_void_v<T> || std::is_same_v<T, Decimal>) return {};
        else return fill_row<T>(example, column, list, scratch);
      });
    }
    if (!status.ok()) return status;
  }
  return {};
}

// Allocates the elements of all examples.
bool allocate(Column& column, size_t count, Arena& arena) {
  if (column.absent) return true;
  const size_t element = column.spec->dtype == DType::Bytes ? sizeof(std::string_view)
                                                            : dtype_bytes(column.spec->dtype);
  size_t bytes = 0;
  if (__builtin_mul_overflow(count * element, column.values, &bytes)) return false;
  column.data = arena.allocate(bytes);
  if (column.data != nullptr) count_copied(bytes);
  return column.data != nullptr;
}

TensorView tensor_of(const Column& column, size_t count) {
  const TensorSpec& spec = *column.spec;
  TensorView tensor;
  if (column.absent) return tensor;  // DType::Invalid
  tensor.dtype = spec.dtype;
  (void)tensor.shape.push_back(static_cast<int64_t>(count));
  const size_t rank = spec.unknown_rank ? 2 : spec.dims.size();
  for (size_t i = 1; i < rank; ++i) {
    const bool free = static_cast<int>(i) == column.free_dim;
    const auto length = static_cast<int64_t>(column.values / column.fixed);
    (void)tensor.shape.push_back(free ? length : spec.dims[i]);
  }
  const size_t elements = count * column.values;
  if (spec.dtype == DType::Bytes) {
    tensor.strings = {static_cast<const std::string_view*>(column.data), elements};
  } else {
    tensor.data = static_cast<const uint8_t*>(column.data);
    tensor.bytes = elements * dtype_bytes(spec.dtype);
  }
  return tensor;
}

// The values of a feature in JSON: the elements of a list, or the value itself.
struct JsonValues {
  JsonValues(const JsonDocument& all, const JsonNode& feature)
      : document(all), is_list(feature.kind == JsonKind::Array) {
    first = is_list ? all.child(feature) : &feature;
    count = is_list ? feature.children : 1;
  }
  const JsonNode* next(const JsonNode& value) const {
    return is_list ? document.sibling(value) : nullptr;
  }

  const JsonDocument& document;
  bool is_list;
  const JsonNode* first;
  uint64_t count;
};

// Converts one value to an element as if by an Example. False: it does not fit.
template <typename T>
bool from_json(const JsonNode& value, T& out) {
  const bool is_number = value.kind == JsonKind::Number;
  const bool is_bool = value.kind == JsonKind::True || value.kind == JsonKind::False;
  if constexpr (std::is_same_v<T, std::string_view>) {
    out = value.text;
    return !is_number && !is_bool;
  } else {
    if (!is_number && !is_bool) return false;
    if (is_number && value.number.form == JsonNumber::Form::Double) {
      const auto kept = static_cast<float>(value.number.f64);
      if constexpr (IsReal<T>) fill_reals<T>({&kept, 1}, &out);
      return IsReal<T>;
    }
    const int64_t whole = is_number ? value.number.i64 : value.kind == JsonKind::True;
    return from_integer<T>(whole, out);
  }
}

bool fill_json(size_t example, const Column& column, const JsonValues& values) {
  return visit(column.spec->dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, std::string_view> || std::integral<T> || IsReal<T>) {
      T* to = static_cast<T*>(column.data) + example * column.values;
      for (const JsonNode* at = values.first; at != nullptr; at = values.next(*at)) {
        if (!from_json<T>(*at, *to++)) return false;
      }
      return true;
    } else {
      return false;
    }
  });
}

// Allocates memory for all examples, once the first shows how many values each has. A value takes
// more than one byte of the body, which bounds the allocation.
bool allocate_json(const JsonNode& examples, Column& column, Arena& arena) {
  const uint64_t values = column.values * examples.children;
  return values <= examples.end - examples.begin && allocate(column, examples.children, arena);
}

// Fills the columns from one example; the first one allocates them. `guesses`: the columns in the
// key order of the previous example.
bool read_json(const JsonDocument& document, const JsonNode& examples, const JsonNode& object,
               size_t example, const FeatureIndex& index, std::vector<int>& guesses,
               std::span<Column> columns, Arena& arena) {
  size_t found = 0;
  size_t place = 0;
  for (const JsonNode* at = document.child(object); at != nullptr;
       at = document.sibling(*at), ++place) {
    if (place >= guesses.size()) guesses.push_back(-1);
    const int named = index.find(at->key, guesses[place]);
    if (named < 0) continue;
    guesses[place] = named;
    Column& column = columns[static_cast<size_t>(named)];
    const JsonValues values(document, *at);
    if (values.count == 0 || column.filled != example || column.absent) return false;
    if (!check_count(example, values.count, column).ok()) return false;
    if (example == 0 && !allocate_json(examples, column, arena)) return false;
    if (!fill_json(example, column, values)) return false;
    ++column.filled;
    ++found;
  }
  size_t wanted = 0;
  for (Column& column : columns) {
    if (example == 0 && column.filled == 0) column.absent = column.spec->may_be_absent;
    wanted += !column.absent;
  }
  return found == wanted;
}

}  // namespace

// Hot path: decode. Examples that were read to the inputs of a model of tensors.
Status examples_to_inputs(const Signature& signature, Arena& arena, DecodedRequest& request) {
  if (request.inputs.size() != 1) {
    return make_error(ErrorCode::Internal, "expected one tensor of Examples");
  }
  const Examples examples = request.inputs[0].strings;
  std::vector<Column> columns(signature.inputs.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < columns.size(); ++i) {
    names.push_back(signature.inputs[i].name);
    if (Status fits = read_dims(signature.inputs[i], columns[i]); !fits.ok()) return fits;
  }
  const FeatureIndex index(names);
  const std::vector<bool> empty_counts(names.size(), false);
  ExampleFeatures features;
  for (size_t e = 0; e < examples.size(); ++e) {
    Status fits = find(e, examples[e], index, empty_counts, features);
    if (fits.ok()) fits = check_example(e, examples[e], features, columns);
    if (!fits.ok()) return fits;
  }
  uint64_t longest = 0;
  bool room = true;
  for (Column& column : columns) {
    longest = std::max(longest, column.values);
    room = room && allocate(column, examples.size(), arena);
  }
  auto* const scratch = room ? arena.allocate_array<int64_t>(longest) : nullptr;
  if (scratch == nullptr) {
    return make_error(ErrorCode::MemoryFull, "out of memory for the examples of a request");
  }
  for (size_t e = 0; e < examples.size(); ++e) {
    Status done = find(e, examples[e], index, empty_counts, features);
    if (done.ok()) done = fill_example(e, features, columns, scratch);
    if (!done.ok()) return done;
  }
  request.inputs.clear();
  for (const Column& column : columns) request.inputs.push_back(tensor_of(column, examples.size()));
  return {};
}

// Hot path: decode.
bool json_to_inputs(const JsonDocument& document, const JsonNode& examples,
                    const Signature& signature, Arena& arena, DecodedRequest& request) {
  std::vector<Column> columns(signature.inputs.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < columns.size(); ++i) {
    names.push_back(signature.inputs[i].name);
    if (!read_dims(signature.inputs[i], columns[i]).ok()) return false;
  }
  const FeatureIndex index(names);
  std::vector<int> guesses;
  size_t example = 0;
  const JsonNode* at = document.child(examples);
  for (; at != nullptr; at = document.sibling(*at), ++example) {
    if (!read_json(document, examples, *at, example, index, guesses, columns, arena)) {
      return false;
    }
  }
  request.inputs.clear();
  for (const Column& column : columns) request.inputs.push_back(tensor_of(column, example));
  return true;
}

}  // namespace serval
