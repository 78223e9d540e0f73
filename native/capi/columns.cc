// Reads the columns of a tabular model: binds them to its fields, as the codecs bind a request's
// tensors. Hot path; any thread.
#include <cstring>

#include "capi/describe.h"
#include "capi/elements.h"
#include "capi/tensors.h"
#include "codec/json/echo.h"
#include "codec/table/bind.h"

namespace serval::capi {

namespace {

using table::RequestTensor;

Error no_memory() { return make_error(ErrorCode::MemoryFull, "no memory for the inputs"); }

Status read_column(const serval_tensor& given, size_t index, const TableSchema& schema,
                   const Signature& signature, Arena& arena, RequestTensor& tensor) {
  Shape shape;
  if (Status head = read_head(given, index, true, tensor.dtype, shape); !head.ok()) return head;
  tensor.name = given.name;
  const bool is_matrix = schema.matrix && shape.rank() == 2;
  if (!is_matrix && schema.find_field(given.name, index) < 0) {
    return invalid_argument(input_place(given) + ": the model has no field of this name; " +
                            "expected " + names_text(signature.inputs));
  }
  const bool ragged = shape.rank() == 2 && shape[1] == -1;
  if (ragged != (given.lengths != nullptr)) {
    return invalid_argument(input_place(given) +
                            (ragged ? ": lengths: expected one for each row, got NULL"
                                    : ": lengths: expected NULL, as shape is not [rows, -1]"));
  }
  tensor.shape = shape;
  if (ragged) {
    const int64_t dims[] = {shape[0], 1, -1};
    tensor.shape = Shape(dims);
  }
  // Texts of a timestamp may have either form.
  if (tensor.dtype == DType::Timestamp || tensor.dtype == DType::Date) {
    tensor.parameters.format = table::kIsoFormat;
  }
  if (given.missing == nullptr || shape.rank() == 0) return {};
  const auto rows = static_cast<size_t>(shape[0]);
  if (static_cast<uint64_t>(shape[0]) > kTableRowsMax) return {};  // refused by the binder
  tensor.nulls = arena.allocate_array<uint8_t>(rows);
  if (tensor.nulls == nullptr) return no_memory();
  for (size_t row = 0; row < rows; ++row) {
    tensor.nulls[row] = given.missing[row];
    if (tensor.nulls[row] <= 1) continue;
    return invalid_argument(input_place(given) + ": missing[" + std::to_string(row) +
                            "]: expected 0 or 1, got " + std::to_string(tensor.nulls[row]));
  }
  return {};
}

// Lends the caller's memory to the binder.
class CallSource final : public table::TensorSource {
 public:
  CallSource(std::span<const serval_tensor> inputs, Arena& arena)
      : inputs_(inputs), arena_(arena) {}

  Status read(size_t index, uint64_t elements, RequestTensor& tensor) override {
    const int64_t dims[] = {static_cast<int64_t>(elements)};
    TensorView view;
    Status done = read_elements(inputs_[index], tensor.dtype, Shape(dims), arena_, view);
    tensor.elements = elements;
    tensor.data = view.data;
    tensor.strings = view.strings.data();
    return done;
  }

  Status read_nested(size_t index, RequestTensor& tensor) override {
    const auto rows = static_cast<size_t>(tensor.rows);
    auto* lengths = arena_.allocate_array<uint32_t>(rows);
    if (lengths == nullptr) return no_memory();
    if (rows != 0) std::memcpy(lengths, inputs_[index].lengths, rows * sizeof *lengths);
    tensor.lengths = lengths;
    uint64_t total = 0;
    for (size_t row = 0; row < rows; ++row) total += lengths[row];
    if (total > kTableElementsMax) {
      return table::over_limit(table::input_text(tensor) + ": elements", total, kTableElementsMax);
    }
    return read(index, total, tensor);
  }

  bool text_is_checked() const override { return false; }

 private:
  const std::span<const serval_tensor> inputs_;
  Arena& arena_;
};

}  // namespace

Status read_columns(const Call& call, const TableSchema& schema, const Signature& signature,
                    Run& run) {
  auto* tensors = run.arena.allocate_array<RequestTensor>(call.inputs.size());
  if (tensors == nullptr) return no_memory();
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    Status read = read_column(call.inputs[i], i, schema, signature, run.arena,
                              *new (&tensors[i]) RequestTensor());
    if (!read.ok()) return read;
  }
  CallSource source(call.inputs, run.arena);
  DecodedRequest& decoded = run.decoded;
  Status done =
      table::bind_tensors({tensors, call.inputs.size()}, source, schema, true, run.arena, decoded);
  for (size_t i = 0; done.ok() && i < call.outputs.size(); ++i) {
    if (call.outputs[i] == nullptr) {
      return invalid_argument("outputs[" + std::to_string(i) + "]: expected a text, got NULL");
    }
    done = table::add_output({call.outputs[i]}, false, schema, signature, decoded);
  }
  if (call.outputs.empty()) table::add_default_outputs(schema, false, decoded);
  decoded.table.text_is_string = true;
  return done.ok() ? table::check_left_out(schema, decoded) : std::move(done);
}

}  // namespace serval::capi
