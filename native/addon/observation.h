// The addon's calls for observation of the server: access log, server metrics, traces, the request
// log, resident memory. Control plane; JavaScript's thread.
#pragma once

#include "addon/export.h"
#include "addon/link.h"

namespace serval {

// takeAccessLog() -> code; the lines since the last call in slot 0
uint32_t TakeAccessLog(Link& link, Arguments<0>&);
// setAccessLog(oneIn, errorsOnly, reasons, statuses: Buffer of u16): oneIn 0 = off
uint32_t SetAccessLog(Link& link, Arguments<4>& arguments);
// addAccessLog(lines: Buffer): adds the lines of requests that JavaScript answered itself
uint32_t AddAccessLog(Link& link, Arguments<1>& arguments);
// serverValue(name, value, adds): sets a value of the server's metrics, or adds to it
uint32_t SetServerValue(Link& link, Arguments<3>& arguments);
// traceParent(parent: Buffer, state: Buffer): the headers of the request that is handed over next
uint32_t SetTraceParent(Link& link, Arguments<2>& arguments);
// setTraces(rules: Buffer) -> code
uint32_t SetTraces(Link& link, Arguments<1>& arguments);
// takeTraces(lost) -> code; a TraceTake in slot 0. `lost`: how many taken before were lost
uint32_t TakeTraces(Link& link, Arguments<1>& arguments);
// takeRequestLog(written, unwritten, formless, stopped) -> code; completes with RequestLogBatch
// bytes. The numbers: LogCounts.
uint32_t TakeRequestLog(Link& link, Arguments<4>& arguments);
// setRequestLog(rates: Buffer) -> code
uint32_t SetRequestLog(Link& link, Arguments<1>& arguments);

}  // namespace serval
