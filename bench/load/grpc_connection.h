// One HTTP/2 connection of the gRPC load generator (grpc_load.cc): sends one prepared message again
// and again, checks each answer's length and status. The generator's only thread.
#pragma once

#include <nghttp2/nghttp2.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace serval::bench {

inline constexpr size_t kPrefixBytes = 5;  // of a gRPC message: a flag and u32 of length

// What is sent and what must come back.
struct Exchange {
  std::string authority;
  std::string method;       // "/package.Service/Method"
  std::string frame;        // the message behind its prefix
  size_t answer_bytes = 0;  // of an answer's message
  bool streams = false;     // a call is a stream that carries one request after the other
};

class Connection;

struct Call {
  Connection* connection = nullptr;
  uint64_t due_ns = 0;
  int32_t stream = 0;
  bool status_ok = false;
  bool failed = false;
  size_t sent = 0;      // of the frame
  size_t received = 0;  // of the answer, prefix included; of this one, where they stream
  uint32_t answers = 0;
  std::array<uint8_t, kPrefixBytes> prefix{};
};

class CallEvents {
 public:
  virtual ~CallEvents() = default;
  // A whole answer with the right length came, and status OK where it is unary.
  virtual void answered(Call& call) = 0;
  virtual void failed(Call& call, std::string why) = 0;
};

// What waits to be written: small parts in one string, the message where it lies.
class Output {
 public:
  bool empty() const { return next_ == parts_.size(); }
  void copy(const uint8_t* bytes, size_t size);
  void borrow(const uint8_t* bytes, size_t size);
  // False: the socket failed, see errno.
  bool write_to(int socket);

 private:
  struct Part {
    const uint8_t* borrowed;  // null: the next bytes of copied_
    size_t size;
  };
  void drop(size_t written);

  std::vector<Part> parts_;
  size_t next_ = 0;
  std::string copied_;
  size_t copied_from_ = 0;
};

class Connection {
 public:
  // `exchange` and `events` outlive it. Check problem() afterwards, and after each of the others.
  Connection(const Exchange& exchange, CallEvents& events, std::string_view host, uint16_t port);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return socket_; }
  // The server's SETTINGS came: its limit of streams is known.
  bool ready() const { return ready_; }
  // Why it can be used no more, or "".
  const std::string& problem() const { return problem_; }

  // Begins a call. Nothing is written before flush().
  void begin(Call& call);
  // The next request of a stream whose last one was answered.
  void send_again(Call& call);
  void flush();
  // Reads what is there.
  void receive();

  // The load's own: it is on its list.
  bool flush_wanted = false;

 private:
  struct Callbacks;
  // "" or why not.
  std::string connect_to(const std::string& host, uint16_t port);
  void open_session();
  void data_came(Call& call, std::span<const uint8_t> bytes);
  void part_came(Call& call, std::span<const uint8_t>& bytes);
  void closed(Call& call, uint32_t error);
  void fail(Call& call, std::string why);
  void broken(std::string why);

  const Exchange& exchange_;
  CallEvents& events_;
  int socket_ = -1;
  bool ready_ = false;
  nghttp2_session* session_ = nullptr;
  Output output_;
  std::string problem_;
  std::vector<uint8_t> input_;
};

}  // namespace serval::bench
