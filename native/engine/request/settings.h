// The process-wide settings that apply to each request. Data only; any thread.
#pragma once

#include "base/limits.h"

namespace serval {

struct ServeSettings : Limits {
  bool tf_tensor_content = false;  // --enable_serialization_as_tensor_content
  bool tf_check_method = false;    // --enable_signature_method_name_check
};

}  // namespace serval
