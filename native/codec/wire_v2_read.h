// A ModelInferRequest as it stands on the wire: fields found, counted and checked for form, nothing
// compared with a model yet. Hot path, any thread. Views of the message.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/error.h"
#include "base/shape.h"
#include "codec/wire_reader.h"

namespace serval {

// Field numbers of ModelInferRequest and below. Source: seed 001, "GRPC"; v2-protocol.md 1.2 (the
// newer InferParameter members).
namespace wire_v2 {
inline constexpr uint32_t kModelName = 1, kModelVersion = 2, kId = 3, kParameters = 4, kInputs = 5,
                          kOutputs = 6, kRawInputs = 7;
inline constexpr uint32_t kTensorName = 1, kTensorDatatype = 2, kTensorShape = 3,
                          kTensorParameters = 4, kTensorContents = 5;
inline constexpr uint32_t kRequestedName = 1, kRequestedParameters = 2;
inline constexpr uint32_t kMapKey = 1, kMapValue = 2, kStringParam = 3;
inline constexpr uint32_t kContentsFields = 8;  // InferTensorContents has fields 1 to 8
}  // namespace wire_v2

struct WireInput {
  std::string_view name;
  std::string_view datatype;
  std::string_view refused_parameter;  // one that asks for what we do not have, "" = none
  Shape shape;                         // the first kRankMax dims
  uint64_t rank = 0;                   // dims on the wire
  bool has_contents = false;
  std::array<uint64_t, wire_v2::kContentsFields + 1> counts{};  // values per contents field
  uint64_t pieces = 0;                  // packed runs and single values of all contents
  std::span<const uint8_t> packed_run;  // the latest packed run; all there is when pieces == 1
  std::span<const uint8_t> message;     // this InferInputTensor
};

struct WireOutput {
  std::string_view name;
  std::string_view refused_parameter;
};

struct WireRequest {
  std::string_view model_name, model_version, id;
  std::span<WireInput> inputs;                   // in wire order
  std::span<WireOutput> outputs;                 // in wire order
  std::span<std::span<const uint8_t>> raw_data;  // in wire order
};

// Reads all of `message`. Records come from `arena`.
// Errors: malformed_body with the byte; invalid_argument when a list is over kInputsMax.
Status read_wire_request(std::span<const uint8_t> message, Arena& arena, WireRequest& out);

// The malformed_body that a fault stands for.
Error wire_fault_error(const WireFault& fault);

// `text` in single quotes for an error text, cut to kErrorValueBytesMax at a character's border.
std::string wire_quoted(std::string_view text);

}  // namespace serval
