// One plan on many threads: the plan is shared and each run has its own frame. TSan checks this as
// well.
#include <array>
#include <thread>

#include "support/plan_maker.h"

namespace serval::tabular {
namespace {

using Strings = std::vector<std::string>;

// Labels for strings, by text and by expression, and a tree over the label.
struct Shared {
  Shared() {
    const uint32_t name = maker.field("name", Type::String);
    const uint32_t index = maker.column("index", Type::Double);
    const uint32_t mark = maker.column("mark", Type::Int32);
    const uint32_t leaf = maker.column("leaf", Type::Double);
    maker.stage("string_map", {name}, {index},
                {{"labels", Strings{"a", "b", "c1"}},
                 {"values", std::vector<double>{0, 1, 2}},
                 {"fallback", 7.5}});
    maker.stage("regex_indexer", {name}, {mark},
                {{"regexes", Strings{"^[a-c]$", "[0-9]+"}},
                 {"indices", std::vector<int32_t>{1, 2}},
                 {"fallback", 3}});
    maker.stage("forest", {index}, {leaf},
                {{"feature", std::vector<int32_t>{0}},
                 {"threshold", std::vector<double>{1}},
                 {"left", std::vector<int32_t>{~0}},
                 {"right", std::vector<int32_t>{~1}},
                 {"test", std::vector<int32_t>{0}},
                 {"missing", std::vector<int32_t>{0}},
                 {"roots", std::vector<int32_t>{0}},
                 {"leaves", std::vector<double>{10, 20}},
                 {"width", 1},
                 {"sum", std::string("sum")},
                 {"has_values", true},
                 {"has_leaf", false},
                 {"skip_no_answer", false}});
    maker.output("mark", mark, Type::Int32);
    maker.output("leaf", leaf, Type::Double);
    columns = {name, mark, leaf};
    auto read = maker.read();
    EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
    if (read.ok()) plan = std::move(read.value());
  }
  PlanMaker maker;
  std::array<uint32_t, 3> columns{};
  std::shared_ptr<const Plan> plan;
};

TEST(Threads, ShareAPlan) {
  const Shared shared;
  ASSERT_NE(shared.plan, nullptr);
  const auto work = [&shared](size_t thread, size_t& wrong) {
    const auto [name, mark, leaf] = shared.columns;
    Frame frame(shared.plan->dictionary(), shared.plan->column_count());
    for (size_t run = 0; run < 300; ++run) {
      // Strings that only this run and thread has, beside the plan's own.
      const Strings texts = {"a", "b", "c1",
                             "x" + std::to_string(thread) + "y" + std::to_string(run), "other"};
      frame.begin(static_cast<uint32_t>(texts.size()));
      Column& column = frame.columns[name];
      column.reset(Type::String, frame.rows);
      for (size_t i = 0; i < texts.size(); ++i) column.texts[i] = frame.strings.intern(texts[i]);
      if (!shared.plan->run(frame, {}, nullptr).ok()) ++wrong;
      if (frame.columns[mark].integers != std::vector<int64_t>{1, 1, 2, 2, 3}) ++wrong;
      if (frame.columns[leaf].reals != std::vector<double>{10, 10, 20, 20, 20}) ++wrong;
    }
  };
  std::array<size_t, 4> wrong{};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] { work(i, wrong[i]); });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, (std::array<size_t, 4>{}));
}

}  // namespace
}  // namespace serval::tabular
