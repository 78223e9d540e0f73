// The machine's load as a response header says it.
#include "engine/observe/load_report.h"

#include <gtest/gtest.h>

namespace serval {
namespace {

TEST(LoadReport, FormatsHaveAnyCase) {
  for (const char* name : {"text", "TEXT", "Text"}) {
    EXPECT_EQ(load_format(name), LoadFormat::Text) << name;
  }
  for (const char* name : {"json", "JSON"}) EXPECT_EQ(load_format(name), LoadFormat::Json) << name;
  for (const char* name : {"", "bin", "texts", "tex", "json ", "j\0on"}) {
    EXPECT_EQ(load_format(name), LoadFormat::None) << name;
  }
}

TEST(LoadReport, TextAndJson) {
  const MachineLoad load{0.25, 0.5};
  EXPECT_EQ(load_text(LoadFormat::Text, load), "TEXT cpu_utilization=0.25, mem_utilization=0.5");
  EXPECT_EQ(load_text(LoadFormat::Json, load),
            R"(JSON {"cpu_utilization":0.25,"mem_utilization":0.5})");
}

TEST(LoadReport, UnknownValuesAreLeftOut) {
  const MachineLoad memory{std::nullopt, 1.0};
  EXPECT_EQ(load_text(LoadFormat::Text, memory), "TEXT mem_utilization=1");
  EXPECT_EQ(load_text(LoadFormat::Json, memory), R"(JSON {"mem_utilization":1})");
  EXPECT_EQ(load_text(LoadFormat::Json, {}), "JSON {}");
}

TEST(LoadReport, ReadsTheMachine) {
  CpuTicks last;
  const MachineLoad load = read_load(last);
  ASSERT_TRUE(load.cpu && load.memory);
  EXPECT_GT(*load.cpu, 0);
  EXPECT_LE(*load.cpu, 1);
  EXPECT_GT(*load.memory, 0);
  EXPECT_LE(*load.memory, 1);
  EXPECT_GT(last.total, last.busy);
  EXPECT_EQ(load_report(LoadFormat::Text), load_report(LoadFormat::Text)) << "read once in 100 ms";
  EXPECT_EQ(load_report(LoadFormat::None), "");
}

}  // namespace
}  // namespace serval
