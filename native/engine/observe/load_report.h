// The machine's load as the response header endpoint-load-metrics says it (ORCA), for load
// balancers. Only for requests that ask for it; any thread. Source: Triton's
// docs/user_guide/metrics.md, "ORCA Header Metrics"; Envoy's
// xds/data/orca/v3/orca_load_report.proto.
#pragma once

#include <string>
#include <string_view>

#include "stats/process_metrics.h"

namespace serval {

// Names of the request's header, whose value is the format, and of the response's.
inline constexpr std::string_view kLoadFormatHeader = "endpoint-load-metrics-format";
inline constexpr std::string_view kLoadHeader = "endpoint-load-metrics";

enum class LoadFormat : uint8_t { None, Text, Json };

// `name`: "text" or "json" in any case; others are None.
LoadFormat load_format(std::string_view name);
// "TEXT cpu_utilization=0.25, mem_utilization=0.5", or the same as "JSON {...}". Values that the
// machine does not tell are left out.
std::string load_text(LoadFormat format, const MachineLoad& load);
// The text of the current load, which is read at most ten times a second.
std::string load_report(LoadFormat format);

}  // namespace serval
