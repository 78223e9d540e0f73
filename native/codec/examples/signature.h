// The requirements of classify and regress on a signature, over gRPC and REST. Hot path, any
// thread.
// Source: tfserving.md 1.7 "Signature rules", "Errors".
#pragma once

#include "codec/request.h"

namespace serval {

// Aliases that the two methods use. Source: tfserving.md 1.7.
inline constexpr std::string_view kExampleInput = "inputs";
inline constexpr std::string_view kClassifyClasses = "classes";
inline constexpr std::string_view kClassifyScores = "scores";
inline constexpr std::string_view kRegressOutput = "outputs";

// The output whose columns have names from the model, if there is exactly one (a ZipMap's): an ONNX
// classifier, which classify can run without a signature for it. -1 if there is none.
int find_named_scores(const Signature& signature);

// Chooses the signature `name` ("" = serving_default) for `method` (Classify or Regress) and sets
// out.signature_index and out.outputs: `classes` before `scores`, or `outputs`; for a classifier
// with named scores (which `check_method` refuses), that output. Errors: invalid_argument (no such
// signature, its method with `check_method`, the number of inputs and outputs); signature_not_found
// (their names), which gRPC words as upstream does.
Status choose_example_signature(std::span<const Signature> signatures, std::string_view name,
                                Method method, bool check_method, DecodedRequest& out);

// Makes `text`, the examples, the only input: [count].
void set_example_input(std::span<const std::string_view> examples, DecodedRequest& out);

// Joins `text` with commas for an error text, cut at kErrorValueBytesMax. Sorts the names.
std::string join_names(std::vector<std::string_view> names);
std::vector<std::string_view> names_of(const std::vector<TensorSpec>& specs);

}  // namespace serval
