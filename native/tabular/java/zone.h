// Time zones: from what a zone's clocks show to instants and back. Made at load, immutable; any
// thread. Micros since 1970, of the zone's wall clock or of UTC (an instant).
// Source: X4; java.time's ZoneRules and LocalDateTime.atZone(), which Spark asks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace serval::tabular {

struct Column;

class Zone {
 public:
  // Seconds at which clocks change, ascending, and how many they are ahead of UTC before, between
  // and behind them. None: not that.
  static std::optional<Zone> make(std::string name, std::span<const double> transitions,
                                  std::span<const int32_t> offsets);

  const std::string& name() const { return name_; }
  int64_t wall_of(int64_t instant) const;
  // Of a time that clocks skip: as if they had not yet been put forward. Of one that they show
  // twice: the first one.
  int64_t instant_of(int64_t wall) const;
  // Of one that they show twice: that of the offset in micros, where it is one of the two.
  int64_t instant_of(int64_t wall, int64_t offset) const;
  // The first instant of a day, of which clocks may skip the beginning.
  int64_t start_of_day(int64_t days) const;
  // Micros.
  int64_t offset_at(int64_t instant) const;

  // A column of timestamps, or of lists of them; others stay as they are.
  void to_instants(Column& column) const;
  void to_walls(Column& column) const;

 private:
  // How many of `times` are not behind `micros`.
  static size_t passed(const std::vector<int64_t>& times, int64_t micros);

  std::string name_;
  std::vector<int64_t> transitions_;  // seconds, instants
  std::vector<int64_t> walls_;        // seconds: when clocks show this the offset behind it holds
  std::vector<int64_t> offsets_;      // seconds; one more
};

// Of a plan.
struct Zones {
  std::vector<Zone> all;
  const Zone* session = nullptr;  // one of `all`; null: UTC, where both are the same
  // Null: there is none of this name.
  const Zone* find(std::string_view name) const;
};

}  // namespace serval::tabular
