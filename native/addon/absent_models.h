// The addon's calls for models that are served but not loaded. Control plane; JavaScript's thread.
#pragma once

#include "addon/export.h"
#include "addon/link.h"

namespace serval {

// reserveModel(spec: Buffer) -> code; the handle is in the ticket's word
uint32_t ReserveModel(Link& link, Arguments<1>& arguments);
// putModel(handle, place) -> code; the model gets the handle `place` of one that is not loaded
uint32_t PutModel(Link& link, Arguments<2>& arguments);
// evictModel(handle) -> code; completes when the memory is released
uint32_t EvictModel(Link& link, Arguments<1>& arguments);
// refuseModel(handle, code, message: Buffer) -> code; answers the requests that wait for the model
uint32_t RefuseModel(Link& link, Arguments<3>& arguments);
// takeAsked() -> code; completes with the handles (u32) of the models that requests wait for
uint32_t TakeAsked(Link& link, Arguments<0>&);

}  // namespace serval
