// What a decoder makes of a request and what an encoder makes of an answer: the meeting point of
// all codecs and the engine. Hot path. Views only: the body and the arena must outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/limits.h"
#include "base/signature.h"

namespace serval {

// One output to return, in the order of the answer.
struct RequestedOutput {
  uint32_t index = 0;    // into signature.outputs
  bool binary = false;   // V2 REST: raw bytes behind the JSON
  uint32_t classes = 0;  // classification extension: the k largest; 0 = the tensor itself
};

// What a request says of its place in the queue: the parameters `priority` and `timeout`.
// Source: Triton's schedule policy extension.
struct SchedulePolicy {
  uint64_t priority = 0;    // 0 = the model's default
  uint64_t timeout_us = 0;  // 0 = the model's default
};

// What a request asks of a tabular model besides its outputs.
struct TableOptions {
  bool null_for_invalid = false;  // parameter on_invalid: "null"
  bool group_outputs = false;     // scalars of one type go into one tensor
  bool text_is_string = false;    // text has the datatype STRING, not BYTES
};

// A decoded request. Reused: clear() keeps the vectors' memory.
struct DecodedRequest {
  uint32_t signature_index = 0;
  bool has_id = false;
  bool row_format = false;               // V1: "instances" rather than "inputs"
  std::string_view id;                   // decoded text (V2)
  std::vector<TensorView> inputs;        // one per signature.inputs, in its order
  std::vector<RequestedOutput> outputs;  // never empty after a successful decode
  TableOptions table;

  void clear() {
    signature_index = 0;
    has_id = row_format = false;
    id = {};
    inputs.clear();
    outputs.clear();
    table = {};
  }
};

// The names an answer carries. Borrowed.
struct AnswerModel {
  std::string_view name;
  std::string_view version;  // decimal text
};

}  // namespace serval
