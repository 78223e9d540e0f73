// Implements the in-memory queues of events and commands. Control plane; any thread.
#include "calls/bridge.h"

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

namespace serval {

namespace {

constexpr auto kWords = static_cast<size_t>(fb::EventWord::Words);
constexpr size_t kWordBytes = sizeof(uint32_t);

uint64_t bytes_of(const std::vector<Bridge::Command>& commands) {
  uint64_t bytes = 0;
  for (const Bridge::Command& one : commands) bytes += one.bytes.size();
  return bytes;
}

}  // namespace

Bridge::Bridge(uint32_t threads, MemoryBudget& budget, std::function<void()> notify)
    : budget_(budget), notify_(std::move(notify)), mailboxes_(threads) {
  events_.charge_to(&budget);
}

Bridge::~Bridge() {
  for (const Mailbox& one : mailboxes_) budget_.give(bytes_of(one.commands));
}

bool Bridge::push(ListenerEvent kind, uint32_t thread, uint64_t call, uint32_t value,
                  std::initializer_list<std::span<const uint8_t>> parts) {
  size_t bytes = 0;
  for (const std::span<const uint8_t> part : parts) bytes += part.size();
  const size_t padding = (kWordBytes - bytes % kWordBytes) % kWordBytes;
  const std::array<uint32_t, kWords> head{
      static_cast<uint32_t>(kind),       thread, static_cast<uint32_t>(call),
      static_cast<uint32_t>(call >> 32), value,  static_cast<uint32_t>(bytes)};
  bool was_empty = false;
  {
    std::lock_guard lock(mutex_);
    was_empty = events_.size() == 0;
    uint8_t* place = events_.grow(sizeof head + bytes + padding);
    if (place == nullptr) return false;
    std::memcpy(place, head.data(), sizeof head);
    place += sizeof head;
    for (const std::span<const uint8_t> part : parts) {
      if (part.empty()) continue;
      std::memcpy(place, part.data(), part.size());
      place += part.size();
    }
    std::memset(place, 0, padding);
  }
  if (was_empty) notify_();
  return true;
}

void Bridge::take(ByteBuffer& out) {
  out.clear();
  std::lock_guard lock(mutex_);
  std::swap(out, events_);
  taken_.fetch_add(1, std::memory_order_release);
  for (const Mailbox& one : mailboxes_) {
    if (one.loop != nullptr && out.size() > 0) one.loop->wake();
  }
}

void Bridge::attach(uint32_t thread, CallThread* loop) {
  std::lock_guard lock(mutex_);
  mailboxes_[thread].loop = loop;
}

bool Bridge::send(uint32_t thread, Command command) {
  std::lock_guard lock(mutex_);
  if (thread >= mailboxes_.size() || mailboxes_[thread].loop == nullptr) return false;
  Mailbox& mailbox = mailboxes_[thread];
  (void)budget_.add(command.bytes.size());
  mailbox.commands.push_back(std::move(command));
  if (mailbox.commands.size() == 1) mailbox.loop->wake();
  return true;
}

void Bridge::take_commands(uint32_t thread, std::vector<Command>& out) {
  out.clear();
  std::lock_guard lock(mutex_);
  out.swap(mailboxes_[thread].commands);
  budget_.give(bytes_of(out));
}

void Bridge::publish_access(std::shared_ptr<const AccessRules> rules) {
  access_.publish(std::move(rules));
  std::lock_guard lock(mutex_);
  for (const Mailbox& one : mailboxes_) {
    if (one.loop != nullptr) one.loop->wake();
  }
}

void Bridge::add_unanswered(std::string_view text) {
  std::lock_guard lock(mutex_);
  unanswered_.insert(unanswered_.end(), text.begin(), text.end());
}

void Bridge::drained(uint64_t cut) {
  std::vector<uint8_t> models;
  {
    std::lock_guard lock(mutex_);
    models.swap(unanswered_);
  }
  const auto value = static_cast<uint32_t>(std::min<uint64_t>(cut, UINT32_MAX));
  if (!push(ListenerEvent::Drained, 0, 0, value, {models}))
    (void)push(ListenerEvent::Drained, 0, 0, value);
}

}  // namespace serval
