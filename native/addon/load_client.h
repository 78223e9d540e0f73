// The load client (native/load) for JavaScript: one for each thread of a load. Control plane;
// JavaScript's thread, and a client's own. Nothing of JavaScript runs for a request.
#pragma once

#include <cstdint>

#include "addon/guard.h"
#include "addon/napi_api.h"

namespace serval {

// clientOpen(target, told) -> a number from 1 on; 0: it cannot, or is not built. `target`:
// {host, port, unixPath, http2, tlsCa}. `told(problem)`: connections are open, or why not;
// `told(undefined, result)`: a load is over. Objects: ts/cli/bench/load/native-client.ts.
uint32_t ClientOpen(Arguments<2>& arguments);
// clientOrder(client, order): {traffic, plan} opens connections for a load, {begins} begins it at
// that time of the steady clock, in ms
napi_value ClientOrder(Arguments<2>& arguments);
// clientClose(client): cuts everything; `told` is not called any more
napi_value ClientClose(Arguments<1>& arguments);

}  // namespace serval
