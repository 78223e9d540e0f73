// Slots, tickets and kept memory. Hot path; the listener's thread.
#include "engine/lane/slots.h"

#include <utility>

#include "base/memory/pinned_blocks.h"

namespace serval {

namespace {

constexpr uint32_t kSlotBits = 14;
constexpr uint32_t kSlotMask = (1u << kSlotBits) - 1;
constexpr uint32_t kUseMask = (1u << (32 - kSlotBits)) - 1;
// Limits of the memory that a lane's free slots keep in total: bytes, and a fraction of the budget.
constexpr uint64_t kRetainedBytesMax = 64u << 20;
constexpr uint64_t kRetainedPart = 16;

}  // namespace

RequestSlots::RequestSlots(Engine& engine, uint32_t in_flight_max, LaneHooks& hooks)
    : engine_(engine),
      budget_(engine.budget()),
      hooks_(hooks),
      slots_max_(std::min(in_flight_max, kSlotMask)),
      retained_bytes_max_(std::min(kRetainedBytesMax, budget_->limit() / kRetainedPart)) {
  add();
}

uint32_t RequestSlots::ticket_of(const Request& request) const {
  return (request.use & kUseMask) << kSlotBits | request.slot;
}

Request* RequestSlots::find(uint32_t ticket) {
  Request* request = at(ticket & kSlotMask);
  if (request == nullptr || request->stage == Request::Stage::Free) return nullptr;
  return (request->use & kUseMask) == ticket >> kSlotBits ? request : nullptr;
}

Request* RequestSlots::add() {
  slots_.push_back(std::make_unique<Request>());
  Request* request = slots_.back().get();
  request->slot = static_cast<uint32_t>(slots_.size() - 1);
  request->body.charge_to(budget_.get());
  request->response.charge_to(budget_.get());
  return request;
}

Request* RequestSlots::open() {
  Request* request = nullptr;
  if (!free_.empty()) {
    request = slots_[free_.back()].get();
    free_.pop_back();
  } else {
    if (slots_.size() > slots_max_) return nullptr;
    request = add();
  }
  retained_bytes_ -= request->held_bytes();
  request->stage = Request::Stage::Body;
  request->code = ErrorCode::Ok;
  request->json_bytes_out = 0;
  request->schedule = SchedulePolicy();
  request->deadline_ns = 0;
  request->wait_until_ns = 0;
  request->again = false;
  request->load_wait_ns = 0;
  request->died = false;
  request->waited_for_equal = false;
  request->cancel.reset();
  ++tickets_open_;
  return request;
}

void RequestSlots::release(Request& request) {
  unpin(request);
  request.model.reset();
  request.group.reset();
  request.trace.reset();
  request.admission.end();
  if (request.held_bytes() >= MemoryBudget::kLargeBytes) engine_.trimmer().note();
  if (retained_bytes_ + request.held_bytes() > retained_bytes_max_) {
    drop(request.body);
    drop(request.response);
  } else if (should_be_pinned(request.body)) {
    drop(request.body);
  }
  retained_bytes_ += request.held_bytes();
  ++request.use;
  request.stage = Request::Stage::Free;
  free_.push_back(request.slot);
  --tickets_open_;
}

bool RequestSlots::pin(Request& request, std::span<const uint8_t> message) {
  request.pin = hooks_.pin();
  if (request.pin == nullptr) return false;
  request.pinned = message;
  budget_->add(message.size());
  return true;
}

void RequestSlots::unpin(Request& request) {
  if (request.pin != nullptr) {
    hooks_.unpin(request.pin);
    budget_->give(request.pinned.size());
    request.pin = nullptr;
  }
  request.pinned = {};
}

void RequestSlots::unpin_tasks() {
  for (const std::unique_ptr<Request>& request : slots_) {
    if (request->stage == Request::Stage::Tasks) unpin(*request);
  }
}

void RequestSlots::drop(ByteBuffer& buffer) {
  if (buffer.frees_quickly()) {
    buffer.shrink(0);
    return;
  }
  const auto gone = std::make_shared<ByteBuffer>();
  gone->charge_to(budget_.get());
  std::swap(*gone, buffer);
  // If no thread can be started, the last holder frees it here.
  (void)engine_.freeing().start([gone, budget = budget_] {
    release_pages(gone->base(), gone->base_bytes());
    gone->shrink(0);
  });
}

bool RequestSlots::keep_answer(uint32_t ticket) {
  Request* request = find(ticket);
  if (request == nullptr || request->stage != Request::Stage::Taken) return false;
  unpin(*request);
  request->model.reset();
  request->admission.end();
  request->stage = Request::Stage::Kept;
  drop(request->body);
  return true;
}

void RequestSlots::drop_kept() {
  retained_bytes_ = 0;
  for (const std::unique_ptr<Request>& request : slots_) {
    if (request->stage != Request::Stage::Free) continue;
    drop(request->body);
    drop(request->response);
    if (request->slot != 0) retained_bytes_ += request->held_bytes();
  }
}

uint64_t RequestSlots::bodies_open() const {
  uint64_t bodies = 0;
  each_open([&](const Request& request) { bodies += request.stage == Request::Stage::Body; });
  return bodies;
}

}  // namespace serval
