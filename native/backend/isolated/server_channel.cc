// The server's end of a channel; see process.h. Hot path. Thread: the one that runs the model.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "backend/isolated/process.h"
#include "base/clock.h"

namespace serval::isolated {

namespace {

// How often a sleeper checks whether its process is dead, or its run is to be given up.
constexpr uint64_t kLookNs = 50'000'000;
// How long a run that was asked to end may continue before it is given up.
constexpr uint64_t kGiveUpNs = 250'000'000;
constexpr uint64_t kPageBytes = 4096;

uint64_t bytes_of(uint64_t request_bytes, uint64_t answer_bytes) {
  return kPageBytes + std::max<uint64_t>(request_bytes, kAreaFirstBytes) +
         std::max<uint64_t>(answer_bytes, kAreaFirstBytes);
}

}  // namespace

Result<std::shared_ptr<ServerChannel>> ServerChannel::create(MemoryBudget* budget, int cancel_event,
                                                             size_t keep_bytes) {
  Result<Area> page = Area::create("serval-channel", kPageBytes);
  if (!page.ok()) return std::move(page.error());
  Result<Area> requests = Area::create("serval-requests", kAreaFirstBytes);
  if (!requests.ok()) return std::move(requests.error());
  Result<Area> answers = Area::create("serval-answers", kAreaFirstBytes);
  if (!answers.ok()) return std::move(answers.error());
  Descriptor event(dup(cancel_event));
  if (event.get() < 0) return make_error(ErrorCode::Internal, "no descriptor for a channel");
  return std::shared_ptr<ServerChannel>(
      new ServerChannel(std::move(page.value()), std::move(requests.value()),
                        std::move(answers.value()), std::move(event), budget, keep_bytes));
}

ServerChannel::ServerChannel(Area page, Area requests, Area answers, Descriptor cancel_event,
                             MemoryBudget* budget, size_t keep_bytes)
    : page_(std::move(page)),
      requests_(std::move(requests)),
      answers_(std::move(answers)),
      cancel_event_(std::move(cancel_event)),
      budget_(budget),
      keep_(keep_bytes),
      held_(bytes_of(0, 0)) {
  static_assert(sizeof(ChannelPage) <= kPageBytes);
  new (page_.data()) ChannelPage();
  this->page().keep_bytes.store(keep_bytes);
  requests_.set_keep(keep_bytes);
  answers_.set_keep(keep_bytes);
  if (budget_ != nullptr) budget_->add(held_);
}

ServerChannel::~ServerChannel() {
  close();
  if (budget_ == nullptr) return;
  budget_->idle().reuse(this);
  budget_->give(held_);
}

bool ServerChannel::hold(uint64_t request_bytes, uint64_t answer_bytes) {
  const uint64_t requests = std::max(request_bytes_, request_bytes);
  const uint64_t answers = std::max(answer_bytes_, answer_bytes);
  const uint64_t wanted = bytes_of(requests, answers);
  if (wanted > held_) {
    if (budget_ != nullptr && !budget_->take(wanted - held_)) return false;
    held_ = wanted;
  }
  request_bytes_ = requests;
  answer_bytes_ = answers;
  return true;
}

uint64_t ServerChannel::answer_bytes_max() const {
  if (budget_ == nullptr) return kAnswerBytesMax;
  const uint64_t used = budget_->used(), limit = budget_->limit();
  const uint64_t left = used < limit ? limit - used : 0;
  return std::clamp<uint64_t>(left, kAreaFirstBytes, kAnswerBytesMax);
}

void ServerChannel::free_areas() {
  requests_.trim(request_bytes_);
  answers_.trim(answer_bytes_);
  request_bytes_ = std::min(request_bytes_, keep_);
  answer_bytes_ = std::min(answer_bytes_, keep_);
  page().trims.fetch_add(1);
}

void ServerChannel::trim() {
  if (parked_ || (request_bytes_ <= keep_ && answer_bytes_ <= keep_)) return;
  const uint64_t rest = bytes_of(std::min(request_bytes_, keep_), std::min(answer_bytes_, keep_));
  const uint64_t excess = held_ - std::min(held_, rest);
  const bool keeps = budget_ != nullptr && budget_->used() <= budget_->limit() / 2;
  if (keeps) {
    {
      std::lock_guard lock(idle_mutex_);
      idle_ = true;
    }
    parked_ = budget_->idle().keep(this, weak_from_this(), excess);
  }
  if (!parked_) {
    std::lock_guard lock(idle_mutex_);
    idle_ = false;
    free_areas();
  }
  if (budget_ != nullptr) budget_->give(excess);
  held_ -= excess;
}

void ServerChannel::resume() {
  if (!parked_) return;
  parked_ = false;
  budget_->idle().reuse(this);
  {
    std::lock_guard lock(idle_mutex_);  // waits for the end of a free_idle() in progress
    idle_ = false;
  }
  const uint64_t wanted = bytes_of(request_bytes_, answer_bytes_);
  if (wanted <= held_) return;  // the memory was freed
  if (budget_->take(wanted - held_)) held_ = wanted;
  else free_areas();
}

void ServerChannel::free_idle() {
  std::lock_guard lock(idle_mutex_);
  if (!std::exchange(idle_, false)) return;
  free_areas();
}

uint32_t ServerChannel::hand_over(uint64_t bytes) {
  next_ = next_ + 1 == kClosedNumber ? 1 : next_ + 1;
  ChannelPage& shared = page();
  shared.request_bytes.store(bytes, std::memory_order_relaxed);
  shared.server_cpu.store(this_cpu(), std::memory_order_relaxed);
  shared.request.store(next_);
  if (shared.child_sleeps.load() != 0) wake_all(shared.request);
  return next_;
}

ServerChannel::Outcome ServerChannel::outcome(uint32_t number) {
  if (page().answer.load() == number) return Outcome::Answered;
  if (dead()) return Outcome::Dead;
  return page().refused.load() != 0 ? Outcome::Refused : Outcome::GivenUp;
}

ServerChannel::Outcome ServerChannel::wait(uint32_t number,
                                           const std::atomic<uint64_t>& ending_ns) {
  const std::atomic<uint32_t>& answer = page().answer;
  return spin_.wait(
      page().child_cpu.load(), [&] { return answer.load() == number; },
      [&] { return sleep(number, ending_ns); });
}

ServerChannel::Outcome ServerChannel::sleep(uint32_t number,
                                            const std::atomic<uint64_t>& ending_ns) {
  ChannelPage& shared = page();
  if (shared.answer.load() == number) return Outcome::Answered;
  for (;;) {
    shared.server_sleeps.store(1);
    const uint32_t seen = shared.answer.load();
    if (const Outcome now = outcome(number); now != Outcome::GivenUp) {
      shared.server_sleeps.store(0);
      return now;
    }
    sleep_on(shared.answer, seen, kLookNs);
    shared.server_sleeps.store(0);
    const uint64_t ending = ending_ns.load();
    if (ending != 0 && now_ns() > ending + kGiveUpNs) return outcome(number);
  }
}

void ServerChannel::end_run(uint32_t number) {
  page().cancel.store(number);
  const uint64_t one = 1;
  // a full eventfd is signalled already
  if (write(cancel_event_.get(), &one, sizeof one) < 0) return;
}

bool ServerChannel::idle() {
  ChannelPage& shared = page();
  return shared.answer.load() == next_ || shared.ended.load() != 0 || shared.refused.load() != 0;
}

void ServerChannel::die() {
  dead_.store(true, std::memory_order_release);
  wake_all(page().answer);
}

}  // namespace serval::isolated
