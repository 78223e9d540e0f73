// Drives an nghttp2 session: reads, writes, keepalive, GOAWAY. Hot path; the listener's thread.
#include "transport/http2/connection.h"

#include <nghttp2/nghttp2.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"

#include "transport/loop/thread.h"

namespace serval {

namespace {

constexpr size_t kOutputBytes = 256 * 1024;        // collected before it is written
constexpr size_t kBlockedOutputBytes = 64 * 1024;  // with this much unwritten, nothing more is read
constexpr size_t kHeadRoomsMax = 32;
constexpr size_t kHeadRoomBytesMax = 4096;
constexpr uint64_t kShortPart = 16;  // per connection, while unread responses exceed their limit
constexpr uint64_t kSilentNsMax = 10'000 * kNsPerMs;
constexpr uint64_t kClosingNsMax = 1'000 * kNsPerMs;
constexpr uint64_t kDrainSilentNs = 1'000 * kNsPerMs;
constexpr uint64_t kLeaveNs = 5'000 * kNsPerMs;  // as grpc-go

// The payload of the ping after the first GOAWAY; keepalive pings are all zeros.
constexpr uint8_t kLeavePing[] = {'l', 'e', 'a', 'v', 'e', 0, 0, 1};

}  // namespace

Http2Connection::Http2Connection(ListenerThread& thread, std::unique_ptr<Channel> channel,
                                 uint64_t accepted_ns)
    : Connection(std::move(channel)),
      thread_(&thread),
      keepalive_(thread.settings(), thread.now(), thread.random()),
      handshake_until_ns_(after_ms(accepted_ns, thread.settings().handshake_ms_max)) {
  due_.connection = this;
}

Http2Connection::~Http2Connection() {
  while (streams_ != nullptr) {
    streams_->gone();
    drop_stream(streams_);
  }
  timers().clear(due_);
  if (output_ != nullptr) thread_->give_output(std::move(output_));
  if (session_ != nullptr) nghttp2_session_del(session_);
}

const TransportSettings& Http2Connection::settings() const { return thread_->settings(); }
CallHandler& Http2Connection::handler() { return thread_->calls(); }
HttpHandler& Http2Connection::requests() { return thread_->requests(); }
const std::shared_ptr<MemoryBudget>& Http2Connection::budget() { return thread_->budget(); }
uint64_t Http2Connection::stalled_ms() const { return thread_->stalled_ms(); }
BlockPool& Http2Connection::blocks() { return thread_->blocks(); }
Timers& Http2Connection::timers() { return thread_->timers(); }
uint64_t Http2Connection::now() const { return thread_->now(); }

bool Http2Connection::begin() {
  if (nghttp2_session_server_new2(&session_, thread_->callbacks(), this, thread_->options()) != 0) {
    return false;
  }
  const TransportSettings& limits = settings();
  const nghttp2_settings_entry entries[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.concurrent_streams_max},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.stream_window_bytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.header_bytes_max},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  };
  if (nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, entries, std::size(entries)) != 0 ||
      nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                            static_cast<int32_t>(limits.connection_window_bytes)) !=
          0) {
    return false;
  }
  set_timer();
  return true;
}

void Http2Connection::die() {
  if (dead_) return;
  dead_ = true;
  thread_->bury_later(*this);
}

void Http2Connection::touch() {
  if (dirty_ || dead_) return;
  dirty_ = true;
  thread_->later(*this);
}

void Http2Connection::readable() {
  if (dead_) return;
  if (closing_ || (held_ && reads_)) {
    touch();
    return;
  }
  held_ = false;  // the connection broke
  thread_->count_read(*this, receive());
}

void Http2Connection::writable() { touch(); }

void Http2Connection::start(std::span<const uint8_t> first) {
  touch();  // sends our SETTINGS
  if (!first.empty()) {
    received_any_ = true;
    keepalive_.received(now());
    if (!feed(first)) return;
  }
  if (channel_->has_unread()) thread_->read_again(*this);
}

// Hot path: receive for gRPC.
size_t Http2Connection::receive() {
  const size_t most = thread_->read_bytes_share();
  const std::span<uint8_t> buffer = thread_->read_buffer();
  const std::span<uint8_t> room = buffer.first(std::min(buffer.size(), most));
  size_t total = 0;
  while (total < most && !dead_ && !closing_) {
    const Moved moved = channel_->read(room);
    if (moved.state == Moved::State::Closed) {
      die();
      return total;
    }
    if (moved.state == Moved::State::Blocked) return total;
    received_any_ = true;
    keepalive_.received(now());
    total += moved.bytes;
    if (!feed(room.first(moved.bytes))) return total;
    if (moved.bytes < room.size() && !channel_->has_unread()) return total;
  }
  if (channel_->has_unread()) thread_->read_again(*this);
  return total;
}

