// One ModelStreamInfer call: requests go to the engine as they arrive, replies are sent in the
// order of the requests. Hot path; the listener's thread. Does not parse the messages.
// Source: Triton's ModelStreamInfer.
#pragma once

#include <cstdint>
#include <deque>

#include "base/buffer.h"
#include "transport/call.h"

namespace serval {

class InferStream {
 public:
  // A request's place in the order of replies.
  struct Place {
    uint32_t ticket = 0;  // 0 = it is not waiting in the engine
    size_t bytes = 0;
    bool explaining = false;
    bool answered = false;
    ByteBuffer reply;
  };

  // Adds a place for a request of `bytes` bytes; returns its number, counted from 0.
  uint64_t begin(size_t bytes);
  // Null if the stream has moved on without it.
  Place* find(uint64_t number);
  // The oldest request that waits for its error text; null = none.
  Place* explained();
  // Accepts a reply: sends it if it is the next one, else keeps its memory and leaves an empty
  // buffer in its place. False: the call has ended, and this object is gone.
  bool answer(CallThread& thread, Call& call, uint64_t number, ByteBuffer& reply);
  // Sends the answered replies that are next in order. False: the same.
  bool send_answered(Call& call);

  void half_closed() { finish_ = finish_ == Finish::No ? Finish::HalfClosed : finish_; }
  void draining() { finish_ = finish_ == Finish::No ? Finish::Draining : finish_; }
  bool takes_requests() const { return finish_ != Finish::Draining; }
  // Ends the call if everything is answered and no more will arrive. True: it has ended.
  bool finish_when_empty(Call& call);
  void adjust_reading(Call& call);
  std::deque<Place>& places() { return places_; }

 private:
  enum class Finish : uint8_t { No, HalfClosed, Draining };
  void pop();

  std::deque<Place> places_;  // oldest first
  uint64_t first_ = 0;        // the number of the oldest
  size_t bytes_ = 0;
  Finish finish_ = Finish::No;
};

}  // namespace serval
