// Converts examples for a model with tensor inputs: each input is filled, row by row, from the
// feature of the same name. For classifiers with named scores, whose graphs do not parse Examples.
// Hot path, any thread; pure.
#pragma once

#include "codec/json/reader.h"
#include "codec/request.h"

namespace serval {

// Replaces request.inputs, the serialized Examples as [count], by tensors of the signature's
// inputs: [count, the input's other dimensions]. For an input with dimensions [-1] a feature has
// one value, otherwise as many as its other dimensions hold; one of these may be free and has the
// size found in the first example. Whole numbers fill any numeric input whose range holds them,
// reals only FP16, BF16, FP32 and FP64, bytes only BYTES; BOOL accepts 0 and 1. An input that may
// be absent has to be present in all examples or in none. Features that are not inputs are ignored.
// Memory: `arena` and the Examples'.
// Errors: invalid_argument naming the example, the feature, the input and its shape; memory_full.
Status examples_to_inputs(const Signature& signature, Arena& arena, DecodedRequest& request);

// The same directly from JSON: `examples` is an array of objects that passed check_example() and
// are not combined with a context. Sets request.inputs. Returns false and sets nothing if a value
// does not fit, is duplicated or is empty: examples_to_inputs() then decides, and gives the reason.
bool json_to_inputs(const JsonDocument& document, const JsonNode& examples,
                    const Signature& signature, Arena& arena, DecodedRequest& request);

}  // namespace serval
