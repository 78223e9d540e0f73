// Binds a request's tensors to a tabular model's fields. Hot path; any thread.
#include "codec/table/bind.h"

#include <algorithm>
#include <cstring>

#include "codec/table/coerce.h"

namespace serval::table {

namespace {

constexpr size_t kFewTensors = 32;  // up to this number every name is compared with every other
constexpr int32_t kNoField = -1;

std::string number(uint64_t value) { return std::to_string(value); }

// A field name in a tensor.
struct Name {
  std::string_view text;
  int32_t field = kNoField;  // index in the model; kNoField for unknown names, which are ignored
};

class Binder {
 public:
  Binder(std::span<RequestTensor> tensors, TensorSource& source, const TableSchema& table,
         bool strict, Arena& arena, DecodedRequest& out)
      : tensors_(tensors),
        source_(source),
        table_(table),
        strict_(strict),
        arena_(arena),
        out_(out) {}

  Status bind();

 private:
  Status check_names();
  Status pair(uint32_t index);
  void find_matrices();
  Status count_names(size_t& count);
  Status name_fields();
  Status name_field(RequestTensor& tensor, std::string_view name);
  Status occupy(const RequestTensor& tensor, size_t field);
  Status lay_out(RequestTensor& tensor);
  Status lay_out_two_dims(RequestTensor& tensor, uint64_t names);
  Status check_rows();
  Status read(uint32_t index);
  Status read_ragged(uint32_t index, RequestTensor& tensor);
  Status take_fields(const RequestTensor& tensor);

  uint64_t names_of(const RequestTensor& tensor) const {
    const size_t next = static_cast<size_t>(&tensor - tensors_.data()) + 1;
    const uint64_t end = next < tensors_.size() ? tensors_[next].first_name : name_count_;
    return end - tensor.first_name;
  }

  std::span<RequestTensor> tensors_;
  TensorSource& source_;
  const TableSchema& table_;
  const bool strict_;
  Arena& arena_;
  DecodedRequest& out_;
  Name* names_ = nullptr;
  uint32_t name_count_ = 0;
  uint64_t rows_ = 0;
};

// Source: X12 "must still be unique in the request".
Status Binder::check_names() {
  const auto twice = [](std::string_view name) {
    return invalid_argument("input " + quoted(name) + " is given twice");
  };
  if (tensors_.size() <= kFewTensors) {
    for (size_t i = 1; i < tensors_.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        if (tensors_[k].name == tensors_[i].name) return twice(tensors_[i].name);
      }
    }
    return {};
  }
  auto* names = arena_.allocate_array<std::string_view>(tensors_.size());
  if (names == nullptr) return no_memory();
  for (size_t i = 0; i < tensors_.size(); ++i) names[i] = tensors_[i].name;
  std::sort(names, names + tensors_.size());
  const auto* same = std::adjacent_find(names, names + tensors_.size());
  return same == names + tensors_.size() ? Status() : twice(*same);
}

// Finds the tensor with the lengths. Source: X8, X10, X11.
Status Binder::pair(uint32_t index) {
  RequestTensor& tensor = tensors_[index];
  for (uint32_t i = 0; i < tensors_.size(); ++i) {
    const std::string_view name = tensors_[i].name;
    if (i == index || name.size() != tensor.name.size() + kCompanionSuffix.size() ||
        !name.starts_with(tensor.name) || !name.ends_with(kCompanionSuffix)) {
      continue;
    }
    RequestTensor& companion = tensors_[i];
    if (companion.dtype != DType::Int32 && companion.dtype != DType::Int64) {
      return invalid_argument(input_text(companion) + ", the shape tensor of " +
                              quoted(tensor.name) + ": expected datatype INT32, got " +
                              std::string(dtype_name(companion.dtype)));
    }
    tensor.companion = i;
    companion.is_companion = true;
  }
  return {};
}

// Finds the tensors that have a column for each field of the model.
void Binder::find_matrices() {
  if (!table_.matrix) return;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    RequestTensor& tensor = tensors_[i];
    tensor.is_matrix = !tensor.parameters.has_features && tensor.shape.rank() == 2 &&
                       table_.find_field(tensor.name, i) < 0;
  }
}

