// Rules that an HTTP listener has learned from JavaScript: which requests the engine may answer by
// itself, and how (docs/decisions/0021). Hot path; one listener's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "calls/accepted_keys.h"
#include "engine/request/protocol.h"
#include "transport/http.h"

namespace serval {

// The next text of a payload, without the NUL byte that ends it, which goes. False: there is none.
bool take_text(std::string_view& rest, std::string_view& out);

// An answer that stays the same.
struct LearnedAnswer {
  int status = 0;
  std::string content_type;
  std::vector<uint8_t> body;
};

// A rule: the engine may answer requests with this method and path, without a query, with this
// Host, without headers that JavaScript has to see, and with a key that let somebody in.
struct LearnedRoute {
  Protocol protocol = Protocol::V1Predict;
  uint32_t handle = 0;                          // of the model
  uint32_t number = 0;                          // JavaScript's
  std::vector<std::string> key_headers;         // lower case; none: anybody may ask
  std::shared_ptr<const std::string> added;     // headers' lines of each answer; null = none
  std::shared_ptr<const LearnedAnswer> answer;  // null: the model answers
};

class LearnedRoutes {
 public:
  // In place of a protocol in a rule: it has the answer.
  static constexpr uint32_t kAnswer = UINT32_MAX;
  // `rule`: the payload of ListenerCommand::Learn; `value`: the model's handle, or the answer's
  // status. False: it cannot be read, or is of another generation than `generation`.
  bool learn(uint32_t generation, uint32_t value, std::span<const uint8_t> rule);
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

}  // namespace serval
