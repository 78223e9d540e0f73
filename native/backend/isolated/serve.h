// The process that has a model's sessions: loads what the server sends, runs the requests in
// channels. Thread: the calling one; loads and channels have their own threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "backend/backend.h"
#include "backend/isolated/process_page.h"

namespace serval::isolated {

struct ServeOptions {
  int socket = -1;         // control packets; when it closes, the work ends
  int cancel_event = -1;   // an eventfd: the page of some channel asks for a request to end
  bool is_process = true;  // exits at once when the server hangs up
  std::function<Result<ModelSpec>(std::span<const uint8_t>)> parse;
  // null = there is no backend of that name
  std::function<Backend*(const std::string& name)> backend;
  uint64_t pinned_pool_bytes = gpu::kPinnedPoolBytes;  // per process; see gpu/pinned_pool.h
};

// Serves until the server hangs up. When it returns (in a test's thread, not in a separate
// process), all its threads have ended and all models are freed. Borrows the descriptors.
void serve(const ServeOptions& options);

}  // namespace serval::isolated
