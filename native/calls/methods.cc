// Finds methods and formats their errors. Hot path; any thread.
#include "calls/methods.h"

#include <utility>

namespace serval {

namespace {}  // namespace

Result<MethodTable> MethodTable::make(std::vector<CallMethod> methods,
                                      std::vector<Wording> wordings,
                                      std::vector<uint8_t> statuses) {
  MethodTable table;
  for (uint32_t i = 0; i < methods.size(); ++i) {
    if (methods[i].wording >= wordings.size()) {
      return invalid_argument("gRPC method " + methods[i].path + " has no wording");
    }
    if (!table.by_path_.emplace(methods[i].path, i).second) {
      return invalid_argument("gRPC method " + methods[i].path + " is registered twice");
    }
  }
  table.methods_ = std::move(methods);
  table.wordings_ = std::move(wordings);
  table.statuses_ = std::move(statuses);
  return table;
}

// Hot path: route for gRPC.
std::optional<MethodKind> MethodTable::find(std::string_view path) const {
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return std::nullopt;
  const CallMethod& method = methods_[found->second];
  return MethodKind{found->second, method.streams, method.streams, method.path};
}

int MethodTable::status_of(ErrorCode code) const {
  const auto index = static_cast<size_t>(code);
  return index < statuses_.size() ? statuses_[index] : grpc_code::kInternal;
}

std::string MethodTable::worded(uint32_t method, ErrorCode code, std::string_view text) const {
  const Wording& wording = wording_of(method);
  std::string out;
  if (code == ErrorCode::QueueFull) out = wording.queue_full;
  out += text;
  if (out.size() <= wording.bytes_max) return out;
  size_t end = wording.bytes_max;
  while (end > 0 && (static_cast<uint8_t>(out[end]) & 0xc0) == 0x80) --end;
  out.resize(end);
  return out + wording.cut_mark;
}

}  // namespace serval
