// Logged requests of other protocols as TensorFlow Serving's messages, which its warm-up files and
// clients take. Control plane, any thread: what was decoded once for the model is decoded again.
#pragma once

#include "base/error.h"
#include "engine/model/serve.h"
#include "engine/observe/request_log.h"

namespace serval {

// Appends {request = 1, response = 2}: the content of a PredictLog with a PredictRequest of the
// same tensors, for V1 predict and V2; of a ClassifyLog or RegressLog with a request of the same
// Examples, for V1 classify and regress. What such a message cannot say (parameters, an id) is not
// in it; an answer that has no such form (tf_answer.h) is left out.
// Errors: unimplemented (tabular models, element types that TensorFlow has not); those of the
// codecs, where the request was bad.
Status write_tf_log(const LoggedEntry& entry, const Model& model, const ServeSettings& settings,
                    ByteBuffer& out);

}  // namespace serval
