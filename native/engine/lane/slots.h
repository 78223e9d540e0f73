// The requests of one lane: slots that are used again and again, the tickets that name their
// uses, and the memory that free ones keep. Hot path; the listener's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/control/engine.h"
#include "engine/request/hooks.h"
#include "engine/request/request.h"

namespace serval {

class RequestSlots {
 public:
  // `in_flight_max`: tickets that may be open at a time. Borrows the engine and the hooks, which
  // need not be there any more when it goes.
  RequestSlots(Engine& engine, uint32_t in_flight_max, LaneHooks& hooks);

  // For answers that are given at once.
  Request& first() { return *slots_[0]; }
  // Null where there is no such slot.
  Request* at(uint32_t index) { return index < slots_.size() ? slots_[index].get() : nullptr; }
  uint32_t ticket_of(const Request& request) const;
  // The request that has the ticket; null where it is closed.
  Request* find(uint32_t ticket);

  // A request for a body; null where there are as many as may be. release() closes its ticket.
  Request* open();
  void release(Request& request);

  // Keeps the current message's bytes, which the request uses where they are, until unpin() or
  // release(). False where the hooks cannot.
  bool pin(Request& request, std::span<const uint8_t> message);
  void unpin(Request& request);
  // The same for all whose tasks were cut off.
  void unpin_tasks();

  // Keeps the answer of a request that was just taken until it is released, and not its body. False
  // when the ticket is no such request's.
  bool keep_answer(uint32_t ticket);
  // Gives back what free slots keep for later. Slot 0 too: its answers are taken before the
  // listener's thread comes here.
  void drop_kept();

  uint64_t tickets_open() const { return tickets_open_; }
  uint64_t bodies_open() const;  // of these, bodies still being received
  // Visits the requests whose tickets are open.
  template <typename Visit>
  void each_open(const Visit& visit) const {
    for (const std::unique_ptr<Request>& request : slots_) {
      if (request->stage != Request::Stage::Free) visit(*request);
    }
  }

 private:
  Request* add();
  void drop(ByteBuffer& buffer);

  Engine& engine_;
  const std::shared_ptr<MemoryBudget> budget_;
  LaneHooks& hooks_;
  const size_t slots_max_;
  const uint64_t retained_bytes_max_;
  std::vector<std::unique_ptr<Request>> slots_;
  std::vector<uint32_t> free_;
  uint64_t retained_bytes_ = 0;
  uint64_t tickets_open_ = 0;
};

}  // namespace serval
