// The process's metrics: parsing of /proc in valid and broken form, and the CPU share between two
// readings.
#include "stats/process_metrics.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>

namespace serval {
namespace {

std::string metrics_text(const ByteBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

TEST(ProcessMetrics, CpuTicksAreTheFirstLine) {
  const auto ticks = parse_cpu_ticks("cpu  10 20 30 400 50 6 7 8 9 1\ncpu0 1 1 1 1 1 1 1 1\n");
  ASSERT_TRUE(ticks);
  EXPECT_EQ(ticks->total, 531u);  // user time already includes guest time
  EXPECT_EQ(ticks->busy, 531u - 400 - 50);
  const auto old_kernel = parse_cpu_ticks("cpu 1 2 3 4");
  ASSERT_TRUE(old_kernel);
  EXPECT_EQ(old_kernel->total, 10u);
}

TEST(ProcessMetrics, CpuTicksOfSomethingElseAreNone) {
  for (const char* text : {"", "cpu", "cpu ", "cpu 1 2 3", "cpu 1 x 3 4", "cpu0 1 2 3 4",
                           "cpu \n1 2 3 4", "cpu -1 2 3 4"}) {
    EXPECT_FALSE(parse_cpu_ticks(text)) << text;
  }
}

TEST(ProcessMetrics, StartTicksAreField22WhateverTheProgramIsCalled) {
  const std::string rest = " S 1 2 3 -1 -1 6 7 8 9 10 11 12 13 14 15 16 -17 18 4711 20 21 22 23\n";
  for (const char* name : {"(serval)", "(a b) c)", "()", "(1 2 3 4)"}) {
    EXPECT_EQ(parse_start_ticks("77 " + std::string(name) + rest), 4711u) << name;
  }
}

TEST(ProcessMetrics, StartTicksOfSomethingElseAreNone) {
  for (const char* text : {"", "77 (serval", "77 (serval)", "77 (serval) S 1 2 3",
                           "77 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x"}) {
    EXPECT_FALSE(parse_start_ticks(text)) << text;
  }
}

TEST(ProcessMetrics, KeyedNumbersAreFoundAtTheStartOfALine) {
  const std::string_view text = "MemTotal:       16 kB\nMemFree: 2 kB\nbtime 1700000000";
  EXPECT_EQ(parse_keyed(text, "MemTotal:"), 16u);
  EXPECT_EQ(parse_keyed(text, "MemFree:"), 2u);
  EXPECT_EQ(parse_keyed(text, "btime"), 1700000000u);
}

TEST(ProcessMetrics, KeyedNumbersThatAreNotThereAreNone) {
  EXPECT_FALSE(parse_keyed("", "btime"));
  EXPECT_FALSE(parse_keyed("xbtime 1\n", "btime"));
  EXPECT_FALSE(parse_keyed("btimes 1\n", "btime"));
  EXPECT_FALSE(parse_keyed("btime\n1", "btime"));
  EXPECT_FALSE(parse_keyed("btime x", "btime"));
  EXPECT_FALSE(parse_keyed("btime 99999999999999999999", "btime"));
}

TEST(ProcessMetrics, TheShareIsOfTheTimeSinceTheLastCall) {
  CpuShare share;
  EXPECT_EQ(share.next({900, 1000}), 0);  // nothing to compare with yet
  EXPECT_DOUBLE_EQ(share.next({925, 1100}), 0.25);
  EXPECT_DOUBLE_EQ(share.next({1025, 1200}), 1);
}

TEST(ProcessMetrics, AShareWithoutTimeOrWithTimeRunningBackIsTheOneBefore) {
  CpuShare share;
  share.next({0, 100});
  EXPECT_DOUBLE_EQ(share.next({50, 200}), 0.5);
  EXPECT_DOUBLE_EQ(share.next({50, 200}), 0.5);
  EXPECT_DOUBLE_EQ(share.next({10, 100}), 0.5);
  EXPECT_DOUBLE_EQ(share.next({20, 200}), 0.1);
}

TEST(ProcessMetrics, ThisProcessHasPlausibleNumbers) {
  const ProcessReading reading = read_process();
  ASSERT_TRUE(reading.cpu_seconds);
  EXPECT_GT(*reading.cpu_seconds, 0);
  ASSERT_TRUE(reading.resident_bytes);
  EXPECT_GT(*reading.resident_bytes, 500'000u);
  EXPECT_LT(*reading.resident_bytes, uint64_t{1} << 40);
  ASSERT_TRUE(reading.open_fds);
  EXPECT_GE(*reading.open_fds, 1u);
  EXPECT_LT(*reading.open_fds, 1000u);
  ASSERT_TRUE(reading.start_seconds);
  const auto now = static_cast<double>(std::time(nullptr));
  EXPECT_GT(*reading.start_seconds, now - 3600);
  EXPECT_LT(*reading.start_seconds, now + 5);
}

TEST(ProcessMetrics, WhatIsNotKnownIsNotWritten) {
  ByteBuffer out;
  MetricsWriter writer(out);
  write_process_metrics(ProcessReading(), writer);
  EXPECT_EQ(out.size(), 0u);
  ProcessReading some;
  some.cpu_seconds = 1.5;
  some.open_fds = 12;
  some.machine_busy = 0;
  write_process_metrics(some, writer);
  EXPECT_TRUE(writer.ok());
  EXPECT_EQ(metrics_text(out),
            "# HELP process_cpu_seconds_total Processor time of this process, seconds\n"
            "# TYPE process_cpu_seconds_total counter\n"
            "process_cpu_seconds_total 1.5\n"
            "# HELP process_open_fds Open file descriptors\n"
            "# TYPE process_open_fds gauge\n"
            "process_open_fds 12\n"
            "# HELP nv_cpu_utilization Busy share of all processors since the last scrape\n"
            "# TYPE nv_cpu_utilization gauge\n"
            "nv_cpu_utilization 0\n");
}

}  // namespace
}  // namespace serval
