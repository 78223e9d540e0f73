// The addon's calls for callers whose keys have numbers; JavaScript's thread.
#include "addon/callers.h"

namespace serval {

uint32_t PublishCallers(Link& link, Arguments<1>& arguments) {
  const std::span<const uint8_t> bytes = arguments.buffer(0, "table");
  if (!arguments.ok()) return {};
  const Status published = link.lane().engine().publish_callers(bytes);
  return published.ok() ? 0 : link.report_error(published.error());
}

uint32_t SetCaller(Link& link, Arguments<1>& arguments) {
  const uint32_t number = arguments.u32(0, "number");
  if (arguments.ok()) link.lane().set_caller(number);
  return 0;
}

}  // namespace serval
