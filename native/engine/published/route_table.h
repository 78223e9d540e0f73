// Maps the names in a request to a model: an immutable table. The registry publishes changes, each
// of which makes a new table that shares the unchanged models. Readers: listener threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "engine/request/missing.h"

namespace serval {

struct VersionRoute {
  int64_t version = 0;
  uint32_t handle = 0;
  bool ready = false;
  std::string reason;
};

struct ModelRoute {
  int64_t default_version = -1;  // index into versions
  bool gone = false;             // the model is removed
  std::vector<VersionRoute> versions;
  std::vector<std::pair<std::string, int64_t>> labels;
};

// Models that are new or changed, or are removed.
struct RouteChange {
  // Reads engine.fbs RouteTable bytes. Errors: invalid_argument if the bytes are invalid.
  static Result<RouteChange> parse(std::span<const uint8_t> bytes);

  std::vector<std::pair<std::string, std::shared_ptr<const ModelRoute>>> models;
};

class RouteTable {
 public:
  // Returns this table with the change. Control plane.
  RouteTable with(RouteChange change) const;

  // Returns the handle that serves `name` at `version` (decimal text; empty = default). Returns
  // nothing if there is none: `missing` is then the missing part, in views of the names and the
  // table.
  std::optional<uint32_t> find(std::string_view name, std::string_view version,
                               Missing& missing) const;

  // Does the same by number or label (each may be null). Source: tfserving.md 1.10.
  std::optional<uint32_t> find_servable(std::string_view name, const int64_t* version,
                                        const std::string_view* label, Missing& missing) const;

  // Returns whether a request for `name` and `version` gets this handle.
  bool leads_to(std::string_view name, int64_t version, uint32_t handle) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Route = std::shared_ptr<const ModelRoute>;
  std::unordered_map<std::string, Route, Hash, std::equal_to<>> models_;
};

}  // namespace serval
