// A ModelInferRequest as a wire message: fields found, counted and validated, nothing compared with
// a model yet. Hot path, any thread. Views of the message.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes/generated/inference.h"
#include "base/bytes/generated/map_entry.h"
#include "base/bytes/wire_reader.h"
#include "codec/request.h"

namespace serval {

// The messages whose fields are read. Source: the published V2 protocol, "GRPC"; v2-protocol.md 1.2
// (the newer InferParameter members).
namespace ModelInferRequest = proto::inference::ModelInferRequest;
namespace InferInputTensor = ModelInferRequest::InferInputTensor;
namespace InferRequestedOutputTensor = ModelInferRequest::InferRequestedOutputTensor;
namespace InferTensorContents = proto::inference::InferTensorContents;
namespace InferParameter = proto::inference::InferParameter;
namespace MapEntry = proto::MapEntry;

// The last field of InferTensorContents. Values are counted in arrays with its numbers as indices.
inline constexpr uint32_t kContentsFields = InferTensorContents::kBytesContents;

// An entry of map<string, InferParameter>.
struct WireParameter {
  std::string_view key;
  uint32_t choice = 0;    // field number of the oneof member that is set, 0 = none
  uint64_t value = 0;     // the varint of a number or bool, or a double's bits
  std::string_view text;  // of string_param
};

// False: a fault was found. `origin`: first byte of the outermost message. Repeated values are
// merged as protobuf does: the last one counts.
bool read_wire_parameter(std::span<const uint8_t> entry, const uint8_t* origin, WireFault& fault,
                         WireParameter& out);

// The value as a whole number of 0 or more; false if it is something else.
bool wire_whole_number(const WireParameter& parameter, uint64_t& out);

// The error for a parameter that has to be a whole number of `least` or more. `where`: "" or the
// text before the word "parameter".
Error wire_not_whole(const std::string& where, const WireParameter& parameter, uint64_t least);

// The parameters priority and timeout of a request; of duplicates the last one, as in any map.
struct WireSchedule {
  WireParameter priority;
  WireParameter timeout;

  void take(const WireParameter& parameter) {
    if (parameter.key == "priority") priority = parameter;
    if (parameter.key == "timeout") timeout = parameter;
  }
};

// Errors: invalid_argument (one of the two is not a whole number of 0 or more).
Status read_wire_schedule(const WireSchedule& wire, SchedulePolicy& out);

// Applies a request's parameter to those of its sequence, if it is one of them; of duplicates the
// last one counts.
void take_wire_sequence(const WireParameter& parameter, SequenceParameters& sequence);

// A tensor's location in shared memory: the parameters shared_memory_*.
struct WireShared {
  enum Given : uint8_t { kNone = 0, kRegion = 1, kBytes = 2, kOffset = 4 };

  std::string_view region;
  uint64_t bytes = 0, offset = 0;
  uint8_t given = kNone;
  uint8_t wrong = kNone;  // the parameter with a wrong type, or below 0

  // Applies one of them; of duplicates the last one counts.
  void take(const WireParameter& parameter);
};

struct WireInput {
  std::string_view name;
  std::string_view datatype;
  std::string_view tabular_parameter;  // a parameter that only tabular models have, "" = none
  bool has_parameters = false;
  WireShared shared;
  Shape shape;        // the first kRankMax dims
  uint64_t rank = 0;  // dims on the wire
  bool has_contents = false;
  std::array<uint64_t, kContentsFields + 1> counts{};  // values per contents field
  uint64_t pieces = 0;                  // packed runs and single values of all contents
  std::span<const uint8_t> packed_run;  // the latest packed run; holds all values if pieces == 1
  std::span<const uint8_t> message;     // this InferInputTensor
};

struct WireOutput {
  std::string_view name;
  WireShared shared;
  WireParameter classification;  // without a key if it is not present
};

struct WireRequest {
  std::string_view model_name, model_version, id;
  WireSchedule schedule;
  SequenceParameters sequence;
  bool has_parameters = false;
  std::span<WireInput> inputs;                   // in wire order
  std::span<WireOutput> outputs;                 // in wire order
  std::span<std::span<const uint8_t>> raw_data;  // in wire order
};

// Reads all of `message`. Records are allocated from `arena`.
// Errors: malformed_body with the byte; invalid_argument when a list is over kInputsMax.
Status read_wire_request(std::span<const uint8_t> message, Arena& arena, WireRequest& out);

// The same, plus the checks that do not need a model: the sizes of the message and of its id, the
// parameters that place tensors in shared memory, the place in the queue.
// Errors: also body_too_large.
Status read_sound_wire_request(std::span<const uint8_t> message, const Limits& limits, Arena& arena,
                               WireRequest& out);

// Checks raw contents: none, or one for each input that is not in shared memory and no typed ones.
// Errors: invalid_argument.
Status check_wire_raw_data(const WireRequest& wire);

// Reads the parameter classification for RequestedOutput: 0 if it is missing.
// Errors: invalid_argument (not a whole number, or 0).
Status read_wire_classes(const WireOutput& wanted, uint32_t& classes);

// The malformed_body error for a fault.
Error wire_fault_error(const WireFault& fault);

// `text` in single quotes for an error text, cut to kErrorValueBytesMax between characters.
std::string wire_quoted(std::string_view text);

}  // namespace serval
