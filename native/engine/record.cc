// serve_recorded() and record_request() of serve.h. Hot path, any thread.
#include "engine/model/instance.h"
#include "engine/serve.h"

namespace serval {

namespace {

Outcome outcome_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::Ok: return Outcome::Success;
    case ErrorCode::QueueFull:
    case ErrorCode::DeadlineExceeded: return Outcome::Rejected;
    case ErrorCode::Cancelled: return Outcome::Cancelled;
    case ErrorCode::BackendFailed: return Outcome::BackendFailed;
    default: return Outcome::Other;
  }
}

// The enum's name as clients' logs write codes: "QueueFull" -> "QUEUE_FULL".
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
    "v1-rest",          "v2-rest",         "v2-grpc",          "v2-grpc-stream", "tf-grpc",
    "tf-grpc-classify", "tf-grpc-regress", "v1-rest-classify", "v1-rest-regress"};

}  // namespace

void record_request(Model& model, const ServedRequest& served) {
  const ModelServices& services = model.services();
  const ServeTimes& times = served.times;
  if (services.records) {
    model.stats().record(RequestRecord{
        static_cast<uint8_t>(served.protocol), outcome_of(served.code), served.queue_ns,
        times.input_ns, times.infer_ns, times.output_ns, served.total_ns, times.rows});
  }
  if (services.access_log == nullptr || !services.access_log->sample()) return;
  AccessRecord record;
  record.protocol = kProtocolNames[static_cast<size_t>(served.protocol)];
  record.model = model.spec().name;
  record.version = model.version_text();
  record.id = served.id;
  const std::string code = code_text(served.code);
  record.code = code;
  record.rows = times.rows;
  record.request_bytes = served.request_bytes;
  record.response_bytes = served.response_bytes;
  record.queue_ns = served.queue_ns;
  record.input_ns = times.input_ns;
  record.infer_ns = times.infer_ns;
  record.output_ns = times.output_ns;
  record.total_ns = served.total_ns;
  services.access_log->record(record);
}

Status serve_recorded(const ServeInput& input, Model& model, size_t replica, uint64_t queue_ns,
                      const Limits& limits, Worker& worker, ByteBuffer& response,
                      size_t& json_bytes_out) {
  ServedRequest served;
  const Stopwatch watch;
  Status done = guarded([&] {
    return serve(input, model, replica, limits, worker, response, json_bytes_out, served.code);
  });
  const uint64_t service_ns = watch.elapsed_ns();
  if (model.policy().measures()) {
    model.policy().record(input.protocol, input.body.size(), service_ns);
  }
  if (!done.ok() && was_displaced(input)) {
    worker.arena.reset();
    return done;
  }
  if (!done.ok()) served.code = done.error().code;
  served.protocol = input.protocol;
  served.id = worker.decoded.id;
  served.request_bytes = input.body.size();
  served.response_bytes = done.ok() ? response.size() : done.error().message.size();
  served.queue_ns = queue_ns;
  served.total_ns = queue_ns + service_ns;
  served.times = worker.times;
  record_request(model, served);
  worker.arena.reset();
  return done;
}

}  // namespace serval
