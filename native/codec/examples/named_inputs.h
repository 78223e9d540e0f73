// Examples for a model that takes tensors: each input is the feature that has its name, row by row.
// For classifiers with named scores, whose graphs parse no Examples. Hot path, any thread; pure.
#pragma once

#include "codec/json/reader.h"
#include "codec/request.h"

namespace serval {

// Replaces request.inputs, the serialized Examples as [count], by tensors of the signature's
// inputs: [count, the input's other dims]. Of an input with dims [-1] a feature has one value, else
// as many as its other dims hold; one of these may be free and is as long as the first example has
// it. Whole numbers fill any numeric input that holds them, reals only FP16, BF16, FP32 and FP64,
// bytes only BYTES; BOOL takes 0 and 1. An input that may be absent is there in all examples or in
// none. Features that are no inputs are passed over. Memory: `arena` and the Examples'.
// Errors: invalid_argument naming the example, the feature, the input and its shape; memory_full.
Status examples_to_inputs(const Signature& signature, Arena& arena, DecodedRequest& request);

// The same straight from JSON: `examples` is an array of objects that check_example() passed, which
// stand for themselves (there is no context). Sets request.inputs. False, and nothing is set, where
// something does not fit, comes twice or is empty: examples_to_inputs() decides, and says why.
bool json_to_inputs(const JsonDocument& document, const JsonNode& examples,
                    const Signature& signature, Arena& arena, DecodedRequest& request);

}  // namespace serval
