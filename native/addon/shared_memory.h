// The calls that register shared memory of clients. Control plane; thread: JavaScript's.
#pragma once

#include "addon/export.h"
#include "addon/link.h"

namespace serval {

// registerRegion(name: Buffer, key: Buffer, offset, bytes, regionsMax) -> code
uint32_t RegisterRegion(Link& link, Arguments<5>& arguments);
// registerCudaRegion(name: Buffer, handle: Buffer, device, bytes, regionsMax) -> code
uint32_t RegisterCudaRegion(Link& link, Arguments<5>& arguments);
// unregisterRegion(name: Buffer, empty = all; cuda: 0 or 1) -> code
uint32_t UnregisterRegion(Link& link, Arguments<2>& arguments);
// regions(name: Buffer, empty = all; cuda: 0 or 1) -> code; a JSON list in slot 0
uint32_t Regions(Link& link, Arguments<2>& arguments);

}  // namespace serval
