// The result of a decoder and the input of an encoder: the interface between the codecs and the
// engine. Hot path. Views only: the body and the arena must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/limits.h"
#include "base/signature.h"

namespace serval {

class SharedRegion;

// A tensor in a shared memory region: parameters shared_memory_region, _byte_size and _offset. The
// codecs read what the request says; the engine (engine/shm) finds the memory.
// Source: Triton's system shared memory extension.
struct SharedTensor {
  static constexpr uint32_t kOutput = UINT32_MAX;

  std::string_view region;
  uint64_t bytes = 0;                 // available bytes; after writing an output: bytes used
  uint64_t offset = 0;                // within the region
  uint32_t input = kOutput;           // index into signature.inputs
  std::shared_ptr<SharedRegion> pin;  // keeps it mapped; set by the engine
};

// One output to return, in the order of the response.
struct RequestedOutput {
  uint32_t index = 0;    // index into signature.outputs
  bool binary = false;   // V2 REST: raw bytes after the JSON
  uint32_t classes = 0;  // classification extension: number of classes; 0 = the tensor itself
  uint32_t shared = 0;   // index in DecodedRequest::shared, counted from 1; 0 = in the response
};

// A request's queue parameters `priority` and `timeout`.
// Source: Triton's schedule policy extension.
struct SchedulePolicy {
  uint64_t priority = 0;    // 0 = the model's default
  uint64_t timeout_us = 0;  // 0 = the model's default
};

// A request's parameters sequence_id, sequence_start and sequence_end, as far as they are right:
// only a model with sequences reports wrong ones. Source: Triton's sequence extension, which takes
// the ids 0 and "" as none.
struct SequenceParameters {
  enum class Id : uint8_t { None, Number, Text, Wrong };
  Id id = Id::None;
  bool start = false, end = false;
  bool wrong_start = false, wrong_end = false;  // not a boolean
  uint64_t number = 0;
  std::string_view text;
};

// Options of a request to a tabular model, besides its outputs.
struct TableOptions {
  bool null_for_invalid = false;  // parameter on_invalid: "null"
  bool group_outputs = false;     // scalars of one type share one tensor
  bool text_is_string = false;    // text has the datatype STRING, not BYTES
};

// A decoded request. Reused: clear() keeps the vectors' memory.
struct DecodedRequest {
  uint32_t signature_index = 0;
  bool has_id = false;
  bool row_format = false;  // V1: "instances" rather than "inputs"
  std::string_view id;      // decoded text (V2)
  // One per signature.inputs, in its order. Trailing inputs that may be absent can be omitted; an
  // absent one before a present one has DType::Invalid. A tabular model without fields has one that
  // no signature names: [rows], whose values are meaningless.
  std::vector<TensorView> inputs;
  std::vector<RequestedOutput> outputs;  // never empty after a successful decode
  std::vector<SharedTensor> shared;      // the tensors in shared memory; most requests have none
  // One entry per `outputs` if an output goes to a GPU's memory, otherwise empty; set by the
  // engine.
  std::vector<OutputPlace> places;
  TableOptions table;
  SequenceParameters sequence;
  // For a tabular model: omitted fields that only some outputs need, see
  // TableSchema::output_fields.
  std::vector<uint32_t> left_out;

  void clear() {
    signature_index = 0;
    has_id = row_format = false;
    id = {};
    inputs.clear();
    outputs.clear();
    shared.clear();
    places.clear();
    table = {};
    sequence = {};
    left_out.clear();
  }
};

// The names in a response. Borrowed.
struct AnswerModel {
  std::string_view name;
  std::string_view version;  // decimal text
};

}  // namespace serval
