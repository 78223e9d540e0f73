// Answers the HTTP requests of one listener's thread. JavaScript owns the routes: a request reaches
// it over the bridge, and the answer may carry a rule that lets the engine answer similar requests
// by itself, until the rules are forgotten. Hot path; that thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "calls/codings.h"
#include "calls/lane_calls.h"
#include "calls/learned_routes.h"
#include "engine/observe/load_report.h"
#include "transport/http.h"

namespace serval {

class RestCalls final : public HttpHandler, private LaneCalls {
 public:
  // Borrows everything except the engine, for its lifetime. `connections` counts connections; null:
  // they are not counted.
  RestCalls(CallThread& thread, std::shared_ptr<Engine> engine, const ServeSettings& settings,
            Bridge& bridge, std::optional<ServerValue> connections);

  void begin(HttpRequest& request) override;
  void data(HttpRequest& request, std::span<const uint8_t> bytes, bool last) override;
  void closed(HttpRequest& request) override;
  void refused(const Refused& what) override;
  void connected(int change) override;
  void turn_ended() override { end_turn(); }
  void woken() override;
  void cutting() override { tell_unanswered(); }

 private:
  // The state of an HttpRequest that the engine answers. Reused.
  struct Inference {
    Protocol protocol = Protocol::V1Predict;
    uint32_t handle = 0;
    uint32_t route = 0;
    uint32_t caller = 0;      // number in the CallerTable; 0 = none
    int64_t json_bytes = -1;  // Inference-Header-Content-Length; -1 = absent
    uint32_t ticket = 0;      // of its open body, or of its slot in the engine
    AskedCodings codings;
    std::shared_ptr<const std::string> added;  // header lines of the response; null = none
    size_t json_bytes_out = 0;                 // of a response that is being compressed
    std::string trace_parent, trace_state;
    std::string answer_lines;  // header lines of the response: traceparent, the wait for a load
  };

  void completed(const Waiting& waiting, Request& request) override;
  static Inference* inference_of(HttpRequest& request) {
    return static_cast<Inference*>(request.state);
  }
  static void give(HttpRequest& request, const LearnedRoute& route);
  bool begin_inference(HttpRequest& request, const LearnedRoute& route, uint32_t caller);
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
  // Remembers that a request asks for the machine's load.
  void note_load_format(const HttpRequest& request);
  // The header line that it gets; "" = none. Asked once for each request.
  std::string take_load_line(const HttpRequest& request);

  const std::optional<ServerValue> connections_;
  LearnedRoutes routes_;
  AnswerPacker packer_;
  std::vector<std::unique_ptr<Inference>> inferences_;
  std::vector<Inference*> free_inferences_;
  std::string head_;                                       // head of the request being forwarded
  std::unordered_map<uint64_t, LoadFormat> load_formats_;  // of requests that ask for the load
};

}  // namespace serval
