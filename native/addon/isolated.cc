// The calls for models in their own processes, and the code that such a process runs. Control
// plane; thread: JavaScript's.
#include "addon/isolated.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>

#include "addon/control.h"
#include "backend/isolated/isolated.h"
#include "backend/isolated/serve.h"
#include "codec/json/text.h"
#include "engine/control/spec/codec.h"

namespace serval {

namespace {

constexpr int kSocket = 3;
constexpr int kCancelEvent = 4;
constexpr std::string_view kOomScore =
    "500";  // higher than the server's: the kernel kills this process first

std::string text_copy(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

std::vector<std::string> split(std::span<const uint8_t> bytes) {
  std::vector<std::string> parts;
  const std::string text = text_copy(bytes);
  for (size_t at = 0; at < text.size();) {
    parts.emplace_back(text.c_str() + at);
    at += parts.back().size() + 1;
  }
  return parts;
}

bool write_death(const IsolatedDeath& death, ByteBuffer& out) {
  return out.append("{\"models\":") && append_json_string(out, death.models) &&
         out.append(",\"reason\":") && append_json_string(out, death.reason) &&
         out.append(",\"pid\":" + std::to_string(death.pid) +
                    ",\"pauseMs\":" + std::to_string(death.pause_ms) +
                    ",\"ended\":" + (death.ended ? "true" : "false") + "}");
}

bool write_wait(const IsolatedWait& wait, ByteBuffer& out) {
  return out.append("{\"model\":") && append_json_string(out, wait.model) &&
         out.append(",\"version\":" + std::to_string(wait.version) + ",\"waited\":" +
                    std::to_string(wait.waited) + ",\"retried\":" + std::to_string(wait.retried) +
                    ",\"ms\":" + std::to_string(wait.ms) +
                    ",\"returned\":" + (wait.returned ? "true" : "false") + "}");
}

// Prepares this process to run an isolated model. Signals from a terminal, or sent to the server's
// process group, are handled by the server: it ends this process after its requests are answered.
// This process never outlives the server.
void become_isolated(int64_t parent) {
  for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(one, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != static_cast<pid_t>(parent)) _exit(0);
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score < 0) return;
  // If this is not permitted, the kernel applies its default choice.
  [[maybe_unused]] const ssize_t written = write(score, kOomScore.data(), kOomScore.size());
  close(score);
}

}  // namespace

uint32_t LoadIsolated(Link& link, Arguments<3>& arguments) {
  const std::span<const uint8_t> bytes = arguments.buffer(0, "spec");
  Isolation isolation;
  isolation.group = text_copy(arguments.buffer(1, "group"));
  isolation.command = split(arguments.buffer(2, "command"));
  if (isolation.command.empty()) arguments.fail("command");
  if (!arguments.ok()) return {};
  Result<ModelSpec> spec = parse_model_spec(bytes);
  if (!spec.ok()) return link.report_error(spec.error());
  isolate(spec.value(), isolation, bytes);
  return start_control(link, [&](Engine& engine, Request& request, std::shared_ptr<Home> home) {
    engine.load(std::move(spec.value()), request, std::move(home));
  });
}

uint32_t TakeIsolated(Link& link, Arguments<0>&) {
  ByteBuffer& out = link.clear_answer();
  bool fits = out.append("{\"deaths\":[");
  const char* between = "";
  for (const IsolatedDeath& death : take_isolated_deaths()) {
    fits = fits && out.append(between) && write_death(death, out);
    between = ",";
  }
  fits = fits && out.append("],\"waits\":[");
  between = "";
  for (const IsolatedWait& wait : take_isolated_waits()) {
    fits = fits && out.append(between) && write_wait(wait, out);
    between = ",";
  }
  if (!fits || !out.append("]}")) {
    return link.report_error(make_error(ErrorCode::MemoryFull, "out of memory"));
  }
  return link.report({});
}

uint32_t IsolatedOutage(Link& link, Arguments<2>& arguments) {
  const std::string model = text_copy(arguments.buffer(0, "model"));
  const std::string number = text_copy(arguments.buffer(1, "version"));
  int64_t version = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), version);
  if (read.ptr != number.data() + number.size() || number.empty()) arguments.fail("version");
  if (!arguments.ok()) return {};
  ByteBuffer& out = link.clear_answer();
  if (out.append(isolated_outage(model, version))) return link.report({});
  return link.report_error(make_error(ErrorCode::MemoryFull, "out of memory"));
}

napi_value RunIsolated(Arguments<4>& arguments) {
  const std::string library = text_copy(arguments.buffer(0, "library"));
  const uint32_t threads = arguments.u32(1, "intraOpThreads");
  const int64_t parent = arguments.i64(2, "parent");
  const int64_t pinned_pool_bytes = arguments.i64(3, "pinnedPoolBytes");
  if (threads > INT32_MAX) arguments.fail("intraOpThreads");
  if (pinned_pool_bytes < 0) arguments.fail("pinnedPoolBytes");
  if (!arguments.ok()) return nullptr;
  become_isolated(parent);
  const std::unique_ptr<Backend> onnxruntime =
      make_onnxruntime_backend(library, static_cast<int>(threads));
  const std::unique_ptr<Backend> null = make_null_backend();
  isolated::ServeOptions options;
  options.socket = kSocket;
  options.cancel_event = kCancelEvent;
  options.pinned_pool_bytes = static_cast<uint64_t>(pinned_pool_bytes);
  options.parse = [](std::span<const uint8_t> bytes) { return parse_model_spec(bytes); };
  options.backend = [&](const std::string& name) -> Backend* {
    if (name == "onnxruntime") return onnxruntime.get();
    return name == "null" ? null.get() : nullptr;
  };
  isolated::serve(options);
  _exit(0);
}

}  // namespace serval
