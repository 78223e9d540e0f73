// The options of attach(), as they arrive from JavaScript (proto/attach-options.mjs lists them).
// Control plane; the thread that attaches.
#pragma once

#include <string>

#include "addon/napi_api.h"
#include "engine/control/engine.h"
#include "engine/model/serve.h"

namespace serval {

struct AttachOptions {
  struct Thread {
    bool keeps_process = true;
  };

  EngineOptions engine;
  ServeSettings serve;
  Thread thread;

  // Reads all members of `object`; an absent or undefined one keeps its default. Returns the error
  // of a member that has another type, an unknown name or a value out of range; empty: no error.
  [[nodiscard]] std::string read(const Napi::Object& object);
};

}  // namespace serval
