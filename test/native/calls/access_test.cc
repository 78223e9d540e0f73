// Access to gRPC calls: digests, places of keys, and rules that change while threads read it.
#include "calls/access.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace serval {
namespace {

// sha256("key"), sha256("other")
constexpr Digest kKey{0x2c, 0x70, 0xe1, 0x2b, 0x7a, 0x06, 0x46, 0xf9, 0x22, 0x79, 0xf4,
                      0x27, 0xc7, 0xb3, 0x8e, 0x73, 0x34, 0xd8, 0xe5, 0x38, 0x9c, 0xff,
                      0x16, 0x7a, 0x1d, 0xc3, 0x0e, 0x73, 0xf8, 0x26, 0xb6, 0x83};
constexpr Digest kOther{0xd9, 0x29, 0x8a, 0x10, 0xd1, 0xb0, 0x73, 0x58, 0x37, 0xdc, 0x4b,
                        0xd8, 0x5d, 0xac, 0x64, 0x1b, 0x0f, 0x3c, 0xef, 0x27, 0xa4, 0x7e,
                        0x5d, 0x53, 0xa5, 0x4f, 0x2f, 0x3f, 0x5b, 0x2f, 0xcf, 0xfa};

class FakeCall final : public Call {
 public:
  explicit FakeCall(uint32_t method, Metadata metadata = {}, bool local = false)
      : metadata_(std::move(metadata)), local_(local) {
    method_ = method;
  }
  ~FakeCall() override = default;
  const Metadata& metadata() const override { return metadata_; }
  std::string_view metadata_value(std::string_view name) const override {
    for (const MetadataEntry& entry : metadata_) {
      if (entry.name == name) return entry.value;
    }
    return {};
  }
  bool is_local() const override { return local_; }
  void add_initial_metadata(std::string_view, std::string_view) override {}
  void add_trailing_metadata(std::string_view, std::string_view) override {}
  void send_initial_metadata() override {}
  bool send(ByteBuffer&) override { return false; }
  bool send(std::span<const uint8_t>) override { return false; }
  void finish(const CallStatus&) override {}
  void set_paused(bool) override {}
  size_t unsent_messages() const override { return 0; }
  uint64_t unsent_bytes() const override { return 0; }

