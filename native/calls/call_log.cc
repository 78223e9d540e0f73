// Writes access log lines of gRPC calls. Any thread.
#include "calls/call_log.h"

#include <cstddef>

#include "base/generated/grpc_code.h"

namespace serval {

namespace {

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
  if (!log.sample(code != grpc_code::kOk)) return;
  const auto index = static_cast<size_t>(code);
  const auto& names = grpc_code::kNames;
  AccessRecord record;
  record.protocol = protocol_of(path);
  record.call = path;
  record.code = index < names.size() ? names[index] : names[grpc_code::kUnknown];
  record.status = static_cast<uint32_t>(code);
  record.reason = message;
  record.measured = false;
  log.record(record);
}

}  // namespace serval
