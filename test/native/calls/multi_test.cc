// MultiInference through a listener: one call consists of several engine requests, which are
// answered, fail and end together.
#include <gtest/gtest.h>

#include "calls/support/calls_fixture.h"
#include "engine/tasks_model.h"

namespace serval::test {
namespace {

class MultiTest : public CallsTest {
 protected:
  MultiTest() : CallsTest(tasks_options()) {}
  void SetUp() override { SKIP_WITHOUT_ONNXRUNTIME(); }
  uint32_t begin(ExecMode exec, int instances = 1) {
    const uint32_t handle = load(tasks_spec(exec, instances));
    route("m", handle);
    start();
    client_ = std::make_unique<RawClient>(listener_->port());
    client_->begin();
    return handle;
  }
  uint32_t ask(const std::vector<std::string>& signatures, const std::string& example,
               const HeaderList& more = {}) {
    return client_->call(kMulti, multi(signatures, {example}), more);
  }
  std::string answer(uint32_t call) {
    const StreamAnswer& got = client_->answer(call);
    EXPECT_EQ(got.status(), 0) << got.message();
    return got.messages().empty() ? "" : got.messages()[0];
  }

  std::unique_ptr<RawClient> client_;
};

TEST_F(MultiTest, IsAnsweredAsAWhole) {
  begin(ExecMode::Inline);
  const std::string at_once = answer(ask({"r", "c", "s"}, "3"));
  EXPECT_FALSE(at_once.empty());
  listener_.reset();
  begin(ExecMode::Queued, 2);
  std::vector<uint32_t> calls;
  for (int i = 0; i < 30; ++i) calls.push_back(ask({"r", "c", "s"}, "3"));
  for (const uint32_t call : calls) EXPECT_EQ(to_hex(answer(call)), to_hex(at_once));
}

TEST_F(MultiTest, FailsAsAWhole) {
  const uint32_t handle = begin(ExecMode::Queued);
  const uint32_t call = ask({"c", "p", "r"}, "1");
  EXPECT_EQ(client_->answer(call).status(), status_of(ErrorCode::InvalidArgument));
  EXPECT_EQ(client_->answer(call).data, "");
  EXPECT_TRUE(waits(handle, 0));
  EXPECT_FALSE(answer(ask({"c"}, "1")).empty());
}

TEST_F(MultiTest, ItsTasksGoWithItsClient) {
  const uint32_t handle = begin(ExecMode::Queued, 2);
  const uint32_t cancelled = ask({"c", "r", "s"}, kForever);
  ASSERT_TRUE(client_->sync() && waits(handle, 1));
  const uint32_t waiting = ask({"c", "r", "s"}, kForever);
  ASSERT_TRUE(client_->sync() && waits(handle, 4));
  client_->send(serval::testing::reset_frame(waiting));
  EXPECT_TRUE(waits(handle, 1));
  client_->send(serval::testing::reset_frame(cancelled));
  EXPECT_FALSE(answer(ask({"c", "r"}, "1")).empty());
  ask({"c", "r", "s"}, kForever);
  ASSERT_TRUE(client_->sync() && waits(handle, 1));
  client_->close();
  EXPECT_TRUE(has_connections(0));
  EXPECT_TRUE(waits(handle, 0));
}

TEST_F(MultiTest, ItsTasksEndWithItsTime) {
  const uint32_t handle = begin(ExecMode::Queued, 2);
  const uint32_t late = ask({"c", "r", "s"}, kForever, {{"grpc-timeout", "50m"}});
  EXPECT_EQ(client_->answer(late).status(), 4);
  EXPECT_TRUE(waits(handle, 0));
  EXPECT_FALSE(answer(ask({"s"}, "1")).empty());
}

}  // namespace
}  // namespace serval::test
