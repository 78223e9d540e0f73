// Answers gRPC calls and HTTP requests on one listener's thread, whose port serves both. Hot path;
// that thread.
#pragma once

#include <memory>
#include <utility>

#include "transport/call.h"
#include "transport/http.h"

namespace serval {

class SharedCalls final : public TurnHandler {
 public:
  SharedCalls(std::unique_ptr<CallHandler> calls, std::unique_ptr<HttpHandler> requests)
      : calls_(std::move(calls)), requests_(std::move(requests)) {}

  CallHandler* calls() override { return calls_.get(); }
  HttpHandler* requests() override { return requests_.get(); }
  // Connections are counted as HTTP, whatever they carry.
  void connected(int change) override { requests_->connected(change); }
  void turn_ended() override {
    calls_->turn_ended();
    requests_->turn_ended();
  }
  void woken() override {
    calls_->woken();
    requests_->woken();
  }
  void cutting() override {
    calls_->cutting();
    requests_->cutting();
  }

 private:
  const std::unique_ptr<CallHandler> calls_;
  const std::unique_ptr<HttpHandler> requests_;
};

}  // namespace serval
