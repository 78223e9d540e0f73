// Maps a tensor model's inputs to fields and back.
#include "codec/table/tensor_fields.h"

#include <algorithm>
#include <optional>

#include "codec/table/tensor.h"

namespace serval {

namespace {

using table::quoted;
using Type = plan::Type;

// The type of the values; BYTES allows any.
std::optional<Type> type_of(DType dtype) {
  switch (dtype) {
    case DType::Bool: return Type::Bool;
    case DType::Int8: return Type::Int8;
    case DType::Int16: return Type::Int16;
    case DType::Int32: return Type::Int32;
    case DType::Int64: return Type::Int64;
    case DType::Fp32: return Type::Float;
    case DType::Fp64: return Type::Double;
    case DType::Bytes: return Type::Binary;
    default: return std::nullopt;
  }
}

// Returns "" or the reason why the input cannot be a field.
std::string read_field(const TensorSpec& input, FieldSpec& field) {
  const std::optional<Type> type = type_of(input.dtype);
  if (!type) {
    return "has datatype " + std::string(dtype_name(input.dtype)) +
           ", expected BOOL, INT8 to INT64, FP32, FP64 or BYTES";
  }
  const size_t rank = input.dims.size();
  if (input.unknown_rank || rank < 1 || rank > 2) {
    return "has shape " + (input.unknown_rank ? "of any rank" : dims_text(input)) +
           ", expected [n], [n,1] or [n,d]";
  }
  field.name = input.name;
  field.type = *type;
  if (rank == 2 && input.dims[1] != 1) {
    field.type = Type::List;
    field.element = *type;
  }
  return "";
}

// Rows of equal length form a tensor even if the request gave their lengths.
Status make_even(const TensorSpec& input, TensorView& tensor) {
  const auto rows = static_cast<size_t>(tensor.shape[0]);
  const uint32_t* const lengths = tensor.lengths;
  for (size_t row = 1; row < rows; ++row) {
    if (lengths[row] == lengths[0]) continue;
    return invalid_argument("input " + quoted(input.name) + ", row " + std::to_string(row) +
                            ": expected " + std::to_string(lengths[0]) +
                            " elements as in row 0, got " + std::to_string(lengths[row]) +
                            ": the model has tensor inputs, whose rows have equal length");
  }
  tensor.lengths = nullptr;
  tensor.shape.set(1, rows != 0 ? int64_t{lengths[0]} : std::max<int64_t>(input.dims[1], 0));
  return {};
}

}  // namespace

Result<TableSchema> fields_of_tensors(const Signature& signature) {
  TableSchema made;
  made.of_tensors = true;
  std::string problems;
  for (const TensorSpec& input : signature.inputs) {
    if (input.may_be_absent) break;
    const std::string problem = read_field(input, made.fields.emplace_back());
    if (problem.empty()) continue;
    problems += (problems.empty() ? "input " : "; input ") + quoted(input.name) + " " + problem;
  }
  if (!problems.empty()) {
    return make_error(
        ErrorCode::ModelInvalid,
        "parameter 'extended_v2': some inputs cannot be presented as fields: " + problems);
  }
  made.outputs.resize(signature.outputs.size());
  made.sort_fields();
  return made;
}

Status make_tensors(const Signature& signature, DecodedRequest& request) {
  const bool groups = request.table.group_outputs;
  if (groups || request.table.null_for_invalid) {
    return invalid_argument("parameter '" +
                            std::string(groups ? table::kGroupOutputsKey : table::kOnInvalidKey) +
                            "': the model returns tensors, not rows of fields");
  }
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorSpec& input = signature.inputs[i];
    TensorView& tensor = request.inputs[i];
    if (tensor.states != nullptr) {
      const std::span<const uint8_t> states(tensor.states, static_cast<size_t>(tensor.shape[0]));
      const auto missing =
          std::find_if(states.begin(), states.end(), [](uint8_t it) { return it != 0; });
      if (missing != states.end()) {
        return invalid_argument("input " + quoted(input.name) + ", row " +
                                std::to_string(missing - states.begin()) +
                                ": expected a value, got a missing one: the model takes tensors, "
                                "which have none");
      }
      tensor.states = nullptr;
    }
    if (is_ragged(tensor)) {
      if (Status even = make_even(input, tensor); !even.ok()) return even;
    }
    if (tensor.shape.rank() < input.dims.size()) (void)tensor.shape.push_back(1);
  }
  return {};
}

}  // namespace serval
