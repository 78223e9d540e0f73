// The load client's calls. Control plane; JavaScript's thread.
#include "addon/load_client.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "load/client.h"

namespace serval {

namespace {

constexpr double kLoadNsPerMs = 1e6;
constexpr double kNsPerUs = 1e3;

// An event of a client: the result of a load, or that its connections are open.
struct Message {
  std::string problem;
  std::unique_ptr<load::Measured> result;
};

// The members of an object; one that is absent keeps its default.
class LoadMembers {
 public:
  explicit LoadMembers(const Napi::Value& value) {
    if (value.IsObject()) object_ = value.As<Napi::Object>();
  }

  bool has(const char* name) const { return !object_.IsEmpty() && !get(name).IsUndefined(); }
  Napi::Value get(const char* name) const { return object_.Get(name); }
  std::string text(const char* name) const {
    return has(name) && get(name).IsString() ? get(name).As<Napi::String>().Utf8Value() : "";
  }
  bool boolean(const char* name) const {
    return has(name) && get(name).IsBoolean() && get(name).As<Napi::Boolean>().Value();
  }
  double number(const char* name, double absent = 0) const {
    return has(name) && get(name).IsNumber() ? get(name).As<Napi::Number>().DoubleValue() : absent;
  }
  size_t count(const char* name, size_t absent = 0) const {
    const double value = number(name, static_cast<double>(absent));
    return value > 0 && value < 1e15 ? static_cast<size_t>(value) : 0;
  }
  uint64_t ns(const char* name) const {
    const double value = number(name) * kLoadNsPerMs;
    return value > 0 && value < 1e18 ? static_cast<uint64_t>(value) : 0;
  }

