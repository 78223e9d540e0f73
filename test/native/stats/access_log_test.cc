// The access log: the line's exact form, escaping, sampling, and its limit.
#include "stats/access_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes/utf8.h"

namespace serval {
namespace {

using namespace std::string_view_literals;

AccessRecord plain() {
  AccessRecord record;
  record.protocol = "v2-rest";
  record.model = "mlp";
  record.version = "3";
  record.code = "OK";
  record.rows = 2;
  record.request_bytes = 100;
  record.response_bytes = 50;
  record.queue_ns = 1'049;
  record.input_ns = 1'050;
  record.infer_ns = 99'999'950;
  record.output_ns = 49;
  record.total_ns = UINT64_MAX;
  return record;
}

// The current time as "2026-01-01T00:00:00".
std::string now_text() {
  using std::chrono::system_clock;
  const std::time_t now = system_clock::to_time_t(system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)};
}

// Replaces every digit by 'd'.
std::string shape_of(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char byte) { return byte >= '0' && byte <= '9'; }, 'd');
  return text;
}

constexpr size_t kTimeBytes = std::string_view(R"({"time":"2026-01-01T00:00:00.000Z",)").size();

// Returns what follows the time on the only line of a log that recorded `record`; the time is
// checked.
std::string line_of(const AccessRecord& record) {
  AccessLog log;
  const std::string before = now_text();
  log.record(record);
  const std::string after = now_text();
  const std::string text = log.take();
  EXPECT_EQ(shape_of(text.substr(0, kTimeBytes)), R"({"time":"dddd-dd-ddTdd:dd:dd.dddZ",)");
  const std::string seconds = text.substr(9, before.size());
  EXPECT_LE(before, seconds);
  EXPECT_GE(after, seconds);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  return text.substr(kTimeBytes, text.size() - kTimeBytes - 1);
}

std::string field(std::string_view name, const std::string& line) {
  const std::string start = "\"" + std::string(name) + "\":";
  const size_t at = line.find(start);
  if (at == std::string::npos) return "missing";
  const size_t end = line.find(",\"", at);
  return line.substr(at + start.size(), end - at - start.size());
}

std::string id_of(std::string_view id) {
  AccessRecord record = plain();
  record.id = id;
  return field("id", line_of(record));
}

TEST(AccessLog, ALineHasEveryFieldInOrder) {
  AccessRecord record = plain();
  record.id = "r-1";
  EXPECT_EQ(line_of(record),
            R"("protocol":"v2-rest","model":"mlp","version":"3","id":"r-1","code":"OK","rows":2,)"
            R"("request_bytes":100,"response_bytes":50,"queue_us":1.0,"input_us":1.1,)"
            R"("infer_us":100000.0,"output_us":0.0,"total_us":18446744073709551.6})");
}

TEST(AccessLog, ARequestWithoutAnIdHasNone) { EXPECT_EQ(field("id", line_of(plain())), "missing"); }

