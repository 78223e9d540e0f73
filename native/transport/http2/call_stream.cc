// Implements the receiving side of call_stream.h. Hot path; the listener's thread.
#include "transport/http2/call_stream.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "transport/grpc/text.h"
#include "transport/http2/connection.h"

namespace serval {

namespace {

constexpr size_t kHeadOverheadBytes = 32;    // RFC 9113 6.5.2
constexpr size_t kRefusedBytesMax = 65'536;  // of a request that is not a call
// Messages up to this size, compressed and decompressed, are decompressed on the listener's thread:
// 0.1 ms.
constexpr size_t kHereBytesMax = 16 * 1024;
constexpr size_t kHereUnpackedMax = 64 * 1024;
constexpr Refusal kNoPost{"405", "POST", "This port serves gRPC, whose calls are POST requests.\n"};
constexpr Refusal kNoGrpc{
    "415", "", "This port serves gRPC, whose calls have the content type application/grpc.\n"};

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string digits(uint64_t value) { return std::to_string(value); }

}  // namespace

CallStream::CallStream(Http2Connection& connection, int32_t number)
    : Http2Stream(connection, number) {
  due_.connection = &connection;
  due_.call = this;
}

CallStream::~CallStream() {
  drop_answers();
  if (has_body_) give_body();
  connection_.timers().clear(due_);
}

// Hot path: receive for gRPC.
void CallStream::add_header(std::string_view name, std::string_view value) {
  head_.bytes += name.size() + value.size() + kHeadOverheadBytes;
  if (head_ended_ || head_.bytes > connection_.settings().header_bytes_max) return;
  if (name == ":path") {
    const std::optional<MethodKind> kind = connection_.handler().find(value);
    head_.found = kind.has_value();
    if (kind.has_value()) {
      kind_ = *kind;
      method_ = kind->method;
    } else {
      head_.path = value;
    }
  } else if (name == ":method") {
    head_.post = value == "POST";
    head_.head = value == "HEAD";
  } else if (name == "content-type") {
    head_.grpc = is_grpc_type(value);
  } else if (name == "grpc-timeout") {
    const std::optional<uint64_t> timeout_ns = parse_timeout_ns(value);
    head_.timeout_bad = !timeout_ns.has_value();
    if (timeout_ns.has_value())
      deadline_ns_ = connection_.now() + std::max<uint64_t>(*timeout_ns, 1);
  } else if (name == "grpc-encoding") {
    const std::optional<MessageCoding> coding = coding_named(value);
    head_.known = coding.has_value();
    if (coding.has_value()) head_.coding = *coding;
    else head_.coding_name = value;
  } else if (name == "grpc-accept-encoding") {
    if (connection_.settings().compression_level > 0) head_.answer_coding = best_coding(value);
  } else if (name[0] != ':' && name != "te" && name != "user-agent" &&
             !starts_with(name, "grpc-")) {
    head_.metadata.append(name).append(1, '\0').append(value).append(1, '\0');
  }
}

void CallStream::head_ended() {
  if (head_ended_) return;  // these are trailers
  head_ended_ = true;
  if (head_.bytes > connection_.settings().header_bytes_max) {
    fail(grpc_code::kResourceExhausted,
         "request headers of " + digits(head_.bytes) + " bytes are over the limit of " +
             digits(connection_.settings().header_bytes_max) + " bytes");
  } else if (!head_.post) {
    refused_ = &kNoPost;
  } else if (!head_.grpc) {
    refused_ = &kNoGrpc;
  } else if (!head_.found) {
    fail(grpc_code::kUnimplemented, "The server does not implement the method " + head_.path);
  } else if (head_.timeout_bad) {
    fail(grpc_code::kInternal, "Invalid grpc-timeout value");
  } else if (!connection_.takes_calls()) {
    fail(grpc_code::kUnavailable, "the server is shutting down");
  } else if (std::string why = connection_.too_much_unsent(); !why.empty()) {
    fail(grpc_code::kResourceExhausted, why);
  } else {
    begun_ = true;
    connection_.call_begins(*this);
    connection_.handler().begin(*this);
    if (connection_.stops()) drain();
  }
}

void CallStream::data(std::span<const uint8_t> bytes) {
  if (over_ || !begun_) {
    connection_.consume(*this, bytes.size());
    refused_bytes_ += bytes.size();
    if (refused_bytes_ > kRefusedBytesMax) refuse();
    return;
  }
  if (blocked() || held_.size() > 0) {
    if (held_.base_bytes() == 0) held_ = connection_.blocks().take_buffer();
    if (!held_.append(bytes.data(), bytes.size())) {
      fail(grpc_code::kResourceExhausted, "no memory for waiting messages");
    }
    return;
  }
  connection_.consume(*this, bytes.size());
  take_in(bytes);
}

// Cuts bytes into messages, until there are no more or no more may be delivered.
void CallStream::take_in(std::span<const uint8_t> bytes) {
  taking_ = true;
  while (!over_) {
    if (blocked()) {
      if (bytes.empty()) break;
      if (held_.base_bytes() == 0) held_ = connection_.blocks().take_buffer();
      if (!held_.append(bytes.data(), bytes.size())) {
        fail(grpc_code::kResourceExhausted, "no memory for waiting messages");
      }
      break;
    }
    if (prefix_bytes_ < sizeof prefix_) {
      if (bytes.empty()) break;
      const size_t count = std::min(bytes.size(), sizeof prefix_ - prefix_bytes_);
      std::copy_n(bytes.data(), count, prefix_ + prefix_bytes_);
      prefix_bytes_ += count;
      bytes = bytes.subspan(count);
      if (prefix_bytes_ < sizeof prefix_ || !begin_message(bytes.size())) continue;
    }
    if (!has_body_) {  // the whole message is at hand, uncompressed
      const std::span<const uint8_t> message = bytes.first(message_bytes_);
      bytes = bytes.subspan(message_bytes_);
      message_whole(message, false);
      continue;
    }
    const size_t count = std::min(bytes.size(), message_bytes_ - body_.size());
    if (!body_.append(bytes.data(), count)) {
      fail(grpc_code::kResourceExhausted,
           "no memory for a message of " + digits(message_bytes_) + " bytes");
      break;
    }
    bytes = bytes.subspan(count);
    if (body_.size() < message_bytes_) break;
    if (prefix_[0] == 1) begin_unpack();
    else message_whole(body_.bytes(), true);
  }
  taking_ = false;
}

// Reads the five bytes before a message. False: the call is over.
bool CallStream::begin_message(size_t at_hand) {
  message_bytes_ = static_cast<size_t>(prefix_[1]) << 24 | static_cast<size_t>(prefix_[2]) << 16 |
                   static_cast<size_t>(prefix_[3]) << 8 | prefix_[4];
  const uint64_t bytes_max = connection_.settings().receive_bytes_max;
  if (prefix_[0] > 1) {
    fail(grpc_code::kInternal,
         "Unknown compressed flag " + digits(prefix_[0]) + " before a message");
  } else if (prefix_[0] == 1 && !head_.known) {
    fail(grpc_code::kUnimplemented,
         "Received message compressed with unsupported encoding \"" + head_.coding_name + "\"");
  } else if (prefix_[0] == 1 && head_.coding == MessageCoding::Identity) {
    fail(grpc_code::kInternal, "Received a compressed message, and no grpc-encoding");
  } else if (message_bytes_ > bytes_max) {
    fail(grpc_code::kResourceExhausted, "Received message larger than max (" +
                                            digits(message_bytes_) + " vs " + digits(bytes_max) +
                                            ")");
  } else if (!kind_.client_streams && messages_ > 0) {
    fail(grpc_code::kUnimplemented,
         "Received a second request message for unary method " + std::string(kind_.path));
  } else if (prefix_[0] == 1 || at_hand < message_bytes_) {
    body_ = connection_.blocks().take_buffer();
    has_body_ = true;
    // Aligns the message's end: clients write large tensors last, and aligned bytes need not be
    // copied.
    body_.clear(message_bytes_);
    // Trusts the stated length: a message that the budget has no space for is refused before it
    // arrives.
    if (!body_.reserve(message_bytes_)) {
      fail(grpc_code::kResourceExhausted,
           "no memory for a message of " + digits(message_bytes_) + " bytes");
    }
  }
  return !over_;
}

void CallStream::begin_unpack() {
  const Coding coding = head_.coding == MessageCoding::Gzip ? Coding::Gzip : Coding::Deflate;
  const TransportSettings& limits = connection_.settings();
  has_body_ = false;
  unpacking_ =
      std::make_shared<Unpacking>(connection_.budget(), coding, std::exchange(body_, ByteBuffer()),
                                  connection_.blocks().take_buffer(),
                                  std::min(limits.receive_bytes_max, limits.inflated_bytes_max));
  if (unpacking_->packed().size() <= kHereBytesMax) unpacking_->step(kHereUnpackedMax);
  if (unpacking_->ended()) end_unpack();
  else connection_.unpack(*this, unpacking_);
}

// The message was decompressed, or decompression failed.
void CallStream::end_unpack() {
  const std::shared_ptr<Unpacking> message = std::exchange(unpacking_, nullptr);
  connection_.blocks().give_buffer(std::move(message->packed()));
  if (message->status().ok()) {
    body_ = std::move(message->plain());
    has_body_ = true;
    message_whole(body_.bytes(), true);
    return;
  }
  const size_t bytes = message->plain().size();
  connection_.blocks().give_buffer(std::move(message->plain()));
  const TransportSettings& limits = connection_.settings();
  switch (message->status().error().code) {
    case ErrorCode::BodyTooLarge:
      fail(grpc_code::kResourceExhausted,
           "Received message that decompresses to a size larger than " +
               digits(std::min(limits.receive_bytes_max, limits.inflated_bytes_max)));
      break;
    case ErrorCode::MemoryFull:
      fail(grpc_code::kResourceExhausted,
           "no memory for a message of more than " + digits(bytes) + " bytes after decompression");
      break;
    default: fail(grpc_code::kInternal, "Failed to decompress message");
  }
}

void CallStream::unpack_on() {
  if (over_ || unpacking_ == nullptr) return;
  if (!unpacking_->ended()) {
    connection_.unpack(*this, unpacking_);
    return;
  }
  end_unpack();
  take_held();
}

void CallStream::give_body() {
  connection_.blocks().give_buffer(std::exchange(body_, ByteBuffer()));
  has_body_ = false;
}

// `owned`: the bytes are in body_.
void CallStream::message_whole(std::span<const uint8_t> bytes, bool owned) {
  prefix_bytes_ = 0;
  ++messages_;
  if (kind_.client_streams) {
    deliver({bytes, owned ? &body_ : nullptr});
    if (has_body_) give_body();
    return;
  }
  pending_ = bytes;
  has_pending_ = true;
  pending_borrowed_ = !owned;
  if (pending_borrowed_) connection_.settle_later(*this);
}

// Hot path: receive for gRPC. The message is its handler's until return.
void CallStream::deliver(Received message) {
  delivered_ = true;
  connection_.handler().message(*this, message);
}

void CallStream::settle() {
  if (!has_pending_ || !pending_borrowed_ || over_) return;
  pending_borrowed_ = false;
  if (!has_body_) body_ = connection_.blocks().take_buffer();
  has_body_ = true;
  body_.clear(pending_.size());
  if (!body_.append(pending_.data(), pending_.size())) {
    fail(grpc_code::kResourceExhausted,
         "no memory for a message of " + digits(pending_.size()) + " bytes");
    return;
  }
  pending_ = body_.bytes();
}

void CallStream::end_stream() {
  remote_ended_ = true;
  refuse();
  if (over_ || !begun_ || blocked() || held_.size() > 0) return;
  input_ended();
}

void CallStream::input_ended() {
  if (input_done_) return;
  input_done_ = true;
  if (prefix_bytes_ > 0) {
    fail(grpc_code::kInternal, "Incomplete message at the end of the request");
  } else if (kind_.client_streams) {
    connection_.handler().half_closed(*this);
  } else if (!has_pending_) {
    fail(grpc_code::kUnimplemented,
         "Received no request message for unary method " + std::string(kind_.path));
  } else {
    has_pending_ = false;
    deliver({pending_, pending_borrowed_ ? nullptr : &body_});
    if (has_body_) give_body();
  }
}

// Processes bytes that arrived meanwhile, as far as messages may be delivered.
void CallStream::take_held() {
  if (taking_ || over_) return;
  if (held_.size() > 0 && !blocked()) {
    ByteBuffer held = std::exchange(held_, ByteBuffer());
    const size_t bytes = held.size();
    take_in(held.bytes());
    const size_t left = over_ ? 0 : held_.size();
    connection_.consume(*this, bytes - left);
    settle();
    connection_.blocks().give_buffer(std::move(held));
  }
  if (remote_ended_ && !over_ && !blocked() && held_.size() == 0) input_ended();
}

void CallStream::set_paused(bool paused) {
  if (over_ || paused_ == paused) return;
  paused_ = paused;
  if (!paused) connection_.resume_later(id());
}

void CallStream::resume_taking() { take_held(); }

void CallStream::deadline_passed() { fail(grpc_code::kDeadlineExceeded, "Deadline exceeded"); }

void CallStream::drain() {
  if (begun_ && !over_) connection_.handler().draining(*this);
}

void CallStream::end_call() {
  over_ = true;
  if (!begun_) return;
  connection_.call_ends(*this);
  unpacking_.reset();
  has_pending_ = false;
  if (held_.size() > 0) {
    connection_.consume(*this, held_.size());
    connection_.blocks().give_buffer(std::exchange(held_, ByteBuffer()));
  }
}

void CallStream::gone() {
  if (begun_ && !over_) {
    tell_failed(grpc_code::kCancelled, "the client went away");
    connection_.handler().closed(*this);
    end_call();
  }
  over_ = true;
}

bool CallStream::can_move() const {
  if (over_) return false;
  if (!begun_) return true;
  const bool is_unary = !kind_.client_streams && !kind_.server_streams;
  const bool is_idle = !delivered_ && !paused_ && unpacking_ == nullptr && held_.size() == 0;
  return is_unary && is_idle && !response_started_ && answers_.empty() && left_ == 0;
}

bool CallStream::is_local() const { return connection_.channel().is_local(); }

std::string_view CallStream::metadata_value(std::string_view name) const {
  std::string_view rest = head_.metadata;
  while (!rest.empty()) {
    const size_t name_end = rest.find('\0');
    const size_t value_end = rest.find('\0', name_end + 1);
    if (rest.substr(0, name_end) == name) {
      return rest.substr(name_end + 1, value_end - name_end - 1);
    }
    rest.remove_prefix(value_end + 1);
  }
  return {};
}

const Metadata& CallStream::metadata() const {
  if (metadata_read_) return metadata_;
  metadata_read_ = true;
  std::string_view rest = head_.metadata;
  const auto take_part = [&rest] {
    const size_t end = rest.find('\0');
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return part;
  };
  while (!rest.empty()) {
    const std::string_view name = take_part();
    std::string_view value = take_part();
    if (name.size() < 4 || name.substr(name.size() - 4) != "-bin") {
      metadata_.push_back({std::string(name), std::string(value)});
      continue;
    }
    for (bool more = true; more;) {
      const size_t comma = value.find(',');
      std::string bytes;
      if (decode_base64(value.substr(0, comma), bytes)) {
        metadata_.push_back({std::string(name), std::move(bytes)});
      }
      more = comma != std::string_view::npos;
      if (more) value.remove_prefix(comma + 1);
    }
  }
  return metadata_;
}

}  // namespace serval
