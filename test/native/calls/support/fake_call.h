// A call and a thread without a listener: keeps what was sent, and can refuse to send.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "transport/call.h"

namespace serval::test {

class FakeThread final : public CallThread {
 public:
  explicit FakeThread(uint32_t index = 0) : index_(index) {}
  uint32_t index() const override { return index_; }
  Call* find(uint64_t) override { return nullptr; }
  HttpRequest* find_request(uint64_t) override { return nullptr; }
  void wake() override { wakes.fetch_add(1); }
  ByteBuffer take_buffer() override { return {}; }
  void give_buffer(ByteBuffer) override {}
  void drop_kept() override {}
  void note_flow(const FlowShare&) override {}

  std::atomic<int> wakes{0};

 private:
  const uint32_t index_;
};

class FakeCall final : public Call {
 public:
  ~FakeCall() override = default;
  const Metadata& metadata() const override { return metadata_; }
  std::string_view metadata_value(std::string_view name) const override {
    for (const MetadataEntry& entry : metadata_) {
      if (entry.name == name) return entry.value;
    }
    return {};
  }
  void add_initial_metadata(std::string_view, std::string_view) override {}
  void add_trailing_metadata(std::string_view, std::string_view) override {}
  void send_initial_metadata() override {}
  bool send(ByteBuffer& message) override { return send(message.bytes()); }
  bool send(std::span<const uint8_t> message) override {
    if (sent.size() >= sends_max) return false;
    sent.emplace_back(message.begin(), message.end());
    return true;
  }
  void finish(const CallStatus& given) override {
    ++finishes;
    status = given.code;
    message = given.message;
  }
  void set_paused(bool value) override { paused = value; }
  size_t unsent_messages() const override { return unsent; }
  uint64_t unsent_bytes() const override { return bytes_unsent; }

  std::vector<std::string> sent;
  size_t sends_max = SIZE_MAX;  // further sends are refused
  int finishes = 0;
  int status = -1;
  std::string message;
  bool paused = false;
  size_t unsent = 0;
  uint64_t bytes_unsent = 0;

 private:
  Metadata metadata_;
};

}  // namespace serval::test