TEST(AccessLog, QuotesBackslashesAndControlCharactersAreEscaped) {
  EXPECT_EQ(id_of("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(id_of("\n\r\t"), R"("\n\r\t")");
  EXPECT_EQ(id_of("\0\x01\x1f\x7f"sv), R"("\u0000\u0001\u001f\u007f")");
  EXPECT_EQ(id_of("\xC2\x85\xE2\x80\xAE\xE2\x80\xA8\xF3\xA0\x80\x81"),
            R"("\u0085\u202e\u2028\udb40\udc01")");
  AccessRecord record = plain();
  record.model = "m\"\n";
  record.code = "\\";
  EXPECT_EQ(field("model", line_of(record)), R"("m\"\n")");
  EXPECT_EQ(field("code", line_of(record)), R"("\\")");
}

TEST(AccessLog, WhatATerminalActsOnIsEscaped) {
  EXPECT_EQ(id_of("\xC2\x80\xC2\x9B\xC2\x9F"), R"("\u0080\u009b\u009f")");  // C1 controls
  EXPECT_EQ(id_of("a\u202eb\u2066\u2069"), R"("a\u202eb\u2066\u2069")");    // text direction
  EXPECT_EQ(id_of("\u200f\u061c\ufeff"), R"("\u200f\u061c\ufeff")");
  EXPECT_EQ(id_of("\u2028\u2029"), R"("\u2028\u2029")");  // line ends
  EXPECT_EQ(id_of("\u00a0\u2010\u2070"), "\"\u00a0\u2010\u2070\"");
}

TEST(AccessLog, ARefusalHasItsCallStatusReasonAndTrace) {
  AccessRecord record;
  record.protocol = "v2-grpc";
  record.call = "/inference.GRPCInferenceService/ServerLive";
  record.code = "UNAUTHENTICATED";
  record.status = 16;
  record.reason = "no \x1b key";
  record.trace = "0af7651916cd43dd8448eb211c80319c";
  record.measured = false;
  EXPECT_EQ(line_of(record),
            R"("protocol":"v2-grpc","call":"/inference.GRPCInferenceService/ServerLive",)"
            R"("code":"UNAUTHENTICATED","status":16,"reason":"no \u001b key",)"
            R"("trace":"0af7651916cd43dd8448eb211c80319c"})");
}

TEST(AccessLog, AReasonIsCutAt1024BytesAndLeftOutWhereNobodyWantsIt) {
  AccessRecord record = plain();
  const std::string reason = std::string(1023, 'x') + "\u00f6";
  record.reason = reason;
  EXPECT_EQ(field("reason", line_of(record)), "\"" + std::string(1023, 'x') + "\"");
  AccessLog log;
  log.set({1, false, false, {}});
  log.record(record);
  EXPECT_EQ(log.take().find("reason"), std::string::npos);
}

TEST(AccessLog, StatusesAreThoseItWasTold) {
  AccessLog log;
  EXPECT_EQ(log.status_of(0, 0), kNoStatus);
  std::vector<uint16_t> statuses(AccessLogSettings::kCodesMax + 2, UINT16_MAX);
  statuses[0] = 200;
  statuses[AccessLogSettings::kCodesMax] = 0;  // gRPC's OK
  log.set({1, false, true, statuses});
  EXPECT_EQ(log.status_of(0, 0), 200u);
  EXPECT_EQ(log.status_of(0, 1), kNoStatus);
  EXPECT_EQ(log.status_of(1, 0), 0u);
  EXPECT_EQ(log.status_of(2, 0), kNoStatus);
  EXPECT_EQ(log.status_of(1000, 0), kNoStatus);
  EXPECT_EQ(log.status_of(0, 1000), kNoStatus);
}

TEST(AccessLog, ErrorsOnlyWritesEveryFailureAndNothingElse) {
  AccessLog log;
  log.set({100, true, true, {}});
  for (int i = 0; i < 300; ++i) {
    EXPECT_FALSE(log.sample(false));
    EXPECT_TRUE(log.sample(true));
  }
  log.set_one_in(0);
  EXPECT_FALSE(log.sample(true));
}

TEST(AccessLog, Utf8IsKept) {
  EXPECT_EQ(id_of("größe-模型-\xF0\x9F\x98\x80"), "\"größe-模型-\xF0\x9F\x98\x80\"");
}

TEST(AccessLog, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(id_of("a\xFFz"), "\"a\uFFFDz\"");
  EXPECT_EQ(id_of("\xC3"), "\"\uFFFD\"");            // truncated
  EXPECT_EQ(id_of("\xC0\xAF"), "\"\uFFFD\uFFFD\"");  // overlong "/"
  EXPECT_EQ(id_of("\xC3\n"), "\"\uFFFD\\n\"");       // the newline is not swallowed
  EXPECT_EQ(id_of("\xE2\x82\""), "\"\uFFFD\uFFFD\\\"\"");
}

TEST(AccessLog, AnIdIsCutAt256Bytes) {
  EXPECT_EQ(id_of(std::string(256, 'x')), "\"" + std::string(256, 'x') + "\"");
  EXPECT_EQ(id_of(std::string(257, 'x')), "\"" + std::string(256, 'x') + "\"");
}

TEST(AccessLog, AnIdIsNotCutInsideACharacter) {
  const std::string characters[] = {"ö", "模", "\xF0\x9F\x98\x80"};
  for (const std::string& character : characters) {
    for (size_t inside = 1; inside <= character.size(); ++inside) {
      const std::string before(256 - inside, 'x');
      const bool whole = inside == character.size();
      EXPECT_EQ(id_of(before + character + "tail"),
                "\"" + before + (whole ? character : "") + "\"");
    }
  }
  // A run of continuation bytes is not a character: it is cut exactly at the limit.
  EXPECT_EQ(id_of(std::string(300, '\x80')).size(), 2 + 256 * kReplacementCharacter.size());
}

TEST(AccessLog, TakeEmptiesTheLog) {
  AccessLog log;
  EXPECT_EQ(log.take(), "");
  log.record(plain());
  log.record(plain());
  const std::string text = log.take();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_EQ(log.take(), "");
}

TEST(AccessLog, BeyondTheLimitLinesAreCountedAndTheCountComesFirst) {
  AccessLog log;
  const std::string line = std::string(999'999, 'm') + "\n";
  for (int i = 0; i < 7; ++i) log.add(line);
  const std::string text = log.take();
  EXPECT_LE(text.size(), 4u * 1024 * 1024 + 100);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 4);
  EXPECT_EQ(shape_of(text.substr(0, kTimeBytes)), R"({"time":"dddd-dd-ddTdd:dd:dd.dddZ",)");
  EXPECT_EQ(text.substr(kTimeBytes, text.find('\n') - kTimeBytes), R"("dropped":3})");
  log.record(plain());
  EXPECT_EQ(log.take().find("dropped"), std::string::npos);  // reported once
}

// Returns which of `requests` a new thread writes.
std::vector<bool> sampled(AccessLog& log, size_t requests) {
  std::vector<bool> out;
  std::thread([&] {
    for (size_t i = 0; i < requests; ++i) out.push_back(log.sample());
  }).join();
  return out;
}

TEST(AccessLog, OneInNWritesEveryNthRequestOfEachThread) {
  AccessLog log;
  EXPECT_EQ(sampled(log, 3), (std::vector<bool>{false, false, false}));  // sampling is off at first
  log.set_one_in(1);
  EXPECT_EQ(sampled(log, 3), (std::vector<bool>{true, true, true}));
  log.set_one_in(3);
  const std::vector<bool> third{false, false, true, false, false, true, false};
  EXPECT_EQ(sampled(log, 7), third);
  EXPECT_EQ(sampled(log, 7), third);  // another thread has its own count
  log.set_one_in(0);
  EXPECT_EQ(sampled(log, 2), (std::vector<bool>{false, false}));
}

TEST(AccessLog, LinesOfManyThreadsAreWhole) {
  AccessLog log;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&log] {
      for (int i = 0; i < 500; ++i) log.record(plain());
    });
  }
  std::string text;
  for (int i = 0; i < 100; ++i) text += log.take();
  for (std::thread& thread : threads) thread.join();
  text += log.take();
  size_t lines = 0;
  for (size_t at = 0; at < text.size(); ++lines) {
    const size_t end = text.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    ASSERT_EQ(text.compare(at, 9, "{\"time\":\""), 0);
    ASSERT_EQ(text[end - 1], '}');
    at = end + 1;
  }
  EXPECT_EQ(lines, 2000u);
}

