// Implements the order and flow control of a stream's replies. Hot path; the listener's thread.
#include "calls/infer_stream.h"

#include <utility>

#include "base/generated/grpc_code.h"

namespace serval {

namespace {

// Limits on the requests of one stream that are in the engine and on the replies that its client
// has not read; reading pauses above them.
constexpr size_t kInFlightMax = 64;
constexpr size_t kInFlightBytesMax = 64u << 20;
constexpr size_t kUnsentMax = 64;
constexpr size_t kUnsentBytesMax = 8u << 20;

}  // namespace

uint64_t InferStream::begin(size_t bytes) {
  places_.emplace_back();
  places_.back().bytes = bytes;
  bytes_ += bytes;
  return first_ + places_.size() - 1;
}

InferStream::Place* InferStream::find(uint64_t number) {
  if (number < first_ || number - first_ >= places_.size()) return nullptr;
  return &places_[number - first_];
}

InferStream::Place* InferStream::explained() {
  for (Place& place : places_) {
    if (place.explaining) return &place;
  }
  return nullptr;
}

void InferStream::pop() {
  bytes_ -= places_.front().bytes;
  places_.pop_front();
  ++first_;
}

bool InferStream::answer(CallThread& thread, Call& call, uint64_t number, ByteBuffer& reply) {
  Place* place = find(number);
  if (place == nullptr) return true;
  if (number == first_) {
    pop();
    return call.send(reply) && send_answered(call);
  }
  place->answered = true;
  place->reply = std::exchange(reply, thread.take_buffer());
  return true;
}

bool InferStream::send_answered(Call& call) {
  while (!places_.empty() && places_.front().answered) {
    ByteBuffer reply = std::move(places_.front().reply);
    pop();
    if (!call.send(reply)) return false;
  }
  return true;
}

bool InferStream::finish_when_empty(Call& call) {
  if (finish_ == Finish::No || !places_.empty()) return false;
  if (finish_ == Finish::Draining)
    call.finish({grpc_code::kUnavailable, "the server is shutting down", {}});
  else call.finish({});
  return true;
}

void InferStream::adjust_reading(Call& call) {
  call.set_paused(places_.size() >= kInFlightMax || bytes_ >= kInFlightBytesMax ||
                  call.unsent_messages() >= kUnsentMax || call.unsent_bytes() >= kUnsentBytesMax);
}

}  // namespace serval
