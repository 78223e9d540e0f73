// HTTP requests for tests of the listener, over HTTP/1 and HTTP/2. Runs on the listener's threads.
#pragma once

#include <atomic>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes/views.h"
#include "transport/http.h"

namespace serval::testing {

struct HttpJournal {
  std::atomic<int> begun{0}, closed{0}, refused{0};
  std::atomic<bool> go_on{false};
};

// /echo answers with its body, /early answers before the body has arrived, /hang never, /later when
// it is allowed to, /large with as many bytes as its query states, /slow pauses its body until it
// may continue.
class HttpEcho final : public HttpHandler {
 public:
  static constexpr size_t kLargeBytesMax = 16u << 20;

  HttpEcho(CallThread& thread, HttpJournal& journal) : thread_(thread), journal_(journal) {}

  void begin(HttpRequest& request) override {
    ++journal_.begun;
    request.want_body();
    Asked& asked = asked_[request.id()];
    asked.path = request.path();
    asked.query = request.query();
    asked.method = request.method();
    if (asked.path == "/slow") request.set_paused(!journal_.go_on);
    if (asked.path == "/early") answer(request, 403, "early");
  }
  void data(HttpRequest& request, std::span<const uint8_t> bytes, bool last) override {
    Asked& asked = asked_[request.id()];
    asked.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!last || asked.path == "/hang" || (asked.path == "/later" && !journal_.go_on)) return;
    if (asked.path != "/large") {
      answer(request, 200, asked.method + " " + asked.body);
      return;
    }
    ByteBuffer buffer = thread_.take_buffer();
    const size_t count = std::strtoul(asked.query.c_str(), nullptr, 10);
    if (count > kLargeBytesMax || !buffer.append(std::string(count, 'x'))) {
      answer(request, 503, "no memory");
      return;
    }
    HttpAnswer out;
    out.body = buffer.bytes();
    out.owned = &buffer;
    asked_.erase(request.id());
    request.send(out);
    thread_.give_buffer(std::move(buffer));
  }
  void closed(HttpRequest& request) override {
    ++journal_.closed;
    asked_.erase(request.id());
  }
  void refused(const Refused&) override { ++journal_.refused; }
  void woken() override {
    if (!journal_.go_on) return;
    std::vector<uint64_t> waiting;
    for (const auto& [id, asked] : asked_) {
      if (asked.path == "/later" || asked.path == "/slow") waiting.push_back(id);
    }
    for (const uint64_t id : waiting) {
      HttpRequest* request = thread_.find_request(id);
      if (request == nullptr) continue;
      if (asked_[id].path == "/slow") request->set_paused(false);
      else answer(*request, 200, "later");
    }
  }

 private:
  struct Asked {
    std::string method, path, query, body;
  };
  void answer(HttpRequest& request, int status, const std::string& text) {
    asked_.erase(request.id());
    request.send({status, "text/plain", "X-More: 1\r\n", serval::bytes_of(text), nullptr});
  }

  CallThread& thread_;
  HttpJournal& journal_;
  std::unordered_map<uint64_t, Asked> asked_;
};

}  // namespace serval::testing
