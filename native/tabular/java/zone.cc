// Conversion between wall-clock times and instants. Hot path; any thread.
#include "tabular/java/zone.h"

#include <algorithm>
#include <utility>

#include "base/values/civil.h"
#include "tabular/column.h"

namespace serval::tabular {
namespace {

// The calendar repeats itself, weekdays too, and so do the rules of clocks; proto/plan.fbs.
constexpr int64_t kCycle = 146'097 * kDaySeconds;
constexpr int64_t kEnd = 16'725'225'600;  // 2500-01-01
constexpr int64_t kOffsetMax = 26 * 3600;

// Seconds that the table covers; later times are moved back by whole cycles.
int64_t in_table(int64_t micros) {
  const int64_t seconds = floor_divide(micros, kSecondMicros);
  return seconds < kEnd ? seconds : seconds - ((seconds - kEnd) / kCycle + 1) * kCycle;
}

// At the ends of what 64 bits hold a time stays as it is.
int64_t moved(int64_t micros, int64_t by) {
  int64_t made = 0;
  return __builtin_add_overflow(micros, by, &made) ? micros : made;
}

bool is_ascending(const std::vector<int64_t>& times) {
  return std::adjacent_find(times.begin(), times.end(), std::greater_equal<>()) == times.end();
}

bool has_timestamps(const Column& column) {
  return (column.type == Type::List ? column.element : column.type) == Type::Timestamp;
}

}  // namespace

std::optional<Zone> Zone::make(std::string name, std::span<const double> transitions,
                               std::span<const int32_t> offsets) {
  if (offsets.size() != transitions.size() + 1) return std::nullopt;
  Zone made;
  made.name_ = std::move(name);
  for (const int32_t offset : offsets) {
    if (offset > kOffsetMax || offset < -kOffsetMax) return std::nullopt;
    made.offsets_.push_back(offset);
  }
  for (size_t i = 0; i < transitions.size(); ++i) {
    const bool bounded = transitions[i] > -static_cast<double>(kEnd) * 4 &&
                         transitions[i] < static_cast<double>(kEnd);
    if (!bounded) return std::nullopt;
    made.transitions_.push_back(static_cast<int64_t>(transitions[i]));
    // Skipped times and those shown twice belong to the offset before.
    made.walls_.push_back(made.transitions_[i] + std::max(made.offsets_[i], made.offsets_[i + 1]));
  }
  if (!is_ascending(made.transitions_) || !is_ascending(made.walls_)) return std::nullopt;
  return made;
}

size_t Zone::passed(const std::vector<int64_t>& times, int64_t micros) {
  const auto found = std::upper_bound(times.begin(), times.end(), in_table(micros));
  return static_cast<size_t>(found - times.begin());
}

int64_t Zone::offset_at(int64_t instant) const {
  return offsets_[passed(transitions_, instant)] * kSecondMicros;
}

int64_t Zone::wall_of(int64_t instant) const { return moved(instant, offset_at(instant)); }

int64_t Zone::instant_of(int64_t wall) const {
  return moved(wall, -offsets_[passed(walls_, wall)] * kSecondMicros);
}

int64_t Zone::instant_of(int64_t wall, int64_t offset) const {
  const int64_t instant = moved(wall, -offset);
  return offset_at(instant) == offset ? instant : instant_of(wall);
}

int64_t Zone::start_of_day(int64_t days) const {
  const int64_t wall = micros_of_days(days);
  const int64_t instant = instant_of(wall);
  if (wall_of(instant) == wall) return instant;
  // Skipped midnight: the day starts at the time to which clocks are set forward.
  const size_t next = passed(walls_, wall);
  return instant - (in_table(wall) - offsets_[next] - transitions_[next]) * kSecondMicros;
}

void Zone::to_instants(Column& column) const {
  if (!has_timestamps(column)) return;
  for (int64_t& micros : column.integers) micros = instant_of(micros);
}

void Zone::to_walls(Column& column) const {
  if (!has_timestamps(column)) return;
  for (int64_t& micros : column.integers) micros = wall_of(micros);
}

const Zone* Zones::find(std::string_view name) const {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Zone& zone) { return zone.name() == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace serval::tabular
