// Answers the HTTP requests of one listener's thread. JavaScript owns the routes: a request goes
// there by way of the bridge, and the answer may come with a rule that the engine may answer
// requests like this one by itself, until the rules are forgotten. Hot path; that thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "calls/accepted_keys.h"
#include "calls/codings.h"
#include "calls/lane_calls.h"
#include "transport/http.h"

namespace serval {

// A rule: the engine may answer requests with this method and path, without a query, with this
// Host, without headers that JavaScript has to see, and with a key that let somebody in.
struct LearnedRoute {
  Protocol protocol = Protocol::V1Predict;
  uint32_t handle = 0;                   // of the model
  uint32_t number = 0;                   // JavaScript's
  std::vector<std::string> key_headers;  // lower case; none: anybody may ask
};

class LearnedRoutes {
 public:
  // `rule`: the payload of ListenerCommand::Learn. False: it cannot be read, or is of another
  // generation than `generation`.
  bool learn(uint32_t generation, uint32_t handle, std::span<const uint8_t> rule);
  // Null where JavaScript answers: it knows better, or has to refuse. Forgets what is of another
  // generation.
  const LearnedRoute* find(uint32_t generation, const HttpRequest& request);

 private:
  static constexpr size_t kRoutesMax = 65'536;
  void forget(uint32_t generation);
  static void set_key(std::string& out, std::string_view method, std::string_view path,
                      std::string_view host);

  std::unordered_map<std::string, LearnedRoute> routes_;  // by method, path and Host
  bool lets_in(const LearnedRoute& route, const HttpRequest& request) const;

  AcceptedKeys accepted_;  // those that let somebody in, by route and header
  std::string key_;        // of the request that is looked up
  uint32_t generation_ = 0;
};

class RestCalls final : public HttpHandler, private LaneCalls {
 public:
  // Borrows all but the engine until it goes.
  RestCalls(CallThread& thread, std::shared_ptr<Engine> engine, const ServeSettings& settings,
            Bridge& bridge);

  void begin(HttpRequest& request) override;
  void data(HttpRequest& request, std::span<const uint8_t> bytes, bool last) override;
  void closed(HttpRequest& request) override;
  void refused(const Refused& what) override;
  void connected(int change) override;
  void turn_ended() override { end_turn(); }
  void woken() override;
  void cutting() override { tell_unanswered(); }

 private:
  // A request that the engine answers; its HttpRequest's state. Kept and used again.
  struct Inference {
    Protocol protocol = Protocol::V1Predict;
    uint32_t handle = 0;
    uint32_t route = 0;
    int64_t json_bytes = -1;  // Inference-Header-Content-Length; -1 = absent
    uint32_t ticket = 0;      // of its open body, or of its place in the engine
    AskedCodings codings;
    size_t json_bytes_out = 0;  // of an answer that is packed
    std::string trace_parent, trace_state;
    std::string answer_trace;  // the traceparent of its answer, as a header's line
  };

  void completed(const Waiting& waiting, Request& request) override;
  static Inference* inference_of(HttpRequest& request) {
    return static_cast<Inference*>(request.state);
  }
  bool begin_inference(HttpRequest& request, const LearnedRoute& route);
  void infer(HttpRequest& request, Inference& asked, std::span<const uint8_t> bytes, bool last);
  bool open_body(HttpRequest& request, Inference& asked);
  bool append(HttpRequest& request, Inference& asked, std::span<const uint8_t> bytes);
  void settle(HttpRequest& request, Inference& asked, const Answer& answered);
  void answer(HttpRequest& request, Inference& asked, Request& out, ErrorCode code);
  void pack(HttpRequest& request, Inference& asked, ByteBuffer& body);
  void send_packed(PackedAnswer& packed);
  void send_body(HttpRequest& request, Inference& asked, ByteBuffer& body,
                 std::optional<Coding> coding);
  void failed(HttpRequest& request, const Inference& asked, ErrorCode code, size_t missing_bytes,
              std::span<const uint8_t> text);
  void drop(HttpRequest& request);
  void open(HttpRequest& request);
  void forward(HttpRequest& request, std::span<const uint8_t> bytes, bool last);
  void send_text(HttpRequest& request, int status, std::string_view reason);
  void obey(const Bridge::Command& command);
  void go_on_reading();

  LearnedRoutes routes_;
  AnswerPacker packer_;
  std::vector<std::unique_ptr<Inference>> inferences_;
  std::vector<Inference*> free_inferences_;
  std::string head_;  // of the request that is forwarded
};

}  // namespace serval
