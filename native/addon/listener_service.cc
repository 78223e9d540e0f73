// Reads a listener's options from JavaScript and delivers its events. Control plane; that thread.
#include "addon/listener_service.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes/views.h"
#include "calls/engine_calls.h"
#include "calls/rest_calls.h"
#include "calls/shared_calls.h"
#include "transport/growth/policy.h"
#include "transport/listener.h"

namespace serval {

namespace {

// The members of an options object; an absent one keeps the current value.
class Members {
 public:
  explicit Members(const Napi::Object& object) : object_(object) {}

  void get(const char* name, std::string& out) const {
    const Napi::Value value = object_.Get(name);
    if (value.IsString()) out = value.As<Napi::String>().Utf8Value();
  }
  void get(const char* name, bool& out) const {
    const Napi::Value value = object_.Get(name);
    if (value.IsBoolean()) out = value.As<Napi::Boolean>().Value();
  }
  // Infinity means the largest number of the type.
  template <typename T>
  void get(const char* name, T& out) const {
    const Napi::Value value = object_.Get(name);
    if (!value.IsNumber()) return;
    const double number = value.As<Napi::Number>().DoubleValue();
    constexpr T kMost = std::numeric_limits<T>::max();
    if (number >= static_cast<double>(kMost)) out = kMost;
    else out = number > 0 ? static_cast<T>(number) : 0;
  }
  Napi::Value at(const char* name) const { return object_.Get(name); }

 private:
  const Napi::Object& object_;
};

PemSource read_pem(const Members& tls, const char* name) {
  PemSource out;
  const Napi::Value value = tls.at(name);
  if (!value.IsObject()) return out;
  const Napi::Object object = value.As<Napi::Object>();
  const Members members(object);
  members.get("path", out.path);
  members.get("text", out.text);
  return out;
}

TransportSettings read_settings(const Napi::Object& object) {
  TransportSettings out;
  const Members from(object);
  from.get("host", out.host);
  from.get("port", out.port);
  from.get("unixPath", out.unix_path);
  from.get("unixMode", out.unix_mode);
  from.get("threads", out.threads);
  from.get("threadsMax", out.threads_max);
  from.get("cores", out.cores);
  from.get("reusePort", out.reuse_port);
  from.get("receiveBytesMax", out.receive_bytes_max);
  from.get("inflatedBytesMax", out.inflated_bytes_max);
  from.get("sendBytesMax", out.send_bytes_max);
  from.get("concurrentStreamsMax", out.concurrent_streams_max);
  from.get("connectionsMax", out.connections_max);
  from.get("unsentBytesMax", out.unsent_bytes_max);
  from.get("handshakeMsMax", out.handshake_ms_max);
  from.get("keepaliveTimeMs", out.keepalive_time_ms);
  from.get("keepaliveTimeoutMs", out.keepalive_timeout_ms);
  from.get("keepalivePermitWithoutCalls", out.keepalive_permit_without_calls);
  from.get("pingsWithoutDataMax", out.pings_without_data_max);
  from.get("pingIntervalWithoutDataMsMin", out.ping_interval_without_data_ms_min);
  from.get("pingStrikesMax", out.ping_strikes_max);
  from.get("connectionAgeMsMax", out.connection_age_ms_max);
  from.get("connectionAgeGraceMs", out.connection_age_grace_ms);
  from.get("connectionIdleMsMax", out.connection_idle_ms_max);
  from.get("compressionLevel", out.compression_level);
  from.get("targetBytesMax", out.target_bytes_max);
  from.get("headBytesMax", out.header_bytes_max);
  from.get("idleMs", out.idle_ms);
  from.get("silentMs", out.silent_ms);
  from.get("stalledMs", out.stalled_ms);
  const Napi::Value tls = from.at("tls");
  if (!tls.IsObject()) return out;
  const Napi::Object tls_object = tls.As<Napi::Object>();
  const Members members(tls_object);
  out.tls.enabled = true;
  out.tls.certificate = read_pem(members, "certificate");
  out.tls.key = read_pem(members, "key");
  out.tls.roots = read_pem(members, "roots");
  members.get("clientRequired", out.tls.client_required);
  std::string min_version;
  members.get("minVersion", min_version);
  out.tls.only_tls13 = min_version == "TLSv1.3";
  return out;
}

// An object whose members are all required: `ok` is false if one is missing or has another type,
// and then the values that were read must not be used.
class Required {
 public:
  Required(const Napi::Value& value, bool& ok) : ok_(ok) {
    if (value.IsObject()) object_ = value.As<Napi::Object>();
    else ok_ = false;
  }

