// The load client: connections to one server, and a thread that sends a schedule's requests over
// them and reads their responses. `serval bench` and the project's benchmarks use it through
// native/addon/load_client.h.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "load/measure/loop.h"
#include "load/measure/schedule.h"
#include "load/wire/connecting.h"
#include "load/wire/connection.h"
#include "load/wire/tls_client.h"
#include "transport/loop/poller.h"
#include "transport/loop/timers.h"

namespace serval::load {

class Client final : public Sender, public ConnectionEvents {
 public:
  // Called on the client's own thread. `problem`: "", or why there is no connection.
  struct Events {
    std::function<void(std::string problem)> prepared;
    std::function<void(Measured result)> done;
  };

  Client(Target target, Events events);
  // Starts the thread; call it once, before the others. False: the system has no descriptor or no
  // thread for it.
  bool start();
  // Cuts everything; no event follows.
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Opens connections for this load; the event `prepared` follows. Any thread. A running load is
  // dropped, without an event.
  void prepare(Traffic traffic, const Schedule& schedule);
  // Begins the load at this time of now_ns(); `done` follows. Any thread; after `prepared` without
  // a problem, and one load at a time: otherwise nothing happens.
  void go(uint64_t begins_ns);

 private:
  struct Order {
    std::optional<std::pair<Traffic, Schedule>> prepare;
    std::optional<uint64_t> go;
    bool close = false;
  };

  void run();
  bool take_order();
  void turn();
  void wait_and_read();
  void serve(Connection& connection);
  void set_alarm(uint64_t until_ns);

  // --- connections ---
  void begin_prepare(Traffic traffic, const Schedule& schedule);
  void check_prepared();
  void end_prepare(std::string problem);
  void open_missing(uint64_t now_ns);
  bool open_one();
  void watch(Connection& connection);
  void settle(Connection& connection);
  void lost(Connection& connection);
  void forget(Connection& connection);
  void cut();

  // --- requests ---
  void pump();
  void flush_all();
  void end_late(uint64_t now_ns);
  void note_busy(uint64_t now_ns);
  void finish_if_over(uint64_t now_ns);
  Call& take_call();
  void send_on_best(uint64_t due_ns, uint32_t tries);
  void put_ready(Connection& connection);
  void take_ready(Connection& connection);

  bool free() override;
  void send(uint64_t due_ns) override;
  void has_room(Connection& connection) override;
  void answered(Call& call, uint64_t response_bytes) override;
  void failed(Call& call, Failure kind, std::string_view error) override;
  void unread(Call& call, std::string_view error) override;

  const Target target_;
  const Events client_events_;
  Poller poller_;
  int alarm_ = -1;
  uint64_t alarm_ns_ = UINT64_MAX;

  std::mutex mutex_;
  Order order_;  // guarded by mutex_

  // --- used by the thread only ---
  std::unique_ptr<TlsClient> tls_;
  std::unique_ptr<Prepared> prepared_;
  Schedule schedule_;
  std::unique_ptr<Loop> loop_;
  std::vector<Address> addresses_;
  size_t address_ = 0;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> gone_;  // closed once no event refers to them
  size_t opening_ = 0;
  size_t wanted_ = 0;
  uint64_t open_again_ns_ = 0;
  bool preparing_ = false;
  bool usable_ = false;  // the last prepare() has succeeded
  bool answered_once_ = false;
  uint64_t prepare_until_ns_ = 0;
  std::vector<Connection*> ready_;  // those that can accept a request
  size_t turn_ = 0;
  std::vector<Connection*> to_flush_, flushed_;
  struct Unread {
    uint64_t due_ns;
    uint32_t tries;
  };
  std::vector<Unread> unread_;  // requests that a closing server did not read
  std::vector<Call*> again_;    // streams whose last request was answered
  std::deque<Call> calls_;
  std::vector<Call*> free_calls_;
  size_t next_body_ = 0;
  Timers limits_;
  std::vector<uint8_t> room_;
  uint64_t busy_from_ns_ = 0, busy_ns_ = 0;  // processor time
  bool measuring_ = false;

  std::thread thread_;  // last, because it uses all other members
};

}  // namespace serval::load
