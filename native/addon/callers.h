// The addon's calls for callers whose keys have numbers. publishCallers: control plane; setCaller:
// hot path; JavaScript's thread.
#pragma once

#include "addon/export.h"
#include "addon/link.h"

namespace serval {

// publishCallers(table: Buffer) -> code
uint32_t PublishCallers(Link& link, Arguments<1>& arguments);
// setCaller(number): of the requests that follow, 0 = none
uint32_t SetCaller(Link& link, Arguments<1>& arguments);

}  // namespace serval
