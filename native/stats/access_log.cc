// Formats access log lines. A line is formatted before locking; the lock covers one
// append.
#include "stats/access_log.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/bytes/hidden.h"
#include "base/bytes/utf8.h"

namespace serval {

namespace {

constexpr size_t kLinesBytesMax = 4 * 1024 * 1024;
constexpr size_t kNameBytesShown = 256;
constexpr size_t kReasonBytesShown = 1024;

void add_number(uint64_t value, std::string& out) {
  char text[20];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

// Appends a number with leading zeros.
void add_digits(uint64_t value, size_t width, std::string& out) {
  const std::string digits = std::to_string(value);
  if (digits.size() < width) out.append(width - digits.size(), '0');
  out += digits;
}

void add_escape(uint32_t character, std::string& out) {
  switch (character) {
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: append_json_escape(character, out);
  }
}

void add_string(std::string_view text, std::string& out) {
  out += '"';
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = utf8_length_at(text, at);
    const std::string_view one = text.substr(at, std::max<size_t>(bytes, 1));
    at += one.size();
    const uint32_t character = bytes == 0 ? 0 : code_point_at(one, 0, bytes);
    if (bytes == 0) {
      out += kReplacementCharacter;
    } else if (character == '"' || character == '\\') {
      out += '\\';
      out += one;
    } else if (is_hidden(character)) {
      add_escape(character, out);
    } else {
      out += one;
    }
  }
  out += '"';
}

// Appends "2026-01-01T00:00:00.000Z" in quotes.
void add_time(std::chrono::system_clock::time_point time, std::string& out) {
  using namespace std::chrono;
  const auto ms = floor<milliseconds>(time);
  const auto day = floor<days>(ms);
  const year_month_day date(day);
  const hh_mm_ss clock(ms - day);
  out += '"';
  add_digits(static_cast<uint64_t>(std::max(int{date.year()}, 0)), 4, out);
  out += '-';
  add_digits(unsigned{date.month()}, 2, out);
  out += '-';
  add_digits(unsigned{date.day()}, 2, out);
  out += 'T';
  add_digits(static_cast<uint64_t>(clock.hours().count()), 2, out);
  out += ':';
  add_digits(static_cast<uint64_t>(clock.minutes().count()), 2, out);
  out += ':';
  add_digits(static_cast<uint64_t>(clock.seconds().count()), 2, out);
  out += '.';
  add_digits(static_cast<uint64_t>(clock.subseconds().count()), 3, out);
  out += "Z\"";
}

void add_field(std::string_view name, std::string_view text, std::string& out) {
  out += ",\"";
  out += name;
  out += "\":";
  add_string(text, out);
}

// Appends a text that a client may have chosen.
void add_name(std::string_view name, std::string_view text, std::string& out) {
  add_field(name, cut_utf8(text, kNameBytesShown), out);
}

void add_field(std::string_view name, uint64_t value, std::string& out) {
  out += ",\"";
  out += name;
  out += "\":";
  add_number(value, out);
}

// Appends microseconds with one decimal, rounded.
void add_us(std::string_view name, uint64_t ns, std::string& out) {
  const uint64_t tenths = ns / 100 + (ns % 100 >= 50 ? 1 : 0);
  add_field(name, tenths / 10, out);
  out += '.';
  add_number(tenths % 10, out);
}

void add_measures(const AccessRecord& record, std::string& line) {
  add_field("rows", record.rows, line);
  add_field("request_bytes", record.request_bytes, line);
  add_field("response_bytes", record.response_bytes, line);
  add_us("queue_us", record.queue_ns, line);
  add_us("input_us", record.input_ns, line);
  add_us("infer_us", record.infer_ns, line);
  add_us("output_us", record.output_ns, line);
  add_us("total_us", record.total_ns, line);
}

void begin_line(std::string& out) {
  out += "{\"time\":";
  add_time(std::chrono::system_clock::now(), out);
}

constinit thread_local uint32_t requests_passed = 0;

}  // namespace

void AccessLog::set(const AccessLogSettings& settings) {
  for (size_t i = 0; i < statuses_.size(); ++i) {
    const bool known = i < settings.statuses.size() && settings.statuses[i] != UINT16_MAX;
    statuses_[i].store(known ? static_cast<uint16_t>(settings.statuses[i] + 1) : 0,
                       std::memory_order_relaxed);
  }
  errors_only_.store(settings.errors_only, std::memory_order_relaxed);
  reasons_.store(settings.reasons, std::memory_order_relaxed);
  one_in_.store(settings.one_in, std::memory_order_relaxed);
}

bool AccessLog::sample(bool failed) {
  const uint32_t one_in = one_in_.load(std::memory_order_relaxed);
  if (one_in == 0) return false;
  if (errors_only_.load(std::memory_order_relaxed)) return failed;
  if (++requests_passed < one_in) return false;
  requests_passed = 0;
  return true;
}

uint32_t AccessLog::status_of(size_t protocol, size_t code) const {
  constexpr size_t kCodesMax = AccessLogSettings::kCodesMax;
  if (protocol >= AccessLogSettings::kProtocolsMax || code >= kCodesMax) return kNoStatus;
  const uint32_t put = statuses_[protocol * kCodesMax + code].load(std::memory_order_relaxed);
  return put == 0 ? kNoStatus : put - 1;
}

void AccessLog::record(const AccessRecord& record) {
  std::string line;
  line.reserve(512);
  begin_line(line);
  add_field("protocol", record.protocol, line);
  if (!record.call.empty()) add_name("call", record.call, line);
  if (!record.model.empty()) add_name("model", record.model, line);
  if (!record.version.empty()) add_name("version", record.version, line);
  if (!record.id.empty()) add_name("id", record.id, line);
  add_field("code", record.code, line);
  if (record.status != kNoStatus) add_field("status", record.status, line);
  if (!record.reason.empty() && reasons_.load(std::memory_order_relaxed)) {
    add_field("reason", cut_utf8(record.reason, kReasonBytesShown), line);
  }
  if (!record.trace.empty()) add_field("trace", record.trace, line);
  if (record.measured) add_measures(record, line);
  line += "}\n";
  add(line);
}

void AccessLog::add(std::string_view lines) {
  const std::lock_guard lock(mutex_);
  if (lines_.size() + lines.size() > kLinesBytesMax) {
    ++dropped_;
  } else {
    lines_ += lines;
  }
}

std::string AccessLog::take() {
  std::string lines;
  uint64_t dropped = 0;
  {
    const std::lock_guard lock(mutex_);
    lines.swap(lines_);
    std::swap(dropped, dropped_);
  }
  if (dropped == 0) return lines;
  std::string first;
  begin_line(first);
  add_field("dropped", dropped, first);
  first += "}\n";
  return first + lines;
}

}  // namespace serval
