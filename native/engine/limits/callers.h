// Callers by the numbers of their API keys, with their limits, the models that they may use, and
// their weights: an immutable table.
// Readers: listener threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "engine/limits/request_limits.h"

namespace serval {

// Whether the whole text matches a pattern: * stands for any text, ? for one character of UTF-8.
bool matches_pattern(std::string_view pattern, std::string_view text);

struct LimitedCaller {
  std::shared_ptr<RequestLimits> limits;  // null: it has none
  std::vector<std::string> models;        // patterns; empty: all models
  uint32_t weight = 100;                  // its share of a model's time, relative to others

  bool may_use(std::string_view model) const;
};

class CallerTable {
 public:
  // Reads engine.fbs CallerTable bytes. A caller that was in the table before keeps its counts.
  // Errors: invalid_argument. Control plane.
  Result<std::shared_ptr<const CallerTable>> next(std::span<const uint8_t> bytes) const;

  // Null: there is no such caller.
  const LimitedCaller* find(uint32_t number) const {
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : &found->second;
  }
  // The limits of all callers that have some, by name.
  std::vector<std::shared_ptr<RequestLimits>> all() const;

 private:
  std::unordered_map<uint32_t, LimitedCaller> by_number_;
};

}  // namespace serval
