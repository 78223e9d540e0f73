// The options of attach(), as they arrive from JavaScript (proto/attach-options.mjs lists them).
// Control plane; the thread that attaches.
#pragma once

#include <string>

#include "addon/napi_api.h"
#include "engine/engine.h"
#include "engine/serve.h"

namespace serval {

struct AttachOptions {
  struct Thread {
    bool keeps_process = true;
  };

  EngineOptions engine;
  ServeSettings serve;
  Thread thread;

  // Reads all members of `object`; an absent or undefined one keeps its default. Returns what is
  // wrong with a member that has another type or an unknown name; empty: nothing.
  [[nodiscard]] std::string read(const Napi::Object& object);
};

}  // namespace serval
