// The limits of one model or of one API key, shared by all listeners: requests in flight, requests
// and rows per second. Hot path (limited requests); any thread, no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/generated/engine_structs.h"
#include "engine/limits/rate_limit.h"

namespace serval {

enum class LimitKind : uint8_t { InFlight, Requests, Rows };
inline constexpr size_t kLimitKinds = 3;
// The name in configurations and metrics: "max_in_flight", ...
std::string_view name_of(LimitKind kind);
inline bool has_limits(const LimitSpec& spec) {
  return spec.max_in_flight != 0 || spec.requests_per_second > 0 || spec.rows_per_second > 0;
}

class RequestLimits;

// The limit that refuses a request. `by` lives as long as its model or key has limits.
struct LimitHit {
  const RequestLimits* by = nullptr;
  LimitKind kind = LimitKind::InFlight;
  uint64_t wait_ns = 0;  // until a request may be admitted; 0 = unknown
};

class RequestLimits {
 public:
  enum class Of : uint8_t { Model, Key };
  // `name`: of the model, or of the key.
  RequestLimits(Of of, std::string name) : of_(of), name_(std::move(name)) {}
  RequestLimits(const RequestLimits&) = delete;
  RequestLimits& operator=(const RequestLimits&) = delete;

  Of of() const { return of_; }
  const std::string& name() const { return name_; }
  // Replaces the values; requests in flight stay counted. Control plane.
  void set(const LimitSpec& spec);
  // The value as a configuration would have it; "0" = none.
  std::string value_of(LimitKind kind) const;

  // Counts a request, with one row. Returns the limit that it would exceed; then nothing is
  // counted but the refusal.
  std::optional<LimitHit> admit(uint64_t now_ns);
  // Takes back an admit(), because something else refused the request.
  void take_back();
  // Charges further rows of an admitted request.
  void charge_rows(uint64_t now_ns, uint64_t rows) { rows_.charge(now_ns, rows); }
  // An admitted request has ended.
  void end() { in_flight_.fetch_sub(1, std::memory_order_relaxed); }

  int64_t in_flight() const { return in_flight_.load(std::memory_order_relaxed); }
  uint64_t refused(LimitKind kind) const {
    return refused_[static_cast<size_t>(kind)].load(std::memory_order_relaxed);
  }

 private:
  LimitHit refuse(LimitKind kind, uint64_t wait_ns);
  bool enter();

  const Of of_;
  const std::string name_;
  std::atomic<uint32_t> in_flight_max_{0};  // 0 = none
  std::atomic<double> requests_per_second_{0}, rows_per_second_{0};
  std::atomic<int64_t> in_flight_{0};
  RateLimit requests_, rows_;
  std::array<std::atomic<uint64_t>, kLimitKinds> refused_{};
};

}  // namespace serval