 private:
  Metadata metadata_;
  bool local_;
};

CallAccess rule(CallAccess::OpenTo open_to, std::vector<CredentialCheck> checks = {}) {
  CallAccess out;
  out.open_to = open_to;
  out.checks = std::move(checks);
  out.missing = {16, "missing"};
  out.unknown = {16, "unknown"};
  out.forbidden = {7, "forbidden"};
  return out;
}

// Methods: 0 is open, 1 is local, 2 needs a key in "authorization" or "x-key".
std::shared_ptr<const AccessRules> rules() {
  std::vector<CallAccess> accesses;
  accesses.push_back(rule(CallAccess::OpenTo::All));
  accesses.push_back(rule(CallAccess::OpenTo::Local));
  accesses.push_back(rule(CallAccess::OpenTo::None, {{"authorization", true, {kKey}, {kOther}},
                                                     {"x-key", false, {kKey}, {kOther}}}));
  auto made = AccessRules::make(std::move(accesses), {0, 1, 2});
  EXPECT_TRUE(made.ok());
  return made.value();
}

TEST(Access, SaysWhoseTheAcceptedKeyIs) {
  std::vector<CallAccess> accesses;
  accesses.push_back(rule(
      CallAccess::OpenTo::None,
      {{"authorization", true, {kOther, kKey}, {}, {0, 7}}, {"x-key", false, {kKey}, {}, {9}}}));
  const auto made = AccessRules::make(std::move(accesses), {0});
  ASSERT_TRUE(made.ok());
  AcceptedKeys accepted;
  for (int time = 0; time < 2; ++time) {  // then from the cache
    const auto caller = [&](const char* header, const char* value) {
      return made.value()->judge(FakeCall(0, {{header, value}}), accepted);
    };
    EXPECT_EQ(caller("authorization", "Bearer key").caller, 7u);
    EXPECT_EQ(caller("authorization", "Bearer other").caller, 0u);
    EXPECT_EQ(caller("x-key", "key").caller, 9u);
    EXPECT_NE(caller("x-key", "none").refusal, nullptr);
  }
}

std::string verdict(const FakeCall& call) {
  const auto made = rules();
  AcceptedKeys accepted;
  const AccessRefusal* refusal = made->judge(call, accepted).refusal;
  if (refusal == nullptr) EXPECT_EQ(made->judge(call, accepted).refusal, nullptr) << "once more";
  return refusal == nullptr ? "in" : refusal->text;
}

TEST(AccessRules, OpensToAllToThisMachineOrToNobody) {
  EXPECT_EQ(verdict(FakeCall(0)), "in");
  EXPECT_EQ(verdict(FakeCall(1)), "missing");
  EXPECT_EQ(verdict(FakeCall(1, {}, true)), "in");
  EXPECT_EQ(verdict(FakeCall(2, {}, true)), "missing");
  EXPECT_EQ(verdict(FakeCall(3, {{"authorization", "Bearer key"}}, true)),
            "this method is open to nobody");
}

TEST(AccessRules, RefusesLocalCallsThatCameByAProxy) {
  for (const char* name : {"forwarded", "x-forwarded-for", "x-real-ip", "via"}) {
    EXPECT_EQ(verdict(FakeCall(1, {{name, "203.0.113.9"}}, true)), "missing") << name;
    EXPECT_EQ(verdict(FakeCall(1, {{"te", "trailers"}, {name, "127.0.0.1"}}, true)), "missing");
    EXPECT_EQ(verdict(FakeCall(0, {{name, "203.0.113.9"}}, true)), "in") << name;
    EXPECT_EQ(verdict(FakeCall(2, {{name, "203.0.113.9"}, {"x-key", "key"}}, true)), "in") << name;
  }
  EXPECT_EQ(verdict(FakeCall(1, {{"x-forwarded-port", "9000"}}, true)), "in");
}

TEST(AccessRules, TakesAKeyInItsFormOnly) {
  const auto bearer = [](const char* value) {
    return verdict(FakeCall(2, {{"te", "trailers"}, {"authorization", value}}));
  };
  EXPECT_EQ(bearer("Bearer key"), "in");
  EXPECT_EQ(bearer("bEARER   key"), "in");
  EXPECT_EQ(bearer("Bearer other"), "forbidden");
  for (const char* value : {"Bearer", "Bearer ", "Bearerkey", "Bearer key x", "Bearer key ",
                            "Bearer\tkey", "Basic key", "key", "Bearer ke", "Bearer keyy", "B"}) {
    EXPECT_EQ(bearer(value), "unknown") << value;
  }
  EXPECT_EQ(verdict(FakeCall(2, {{"x-key", "key"}})), "in");
  EXPECT_EQ(verdict(FakeCall(2, {{"x-key", "Bearer key"}})), "unknown");
  EXPECT_EQ(verdict(FakeCall(2, {{"X-Key", "key"}})), "missing");
  EXPECT_EQ(verdict(FakeCall(2, {{"authorization", "Bearer x"}, {"x-key", "key"}})), "in");
  EXPECT_EQ(verdict(FakeCall(2, {{"authorization", "Bearer other"}, {"x-key", "x"}})), "forbidden");
}

TEST(AccessRules, RefusesAnIndexThatIsNotThere) {
  EXPECT_FALSE(AccessRules::make({rule(CallAccess::OpenTo::All)}, {0, 1}).ok());
}

TEST(AccessView, LetsEverybodyInUntilThereIsATable) {
  AccessSource source;
  AccessView view;
  EXPECT_EQ(view.judge(source, FakeCall(2)).refusal, nullptr);
  source.publish(rules());
  ASSERT_NE(view.judge(source, FakeCall(2)).refusal, nullptr);
  source.publish(nullptr);
  EXPECT_EQ(view.judge(source, FakeCall(2)).refusal, nullptr);
}

// Like rules(), but for `key` alone, in "x-key".
std::shared_ptr<const AccessRules> rules_of(const Digest& key) {
  std::vector<CallAccess> accesses{
      rule(CallAccess::OpenTo::None, {{"x-key", false, {key}, {}}}),
      rule(CallAccess::OpenTo::None, {{"x-key", false, {kOther}, {key}}})};
  return AccessRules::make(std::move(accesses), {0, 0, 1}).value();
}

TEST(AccessView, ForgetsWhomItLetInWhenTheTableIsAnother) {
  AccessSource source;
  AccessView view;
  source.publish(rules_of(kKey));
  const FakeCall first(0, {{"x-key", "key"}});
  const FakeCall second(0, {{"x-key", "other"}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(view.judge(source, first).refusal, nullptr);
  ASSERT_NE(view.judge(source, second).refusal, nullptr);
  source.publish(rules_of(kOther));
  ASSERT_NE(view.judge(source, first).refusal, nullptr);
  EXPECT_EQ(view.judge(source, first).refusal->text, "unknown");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(view.judge(source, second).refusal, nullptr);
}

TEST(AccessView, WhoWasLetInToOneKindOfCallIsNotLetInToAnother) {
  AccessSource source;
  AccessView view;
  source.publish(rules_of(kKey));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(view.judge(source, FakeCall(1, {{"x-key", "key"}})).refusal, nullptr);
    const AccessRefusal* refusal = view.judge(source, FakeCall(2, {{"x-key", "key"}})).refusal;
    ASSERT_NE(refusal, nullptr);
    EXPECT_EQ(refusal->text, "forbidden");
  }
}

TEST(AccessView, FollowsWhileTablesChange) {
  AccessSource source;
  source.publish(rules());
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0}, judged{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      AccessView view;
      while (!stop.load()) {
        const AccessRefusal* refusal =
            view.judge(source, FakeCall(2, {{"x-key", "other"}})).refusal;
        if (refusal == nullptr || refusal->text != "forbidden") wrong.fetch_add(1);
        judged.fetch_add(1);
      }
    });
  }
  while (judged.load() < 1000) source.publish(rules());
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace
}  // namespace serval