bool Http2Connection::feed(std::span<const uint8_t> bytes) {
  const ssize_t taken = nghttp2_session_mem_recv(session_, bytes.data(), bytes.size());
  settle_all();
  touch();
  if (taken >= 0) return !closing_;
  if (closing_) return false;  // go_away() gave the reason
  // Sends the peer the reason for a protocol violation, as long as it reads.
  if (taken == NGHTTP2_ERR_FLOODED || taken == NGHTTP2_ERR_TOO_MANY_SETTINGS ||
      taken == NGHTTP2_ERR_CALLBACK_FAILURE) {
    nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
  } else if (taken != NGHTTP2_ERR_BAD_CLIENT_MAGIC) {
    nghttp2_session_terminate_session(session_, NGHTTP2_INTERNAL_ERROR);
  } else {
    nghttp2_session_terminate_session(session_, NGHTTP2_PROTOCOL_ERROR);
  }
  begin_closing();
  return false;
}

void Http2Connection::settle_all() {
  for (size_t i = 0; i < unsettled_.size(); ++i) unsettled_[i]->settle();
  unsettled_.clear();
}

// Serializes queued frames. False: the session failed.
bool Http2Connection::fill() {
  while (output_->bytes() < kOutputBytes) {
    const uint8_t* bytes = nullptr;
    const ssize_t count = nghttp2_session_mem_send(session_, &bytes);
    if (count < 0) return false;
    if (count == 0) return true;
    output_->add(bytes, static_cast<size_t>(count));
  }
  return true;
}

// Hot path: reply for gRPC. All that a turn made goes in few calls.
void Http2Connection::flush() {
  dirty_ = false;
  if (dead_) return;
  bool blocked = false;
  if (output_ == nullptr) output_ = thread_->take_output();
  for (;;) {
    if (!fill()) {
      die();
      return;
    }
    if (output_->empty()) break;
    const Moved::State moved = output_->write(*channel_, written_bytes_);
    if (moved == Moved::State::Closed) {
      die();
      return;
    }
    blocked = moved == Moved::State::Blocked;
    if (blocked) break;
  }
  const size_t waiting = output_->bytes();
  if (!blocked) thread_->give_output(std::move(output_));
  tell_left();
  if (dead_) return;
  // Nothing is read after the final GOAWAY.
  const bool reads = waiting < kBlockedOutputBytes && !closing_ && !held_;
  const bool waits_for_read = channel_->write_waits_for_read();
  interest(reads || waits_for_read, blocked && !waits_for_read);
  if (!blocked) close_when_done();
  set_timer();
}

void Http2Connection::close_when_done() {
  const bool ended =
      nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
  if (closing_ || ended || (leaving_ == Leaving::Said && streams_ == nullptr)) {
    channel_->shut_down();
    die();
  }
}

void Http2Connection::tell_left() {
  if (left_.empty()) return;
  std::vector<uint64_t> calls;
  calls.swap(left_);
  for (const uint64_t id : calls) {
    auto* stream = static_cast<CallStream*>(thread_->find(id));
    if (stream == nullptr) continue;
    const size_t messages = stream->take_left();
    if (messages > 0) handler().left(*stream, messages);
  }
}

void Http2Connection::interest(bool reads, bool writes) {
  if (reads == reads_ && writes == writes_) return;
  reads_ = reads;
  writes_ = writes;
  thread_->interest(*this, (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u));
}

bool Http2Connection::allow(Event event) {
  if (limiter_.allow(event, now())) return true;
  go_away(NGHTTP2_ENHANCE_YOUR_CALM, FrameLimiter::name_of(event));
  return false;
}

int Http2Connection::judge(StreamHistory::Verdict verdict) {
  switch (verdict) {
    case StreamHistory::Verdict::Fine: return 0;
    case StreamHistory::Verdict::Ended:
      return broken(NGHTTP2_STREAM_CLOSED, "HEADERS on a stream that the sender has ended");
    case StreamHistory::Verdict::Skipped: break;
  }
  return broken(NGHTTP2_PROTOCOL_ERROR, "a stream's number is below that of a later stream");
}

