// The table that listeners read: models by handle, and handles by name. Replaced as a whole; any
// thread.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/tables/model_table.h"
#include "engine/tables/route_table.h"

namespace serval {

struct EngineTable {
  uint64_t epoch = 0;
  ModelTable models;
  std::shared_ptr<const RouteTable> routes;

  const std::shared_ptr<Model>* find(uint32_t handle) const { return models.find(handle); }
};

}  // namespace serval
