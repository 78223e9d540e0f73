// Implements the server's own counters. Any thread.
#include "stats/server_stats.h"

#include <algorithm>
#include <string>

namespace serval {

namespace {

struct Row {
  std::string_view name, family, labels;
};
struct Family {
  std::string_view name, type, help;
};

constexpr std::string_view kRefused = "serval_requests_refused_total";
constexpr std::string_view kConnections = "serval_connections";
constexpr std::string_view kThreads = "serval_listener_threads";
constexpr std::string_view kExpiry = "serval_tls_certificate_expiry_seconds";
constexpr std::string_view kProblems = "serval_repository_problems";
constexpr std::string_view kLooks = "serval_repository_looks_total";

constexpr std::string_view kDemandModels = "serval_on_demand_models";
constexpr std::string_view kDemandBytes = "serval_on_demand_bytes";
constexpr std::string_view kDemandLoads = "serval_on_demand_loads_total";
constexpr std::string_view kDemandEvictions = "serval_on_demand_evictions_total";
constexpr std::string_view kDemandWaits = "serval_on_demand_waits_total";
constexpr std::string_view kDemandWait = "serval_on_demand_wait_seconds_total";

constexpr std::array<Family, 12> kFamilies = {{
    {kRefused, "counter", "Requests that were refused before any model ran, by reason"},
    {kConnections, "gauge", "Open connections of each listener"},
    {kThreads, "gauge", "Threads of each listener; a port that HTTP and gRPC share is http"},
    {kExpiry, "gauge", "Expiry of the served certificate, in seconds since 1970"},
    {kProblems, "gauge", "Current problems with model paths and files, by consequence"},
    {kLooks, "counter", "Scans of the model sources"},
    {kDemandModels, "gauge", "Versions that load on demand: all, and those that are loaded"},
    {kDemandBytes, "gauge", "Bytes of the versions that are loaded on demand"},
    {kDemandLoads, "counter", "Loads on demand, by result; refused: no memory for the model"},
    {kDemandEvictions, "counter", "Versions that left memory for another one"},
    {kDemandWaits, "counter", "Requests that waited for their model's load"},
    {kDemandWait, "counter", "Cumulative time that requests waited for loads"},
}};

constexpr std::array<Row, kServerValues> kRows = {{
    {"refused_queue_full", kRefused, R"(reason="queue_full")"},
    {"refused_in_flight", kRefused, R"(reason="in_flight")"},
    {"refused_memory", kRefused, R"(reason="memory")"},
    {"refused_body_too_large", kRefused, R"(reason="body_too_large")"},
    {"refused_not_found", kRefused, R"(reason="not_found")"},
    {"refused_not_ready", kRefused, R"(reason="not_ready")"},
    {"refused_malformed", kRefused, R"(reason="malformed")"},
    {"refused_access", kRefused, R"(reason="access")"},
    {"refused_limit", kRefused, R"(reason="limit")"},
    {"refused_other", kRefused, R"(reason="other")"},
    {"connections_http", kConnections, R"(listener="http")"},
    {"connections_grpc", kConnections, R"(listener="grpc")"},
    {"connections_admin", kConnections, R"(listener="admin")"},
    {"threads_http", kThreads, R"(listener="http")"},
    {"threads_grpc", kThreads, R"(listener="grpc")"},
    {"certificate_http", kExpiry, R"(transport="http")"},
    {"certificate_grpc", kExpiry, R"(transport="grpc")"},
    {"certificate_admin", kExpiry, R"(transport="admin")"},
    {"problems_unserved", kProblems, R"(kind="unserved")"},
    {"problems_warning", kProblems, R"(kind="warning")"},
    {"problems_note", kProblems, R"(kind="note")"},
    {"looks", kLooks, ""},
    {"demand_served", kDemandModels, R"(state="served")"},
    {"demand_loaded", kDemandModels, R"(state="loaded")"},
    {"demand_bytes", kDemandBytes, ""},
    {"demand_loads", kDemandLoads, R"(result="loaded")"},
    {"demand_failures", kDemandLoads, R"(result="failed")"},
    {"demand_refusals", kDemandLoads, R"(result="refused")"},
    {"demand_evictions", kDemandEvictions, ""},
    {"demand_waits", kDemandWaits, ""},
    {"demand_wait_us", kDemandWait, ""},
}};

ServerValue reason_of(ErrorCode code) {
  switch (code) {
    // For requests without a model: those that a model's own queue refuses are counted there.
    case ErrorCode::QueueFull: return ServerValue::RefusedInFlight;
    case ErrorCode::MemoryFull: return ServerValue::RefusedMemory;
    case ErrorCode::BodyTooLarge: return ServerValue::RefusedBodyTooLarge;
    case ErrorCode::ModelNotFound:
    case ErrorCode::SignatureNotFound: return ServerValue::RefusedNotFound;
    case ErrorCode::ModelNotReady: return ServerValue::RefusedNotReady;
    case ErrorCode::MalformedBody:
    case ErrorCode::InvalidArgument: return ServerValue::RefusedMalformed;
    case ErrorCode::LimitReached: return ServerValue::RefusedLimit;
    default: return ServerValue::RefusedOther;
  }
}

}  // namespace

void ServerStats::refused(ErrorCode code) { add(reason_of(code), 1); }

std::optional<ServerValue> ServerStats::named(std::string_view name) {
  const auto* const found =
      std::find_if(kRows.begin(), kRows.end(), [name](const Row& row) { return row.name == name; });
  if (found == kRows.end()) return std::nullopt;
  return static_cast<ServerValue>(found - kRows.begin());
}

void ServerStats::write(MetricsWriter& writer) const {
  for (const Family& family : kFamilies) {
    const bool always = family.name != kExpiry;
    bool begun = false;
    for (size_t i = 0; i < kRows.size(); ++i) {
      if (kRows[i].family != family.name) continue;
      // A decrement may be visible before the increment it follows: clamps at 0.
      const int64_t value = std::max<int64_t>(values_[i].load(std::memory_order_relaxed), 0);
      if (value == 0 && !always) continue;
      if (!begun) writer.family(family.name, family.type, family.help);
      begun = true;
      // Counted in microseconds.
      const bool is_time = family.name == kDemandWait;
      const std::string text =
          is_time ? std::to_string(static_cast<double>(value) / 1e6) : std::to_string(value);
      if (kRows[i].labels.empty()) writer.plain_sample(family.name, text);
      else writer.sample(family.name, kRows[i].labels, static_cast<uint64_t>(value));
    }
  }
}

}  // namespace serval
