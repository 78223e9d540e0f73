// engine.fbs tables of the request log to and from the engine's structs. Control plane, any thread.
#pragma once

#include <map>
#include <span>
#include <string>

#include "engine/model/serve.h"
#include "engine/observe/request_log.h"
#include "engine/published/published.h"
#include "engine/request/settings.h"
#include "stats/metrics_writer.h"

namespace serval {

// Reads RequestLogRates. Errors: invalid_argument: the bytes are not such a table, or a rate is
// invalid.
Result<std::map<std::string, LogRate>> parse_log_rates(std::span<const uint8_t> bytes);

// Appends RequestLogBatch bytes. Requests that are logged as TensorFlow Serving's messages are
// converted only while their model is published. Errors: memory_full.
Status write_request_log(const RequestLog::Taken& taken, const Published& published,
                         const ServeSettings& settings, ByteBuffer& out);

// Appends the counts of logged requests by outcome.
void write_request_log_metrics(const LogTotals& totals, MetricsWriter& writer);

}  // namespace serval
