// The resources of Triton's rate limiter: how many of each there are, and how many runs hold. A
// resource belongs to each device, or is global. Not thread-safe: RunTurns locks. Names are
// compared without regard to case. Source: Triton's rate_limiter.md; --rate-limit-resource of
// tritonserver.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/generated/engine_structs.h"

namespace serval {

// A count that the server's operator has set.
struct RateCount {
  static constexpr int kEveryDevice = -1;
  std::string name;
  uint32_t count = 0;
  int device = kEveryDevice;
};

// Reads lines of "COUNT DEVICE NAME", as the control plane writes them. Errors: invalid_argument.
Result<std::vector<RateCount>> read_rate_counts(std::string_view lines);

class RateResources {
 public:
  explicit RateResources(std::vector<RateCount> counts);

  // Whether a run of the model on each of the devices can ever have what it needs. Errors:
  // model_invalid, if a count that was set is smaller, or a resource is global for one model and
  // not for another. Versions of one model may differ: the resource of each counts apart, until the
  // old version is gone.
  Status check(const std::string& model, std::span<const RateResource> needs,
               std::span<const int> devices) const;
  // A version of the model with these needs is loaded: where no count was set, the largest need is
  // the count.
  void add(const std::string& model, std::span<const RateResource> needs,
           std::span<const int> devices);
  void remove(const std::string& model, std::span<const RateResource> needs,
              std::span<const int> devices);

  // Reserves what a run on a device needs. Returns false, with nothing reserved, if some of it is
  // not free.
  bool take(std::span<const RateResource> needs, int device);
  void give(std::span<const RateResource> needs, int device);

 private:
  // Stands for the device of a global resource.
  static constexpr int kGlobal = -2;
  using Key = std::pair<std::string, int>;  // name and device
  struct Resource {
    std::multiset<std::pair<uint32_t, std::string>> needs;  // of loaded models
    uint32_t held = 0;
  };
  static Key key_of(const RateResource& need, int device);
  // Another model for which the resource is global although it is not here, or the reverse; null if
  // there is none.
  const std::string* disagrees(const std::string& model, const Key& key, bool global) const;
  // The count that was set; null if none was.
  const uint32_t* set_count(const Key& key) const;
  uint32_t count_of(const Key& key, const Resource& resource) const;

  std::map<Key, uint32_t> counts_;  // kEveryDevice for those of all devices
  std::map<Key, Resource> resources_;
};

}  // namespace serval
