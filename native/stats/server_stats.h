// Statistics of the server itself, apart from its models: refused requests, connections,
// certificates, repository problems. Any thread; each value is one atomic word.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "stats/metrics_writer.h"

namespace serval {

// One line of the page each, in the order of the table in server_stats.cc.
enum class ServerValue : uint8_t {
  RefusedQueueFull,
  RefusedInFlight,
  RefusedMemory,
  RefusedBodyTooLarge,
  RefusedNotFound,
  RefusedNotReady,
  RefusedMalformed,
  RefusedAccess,
  RefusedLimit,
  RefusedOther,
  ConnectionsHttp,
  ConnectionsGrpc,
  ConnectionsAdmin,
  ThreadsHttp,
  ThreadsGrpc,
  CertificateHttp,
  CertificateGrpc,
  CertificateAdmin,
  ProblemsUnserved,
  ProblemsWarning,
  ProblemsNote,
  Looks,
  DemandServed,
  DemandLoaded,
  DemandBytes,
  DemandLoads,
  DemandFailures,
  DemandRefusals,
  DemandEvictions,
  DemandWaits,
  DemandWaitUs,
};
inline constexpr size_t kServerValues = static_cast<size_t>(ServerValue::DemandWaitUs) + 1;

class ServerStats {
 public:
  void add(ServerValue value, int64_t change) {
    values_[static_cast<size_t>(value)].fetch_add(change, std::memory_order_relaxed);
  }
  void set(ServerValue value, int64_t to) {
    values_[static_cast<size_t>(value)].store(to, std::memory_order_relaxed);
  }
  // Counts a request that was never run: no model, or no capacity for it.
  void refused(ErrorCode code);
  // The value with the name that JavaScript uses: "connections_http", ...
  static std::optional<ServerValue> named(std::string_view name);
  // Certificates are written once they were set, all others from the start.
  void write(MetricsWriter& writer) const;

 private:
  std::array<std::atomic<int64_t>, kServerValues> values_{};
};

}  // namespace serval
