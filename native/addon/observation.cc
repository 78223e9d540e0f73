// See observation.h. JavaScript's thread.
#include "addon/observation.h"

#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "addon/control.h"
#include "engine/control/request_log/batch.h"
#include "engine/watch/code_pages.h"

namespace serval {

uint32_t TakeAccessLog(Link& link, Arguments<0>&) {
  ByteBuffer& out = link.clear_answer();
  if (!out.append(link.lane().engine().access_log().take())) out.clear();
  return link.report({});
}

uint32_t SetAccessLog(Link& link, Arguments<4>& arguments) {
  AccessLogSettings settings;
  settings.one_in = arguments.u32(0, "oneIn");
  settings.errors_only = arguments.boolean(1, "errorsOnly");
  settings.reasons = arguments.boolean(2, "reasons");
  const std::span<const uint8_t> statuses = arguments.buffer(3, "statuses");
  if (!arguments.ok()) return {};
  settings.statuses.resize(statuses.size() / sizeof(uint16_t));
  if (!settings.statuses.empty()) {
    std::memcpy(settings.statuses.data(), statuses.data(),
                settings.statuses.size() * sizeof(uint16_t));
  }
  link.lane().engine().access_log().set(settings);
  return 0;
}

uint32_t AddAccessLog(Link& link, Arguments<1>& arguments) {
  const std::span<const uint8_t> lines = arguments.buffer(0, "lines");
  if (!arguments.ok()) return {};
  link.lane().engine().access_log().add(
      {reinterpret_cast<const char*>(lines.data()), lines.size()});
  return 0;
}

uint32_t SetServerValue(Link& link, Arguments<3>& arguments) {
  const std::string name = arguments.text(0, "name");
  const int64_t value = arguments.i64(1, "value");
  const bool adds = arguments.boolean(2, "adds");
  const std::optional<ServerValue> which = ServerStats::named(name);
  if (!which.has_value()) arguments.fail("name");
  if (!arguments.ok()) return {};
  ServerStats& stats = link.lane().engine().server_stats();
  if (adds) stats.add(*which, value);
  else stats.set(*which, value);
  return 0;
}

uint32_t SetTraceParent(Link& link, Arguments<2>& arguments) {
  const std::span<const uint8_t> parent = arguments.buffer(0, "parent");
  const std::span<const uint8_t> state = arguments.buffer(1, "state");
  if (!arguments.ok()) return {};
  link.lane().traces().set_parent({reinterpret_cast<const char*>(parent.data()), parent.size()},
                                  {reinterpret_cast<const char*>(state.data()), state.size()});
  return 0;
}

uint32_t SetTraces(Link& link, Arguments<1>& arguments) {
  const std::span<const uint8_t> bytes = arguments.buffer(0, "rules");
  if (!arguments.ok()) return {};
  const Result<TraceRules> rules = TraceRules::parse(bytes);
  if (!rules.ok()) return link.report_error(rules.error());
  link.lane().engine().set_traces(rules.value());
  return link.report({});
}

uint32_t TakeTraces(Link& link, Arguments<1>& arguments) {
  const uint32_t lost = arguments.u32(0, "lost");
  if (!arguments.ok()) return {};
  Tracer& tracer = link.lane().engine().tracer();
  tracer.count_lost(lost);
  ByteBuffer& out = link.clear_answer();
  if (tracer.take(out)) return link.report({});
  return link.report_error(make_error(ErrorCode::Internal, "out of memory"));
}

uint32_t TakeRequestLog(Link& link, Arguments<4>& arguments) {
  const LogCounts counts{arguments.u32(0, "written"), arguments.u32(1, "unwritten"),
                         arguments.u32(2, "formless"), arguments.u32(3, "stopped")};
  if (!arguments.ok()) return {};
  link.lane().engine().request_log().count(counts);
  return start_control(link, [](Engine& engine, Request& request, std::shared_ptr<Home> home) {
    engine.take_request_log(request, std::move(home));
  });
}

uint32_t SetRequestLog(Link& link, Arguments<1>& arguments) {
  const std::span<const uint8_t> bytes = arguments.buffer(0, "rates");
  if (!arguments.ok()) return {};
  Result<std::map<std::string, LogRate>> rates = parse_log_rates(bytes);
  if (!rates.ok()) return link.report_error(rates.error());
  link.lane().engine().request_log().set_rates(std::move(rates.value()));
  return 0;
}

napi_value DropStartCode(Arguments<0>&) {
  drop_start_code();
  return nullptr;
}

}  // namespace serval
