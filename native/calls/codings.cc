// Parses coding headers and compresses responses. Hot path, compressed bodies only.
#include "calls/codings.h"

#include <charconv>
#include <string>

#include "base/bytes/deflate.h"
#include "base/bytes/views.h"
#include "engine/control/engine.h"

namespace serval {

namespace {

// Removes and returns the part before the next separator.
std::string_view take_part(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return trimmed(part);
}

std::optional<Coding> coding_named(std::string_view name) {
  if (is_header(name, "gzip") || is_header(name, "x-gzip")) return Coding::Gzip;
  if (is_header(name, "deflate")) return Coding::Deflate;
  return std::nullopt;
}

// The value of q, 1 if it is missing; negative if it is not a number.
double quality_of(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view value = take_part(parameters, ';');
    if (value.size() < 2 || (value[0] | 0x20) != 'q' || value[1] != '=') continue;
    value.remove_prefix(2);
    double quality = -1;
    const auto done = std::from_chars(value.data(), value.data() + value.size(), quality);
    return done.ptr == value.data() + value.size() ? quality : -1;
  }
  return 1;
}

// Finds a header by its lower-case name, "" if it is missing. False: there are several.
bool header_once(const HttpRequest& request, std::string_view lower, std::string_view& out) {
  bool found = false;
  out = {};
  for (const HttpHeader& header : request.headers()) {
    if (!is_header(header.name, lower)) continue;
    if (found) return false;
    found = true;
    out = trimmed(header.value);
  }
  return true;
}

}  // namespace

std::string_view name_of(Coding coding) { return coding == Coding::Gzip ? "gzip" : "deflate"; }

std::optional<Coding> preferred_coding(std::string_view accepted, bool& other) {
  std::optional<Coding> best;
  double best_quality = 0;
  double other_quality = 0;
  while (!accepted.empty()) {
    std::string_view parameters = take_part(accepted, ',');
    const std::string_view name = take_part(parameters, ';');
    const double quality = quality_of(parameters);
    const std::optional<Coding> coding = name == "*" ? Coding::Gzip : coding_named(name);
    if (coding.has_value() && quality > best_quality) {
      best = coding;
      best_quality = quality;
    } else if (is_header(name, "zstd") && quality > other_quality) {
      other_quality = quality;
    }
  }
  other = other_quality > best_quality;
  return best;
}

bool read_codings(const HttpRequest& request, bool packs, AskedCodings& out) {
  std::string_view content, accepted;
  if (!header_once(request, "content-encoding", content)) return false;
  if (!content.empty() && !is_header(content, "identity")) {
    out.body = coding_named(content);
    if (!out.body.has_value()) return false;
  }
  if (!packs) return true;
  if (!header_once(request, "accept-encoding", accepted)) return false;
  if (accepted.empty()) return true;
  bool other = false;
  out.answer = preferred_coding(accepted, other);
  return !other;
}

AnswerPacker::AnswerPacker(CallThread& thread) : box_(std::make_shared<Box>()) {
  box_->thread = &thread;
}

AnswerPacker::~AnswerPacker() {
  const std::lock_guard lock(box_->mutex);
  box_->thread = nullptr;
}

bool AnswerPacker::start(Engine& engine, PackedAnswer& answer) {
  const auto work = std::make_shared<PackedAnswer>(std::move(answer));
  const auto budget = engine.budget();  // destroyed after the buffers that it counts
  const bool started = engine.inflating().start([budget, work, box = box_] {
    (void)append_packed(work->coding, kAnswerLevel, work->plain.bytes(), SIZE_MAX, work->packed);
    const std::lock_guard lock(box->mutex);
    if (box->thread == nullptr) return;
    box->answers.push_back(std::move(*work));
    box->thread->wake();
  });
  if (!started) answer = std::move(*work);
  return started;
}

std::vector<PackedAnswer> AnswerPacker::take() {
  const std::lock_guard lock(box_->mutex);
  return std::exchange(box_->answers, {});
}

}  // namespace serval
