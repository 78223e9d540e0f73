// Converts responses of other protocols to TensorFlow Serving's messages for the request log.
// Control plane, any thread.
#pragma once

#include "base/error.h"
#include "engine/model/serve.h"
#include "engine/observe/request_log.h"

namespace serval {

// Appends the PredictResponse, ClassificationResponse or RegressionResponse that is equivalent to
// the logged response. `asked`: the decoded request. May allocate in `arena`. Errors: unimplemented
// (classes in place of an output, outputs in shared memory, element types that TensorFlow does not
// have); those of the codecs, if the response is not in such a form.
Status write_tf_answer(const LoggedEntry& entry, const Model& model, const DecodedRequest& asked,
                       const ServeSettings& settings, Arena& arena, ByteBuffer& out);

}  // namespace serval
