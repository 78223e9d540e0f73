// The calls for models in their own processes. Control plane; thread: JavaScript's.
#pragma once

#include "addon/export.h"
#include "addon/link.h"

namespace serval {

// loadIsolated(spec: Buffer, group: Buffer, command: Buffer) -> code; completes as load() does.
// `command`: of the process that runs runIsolated(), its arguments separated by NUL.
uint32_t LoadIsolated(Link& link, Arguments<3>& arguments);
// takeIsolated() -> code; in slot 0 a JSON object with lists of the deaths and of the waits for
// processes since the last call
uint32_t TakeIsolated(Link& link, Arguments<0>&);
// isolatedOutage(model: Buffer, version: Buffer) -> code; in slot 0 the reason why that version
// cannot run now because its process is down: empty if it can, or is not isolated
uint32_t IsolatedOutage(Link& link, Arguments<2>& arguments);
// runIsolated(library: Buffer, intraOpThreads, parent, pinnedPoolBytes): serves descriptors 3 and 4
// until the process with the id `parent` hangs up, then ends this process. Does not return.
napi_value RunIsolated(Arguments<4>& arguments);

}  // namespace serval
