// Implements the turns of queued runs. Hot path (queued requests), any thread.
#include "engine/turns/run_turns.h"

#include <algorithm>
#include <utility>

namespace serval {

namespace {

// The weight of the latest run in a model's expected time of a run.
constexpr double kLatestRun = 0.25;
// Runs that no resource limits: the rate limiter does not count the cores.
constexpr uint32_t kRunsUnlimited = 1u << 30;

}  // namespace

// A thread that waits for a turn.
struct RunFlow::Waiter final : RunEnder {
  explicit Waiter(std::mutex& of) : mutex(of) {}
  void end_run() override {
    std::lock_guard lock(mutex);
    ended = true;
    changed.notify_one();
  }
  std::mutex& mutex;
  std::condition_variable changed;
  // The rest is guarded by the mutex.
  uint64_t number = 0;  // in the order of arrival
  int device = 0;
  bool has_turn = false;
  bool ended = false;
};

RunFlow::RunFlow(RunTurns* turns, double weight, std::vector<RateResource> needs,
                 std::vector<int> devices, FlowOwner owner)
    : turns_(turns),
      needs_(std::move(needs)),
      devices_(std::move(devices)),
      owner_(std::move(owner)),
      fair_(weight) {
  if (turns_ == nullptr || !turns_->limits_rates()) return;
  std::lock_guard lock(turns_->mutex_);
  turns_->resources_->add(owner_.model, needs_, devices_);
}

RunFlow::~RunFlow() {
  if (turns_ == nullptr || !turns_->limits_rates()) return;
  std::lock_guard lock(turns_->mutex_);
  turns_->resources_->remove(owner_.model, needs_, devices_);
}

void RunFlow::instance_began() {
  if (turns_ == nullptr) return;
  std::lock_guard lock(turns_->mutex_);
  if (instances_++ == 0) turns_->flows_.fetch_add(1, std::memory_order_relaxed);
}

void RunFlow::instance_ended() {
  if (turns_ == nullptr) return;
  std::lock_guard lock(turns_->mutex_);
  if (--instances_ == 0) turns_->flows_.fetch_sub(1, std::memory_order_relaxed);
}

// All runs need turns: the models count as sharing.
RunTurns::RunTurns(std::vector<RateCount> counts)
    : cores_(kRunsUnlimited), clock_(now_ns), flows_(2), resources_(std::move(counts)) {}

Status RunTurns::check(const std::string& model, std::span<const RateResource> needs,
                       std::span<const int> devices) {
  if (!limits_rates()) return {};
  std::lock_guard lock(mutex_);
  return resources_->check(model, needs, devices);
}

size_t RunTurns::running() {
  std::lock_guard lock(mutex_);
  return running_;
}

size_t RunTurns::waiting() {
  std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const RunFlow* flow : waiting_) count += flow->waiting_.size();
  return count;
}

bool RunTurns::begin(RunFlow& flow, int device, const CancelFlag* cancel, double& charged) {
  RunFlow::Waiter waiter(mutex_);
  std::unique_lock lock(mutex_);
  waiter.number = arrivals_++;
  waiter.device = device;
  if (flow.waiting_.empty()) waiting_.push_back(&flow);
  flow.waiting_.push_back(&waiter);
  start_waiting();
  if (!waiter.has_turn) {
    if (cancel != nullptr) {
      lock.unlock();
      cancel->begin_run(waiter);
      lock.lock();
    }
    waiter.changed.wait(lock, [&] { return waiter.has_turn || waiter.ended; });
    if (cancel != nullptr) {
      lock.unlock();
      cancel->leave_run(waiter);
      lock.lock();
    }
  }
  if (!waiter.has_turn) {
    std::erase(flow.waiting_, &waiter);
    if (flow.waiting_.empty()) std::erase(waiting_, &flow);
    start_waiting();  // others may have waited for its resources
    return false;
  }
  charged = flow.expected_ns_;
  return true;
}

void RunTurns::end(RunFlow& flow, int device, double charged, uint64_t ns) {
  std::lock_guard lock(mutex_);
  if (resources_.has_value()) {
    resources_->give(flow.needs_, device);
  } else {
    const auto took = static_cast<double>(ns);
    order_.correct(flow.fair_, took - charged);
    flow.expected_ns_ += (took - flow.expected_ns_) * kLatestRun;
  }
  --flow.running_;
  --running_;
  start_waiting();
}

// The flow whose run is next; null if none waits. `beside`: of those that may run although all
// cores have runs.
RunFlow* RunTurns::next_flow(bool beside) const {
  RunFlow* next = nullptr;
  for (RunFlow* flow : waiting_) {
    if (beside && (flow->running_ > 0 || !order_.is_behind(flow->fair_))) continue;
    if (next != nullptr) {
      const double start = order_.start_of(flow->fair_), other = order_.start_of(next->fair_);
      const bool earlier = flow->waiting_.front()->number < next->waiting_.front()->number;
      if (start > other || (start == other && !earlier)) continue;
    }
    next = flow;
  }
  return next;
}

// Caller holds mutex_.
void RunTurns::start_waiting() {
  while (!waiting_.empty() && running_ < 2 * cores_) {
    RunFlow* const flow = next_flow(running_ >= cores_);
    if (flow == nullptr) return;
    const bool has_all =
        !resources_.has_value() || resources_->take(flow->needs_, flow->waiting_.front()->device);
    if (!has_all) return;
    start_one(*flow);
  }
}

// Caller holds mutex_.
void RunTurns::start_one(RunFlow& flow) {
  RunFlow::Waiter& waiter = *flow.waiting_.front();
  flow.waiting_.erase(flow.waiting_.begin());
  if (flow.waiting_.empty()) std::erase(waiting_, &flow);
  order_.begin(flow.fair_, resources_.has_value() ? 1 : flow.expected_ns_);
  ++flow.running_;
  ++running_;
  waiter.has_turn = true;
  waiter.changed.notify_one();
}

}  // namespace serval
