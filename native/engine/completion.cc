// How an answer gets back to its listener: the end of listener.h. Any thread.
#include "engine/listener.h"
#include "engine/serve.h"

namespace serval {

void store_outcome(Request& request, Status status) {
  if (status.ok()) {
    request.code = ErrorCode::Ok;
    return;
  }
  Error& error = status.error();
  request.json_bytes_out = 0;
  if (request.protocol == Protocol::V2GrpcStream && request.stage == Request::Stage::Queued &&
      put_stream_error(request.bytes(), error.message, request.response)) {
    request.code = ErrorCode::Ok;
    return;
  }
  request.response.clear();
  if (!request.response.append(error.message)) request.response.clear();
  request.code = error.code;
}

bool Listener::has_completed() {
  std::lock_guard lock(mutex_);
  return !completed_.empty();
}

void Listener::complete(std::span<Request* const> requests) {
  std::lock_guard lock(mutex_);
  const bool none = completed_.empty();
  working_ -= static_cast<int64_t>(requests.size());
  completed_.insert(completed_.end(), requests.begin(), requests.end());
  if (closed_) {
    idle_.notify_all();
  } else if (none) {
    hooks_->wake();
  }
}

void Listener::poke() {
  std::lock_guard lock(mutex_);
  if (!closed_) hooks_->wake();
}

void complete_all(std::span<Request* const> requests) {
  for (size_t first = 0; first < requests.size();) {
    // A request may be reused the moment complete() lets go of it: hold the listener here.
    const std::shared_ptr<Listener> listener = std::move(requests[first]->listener);
    size_t end = first + 1;
    while (end < requests.size() && requests[end]->listener == listener) {
      requests[end++]->listener.reset();
    }
    listener->complete(requests.subspan(first, end - first));
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
