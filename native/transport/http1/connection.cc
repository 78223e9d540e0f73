// Reads requests and writes responses on an HTTP/1 connection. Hot path; the listener's thread.
#include "transport/http1/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes/views.h"
#include "base/clock.h"
#include "transport/http1/answer.h"
#include "transport/loop/thread.h"

namespace serval {

namespace {

constexpr size_t kOutputBytes = 256 * 1024;        // with this much unwritten, no request is begun
constexpr size_t kBlockedOutputBytes = 64 * 1024;  // with this much unwritten, nothing is read
constexpr size_t kRequestsPerTurn = 32;            // per connection, while others wait
constexpr size_t kHeldBytesMax = 64 * 1024;        // of later requests, while one is in progress
// above, a response's memory is taken over instead of copied
constexpr size_t kCopiedBytesMax = 4096;
constexpr size_t kRequestLineRest = 32;           // bytes of a request line besides its target
constexpr uint64_t kDroppedBytesMax = 16u << 20;  // of a body whose request was already answered
constexpr uint64_t kLingerNs = 1'000 * kNsPerMs;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kJson = "application/json";

}  // namespace

Http1Connection::Http1Connection(ListenerThread& thread, std::unique_ptr<Channel> channel)
    : Connection(std::move(channel)), thread_(&thread), heard_ns_(thread.now()) {
  Connection::due_.connection = this;
}

Http1Connection::~Http1Connection() {
  die();
  thread_->timers().clear(Connection::due_);
  if (output_ != nullptr) thread_->give_output(std::move(output_));
  thread_->unsent_changed(-static_cast<int64_t>(unsent_bytes_));
  if (held_.base_bytes() > 0) thread_->blocks().give_buffer(std::move(held_));
}

bool Http1Connection::begin() {
  set_timer();
  return true;
}

void Http1Connection::die() {
  if (begun_ && !answered_) {
    answered_ = true;
    thread_->requests().closed(*this);
    thread_->remove_call(*this);
  }
  if (dead_) return;
  dead_ = true;
  thread_->bury_later(*this);
}

void Http1Connection::touch() {
  if (dirty_ || dead_) return;
  dirty_ = true;
  thread_->later(*this);
}

void Http1Connection::readable() {
  if (dead_) return;
  if (ended_ && !reads_) {  // reading is off, so this event means that the connection broke
    die();
    return;
  }
  if (held_.size() > held_at_) feed_held();
  thread_->count_read(*this, receive());
}

void Http1Connection::writable() { touch(); }

void Http1Connection::start(std::span<const uint8_t> first) {
  feed(first);
  if (!dead_ && channel_->has_unread()) thread_->read_again(*this);
}

// Hot path: receive.
size_t Http1Connection::receive() {
  const size_t most = thread_->read_bytes_max();
  const std::span<uint8_t> buffer = thread_->read_buffer();
  const std::span<uint8_t> room = buffer.first(std::min(buffer.size(), most));
  size_t total = 0;
  while (total < most && !dead_ && !ended_) {
    if (holds_enough() || (paused_ && !answered_)) {
      touch();
      return total;
    }
    const Moved moved = channel_->read(room);
    if (moved.state == Moved::State::Closed) {
      peer_ended();
      return total;
    }
    if (moved.state == Moved::State::Blocked) return total;
    heard_ns_ = thread_->now();
    total += moved.bytes;
    feed(room.first(moved.bytes));
    if (moved.bytes < room.size() && !channel_->has_unread()) return total;
  }
  if (!dead_ && channel_->has_unread()) thread_->read_again(*this);
  return total;
}

// Whether enough bytes of later requests are held while earlier ones are answered; then no more is
// read.
bool Http1Connection::holds_enough() const {
  return held_.size() - held_at_ > kHeldBytesMax + thread_->settings().header_bytes_max;
}

void Http1Connection::feed(std::span<const uint8_t> bytes) {
  if (phase_ == Phase::Closing) {
    dropped_bytes_ += bytes.size();
    if (dropped_bytes_ > kDroppedBytesMax) die();
    return;
  }
  if (held_.size() > held_at_) {
    if (hold(bytes)) feed_held();
    return;
  }
  const size_t used = take_in(bytes);
  if (!dead_ && phase_ != Phase::Closing && used < bytes.size()) hold(bytes.subspan(used));
}

void Http1Connection::feed_held() {
  held_at_ += take_in(held_.bytes().subspan(held_at_));
  if (held_at_ < held_.size() && phase_ != Phase::Closing) return;
  held_at_ = 0;
  thread_->blocks().give_buffer(std::exchange(held_, ByteBuffer()));
}

// False: out of memory; the connection closes.
bool Http1Connection::hold(std::span<const uint8_t> bytes) {
  if (held_.base_bytes() == 0) held_ = thread_->blocks().take_buffer();
  if (held_at_ > 0) {
    const size_t left = held_.size() - held_at_;
    std::memmove(held_.data(), held_.data() + held_at_, left);
    held_.truncate(left);
    held_at_ = 0;
  }
  if (held_.append(bytes.data(), bytes.size())) return true;
  refuse(503, "no memory for a request");
  return false;
}

// Hot path: receive.
size_t Http1Connection::take_in(std::span<const uint8_t> bytes) {
  size_t at = 0;
  size_t heads = 0;
  taking_ = true;
  while (at < bytes.size() && !dead_ && !(paused_ && !answered_)) {
    const std::span<const uint8_t> rest = bytes.subspan(at);
    size_t used = 0;
    if (phase_ == Phase::Head) {
      if (heads++ == kRequestsPerTurn) {
        thread_->read_again(*this);
        break;
      }
      awaits_output_ = output_ != nullptr && output_->bytes() > kOutputBytes;
      if (!awaits_output_) used = take_head(rest);
    } else if (phase_ == Phase::Body) {
      used = static_cast<size_t>(std::min<uint64_t>(rest.size(), body_left_));
      body_left_ -= used;
      deliver(rest.first(used), body_left_ == 0);
      if (body_left_ == 0 && phase_ == Phase::Body) request_ended();
    } else if (phase_ == Phase::Chunks) {
      used = take_chunks(rest);
    }
    if (used == 0) break;
    at += used;
  }
  taking_ = false;
  touch();
  return at;
}

size_t Http1Connection::take_head(std::span<const uint8_t> bytes) {
  if (head_began_ns_ == 0) head_began_ns_ = thread_->now();
  const LineScanner::Found found = scanner_.scan(bytes, LineScanner::Part::Head);
  const TransportSettings& limits = thread_->settings();
  if (scanner_.first_line_bytes() > limits.target_bytes_max + kRequestLineRest) {
    refuse(414,
           "the request line has more than " + std::to_string(limits.target_bytes_max) + " bytes");
    return bytes.size();
  }
  if (scanner_.bytes() > limits.header_bytes_max) {
    refuse(431, "the head has more than " + std::to_string(limits.header_bytes_max) + " bytes");
    return bytes.size();
  }
  if (found == LineScanner::Found::More) return 0;
  if (found == LineScanner::Found::Bad) {
    refuse(400, scanner_.problem());
    return bytes.size();
  }
  const size_t used = scanner_.bytes();
  const size_t skipped = scanner_.skipped();
  scanner_.reset();
  head_began_ns_ = 0;
  begin_request(text_of(bytes.subspan(skipped, used - skipped)));
  return used;
}

void Http1Connection::begin_request(std::string_view head) {
  is_head_ = head.substr(0, 5) == "HEAD ";
  ReadHead read;
  read.headers = &headers_;
  if (const HeadProblem problem = read_head(head, read); problem.status != 0) {
    refuse(problem.status, problem.reason, read.method, read.path);
    return;
  }
  method_ = read.method;
  path_ = read.path;
  query_ = read.query;
  stated_bytes_ = read.length;
  keeps_alive_ = read.keeps_alive;
  asks_keep_alive_ = read.asks_keep_alive;
  is_safe_ = is_head_ || method_ == "GET";
  expects_ = read.expects_continue && read.framing != BodyFraming::None;
  state = nullptr;
  word = 0;
  dropped_bytes_ = 0;
  paused_ = false;
  begun_ = true;
  had_request_ = true;
  answered_ = false;
  phase_ = read.framing == BodyFraming::Chunks ? Phase::Chunks : Phase::Body;
  body_left_ = read.length;
  if (phase_ == Phase::Chunks) chunks_.begin(*this);
  thread_->add_call(*this);
  thread_->requests().begin(*this);
  if (read.framing != BodyFraming::None || phase_ == Phase::Closing) return;
  deliver({}, true);
  request_ended();
}

void Http1Connection::deliver(std::span<const uint8_t> bytes, bool last) {
  if (!answered_) {
    thread_->requests().data(*this, bytes, last);
    return;
  }
  dropped_bytes_ += bytes.size();
  if (dropped_bytes_ > kDroppedBytesMax) begin_closing(true);
}

bool Http1Connection::chunk_data(std::span<const uint8_t> bytes) {
  deliver(bytes, false);
  return !dead_ && phase_ == Phase::Chunks;
}

size_t Http1Connection::take_chunks(std::span<const uint8_t> bytes) {
  const ChunkReader::Outcome outcome = chunks_.read(bytes);
  switch (outcome.state) {
    case ChunkReader::State::More:
    case ChunkReader::State::Stopped: break;
    case ChunkReader::State::Bad: refuse(outcome.status, outcome.reason); break;
    case ChunkReader::State::Done:
      deliver({}, true);
      if (phase_ == Phase::Chunks) request_ended();
      break;
  }
  return outcome.used;
}

// The whole request has been received.
void Http1Connection::request_ended() {
  if (answered_) end_request();
  else phase_ = Phase::Waiting;
}

// The request has been received and answered.
void Http1Connection::end_request() {
  begun_ = false;
  if (phase_ == Phase::Closing) return;
  if (!keeps_alive_ || leaving_ || ended_) {
    begin_closing(false);
    return;
  }
  phase_ = Phase::Head;
  heard_ns_ = thread_->now();
  if (!taking_ && held_.size() > held_at_) thread_->read_again(*this);
}

// Hot path: reply.
void Http1Connection::send(const HttpAnswer& answer) {
  if (answered_ || dead_) return;
  answered_ = true;
  thread_->remove_call(*this);
  if (expects_ || leaving_) keeps_alive_ = false;
  put(answer);
  if (phase_ == Phase::Waiting) end_request();
  touch();
}

void Http1Connection::put(const HttpAnswer& answer) {
  static thread_local std::string text;
  text.clear();
  const SaidOfConnection said = !keeps_alive_      ? SaidOfConnection::Close
                                : asks_keep_alive_ ? SaidOfConnection::KeepAlive
                                                   : SaidOfConnection::Nothing;
  append_answer_head(text, answer.status, answer.content_type, answer.headers, answer.body.size(),
                     said, thread_->settings().idle_ms / 1000);
  if (!waits_to_write()) written_ns_ = thread_->now();
  if (output_ == nullptr) output_ = thread_->take_output();
  const bool has_body = !is_head_ && answer.status != 204 && answer.status != 304;
  if (has_body && answer.body.size() <= kCopiedBytesMax) text += text_of(answer.body);
  output_->add(bytes_of(text).data(), text.size());
  if (!has_body || answer.body.size() <= kCopiedBytesMax) return;
  Block* block = thread_->blocks().take();
  if (answer.owned != nullptr) {
    thread_->blocks().give_buffer(std::exchange(block->buffer, std::move(*answer.owned)));
    *answer.owned = thread_->blocks().take_buffer();
  }
  // A response that exists is sent even if the budget has no room for another copy.
  if (answer.owned != nullptr || block->buffer.append(answer.body.data(), answer.body.size())) {
    output_->add(block, block->buffer.data(), block->buffer.size());
  } else {
    output_->add(answer.body.data(), answer.body.size());
  }
  thread_->blocks().release(block);
  count_unsent();
}

void Http1Connection::refuse(int status, std::string_view reason, std::string_view method,
                             std::string_view path) {
  if (dead_ || phase_ == Phase::Closing) return;
  const bool was_answered = begun_ && answered_;
  if (begun_ && !answered_) {
    answered_ = true;
    thread_->requests().closed(*this);
    thread_->remove_call(*this);
  }
  begun_ = false;
  if (!was_answered) {
    thread_->requests().refused({status, reason, method, path});
    keeps_alive_ = false;
    const std::string body = error_json(reason);
    put({status, kJson, {}, bytes_of(body), nullptr});
  }
  begin_closing(true);
}

void Http1Connection::begin_closing(bool lingers) {
  if (phase_ == Phase::Closing) return;
  // Closing with unread bytes would cut the client off from its response (RFC 9112 9.6).
  lingers_ = lingers || held_.size() > held_at_ || body_left_ > 0;
  phase_ = Phase::Closing;
  dropped_bytes_ = 0;
  closing_until_ns_ = thread_->now() + kLingerNs;
  touch();
}

void Http1Connection::peer_ended() {
  // A client that half-closes still gets the response to a GET or HEAD; after any other request it
  // is considered gone, as in nginx.
  const bool is_answered = phase_ == Phase::Closing || phase_ == Phase::Head;
  if (!(phase_ == Phase::Waiting && is_safe_) && !(is_answered && waits_to_write())) {
    die();
    return;
  }
  ended_ = true;
  keeps_alive_ = false;
  if (phase_ == Phase::Head) begin_closing(false);
  touch();
}

// Hot path: reply. Everything that one iteration produced is written in few system calls.
void Http1Connection::flush() {
  dirty_ = false;
  if (dead_) return;
  blocked_ = false;
  if (output_ != nullptr) {
    const uint64_t before = written_bytes_;
    const Moved::State moved = output_->write(*channel_, written_bytes_);
    if (moved == Moved::State::Closed) {
      die();
      return;
    }
    if (written_bytes_ != before) written_ns_ = thread_->now();
    blocked_ = moved == Moved::State::Blocked;
    if (!blocked_) thread_->give_output(std::move(output_));
  }
  count_unsent();
  if (phase_ == Phase::Closing && !blocked_) {
    if (!lingers_ || ended_) {
      channel_->shut_down();
      die();
      return;
    }
    if (!shut_) {
      shut_ = true;
      channel_->shut_down();
      ::shutdown(channel_->socket(), SHUT_WR);
      closing_until_ns_ = thread_->now() + kLingerNs;
    }
  }
  // Reads on even if no write blocked: the first write may have sent everything.
  if (!blocked_ && std::exchange(awaits_output_, false)) thread_->read_again(*this);
  const bool full = holds_enough() || (paused_ && !answered_) ||
                    (blocked_ && output_->bytes() > kBlockedOutputBytes);
  const bool waits_for_read = blocked_ && channel_->write_waits_for_read();
  const bool reads = (!full && !ended_) || waits_for_read;
  if (reads && !reads_ && channel_->has_unread()) thread_->read_again(*this);
  interest(reads, blocked_ && !waits_for_read);
  set_timer();
}

void Http1Connection::count_unsent() {
  const uint64_t now_unsent = output_ == nullptr ? 0 : output_->bytes();
  if (now_unsent == unsent_bytes_) return;
  thread_->unsent_changed(static_cast<int64_t>(now_unsent) - static_cast<int64_t>(unsent_bytes_));
  unsent_bytes_ = now_unsent;
}

void Http1Connection::interest(bool reads, bool writes) {
  if (reads == reads_ && writes == writes_) return;
  reads_ = reads;
  writes_ = writes;
  thread_->interest(*this, (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u));
}

uint64_t Http1Connection::cut() {
  const uint64_t calls = waiting_calls();
  flush();
  die();
  return calls;
}

bool Http1Connection::can_move() const {
  if (dead_ || dirty_ || leaving_ || ended_ || begun_ || phase_ != Phase::Head) return false;
  return head_began_ns_ == 0 && held_.base_bytes() == 0 && output_ == nullptr && unsent_bytes_ == 0;
}

void Http1Connection::leave_thread() { thread_->timers().clear(Connection::due_); }

void Http1Connection::enter_thread(ListenerThread& thread) {
  thread_ = &thread;
  reads_ = true;
  writes_ = false;
  set_timer();
}

uint32_t Http1Connection::waiting_calls() const {
  return phase_ == Phase::Waiting && !answered_ ? 1 : 0;
}

bool Http1Connection::is_local() const {
  if (local_ < 0) local_ = channel_->is_local() ? 1 : 0;
  return local_ == 1;
}

void Http1Connection::want_body() {
  if (answered_ || !expects_) return;
  expects_ = false;
  if (!waits_to_write()) written_ns_ = thread_->now();
  if (output_ == nullptr) output_ = thread_->take_output();
  output_->add(bytes_of(kContinue).data(), kContinue.size());
  touch();
}

void Http1Connection::set_paused(bool paused) {
  if (answered_ || paused_ == paused) return;
  paused_ = paused;
  touch();
  if (!paused) thread_->read_again(*this);
}

}  // namespace serval
