// engine.fbs tables of the request log to and from the engine's structs. Control plane, any thread.
#pragma once

#include <map>
#include <span>
#include <string>

#include "engine/model/serve.h"
#include "engine/observe/request_log.h"
#include "engine/request/settings.h"
#include "engine/tables/engine_table.h"
#include "stats/metrics_writer.h"

namespace serval {

// Reads RequestLogRates. Errors: invalid_argument: no such table, a rate that is none.
Result<std::map<std::string, LogRate>> parse_log_rates(std::span<const uint8_t> bytes);

// Appends RequestLogBatch bytes. Requests that are wanted as TensorFlow Serving's messages are made
// such as long as their model is in `table`. Errors: memory_full.
Status write_request_log(const RequestLog::Taken& taken, const EngineTable& table,
                         const ServeSettings& settings, ByteBuffer& out);

// Appends what became of logged requests.
void write_request_log_metrics(const LogTotals& totals, MetricsWriter& writer);

}  // namespace serval