Status Binder::count_names(size_t& count) {
  for (const RequestTensor& tensor : tensors_) {
    if (tensor.is_companion) continue;
    if (!tensor.parameters.has_features) {
      count += tensor.is_matrix ? table_.fields.size() : 1;
      continue;
    }
    const std::string_view text = tensor.parameters.features;
    count += 1 + static_cast<size_t>(std::count(text.begin(), text.end(), ','));
  }
  if (count <= kTableFieldsMax) return {};
  return over_limit("fields that the inputs name", count, kTableFieldsMax);
}

// Source: X12 to X14, X28.
Status Binder::name_field(RequestTensor& tensor, std::string_view name) {
  const int32_t field = table_.find_field(name, name_count_);
  names_[name_count_++] = {name, field};
  if (field != kNoField) return occupy(tensor, static_cast<size_t>(field));
  if (!strict_ && !table_.of_tensors) return {};
  return invalid_argument(input_text(tensor) + ": the model has no field " + quoted(name) +
                          (table_.of_tensors ? "" : " (parameter 'strict')"));
}

// Marks a field as taken; its values are set later.
Status Binder::occupy(const RequestTensor& tensor, size_t field) {
  TensorView& view = out_.inputs[field];
  if (view.dtype != DType::Invalid) {
    return invalid_argument(input_text(tensor) + ": field " + quoted(table_.fields[field].name) +
                            " is given more than once");
  }
  view.dtype = tensor.dtype;
  return {};
}

Status Binder::name_fields() {
  size_t count = 0;
  if (Status counted = count_names(count); !counted.ok()) return counted;
  names_ = arena_.allocate_array<Name>(count);
  if (names_ == nullptr) return no_memory();
  for (RequestTensor& tensor : tensors_) {
    tensor.first_name = name_count_;
    if (tensor.is_companion) continue;
    Status named;
    if (tensor.parameters.has_features) {
      named = each_feature(tensor, arena_,
                           [&](std::string_view name) { return name_field(tensor, name); });
    } else if (tensor.is_matrix) {
      for (size_t i = 0; named.ok() && i < table_.fields.size(); ++i) {
        names_[name_count_++] = {table_.fields[i].name, static_cast<int32_t>(i)};
        named = occupy(tensor, i);
      }
    } else {
      named = name_field(tensor, tensor.name);
    }
    if (!named.ok()) return named;
  }
  return {};
}

// Handles shape [R,N]. Source: X6, X16.
Status Binder::lay_out_two_dims(RequestTensor& tensor, uint64_t names) {
  const auto width = static_cast<uint64_t>(tensor.shape[1]);
  if (tensor.is_matrix) {
    tensor.fields = width;
    if (width == names && tensor.dtype != DType::Vector) return {};
    return invalid_argument(input_text(tensor) + ": expected a field's name, or all " +
                            number(names) + " fields in shape [" + std::to_string(tensor.shape[0]) +
                            "," + number(names) + "], got shape " + tensor.shape.to_string());
  }
  const Name& first = names_[tensor.first_name];
  const bool is_vector = tensor.dtype == DType::Vector;
  const bool known = first.field != kNoField;
  const bool wants_cells = known && has_cells(table_.fields[static_cast<size_t>(first.field)]);
  const bool one_name = names == 1 && (!tensor.parameters.has_features || width != 1);
  tensor.fields = width;
  tensor.size = 1;
  if (is_vector || (wants_cells && (one_name || width == 1))) {
    tensor.has_cells = true;
    tensor.fields = 1;
    tensor.size = width;
  } else if (!tensor.parameters.has_features && width != 1) {
    if (known) {
      return invalid_argument(input_text(tensor) + ": shape " + tensor.shape.to_string() +
                              ", but the model's field " + quoted(first.text) +
                              " is no vector or array: name the fields in the parameter "
                              "'features', or send shape [" +
                              std::to_string(tensor.shape[0]) + "]");
    }
    tensor.fields = 1;  // no field needs it
    tensor.size = width;
  }
  return {};
}