  std::string text(const char* name) const {
    const Napi::Value value = get(name);
    return check(value.IsString()) ? value.As<Napi::String>().Utf8Value() : std::string();
  }
  bool boolean(const char* name) const {
    const Napi::Value value = get(name);
    return check(value.IsBoolean()) && value.As<Napi::Boolean>().Value();
  }
  int32_t number(const char* name) const { return number_of(get(name)); }
  int32_t number_of(const Napi::Value& value) const {
    return check(value.IsNumber()) ? value.As<Napi::Number>().Int32Value() : 0;
  }
  // Infinity means the largest number of the type.
  size_t count(const char* name) const {
    const Napi::Value value = get(name);
    if (!check(value.IsNumber())) return 0;
    const double number = value.As<Napi::Number>().DoubleValue();
    if (number >= static_cast<double>(SIZE_MAX)) return SIZE_MAX;
    return number > 0 ? static_cast<size_t>(number) : 0;
  }
  Required child(const char* name) const { return {get(name), ok_}; }
  // Returns digests that are stored one after the other.
  std::vector<Digest> digests(const char* name) const {
    const Napi::Value value = get(name);
    if (!check(value.IsBuffer())) return {};
    const auto bytes = value.As<Napi::Buffer<uint8_t>>();
    std::vector<Digest> out(bytes.Length() / sizeof(Digest));
    check(out.size() * sizeof(Digest) == bytes.Length());
    for (size_t i = 0; i < out.size(); ++i) {
      std::memcpy(out[i].data(), bytes.Data() + i * sizeof(Digest), sizeof(Digest));
    }
    return out;
  }
  template <typename Read>
  void each(const char* name, const Read& read) const {
    const Napi::Value value = get(name);
    if (!check(value.IsArray())) return;
    const Napi::Array array = value.As<Napi::Array>();
    for (uint32_t i = 0; i < array.Length(); ++i) read(array.Get(i));
  }

 private:
  Napi::Value get(const char* name) const {
    return object_.IsEmpty() ? Napi::Value() : object_.Get(name);
  }
  bool check(bool fits) const {
    ok_ = ok_ && fits;
    return fits;
  }

  Napi::Object object_;
  bool& ok_;
};

// Finds a part by its name in TypeScript: "int64" for Int64.
std::optional<fb::MissingPart> missing_part(std::string_view name) {
  for (const fb::MissingPart part : fb::EnumValuesMissingPart()) {
    const std::string_view known = fb::EnumNameMissingPart(part);
    const char first = static_cast<char>(known[0] - 'A' + 'a');
    if (!name.empty() && name[0] == first && name.substr(1) == known.substr(1)) return part;
  }
  return std::nullopt;
}

Result<MethodTable> read_methods(const Napi::Object& object) {
  bool ok = true;
  const Required from(object, ok);
  std::vector<CallMethod> methods;
  from.each("methods", [&](const Napi::Value& value) {
    const Required one(value, ok);
    CallMethod method;
    method.path = one.text("path");
    method.streams = one.boolean("streams");
    method.wording = static_cast<uint32_t>(one.number("wording"));
    const int32_t protocol = one.number("protocol");
    if (protocol >= 0) method.protocol = static_cast<Protocol>(protocol);
    methods.push_back(std::move(method));
  });
  std::vector<Wording> wordings;
  from.each("wordings", [&](const Napi::Value& value) {
    const Required one(value, ok);
    Wording wording;
    wording.queue_full = one.text("queueFull");
    wording.bytes_max = one.count("bytesMax");
    wording.cut_mark = one.text("cutMark");
    one.each("missing", [&](const Napi::Value& each) {
      const Required sentence(each, ok);
      const std::optional<fb::MissingPart> part = missing_part(sentence.text("part"));
      ok = ok && part.has_value();
      if (!ok) return;
      wording.missing.push_back({*part, sentence.boolean("versioned"), sentence.text("text")});
    });
    wordings.push_back(std::move(wording));
  });
  std::vector<uint8_t> statuses;
  from.each("statuses", [&](const Napi::Value& value) {
    statuses.push_back(static_cast<uint8_t>(from.number_of(value)));
  });
  if (!ok) return invalid_argument("gRPC methods: a member is missing or of another type");
  return MethodTable::make(std::move(methods), std::move(wordings), std::move(statuses));
}

AccessRefusal read_refusal(const Required& refusal) {
  AccessRefusal out;
  out.code = refusal.number("grpc");
  out.text = refusal.text("message");
  return out;
}

CallAccess read_call_access(const Napi::Value& value, bool& ok) {
  const Required from(value, ok);
  CallAccess out;
  const std::string open_to = from.text("openTo");
  if (open_to == "all") out.open_to = CallAccess::OpenTo::All;
  if (open_to == "local") out.open_to = CallAccess::OpenTo::Local;
  from.each("checks", [&](const Napi::Value& each) {
    const Required one(each, ok);
    CredentialCheck check;
    check.header = one.text("header");
    check.bearer = one.boolean("bearer");
    check.allowed = one.digests("allowed");
    check.others = one.digests("others");
    one.each("callers", [&](const Napi::Value& caller) {
      check.callers.push_back(static_cast<uint32_t>(one.number_of(caller)));
    });
    out.checks.push_back(std::move(check));
  });
  out.missing = read_refusal(from.child("missing"));
  out.unknown = read_refusal(from.child("unknown"));
  out.forbidden = read_refusal(from.child("forbidden"));
  return out;
}

Result<std::shared_ptr<const AccessRules>> read_access(const Napi::Object& object) {
  bool ok = true;
  const Required from(object, ok);
  std::vector<CallAccess> accesses;
  from.each("accesses",
            [&](const Napi::Value& value) { accesses.push_back(read_call_access(value, ok)); });
  std::vector<uint32_t> of_method;
  from.each("ofMethod", [&](const Napi::Value& value) {
    of_method.push_back(static_cast<uint32_t>(from.number_of(value)));
  });
  if (!ok) return invalid_argument("gRPC access: a member is missing or of another type");
  return AccessRules::make(std::move(accesses), std::move(of_method));
}

}  // namespace

struct ListenerService::State {
  // The listener of a port, which two services may share.
  using Port = std::unique_ptr<TransportListener>;

