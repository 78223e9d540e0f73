// One ModelStreamInfer call: requests go to the engine as they come, replies leave in the order of
// the requests. Hot path; the listener's thread. Knows nothing of the messages' contents.
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
    uint32_t ticket = 0;  // 0 = it does not wait in the engine
    size_t bytes = 0;
    bool explaining = false;
    bool answered = false;
    ByteBuffer reply;
  };

  // A place for a request of so many bytes; its number counts from 0.
  uint64_t begin(size_t bytes);
  // Null where the stream has gone on without it.
  Place* find(uint64_t number);
  // The oldest that waits for words; null = none.
  Place* explained();
  // Takes a reply: sends it where it is the next one, else keeps its memory and leaves other memory
  // in its place. False: the call has ended, and with it what is here.
  bool answer(CallThread& thread, Call& call, uint64_t number, ByteBuffer& reply);
  // Sends what is answered, as far as it is next. False: the same.
  bool send_answered(Call& call);

  void half_closed() { finish_ = finish_ == Finish::No ? Finish::HalfClosed : finish_; }
  void draining() { finish_ = finish_ == Finish::No ? Finish::Draining : finish_; }
  bool takes_requests() const { return finish_ != Finish::Draining; }
  // Ends the call where all is answered and no more is to come. True: it has ended.
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