// Determines rows, fields and elements of a cell from the shape. Source: X6, X10, X16, X17.
Status Binder::lay_out(RequestTensor& tensor) {
  const Shape& shape = tensor.shape;
  const auto wrong = [&](std::string_view why) {
    return invalid_argument(input_text(tensor) + ": shape " + shape.to_string() + ": " +
                            std::string(why));
  };
  if (shape.rank() == 0) return wrong("expected rows as the first dimension, got a scalar");
  if (shape.rank() > 3) return wrong("expected 1 to 3 dimensions: rows, fields, elements");
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] >= 0 || (i == 2 && shape[i] == -1)) continue;
    if (shape.rank() == 2 && shape[1] == -1) {
      return wrong("-1 is only allowed as the last of three dimensions: send [" +
                   std::to_string(shape[0]) + ",1,-1]");
    }
    return wrong("dimension " + number(i) +
                 " is negative; only the last of three may be -1, for cells of different length");
  }
  tensor.rows = static_cast<uint64_t>(shape[0]);
  if (tensor.rows > kTableRowsMax) {
    return over_limit(input_text(tensor) + ": rows", tensor.rows, kTableRowsMax);
  }
  const uint64_t names = names_of(tensor);
  tensor.fields = tensor.size = 1;
  if (shape.rank() == 1 && tensor.dtype == DType::Vector) {
    return wrong(
        "a VECTOR has the shape [rows, elements], [rows, fields, elements] or "
        "[rows, fields, -1]");
  }
  if (shape.rank() == 2) {
    if (Status laid = lay_out_two_dims(tensor, names); !laid.ok()) return laid;
  } else if (shape.rank() == 3) {
    tensor.has_cells = true;
    tensor.fields = static_cast<uint64_t>(shape[1]);
    tensor.size = shape[2] < 0 ? 0 : static_cast<uint64_t>(shape[2]);
  }
  if (names != tensor.fields) {
    return wrong("has " + number(tensor.fields) + " fields, but " +
                 (tensor.parameters.has_features
                      ? "the parameter 'features' names " + number(names)
                      : std::string("no parameter 'features' names them")));
  }
  if (tensor.size == 0 && !tensor.is_ragged() && tensor.cells() > kTableEmptyRowsMax) {
    return over_limit(input_text(tensor) + ": cells without elements", tensor.cells(),
                      kTableEmptyRowsMax);
  }
  if (tensor.size > kTableCellMax) {
    return over_limit(input_text(tensor) + ": elements of a cell", tensor.size, kTableCellMax);
  }
  if (tensor.cells() > kTableElementsMax ||
      (tensor.size != 0 && tensor.cells() > kTableElementsMax / tensor.size)) {
    return make_error(ErrorCode::BodyTooLarge, input_text(tensor) + ": shape " + shape.to_string() +
                                                   " has over " + number(kTableElementsMax) +
                                                   " elements");
  }
  return {};
}

// Source: X17.
Status Binder::check_rows() {
  const RequestTensor* first = nullptr;
  for (RequestTensor& tensor : tensors_) {
    if (tensor.is_companion) continue;
    if (Status laid = lay_out(tensor); !laid.ok()) return laid;
    if (first == nullptr) first = &tensor;
    if (first->rows == tensor.rows) continue;
    return invalid_argument("inputs " + quoted(first->name) + " and " + quoted(tensor.name) +
                            " must have the same number of rows, got " + number(first->rows) +
                            " and " + number(tensor.rows));
  }
  // A model without fields returns one row if nothing gives a number of rows.
  const bool is_constant = table_.fields.empty();
  if (first == nullptr && !is_constant) {
    return invalid_argument("the request has no inputs: expected some rows");
  }
  rows_ = first == nullptr ? 1 : first->rows;
  return {};
}

Status Binder::read_ragged(uint32_t index, RequestTensor& tensor) {
  const uint64_t cells = tensor.cells();
  if (tensor.companion == kNoTensor) return source_.read_nested(index, tensor);
  RequestTensor& companion = tensors_[tensor.companion];
  const Shape& shape = companion.shape;
  const auto rows = static_cast<int64_t>(tensor.rows), fields = static_cast<int64_t>(tensor.fields);
  const bool fits =
      (shape.rank() == 1 && (shape[0] == 1 || shape[0] == static_cast<int64_t>(cells))) ||
      (shape.rank() == 2 && shape[0] == rows && shape[1] == fields);
  const std::string owner = ", the shape tensor of " + quoted(tensor.name);
  if (!fits) {
    return invalid_argument(input_text(companion) + owner + ": expected shape [1], [" +
                            number(cells) + "] or [" + std::to_string(rows) + "," +
                            std::to_string(fields) + "], got " + shape.to_string());
  }
  Status done = source_.read(tensor.companion, cells, companion);
  if (!done.ok()) {
    if (done.error().code == ErrorCode::InvalidArgument) {
      done.error().message += " (a length for each row and field of " + quoted(tensor.name) + ")";
    }
    return done;
  }
  uint64_t total = 0;
  done = read_lengths(companion, cells, arena_, tensor.lengths, total);
  if (!done.ok()) return done;
  if (total > kTableElementsMax) {
    return over_limit(input_text(tensor) + ": elements", total, kTableElementsMax);
  }
  done = source_.read(index, total, tensor);
  if (!done.ok() && done.error().code == ErrorCode::InvalidArgument) {
    done.error().message +=
        " (" + quoted(companion.name) + " adds up to " + number(total) + " elements)";
  }
  return done;
}

