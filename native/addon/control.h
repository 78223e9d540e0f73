// Starts work that completes later. Control plane; JavaScript's thread.
#pragma once

#include <utility>

#include "addon/link.h"

namespace serval {

// Opens a control ticket and starts its work: start(engine, request, listener). The work completes
// later.
template <typename Start>
uint32_t start_control(Link& link, const Start& start) {
  Lane& lane = link.lane();
  const Result<uint32_t> ticket = lane.open_control();
  if (!ticket.ok()) return link.report_error(ticket.error());
  link.set_ticket(ticket.value());
  start(lane.engine(), *lane.slots().find(ticket.value()), lane.home());
  return kPending;
}

}  // namespace serval
