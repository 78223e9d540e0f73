// Converts logged requests of other protocols to TensorFlow Serving's messages, which its warm-up
// files and clients accept. Control plane, any thread: decodes again what was decoded once for the
// model.
#pragma once

#include "base/error.h"
#include "engine/model/serve.h"
#include "engine/observe/request_log.h"

namespace serval {

// Appends {request = 1, response = 2}: the content of a PredictLog with a PredictRequest of the
// same tensors, for V1 predict and V2; of a ClassifyLog or RegressLog with a request of the same
// Examples, for V1 classify and regress. Leaves out what such a message cannot express (parameters,
// an id) and a response that has no such form (tf_answer.h). Errors: unimplemented (tabular models,
// element types that TensorFlow does not have); those of the codecs, if the request was invalid.
Status write_tf_log(const LoggedEntry& entry, const Model& model, const ServeSettings& settings,
                    ByteBuffer& out);

}  // namespace serval
