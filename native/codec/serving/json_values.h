// One input tensor of a V1 predict body, read by the fast decoder directly from the body into arena
// memory. Hot path; any thread.
#pragma once

#include "codec/json/cursor.h"
#include "codec/request.h"

namespace serval {

// The memory for an input's elements, and what is known of its shape. Trivial: allocated from the
// arena.
struct FastTensor {
  DType dtype;
  uint32_t rank;           // of one value
  int64_t dims[kRankMax];  // of one value; -1 until the first list of that level has ended
  uint8_t* data;           // elements (string_views for Bytes)
  uint8_t* next;           // place of the next element
  uint8_t* limit;          // end of the memory
  int64_t values;          // values read so far
};

// Size of one element in memory: that of string_view for Bytes.
size_t element_bytes(DType dtype);

// Prepares `tensor` for the value at `p`: takes its rank from the brackets at its front, and
// allocates memory for as many elements as the rest of the body can hold. False: nested deeper than
// `rank_max`, or out of memory.
bool begin_value(const char* p, FastBody& body, DType dtype, size_t rank_max, FastTensor& tensor);

// Reads the value at `p` and appends its elements. Sets tensor.dims, or checks that the shape
// equals them. Returns the byte after it; nullptr = rejected.
const char* read_value(const char* p, FastBody& body, FastTensor& tensor);

// Returns the unused memory of begin_value(), if nothing was allocated since.
void trim_value(FastBody& body, FastTensor& tensor);

// The finished tensor; if `batch` is not negative, with a first dimension of that size.
void make_view(const FastTensor& tensor, int64_t batch, TensorView& out);

}  // namespace serval
