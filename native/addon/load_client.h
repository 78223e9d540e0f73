// The load client (native/load) for JavaScript: one for each thread of a load. Control plane;
// JavaScript's thread, and a client's own. No JavaScript runs per request.
#pragma once

#include <cstdint>

#include "addon/export.h"
#include "addon/napi_api.h"

namespace serval {

// clientOpen(target, told) -> a number from 1 on; 0: it failed, or is not built. `target`: {host,
// port, unixPath, http2, tlsCa}. `told(problem)`: connections are open, or the error;
// `told(undefined, result)`: a load is over. Objects: ts/cli/bench/load/native-client.ts.
uint32_t ClientOpen(Arguments<2>& arguments);
// clientOrder(client, order): {traffic, schedule} opens connections for a load, {begins} starts it
// at that time of the steady clock, in ms
napi_value ClientOrder(Arguments<2>& arguments);
// clientClose(client): closes all connections; makes no more calls of `told`
napi_value ClientClose(Arguments<1>& arguments);

}  // namespace serval
