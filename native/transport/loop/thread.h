// One thread of a listener: its loop, its connections, its calls by number. Hot path; the thread
// itself, unless noted.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "transport/growth/meter.h"
#include "transport/listener.h"
#include "transport/loop/blocks.h"
#include "transport/loop/connection.h"
#include "transport/loop/output.h"
#include "transport/loop/poller.h"
#include "transport/loop/reading_order.h"
#include "transport/loop/timers.h"
#include "transport/loop/unpacking.h"
#include "transport/moving.h"
#include "transport/socket/listening.h"

struct nghttp2_session_callbacks;
struct nghttp2_option;

namespace serval {

class ListenerThreads;

// State shared by the threads of one listener.
struct SharedListener {
  TransportSettings settings;
  std::shared_ptr<MemoryBudget> budget;
  TransportEvents events;
  ListeningSockets sockets;
  std::unique_ptr<TlsContext> tls;
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* options = nullptr;
  ListenerThreads* threads = nullptr;
  ConnectionCount connections;
  std::atomic<int64_t> unsent_bytes{0};  // responses that clients have not read
  std::atomic<uint64_t> full_told_ns{0};
  std::atomic<uint64_t> handshakes_failed{0};
  std::atomic<uint64_t> handshake_told_ns{0};
  std::atomic<uint32_t> threads_left{0};  // threads that a drain waits for
  std::atomic<uint64_t> cut{0};
  std::function<void(uint64_t)> drained;  // set before a drain begins
  std::atomic<bool> reload_asked{false};

  ~SharedListener();
};

class ListenerThread final : public CallThread {
 public:
  // Borrows `shared` until it ends.
  ListenerThread(SharedListener& shared, uint32_t index,
                 const TransportListener::MakeHandler& make);
  ~ListenerThread();

  // Starts the thread; `waits`: returns when its handler exists. Errors: internal.
  Status start(bool waits);
  // Any thread: stops accepting; lets calls finish until `until_ns`, then cuts them.
  void drain(uint64_t until_ns);
  // Any thread: cuts all connections; joins.
  void stop();

  uint32_t index() const override { return index_; }
  Call* find(uint64_t id) override;
  HttpRequest* find_request(uint64_t id) override;
  void wake() override { poller_.wake(); }
  ByteBuffer take_buffer() override { return blocks_.take_buffer(); }
  void give_buffer(ByteBuffer buffer) override { blocks_.give_buffer(std::move(buffer)); }
  void drop_kept() override {
    blocks_.drop();
    outputs_.clear();
  }
  void note_flow(const FlowShare& share) override { order_.note(share, now_ns_); }

  // --- for the other threads of the listener ---
  // Any thread: the load of the last interval, and the number of connections that it serves or will
  // serve.
  uint32_t load() const { return load_.load(std::memory_order_relaxed); }
  uint32_t connection_count() const { return connection_count_.load(std::memory_order_relaxed); }
  // Any thread: serves a new socket, or a connection of another thread, from now on. False: it is
  // draining or stopping, and the caller keeps them.
  bool offer(int socket);
  bool offer(std::unique_ptr<Connection>& connection);

  // --- for ListenerThreads, which this thread calls ---
  // The number of connections accepted in this interval.
  uint32_t accepted() const { return accepted_; }
  // Returns the connections that would balance its load with that of a thread of this load.
  std::vector<Connection*> movable(uint32_t load_there);
  // Moves each connection to the other thread as soon as nothing of it refers to this one.
  void send_away(std::vector<Connection*> connections, ListenerThread& target);

  // --- for its connections ---
  const TransportSettings& settings() const { return shared_.settings; }
  // The handlers; only valid if such calls are served.
  CallHandler& calls() { return *handler_->calls(); }
  HttpHandler& requests() { return *handler_->requests(); }
  BlockPool& blocks() { return blocks_; }
  Timers& timers() { return timers_; }
  // The time at the start of this turn.
  uint64_t now() const { return now_ns_; }
  double random();
  nghttp2_session_callbacks* callbacks() { return shared_.callbacks; }
  nghttp2_option* options() { return shared_.options; }
  std::span<uint8_t> read_buffer() { return {read_buffer_.get(), kReadBytes}; }
  std::unique_ptr<Output> take_output();
  void give_output(std::unique_ptr<Output> output);
  void later(Connection& connection) { dirty_.push_back(&connection); }
  void bury_later(Connection& connection) { dead_.push_back(&connection); }
  // Another connection takes over this one's channel; this one is freed at the end of the turn.
  void replace(Connection& before, std::unique_ptr<Connection> made);
  void read_again(Connection& connection) { unread_.push_back(&connection); }
  void interest(Connection& connection, uint32_t events);
  // The bytes that a connection may read in this turn.
  size_t read_bytes_max() const {
    return turn_bytes_ < kTurnBytes ? kReadBytesPerTurn : kMuchBytes;
  }
  // The same for a connection whose bytes may have several requests.
  size_t read_bytes_share() const { return std::min(read_bytes_max(), read_share_); }
  // Counts the bytes that a connection has read in this turn.
  void count_read(Connection& connection, size_t bytes) {
    turn_bytes_ += bytes;
    connection.set_reads_much(bytes >= kMuchBytes);
    read_bytes_ = bytes;
  }
  bool has_tls() const { return shared_.tls != nullptr; }
  // Counts a failed TLS handshake, and reports it at most once a second.
  void handshake_failed(std::string peer, std::string reason);
  void add_call(NumberedCall& call);
  void remove_call(NumberedCall& call);
  NumberedCall* numbered(uint64_t id);
  // Runs one decompression step of the call's message on another thread; NumberedCall::unpack_on()
  // follows in a later turn.
  void unpack(uint64_t id, std::shared_ptr<Unpacking> message);
  const std::shared_ptr<MemoryBudget>& budget() const { return shared_.budget; }
  void resume_later(uint64_t id) { resuming_.push_back(id); }
  bool too_much_unsent() const;
  // How long a body or a response may make no progress: as long as a connection may be idle if
  // memory is scarce.
  uint64_t stalled_ms() const;
  void unsent_changed(int64_t bytes);

