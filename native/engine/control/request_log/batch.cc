// Converts tables of the request log to and from bytes. Control plane, any thread.
#include "engine/control/request_log/batch.h"

#include "base/generated/engine_generated.h"
#include "engine/control/request_log/tf_request.h"

namespace serval {

namespace {

using Builder = flatbuffers::FlatBufferBuilder;

// Returns whether the entry must be converted to TensorFlow Serving's form. Failed requests are not
// converted.
bool is_foreign(const LoggedEntry& entry) {
  if (!entry.tensorflow || entry.code != ErrorCode::Ok) return false;
  return !is_tf_message(entry.protocol) && entry.protocol != Protocol::TfMultiInference;
}

Status convert(const LoggedEntry& entry, const Published& published, const ServeSettings& settings,
               ByteBuffer& out) {
  const std::shared_ptr<Model>* model = published.find(entry.handle);
  if (model == nullptr) {
    return make_error(ErrorCode::ModelNotReady, "the model was unloaded before it was written");
  }
  return write_tf_log(entry, **model, settings, out);
}

flatbuffers::Offset<fb::LoggedRequest> write_entry(Builder& builder, const LoggedEntry& entry,
                                                   const Published& published,
                                                   const ServeSettings& settings) {
  ByteBuffer message;
  std::string fault;
  if (is_foreign(entry)) {
    const Status converted = convert(entry, published, settings, message);
    if (!converted.ok()) {
      fault = converted.error().message;
      message.clear();
    }
  }
  const auto vector = [&](std::span<const uint8_t> bytes) {
    return bytes.empty() ? flatbuffers::Offset<flatbuffers::Vector<uint8_t>>()
                         : builder.CreateVector(bytes.data(), bytes.size());
  };
  const std::string_view name = protocol_name(entry.protocol);
  const auto protocol = builder.CreateString(name.data(), name.size());
  const auto model = builder.CreateString(entry.model);
  const auto version = builder.CreateString(entry.version);
  const auto id = builder.CreateString(entry.id);
  const auto request = vector(entry.request());
  const auto response = vector(entry.response());
  const auto tensorflow = vector(message.bytes());
  const auto why = builder.CreateString(fault);
  return fb::CreateLoggedRequest(builder, static_cast<uint8_t>(entry.protocol), protocol,
                                 static_cast<uint8_t>(entry.code), model, version, id,
                                 entry.time_ms, entry.total_us, entry.json_bytes,
                                 entry.response_json_bytes, request, response, tensorflow, why);
}

}  // namespace

Result<std::map<std::string, LogRate>> parse_log_rates(std::span<const uint8_t> bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (!verifier.VerifyBuffer<fb::RequestLogRates>()) {
    return invalid_argument("expected the bytes of RequestLogRates");
  }
  std::map<std::string, LogRate> rates;
  const auto* const rows = flatbuffers::GetRoot<fb::RequestLogRates>(bytes.data())->rates();
  for (size_t i = 0; rows != nullptr && i < rows->size(); ++i) {
    const fb::RequestLogRate& row = *rows->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (!(row.rate() >= 0 && row.rate() <= 1)) {
      return invalid_argument("RequestLogRates.rates[" + std::to_string(i) +
                              "].rate: expected 0 to 1, got " + std::to_string(row.rate()));
    }
    rates[row.model()->str()] = LogRate{row.rate(), row.tensorflow()};
  }
  return rates;
}

Status write_request_log(const RequestLog::Taken& taken, const Published& published,
                         const ServeSettings& settings, ByteBuffer& out) {
  Builder builder;
  std::vector<flatbuffers::Offset<fb::LoggedRequest>> requests;
  requests.reserve(taken.entries.size());
  for (const LoggedEntry& entry : taken.entries) {
    requests.push_back(write_entry(builder, entry, published, settings));
  }
  const auto all = builder.CreateVector(requests);
  builder.Finish(fb::CreateRequestLogBatch(builder, all, taken.dropped, taken.more));
  if (out.append(builder.GetBufferPointer(), builder.GetSize())) return {};
  return make_error(ErrorCode::MemoryFull, "out of memory for the request log");
}

void write_request_log_metrics(const LogTotals& totals, MetricsWriter& writer) {
  const LogCounts& counts = totals.counts;
  writer.family("serval_request_log_records_total", "counter", "Requests in the request log");
  writer.sample("serval_request_log_records_total", "", counts.written);
  const char* const dropped = "serval_request_log_dropped_total";
  writer.family(dropped, "counter", "Sampled requests that are not in the request log");
  writer.sample(dropped, "reason=\"memory\"", totals.dropped);
  writer.sample(dropped, "reason=\"file\"", counts.unwritten);
  writer.sample(dropped, "reason=\"form\"", counts.formless);
  writer.family("serval_request_log_stopped", "gauge", "Request logs that cannot be written now");
  writer.sample("serval_request_log_stopped", "", counts.stopped);
}

}  // namespace serval
