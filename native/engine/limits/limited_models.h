// The limits of models by name: all versions of a model, and what takes its place while it is not
// loaded, share them. Control plane; any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/limits/request_limits.h"

namespace serval {

class LimitedModels {
 public:
  // Returns the model's limits with these values, which apply to its other versions too; null if
  // there are none.
  std::shared_ptr<RequestLimits> of(const std::string& name, const LimitSpec& spec);
  // The limits of models that exist, by name.
  std::vector<std::shared_ptr<RequestLimits>> all();

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<RequestLimits>> by_name_;  // guarded by mutex_
};

}  // namespace serval
