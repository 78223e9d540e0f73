// The requests of one lane: slots that are reused, the tickets that name their uses, and the memory
// that free ones keep. Hot path; the listener's thread.
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
  // may be destroyed before this is.
  RequestSlots(Engine& engine, uint32_t in_flight_max, LaneHooks& hooks);

  // The slot of immediate answers.
  Request& first() { return *slots_[0]; }
  // Returns null if there is no such slot.
  Request* at(uint32_t index) { return index < slots_.size() ? slots_[index].get() : nullptr; }
  uint32_t ticket_of(const Request& request) const;
  // Returns the request that has the ticket; null if the ticket is closed.
  Request* find(uint32_t ticket);

  // Returns a request for a body; null if all slots are in use. release() closes its ticket.
  Request* open();
  void release(Request& request);

  // Keeps the current message's bytes, which the request uses in place, until unpin() or release().
  // Returns false if the hooks cannot keep them.
  bool pin(Request& request, std::span<const uint8_t> message);
  void unpin(Request& request);
  // Does the same for every request whose tasks were cut off.
  void unpin_tasks();

  // Keeps the response, but not the body, of a request that was just taken until it is released.
  // Returns false if the ticket is not of such a request.
  bool keep_answer(uint32_t ticket);
  // Releases the memory that free slots keep for later. Slot 0 too: its answers have been read
  // before the listener's thread gets here.
  void drop_kept();

  uint64_t tickets_open() const { return tickets_open_; }
  uint64_t bodies_open() const;  // open tickets whose bodies are still being received
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