Status Binder::read(uint32_t index) {
  RequestTensor& tensor = tensors_[index];
  Status done = tensor.is_ragged() ? read_ragged(index, tensor)
                                   : source_.read(index, tensor.cells() * tensor.size, tensor);
  if (!done.ok() || !tensor.parameters.has_null_indices) return done;
  const uint64_t cells = tensor.cells();
  if (tensor.nulls == nullptr) {
    tensor.nulls = arena_.allocate_array<uint8_t>(cells);
    if (tensor.nulls == nullptr) return no_memory();
    if (cells != 0) std::memset(tensor.nulls, 0, cells);
  }
  return read_null_indices(tensor, cells, tensor.nulls);
}

Status Binder::take_fields(const RequestTensor& tensor) {
  double* columns = nullptr;
  if (tensor.is_matrix && (tensor.dtype == DType::Fp32 || tensor.dtype == DType::Fp64)) {
    columns = arena_.allocate_array<double>(tensor.cells());
    if (columns == nullptr) return no_memory();
  }
  for (uint64_t i = 0; i < tensor.fields; ++i) {
    const Name& name = names_[tensor.first_name + i];
    if (name.field == kNoField) continue;
    const auto index = static_cast<size_t>(name.field);
    const FieldSpec& field = table_.fields[index];
    TensorView& out = out_.inputs[index];
    if (columns != nullptr &&
        copy_matrix_column(tensor, i, field, table_, columns + i * tensor.rows, out)) {
      continue;
    }
    Status made = make_field(tensor, i, field, table_, source_.text_is_checked(), arena_, out);
    if (!made.ok()) return made;
  }
  return {};
}

Status Binder::bind() {
  out_.inputs.assign(table_.fields.size(), TensorView());
  Status done = check_names();
  for (uint32_t i = 0; done.ok() && i < tensors_.size(); ++i) {
    if (tensors_[i].is_ragged()) done = pair(i);
  }
  if (done.ok()) find_matrices();
  if (done.ok()) done = name_fields();
  if (done.ok()) done = check_rows();
  for (uint32_t i = 0; done.ok() && i < tensors_.size(); ++i) {
    if (tensors_[i].is_companion) continue;
    done = read(i);
    if (done.ok()) done = take_fields(tensors_[i]);
  }
  return done.ok() ? fill_missing(table_, rows_, arena_, out_) : std::move(done);
}

}  // namespace

Status bind_tensors(std::span<RequestTensor> tensors, TensorSource& source,
                    const TableSchema& table, bool strict, Arena& arena, DecodedRequest& out) {
  return Binder(tensors, source, table, strict, arena, out).bind();
}

// "missing field: expected also 'a', 'b'"
class Absent {
 public:
  void add(const FieldSpec& field) {
    if (names_.size() > kErrorValueBytesMax) return;
    names_ += (names_.empty() ? "" : ", ") + quoted(field.name);
  }
  Status status(std::string_view why = {}) const {
    if (names_.empty()) return {};
    return invalid_argument("missing field: expected also " + names_ + std::string(why));
  }

 private:
  std::string names_;
};

Status check_left_out(const TableSchema& table, const DecodedRequest& out) {
  if (out.left_out.empty()) return {};
  Absent absent;
  for (const uint32_t field : out.left_out) {
    const bool needed = std::ranges::any_of(out.outputs, [&](const RequestedOutput& output) {
      if (output.index >= table.output_fields.size()) return false;
      const std::vector<uint32_t>& fields = table.output_fields[output.index];
      return std::ranges::find(fields, field) != fields.end();
    });
    if (needed) absent.add(table.fields[field]);
  }
  return absent.status(", which the requested outputs need");
}

