// The addon's calls for models that are served but not loaded. Control plane; JavaScript's thread.
#include "addon/absent_models.h"

#include <string>
#include <utility>

#include "addon/control.h"
#include "engine/control/spec/codec.h"

namespace serval {

uint32_t ReserveModel(Link& link, Arguments<1>& arguments) {
  const std::span<const uint8_t> bytes = arguments.buffer(0, "spec");
  if (!arguments.ok()) return {};
  const Result<ModelSpec> spec = parse_model_spec(bytes);
  if (!spec.ok()) return link.report_error(spec.error());
  link.set_ticket(link.lane().engine().reserve(spec.value()));
  return 0;
}

uint32_t PutModel(Link& link, Arguments<2>& arguments) {
  const uint32_t handle = arguments.u32(0, "handle");
  const uint32_t place = arguments.u32(1, "place");
  if (!arguments.ok()) return {};
  const Status put = link.lane().engine().put(handle, place);
  return put.ok() ? 0 : link.report_error(put.error());
}

uint32_t EvictModel(Link& link, Arguments<1>& arguments) {
  const uint32_t handle = arguments.u32(0, "handle");
  if (!arguments.ok()) return {};
  return start_control(link, [&](Engine& engine, Request& request, std::shared_ptr<Home> home) {
    engine.evict(handle, request, std::move(home));
  });
}

uint32_t RefuseModel(Link& link, Arguments<3>& arguments) {
  const uint32_t handle = arguments.u32(0, "handle");
  const uint32_t code = arguments.u32(1, "code");
  const std::span<const uint8_t> text = arguments.buffer(2, "message");
  if (code == 0 || code > static_cast<uint32_t>(ErrorCode::MAX)) arguments.fail("code");
  if (!arguments.ok()) return {};
  const Error error = make_error(static_cast<ErrorCode>(code), {text.begin(), text.end()});
  const Status refused = link.lane().engine().refuse_waiting(handle, error);
  return refused.ok() ? 0 : link.report_error(refused.error());
}

uint32_t TakeAsked(Link& link, Arguments<0>&) {
  return start_control(link, [&](Engine& engine, Request& request, std::shared_ptr<Home> home) {
    engine.take_asked(request, std::move(home));
  });
}

}  // namespace serval