TEST(Utf8, LengthsOfCharactersAndOfWhatIsNone) {
  const std::pair<std::string_view, size_t> cases[] = {{"a", 1},
                                                       {"\0"sv, 1},
                                                       {"\x7F", 1},
                                                       {"\xC2\x80", 2},
                                                       {"\xDF\xBF", 2},
                                                       {"\xE0\xA0\x80", 3},
                                                       {"\xED\x9F\xBF", 3},
                                                       {"\xEF\xBF\xBF", 3},
                                                       {"\xF0\x90\x80\x80", 4},
                                                       {"\xF4\x8F\xBF\xBF", 4},
                                                       {"\x80", 0},
                                                       {"\xC1\xBF", 0},
                                                       {"\xC2", 0},
                                                       {"\xC2z", 0},
                                                       {"\xE0\x9F\xBF", 0},
                                                       {"\xED\xA0\x80", 0},
                                                       {"\xE2\x82", 0},
                                                       {"\xE2\x82z", 0},
                                                       {"\xF0\x8F\xBF\xBF", 0},
                                                       {"\xF4\x90\x80\x80", 0},
                                                       {"\xF5\x80\x80\x80", 0},
                                                       {"\xF0\x90\x80", 0},
                                                       {"\xFF", 0}};
  for (const auto& [text, length] : cases) {
    EXPECT_EQ(utf8_length_at(text, 0), length) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace serval
