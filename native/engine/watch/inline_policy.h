// Decides whether a request runs to completion on the listener's thread. Hot path: queue.
// Any thread; relaxed atomics: a lost update costs one sample.
//
// The measured quantity is a request's whole service time (decode, run, encode). It is kept per
// protocol and per power of two of the body's size, because a model that answers four floats in 3
// us may take milliseconds for an image. In Auto a cell goes inline after kSamplesMin requests when
// the mean is below 3/4 of the limit, and leaves when it is above the limit.
//
// A model on a device has a higher limit, since its requests run inline only while nothing else
// needs the thread (see runs_inline()); one run that waits long for the device leaves at once.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

#include "backend/backend.h"
#include "base/limits.h"
#include "engine/request/protocol.h"

namespace serval {

class InlinePolicy {
 public:
  // The limit of a model on a device, in limits of the others.
  static constexpr float kDeviceLimits = 3;
  // A request of a model on a device that takes this many limits leaves at once. It counts as that
  // long at most: one run that waits for another model's is soon forgotten.
  static constexpr float kDeviceOutlier = 4;

  InlinePolicy(ExecMode mode, int inline_us_max, bool on_device = false)
      : mode_(mode),
        on_device_(on_device),
        limit_ns_(static_cast<float>(inline_us_max) * 1000.0f * (on_device ? kDeviceLimits : 1)) {
    if (mode == ExecMode::Auto) cells_ = std::make_unique<Cells>();
  }

  bool run_inline(Protocol protocol, size_t body_bytes) const {
    if (mode_ != ExecMode::Auto) return mode_ == ExecMode::Inline;
    return cell(protocol, body_bytes).run_inline.load(std::memory_order_relaxed);
  }

  // How long a run may take on the listener's thread before it is ended and queued instead.
  uint64_t run_ns_max() const {
    return mode_ == ExecMode::Inline ? kInlineByHandNsMax : kInlineNsMax;
  }

  // Returns whether runs wait for a device, so that only a request that is alone runs inline.
  bool on_device() const { return on_device_; }

  // Returns whether the policy needs run times: only Auto does.
  bool measures() const { return mode_ == ExecMode::Auto; }

  // Records the service time of one request, wherever it ran. Only if measures().
  void record(Protocol protocol, size_t body_bytes, uint64_t service_ns) {
    Cell& at = cell(protocol, body_bytes);
    const float taken = static_cast<float>(service_ns);
    const bool is_outlier = on_device_ && taken > kDeviceOutlier * limit_ns_;
    const float sample = is_outlier ? kDeviceOutlier * limit_ns_ : taken;
    const uint32_t samples = at.samples.load(std::memory_order_relaxed);
    const float mean = at.mean_ns.load(std::memory_order_relaxed);
    const float next = samples == 0 ? sample : mean + (sample - mean) * kWeight;
    at.mean_ns.store(next, std::memory_order_relaxed);
    if (samples < kSamplesMin) at.samples.store(samples + 1, std::memory_order_relaxed);
    const bool now = at.run_inline.load(std::memory_order_relaxed);
    if (!now && samples + 1 >= kSamplesMin && next < limit_ns_ * 0.75f) {
      at.run_inline.store(true, std::memory_order_relaxed);
    } else if (now && (next > limit_ns_ || is_outlier)) {
      at.run_inline.store(false, std::memory_order_relaxed);
      at.samples.store(0, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr uint32_t kSamplesMin = 8;
  static constexpr float kWeight = 0.125f;
  static constexpr size_t kSizes = 33;
  struct Cell {
    std::atomic<float> mean_ns{0};
    std::atomic<uint32_t> samples{0};
    std::atomic<bool> run_inline{false};
  };
  const Cell& cell(Protocol protocol, size_t body_bytes) const {
    const auto size = static_cast<size_t>(std::bit_width(body_bytes));
    return (*cells_)[static_cast<size_t>(protocol)][size < kSizes ? size : kSizes - 1];
  }
  Cell& cell(Protocol protocol, size_t body_bytes) {
    return const_cast<Cell&>(std::as_const(*this).cell(protocol, body_bytes));
  }

  ExecMode mode_;
  bool on_device_;
  float limit_ns_;
  using Cells = std::array<std::array<Cell, kSizes>, kProtocols>;
  std::unique_ptr<Cells> cells_;  // null unless measures()
};

}  // namespace serval
