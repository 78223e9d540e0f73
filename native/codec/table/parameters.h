// Parameters that the extension gives to tensors and requests: their text and what it means. Hot
// path; any thread. Source: tabular.md 2.1 X4, X14, X15, X18, X23, X24, X30, 2.4.
#pragma once

#include "base/buffer.h"
#include "codec/request.h"
#include "codec/table/tensor.h"

namespace serval::table {

// A parameter's value, whichever form the protocol has for it.
struct ParameterValue {
  enum class Kind : uint8_t { Other, Bool, Integer, Text };
  Kind kind = Kind::Other;
  bool flag = false;
  int64_t integer = 0;
  std::string_view text;  // Text: the value; else how the request writes it
};

// Takes one of a tensor's parameters; others are ignored. `where` names the tensor in errors.
// Errors: invalid_argument.
Status set_tensor_parameter(std::string_view key, const ParameterValue& value,
                            const RequestTensor& tensor, TensorParameters& out);
// After the last one. Errors: invalid_argument (one of precision and scale alone; a scale over the
// precision; either with a datatype that is no decimal's).
Status check_parameters(const RequestTensor& tensor);

// The request's own.
struct RequestParameters {
  bool strict = false;
  bool has_string_datatype = false;
  bool extended = false;  // any of them is there
  TableOptions options;
};
// Takes one; others are ignored. Errors: invalid_argument.
Status set_request_parameter(std::string_view key, const ParameterValue& value,
                             RequestParameters& out);

// Calls take(name) for each name in a list with commas between them; blanks around a name are not
// part of it, quoted names ("a,b", with "" for a quotation mark) are taken as they are. Decoded
// text goes to `arena`.
// Errors: invalid_argument naming the tensor (an empty name, an open quotation mark); what take()
// answers.
template <typename Take>
Status each_feature(const RequestTensor& tensor, Arena& arena, Take take);

// `text` ("0,7") into `nulls`, one byte per cell.
// Errors: invalid_argument naming the tensor.
Status read_null_indices(const RequestTensor& tensor, uint64_t cells, uint8_t* nulls);

// The next name of a list of features; false at the end. `rest` moves behind it.
// Errors: in `problem`, which is empty while there are none.
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
