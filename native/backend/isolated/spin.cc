// Implements the spin policy. Hot path, any thread.
#include "backend/isolated/spin.h"

#include <sched.h>

#include <algorithm>

namespace serval::isolated {

namespace {

std::atomic<uint32_t> looking{0};

}  // namespace

uint32_t this_cpu() { return static_cast<uint32_t>(sched_getcpu()); }

uint64_t SpinPolicy::budget_ns(uint32_t here, uint32_t there) const {
  if (cores_ < 2 || rest_ > 0 || here == there || mean_ns_ > kSpinMeanNsMax) return 0;
  return std::min(2 * mean_ns_, kSpinNsMax);
}

void SpinPolicy::note(uint64_t waited_ns, bool in_vain) {
  // Limits the sample, so that one long wait is forgotten after some short ones.
  const uint64_t sample = std::min(waited_ns, 8 * kSpinMeanNsMax);
  mean_ns_ = (7 * mean_ns_ + sample) / 8;
  if (rest_ > 0) {
    --rest_;
    return;
  }
  if (in_vain) vain_ += kVainWeight;
  else if (vain_ > 0) --vain_;
  if (vain_ >= kVainMax) {
    rest_ = next_rest_;
    next_rest_ = std::min(2 * next_rest_, kRestMax);
    vain_ = unrested_ = 0;
  } else if (++unrested_ >= kRestMax) {
    next_rest_ = kRestFirst;
  }
}

bool Spin::begin_looking() {
  if (looking.fetch_add(1) < usable_cores() / 2) return true;
  end_looking();
  return false;
}

void Spin::end_looking() { looking.fetch_sub(1); }

}  // namespace serval::isolated