int Http2Connection::broken(uint32_t code, std::string_view why) {
  go_away(code, why);
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

void Http2Connection::begin_closing() {
  if (closing_) return;
  closing_ = true;
  closing_until_ns_ = now() + kClosingNsMax;
}

void Http2Connection::go_away(uint32_t code, std::string_view why) {
  if (closing_) return;
  begin_closing();
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), code,
                        reinterpret_cast<const uint8_t*>(why.data()), why.size());
  touch();
}

void Http2Connection::set_timer() {
  const uint64_t keepalive_ns = keepalive_.next_ns();
  const uint64_t due_ns = std::min({keepalive_ns, closing_until_ns_, leave_ns_,
                                    settings_came_ ? UINT64_MAX : handshake_until_ns_});
  if (due_ns == UINT64_MAX) timers().clear(due_);
  else if (due_.place == TimerNode::kOut || due_.due_ns != due_ns) timers().set(due_, due_ns);
}

void Http2Connection::due(uint64_t now_ns) {
  if (dead_) return;
  if (!settings_came_ && now_ns >= handshake_until_ns_) {
    die();
    return;
  }
  if (now_ns >= closing_until_ns_) {
    die();
    return;
  }
  if (now_ns >= leave_ns_) leave();
  switch (keepalive_.due(now_ns)) {
    case Keepalive::Due::Nothing: break;
    case Keepalive::Due::Ping:
      nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
      touch();
      break;
    case Keepalive::Due::Dead: die(); return;
    case Keepalive::Due::Retire: retire(false); break;
    case Keepalive::Due::Cut: cut(); break;
  }
  set_timer();
}

void Http2Connection::retire(bool stops) {
  if (dead_ || closing_) return;
  if (!received_any_) {
    die();
    return;
  }
  if (leaving_ == Leaving::No) {
    leaving_ = Leaving::Asked;
    leave_ns_ = std::min(now() + kLeaveNs, after_ms(now(), settings().keepalive_timeout_ms));
    nghttp2_submit_shutdown_notice(session_);
    touch();
  }
  if (!stops || stops_) return;
  stops_ = true;
  for (Http2Stream* stream = streams_; stream != nullptr;) {
    Http2Stream* following = stream->next;
    stream->drain();
    stream = following;
  }
}

void Http2Connection::went_away() {
  // Sent now and not with the GOAWAY, because nghttp2 would send the ping first.
  if (leaving_ != Leaving::Asked || closing_) return;
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, kLeavePing);
}

void Http2Connection::leave() {
  leave_ns_ = UINT64_MAX;
  if (leaving_ != Leaving::Asked || closing_) return;
  leaving_ = Leaving::Said;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  touch();
}

void Http2Connection::ping_answered(const uint8_t (&payload)[kPingBytes]) {
  keepalive_.ping_answered(now());
  if (std::equal(std::begin(payload), std::end(payload), kLeavePing)) leave();
}

void Http2Connection::look(bool idle, uint64_t now_ns) {
  if (dead_) return;
  if (!idle || seen_at_ns_ == 0 || written_bytes_ != seen_written_) {
    seen_written_ = written_bytes_;
    seen_at_ns_ = now_ns;
  } else if (now_ns - seen_at_ns_ >= kDrainSilentNs) {
    die();
  }
}

void Http2Connection::look_at_unsent(bool too_many, uint64_t now_ns) {
  if (!too_many || unsent_bytes_ == 0 || seen_at_ns_ == 0 || written_bytes_ != seen_written_) {
    seen_written_ = written_bytes_;
    seen_at_ns_ = too_many ? now_ns : 0;
  } else if (now_ns - seen_at_ns_ >= kSilentNsMax) {
    die();
  }
}

uint32_t Http2Connection::waiting_calls() const {
  uint32_t calls = 0;
  for (const Http2Stream* stream = streams_; stream != nullptr; stream = stream->next) {
    calls += stream->waits_for_handler();
  }
  return calls;
}

uint64_t Http2Connection::cut() {
  const uint64_t calls = waiting_calls();
  for (Http2Stream* stream = streams_; stream != nullptr;) {
    Http2Stream* following = stream->next;
    stream->cut();
    stream = following;
  }
  closing_ = true;
  flush();
  die();
  return calls;
}

bool Http2Connection::can_move() const {
  if (dead_ || closing_ || dirty_ || !settings_came_ || leaving_ != Leaving::No) return false;
  if (output_ != nullptr || unsent_bytes_ > 0 || !left_.empty() || !unsettled_.empty())
    return false;
  for (const Http2Stream* stream = streams_; stream != nullptr; stream = stream->next) {
    if (!stream->can_move()) return false;
  }
  return true;
}

