// Records ended requests in statistics, logs and traces. Hot path, any thread.
#include "engine/model/record.h"

#include "engine/observe/tracer.h"
#include "engine/request/missing.h"
#include "engine/request/outcome.h"

namespace serval {

namespace {

Outcome outcome_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::Ok: return Outcome::Success;
    case ErrorCode::QueueFull:
    case ErrorCode::LimitReached:
    case ErrorCode::DeadlineExceeded: return Outcome::Rejected;
    case ErrorCode::Cancelled: return Outcome::Cancelled;
    case ErrorCode::BackendFailed: return Outcome::BackendFailed;
    default: return Outcome::Other;
  }
}

// Returns the enum's name as client-facing logs write codes: "QueueFull" -> "QUEUE_FULL".
std::string code_text(ErrorCode code) {
  std::string text;
  for (const char* at = fb::EnumNameErrorCode(code); *at != '\0'; ++at) {
    const bool upper = *at >= 'A' && *at <= 'Z';
    if (upper && !text.empty()) text += '_';
    text += upper ? *at : static_cast<char>(*at - 'a' + 'A');
  }
  return text;
}

constexpr std::string_view kProtocolNames[kProtocols] = {
    "v1-rest",         "v2-rest",
    "v2-grpc",         "v2-grpc-stream",
    "tf-grpc",         "tf-grpc-classify",
    "tf-grpc-regress", "v1-rest-classify",
    "v1-rest-regress", "tf-grpc-multi-inference"};

}  // namespace

std::string_view protocol_name(Protocol protocol) {
  return kProtocolNames[static_cast<size_t>(protocol)];
}

void record_request(Model& model, const ServedRequest& served) {
  ModelCounters& counters = model.counters();
  const uint64_t queue_ns = served.progress.queue_ns;
  if (queue_ns != 0) counters.queue_ns.fetch_add(queue_ns, std::memory_order_relaxed);
  if (served.code != ErrorCode::Ok) {
    const bool cancelled = served.code == ErrorCode::Cancelled;
    (cancelled ? counters.cancelled : counters.failures).fetch_add(1, std::memory_order_relaxed);
  }
  const ModelServices& services = model.services();
  const ServeTimes& times = served.progress.times;
  if (services.records) {
    model.stats().record(RequestRecord{static_cast<uint8_t>(served.protocol),
                                       outcome_of(served.code), queue_ns, times.input_ns,
                                       times.infer_ns, times.output_ns, served.total_ns, times.rows,
                                       times.cached, times.cache_ns});
  }
  if (served.trace != nullptr) {
    services.tracer->record(*served.trace, model.spec().name, model.version_text(), served);
  }
  if (services.access_log == nullptr || !served.logged ||
      !services.access_log->sample(served.code != ErrorCode::Ok)) {
    return;
  }
  AccessRecord record;
  record.protocol = protocol_name(served.protocol);
  record.status = services.access_log->status_of(static_cast<size_t>(served.protocol),
                                                 static_cast<size_t>(served.code));
  record.reason = served.reason;
  const std::string trace =
      served.trace == nullptr ? std::string() : trace_id_text(served.trace->trace_id);
  record.trace = trace;
  record.model = model.spec().name;
  record.version = model.version_text();
  record.id = served.progress.id;
  const std::string code = code_text(served.code);
  record.code = code;
  record.rows = times.rows;
  record.request_bytes = served.request_bytes;
  record.response_bytes = served.response_bytes;
  record.queue_ns = queue_ns;
  record.input_ns = times.input_ns;
  record.infer_ns = times.infer_ns;
  record.output_ns = times.output_ns;
  record.total_ns = served.total_ns;
  services.access_log->record(record);
}

void log_refused(AccessLog& log, const RefusedRequest& refused, const Error& error) {
  if (!log.sample(true)) return;
  AccessRecord record;
  record.protocol = kProtocolNames[static_cast<size_t>(refused.protocol)];
  record.status =
      log.status_of(static_cast<size_t>(refused.protocol), static_cast<size_t>(error.code));
  record.model = refused.model;
  record.version = refused.version;
  record.id = refused.id;
  const std::string code = code_text(error.code);
  record.code = code;
  const std::string reason = error.missing.empty() ? error.message : text_of_missing(error);
  record.reason = reason;
  record.measured = true;
  record.request_bytes = refused.request_bytes;
  log.record(record);
}

void end_request(Model& model, Request& request, const Status& status, const Progress* progress) {
  const ErrorCode code = status.ok() ? ErrorCode::Ok : status.error().code;
  if (progress != nullptr) request.admission.charge_rows(progress->times.rows);
  store_outcome(request, status);
  const uint64_t total_ns = request.queued.elapsed_ns();
  const ServedRequest served{request.protocol,
                             code,
                             request.bytes().size(),
                             request.response.size(),
                             total_ns,
                             progress != nullptr ? *progress : Progress{{}, total_ns, {}},
                             status.ok() ? std::string_view() : status.error().message,
                             request.trace.get(),
                             request.step == nullptr};
  record_request(model, served);
  if (request.group == nullptr && served.logged) {
    log_request(model, served, request.bytes(), request.json_bytes, request);
  }
}

void log_sampled(Model& model, const ServedRequest& served, std::span<const uint8_t> bytes,
                 int64_t json_bytes, const Request& answered) {
  model.services().request_log->record(
      model.handle(), model.spec().name, model.version_text(), model.tap()->tensorflow(),
      {served.protocol, served.code, served.progress.id, served.total_ns, json_bytes,
       answered.json_bytes_out, bytes, answered.response.bytes()});
}

}  // namespace serval
