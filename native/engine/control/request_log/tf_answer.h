// Answers of other protocols as TensorFlow Serving's messages, for the request log. Control plane,
// any thread.
#pragma once

#include "base/error.h"
#include "engine/model/serve.h"
#include "engine/observe/request_log.h"

namespace serval {

// Appends the PredictResponse, ClassificationResponse or RegressionResponse that says what the
// logged answer says. `asked`: the decoded request. Memory of `arena` may be taken.
// Errors: unimplemented (classes in place of an output, outputs in shared memory, element types
// that TensorFlow has not); those of the codecs, where the answer is in no such form.
Status write_tf_answer(const LoggedEntry& entry, const Model& model, const DecodedRequest& asked,
                       const ServeSettings& settings, Arena& arena, ByteBuffer& out);

}  // namespace serval
