// Implements the table of limited models. Control plane; any thread.
#include "engine/limits/limited_models.h"

namespace serval {

std::shared_ptr<RequestLimits> LimitedModels::of(const std::string& name, const LimitSpec& spec) {
  const std::lock_guard lock(mutex_);
  const auto found = by_name_.find(name);
  std::shared_ptr<RequestLimits> limits = found == by_name_.end() ? nullptr : found->second.lock();
  if (!has_limits(spec)) {
    if (limits != nullptr) limits->set(spec);
    return nullptr;
  }
  if (limits == nullptr) {
    limits = std::make_shared<RequestLimits>(RequestLimits::Of::Model, name);
    by_name_[name] = limits;
  }
  limits->set(spec);
  return limits;
}

std::vector<std::shared_ptr<RequestLimits>> LimitedModels::all() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<RequestLimits>> out;
  for (auto at = by_name_.begin(); at != by_name_.end();) {
    std::shared_ptr<RequestLimits> limits = at->second.lock();
    if (limits == nullptr) {
      at = by_name_.erase(at);
      continue;
    }
    out.push_back(std::move(limits));
    ++at;
  }
  return out;
}

}  // namespace serval
