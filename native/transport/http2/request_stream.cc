// Implements HTTP requests on HTTP/2 streams. Hot path; the listener's thread.
#include "transport/http2/request_stream.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/bytes/views.h"
#include "base/memory_budget.h"
#include "transport/grpc/text.h"
#include "transport/http2/connection.h"
#include "transport/loop/output.h"

namespace serval {

namespace {

constexpr size_t kHeaderOverheadBytes = 32;  // RFC 9113 6.5.2
constexpr size_t kHeadBytes = 512;           // capacity that is enough for most heads
// above, a response's memory is taken over instead of copied
constexpr size_t kCopiedBytesMax = 4096;
// with less budget left, stalled clients are cut sooner
constexpr uint64_t kScarceBytes = 64u << 20;
constexpr std::string_view kJson = "application/json";

}  // namespace

RequestStream::RequestStream(Http2Connection& connection, int32_t number)
    : Http2Stream(connection, number) {
  due_.connection = &connection;
  due_.call = this;
  HeadRoom room = connection.take_head_room();
  text_ = std::move(room.text);
  headers_ = std::move(room.headers);
}

RequestStream::~RequestStream() {
  connection_.timers().clear(due_);
  give_held();
  connection_.give_head_room({std::move(text_), std::move(headers_)});
  if (body_ == nullptr) return;
  connection_.unsent_changed(-static_cast<int64_t>(body_->buffer.size()));
  connection_.blocks().release(body_);
}

// Hot path: receive.
void RequestStream::add_header(std::string_view name, std::string_view value) {
  head_bytes_ += name.size() + value.size() + kHeaderOverheadBytes;
  if (name == ":path") target_bytes_ = value.size();
  if (head_ended_ || head_bytes_ > connection_.settings().header_bytes_max) return;
  const size_t bytes = text_.size() + name.size() + value.size();
  if (bytes > text_.capacity()) {
    // Adjusts the views after the text has moved.
    const char* before = text_.data();
    text_.reserve(std::max(kHeadBytes, 2 * bytes));
    const auto moved = [&](std::string_view view) {
      return std::string_view(text_.data() + (view.data() - before), view.size());
    };
    for (HttpHeader& one : headers_) one = {moved(one.name), moved(one.value)};
  }
  const char* at = text_.data() + text_.size();
  text_.append(name).append(value);
  headers_.push_back({{at, name.size()}, {at + name.size(), value.size()}});
}

bool RequestStream::is_call() const {
  return !head_ended_ && connection_.settings().serves == Serves::Both &&
         is_grpc_type(header("content-type"));
}

// Hot path: receive.
void RequestStream::head_ended() {
  if (head_ended_) return;  // these are trailers
  head_ended_ = true;
  moved_ns_ = connection_.now();
  if (HeadProblem problem = read_head(); problem.status != 0) {
    refuse(problem.status, problem.reason);
    return;
  }
  begun_ = true;
  connection_.call_begins(*this);
  settle_later();
  connection_.requests().begin(*this);
}

HeadProblem RequestStream::read_head() {
  const TransportSettings& limits = connection_.settings();
  if (target_bytes_ > limits.target_bytes_max) {
    return {414, "the target has more than " + std::to_string(limits.target_bytes_max) + " bytes"};
  }
  if (head_bytes_ > limits.header_bytes_max) {
    return {431, "the head has more than " + std::to_string(limits.header_bytes_max) + " bytes"};
  }
  std::string_view path, authority;
  size_t kept = 0;
  for (const HttpHeader& one : headers_) {
    if (one.name == ":method") method_ = one.value;
    else if (one.name == ":path") path = one.value;
    else if (one.name == ":authority") authority = one.value;
    else if (one.name[0] != ':') headers_[kept++] = one;
  }
  headers_.resize(kept);
  if (HeadProblem problem = read_method(method_); problem.status != 0) return problem;
  if (!std::all_of(path.begin(), path.end(), [](char one) { return one > ' ' && one <= '~'; })) {
    return {400, "expected a path of printable ASCII, got " + quoted(path)};
  }
  Target target;
  if (HeadProblem problem = read_target(method_, path, target); problem.status != 0) {
    return problem;
  }
  path_ = target.path;
  query_ = target.query;
  if (!target.authority.empty()) return {400, "expected a path, got " + quoted(path)};
  const std::string_view host = header("host");
  if (!authority.empty() && !host.empty() && host != authority) {
    return {400, "Host: expected the request's authority, got " + quoted(host)};
  }
  if (!authority.empty() && host.empty()) headers_.push_back({"host", authority});
  if (HeadProblem problem = check_host(headers_, false, authority); problem.status != 0) {
    return problem;
  }
  const std::string_view length = header("content-length");
  std::from_chars(length.data(), length.data() + length.size(), stated_bytes_);
  if (const std::string_view expects = header("expect"); !expects.empty()) {
    if (!is_header(expects, "100-continue")) {
      return {417, "Expect: expected 100-continue, got " + quoted(expects)};
    }
    expects_ = true;
  }
  if (!connection_.takes_calls()) return {503, "the server is shutting down"};
  if (std::string why = connection_.too_much_unsent(); !why.empty()) return {503, why};
  return {};
}

// Answers a request that never reaches the handler.
void RequestStream::refuse(int status, std::string_view reason) {
  over_ = true;
  connection_.requests().refused({status, reason, method_, path_});
  const std::string body = error_json(reason);
  put_answer({status, kJson, {}, bytes_of(body), nullptr});
}

// Hot path: receive. The last piece and the end of the request are one call.
void RequestStream::data(std::span<const uint8_t> bytes) {
  if (over_ || !begun_) {
    connection_.consume(*this, bytes.size());
    return;
  }
  moved_ns_ = connection_.now();
  if (!pending_.empty()) {
    const std::span<const uint8_t> before = std::exchange(pending_, {});
    if (paused_ || held_.size() > 0) hold(before);
    else deliver(before, false);
  }
  if (over_) {
    connection_.consume(*this, bytes.size());
  } else if (paused_ || held_.size() > 0) {
    hold(bytes);
  } else {
    settle_later();
    pending_ = bytes;
  }
}

void RequestStream::settle_later() {
  if (unsettled_) return;
  unsettled_ = true;
  connection_.settle_later(*this);
}

void RequestStream::settle() {
  unsettled_ = false;
  if (over_) return;
  if (!pending_.empty()) {
    const std::span<const uint8_t> bytes = std::exchange(pending_, {});
    if (paused_ || held_.size() > 0) hold(bytes);
    else deliver(bytes, false);
  }
  if (!over_ && !remote_ended_) watch();
}

void RequestStream::end_stream() {
  remote_ended_ = true;
  if (over_ || !begun_) return;
  const std::span<const uint8_t> bytes = std::exchange(pending_, {});
  if (!paused_ && held_.size() == 0) deliver(bytes, true);
  else if (!bytes.empty()) hold(bytes);
}

void RequestStream::deliver(std::span<const uint8_t> bytes, bool last) {
  connection_.consume(*this, bytes.size());
  input_done_ = last;
  connection_.requests().data(*this, bytes, last);
}

// Held bytes count in the stream's window, so the client sends no more than the window.
void RequestStream::hold(std::span<const uint8_t> bytes) {
  if (held_.base_bytes() == 0) held_ = connection_.blocks().take_buffer();
  if (held_.append(bytes.data(), bytes.size())) return;
  connection_.consume(*this, bytes.size());
  connection_.requests().closed(*this);
  end_request();
  refuse(503, "no memory for a request");
}

void RequestStream::take_held() {
  if (taking_ || over_ || paused_ || input_done_) return;
  taking_ = true;
  if (held_.size() > 0) {
    ByteBuffer held = std::exchange(held_, ByteBuffer());
    deliver(held.bytes(), remote_ended_);
    connection_.blocks().give_buffer(std::move(held));
  } else if (remote_ended_) {
    deliver({}, true);
  }
  taking_ = false;
}

void RequestStream::give_held() {
  if (held_.base_bytes() == 0) return;
  connection_.consume(*this, held_.size());
  connection_.blocks().give_buffer(std::exchange(held_, ByteBuffer()));
}

void RequestStream::set_paused(bool paused) {
  if (over_ || paused_ == paused) return;
  paused_ = paused;
  if (!paused) connection_.resume_later(id());
}

void RequestStream::resume_taking() {
  moved_ns_ = connection_.now();
  take_held();
}

void RequestStream::want_body() {
  if (over_ || !expects_ || remote_ended_) return;
  expects_ = false;
  connection_.submit_continue(*this);
}

bool RequestStream::is_local() const { return connection_.channel().is_local(); }

// The handler no longer references the request.
void RequestStream::end_request() {
  over_ = true;
  connection_.call_ends(*this);
  pending_ = {};
  give_held();
}

// Hot path: reply.
void RequestStream::send(const HttpAnswer& answer) {
  if (over_) return;
  end_request();
  put_answer(answer);
}

void RequestStream::put_answer(const HttpAnswer& answer) {
  const bool with_body =
      method_ != "HEAD" && answer.status != 204 && answer.status != 304 && !answer.body.empty();
  if (!with_body) {
    connection_.submit_answer(*this, answer, false);
    return;
  }
  Block* block = connection_.blocks().take();
  if (answer.owned != nullptr && answer.body.size() > kCopiedBytesMax) {
    connection_.blocks().give_buffer(std::exchange(block->buffer, std::move(*answer.owned)));
    *answer.owned = connection_.blocks().take_buffer();
  } else if (!block->buffer.append(answer.body.data(), answer.body.size())) {
    connection_.blocks().release(block);
    connection_.reset(*this, true);
    return;
  }
  body_ = block;
  connection_.unsent_changed(static_cast<int64_t>(block->buffer.size()));
  connection_.submit_answer(*this, answer, true);
  moved_ns_ = connection_.now();
  watch();
}

size_t RequestStream::ready(size_t room, bool& ends) {
  const size_t left = body_ == nullptr ? 0 : body_->buffer.size() - sent_;
  ends = left <= room;
  return std::min(left, room);
}

// Hot path: reply. Short answers are copied, long ones' memory is written from.
void RequestStream::put(size_t count, Output& output) {
  if (body_ == nullptr) return;
  const ByteBuffer& content = body_->buffer;
  if (content.size() <= kCopiedBytesMax) output.add(content.data() + sent_, count);
  else output.add(body_, content.data() + sent_, count);
  sent_ += count;
  moved_ns_ = connection_.now();
  if (sent_ < content.size()) return;
  connection_.unsent_changed(-static_cast<int64_t>(content.size()));
  connection_.blocks().release(std::exchange(body_, nullptr));
  connection_.timers().clear(due_);
}

// A timer that fires early costs nothing: it is set again then.
void RequestStream::watch() {
  if (due_.place == TimerNode::kOut) {
    connection_.timers().set(due_, after_ms(connection_.now(), connection_.settings().idle_ms));
  }
}

void RequestStream::deadline_passed() {
  const bool comes = begun_ && !over_ && !remote_ended_;
  if (!comes && body_ == nullptr) return;
  const TransportSettings& limits = connection_.settings();
  const MemoryBudget& budget = *connection_.budget();
  const uint64_t used = budget.used();
  const bool scarce = used >= budget.limit() || budget.limit() - used < kScarceBytes;
  const uint64_t ms = scarce ? limits.idle_ms : limits.stalled_ms;
  if ((comes && paused_) || connection_.now() < after_ms(moved_ns_, ms)) {
    watch();
  } else if (comes) {
    connection_.requests().closed(*this);
    end_request();
    refuse(408, "no data of the body arrived for too long");
  } else {
    connection_.reset(*this, false);
  }
}

void RequestStream::gone() {
  if (begun_ && !over_) {
    connection_.requests().closed(*this);
    end_request();
  }
  over_ = true;
}

void RequestStream::cut() {
  if (begun_ && !over_) {
    gone();
    connection_.reset(*this, false);
  }
}

}  // namespace serval
