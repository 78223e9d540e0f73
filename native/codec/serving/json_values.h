// One input tensor of a V1 predict body, read by the fast decoder straight from the body into arena
// memory. Hot path; any thread.
#pragma once

#include "codec/json/cursor.h"
#include "codec/request.h"

namespace serval {

// Where the elements of an input go and what is known of its shape. Trivial: lives in the arena.
struct FastTensor {
  DType dtype;
  uint32_t rank;           // of one value
  int64_t dims[kRankMax];  // of one value; -1 until the first list of that level has ended
  uint8_t* data;           // elements (string_views for Bytes)
  uint8_t* next;           // place of the next element
  uint8_t* limit;          // end of the memory
  int64_t values;          // read so far
};

// Bytes that one element takes in memory: string_view for Bytes.
size_t element_bytes(DType dtype);

// Prepares `tensor` for the value at `p`: its rank from the brackets at its front, memory for as
// many elements as the rest of the body can hold. False when it is nested deeper than `rank_max` or
// memory is out.
bool begin_value(const char* p, FastBody& body, DType dtype, size_t rank_max, FastTensor& tensor);

// Reads the value at `p` and adds its elements. Shape: tensor.dims, or the same again.
// Returns the byte behind it; nullptr = turned down.
const char* read_value(const char* p, FastBody& body, FastTensor& tensor);

// Gives back the memory that begin_value() took too much, where nothing was allocated since.
void trim_value(FastBody& body, FastTensor& tensor);

// The finished tensor; with `batch` not negative, a first dimension of that size.
void make_view(const FastTensor& tensor, int64_t batch, TensorView& out);

}  // namespace serval
