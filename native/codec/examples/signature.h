// What classify and regress ask of a signature, over gRPC and REST. Hot path, any thread.
// Source: tfserving.md 1.7 "Signature rules", "Errors".
#pragma once

#include "codec/request.h"

namespace serval {

// Aliases that the two verbs know. Source: tfserving.md 1.7.
inline constexpr std::string_view kExampleInput = "inputs";
inline constexpr std::string_view kClassifyClasses = "classes";
inline constexpr std::string_view kClassifyScores = "scores";
inline constexpr std::string_view kRegressOutput = "outputs";

// The output whose columns have names of the model's own, where there is just one (a ZipMap's): an
// ONNX classifier, which classify can ask without a signature for it. -1 where there is none.
int find_named_scores(const Signature& signature);

// Chooses the signature `name` ("" = serving_default) for `method` (Classify or Regress) and sets
// out.signature_index and out.outputs: `classes` in front of `scores`, or `outputs`; of a
// classifier with named scores (which `check_method` refuses) that output. Errors: invalid_argument
// (no such signature, its method with `check_method`, how many inputs and outputs);
// signature_not_found (their names), which gRPC answers as upstream does.
Status choose_example_signature(std::span<const Signature> signatures, std::string_view name,
                                Method method, bool check_method, DecodedRequest& out);

// Fills `text` with the examples as the only input: [count].
void set_example_input(std::span<const std::string_view> examples, DecodedRequest& out);

// `text` joined by commas and cut at kErrorValueBytesMax, for error texts. Sorts.
std::string join_names(std::vector<std::string_view> names);
std::vector<std::string_view> names_of(const std::vector<TensorSpec>& specs);

}  // namespace serval
