// A server with the echo handler, for tests. Runs on the tests' own thread.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "transport/listener.h"
#include "transport/support/echo_handler.h"
#include "transport/support/raw_client.h"

namespace serval::testing {

// A listener of echoes on a free port.
class EchoServer {
 public:
  explicit EchoServer(TransportSettings settings = {}, uint64_t budget_bytes = 1u << 30,
                      TransportEvents events = {})
      : budget(std::make_shared<MemoryBudget>(budget_bytes)) {
    auto started = TransportListener::start(std::move(settings), budget, std::move(events),
                                            [this](CallThread& thread) {
                                              std::lock_guard lock(mutex_);
                                              threads_.push_back(&thread);
                                              return std::make_unique<EchoHandler>(thread, journal);
                                            });
    EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().message);
    if (started.ok()) listener = std::move(started.value());
  }

  uint16_t port() const { return listener->port(); }
  void go_on() {
    journal.go_on = true;
    std::lock_guard lock(mutex_);
    for (CallThread* thread : threads_) thread->wake();
  }
  // False: the number of connections did not become `count` in ten seconds.
  bool has_connections(uint64_t count) const {
    for (int i = 0; i < 10'000; ++i) {
      if (listener->connections() == count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  Journal journal;
  const std::shared_ptr<MemoryBudget> budget;
  std::unique_ptr<TransportListener> listener;

 private:
  std::mutex mutex_;
  std::vector<CallThread*> threads_;
};

}  // namespace serval::testing
