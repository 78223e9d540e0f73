// The "data" of one tensor of a tabular V2 request, and single values of V1. Hot path; any thread.
// Source: tabular.md 2.5.
#pragma once

#include "codec/table/json_steps.h"
#include "codec/table/tensor.h"

namespace serval::table {

// Reads the list `data` into `tensor`: `elements` of them, nested in any way. null is a null cell:
// it stands where a cell of a tensor of one value does, or the list of a cell of several.
// False: the text is no JSON, or `fault` says what is wrong with it.
bool read_data(std::string_view data, uint64_t elements, uint32_t depth_max, Arena& arena,
               RequestTensor& tensor, Status& fault);

// Reads nested lists, rows of fields of elements, of a tensor of shape [R,F,-1]; of one field, a
// row may be the cell itself. `data` is JSON. Fills tensor.lengths too.
// Errors: invalid_argument naming the input and the row.
Status read_nested_data(std::string_view data, Arena& arena, RequestTensor& tensor);

// A byte of a BOOL tensor.
struct JsonBool {
  uint8_t value = 0;
};

// One value as T: integers in T's range, numbers ("NaN" and infinities as strings too), true and
// false, strings. nullptr: it is something else, and `out` is as it was.
template <typename T>
const char* read_json_value(const char* p, const char* end, Arena& arena, T& out);

// What read_json_value() takes for a carrier: "an integer from -128 to 127".
std::string json_value_text(DType carrier);

}  // namespace serval::table
