// Which of a model's sessions a run uses: that of the device with the fewest runs, the instance's
// own if several are equal, and none whose process is down while another is up.
#include <gtest/gtest.h>

#include <atomic>
#include <list>

#include "engine/model/model.h"

namespace serval::test {
namespace {

class StubModel final : public BackendModel {
 public:
  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override { return nullptr; }
  Readiness readiness() const override { return up ? Readiness::Ready : Readiness::Returning; }
  Status run(uint32_t, std::span<const TensorView>, std::span<const uint32_t>, BackendScratch&,
             const RunOptions&) override {
    return {};
  }
  std::atomic<bool> up{true};

 private:
  const BackendModelInfo info_;
};

class ReplicaUseTest : public testing::Test {
 protected:
  Model& model(size_t replicas) {
    std::vector<std::shared_ptr<BackendModel>> backends;
    for (size_t i = 0; i < replicas; ++i) {
      stubs_.push_back(std::make_shared<StubModel>());
      backends.push_back(stubs_.back());
    }
    ModelSpec spec;
    spec.name = "m";
    model_ = std::make_unique<Model>(1, std::move(spec), std::move(backends), ModelShapes(), 0,
                                     ModelServices());
    return *model_;
  }
  size_t once(size_t own) { return ReplicaUse(*model_, own).index(); }
  int running(size_t index) { return model_->replica(index).running().load(); }

  std::vector<std::shared_ptr<StubModel>> stubs_;
  std::unique_ptr<Model> model_;
};

TEST_F(ReplicaUseTest, OfEqualOnesIsTheInstancesOwn) {
  model(3);
  for (size_t own = 0; own < 7; ++own) EXPECT_EQ(once(own), own % 3);
}

TEST_F(ReplicaUseTest, GoesWhereLeastRunsAndIsGivenBack) {
  Model& two = model(2);
  {
    std::list<ReplicaUse> held;
    const size_t expected[] = {0, 1, 0, 1, 0};
    for (const size_t index : expected) EXPECT_EQ(held.emplace_back(two, 0).index(), index);
    EXPECT_EQ(running(0), 3);
    EXPECT_EQ(running(1), 2);
    EXPECT_EQ(once(0), 1u);
    EXPECT_EQ(once(1), 1u);
    held.pop_front();
    held.erase(std::next(held.begin()));  // both belong to the first device
    EXPECT_EQ(running(0), 1);
    EXPECT_EQ(once(1), 0u);
  }
  EXPECT_EQ(running(0), 0);
  EXPECT_EQ(running(1), 0);
}

TEST_F(ReplicaUseTest, OfOneSessionCountsNothing) {
  Model& one = model(1);
  const ReplicaUse first(one, 0), second(one, 5);
  EXPECT_EQ(first.index(), 0u);
  EXPECT_EQ(second.index(), 0u);
  EXPECT_EQ(running(0), 0);
}

TEST_F(ReplicaUseTest, PassesOverWhatIsDownHoweverLittleItRuns) {
  Model& three = model(3);
  stubs_[1]->up = false;
  std::list<ReplicaUse> held;
  for (int i = 0; i < 6; ++i) held.emplace_back(three, 1);
  EXPECT_EQ(running(0), 3);
  EXPECT_EQ(running(1), 0);
  EXPECT_EQ(running(2), 3);
  stubs_[1]->up = true;
  EXPECT_EQ(once(0), 1u);
}

TEST_F(ReplicaUseTest, GoesToOneThatIsDownWhereAllAre) {
  model(2);
  for (const auto& one : stubs_) one->up = false;
  EXPECT_EQ(once(0), 0u);
  EXPECT_EQ(once(1), 1u);
  stubs_[0]->up = true;
  EXPECT_EQ(once(1), 0u);
}

}  // namespace
}  // namespace serval::test