// Holding helps if all other streams only wait for their responses.
void Http2Connection::hold_reading(bool holds) {
  if (dead_ || held_ == holds) return;
  for (const Http2Stream* stream = streams_; holds && stream != nullptr; stream = stream->next) {
    if (!stream->can_move() && stream->needs_reset()) return;
  }
  held_ = holds;
  if (!holds) thread_->read_again(*this);
  touch();
}

void Http2Connection::leave_thread() {
  timers().clear(due_);
  for (Http2Stream* stream = streams_; stream != nullptr; stream = stream->next) {
    if (NumberedCall* call = stream->moving_call(); call != nullptr) thread_->remove_call(*call);
  }
}

void Http2Connection::enter_thread(ListenerThread& thread) {
  thread_ = &thread;
  held_ = false;
  reads_ = true;
  writes_ = false;
  for (Http2Stream* stream = streams_; stream != nullptr; stream = stream->next) {
    if (NumberedCall* call = stream->moving_call(); call != nullptr) thread_->add_call(*call);
  }
  set_timer();
}

std::string Http2Connection::too_much_unsent() const {
  if (!thread_->too_much_unsent() || unsent_bytes_ <= settings().unsent_bytes_max / kShortPart) {
    return {};
  }
  return std::to_string(unsent_bytes_) +
         " bytes of unread responses are pending on this connection";
}

void Http2Connection::unsent_changed(int64_t bytes) {
  if (bytes == 0) return;
  unsent_bytes_ += static_cast<uint64_t>(bytes);
  thread_->unsent_changed(bytes);
}

void Http2Connection::call_begins(NumberedCall& call) {
  ++calls_;
  keepalive_.calls_changed(calls_, now());
  thread_->add_call(call);
}

void Http2Connection::call_ends(NumberedCall& call) {
  --calls_;
  keepalive_.calls_changed(calls_, now());
  thread_->remove_call(call);
}

void Http2Connection::consume(Http2Stream& stream, size_t bytes) {
  if (bytes == 0 || session_ == nullptr) return;
  nghttp2_session_consume_stream(session_, stream.number(), bytes);
  touch();
}

void Http2Connection::unpack(CallStream& stream, std::shared_ptr<Unpacking> message) {
  thread_->unpack(stream.id(), std::move(message));
}
void Http2Connection::resume_later(uint64_t call) { thread_->resume_later(call); }

void Http2Connection::resume_answers(Http2Stream& stream) {
  nghttp2_session_resume_data(session_, stream.number());
  touch();
}

HeadRoom Http2Connection::take_head_room() {
  if (head_rooms_.empty()) return {};
  HeadRoom room = std::move(head_rooms_.back());
  head_rooms_.pop_back();
  return room;
}

void Http2Connection::give_head_room(HeadRoom room) {
  if (head_rooms_.size() == kHeadRoomsMax || room.text.capacity() > kHeadRoomBytesMax) return;
  room.text.clear();
  room.headers.clear();
  head_rooms_.push_back(std::move(room));
}

void Http2Connection::link(Http2Stream* stream) {
  stream->next = streams_;
  if (streams_ != nullptr) streams_->previous = stream;
  streams_ = stream;
}

Http2Stream* Http2Connection::begin_stream(int32_t number) {
  std::unique_ptr<Http2Stream> made;
  if (settings().serves == Serves::Grpc) made = std::make_unique<CallStream>(*this, number);
  else made = std::make_unique<RequestStream>(*this, number);
  Http2Stream* stream = made.release();
  link(stream);
  return stream;
}

Http2Stream* Http2Connection::make_call(RequestStream& request) {
  Http2Stream* call = std::make_unique<CallStream>(*this, request.number()).release();
  link(call);
  request.each_header(
      [call](std::string_view name, std::string_view value) { call->add_header(name, value); });
  nghttp2_session_set_stream_user_data(session_, request.number(), call);
  drop_stream(&request);
  return call;
}

void Http2Connection::drop_stream(Http2Stream* stream) {
  if (stream->previous != nullptr) stream->previous->next = stream->next;
  else streams_ = stream->next;
  if (stream->next != nullptr) stream->next->previous = stream->previous;
  std::erase(unsettled_, stream);
  const std::unique_ptr<Http2Stream> gone(stream);
}

}  // namespace serval
