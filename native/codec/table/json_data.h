// Reads the "data" of one tensor of a tabular V2 request, and single values of V1. Hot path; any
// thread.
// Source: tabular.md 2.5.
#pragma once

#include "codec/table/json_steps.h"
#include "codec/table/tensor.h"

namespace serval::table {

// Reads the list `data` into `tensor`: `elements` elements, nested in any way. null is a null cell:
// it takes the place of a cell in a tensor of single values, or of the list of a cell of several.
// False: the text is not JSON, or `fault` has the reason.
bool read_data(std::string_view data, uint64_t elements, uint32_t depth_max, Arena& arena,
               RequestTensor& tensor, Status& fault);

// Reads nested lists, rows of fields of elements, for a tensor of shape [R,F,-1]; with one field, a
// row may be the cell itself. `data` is JSON. Also fills tensor.lengths.
// Errors: invalid_argument naming the input and the row.
Status read_nested_data(std::string_view data, Arena& arena, RequestTensor& tensor);

// A byte of a BOOL tensor.
struct JsonBool {
  uint8_t value = 0;
};

// Reads one value as T: integers in T's range, numbers ("NaN" and infinities as strings too), true
// and false, strings. nullptr: it is something else, and `out` is unchanged.
template <typename T>
const char* read_json_value(const char* p, const char* end, Arena& arena, T& out);

// The values that read_json_value() accepts for a carrier: "an integer from -128 to 127".
std::string json_value_text(DType carrier);

}  // namespace serval::table