 private:
  Napi::Object object_;
};

load::Target read_target(const LoadMembers& from) {
  load::Target out;
  out.host = from.text("host");
  out.port = static_cast<uint16_t>(from.count("port") & 0xffff);
  out.unix_path = from.text("unixPath");
  out.protocol = from.boolean("http2") ? load::Protocol::Http2 : load::Protocol::Http1;
  out.tls = from.has("tlsCa");
  out.tls_ca = from.text("tlsCa");
  return out;
}

load::Judged read_judged(const std::string& text) {
  if (text == "grpc") return load::Judged::Grpc;
  return text == "grpc-stream" ? load::Judged::GrpcStream : load::Judged::Http;
}

load::Traffic read_traffic(const LoadMembers& from) {
  load::Traffic out;
  out.judged = read_judged(from.text("judged"));
  out.authority = from.text("authority");
  out.path = from.text("path");
  if (from.has("method")) out.method = from.text("method");
  if (from.has("responseBytes")) {
    out.response_bytes = static_cast<int64_t>(from.number("responseBytes"));
  }
  const Napi::Value fields = from.has("fields") ? from.get("fields") : Napi::Value();
  if (!fields.IsEmpty() && fields.IsArray()) {
    const Napi::Array list = fields.As<Napi::Array>();
    for (uint32_t i = 0; i + 1 < list.Length(); i += 2) {
      out.fields.push_back({Napi::Value(list[i]).ToString().Utf8Value(),
                            Napi::Value(list[i + 1]).ToString().Utf8Value()});
    }
  }
  const Napi::Value bodies = from.has("bodies") ? from.get("bodies") : Napi::Value();
  if (bodies.IsEmpty() || !bodies.IsArray()) return out;
  const Napi::Array list = bodies.As<Napi::Array>();
  for (uint32_t i = 0; i < list.Length(); ++i) {
    const Napi::Value body = list[i];
    if (!body.IsTypedArray()) continue;
    const Napi::Uint8Array bytes = body.As<Napi::Uint8Array>();
    out.bodies.emplace_back(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
  }
  return out;
}

load::Schedule read_schedule(const LoadMembers& from) {
  load::Schedule out;
  out.open_loop = from.text("loop") == "open";
  out.concurrency = from.count("concurrency", 1);
  out.rate = from.number("rate");
  out.poisson = from.text("arrivals") == "poisson";
  out.seed = from.count("seed", 1);
  out.warmup_ns = from.ns("warmupMs");
  out.measure_ns = from.ns("measureMs");
  out.grace_ns = from.ns("graceMs");
  out.timeout_ns = from.ns("timeoutMs");
  out.requests = from.count("requests");
  out.connections = from.count("connections", 1);
  out.connections_max = from.count("connectionsMax", out.connections);
  out.counts_late = from.boolean("countsLate");
  out.spins = from.boolean("spins");
  return out;
}

// Returns [us, count, us, count ...] with `sum` and `max`, in us.
Napi::Object to_object(Napi::Env env, const load::Histogram& histogram) {
  const auto buckets = histogram.buckets();
  auto counts = Napi::Float64Array::New(env, buckets.size() * 2);
  for (size_t i = 0; i < buckets.size(); ++i) {
    counts[i * 2] = buckets[i].middle_ns / kNsPerUs;
    counts[i * 2 + 1] = static_cast<double>(buckets[i].count);
  }
  auto out = Napi::Object::New(env);
  out["counts"] = counts;
  out["sum"] = histogram.sum_ns() / kNsPerUs;
  out["max"] = static_cast<double>(histogram.max_ns()) / kNsPerUs;
  return out;
}

Napi::Object to_object(Napi::Env env, const load::Measured& result) {
  auto out = Napi::Object::New(env);
  out["answered"] = static_cast<double>(result.answered);
  out["failed"] = static_cast<double>(result.failed);
  if (!result.first_error.empty()) out["firstError"] = Napi::String::New(env, result.first_error);
  constexpr const char* kNames[load::kFailureKinds] = {"status", "reset", "lost", "late"};
  auto failures = Napi::Object::New(env);
  for (size_t i = 0; i < load::kFailureKinds; ++i) {
    failures[kNames[i]] = static_cast<double>(result.failures[i]);
  }
  out["failures"] = failures;
  out["latencies"] = to_object(env, result.latencies);
  out["late"] = to_object(env, result.late);
  out["elapsedUs"] = static_cast<double>(result.elapsed_ns) / kNsPerUs;
  out["responseBytes"] = static_cast<double>(result.response_bytes);
  out["busy"] = result.busy;
  return out;
}

void call_js(napi_env env, napi_value function, void*, void* data) {
  const std::unique_ptr<Message> message(static_cast<Message*>(data));
  if (env == nullptr) return;
  const Napi::Env in(env);
  const Napi::Function told(env, function);
  if (message->result == nullptr) {
    told.Call({Napi::String::New(in, message->problem)});
  } else {
    told.Call({in.Undefined(), to_object(in, *message->result)});
  }
}

class LoadClient {
 public:
  ~LoadClient() {
    client_.reset();
    if (told_ != nullptr) napi_release_threadsafe_function(told_, napi_tsfn_release);
  }

  bool open(napi_env env, load::Target target, napi_value callback) {
    napi_value name = nullptr;
    napi_create_string_utf8(env, "serval load client", NAPI_AUTO_LENGTH, &name);
    if (napi_create_threadsafe_function(env, callback, nullptr, name, 0, 1, nullptr, nullptr,
                                        nullptr, call_js, &told_) != napi_ok) {
      return false;
    }
    load::Client::Events events;
    events.prepared = [this](std::string problem) { tell({std::move(problem), nullptr}); };
    events.done = [this](load::Measured result) {
      tell({{}, std::make_unique<load::Measured>(std::move(result))});
    };
    client_ = std::make_unique<load::Client>(std::move(target), std::move(events));
    return client_->start();
  }

  load::Client& client() { return *client_; }

 private:
  void tell(Message message) {
    auto owned = std::make_unique<Message>(std::move(message));
    if (napi_call_threadsafe_function(told_, owned.get(), napi_tsfn_nonblocking) == napi_ok) {
      owned.release();
    }
  }

  napi_threadsafe_function told_ = nullptr;
  std::unique_ptr<load::Client> client_;
};

bool is_function(napi_env env, napi_value value) { return Napi::Value(env, value).IsFunction(); }

using Clients = std::map<uint32_t, std::unique_ptr<LoadClient>>;

// Returns the clients of this thread. They are not freed with it: its JavaScript has ended then.
Clients& clients() {
  static thread_local Clients* const all = std::make_unique<Clients>().release();
  return *all;
}

}  // namespace

uint32_t ClientOpen(Arguments<2>& arguments) {
  const Napi::Value target(arguments.env(), arguments.value(0));
  if (!target.IsObject()) arguments.fail("target");
  else if (!is_function(arguments.env(), arguments.value(1))) arguments.fail("told");
  if (!arguments.ok()) return 0;
  auto client = std::make_unique<LoadClient>();
  const bool opened =
      client->open(arguments.env(), read_target(LoadMembers(target)), arguments.value(1));
  if (!opened) return 0;
  static thread_local uint32_t count = 0;
  clients().emplace(++count, std::move(client));
  return count;
}

napi_value ClientOrder(Arguments<2>& arguments) {
  const uint32_t number = arguments.u32(0, "client");
  if (!arguments.ok()) return nullptr;
  const Napi::Value value(arguments.env(), arguments.value(1));
  if (!value.IsObject()) arguments.fail("order");
  const auto found = clients().find(number);
  if (!arguments.ok() || found == clients().end()) return nullptr;
  const LoadMembers order(value);
  if (!order.has("schedule")) {
    found->second->client().go(order.ns("begins"));
    return nullptr;
  }
  load::Traffic traffic;
  if (order.has("traffic")) traffic = read_traffic(LoadMembers(order.get("traffic")));
  const load::Schedule schedule = read_schedule(LoadMembers(order.get("schedule")));
  const bool paced = !schedule.open_loop || schedule.rate > 0;
  if (traffic.bodies.empty() || !paced) arguments.fail("traffic or schedule");
  else found->second->client().prepare(std::move(traffic), schedule);
  return nullptr;
}

napi_value ClientClose(Arguments<1>& arguments) {
  const uint32_t number = arguments.u32(0, "client");
  if (arguments.ok()) clients().erase(number);
  return nullptr;
}

}  // namespace serval