 private:
  static constexpr size_t kReadBytes = 256 * 1024;
  static constexpr size_t kReadBytesPerTurn = 1u << 20;  // per connection
  // Once this is read in a turn, connections that read much wait for the next one: short requests
  // are answered in between, however many clients send large bodies.
  static constexpr size_t kTurnBytes = 1u << 20;
  static constexpr size_t kMuchBytes = 16 * 1024;

  // A listening socket; distinguishes the poller's tags from those of connections.
  struct Door {
    int socket;
  };
  struct CallSlot {
    NumberedCall* call = nullptr;
    uint32_t use = 0;
  };

  // A connection that can be read, and its place in the order of reading.
  struct Ready {
    ReadingOrder::Start start;
    uint64_t number;
    Connection* connection;
  };

  // A connection that is going to move.
  struct Departure {
    Connection* connection;
    ListenerThread* target;
    uint64_t until_ns;
  };

  void open_doors();
  void run();
  void turn();
  std::span<const epoll_event> wait(bool& woken);
  void interval_ended();
  void take_arrivals(bool is_last);
  void adopt(std::unique_ptr<Connection> moved);
  void send_departures();
  bool depart(const Departure& departure);
  void keep_departures();
  uint64_t wait_until() const;
  void hear(std::span<const epoll_event> events);
  void read(Connection& connection);
  void hear_in_order(std::span<const epoll_event> events);
  void collect_ready(std::span<const epoll_event> events);
  uint64_t read_in_order(Connection& connection, uint64_t began_ns);
  bool is_door(const epoll_event& event);
  void accept(int listening);
  // Whether a second has passed since the last report, on any thread.
  bool may_tell(std::atomic<uint64_t>& told_ns) const;
  void place(int socket);
  void take(int socket);
  void link(Connection* connection);
  void unlink(Connection* connection);
  void run_due();
  void take_unpacked();
  void run_resuming();
  void flush_all();
  void bury();
  void close_doors();
  void begin_drain();
  void look_at_drain();
  void look_at_unsent();
  void look_at_certificates();
  void cut_all();
  void end_drain();
  template <typename Visit>
  void each(const Visit& visit) {
    for (Connection* connection = connections_; connection != nullptr;) {
      Connection* following = connection->next;
      visit(*connection);
      connection = following;
    }
  }

  SharedListener& shared_;
  const uint32_t index_;
  const TransportListener::MakeHandler& make_;
  const bool balances_;  // threads are added, and connections move between them
  std::thread thread_;
  Poller poller_;
  Timers timers_;
  BlockPool blocks_;
  std::unique_ptr<TurnHandler> handler_;
  std::unique_ptr<uint8_t[]> read_buffer_;
  std::optional<Acceptor> acceptor_;
  std::vector<std::unique_ptr<Door>> doors_;
  Connection* connections_ = nullptr;
  std::vector<Connection*> dirty_, flushing_;
  std::vector<Connection*> unread_, dead_;
  std::vector<std::unique_ptr<Connection>> replaced_;  // in this turn
  std::vector<uint64_t> resuming_;
  const std::shared_ptr<UnpackedBox> unpacked_;
  std::vector<uint64_t> timed_;  // calls of this turn that have a deadline
  std::vector<CallSlot> calls_;
  std::vector<uint32_t> free_calls_;
  std::vector<std::unique_ptr<Output>> outputs_;
  std::minstd_rand random_;
  size_t turn_bytes_ = 0;  // read in this turn
  ReadingOrder order_;
  std::vector<Ready> ready_;
  Connection* reading_ = nullptr;  // or the one that took its place; dangles between reads
  uint64_t reads_ = 0;             // in order
  size_t read_share_ = SIZE_MAX;   // bytes that the connection may read now
  size_t read_bytes_ = 0;          // by the latest connection
  uint64_t now_ns_ = 0;
  uint64_t look_ns_ = UINT64_MAX;         // next check of a drain
  uint64_t unsent_look_ns_ = UINT64_MAX;  // next check for unread responses
  uint64_t tls_look_ns_ = UINT64_MAX;     // next check of the certificate files
  bool draining_ = false;
  bool drain_ended_ = false;
  LoadMeter meter_;
  Arrivals arrivals_;
  std::vector<Departure> departures_;
  uint32_t interval_ = 1;  // number of the current interval
  uint32_t accepted_ = 0;  // in this interval
  uint32_t busy_intervals_ = 0;
  std::atomic<uint32_t> load_{0};
  std::atomic<uint32_t> connection_count_{0};
  std::atomic<uint64_t> drain_until_ns_{0};  // 0 = no drain
  std::atomic<bool> stopping_{false};
};

}  // namespace serval