// Represents the number of rows for a model without fields.
Status count_rows(uint64_t rows, Arena& arena, TensorView& out) {
  auto* none = arena.allocate_array<uint8_t>(rows);
  if (none == nullptr) return no_memory();
  if (rows != 0) std::memset(none, 0, rows);
  out.dtype = DType::Bool;
  const int64_t dims[] = {static_cast<int64_t>(rows)};
  out.shape = Shape(dims);
  out.data = none;
  out.bytes = rows;
  return {};
}

Status fill_missing(const TableSchema& table, uint64_t rows, Arena& arena, DecodedRequest& out) {
  std::vector<TensorView>& inputs = out.inputs;
  if (table.fields.empty()) return count_rows(rows, arena, inputs.emplace_back());
  Absent absent;
  size_t left_out = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype != DType::Invalid) continue;
    ++left_out;
    if (table.fields[i].optional) continue;
    if (table.fields[i].by_default) absent.add(table.fields[i]);
    else out.left_out.push_back(static_cast<uint32_t>(i));
  }
  if (Status complete = absent.status(); !complete.ok()) return complete;
  if (left_out == 0) return {};
  // All missing fields share one block: zeros, which suit any type, and states that mark them as
  // missing.
  const size_t value_bytes = sizeof(std::string_view);
  static_assert(sizeof(std::string_view) >= sizeof(Decimal));
  auto* zeros = arena.allocate_array<uint8_t>(rows * value_bytes);
  auto* states = arena.allocate_array<uint8_t>(rows);
  if (zeros == nullptr || states == nullptr) return no_memory();
  if (rows != 0) {
    std::memset(zeros, 0, rows * value_bytes);
    std::memset(states, 1, rows);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorView& view = inputs[i];
    if (view.dtype != DType::Invalid) continue;
    const FieldSpec& field = table.fields[i];
    const plan::Type type = field.type == plan::Type::List ? field.element : field.type;
    view.dtype = dtype_of(type);
    if (view.dtype == DType::Invalid) view.dtype = DType::Fp64;
    view.shape.clear();
    (void)view.shape.push_back(static_cast<int64_t>(rows));
    view.states = states;
    view.precision = field.precision;
    view.scale = field.scale;
    if (has_cells(field)) {
      (void)view.shape.push_back(-1);
      view.lengths = reinterpret_cast<const uint32_t*>(zeros);
      view.data = zeros;
    } else if (dtype_is_text(view.dtype)) {
      view.strings = {reinterpret_cast<const std::string_view*>(zeros), static_cast<size_t>(rows)};
    } else {
      view.data = zeros;
      view.bytes = static_cast<size_t>(rows) * dtype_bytes(view.dtype);
    }
  }
  return {};
}

bool uses_extension(std::span<const RequestTensor> tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const RequestTensor& tensor) {
    return dtype_is_tabular(tensor.dtype) || tensor.is_ragged() || tensor.parameters.any();
  });
}

Status add_output(const NamedOutput& wanted, bool binary_by_default, const TableSchema& table,
                  const Signature& signature, DecodedRequest& out) {
  const auto where = [&wanted] { return "requested output " + quoted(wanted.name); };
  const int index = signature.find_output(wanted.name);
  if (index < 0) {
    std::string names;
    for (const TensorSpec& output : signature.outputs) {
      if (names.size() > kErrorValueBytesMax) break;
      names += (names.empty() ? "" : ", ") + quoted(output.name);
    }
    return invalid_argument(where() + ": the model has no such output; expected one of " + names);
  }
  for (const RequestedOutput& earlier : out.outputs) {
    // A duplicate is returned once. Source: Triton's requested outputs are a set.
    if (earlier.index == static_cast<uint32_t>(index)) return {};
  }
  if (wanted.classes != 0 && !table.of_tensors) {
    return invalid_argument(where() + ": parameter 'classification': tabular models have " +
                            "their own outputs for class names");
  }
  const bool binary = wanted.has_binary ? wanted.binary : binary_by_default;
  out.outputs.push_back({static_cast<uint32_t>(index), binary, wanted.classes});
  return {};
}

void add_default_outputs(const TableSchema& table, bool binary, DecodedRequest& out) {
  for (uint32_t i = 0; i < table.outputs.size(); ++i) {
    const bool extra = i < table.extra.size() && table.extra[i];
    if (!extra) out.outputs.push_back({i, binary});
  }
}

}  // namespace serval::table
