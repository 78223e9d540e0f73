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
#include "calls/route_generations.h"
#include "engine/request/protocol.h"
#include "transport/http.h"

namespace serval {

// Removes the next text of a payload, without its terminating NUL byte. False: there is none.
bool take_text(std::string_view& rest, std::string_view& out);

// A constant response.
struct LearnedAnswer {
  int status = 0;
  std::string content_type;
  std::vector<uint8_t> body;
};

// A rule: the engine may answer requests with this method and path, no query, this Host, none of
// the headers that JavaScript has to see, and a key that was accepted before.
struct LearnedRoute {
  Protocol protocol = Protocol::V1Predict;
  uint32_t handle = 0;                          // the model's handle
  uint32_t number = 0;                          // assigned by JavaScript
  uint32_t part = 0;                            // see RouteGenerations
  uint32_t generation = 0;                      // of the part
  std::vector<std::string> key_headers;         // lower case; empty: no key is needed
  std::shared_ptr<const std::string> added;     // header lines to add to each response; null = none
  std::shared_ptr<const LearnedAnswer> answer;  // null: the model answers
};

class LearnedRoutes {
 public:
  // Replaces the protocol in a rule that carries a constant response.
  static constexpr uint32_t kAnswer = UINT32_MAX;
  // `rule`: the payload of ListenerCommand::Learn; `value`: the model's handle, or the response's
  // status. False: it is malformed, or of other generations than `now`.
  bool learn(const RouteGenerations& now, uint32_t value, std::span<const uint8_t> rule);
  // Null if JavaScript has to answer, because no rule applies or the request has to be refused.
  // Drops rules of other generations.
  // `caller`: becomes the number of the caller with the key, 0 = none.
  const LearnedRoute* find(const RouteGenerations& now, const HttpRequest& request,
                           uint32_t& caller);

 private:
  static constexpr size_t kRoutesMax = 65'536;
  void forget(uint32_t whole);
  static void set_key(std::string& out, std::string_view method, std::string_view path,
                      std::string_view host);

  std::unordered_map<std::string, LearnedRoute> routes_;  // by method, path and Host
  bool lets_in(const LearnedRoute& route, const HttpRequest& request, uint32_t& caller) const;

  AcceptedKeys accepted_;  // accepted keys, by route and header
  std::string key_;        // key of the current lookup
  uint32_t whole_ = 0;     // generation of the whole
};

}  // namespace serval
