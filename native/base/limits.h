// Every limit of the native side, in one place. Constants are hard; the struct's members are the
// defaults of settings (engine.fbs Limits). Hot and control plane, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace serval {

inline constexpr size_t kRankMax = 32;              // dims in a tensor (TensorFlow: 254)
inline constexpr size_t kBodyPadding = 64;          // readable bytes behind every body (simdjson)
inline constexpr size_t kTensorAlignment = 64;      // first binary tensor, arena and output buffers
inline constexpr size_t kInputsMax = 4096;          // inputs of one request
inline constexpr size_t kNameBytesMax = 4096;       // a model, tensor, signature name on the wire
inline constexpr size_t kIdBytesMax = 65536;        // a request id
inline constexpr size_t kErrorValueBytesMax = 256;  // an echoed value in an error text
inline constexpr size_t kJsonNodesMax = 8'000'000;  // values the plain JSON reader keeps
// A V1 body for an unknown model is read before it is answered "not found", as TensorFlow Serving
// does, on the listener's thread: only up to here.
inline constexpr size_t kUnknownModelBodyMax = 64 * 1024;

// A run on a listener's thread is ended and queued after this; where inline was asked for by name,
// after the second.
inline constexpr uint64_t kInlineNsMax = 100'000'000;
inline constexpr uint64_t kInlineByHandNsMax = 10'000'000'000;

inline constexpr uint64_t kTimeoutUsMax = uint64_t{1} << 52;  // a request's or a policy's timeout
inline constexpr uint32_t kPiecesMax = 65'536;                // runs of one request that is split
inline constexpr size_t kGatherKeepBytes = 16u << 20;         // of an input's batch memory

// Of a request for a tabular model, checked before memory is taken. A frame has all fields for each
// row, whatever the request gives of them.
inline constexpr uint64_t kTableRowsMax = 1u << 20;
inline constexpr uint64_t kTableEmptyRowsMax = 4096;         // whose cells have no element
inline constexpr uint64_t kTableElementsMax = 1u << 28;      // of one tensor
inline constexpr uint64_t kTableNullElementsMax = 1u << 20;  // of JSON, with those of null cells
inline constexpr uint64_t kTableCellMax = 1u << 24;          // elements of one vector or list
inline constexpr uint64_t kTableTextBytesMax = 16u << 20;    // of one text
inline constexpr uint64_t kTableFieldsMax = 1u << 14;        // that a request's tensors name

// Of a tabular model's plan (proto/plan.fbs): what lies behind offsets of 32 bits, and what is
// walked by recursion.
inline constexpr size_t kPlanBytesMax = 2147483647;
inline constexpr size_t kPlanColumnsMax = 1'000'000;
inline constexpr size_t kPlanBlocksDeepMax = 24;    // blocks in stages of blocks
inline constexpr size_t kExpressionDepthMax = 200;  // calls in calls
inline constexpr size_t kPlanFaultsMax = 100;       // told of one plan

// Of what stages of a tabular model do with one row.
inline constexpr size_t kRowProductsMax = 1u << 24;          // of a vector's values
inline constexpr size_t kCosineTransformMax = 1u << 14;      // values; time grows in the square
inline constexpr int64_t kRegexProgramBytesMax = 8ll << 20;  // of a Java regular expression

struct Limits {
  uint64_t body_bytes_max = 2147483647;      // one request, after inflating
  uint64_t inflated_bytes_max = 104857600;   // what a compressed REST body may unpack to
  uint64_t response_bytes_max = 2147483647;  // one response
  uint32_t json_depth_max = 512;             // nesting of tensor data and of ignored values
  uint32_t in_flight_max = 16384;            // tickets per listener
  uint64_t rest_timeout_us = 0;              // REST requests waiting longer are refused; 0 = none
};

}  // namespace serval
