// The addon's calls. Each checks its arguments, calls the lane and reports by the link words.
// Hot path: receive. Thread: JavaScript's.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "addon/absent_models.h"
#include "addon/attach_options.h"
#include "addon/callers.h"
#include "addon/control.h"
#include "addon/export.h"
#include "addon/file_lock.h"
#include "addon/gpu_probe.h"
#include "addon/image.h"
#include "addon/isolated.h"
#include "addon/link.h"
#include "addon/load_client.h"
#include "addon/observation.h"
#include "addon/receive_limit.h"
#include "addon/shared_memory.h"
#include "addon/thread_probe.h"
#include "backend/isolated/isolated.h"
#include "engine/control/quiet_work.h"
#include "engine/control/spec/codec.h"

namespace serval {

namespace {

// Converts the result of a call's C++ function to the value that JavaScript gets.
napi_value to_value(napi_env env, uint32_t value) {
  napi_value out = nullptr;
  napi_create_uint32(env, value, &out);
  return out;
}
napi_value to_value(napi_env env, bool value) {
  napi_value out = nullptr;
  napi_get_boolean(env, value, &out);
  return out;
}
napi_value to_value(napi_env, napi_value value) { return value; }

// A call that needs no attach.
template <size_t N, typename R>
napi_value answer(napi_env env, napi_callback_info info, const char* name,
                  R (*call)(Arguments<N>&)) {
  Arguments<N> arguments(env, info, name);
  if (!arguments.ok()) return nullptr;
  const R value = call(arguments);
  return arguments.ok() ? to_value(env, value) : nullptr;
}

// A call on the thread's link; throws when the thread is not attached.
template <size_t N, typename R>
napi_value answer(napi_env env, napi_callback_info info, const char* name,
                  R (*call)(Link&, Arguments<N>&)) {
  Arguments<N> arguments(env, info, name);
  auto* link = static_cast<Link*>(arguments.data());
  if (arguments.ok() && !link->attached()) arguments.fail_with("not attached");
  if (!arguments.ok()) return nullptr;
  const R value = call(*link, arguments);
  return arguments.ok() ? to_value(env, value) : nullptr;
}

// attach(options, onCompletions) -> ArrayBuffer of the link words
napi_value Attach(Arguments<2>& arguments) {
  const napi_env env = arguments.env();
  const Napi::Value first(env, arguments.value(0));
  if (!first.IsObject() || !Napi::Value(env, arguments.value(1)).IsFunction()) {
    napi_throw_type_error(env, nullptr, "attach: expected (object, function)");
    return nullptr;
  }
  AttachOptions options;
  const std::string problem = options.read(first.As<Napi::Object>());
  if (!problem.empty()) {
    napi_throw_type_error(env, nullptr, problem.c_str());
    return nullptr;
  }
  napi_value block = nullptr;
  Link* link = static_cast<Link*>(arguments.data());
  const Status attached = link->attach(options.engine, options.serve, arguments.value(1), &block);
  if (!attached.ok()) {
    napi_throw_type_error(env, nullptr, attached.error().message.c_str());
    return nullptr;
  }
  if (!options.thread.keeps_process) link->let_process_end();
  return block;
}

// Returns the request kind of a body, or of a message that names its model.
template <size_t N>
Protocol protocol_argument(Arguments<N>& arguments, size_t index, bool of_message) {
  const uint32_t number = arguments.u32(index, "protocol");
  const auto protocol = static_cast<Protocol>(number);
  if (number >= kProtocols || is_message(protocol) != of_message) arguments.fail("protocol");
  return protocol;
}

// infer(protocol, handle, body: ArrayBuffer, jsonBytes) -> code
uint32_t Infer(Link& link, Arguments<4>& arguments) {
  const Protocol protocol = protocol_argument(arguments, 0, false);
  const uint32_t handle = arguments.u32(1, "handle");
  const std::span<const uint8_t> body = arguments.array_buffer(2, "body");
  const int64_t json_bytes = arguments.i64(3, "jsonBytes");
  if (!arguments.ok()) return {};
  return link.report(link.lane().infer(protocol, handle, body, json_bytes));
}

// inferMessage(message: Buffer, protocol, timeoutUs) -> code
uint32_t InferMessage(Link& link, Arguments<3>& arguments) {
  const std::span<const uint8_t> message = arguments.buffer(0, "message");
  const Protocol protocol = protocol_argument(arguments, 1, true);
  const int64_t timeout_us = arguments.i64(2, "timeoutUs");
  if (!arguments.ok()) return {};
  link.set_message(arguments.value(0));
  const uint64_t timeout = timeout_us > 0 ? static_cast<uint64_t>(timeout_us) : 0;
  return link.report(link.lane().infer_message(protocol, message, timeout));
}

// openBody(expectedBytes, alignedAt) -> code; the ticket is in the link words
uint32_t OpenBody(Link& link, Arguments<2>& arguments) {
  const int64_t expected = arguments.i64(0, "expectedBytes");
  const int64_t aligned_at = arguments.i64(1, "alignedAt");
  if (!arguments.ok()) return {};
  const Result<uint32_t> ticket =
      link.lane().bodies().open(expected > 0 ? static_cast<uint64_t>(expected) : 0,
                                aligned_at > 0 ? static_cast<uint64_t>(aligned_at) : 0);
  if (!ticket.ok()) return link.report_error(ticket.error());
  link.set_ticket(ticket.value());
  return 0;
}

// appendBody(ticket, chunk: ArrayBuffer) -> code
uint32_t AppendBody(Link& link, Arguments<2>& arguments) {
  const uint32_t ticket = arguments.u32(0, "ticket");
  const std::span<const uint8_t> chunk = arguments.array_buffer(1, "chunk");
  if (!arguments.ok()) return {};
  const Status appended = link.lane().bodies().append(ticket, chunk);
  return appended.ok() ? 0 : link.report_error(appended.error());
}

// inferBody(ticket, protocol, handle, jsonBytes) -> code
uint32_t InferBody(Link& link, Arguments<4>& arguments) {
  const uint32_t ticket = arguments.u32(0, "ticket");
  const Protocol protocol = protocol_argument(arguments, 1, false);
  const uint32_t handle = arguments.u32(2, "handle");
  const int64_t json_bytes = arguments.i64(3, "jsonBytes");
  if (!arguments.ok()) return {};
  return link.report(link.lane().infer_body(ticket, protocol, handle, json_bytes));
}

// inferPacked(ticket, protocol, handle, jsonBytes, coding) -> code
uint32_t InferPacked(Link& link, Arguments<5>& arguments) {
  const uint32_t ticket = arguments.u32(0, "ticket");
  const Protocol protocol = protocol_argument(arguments, 1, false);
  const uint32_t handle = arguments.u32(2, "handle");
  const int64_t json_bytes = arguments.i64(3, "jsonBytes");
  const uint32_t coding = arguments.u32(4, "coding");
  if (coding > static_cast<uint32_t>(Coding::Deflate)) arguments.fail("coding");
  if (!arguments.ok()) return {};
  const Answer answer = link.lane().infer_compressed(ticket, protocol, handle, json_bytes,
                                                     static_cast<Coding>(coding));
  return link.report(answer);
}

// countBytes(change, refusable) -> boolean: false if `change` more bytes, held by JavaScript,
// exceed the budget; then they are not counted
bool CountBytes(Link& link, Arguments<2>& arguments) {
  const int64_t change = arguments.i64(0, "change");
  const bool refusable = arguments.boolean(1, "refusable");
  if (!arguments.ok()) return {};
  return link.lane().held_bytes().count(change, refusable);
}

// cancel(ticket) -> boolean: true if no completion follows
bool Cancel(Link& link, Arguments<1>& arguments) {
  const uint32_t ticket = arguments.u32(0, "ticket");
  if (!arguments.ok()) return {};
  return link.lane().cancel(ticket);
}

// keepAnswer(ticket) -> boolean: keeps the response that is being handed over until cancel(ticket)
bool KeepAnswer(Link& link, Arguments<1>& arguments) {
  const uint32_t ticket = arguments.u32(0, "ticket");
  if (!arguments.ok()) return {};
  return link.lane().slots().keep_answer(ticket);
}

// mapSlot(slot) -> ArrayBuffer over the slot's response memory, valid for its generation
napi_value MapSlot(Link& link, Arguments<1>& arguments) {
  const uint32_t slot = arguments.u32(0, "slot");
  if (!arguments.ok()) return nullptr;
  return link.map_slot(slot);
}

// load(spec: Buffer) -> code; completes with ModelInfo bytes
uint32_t Load(Link& link, Arguments<1>& arguments) {
  const std::span<const uint8_t> bytes = arguments.buffer(0, "spec");
  if (!arguments.ok()) return {};
  Result<ModelSpec> spec = parse_model_spec(bytes);
  if (!spec.ok()) return link.report_error(spec.error());
  return start_control(link, [&](Engine& engine, Request& request, std::shared_ptr<Home> home) {
    engine.load(std::move(spec.value()), request, std::move(home));
  });
}

// unload(handle) -> code; completes when the memory is released
uint32_t Unload(Link& link, Arguments<1>& arguments) {
  const uint32_t handle = arguments.u32(0, "handle");
  if (!arguments.ok()) return {};
  return start_control(link, [&](Engine& engine, Request& request, std::shared_ptr<Home> home) {
    engine.unload(handle, request, std::move(home));
  });
}

// publishRoutes(table: Buffer) -> code
uint32_t PublishRoutes(Link& link, Arguments<1>& arguments) {
  const std::span<const uint8_t> bytes = arguments.buffer(0, "table");
  if (!arguments.ok()) return {};
  Result<RouteChange> change = RouteChange::parse(bytes);
  if (!change.ok()) return link.report_error(change.error());
  link.lane().engine().publish_routes(std::move(change.value()));
  return 0;
}

// stats(handles: Buffer of u32, empty = all) -> code; EngineStats bytes in slot 0
uint32_t Stats(Link& link, Arguments<1>& arguments) {
  const std::span<const uint8_t> bytes = arguments.buffer(0, "handles");
  if (!arguments.ok()) return {};
  std::vector<uint32_t> handles(bytes.size() / sizeof(uint32_t));
  if (!handles.empty()) std::memcpy(handles.data(), bytes.data(), handles.size() * 4);
  Lane& lane = link.lane();
  ByteBuffer& out = link.clear_answer();
  if (!write_engine_stats(lane.engine().published()->models, handles, lane.slots().bodies_open(),
                          lane.slots().tickets_open(), out)) {
    return link.report_error(make_error(ErrorCode::Internal, "out of memory"));
  }
  return link.report({});
}

// unanswered() -> code; in slot 0 the models of queued and running requests, with counts
uint32_t Unanswered(Link& link, Arguments<0>&) {
  ByteBuffer& out = link.clear_answer();
  if (!link.lane().unanswered(out)) out.clear();
  return link.report({});
}

// warmUp(handle, protocol, message: Buffer) -> code; completes with the response message
uint32_t WarmUp(Link& link, Arguments<3>& arguments) {
  const uint32_t handle = arguments.u32(0, "handle");
  const Protocol protocol = protocol_argument(arguments, 1, true);
  const std::span<const uint8_t> message = arguments.buffer(2, "message");
  if (!arguments.ok()) return {};
  return start_control(link, [&](Engine& engine, Request& request, std::shared_ptr<Home> home) {
    engine.warm_up(handle, protocol, {message.begin(), message.end()}, request, std::move(home));
  });
}

// metrics(kind: 0 Triton's names, 1 TensorFlow Serving's) -> code; completes with the text
uint32_t Metrics(Link& link, Arguments<1>& arguments) {
  const uint32_t kind = arguments.u32(0, "kind");
  if (!arguments.ok()) return {};
  return start_control(link, [&](Engine& engine, Request& request, std::shared_ptr<Home> home) {
    engine.metrics(kind == 0 ? MetricsKind::Triton : MetricsKind::TensorFlow, request,
                   std::move(home));
  });
}

// limitReceive(link, bytes) -> number of listening sockets on that TCP link; needs no attach
uint32_t LimitReceive(Arguments<2>& arguments) {
  const uint32_t link = arguments.u32(0, "link");
  const uint32_t bytes = arguments.u32(1, "bytes");
  if (link > UINT16_MAX) arguments.fail("link");
  if (bytes > INT32_MAX) arguments.fail("bytes");
  if (!arguments.ok()) return {};
  return limit_receive(static_cast<uint16_t>(link), static_cast<int>(bytes));
}

// Converts a text to a JavaScript string.
napi_value text_value(napi_env env, const std::string& text) {
  napi_value out = nullptr;
  napi_create_string_utf8(env, text.data(), text.size(), &out);
  return out;
}

// probeDriver() -> JSON of probe_driver(); needs no attach
napi_value ProbeDriver(Arguments<0>& arguments) {
  return text_value(arguments.env(), probe_driver());
}

// probeLibrary(path: Buffer) -> "", or why it can't be opened; needs no attach
napi_value ProbeLibrary(Arguments<1>& arguments) {
  const std::span<const uint8_t> path = arguments.buffer(0, "path");
  if (!arguments.ok()) return nullptr;
  return text_value(arguments.env(),
                    probe_library({reinterpret_cast<const char*>(path.data()), path.size()}));
}

// lockFile(descriptor) -> a FileLock; needs no attach
uint32_t LockFile(Arguments<1>& arguments) {
  const uint32_t descriptor = arguments.u32(0, "descriptor");
  if (descriptor > INT32_MAX) arguments.fail("descriptor");
  if (!arguments.ok()) return {};
  return static_cast<uint32_t>(lock_file(static_cast<int>(descriptor)));
}

// startableThreads(wanted) -> the number that can start, at most `wanted`; needs no attach
uint32_t StartableThreads(Arguments<1>& arguments) {
  const uint32_t wanted = arguments.u32(0, "wanted");
  if (wanted > kProbedThreadsMax) arguments.fail("wanted");
  return arguments.ok() ? startable_threads(wanted) : 0;
}

// threadPriority(thread, idle) -> boolean: whether it is permitted; needs no attach
bool ThreadPriority(Arguments<2>& arguments) {
  const uint32_t thread = arguments.u32(0, "thread");
  const bool idle = arguments.boolean(1, "idle");
  if (thread == 0 || thread > INT32_MAX) arguments.fail("thread");
  if (!arguments.ok()) return {};
  return (idle ? set_idle_priority : restore_priority)(static_cast<int>(thread));
}

// grpcStart, httpStart, adminStart(options, onEvents) -> code; the port as u32 in slot 0
template <ListenerKind kind>
uint32_t ListenerStart(Link& link, Arguments<2>& arguments) {
  const napi_env env = arguments.env();
  if (!Napi::Value(env, arguments.value(0)).IsObject()) arguments.fail("options");
  if (!Napi::Value(env, arguments.value(1)).IsFunction()) arguments.fail("onEvents");
  std::unique_ptr<ListenerService>& listener = link.listener(kind);
  if (listener != nullptr) arguments.fail_with("this thread has such a listener already");
  if (!arguments.ok()) return {};
  Result<std::unique_ptr<ListenerService>> started =
      ListenerService::start(env, link.lane(), kind, arguments.value(0), arguments.value(1),
                             link.listener(ListenerKind::Grpc).get());
  if (!started.ok()) return link.report_error(started.error());
  listener = std::move(started.value());
  const uint32_t port = listener->port();
  if (!link.clear_answer().append(&port, sizeof port)) {
    return link.report_error(make_error(ErrorCode::Internal, "out of memory"));
  }
  return link.report({});
}

// grpcTake, httpTake, adminTake() -> code; the events since the last call in slot 0
template <ListenerKind kind>
uint32_t ListenerTake(Link& link, Arguments<0>&) {
  ByteBuffer& out = link.clear_answer();
  if (link.listener(kind) != nullptr) link.listener(kind)->take(out);
  return link.report({});
}

// grpcSend, httpSend, adminSend(thread, call, command, value, bytes: Buffer)
template <ListenerKind kind>
uint32_t ListenerSend(Link& link, Arguments<5>& arguments) {
  const uint32_t thread = arguments.u32(0, "thread");
  const int64_t call = arguments.i64(1, "call");
  const uint32_t command = arguments.u32(2, "command");
  const uint32_t value = arguments.u32(3, "value");
  const std::span<const uint8_t> bytes = arguments.buffer(4, "bytes");
  if (command > static_cast<uint32_t>(fb::ListenerCommand::MAX)) arguments.fail("command");
  if (!arguments.ok()) return {};
  if (link.listener(kind) != nullptr) {
    link.listener(kind)->send(thread, static_cast<uint64_t>(call), command, value, bytes);
  }
  return 0;
}

// grpcDrain, httpDrain, adminDrain(ms): ends with a Drained event
template <ListenerKind kind>
uint32_t ListenerDrain(Link& link, Arguments<1>& arguments) {
  const int64_t ms = arguments.i64(0, "ms");
  if (!arguments.ok()) return {};
  if (link.listener(kind) != nullptr) {
    link.listener(kind)->drain(ms > 0 ? static_cast<uint64_t>(ms) : 0);
  }
  return 0;
}

template <ListenerKind kind>
uint32_t ListenerReloadCertificates(Link& link, Arguments<0>&) {
  if (link.listener(kind) != nullptr) link.listener(kind)->reload_certificates();
  return 0;
}

// grpcAccess(access) -> code
uint32_t GrpcAccess(Link& link, Arguments<1>& arguments) {
  const napi_env env = arguments.env();
  if (!Napi::Value(env, arguments.value(0)).IsObject()) arguments.fail("access");
  if (!arguments.ok()) return {};
  ListenerService* grpc = link.listener(ListenerKind::Grpc).get();
  if (grpc == nullptr) return link.report({});
  const Status set = grpc->set_access(env, arguments.value(0));
  link.clear_answer();
  return set.ok() ? link.report({}) : link.report_error(set.error());
}

// httpForget(part): see RouteGenerations
template <ListenerKind kind>
uint32_t ListenerForget(Link& link, Arguments<1>& arguments) {
  const uint32_t part = arguments.u32(0, "part");
  if (!arguments.ok()) return {};
  if (link.listener(kind) != nullptr) link.listener(kind)->forget(part);
  return 0;
}

template <ListenerKind kind>
uint32_t ListenerStop(Link& link, Arguments<0>&) {
  link.listener(kind).reset();
  return 0;
}

napi_value Detach(Arguments<0>& arguments) {
  static_cast<Link*>(arguments.data())->detach();
  return nullptr;
}

// exitNow(code): ends the process without waiting for anything (a second SIGTERM)
napi_value ExitNow(Arguments<1>& arguments) {
  const uint32_t code = arguments.u32(0, "code");
  if (!arguments.ok()) return nullptr;
  kill_isolated();
  _exit(static_cast<int>(code & 0xff));
}

constexpr int kArenasMax = 2;
constexpr int kMappedBytesMin = 1 << 20;
constexpr int kFreeBytesKept = 16 << 20;  // free bytes that each arena keeps between bursts

template <ExportName Name, auto Call>
constexpr Export exported() {
  return {Name.text, [](napi_env env, napi_callback_info info) -> napi_value {
            return catch_exceptions(env, [&] { return answer(env, info, Name.text, Call); });
          }};
}

constexpr Export kExports[] = {
    // the thread's life
    exported<"attach", Attach>(),
    exported<"detach", Detach>(),
    exported<"exitNow", ExitNow>(),
    // HTTP on uWebSockets.js
    exported<"limitReceive", LimitReceive>(),
    // requests
    exported<"infer", Infer>(),
    exported<"inferMessage", InferMessage>(),
    exported<"openBody", OpenBody>(),
    exported<"appendBody", AppendBody>(),
    exported<"inferBody", InferBody>(),
    exported<"inferPacked", InferPacked>(),
    exported<"countBytes", CountBytes>(),
    exported<"cancel", Cancel>(),
    exported<"keepAnswer", KeepAnswer>(),
    exported<"mapSlot", MapSlot>(),
    // models
    exported<"load", Load>(),
    exported<"unload", Unload>(),
    exported<"warmUp", WarmUp>(),
    exported<"publishRoutes", PublishRoutes>(),
    // callers with limits
    exported<"publishCallers", PublishCallers>(),
    exported<"setCaller", SetCaller>(),
    // models that are served but not loaded
    exported<"reserveModel", ReserveModel>(),
    exported<"putModel", PutModel>(),
    exported<"evictModel", EvictModel>(),
    exported<"refuseModel", RefuseModel>(),
    exported<"takeAsked", TakeAsked>(),
    // isolated models, each in its own process
    exported<"loadIsolated", LoadIsolated>(),
    exported<"takeIsolated", TakeIsolated>(),
    exported<"isolatedOutage", IsolatedOutage>(),
    exported<"runIsolated", RunIsolated>(),
    // shared memory of clients
    exported<"registerRegion", RegisterRegion>(),
    exported<"registerCudaRegion", RegisterCudaRegion>(),
    exported<"unregisterRegion", UnregisterRegion>(),
    exported<"regions", Regions>(),
    // the gRPC listener
    exported<"grpcStart", ListenerStart<ListenerKind::Grpc>>(),
    exported<"grpcTake", ListenerTake<ListenerKind::Grpc>>(),
    exported<"grpcSend", ListenerSend<ListenerKind::Grpc>>(),
    exported<"grpcDrain", ListenerDrain<ListenerKind::Grpc>>(),
    exported<"grpcReloadCertificates", ListenerReloadCertificates<ListenerKind::Grpc>>(),
    exported<"grpcAccess", GrpcAccess>(),
    exported<"grpcStop", ListenerStop<ListenerKind::Grpc>>(),
    // the HTTP listener
    exported<"httpStart", ListenerStart<ListenerKind::Http>>(),
    exported<"httpTake", ListenerTake<ListenerKind::Http>>(),
    exported<"httpSend", ListenerSend<ListenerKind::Http>>(),
    exported<"httpDrain", ListenerDrain<ListenerKind::Http>>(),
    exported<"httpReloadCertificates", ListenerReloadCertificates<ListenerKind::Http>>(),
    exported<"httpForget", ListenerForget<ListenerKind::Http>>(),
    exported<"httpStop", ListenerStop<ListenerKind::Http>>(),
    // a second HTTP listener of the same thread (the admin address)
    exported<"adminStart", ListenerStart<ListenerKind::Admin>>(),
    exported<"adminTake", ListenerTake<ListenerKind::Admin>>(),
    exported<"adminSend", ListenerSend<ListenerKind::Admin>>(),
    exported<"adminDrain", ListenerDrain<ListenerKind::Admin>>(),
    exported<"adminReloadCertificates", ListenerReloadCertificates<ListenerKind::Admin>>(),
    exported<"adminForget", ListenerForget<ListenerKind::Admin>>(),
    exported<"adminStop", ListenerStop<ListenerKind::Admin>>(),
    // metrics and statistics
    exported<"stats", Stats>(),
    exported<"metrics", Metrics>(),
    exported<"unanswered", Unanswered>(),
    exported<"serverValue", SetServerValue>(),
    // access log
    exported<"takeAccessLog", TakeAccessLog>(),
    exported<"setAccessLog", SetAccessLog>(),
    exported<"addAccessLog", AddAccessLog>(),
    // traces
    exported<"traceParent", SetTraceParent>(),
    exported<"setTraces", SetTraces>(),
    exported<"takeTraces", TakeTraces>(),
    // request log
    exported<"takeRequestLog", TakeRequestLog>(),
    exported<"setRequestLog", SetRequestLog>(),
    // load of a server (serval bench)
    exported<"clientOpen", ClientOpen>(),
    exported<"clientOrder", ClientOrder>(),
    exported<"clientClose", ClientClose>(),
    // image files (serval predict)
    exported<"decodeImage", DecodeImage>(),
    // the machine
    exported<"probeDriver", ProbeDriver>(),
    exported<"probeLibrary", ProbeLibrary>(),
    exported<"lockFile", LockFile>(),
    exported<"startableThreads", StartableThreads>(),
    exported<"threadPriority", ThreadPriority>(),
};

}  // namespace

}  // namespace serval

// Runs once per JavaScript thread: makes the thread's own link, dropped with the environment.
NAPI_MODULE_INIT() {
  using namespace serval;
  // Loads run on changing threads. With an arena for each, the memory they free would be spread
  // over about ten arenas.
  mallopt(M_ARENA_MAX, kArenasMax);
  // Large blocks are returned to the system when they are freed, instead of staying in one thread's
  // arena. (By default, the allocator raises the first limit to 32 MiB by itself.)
  mallopt(M_MMAP_THRESHOLD, kMappedBytesMin);
  mallopt(M_TRIM_THRESHOLD, kFreeBytesKept);
  auto* link = new Link(env);
  napi_add_env_cleanup_hook(
      env, [](void* data) { delete static_cast<Link*>(data); }, link);
  for (const Export& entry : kExports) {
    napi_value function = nullptr;
    napi_create_function(env, entry.name, NAPI_AUTO_LENGTH, entry.call, link, &function);
    napi_set_named_property(env, exports, entry.name, function);
  }
  return exports;
}
