// Every limit of the native side, in one place. Constants are fixed; the struct's members are the
// defaults of settings (engine.fbs Limits). Data for hot and control plane, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace serval {

inline constexpr size_t kRankMax = 32;      // dims in a tensor (TensorFlow: 254)
inline constexpr size_t kBodyPadding = 64;  // readable bytes after every body (simdjson)
// of the first binary tensor, arena and output buffers
inline constexpr size_t kTensorAlignment = 64;
inline constexpr size_t kInputsMax = 4096;  // per request
// of a model, tensor or signature name on the wire
inline constexpr size_t kNameBytesMax = 4096;
inline constexpr size_t kIdBytesMax = 65536;        // of a request id
inline constexpr size_t kErrorValueBytesMax = 256;  // of a value repeated in an error text
inline constexpr size_t kJsonNodesMax = 8'000'000;  // values that the plain JSON reader keeps
// A V1 body for an unknown model is parsed before the "not found" response, as in TensorFlow
// Serving, on the listener's thread: only up to this size.
inline constexpr size_t kUnknownModelBodyMax = 64 * 1024;
// A request that will be queued is looked up in the response cache on the listener's thread, so
// that a known response does not wait: only up to this size.
inline constexpr size_t kCachedInlineBodyMax = 1024 * 1024;

// A run on a listener's thread is ended and queued after this time; after the second one if the
// model is set to run inline.
inline constexpr uint64_t kInlineNsMax = 100'000'000;
inline constexpr uint64_t kInlineByHandNsMax = 10'000'000'000;

// of a request's or a policy's timeout
inline constexpr uint64_t kTimeoutUsMax = uint64_t{1} << 52;
// of one request that is split into runs
inline constexpr uint32_t kPiecesMax = 65'536;
inline constexpr size_t kGatherKeepBytes = 16u << 20;  // of an input's batch memory

// Limits of a request for a tabular model, checked before memory is allocated. A frame has all
// fields for each row, even those that the request omits.
inline constexpr uint64_t kTableRowsMax = 1u << 20;
// for rows whose cells have no elements
inline constexpr uint64_t kTableEmptyRowsMax = 4096;
inline constexpr uint64_t kTableElementsMax = 1u << 28;  // per tensor
// in JSON, including those of null cells
inline constexpr uint64_t kTableNullElementsMax = 1u << 20;
inline constexpr uint64_t kTableCellMax = 1u << 24;        // elements per vector or list
inline constexpr uint64_t kTableTextBytesMax = 16u << 20;  // per text
inline constexpr uint64_t kTableFieldsMax = 1u << 14;      // named by a request's tensors

// Limits of a tabular model's plan (proto/plan.fbs): it has offsets of 32 bits, and parts that are
// walked by recursion.
inline constexpr size_t kPlanBytesMax = 2147483647;
inline constexpr size_t kPlanColumnsMax = 1'000'000;
inline constexpr size_t kPlanBlocksDeepMax = 24;    // nested blocks in stages
inline constexpr size_t kExpressionDepthMax = 200;  // nested calls
inline constexpr size_t kPlanFaultsMax = 100;       // reported per plan

// Limits of the work that stages of a tabular model do for one row.
inline constexpr size_t kRowProductsMax = 1u << 24;          // of a vector's values
inline constexpr size_t kCosineTransformMax = 1u << 14;      // values; time grows quadratically
inline constexpr int64_t kRegexProgramBytesMax = 8ll << 20;  // of a Java regular expression

struct Limits {
  uint64_t body_bytes_max = 2147483647;      // per request, decompressed
  uint64_t inflated_bytes_max = 104857600;   // of a decompressed REST body
  uint64_t response_bytes_max = 2147483647;  // per response
  uint32_t json_depth_max = 512;             // nesting of tensor data and of ignored values
  uint32_t in_flight_max = 16384;            // tickets per listener
  uint64_t rest_timeout_us = 0;              // limit on the time that REST requests wait; 0 = none
};

}  // namespace serval
