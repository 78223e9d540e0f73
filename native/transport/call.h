// The interface between the gRPC transport and its handler: whole messages in and out, metadata, a
// deadline, a status. Hot path; everything runs on the listener's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/cpu/fair_order.h"
#include "base/generated/grpc_code.h"
#include "transport/loop/connection.h"

namespace serval {

// Names are lower case; values of "-bin" names are the decoded bytes.
struct MetadataEntry {
  std::string name;
  std::string value;
};
using Metadata = std::vector<MetadataEntry>;

// The final status of a call. `code` is one of grpc_code. The message is truncated to
// what a trailer can carry.
struct CallStatus {
  int code = grpc_code::kOk;
  std::string_view message;
  std::string_view details;  // grpc-status-details-bin, "" = none
};

// A whole received message. `bytes` are valid until message() returns. If they are the content of a
// buffer, `owned` points to it and it may be swapped for another one.
struct Received {
  std::span<const uint8_t> bytes;
  ByteBuffer* owned = nullptr;
};

// One call, owned by the transport. It is valid until the handler's closed() or its own finish()
// returns. When its deadline passes, the client gets DEADLINE_EXCEEDED and closed() is called.
class Call : public NumberedCall {
 public:
  Call* as_call() final { return this; }
  // The value that CallHandler::find() returned.
  uint32_t method() const { return method_; }
  // The client's metadata, without gRPC's and HTTP's own headers.
  virtual const Metadata& metadata() const = 0;
  // One metadata value, "" if it is missing; not for "-bin" names. Valid as long as the call is.
  virtual std::string_view metadata_value(std::string_view name) const = 0;
  // Whether the client is on this machine (connected over loopback or a unix socket).
  virtual bool is_local() const { return false; }

  // For the handler; the transport never reads it.
  void* state = nullptr;
  uint64_t word = 0;
  uint32_t caller = 0;  // number of the caller in the engine's CallerTable

  // Sent with the first message, or with the status if that is sent first.
  virtual void add_initial_metadata(std::string_view name, std::string_view value) = 0;
  virtual void add_trailing_metadata(std::string_view name, std::string_view value) = 0;
  // Sends the initial metadata now.
  virtual void send_initial_metadata() = 0;
  // Sends a message: copies a short one; takes the memory of a long one and leaves an empty buffer
  // in its place. False: it could not be queued (limit, budget, or a client that does not read) and
  // the call has ended, with closed().
  virtual bool send(ByteBuffer& message) = 0;
  virtual bool send(std::span<const uint8_t> message) = 0;
  // Ends the call after everything sent before. closed() is not called; the call is gone on return.
  virtual void finish(const CallStatus& status) = 0;
  // Pauses a stream's messages, and so its client. Messages of this turn that were already
  // delivered are not affected.
  virtual void set_paused(bool paused) = 0;
  // Responses that the client has not read yet, and their bytes.
  virtual size_t unsent_messages() const = 0;
  virtual uint64_t unsent_bytes() const = 0;

 protected:
  uint32_t method_ = 0;
};

// A method as the handler declares it.
struct MethodKind {
  uint32_t method = 0;
  bool client_streams = false;  // false: exactly one message arrives; message() is called after
  bool server_streams = false;  // the client has half-closed; false: exactly one response
  std::string_view path;        // owned by the handler; used in texts
};

// One thread of a listener, as its handler sees it.
class CallThread {
 public:
  virtual uint32_t index() const = 0;
  // Null if the call, or the HTTP request, has ended.
  virtual Call* find(uint64_t id) = 0;
  virtual HttpRequest* find_request(uint64_t id) = 0;
  // Any thread: schedules one CallHandler::woken() for any number of calls.
  virtual void wake() = 0;
  // A reusable message buffer whose memory is charged to the budget.
  virtual ByteBuffer take_buffer() = 0;
  virtual void give_buffer(ByteBuffer buffer) = 0;
  // Frees the buffers that are kept for reuse.
  virtual void drop_kept() = 0;
  // The connection that is being read had a request of this flow: connections are read in the order
  // of their flows' shares.
  virtual void note_flow(const FlowShare& share) = 0;

 protected:
  ~CallThread() = default;
};

class CallHandler;
class HttpHandler;

// Callbacks from a listener's thread to its handler, for every protocol; called on that thread.
class TurnHandler {
 public:
  virtual ~TurnHandler() = default;
  // The handler of gRPC calls, or of HTTP requests; null: this listener has none.
  virtual CallHandler* calls() { return nullptr; }
  virtual HttpHandler* requests() { return nullptr; }
  // A connection was opened (1) or closed (-1).
  virtual void connected(int /*change*/) {}
  // Everything that one wake-up brought has been delivered: flush what was collected.
  virtual void turn_ended() {}
  virtual void woken() {}
  // Calls that have not ended during a drain are about to be cut.
  virtual void cutting() {}
};

// Serves the calls of one thread of a listener; called on that thread unless noted.
class CallHandler : public TurnHandler {
 public:
  CallHandler* calls() final { return this; }
  // Nothing: the client gets UNIMPLEMENTED.
  virtual std::optional<MethodKind> find(std::string_view path) = 0;
  // A call begins. The handler may finish it here and in each of the callbacks below. It must keep
  // nothing of a unary call: until its message has arrived, the call may move to another thread's
  // handler, under another number.
  virtual void begin(Call&) {}
  virtual void message(Call& call, Received message) = 0;
  // The client sends no more messages; only for methods with client_streams.
  virtual void half_closed(Call&) {}
  // The client went away, the deadline passed, or the connection ended: nothing more can be sent,
  // and the call is gone on return.
  virtual void closed(Call&) {}
  // The status that the transport sent by itself, or CANCELLED if the client went away. Called
  // before closed() for a call that had begun; null for one that had not, or for a request that is
  // not a call. `path`: as received.
  struct Failed {
    Call* call;
    std::string_view path;
    int code;
    std::string_view message;
  };
  virtual void failed(const Failed&) {}
  // This number of a stream's responses has been written.
  virtual void left(Call&, size_t /*messages*/) {}
  // The server is stopping: streams should finish what was begun, then end.
  virtual void draining(Call&) {}
};

}  // namespace serval
