// Implements admissions. Hot path (limited requests); one thread at a time.
#include "engine/limits/admission.h"

#include "base/clock.h"

namespace serval {

Admission& Admission::operator=(Admission&& other) noexcept {
  if (this == &other) return *this;
  end();
  caller_ = std::move(other.caller_);
  model_ = std::move(other.model_);
  counts_ = std::exchange(other.counts_, false);
  rows_paid_ = std::exchange(other.rows_paid_, 0);
  charged_ = std::exchange(other.charged_, false);
  return *this;
}

std::optional<LimitHit> Admission::begin(std::shared_ptr<RequestLimits> caller,
                                         std::shared_ptr<RequestLimits> model) {
  end();
  const uint64_t now = now_ns();
  if (caller != nullptr) {
    if (const std::optional<LimitHit> hit = caller->admit(now); hit.has_value()) return hit;
  }
  if (model != nullptr) {
    if (const std::optional<LimitHit> hit = model->admit(now); hit.has_value()) {
      if (caller != nullptr) caller->take_back();
      return hit;
    }
  }
  caller_ = std::move(caller);
  model_ = std::move(model);
  counts_ = true;
  rows_paid_ = 1;
  charged_ = false;
  return std::nullopt;
}

void Admission::charge(uint32_t rows) {
  if (charged_) return;
  charged_ = true;
  if (rows <= rows_paid_) return;
  const uint64_t now = now_ns();
  if (caller_ != nullptr) caller_->charge_rows(now, rows - rows_paid_);
  if (model_ != nullptr) model_->charge_rows(now, rows - rows_paid_);
}

Admission Admission::part(bool first) const {
  Admission one;
  one.caller_ = caller_;
  one.model_ = model_;
  one.rows_paid_ = first ? 1 : 0;
  return one;
}

void Admission::leave() {
  if (counts_ && caller_ != nullptr) caller_->end();
  if (counts_ && model_ != nullptr) model_->end();
  counts_ = false;
  caller_.reset();
  model_.reset();
}

}  // namespace serval
