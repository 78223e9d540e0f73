// A request's place under the limits of its model and of its caller's key: it counts as in flight
// for as long as this exists. Hot path (limited requests); one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "engine/limits/request_limits.h"

namespace serval {

class Admission {
 public:
  Admission() = default;
  Admission(Admission&& other) noexcept { *this = std::move(other); }
  Admission& operator=(Admission&& other) noexcept;
  ~Admission() { end(); }

  // Counts a request under both (each may be null). Returns the limit that refuses it; then it
  // counts nowhere.
  std::optional<LimitHit> begin(std::shared_ptr<RequestLimits> caller,
                                std::shared_ptr<RequestLimits> model);
  // Charges the request's rows, of which one is paid already; only the first call counts, because a
  // request may be decoded twice.
  void charge_rows(uint32_t rows) {
    if (*this) charge(rows);
  }
  // For a part of the request that is served by itself: charges rows to the same limits, and is not
  // in flight. `first`: it has the row that is paid.
  Admission part(bool first) const;
  // Whether it charges any limit.
  explicit operator bool() const { return caller_ != nullptr || model_ != nullptr; }
  // The request has ended.
  void end() {
    if (*this) leave();
  }

 private:
  void charge(uint32_t rows);
  void leave();

  std::shared_ptr<RequestLimits> caller_, model_;
  bool counts_ = false;  // it is in flight
  uint32_t rows_paid_ = 0;
  bool charged_ = false;
};

}  // namespace serval
