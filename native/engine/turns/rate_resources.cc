// Counts the resources of the rate limiter. Hot path while it is on; the caller locks.
#include "engine/turns/rate_resources.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace serval {

namespace {

std::string lower(std::string_view name) {
  std::string out(name);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  return out;
}

// Reads a number and the space after it.
template <typename Number>
bool take_number(std::string_view& text, Number& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  const auto used = static_cast<size_t>(end - text.data());
  if (problem != std::errc() || used >= text.size() || text[used] != ' ') return false;
  text.remove_prefix(used + 1);
  return true;
}

}  // namespace

Result<std::vector<RateCount>> read_rate_counts(std::string_view lines) {
  std::vector<RateCount> counts;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    RateCount one;
    const std::string whole(line);
    if (!take_number(line, one.count) || !take_number(line, one.device) || line.empty()) {
      return invalid_argument("rate limit resources: expected COUNT DEVICE NAME, got '" + whole +
                              "'");
    }
    one.name = line;
    counts.push_back(std::move(one));
  }
  return counts;
}

RateResources::RateResources(std::vector<RateCount> counts) {
  for (const RateCount& one : counts) counts_[{lower(one.name), one.device}] = one.count;
}

RateResources::Key RateResources::key_of(const RateResource& need, int device) {
  return {lower(need.name), need.global ? kGlobal : device};
}

const uint32_t* RateResources::set_count(const Key& key) const {
  const auto& [name, device] = key;
  const auto own = counts_.find(key);
  if (own != counts_.end()) return &own->second;
  const auto every = counts_.find({name, RateCount::kEveryDevice});
  if (every != counts_.end()) return &every->second;
  if (device != kGlobal) return nullptr;
  // The device of a count does not matter for a global resource.
  const auto any = counts_.lower_bound({name, 0});
  return any != counts_.end() && any->first.first == name ? &any->second : nullptr;
}

uint32_t RateResources::count_of(const Key& key, const Resource& resource) const {
  if (const uint32_t* count = set_count(key); count != nullptr) return *count;
  return resource.needs.empty() ? 0 : resource.needs.rbegin()->first;
}

const std::string* RateResources::disagrees(const std::string& model, const Key& key,
                                            bool global) const {
  for (const auto& [other, resource] : resources_) {
    if (other.first != key.first || (other.second == kGlobal) == global) continue;
    for (const auto& [count, owner] : resource.needs) {
      if (owner != model) return &owner;
    }
  }
  return nullptr;
}

Status RateResources::check(const std::string& model, std::span<const RateResource> needs,
                            std::span<const int> devices) const {
  for (const RateResource& need : needs) {
    for (const int device : devices) {
      const Key key = key_of(need, device);
      if (const std::string* other = disagrees(model, key, need.global); other != nullptr) {
        return make_error(ErrorCode::ModelInvalid,
                          "rate_limiter: resource '" + need.name + "' is " +
                              (need.global ? "global" : "of each device") +
                              " here, but not in the loaded model '" + *other +
                              "'; a resource is one or the other");
      }
      const uint32_t* count = set_count(key);
      if (count == nullptr || *count >= need.count) continue;
      return make_error(ErrorCode::ModelInvalid,
                        "rate_limiter: a run needs " + std::to_string(need.count) +
                            " of resource '" + need.name + "', but --rate-limit-resource sets " +
                            std::to_string(*count) +
                            (need.global ? "" : " for device " + std::to_string(device)) +
                            ": no run could begin");
    }
  }
  return {};
}

void RateResources::add(const std::string& model, std::span<const RateResource> needs,
                        std::span<const int> devices) {
  for (const RateResource& need : needs) {
    std::set<Key> keys;
    for (const int device : devices) keys.insert(key_of(need, device));
    for (const Key& key : keys) resources_[key].needs.insert({need.count, model});
  }
}

void RateResources::remove(const std::string& model, std::span<const RateResource> needs,
                           std::span<const int> devices) {
  for (const RateResource& need : needs) {
    std::set<Key> keys;
    for (const int device : devices) keys.insert(key_of(need, device));
    for (const Key& key : keys) {
      const auto found = resources_.find(key);
      if (found == resources_.end()) continue;
      const auto one = found->second.needs.find({need.count, model});
      if (one != found->second.needs.end()) found->second.needs.erase(one);
      if (found->second.needs.empty() && found->second.held == 0) resources_.erase(found);
    }
  }
}

bool RateResources::take(std::span<const RateResource> needs, int device) {
  const bool free = std::ranges::all_of(needs, [&](const RateResource& need) {
    const auto found = resources_.find(key_of(need, device));
    if (found == resources_.end()) return need.count == 0;
    return uint64_t{found->second.held} + need.count <= count_of(found->first, found->second);
  });
  if (!free) return false;
  for (const RateResource& need : needs) resources_[key_of(need, device)].held += need.count;
  return true;
}

void RateResources::give(std::span<const RateResource> needs, int device) {
  for (const RateResource& need : needs) {
    const auto found = resources_.find(key_of(need, device));
    if (found != resources_.end()) found->second.held -= std::min(found->second.held, need.count);
  }
}

}  // namespace serval
