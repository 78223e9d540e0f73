// Calls for tests of the listener: echo, stream, wait, end with a status; and a journal of the
// events that their handlers received. Runs on the listener's threads.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes/views.h"
#include "transport/call.h"

namespace serval::testing {

// Counts the events on all threads of a listener.
class Journal {
 public:
  struct Counts {
    int begun = 0, messages = 0, half_closed = 0, closed = 0, draining = 0, cutting = 0, left = 0;
    int refused_sends = 0;
    int put_together = 0, ends_aligned = 0;  // messages that arrived in pieces
    bool operator==(const Counts&) const = default;
  };
  void note(int Counts::*what, int count = 1) {
    std::lock_guard lock(mutex_);
    counts_.*what += count;
    changed_.notify_all();
  }
  Counts counts() {
    std::lock_guard lock(mutex_);
    return counts_;
  }
  // False: the count was not reached in ten seconds.
  bool wait_for(int Counts::*what, int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10),
                             [&] { return counts_.*what >= count; });
  }

  // Calls of "Later" and paused streams continue when this is set and the listener's thread is
  // woken.
  std::atomic<bool> go_on{false};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Counts counts_;
};

class EchoHandler final : public CallHandler {
 public:
  enum Method : uint32_t {
    kUnary,    // echoes its message, with metadata "x-..." in both directions
    kStatus,   // "CODE TEXT" as a status; details "why" where the code is 9
    kHang,     // never answers
    kLater,    // answers once the journal's go_on is set
    kEcho,     // a stream that echoes each message and ends with OK
    kCollect,  // a client stream, answered with the number of bytes
    kPush,     // "COUNT SIZE": COUNT messages, at most eight unsent at a time
    kFlood,    // "COUNT SIZE": all of them at once
    kPaused,   // a stream that accepts nothing until go_on; then like kEcho
    kEarly,    // a stream that ends at its first message
  };
  static constexpr const char* kPaths[] = {"/t.T/Unary",  "/t.T/Status",  "/t.T/Hang", "/t.T/Later",
                                           "/t.T/Echo",   "/t.T/Collect", "/t.T/Push", "/t.T/Flood",
                                           "/t.T/Paused", "/t.T/Early"};

  EchoHandler(CallThread& thread, Journal& journal) : thread_(thread), journal_(journal) {}

  std::optional<MethodKind> find(std::string_view path) override {
    for (uint32_t i = 0; i < std::size(kPaths); ++i) {
      if (path != kPaths[i]) continue;
      const bool client = i == kEcho || i == kCollect || i == kPaused || i == kEarly;
      const bool server = client ? i != kCollect : i == kPush || i == kFlood;
      return MethodKind{i, client, server, kPaths[i]};
    }
    return std::nullopt;
  }

  void begin(Call& call) override {
    journal_.note(&Journal::Counts::begun);
    if (call.method() == kPaused && !journal_.go_on) {
      call.set_paused(true);
      waiting_.insert(call.id());
    }
  }

  void message(Call& call, Received message) override {
    journal_.note(&Journal::Counts::messages);
    if (message.owned != nullptr) {
      const auto end = reinterpret_cast<uintptr_t>(message.bytes.data() + message.bytes.size());
      journal_.note(&Journal::Counts::put_together);
      if (end % 64 == 0) journal_.note(&Journal::Counts::ends_aligned);
    }
    const std::string_view text = text_of(message.bytes);
    switch (call.method()) {
      case kUnary: return echo(call, message);
      case kStatus: {
        const int code = std::atoi(std::string(text).c_str());
        const std::string words(text.substr(std::min(text.find(' ') + 1, text.size())));
        call.add_trailing_metadata("x-trailing", "yes");
        return call.finish({code, words, code == 9 ? "why" : ""});
      }
      case kLater:
        texts_[call.id()] = text;
        waiting_.insert(call.id());
        return;
      case kEcho:
      case kPaused: return sent(call.send(message.bytes));
      case kCollect: call.word += message.bytes.size(); return;
      case kPush:
      case kFlood: return push(call, std::string(text));
      case kEarly: return call.finish({5, "enough", ""});
      default: return;
    }
  }

  void half_closed(Call& call) override {
    journal_.note(&Journal::Counts::half_closed);
    if (call.method() == kCollect && !call.send(bytes_of(std::to_string(call.word)))) return;
    call.finish({});
  }

  void closed(Call& call) override {
    journal_.note(&Journal::Counts::closed);
    waiting_.erase(call.id());
    texts_.erase(call.id());
    pushes_.erase(call.id());
  }

  void left(Call& call, size_t messages) override {
    journal_.note(&Journal::Counts::left, static_cast<int>(messages));
    if (call.method() == kPush) push_on(call);
  }

  void woken() override {
    if (!journal_.go_on) return;
    for (const uint64_t id : std::exchange(waiting_, {})) {
      Call* call = thread_.find(id);
      if (call == nullptr) continue;
      if (call->method() == kPaused) call->set_paused(false);
      else if (call->send(bytes_of(texts_[id]))) call->finish({});
    }
  }
  void draining(Call&) override { journal_.note(&Journal::Counts::draining); }
  void cutting() override { journal_.note(&Journal::Counts::cutting); }

 private:
  struct Push {
    int left;
    size_t bytes;
  };

  void sent(bool went) {
    if (!went) journal_.note(&Journal::Counts::refused_sends);
  }

  void echo(Call& call, Received message) {
    for (const MetadataEntry& entry : call.metadata()) {
      if (!entry.name.starts_with("x-")) continue;
      call.add_initial_metadata(entry.name, entry.value);
      call.add_trailing_metadata(entry.name, entry.value);
    }
    if (message.owned == nullptr) {
      if (!call.send(message.bytes)) return sent(false);
    } else {
      ByteBuffer taken = std::move(*message.owned);
      const bool went = call.send(taken);
      thread_.give_buffer(std::move(taken));
      if (!went) return sent(false);
    }
    call.finish({});
  }

  void push(Call& call, const std::string& text) {
    const int count = std::atoi(text.c_str());
    const size_t bytes = std::strtoul(text.c_str() + text.find(' '), nullptr, 10);
    if (call.method() == kPush) {
      pushes_[call.id()] = {count, bytes};
      return push_on(call);
    }
    for (int i = 0; i < count; ++i) {
      if (!call.send(bytes_of(std::string(bytes, static_cast<char>('a' + i % 26))))) {
        return sent(false);
      }
    }
    call.finish({});
  }

  void push_on(Call& call) {
    const uint64_t id = call.id();
    Push& push = pushes_[id];
    while (push.left > 0 && call.unsent_messages() < 8) {
      const char letter = static_cast<char>('a' + --push.left % 26);
      if (!call.send(bytes_of(std::string(push.bytes, letter)))) return sent(false);
    }
    if (push.left > 0) return;
    pushes_.erase(id);
    call.finish({});
  }

  CallThread& thread_;
  Journal& journal_;
  std::set<uint64_t> waiting_;
  std::map<uint64_t, std::string> texts_;
  std::map<uint64_t, Push> pushes_;
};

}  // namespace serval::testing
