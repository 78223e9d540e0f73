// The table of methods and of what answers each: the engine, or the JavaScript thread through the
// bridge. Data: made once, before the listener starts, then read by its threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "calls/missing_words.h"
#include "engine/request/protocol.h"
#include "transport/call.h"

namespace serval {

// A protocol's error texts and statuses.
struct Wording {
  std::string queue_full;  // prefix of the queue_full text
  size_t bytes_max = SIZE_MAX;
  std::string cut_mark;  // appended to a text that was cut
  std::vector<MissingSentence> missing = {};
};

struct CallMethod {
  std::string path;  // "/package.Service/Method"
  bool streams = false;
  std::optional<Protocol> protocol;  // the engine answers; nothing: forwarded
  uint32_t wording = 0;
};

class MethodTable {
 public:
  // `statuses`: the gRPC number of each ErrorCode. Errors: invalid_argument: a path is duplicated,
  // or a wording is missing.
  static Result<MethodTable> make(std::vector<CallMethod> methods, std::vector<Wording> wordings,
                                  std::vector<uint8_t> statuses);

  std::optional<MethodKind> find(std::string_view path) const;
  const CallMethod& at(uint32_t method) const { return methods_[method]; }
  int status_of(ErrorCode code) const;
  // The status text of an error that ends a call of this method.
  std::string worded(uint32_t method, ErrorCode code, std::string_view text) const;
  const Wording& wording_of(uint32_t method) const { return wordings_[methods_[method].wording]; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::vector<CallMethod> methods_;
  std::vector<Wording> wordings_;
  std::vector<uint8_t> statuses_;
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> by_path_;
};

}  // namespace serval
