// The process that has a model's sessions: loads what the server says, runs what comes into slots.
// Thread: the one that calls; loads and slots have threads of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "backend/backend.h"
#include "backend/isolated/process_page.h"

namespace serval::isolated {

struct ServeOptions {
  int socket = -1;         // control packets; its end ends the work
  int cancel_event = -1;   // an eventfd: some slot's page says that a request is to end
  bool is_process = true;  // ends it at once when the server hangs up
  std::function<Result<ModelSpec>(std::span<const uint8_t>)> parse;
  std::function<Backend*(const std::string& name)> backend;  // null = there is none of the name
  uint64_t pinned_pool_bytes = gpu::kPinnedPoolBytes;        // of a process; see gpu/pinned_pool.h
};

// Until the server hangs up. Where it returns (it is no process of its own, but a test's thread),
// all its threads have ended and all models are gone. Borrows the descriptors.
void serve(const ServeOptions& options);

}  // namespace serval::isolated
