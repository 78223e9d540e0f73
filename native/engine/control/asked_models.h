// The absent models that requests wait for, and the control request that takes them. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/cancel.h"
#include "engine/model/absent.h"
#include "engine/request/request.h"

namespace serval {

class AskedModels final : public AbsentModels, private RunEnder {
 public:
  void asked(uint32_t handle) override;
  // Completes `request` with the handles (u32, little-endian) once there are any, or with none once
  // it is cancelled by its lane's thread. Another request that waits here completes with none.
  void take(Request& request);

 private:
  void end_run() override;

  std::mutex mutex_;
  std::vector<uint32_t> handles_;  // guarded by mutex_
  Request* waiter_ = nullptr;      // guarded by mutex_
};

}  // namespace serval
