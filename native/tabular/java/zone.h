// Time zones: converts wall-clock times to instants and back. Made at load, immutable; any thread.
// Times are microseconds since 1970 on the zone's wall clock, or in UTC (an instant). Source: X4;
// java.time's ZoneRules and LocalDateTime.atZone(), which Spark uses.
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
  // `transitions`: seconds at which the clocks change, ascending; `offsets`: how far the clocks are
  // ahead of UTC before, between and after them. Empty if the arguments are invalid.
  static std::optional<Zone> make(std::string name, std::span<const double> transitions,
                                  std::span<const int32_t> offsets);

  const std::string& name() const { return name_; }
  int64_t wall_of(int64_t instant) const;
  // A time that the clocks skip is converted with the offset before the change; a time that they
  // show twice gives the first instant.
  int64_t instant_of(int64_t wall) const;
  // For a time that the clocks show twice, prefers the instant with this offset in microseconds if
  // it is one of the two.
  int64_t instant_of(int64_t wall, int64_t offset) const;
  // The first instant of a day, whose beginning the clocks may skip.
  int64_t start_of_day(int64_t days) const;
  // Offset in microseconds.
  int64_t offset_at(int64_t instant) const;

  // Converts a column of timestamps, or of lists of them; leaves others unchanged.
  void to_instants(Column& column) const;
  void to_walls(Column& column) const;

 private:
  // Number of `times` that are not later than `micros`.
  static size_t passed(const std::vector<int64_t>& times, int64_t micros);

  std::string name_;
  std::vector<int64_t> transitions_;  // seconds, instants
  // seconds: the wall-clock time from which the next offset holds
  std::vector<int64_t> walls_;
  std::vector<int64_t> offsets_;  // seconds; one more
};

// The zones of a plan.
struct Zones {
  std::vector<Zone> all;
  const Zone* session = nullptr;  // one of `all`; null: UTC, where both are the same
  // Null: no zone has this name.
  const Zone* find(std::string_view name) const;
};

}  // namespace serval::tabular
