// See completion.h. Hot path (queued requests); any thread.
#include "engine/request/completion.h"

#include <utility>

#include "codec/v2/wire.h"
#include "engine/lane/lane.h"

namespace serval {

namespace {

// Answers are copied as they are taken, and their memory is given back after all of one wake-up.
constexpr size_t kAnswerBytesPerWake = 2u << 20;

}  // namespace

void CompletionQueue::add_working(int change) {
  std::lock_guard lock(mutex_);
  working_ += change;
}

void CompletionQueue::complete(std::span<Request* const> requests) {
  std::lock_guard lock(mutex_);
  const bool none = completed_.empty();
  working_ -= static_cast<int64_t>(requests.size());
  completed_.insert(completed_.end(), requests.begin(), requests.end());
  if (closed_) {
    idle_.notify_all();
  } else if (none) {
    hooks_.wake();
  }
}

void CompletionQueue::complete_here(Request& request) {
  std::lock_guard lock(mutex_);
  --working_;
  completed_.push_back(&request);
}

// Hot path: reply (queued).
size_t CompletionQueue::take(std::span<Request*> out) {
  std::lock_guard lock(mutex_);
  size_t count = 0;
  size_t bytes = 0;
  while (count < out.size() && !completed_.empty() && bytes < kAnswerBytesPerWake) {
    bytes += completed_.front()->response.size();
    completed_.front()->stage = Request::Stage::Taken;
    out[count++] = completed_.front();
    completed_.pop_front();
  }
  return count;
}

bool CompletionQueue::empty() {
  std::lock_guard lock(mutex_);
  return completed_.empty();
}

void CompletionQueue::wake() {
  std::lock_guard lock(mutex_);
  if (!closed_) hooks_.wake();
}

void CompletionQueue::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
}

const std::deque<Request*>& CompletionQueue::wait_for_all() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return working_ == 0; });
  return completed_;
}

void put_error(const Error& error, Request& out) {
  out.response.clear();
  out.json_bytes_out = error.missing.size();
  if (out.response.append(error.missing) && out.response.append(error.message)) return;
  out.response.clear();
  out.json_bytes_out = 0;
}

void store_error(Protocol protocol, std::span<const uint8_t> message, const Error& error,
                 Request& out) {
  out.json_bytes_out = 0;
  out.response.clear();
  out.code = ErrorCode::Ok;
  if (protocol == Protocol::V2GrpcStream) {
    WireModelRef ref;
    const bool readable = peek_wire_v2(message, ref).ok();
    const std::string_view id = readable ? ref.id : std::string_view();
    if (encode_wire_v2_stream_error(id, error.message, out.response)) return;
  }
  put_error(error, out);
  out.code = error.code;
}

void store_outcome(Request& request, const Status& status) {
  request.code = ErrorCode::Ok;
  if (status.ok()) return;
  const bool queued = request.stage == Request::Stage::Queued;
  store_error(queued ? request.protocol : Protocol::V1Predict, request.bytes(), status.error(),
              request);
}

void complete_all(std::span<Request* const> requests) {
  for (size_t first = 0; first < requests.size();) {
    // A request may be reused the moment complete() lets go of it: hold the lane here.
    const std::shared_ptr<Lane> lane = std::move(requests[first]->lane);
    size_t end = first + 1;
    while (end < requests.size() && requests[end]->lane == lane) {
      requests[end++]->lane.reset();
    }
    lane->complete(requests.subspan(first, end - first));
    first = end;
  }
}

void complete_one(Request& request) {
  Request* one = &request;
  complete_all({&one, 1});
}

void finish_request(Request& request) {
  request.code = ErrorCode::Ok;
  complete_one(request);
}

void finish_request(Request& request, const Error& error) {
  store_outcome(request, error);
  complete_one(request);
}

}  // namespace serval
