// The calls for models in processes of their own. Control plane; thread: JavaScript's.
#pragma once

#include "addon/guard.h"
#include "addon/link.h"

namespace serval {

// loadIsolated(spec: Buffer, group: Buffer, command: Buffer) -> code; completes as load() does.
// `command`: of the process that runs runIsolated(), its arguments with NUL between.
uint32_t LoadIsolated(Link& link, Arguments<3>& arguments);
// takeIsolated() -> code; in slot 0 a JSON list of the deaths since the last call
uint32_t TakeIsolated(Link& link, Arguments<0>&);
// isolatedOutage(model: Buffer, version: Buffer) -> code; in slot 0 why that version cannot be run
// now, as its process is down: empty where it can, or is not isolated
uint32_t IsolatedOutage(Link& link, Arguments<2>& arguments);
// runIsolated(library: Buffer, intraOpThreads, parent, pinnedPoolBytes): serves descriptors 3 and 4
// until the process that has the id `parent` hangs up, and ends this one. Does not return.
napi_value RunIsolated(Arguments<4>& arguments);

}  // namespace serval
