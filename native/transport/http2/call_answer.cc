// Implements the sending side of call_stream.h. Hot path; the listener's thread.
#include <algorithm>
#include <array>
#include <utility>

#include "transport/grpc/text.h"
#include "transport/http2/call_stream.h"
#include "transport/http2/connection.h"
#include "transport/loop/output.h"

namespace serval {

namespace {

constexpr size_t kCopiedBytesMax =
    4096;  // a message is copied up to here; above, its memory is taken over
constexpr size_t kPackedBytesMin = 256;  // shorter messages are not compressed
// a longer response does not go before the short ones of others
constexpr size_t kLongBytes = 65'536;

void put_prefix(uint8_t (&prefix)[5], bool packed, size_t bytes) {
  prefix[0] = packed ? 1 : 0;
  for (int i = 0; i < 4; ++i) prefix[1 + i] = static_cast<uint8_t>(bytes >> (24 - 8 * i));
}

}  // namespace

void CallStream::add_initial_metadata(std::string_view name, std::string_view value) {
  initial_.push_back({std::string(name), std::string(value)});
}

void CallStream::add_trailing_metadata(std::string_view name, std::string_view value) {
  trailing_.push_back({std::string(name), std::string(value)});
}

void CallStream::send_initial_metadata() {
  if (!over_) start_response(true);
}

// False: the call has ended.
bool CallStream::may_send(size_t bytes) {
  if (over_) return false;
  const uint64_t bytes_max = connection_.settings().send_bytes_max;
  if (bytes <= bytes_max) return true;
  fail(grpc_code::kResourceExhausted, "Sent message larger than max (" + std::to_string(bytes) +
                                          " vs. " + std::to_string(bytes_max) + ")");
  return false;
}

bool CallStream::send(std::span<const uint8_t> message) {
  if (!may_send(message.size())) return false;
  Block* block = connection_.blocks().take();
  if (head_.answer_coding != MessageCoding::Identity && message.size() >= kPackedBytesMin &&
      pack_message(head_.answer_coding, connection_.settings().compression_level, message,
                   block->buffer)) {
    return queue(block, true);
  }
  if (block->buffer.append(message.data(), message.size())) return queue(block, false);
  connection_.blocks().release(block);
  fail(grpc_code::kResourceExhausted,
       "no memory for a response of " + std::to_string(message.size()) + " bytes");
  return false;
}

bool CallStream::send(ByteBuffer& message) {
  const bool packs = head_.answer_coding != MessageCoding::Identity;
  if (message.size() <= kCopiedBytesMax || packs) return send(message.bytes());
  if (!may_send(message.size())) return false;
  Block* block = connection_.blocks().take();
  connection_.blocks().give_buffer(std::exchange(block->buffer, std::move(message)));
  message = connection_.blocks().take_buffer();
  return queue(block, false);
}

bool CallStream::queue(Block* block, bool packed) {
  OutMessage answer{block, {}, 0};
  put_prefix(answer.prefix, packed, block->buffer.size());
  answers_.push_back(answer);
  unsent_bytes_ += block->buffer.size();
  connection_.unsent_changed(static_cast<int64_t>(block->buffer.size()));
  if (kind_.server_streams) {
    start_response(true);
    resume();
  }
  return true;
}

void CallStream::resume() {
  if (!deferred_) return;
  deferred_ = false;
  connection_.resume_answers(*this);
}

void CallStream::start_response(bool with_data) {
  if (response_started_) return;
  response_started_ = true;
  const bool packs = head_.answer_coding != MessageCoding::Identity;
  connection_.submit_response(*this, initial_, packs ? name_of(head_.answer_coding) : "", with_data,
                              unsent_bytes_ >= kLongBytes);
}

void CallStream::finish(const CallStatus& status) {
  if (over_) return;
  status_ = status.code;
  if (!status.message.empty()) {
    status_message_ = cut_status_message(status.message, kStatusBytesMax, kStatusEncodedBytesMax);
  }
  status_details_ = status.details;
  finished_ = true;
  end_call();
  if (!response_started_ && unsent_messages() == 0) {
    response_started_ = true;
    connection_.submit_status(*this, true, initial_, trailing_, status_, status_message_,
                              status_details_);
    return;
  }
  start_response(true);
  resume();
}

bool CallStream::submit_trailers() {
  connection_.submit_status(*this, false, {}, trailing_, status_, status_message_, status_details_);
  return true;
}

void CallStream::tell_failed(int code, std::string_view message) {
  const std::string_view path = head_.found ? kind_.path : std::string_view(head_.path);
  connection_.handler().failed({begun_ ? this : nullptr, path, code, message});
}

void CallStream::fail(int code, std::string_view message) {
  if (over_) return;
  tell_failed(code, message);
  if (begun_) connection_.handler().closed(*this);
  // A status would wait after responses that the client does not read.
  const bool resets = response_started_ && unsent_messages() > 0;
  drop_answers();
  if (resets) {
    end_call();
    connection_.reset(*this, code == grpc_code::kResourceExhausted);
    return;
  }
  finish({code, message, {}});
}

void CallStream::drop_answers() {
  for (; first_answer_ < answers_.size(); ++first_answer_) {
    connection_.blocks().release(answers_[first_answer_].block);
  }
  connection_.unsent_changed(-static_cast<int64_t>(unsent_bytes_));
  unsent_bytes_ = 0;
}

// A request that is not a gRPC call gets a plain HTTP status; sent after its end, so that errors in
// the rest of it are still found.
void CallStream::refuse() {
  if (over_ || refused_ == nullptr) return;
  over_ = true;
  response_started_ = true;
  refusal_ = refused_->text;
  tell_failed(grpc_code::kInternal, refused_->text);
  connection_.submit_refusal(*this, *refused_, !head_.head);
}

std::string_view CallStream::take_refusal(size_t room) {
  const std::string_view part = refusal_.substr(0, room);
  refusal_.remove_prefix(part.size());
  return part;
}

size_t CallStream::ready(size_t room, bool& ends) {
  size_t bytes = 0;
  size_t i = first_answer_;
  for (; i < answers_.size() && bytes < room; ++i) bytes += answers_[i].bytes() - answers_[i].sent;
  ends = finished_ && i == answers_.size() && bytes <= room;
  return std::min(bytes, room);
}

// Hot path: reply for gRPC. Short answers are copied, long ones' memory is written from.
void CallStream::put(size_t count, Output& output) {
  while (count > 0 && first_answer_ < answers_.size()) {
    OutMessage& answer = answers_[first_answer_];
    if (answer.sent < sizeof answer.prefix) {
      const size_t part = std::min(count, sizeof answer.prefix - answer.sent);
      output.add(answer.prefix + answer.sent, part);
      answer.sent += part;
      count -= part;
    }
    ByteBuffer& content = answer.block->buffer;
    const size_t at = answer.sent - std::min(answer.sent, sizeof answer.prefix);
    const size_t part = std::min(count, content.size() - at);
    if (part > 0) {
      if (content.size() <= kCopiedBytesMax) output.add(content.data() + at, part);
      else output.add(answer.block, content.data() + at, part);
      answer.sent += part;
      count -= part;
    }
    if (answer.sent < answer.bytes()) break;
    unsent_bytes_ -= content.size();
    connection_.unsent_changed(-static_cast<int64_t>(content.size()));
    connection_.blocks().release(answer.block);
    ++first_answer_;
    ++left_;
  }
  if (first_answer_ == answers_.size()) {
    answers_.clear();
    first_answer_ = 0;
  }
}

size_t CallStream::take_left() {
  return over_ || !kind_.server_streams ? 0 : std::exchange(left_, 0);
}

}  // namespace serval