  napi_threadsafe_function notify = nullptr;
  std::shared_ptr<Engine> engine;
  ServeSettings settings;
  MethodTable methods;
  std::optional<ServerValue> connections;  // the value that counts an HTTP listener's connections
  std::optional<ServerValue> threads;      // the value that counts the listener's threads
  std::unique_ptr<Bridge> bridge;
  bool drains_with_http = false;  // a gRPC service that shares HTTP's port
  State* grpc = nullptr;  // the gRPC service that shares this HTTP service's port; while it is open
  std::shared_ptr<Port> port = std::make_shared<Port>();

  // The first of the services to close closes the port.
  ~State() {
    port->reset();
    bridge.reset();
    if (notify != nullptr) napi_release_threadsafe_function(notify, napi_tsfn_abort);
  }

  bool is_open() const { return *port != nullptr; }
  TransportEvents events();
  std::unique_ptr<CallHandler> calls(CallThread& thread) {
    return std::make_unique<EngineCalls>(thread, engine, settings, methods, *bridge);
  }
  std::unique_ptr<HttpHandler> requests(CallThread& thread) {
    return std::make_unique<RestCalls>(thread, engine, settings, *bridge, connections);
  }
  std::unique_ptr<TurnHandler> handler(Serves serves, CallThread& thread) {
    switch (serves) {
      case Serves::Grpc: return calls(thread);
      case Serves::Http: return requests(thread);
      case Serves::Both: break;
    }
    return std::make_unique<SharedCalls>(grpc->calls(thread), requests(thread));
  }
};

// Sends the events of its listener over the bridge.
TransportEvents ListenerService::State::events() {
  TransportEvents events;
  events.full = [this](uint32_t open) { (void)bridge->push(ListenerEvent::Full, 0, 0, open); };
  events.handshake_failed = [this](const HandshakeFailures& failures) {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(failures.count, UINT32_MAX));
    const std::string text = failures.peer + '\0' + failures.reason;
    (void)bridge->push(ListenerEvent::HandshakeFailed, 0, 0, count, {bytes_of(text)});
  };
  events.certificates = [this](const Status& read) {
    const std::string text = read.ok() ? std::string() : read.error().message;
    (void)bridge->push(ListenerEvent::Certificates, 0, 0, read.ok() ? 0 : 1, {bytes_of(text)});
  };
  events.free_large = [this](ByteBuffer buffer) {
    const auto gone = std::make_shared<ByteBuffer>(std::move(buffer));
    engine->trimmer().note();
    (void)engine->freeing().start([gone, budget = engine->budget()] { gone->shrink(0); });
  };
  events.elsewhere = [this](std::function<void()> task) {
    return engine->inflating().start(std::move(task));
  };
  events.trim = [this] { engine->trimmer().note(); };
  events.thread_added = [this](const ThreadAdded& added) {
    const std::array<uint32_t, 2> numbers{added.load,
                                          static_cast<uint32_t>(added.free_cores * kFullLoad)};
    (void)bridge->push(ListenerEvent::ThreadAdded, 0, 0, added.threads,
                       {Bridge::words_of(numbers)});
  };
  events.threads_changed = [this](int64_t change) {
    if (threads) engine->server_stats().add(*threads, change);
  };
  return events;
}

