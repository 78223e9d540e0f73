// Hot path: route for gRPC. Thread: listener's.
#include "engine/route_table.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "base/generated/engine_generated.h"

namespace serval {

namespace {

VersionRoute read_version(const fb::VersionRoute& route) {
  return {route.version(), route.handle(), route.ready(),
          route.reason() ? route.reason()->str() : std::string()};
}

Error not_found(std::string_view name, std::string_view version) {
  std::string text = "Request for unknown model: '" + std::string(name) + "'";
  if (!version.empty()) text += " version " + std::string(version);
  return make_error(ErrorCode::ModelNotFound, text + " is not found");
}

Error not_ready(std::string_view name, const VersionRoute& route) {
  std::string text = "model '" + std::string(name) + "' version " + std::to_string(route.version) +
                     " is not ready";
  if (!route.reason.empty()) text += ": " + route.reason;
  return make_error(ErrorCode::ModelNotReady, std::move(text));
}

Error no_servable(std::string_view name, const int64_t* version) {
  const std::string which =
      version == nullptr ? "Latest(" + std::string(name) + ")"
                         : "Specific(" + std::string(name) + ", " + std::to_string(*version) + ")";
  return make_error(ErrorCode::ModelNotFound, "Servable not found for request: " + which);
}

Error unknown_label(std::string_view label) {
  return invalid_argument("Unrecognized servable version label: " + std::string(label));
}

}  // namespace

Result<uint32_t> RouteTable::find_servable(std::string_view name, const int64_t* version,
                                           const std::string_view* label) const {
  const auto found = models_.find(name);
  if (found == models_.end()) {
    return label == nullptr ? no_servable(name, version) : unknown_label(*label);
  }
  const ModelRoute& model = *found->second;
  int64_t labelled = 0;
  if (label != nullptr) {
    const auto named = std::find_if(model.labels.begin(), model.labels.end(),
                                    [&](const auto& one) { return one.first == *label; });
    if (named == model.labels.end()) return unknown_label(*label);
    labelled = named->second;
    version = &labelled;
  }
  if (version == nullptr) {
    if (model.default_version < 0) return no_servable(name, nullptr);
    return model.versions[static_cast<size_t>(model.default_version)].handle;
  }
  for (const VersionRoute& route : model.versions) {
    if (route.version == *version && route.ready) return route.handle;
  }
  return no_servable(name, version);
}

Result<RouteChange> RouteChange::parse(std::span<const uint8_t> bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (!verifier.VerifyBuffer<fb::RouteTable>(nullptr)) {
    return invalid_argument("route table: not a valid flatbuffer");
  }
  RouteChange change;
  const auto* root = flatbuffers::GetRoot<fb::RouteTable>(bytes.data());
  if (root->models() == nullptr) return change;
  for (const fb::ModelRoute* model : *root->models()) {
    ModelRoute route;
    route.default_version = model->default_version();
    if (model->versions() != nullptr) {
      for (const fb::VersionRoute* version : *model->versions()) {
        route.versions.push_back(read_version(*version));
      }
    }
    if (model->labels() != nullptr) {
      for (const fb::LabelRoute* label : *model->labels()) {
        route.labels.emplace_back(label->label()->str(), label->version());
      }
    }
    if (route.default_version >= static_cast<int64_t>(route.versions.size())) {
      return invalid_argument("route table: default version of '" + model->name()->str() +
                              "' is out of range");
    }
    change.models.emplace_back(model->name()->str(),
                               std::make_shared<const ModelRoute>(std::move(route)));
  }
  return change;
}

RouteTable RouteTable::with(RouteChange change) const {
  RouteTable next = *this;
  for (auto& [name, route] : change.models) {
    if (route->versions.empty()) next.models_.erase(name);
    else next.models_.insert_or_assign(std::move(name), std::move(route));
  }
  return next;
}

bool RouteTable::leads_to(std::string_view name, int64_t version, uint32_t handle) const {
  const auto found = models_.find(name);
  if (found == models_.end()) return false;
  for (const VersionRoute& route : found->second->versions) {
    if (route.version == version) return route.ready && route.handle == handle;
  }
  return false;
}

Result<uint32_t> RouteTable::find(std::string_view name, std::string_view version) const {
  const auto found = models_.find(name);
  if (found == models_.end()) return not_found(name, {});
  const ModelRoute& model = *found->second;
  if (version.empty()) {
    if (model.default_version >= 0) {
      return model.versions[static_cast<size_t>(model.default_version)].handle;
    }
    return not_ready(name, model.versions.front());
  }
  int64_t number = 0;
  const auto [end, problem] =
      std::from_chars(version.data(), version.data() + version.size(), number);
  const bool whole = end == version.data() + version.size();
  if (problem == std::errc::invalid_argument || !whole || version[0] == '-') {
    return invalid_argument("model version '" + std::string(version.substr(0, 64)) +
                            "' is not a number");
  }
  if (problem != std::errc()) {
    return invalid_argument("model version '" + std::string(version.substr(0, 64)) +
                            "' does not fit 64 bits");
  }
  for (const VersionRoute& route : model.versions) {
    if (route.version != number) continue;
    if (route.ready) return route.handle;
    return not_ready(name, route);
  }
  return not_found(name, version);
}

}  // namespace serval
