// TensorFlow Serving's requests as wire messages: fields are found, merged as protobuf does, and
// validated, but not yet compared with a model, except for the names that the two decoders of
// Predict (serving/wire.cc, table/wire.cc) share. Hot path, any thread. Views of the message.
// Source: tfserving.md 2.
#pragma once

#include <span>
#include <string_view>

#include "base/bytes/generated/tensorflow_serving.h"
#include "base/bytes/generated/wrappers.h"
#include "codec/serving/wire.h"
#include "codec/serving/wire_tensor.h"

namespace serval {

namespace serving = proto::tensorflow::serving;

// The same fields of several requests, which one function reads.
inline constexpr uint32_t kRequestModelSpec = serving::PredictRequest::kModelSpec;
static_assert(kRequestModelSpec == serving::ClassificationRequest::kModelSpec &&
              kRequestModelSpec == serving::RegressionRequest::kModelSpec);
inline constexpr uint32_t kRequestInput = serving::ClassificationRequest::kInput;
static_assert(kRequestInput == serving::RegressionRequest::kInput &&
              kRequestInput == serving::MultiInferenceRequest::kInput);

// Reads the ModelSpec `bytes` into `out`, merging. False: a fault was found.
bool read_tf_model(std::span<const uint8_t> bytes, const uint8_t* origin, WireFault& fault,
                   TfModelRef& out);

// Reads the ModelSpec of a request (field kRequestModelSpec, which may repeat). `found`: it is
// present. False: a fault was found.
bool find_tf_model(std::span<const uint8_t> message, WireFault& fault, TfModelRef& out,
                   bool& found);

// Checks that its names have at most kNameBytesMax bytes. Errors: invalid_argument.
Status check_tf_model(const TfModelRef& model);

// The malformed_body error for a fault. `message`: the request's type.
Error tf_fault_error(const char* message, const WireFault& fault);

struct WireTfInput {
  std::string_view alias;
  WireTensor tensor;
};

struct WireTfPredict {
  TfModelRef model;
  std::span<WireTfInput> inputs;              // by alias, unique
  std::span<std::string_view> output_filter;  // in wire order

  // Null if there is none.
  const WireTfInput* find(std::string_view alias) const;
};

// Reads all of a PredictRequest. Records are allocated from `arena`.
// Errors: malformed_body with the byte; invalid_argument when a list is over kInputsMax; internal.
Status read_tf_predict(std::span<const uint8_t> message, Arena& arena, WireTfPredict& out);

// Reads a PredictRequest and finds the signature that it names, "" for serving_default.
// Errors: body_too_large; those of read_tf_predict(); signature_not_found.
Status open_tf_predict(std::span<const uint8_t> message, std::span<const Signature> signatures,
                       const Limits& limits, Arena& arena, WireTfPredict& wire,
                       uint32_t& signature_index);

// The outputs in its output_filter, in that order; none if the filter is empty.
// Errors: invalid_argument (unknown or duplicate output).
Status take_output_filter(const WireTfPredict& wire, const Signature& signature,
                          DecodedRequest& out);

// The content of an Input after merging: it is a oneof, so a list of one kind drops an earlier one
// of the other.
struct WireTfExamples {
  uint64_t examples = 0;
  uint64_t example_bytes = 0;
  uint64_t context_bytes = 0;
  uint32_t kind = 0;        // field number of the list, 0 = none
  uint64_t first_list = 0;  // index of the first list that counts
};

// Reads the Input of a ClassificationRequest, a RegressionRequest or a MultiInferenceRequest
// (`name`). Does not parse the Examples; the code that parses them reports their faults.
// Errors: malformed_body with the byte.
Status read_tf_examples(std::span<const uint8_t> message, const char* name, WireTfExamples& out);

// Fills `examples` (out.examples of them) with views of the message, and `context` with
// out.context_bytes bytes: merged contexts are concatenated. `message` is the one that `wire` was
// read from.
void take_tf_examples(std::span<const uint8_t> message, const WireTfExamples& wire,
                      std::string_view* examples, uint8_t* context);

}  // namespace serval
