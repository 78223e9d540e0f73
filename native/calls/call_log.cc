// Writes access log lines of gRPC calls. Any thread.
#include "calls/call_log.h"

#include <array>
#include <cstddef>

namespace serval {

namespace {

// Source: google/rpc/code.proto.
constexpr std::array<std::string_view, 17> kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

std::string_view protocol_of(std::string_view path) {
  const auto begins = [path](std::string_view prefix) {
    return path.substr(0, prefix.size()) == prefix;
  };
  if (begins("/inference.")) return "v2-grpc";
  if (begins("/tensorflow.")) return "tf-grpc";
  return "grpc";
}

}  // namespace

void log_call(AccessLog& log, std::string_view path, int code, std::string_view message) {
  if (!log.sample(code != 0)) return;
  const auto index = static_cast<size_t>(code);
  AccessRecord record;
  record.protocol = protocol_of(path);
  record.call = path;
  record.code = index < kCodeNames.size() ? kCodeNames[index] : kCodeNames[2];
  record.status = static_cast<uint32_t>(code);
  record.reason = message;
  record.measured = false;
  log.record(record);
}

}  // namespace serval
