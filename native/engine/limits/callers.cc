// Implements the table of callers. Control plane; find() and may_use() on the hot path.
#include "engine/limits/callers.h"

#include <algorithm>

#include "base/generated/engine_generated.h"

namespace serval {

namespace {

// The length of the first character of UTF-8; a byte that begins none counts as one.
size_t character_bytes(std::string_view text) {
  size_t bytes = 1;
  while (bytes < text.size() && (static_cast<uint8_t>(text[bytes]) & 0xc0) == 0x80) ++bytes;
  return bytes;
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::string_view after_star, skipped;  // where to go on if the rest does not match
  bool has_star = false;
  while (!text.empty()) {
    if (!pattern.empty() && pattern[0] == '*') {
      pattern.remove_prefix(1);
      after_star = pattern;
      skipped = text;
      has_star = true;
    } else if (!pattern.empty() && pattern[0] == '?') {
      pattern.remove_prefix(1);
      text.remove_prefix(character_bytes(text));
    } else if (!pattern.empty() && pattern[0] == text[0]) {
      pattern.remove_prefix(1);
      text.remove_prefix(1);
    } else if (has_star) {
      skipped.remove_prefix(character_bytes(skipped));
      pattern = after_star;
      text = skipped;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*') == std::string_view::npos;
}

bool LimitedCaller::may_use(std::string_view model) const {
  return models.empty() || std::ranges::any_of(models, [&](const std::string& pattern) {
           return matches_pattern(pattern, model);
         });
}

Result<std::shared_ptr<const CallerTable>> CallerTable::next(std::span<const uint8_t> bytes) const {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (!verifier.VerifyBuffer<fb::CallerTable>(nullptr)) {
    return invalid_argument("callers: not a valid flatbuffer");
  }
  auto table = std::make_shared<CallerTable>();
  const auto* root = flatbuffers::GetRoot<fb::CallerTable>(bytes.data());
  if (root->callers() == nullptr) return std::shared_ptr<const CallerTable>(std::move(table));
  for (const fb::Caller* from : *root->callers()) {
    LimitedCaller& caller = table->by_number_[from->number()];
    const LimitedCaller* before = find(from->number());
    LimitSpec spec;
    if (const fb::LimitSpec* limits = from->limits(); limits != nullptr) {
      spec.max_in_flight = limits->max_in_flight();
      spec.requests_per_second = limits->requests_per_second();
      spec.rows_per_second = limits->rows_per_second();
    }
    if (has_limits(spec)) {
      caller.limits =
          before != nullptr && before->limits != nullptr
              ? before->limits
              : std::make_shared<RequestLimits>(RequestLimits::Of::Key, from->name()->str());
      caller.limits->set(spec);
    }
    caller.weight = std::max(1u, from->weight());
    if (from->models() == nullptr) continue;
    for (const flatbuffers::String* pattern : *from->models()) {
      caller.models.push_back(pattern->str());
    }
  }
  return std::shared_ptr<const CallerTable>(std::move(table));
}

std::vector<std::shared_ptr<RequestLimits>> CallerTable::all() const {
  std::vector<std::shared_ptr<RequestLimits>> out;
  for (const auto& [number, caller] : by_number_) {
    if (caller.limits != nullptr) out.push_back(caller.limits);
  }
  std::ranges::sort(out, {}, [](const std::shared_ptr<RequestLimits>& one) { return one->name(); });
  return out;
}

}  // namespace serval
