// Stores and matches learned rules. Hot path; the listener's thread.
#include "calls/learned_routes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/bytes/views.h"

namespace serval {

namespace {

constexpr int kHeaderShift = 32;  // bits below a header's index, for the number of a route

// The only header with this lower-case name; "" if there is none, or several.
std::string_view only_header(const HttpRequest& request, std::string_view lower) {
  std::string_view value;
  for (const HttpHeader& header : request.headers()) {
    if (!is_header(header.name, lower)) continue;
    if (!value.empty()) return {};
    value = header.value;
  }
  return value;
}

}  // namespace

bool take_text(std::string_view& rest, std::string_view& out) {
  const size_t end = rest.find('\0');
  if (end == std::string_view::npos) return false;
  out = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return true;
}

bool LearnedRoutes::learn(const RouteGenerations& now, uint32_t value,
                          std::span<const uint8_t> rule) {
  std::array<uint32_t, 6> numbers{};  // kind, number, whole, part, its generation, caller
  if (rule.size() < sizeof numbers) return false;
  std::memcpy(numbers.data(), rule.data(), sizeof numbers);
  const uint32_t whole = now.whole();
  if (numbers[2] != whole || numbers[4] != now.of(numbers[3])) return false;
  forget(whole);
  std::string_view rest = text_of(rule.subspan(sizeof numbers));
  std::string_view method, path, host, key_header, key_value, added;
  for (std::string_view* text : {&method, &path, &host, &key_header, &key_value, &added}) {
    if (!take_text(rest, *text)) return false;
  }
  std::shared_ptr<LearnedAnswer> answer;
  if (numbers[0] == kAnswer) {
    std::string_view content_type;
    if (!take_text(rest, content_type)) return false;
    const std::span<const uint8_t> body = bytes_of(rest);
    answer = std::make_shared<LearnedAnswer>();
    answer->status = static_cast<int>(value);
    answer->content_type = content_type;
    answer->body.assign(body.begin(), body.end());
  } else if (numbers[0] > static_cast<uint32_t>(Protocol::MAX)) {
    return false;
  }
  if (routes_.size() >= kRoutesMax) routes_.clear();
  std::string key;
  set_key(key, method, path, host);
  LearnedRoute& route = routes_[key];
  if (route.number != numbers[1]) {
    route = {};
    route.number = numbers[1];
    route.part = numbers[3];
    route.generation = numbers[4];
    if (answer == nullptr) {
      route.protocol = static_cast<Protocol>(numbers[0]);
      route.handle = value;
    }
    if (!added.empty()) route.added = std::make_shared<std::string>(added);
    route.answer = std::move(answer);
  }
  if (key_header.empty()) return true;
  std::vector<std::string>& headers = route.key_headers;
  const auto known = std::find(headers.begin(), headers.end(), key_header);
  const auto index = static_cast<uint64_t>(known - headers.begin());
  if (known == headers.end()) headers.emplace_back(key_header);
  accepted_.add(index << kHeaderShift | route.number, key_value, numbers[5]);
  return true;
}

void LearnedRoutes::forget(uint32_t whole) {
  if (whole_ == whole) return;
  whole_ = whole;
  routes_.clear();
  accepted_.clear();
}

bool LearnedRoutes::lets_in(const LearnedRoute& route, const HttpRequest& request,
                            uint32_t& caller) const {
  for (size_t i = 0; i < route.key_headers.size(); ++i) {
    const std::string_view value = only_header(request, route.key_headers[i]);
    if (value.empty()) continue;
    const auto found = accepted_.find(uint64_t{i} << kHeaderShift | route.number, value);
    if (found.has_value()) {
      caller = *found;
      return true;
    }
  }
  return route.key_headers.empty();
}

// A space separates the parts, since none of them contains one.
void LearnedRoutes::set_key(std::string& out, std::string_view method, std::string_view path,
                            std::string_view host) {
  out.assign(method);
  out += ' ';
  out += path;
  out += ' ';
  out += host;
}

// Hot path: route.
const LearnedRoute* LearnedRoutes::find(const RouteGenerations& now, const HttpRequest& request,
                                        uint32_t& caller) {
  caller = 0;
  forget(now.whole());
  if (routes_.empty() || !request.query().empty()) return nullptr;
  set_key(key_, request.method(), request.path(), request.header("host"));
  const auto found = routes_.find(key_);
  if (found == routes_.end()) return nullptr;
  const LearnedRoute& route = found->second;
  if (route.generation != now.of(route.part)) {
    routes_.erase(found);
    return nullptr;
  }
  // JavaScript decides which responses pages of other origins may read.
  if (route.added != nullptr && !request.header("origin").empty()) return nullptr;
  return lets_in(route, request, caller) ? &route : nullptr;
}

}  // namespace serval
