// The far end of a bridge, in place of the server's JavaScript thread: reads events one by one and
// waits at most ten seconds for each. Runs on the test's own thread.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "calls/bridge.h"

namespace serval::test {

struct BridgeEvent {
  ListenerEvent kind = ListenerEvent::Open;
  uint32_t thread = 0;
  uint64_t call = 0;
  uint32_t value = 0;
  std::string payload;
};

// Returns the events of one take(). Fails the test if the bytes are not events.
inline std::deque<BridgeEvent> read_events(const ByteBuffer& bytes) {
  using fb::EventWord;
  constexpr auto kWords = static_cast<size_t>(EventWord::Words);
  std::deque<BridgeEvent> out;
  for (size_t at = 0; at < bytes.size();) {
    uint32_t words[kWords] = {};
    if (bytes.size() - at < sizeof words) {
      ADD_FAILURE() << "a cut event at byte " << at << " of " << bytes.size();
      return out;
    }
    std::memcpy(words, bytes.data() + at, sizeof words);
    at += sizeof words;
    const auto word = [&](EventWord which) { return words[static_cast<size_t>(which)]; };
    const size_t count = word(EventWord::Bytes);
    const size_t padded = (count + 3) / 4 * 4;
    if (bytes.size() - at < padded) {
      ADD_FAILURE() << "a cut payload at byte " << at << " of " << bytes.size();
      return out;
    }
    out.push_back(
        {static_cast<ListenerEvent>(word(EventWord::Kind)),
         word(EventWord::Thread),
         static_cast<uint64_t>(word(EventWord::CallHigh)) << 32 | word(EventWord::CallLow),
         word(EventWord::Value),
         {reinterpret_cast<const char*>(bytes.data()) + at, count}});
    at += padded;
  }
  return out;
}

class BridgeEnd {
 public:
  // The bridge calls notify() when events may be available.
  void notify() {
    std::lock_guard lock(mutex_);
    notified_ = true;
    changed_.notify_all();
  }
  void look_at(Bridge& bridge, MemoryBudget& budget) {
    bridge_ = &bridge;
    taken_.charge_to(&budget);
  }

  // Takes the available events; false: none arrived in that time.
  bool take(std::chrono::milliseconds patience = std::chrono::seconds(10)) {
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait_for(lock, patience, [this] { return notified_; })) return false;
      notified_ = false;
    }
    bridge_->take(taken_);
    for (BridgeEvent& event : read_events(taken_)) events_.push_back(std::move(event));
    return true;
  }
  // Returns the next event.
  BridgeEvent next() {
    while (events_.empty()) {
      if (take()) continue;
      ADD_FAILURE() << "no event came";
      return {};
    }
    BridgeEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  // Returns the next event, which must be of that kind.
  BridgeEvent expect(ListenerEvent kind) {
    BridgeEvent event = next();
    EXPECT_EQ(event.kind, kind) << fb::EnumNameListenerEvent(event.kind) << ": " << event.payload;
    return event;
  }
  std::deque<BridgeEvent>& waiting() { return events_; }

  // Sends a command for the call of an event.
  bool send(const BridgeEvent& to, ListenerCommand kind, uint32_t value,
            std::string_view text = {}) {
    return bridge_->send(to.thread, {to.call, kind, value, {text.begin(), text.end()}});
  }
  void answer(const BridgeEvent& to, std::string_view message) {
    EXPECT_TRUE(send(to, ListenerCommand::Message, 0, message));
    EXPECT_TRUE(send(to, ListenerCommand::Finish, 0));
  }

 private:
  Bridge* bridge_ = nullptr;
  std::deque<BridgeEvent> events_;
  ByteBuffer taken_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool notified_ = false;  // guarded by mutex_
};

}  // namespace serval::test
