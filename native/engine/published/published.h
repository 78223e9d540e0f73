// The state that listeners read: models by handle, and handles by name. Replaced as a whole; any
// thread.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/limits/callers.h"
#include "engine/published/models_by_handle.h"
#include "engine/published/route_table.h"

namespace serval {

struct Published {
  uint64_t epoch = 0;
  ModelsByHandle models;
  std::shared_ptr<const RouteTable> routes;
  std::shared_ptr<const CallerTable> callers;

  const std::shared_ptr<Model>* find(uint32_t handle) const { return models.find(handle); }
};

}  // namespace serval