ListenerService::ListenerService(std::unique_ptr<State> state) : state_(std::move(state)) {}
ListenerService::~ListenerService() = default;

Result<std::unique_ptr<ListenerService>> ListenerService::start(napi_env env, Lane& lane,
                                                                ListenerKind kind,
                                                                napi_value options,
                                                                napi_value on_events,
                                                                ListenerService* grpc) {
  const Napi::Object object = Napi::Value(env, options).As<Napi::Object>();
  auto state = std::make_unique<State>();
  State& parts = *state;
  const bool is_grpc = kind == ListenerKind::Grpc;
  if (is_grpc) {
    Result<MethodTable> methods = read_methods(object);
    if (!methods.ok()) return methods.error();
    parts.methods = std::move(methods.value());
  }
  parts.engine = lane.shared_engine();
  parts.settings = lane.settings();
  napi_value name = nullptr;
  napi_create_string_utf8(env, "serval listener events", NAPI_AUTO_LENGTH, &name);
  if (napi_create_threadsafe_function(env, on_events, nullptr, name, 2, 1, nullptr, nullptr,
                                      nullptr, nullptr, &parts.notify) != napi_ok) {
    return make_error(ErrorCode::Internal, "listener: no thread-safe function");
  }
  TransportSettings settings = read_settings(object);
  if (!is_grpc) {
    settings.serves = Serves::Http;
    settings.tls.protocols = {"h2", "http/1.1"};
    settings.tls.protocol_required = false;
  }
  const uint32_t threads_max = std::max(settings.threads, settings.threads_max);
  parts.bridge = std::make_unique<Bridge>(threads_max, *parts.engine->budget(), [&parts] {
    napi_call_threadsafe_function(parts.notify, nullptr, napi_tsfn_nonblocking);
  });
  // Set before any connection is accepted.
  const Napi::Value access = object.Get("access");
  if (access.IsObject()) {
    Result<std::shared_ptr<const AccessRules>> rules = read_access(access.As<Napi::Object>());
    if (!rules.ok()) return rules.error();
    parts.bridge->access().publish(std::move(rules.value()));
  }
  std::string connections;
  Members(object).get("connectionsValue", connections);
  parts.connections = ServerStats::named(connections);
  std::string threads;
  Members(object).get("threadsValue", threads);
  parts.threads = ServerStats::named(threads);
  bool shares = false;
  Members(object).get("sharesPort", shares);
  if (shares && is_grpc) {
    parts.drains_with_http = true;
    return std::make_unique<ListenerService>(std::move(state));
  }
  if (shares && grpc != nullptr) {
    settings.serves = Serves::Both;
    parts.grpc = grpc->state_.get();
    parts.port = parts.grpc->port;
  }
  Result<std::unique_ptr<TransportListener>> listener =
      TransportListener::start(settings, parts.engine->budget(), parts.events(),
                               [&parts, serves = settings.serves](CallThread& thread) {
                                 return parts.handler(serves, thread);
                               });
  if (!listener.ok()) return listener.error();
  *parts.port = std::move(listener.value());
  return std::make_unique<ListenerService>(std::move(state));
}

// Returns 0 if HTTP's port is shared.
uint16_t ListenerService::port() const { return state_->is_open() ? (*state_->port)->port() : 0; }
void ListenerService::take(ByteBuffer& out) { state_->bridge->take(out); }

void ListenerService::send(uint32_t thread, uint64_t call, uint32_t command, uint32_t value,
                           std::span<const uint8_t> bytes) {
  state_->bridge->send(
      thread, {call, static_cast<ListenerCommand>(command), value, {bytes.begin(), bytes.end()}});
}

// Drains the listener. A gRPC service that shares HTTP's port is drained with it.
void ListenerService::drain(uint64_t ms) {
  if (!state_->is_open() || state_->drains_with_http) return;
  Bridge& bridge = *state_->bridge;
  Bridge* grpc = state_->grpc == nullptr ? nullptr : state_->grpc->bridge.get();
  (*state_->port)->drain(ms, [&bridge, grpc](uint64_t cut) {
    if (grpc != nullptr) grpc->drained(0);
    bridge.drained(cut);
  });
}

void ListenerService::reload_certificates() {
  if (state_->is_open()) (*state_->port)->reload_certificates();
}

void ListenerService::forget(uint32_t part) { state_->bridge->route_generations().advance(part); }

Status ListenerService::set_access(napi_env env, napi_value access) {
  Result<std::shared_ptr<const AccessRules>> rules =
      read_access(Napi::Value(env, access).As<Napi::Object>());
  if (!rules.ok()) return rules.error();
  state_->bridge->publish_access(std::move(rules.value()));
  return {};
}

}  // namespace serval
