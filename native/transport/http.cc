// Implements header lookup, error bodies and the cached Date header of http.h. Hot path; the
// listener's thread.
#include "transport/http.h"

#include <cstdio>
#include <ctime>

namespace serval {

std::string_view HttpRequest::header(std::string_view lower) const {
  for (const HttpHeader& header : headers_) {
    if (is_header(header.name, lower)) return header.value;
  }
  return {};
}

std::string error_json(std::string_view reason) {
  std::string out = R"({"error":")";
  for (const char one : reason) {
    if (one == '"' || one == '\\') out += '\\';
    out += one;
  }
  return out + R"("})";
}

// Source: RFC 9110 5.6.7.
std::string_view date_text() {
  static thread_local std::time_t made = 0;
  static thread_local char text[64];
  static thread_local size_t bytes = 0;
  const std::time_t now = std::time(nullptr);
  if (now != made || bytes == 0) {
    std::tm parts{};
    gmtime_r(&now, &parts);
    constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const int count = std::snprintf(
        text, sizeof text, "%s, %02d %s %d %02d:%02d:%02d GMT", kDays[parts.tm_wday], parts.tm_mday,
        kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
    bytes = count > 0 ? static_cast<size_t>(count) : 0;
    made = now;
  }
  return {text, bytes};
}

}  // namespace serval
