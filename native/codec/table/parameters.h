// The parameters that the extension adds to tensors and requests: their text and meaning. Hot path;
// any thread. Source: tabular.md 2.1 X4, X14, X15, X18, X23, X24, X30, 2.4.
#pragma once

#include "base/buffer.h"
#include "codec/request.h"
#include "codec/table/tensor.h"

namespace serval::table {

// A parameter's value, independent of the protocol.
struct ParameterValue {
  enum class Kind : uint8_t { Other, Bool, Integer, Text };
  Kind kind = Kind::Other;
  bool flag = false;
  int64_t integer = 0;
  std::string_view text;  // Text: the value; otherwise as written in the request
};

// Applies one of a tensor's parameters; ignores others. `where` names the tensor in errors.
// Errors: invalid_argument.
Status set_tensor_parameter(std::string_view key, const ParameterValue& value,
                            const RequestTensor& tensor, TensorParameters& out);
// Call after the last parameter. Errors: invalid_argument (precision or scale without the other; a
// scale larger than the precision; either with a datatype other than decimal).
Status check_parameters(const RequestTensor& tensor);

// The parameters of the request itself.
struct RequestParameters {
  bool strict = false;
  bool has_string_datatype = false;
  bool extended = false;  // any of them is present
  TableOptions options;
};
// Applies one; ignores others. Errors: invalid_argument.
Status set_request_parameter(std::string_view key, const ParameterValue& value,
                             RequestParameters& out);

// Calls take(name) for each name in a comma-separated list; blanks around a name are removed,
// quoted names ("a,b", with "" for a quotation mark) are used literally. Decoded text goes to
// `arena`.
// Errors: invalid_argument naming the tensor (an empty name, an unterminated quotation); the errors
// of take().
template <typename Take>
Status each_feature(const RequestTensor& tensor, Arena& arena, Take take);

// Parses `text` ("0,7") into `nulls`, one byte per cell.
// Errors: invalid_argument naming the tensor.
Status read_null_indices(const RequestTensor& tensor, uint64_t cells, uint8_t* nulls);

// Reads the next name of a list of features and advances `rest`; false at the end.
// Errors: in `problem`, which is empty if there is none.
bool next_feature(std::string_view& rest, bool first, Arena& arena, std::string_view& name,
                  std::string& problem);

template <typename Take>
Status each_feature(const RequestTensor& tensor, Arena& arena, Take take) {
  std::string_view rest = tensor.parameters.features, name;
  std::string problem;
  for (bool first = true; next_feature(rest, first, arena, name, problem); first = false) {
    if (Status taken = take(name); !taken.ok()) return taken;
  }
  if (problem.empty()) return {};
  return invalid_argument(input_text(tensor) + ": parameter 'features': " + problem + ", got " +
                          quoted(tensor.parameters.features));
}

}  // namespace serval::table
