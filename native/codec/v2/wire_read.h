// A ModelInferRequest as it stands on the wire: fields found, counted and checked for form, nothing
// compared with a model yet. Hot path, any thread. Views of the message.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes/wire_reader.h"
#include "codec/request.h"

namespace serval {

// Field numbers of ModelInferRequest and below. Source: seed 001, "GRPC"; v2-protocol.md 1.2 (the
// newer InferParameter members).
namespace wire_v2 {
inline constexpr uint32_t kModelName = 1, kModelVersion = 2, kId = 3, kParameters = 4, kInputs = 5,
                          kOutputs = 6, kRawInputs = 7;
inline constexpr uint32_t kTensorName = 1, kTensorDatatype = 2, kTensorShape = 3,
                          kTensorParameters = 4, kTensorContents = 5;
inline constexpr uint32_t kRequestedName = 1, kRequestedParameters = 2;
inline constexpr uint32_t kMapKey = 1, kMapValue = 2;
inline constexpr uint32_t kBoolParam = 1, kInt64Param = 2, kStringParam = 3, kDoubleParam = 4,
                          kUint64Param = 5;
inline constexpr uint32_t kContentsFields = 8;  // InferTensorContents has fields 1 to 8
}  // namespace wire_v2

// An entry of map<string, InferParameter>.
struct WireParameter {
  std::string_view key;
  uint32_t choice = 0;    // field number of the oneof's member that is set, 0 = none
  uint64_t value = 0;     // of a number or bool: its varint, or a double's bits
  std::string_view text;  // of string_param
};

// False at a fault. `origin`: first byte of the outermost message. Values that occur again are
// merged as protobuf does: the last one counts.
bool read_wire_parameter(std::span<const uint8_t> entry, const uint8_t* origin, WireFault& fault,
                         WireParameter& out);

// The value as a whole number of 0 or more; false when it is none.
bool wire_whole_number(const WireParameter& parameter, uint64_t& out);

// What is wrong with a parameter that should be a whole number of `least` or more. `where`: "" or
// what stands in front of the word "parameter".
Error wire_not_whole(const std::string& where, const WireParameter& parameter, uint64_t least);

// The parameters priority and timeout of a request; of each the last one, as in any map.
struct WireSchedule {
  WireParameter priority;
  WireParameter timeout;

  void take(const WireParameter& parameter) {
    if (parameter.key == "priority") priority = parameter;
    if (parameter.key == "timeout") timeout = parameter;
  }
};

// Errors: invalid_argument (one of the two is no whole number of 0 or more).
Status read_wire_schedule(const WireSchedule& wire, SchedulePolicy& out);

// Where a tensor lies in shared memory: the parameters shared_memory_*.
struct WireShared {
  enum Given : uint8_t { kNone = 0, kRegion = 1, kBytes = 2, kOffset = 4 };

  std::string_view region;
  uint64_t bytes = 0, offset = 0;
  uint8_t given = kNone;
  uint8_t wrong = kNone;  // of another type than they have, or below 0

  // Of a parameter that is given twice the last one counts.
  void take(const WireParameter& parameter);
};

struct WireInput {
  std::string_view name;
  std::string_view datatype;
  std::string_view tabular_parameter;  // one that only tabular models have, "" = none
  bool has_parameters = false;
  WireShared shared;
  Shape shape;        // the first kRankMax dims
  uint64_t rank = 0;  // dims on the wire
  bool has_contents = false;
  std::array<uint64_t, wire_v2::kContentsFields + 1> counts{};  // values per contents field
  uint64_t pieces = 0;                  // packed runs and single values of all contents
  std::span<const uint8_t> packed_run;  // the latest packed run; all there is when pieces == 1
  std::span<const uint8_t> message;     // this InferInputTensor
};

struct WireOutput {
  std::string_view name;
  WireShared shared;
  WireParameter classification;  // without a key where it is not asked for
};

struct WireRequest {
  std::string_view model_name, model_version, id;
  WireSchedule schedule;
  bool has_parameters = false;
  std::span<WireInput> inputs;                   // in wire order
  std::span<WireOutput> outputs;                 // in wire order
  std::span<std::span<const uint8_t>> raw_data;  // in wire order
};

// Reads all of `message`. Records come from `arena`.
// Errors: malformed_body with the byte; invalid_argument when a list is over kInputsMax.
Status read_wire_request(std::span<const uint8_t> message, Arena& arena, WireRequest& out);

// The same, and what comes before any look at the model: the message's size, its id's, the
// parameters that place tensors in shared memory, the place in the queue.
// Errors: also body_too_large.
Status read_sound_wire_request(std::span<const uint8_t> message, const Limits& limits, Arena& arena,
                               WireRequest& out);

// Raw contents: none, or one for each input that is not in shared memory and no typed ones.
// Errors: invalid_argument.
Status check_wire_raw_data(const WireRequest& wire);

// The parameter classification as RequestedOutput has it: 0 where it is not there.
// Errors: invalid_argument (no whole number, or 0).
Status read_wire_classes(const WireOutput& wanted, uint32_t& classes);

// The malformed_body that a fault stands for.
Error wire_fault_error(const WireFault& fault);

// `text` in single quotes for an error text, cut to kErrorValueBytesMax at a character's border.
std::string wire_quoted(std::string_view text);

}  // namespace serval
