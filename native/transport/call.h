// What a gRPC call looks like to whoever answers it: whole messages in and out, metadata, a
// deadline, a status. Hot path; the listener's thread, all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "transport/loop/connection.h"

namespace serval {

// Names are lower case; values of "-bin" names are the bytes themselves.
struct MetadataEntry {
  std::string name;
  std::string value;
};
using Metadata = std::vector<MetadataEntry>;

// How a call ended. `code`: gRPC's numbers, 0 = OK. The message is cut to what a trailer carries.
struct CallStatus {
  int code = 0;
  std::string_view message;
  std::string_view details;  // grpc-status-details-bin, "" = none
};

// A whole message that came. `bytes` are valid until message() returns. Where they are those of a
// buffer, it is `owned`, and may be swapped for another one.
struct Received {
  std::span<const uint8_t> bytes;
  ByteBuffer* owned = nullptr;
};

// One call. The transport's; stays valid until the handler's closed() or its own finish() returns.
// When its deadline passes, the client gets DEADLINE_EXCEEDED and closed() is called.
class Call : public NumberedCall {
 public:
  Call* as_call() final { return this; }
  // As CallHandler::find() answered.
  uint32_t method() const { return method_; }
  // The client's, without gRPC's and HTTP's own.
  virtual const Metadata& metadata() const = 0;
  // One value of it, "" where there is none; not of "-bin" names. Valid while the call is.
  virtual std::string_view metadata_value(std::string_view name) const = 0;
  // Whether the client is on this machine: it came over loopback or a unix socket.
  virtual bool is_local() const { return false; }

  // The handler's own; not looked at.
  void* state = nullptr;
  uint64_t word = 0;

  // Goes with the first message or the status, if it is before.
  virtual void add_initial_metadata(std::string_view name, std::string_view value) = 0;
  virtual void add_trailing_metadata(std::string_view name, std::string_view value) = 0;
  // Sends the initial metadata now.
  virtual void send_initial_metadata() = 0;
  // Sends a message: copies a short one, takes a long one's memory and leaves other memory,
  // emptied, in its place. False: there is no room for it (limit, budget, or its client takes
  // nothing): the call has ended, with closed().
  virtual bool send(ByteBuffer& message) = 0;
  virtual bool send(std::span<const uint8_t> message) = 0;
  // Ends the call behind what was sent. closed() is not called; the call is gone on return.
  virtual void finish(const CallStatus& status) = 0;
  // A stream's messages wait, and its client with them; not those of this turn that were handed
  // over.
  virtual void set_paused(bool paused) = 0;
  // Answers that the client has not taken yet, and their bytes.
  virtual size_t unsent_messages() const = 0;
  virtual uint64_t unsent_bytes() const = 0;

 protected:
  uint32_t method_ = 0;
};

// A method as the handler knows it.
struct MethodKind {
  uint32_t method = 0;
  bool client_streams = false;  // else exactly one message comes, and message() is called once the
  bool server_streams = false;  // client has ended; else exactly one goes
  std::string_view path;        // the handler's, for texts
};

// One thread of a listener, as its handler sees it.
class CallThread {
 public:
  virtual uint32_t index() const = 0;
  // Null where the call, or the HTTP request, has ended.
  virtual Call* find(uint64_t id) = 0;
  virtual HttpRequest* find_request(uint64_t id) = 0;
  // Any thread: CallHandler::woken() is called soon, once for many.
  virtual void wake() = 0;
  // Memory for messages, charged to the budget, which is used again.
  virtual ByteBuffer take_buffer() = 0;
  virtual void give_buffer(ByteBuffer buffer) = 0;
  // Gives back what is kept to be used again.
  virtual void drop_kept() = 0;

 protected:
  ~CallThread() = default;
};

class CallHandler;
class HttpHandler;

// Calls that a listener's thread makes to its handler, whatever the protocol; on that thread.
class TurnHandler {
 public:
  virtual ~TurnHandler() = default;
  // The handlers of gRPC calls and HTTP requests; null: there is none.
  virtual CallHandler* calls() { return nullptr; }
  virtual HttpHandler* requests() { return nullptr; }
  // A connection came (1) or is gone (-1).
  virtual void connected(int /*change*/) {}
  // All that one wake-up brought was handed over: what was collected is to go.
  virtual void turn_ended() {}
  virtual void woken() {}
  // Calls that have not ended in a drain are about to be cut.
  virtual void cutting() {}
};

// Answers the calls of one thread of a listener; on that thread, where nothing else is said.
class CallHandler : public TurnHandler {
 public:
  CallHandler* calls() final { return this; }
  // Nothing: UNIMPLEMENTED.
  virtual std::optional<MethodKind> find(std::string_view path) = 0;
  // A call begins. It may be finished here and in each of the following.
  virtual void begin(Call&) {}
  virtual void message(Call& call, Received message) = 0;
  // The client sends no more; of methods with client_streams only.
  virtual void half_closed(Call&) {}
  // The client went away, or its deadline passed, or its connection ended: nothing can be sent any
  // more, and the call is gone on return.
  virtual void closed(Call&) {}
  // What the transport answered, or that the client went away (kCancelled), before closed() of a
  // call that had begun; null: of one that had not, or no call at all. `path`: as it came.
  struct Failed {
    Call* call;
    std::string_view path;
    int code;
    std::string_view message;
  };
  static constexpr int kCancelled = 1;
  virtual void failed(const Failed&) {}
  // So many of a stream's answers have left.
  virtual void left(Call&, size_t /*messages*/) {}
  // The server stops: streams are to finish what was begun, then to end.
  virtual void draining(Call&) {}
};

}  // namespace serval
