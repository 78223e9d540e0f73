// Hot path: route for gRPC. Thread: listener's.
#include "engine/published/route_table.h"

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

std::nullopt_t no_part(fb::MissingPart part, std::string_view name, std::string_view version,
                       Missing& missing) {
  missing.part = part;
  missing.model = name;
  missing.version = version;
  return std::nullopt;
}

}  // namespace

std::optional<uint32_t> RouteTable::find_servable(std::string_view name, const int64_t* version,
                                                  const std::string_view* label,
                                                  Missing& missing) const {
  const auto no = [&](fb::MissingPart part) {
    if (label != nullptr) missing.label = *label;
    return no_part(part, name, version == nullptr ? "" : std::to_string(*version), missing);
  };
  const auto found = models_.find(name);
  if (found == models_.end()) {
    return no(label == nullptr ? fb::MissingPart::Model : fb::MissingPart::Label);
  }
  const ModelRoute& model = *found->second;
  // A model without versions is as unknown as others, but the registry has the reason.
  if (model.versions.empty()) {
    missing.known = true;
    return no(label == nullptr ? fb::MissingPart::Model : fb::MissingPart::Label);
  }
  if (label != nullptr) {
    const auto named = std::find_if(model.labels.begin(), model.labels.end(),
                                    [&](const auto& one) { return one.first == *label; });
    if (named == model.labels.end()) return no(fb::MissingPart::Label);
    version = &named->second;
  }
  if (version == nullptr) {
    missing.known = true;
    if (model.default_version < 0) return no(fb::MissingPart::Version);
    return model.versions[static_cast<size_t>(model.default_version)].handle;
  }
  for (const VersionRoute& route : model.versions) {
    if (route.version != *version) continue;
    missing.known = true;
    if (route.ready) return route.handle;
  }
  return no(fb::MissingPart::Version);
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
    route.gone = model->gone();
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
    if (route->gone) next.models_.erase(name);
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

std::optional<uint32_t> RouteTable::find(std::string_view name, std::string_view version,
                                         Missing& missing) const {
  const auto found = models_.find(name);
  if (found == models_.end()) return no_part(fb::MissingPart::Model, name, version, missing);
  const ModelRoute& model = *found->second;
  missing.known = model.versions.empty();
  if (missing.known) return no_part(fb::MissingPart::Model, name, version, missing);
  const VersionRoute* route = nullptr;
  if (version.empty()) {
    const bool ready = model.default_version >= 0;
    route = &model.versions[ready ? static_cast<size_t>(model.default_version) : 0];
  } else {
    int64_t number = 0;
    const char* end = version.data() + version.size();
    const auto [at, problem] = std::from_chars(version.data(), end, number);
    if (problem == std::errc::invalid_argument || at != end || version[0] == '-') {
      return no_part(fb::MissingPart::Number, name, version, missing);
    }
    if (problem != std::errc()) return no_part(fb::MissingPart::Int64, name, version, missing);
    for (const VersionRoute& one : model.versions) {
      if (one.version == number) route = &one;
    }
    if (route == nullptr) return no_part(fb::MissingPart::Version, name, version, missing);
  }
  if (route->ready) return route->handle;
  missing.known = true;
  missing.found_version = route->version;
  missing.reason = route->reason;
  return no_part(fb::MissingPart::Ready, name, version, missing);
}

}  // namespace serval
