// Registers requests while their model runs them. Hot path (queued requests); the thread that runs
// them.
#pragma once

#include <span>

#include "engine/model/model.h"
#include "engine/watch/running.h"

namespace serval {

// Counts requests among their model's running ones during its lifetime. Watches their deadlines.
class RunningScope {
 public:
  // Borrows the requests.
  RunningScope(Model& model, std::span<Request* const> requests);
  ~RunningScope();
  RunningScope(const RunningScope&) = delete;
  RunningScope& operator=(const RunningScope&) = delete;

 private:
  RunningRequests& running_;
  const std::span<Request* const> requests_;
};

}  // namespace serval
