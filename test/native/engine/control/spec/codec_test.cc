// parse_model_spec: every member is read, absent ones have their defaults, and each wrong value is
// refused with a text that names the member.
#include <gtest/gtest.h>

#include "engine/control/spec/codec.h"

namespace serval {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using SpecBuilder = fb::ModelSpecBuilder;

// `prepare(builder)` makes what the spec refers to and returns a function that adds it to the spec.
template <typename Prepare>
Result<ModelSpec> parse(const Prepare& prepare) {
  Builder builder;
  const auto name = builder.CreateString("m");
  const auto backend = builder.CreateString("null");
  const auto add = prepare(builder);
  SpecBuilder spec(builder);
  spec.add_name(name);
  spec.add_backend(backend);
  add(spec);
  builder.Finish(spec.Finish());
  return parse_model_spec({builder.GetBufferPointer(), builder.GetSize()});
}

// The refusal's text after "model spec: ".
template <typename Prepare>
std::string refusal(const Prepare& prepare) {
  const Result<ModelSpec> spec = parse(prepare);
  if (spec.ok()) return "not refused";
  EXPECT_EQ(spec.error().code, ErrorCode::InvalidArgument);
  const std::string_view prefix = "model spec: ";
  EXPECT_TRUE(spec.error().message.starts_with(prefix)) << spec.error().message;
  return spec.error().message.substr(prefix.size());
}

struct Sizes {
  BatchMode mode = BatchMode::On;
  uint32_t rows_max = 8;
  std::vector<uint32_t> preferred, allowed;
};

auto with_batch(const Sizes& sizes) {
  return [sizes](Builder& builder) {
    const auto batch = fb::CreateBatchPolicyDirect(builder, sizes.mode, sizes.rows_max, 0,
                                                   &sizes.preferred, &sizes.allowed);
    return [batch](SpecBuilder& spec) { spec.add_batch(batch); };
  };
}

struct Override {
  std::string name = "x";
  std::vector<int64_t> dims, model_dims;
  std::vector<std::string> labels;
};

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::TensorOverride>>> write_overrides(
    Builder& builder, const std::vector<Override>& overrides) {
  std::vector<flatbuffers::Offset<fb::TensorOverride>> tables;
  for (const Override& one : overrides) {
    const auto name = builder.CreateString(one.name);
    const auto dims = builder.CreateVector(one.dims);
    const auto model_dims = builder.CreateVector(one.model_dims);
    const auto labels = builder.CreateVectorOfStrings(one.labels);
    tables.push_back(fb::CreateTensorOverride(builder, name, dims, model_dims, labels));
  }
  return builder.CreateVector(tables);
}

auto with_inputs(std::vector<Override> overrides) {
  return [overrides](Builder& builder) {
    const auto inputs = write_overrides(builder, overrides);
    return [inputs](SpecBuilder& spec) { spec.add_inputs(inputs); };
  };
}

auto with_outputs(std::vector<Override> overrides) {
  return [overrides](Builder& builder) {
    const auto outputs = write_overrides(builder, overrides);
    return [outputs](SpecBuilder& spec) { spec.add_outputs(outputs); };
  };
}

auto with_priorities(uint32_t levels, uint32_t default_priority, std::vector<uint32_t> policies) {
  return [=](Builder& builder) {
    std::vector<flatbuffers::Offset<fb::PriorityQueuePolicy>> tables;
    for (const uint32_t level : policies) {
      const auto policy = fb::CreateQueuePolicy(builder, TimeoutAction::Delay, level * 10);
      tables.push_back(fb::CreatePriorityQueuePolicy(builder, level, policy));
    }
    const auto at = builder.CreateVector(tables);
    return [=](SpecBuilder& spec) {
      spec.add_priority_levels(levels);
      spec.add_default_priority(default_priority);
      spec.add_priority_policies(at);
    };
  };
}

// A member that needs no offset.
template <typename Add>
auto with(Add add) {
  return [add](Builder&) { return add; };
}

TEST(ParseModelSpec, AbsentMembersHaveTheirDefaults) {
  const Result<ModelSpec> spec = parse(with([](SpecBuilder&) {}));
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec.value().batch.mode, BatchMode::Off);
  EXPECT_EQ(spec.value().batch.rows_max, 0u);
  EXPECT_EQ(spec.value().queue.requests_max, 1024u);
  EXPECT_EQ(spec.value().queue.priority_levels, 0u);
  EXPECT_EQ(spec.value().queue.policy.timeout_action, TimeoutAction::Reject);
  EXPECT_FALSE(spec.value().queue.reads_request());
  EXPECT_FALSE(spec.value().batch_dim);
  EXPECT_TRUE(spec.value().inputs.empty() && spec.value().outputs.empty());
  EXPECT_TRUE(spec.value().devices.empty() && spec.value().session_config.empty());
}

TEST(ParseModelSpec, Batch) {
  const Result<ModelSpec> spec = parse([](Builder& builder) {
    const std::vector<uint32_t> preferred = {2, 4}, allowed = {1, 8};
    const auto batch = fb::CreateBatchPolicyDirect(builder, BatchMode::Auto, 8, 6, &preferred,
                                                   &allowed, 500, true, false, true, false);
    return [batch](SpecBuilder& to) { to.add_batch(batch); };
  });
  ASSERT_TRUE(spec.ok());
  const BatchPolicy& batch = spec.value().batch;
  EXPECT_EQ(batch.mode, BatchMode::Auto);
  EXPECT_EQ(batch.rows_max, 8u);
  EXPECT_EQ(batch.request_rows_max, 6u);
  EXPECT_EQ(batch.preferred_rows, (std::vector<uint32_t>{2, 4}));
  EXPECT_EQ(batch.allowed_rows, (std::vector<uint32_t>{1, 8}));
  EXPECT_EQ(batch.delay_us, 500u);
  EXPECT_TRUE(batch.split && batch.preserve_ordering);
  EXPECT_FALSE(batch.pad_inner || batch.only_if_batchable);
}

TEST(ParseModelSpec, TheOtherFlagsOfBatch) {
  const Result<ModelSpec> spec = parse([](Builder& builder) {
    const auto batch = fb::CreateBatchPolicyDirect(builder, BatchMode::Off, 0, 0, nullptr, nullptr,
                                                   0, false, true, false, true);
    return [batch](SpecBuilder& to) { to.add_batch(batch); };
  });
  ASSERT_TRUE(spec.ok());
  EXPECT_TRUE(spec.value().batch.pad_inner && spec.value().batch.only_if_batchable);
  EXPECT_FALSE(spec.value().batch.split || spec.value().batch.preserve_ordering);
}

TEST(ParseModelSpec, WrongBatch) {
  EXPECT_EQ(refusal(with_batch({static_cast<BatchMode>(3), 8, {}, {}})),
            "batch.mode is 3, expected 0, 1 or 2");
  EXPECT_EQ(refusal(with_batch({BatchMode::On, 0, {}, {}})),
            "batch.rows_max is 0, expected at least 1 where batch.mode is On");
  EXPECT_EQ(refusal(with_batch({BatchMode::On, 8, {0, 4}, {}})),
            "batch.preferred_rows[0] is 0, expected at least 1");
  EXPECT_EQ(refusal(with_batch({BatchMode::On, 8, {4, 4}, {}})),
            "batch.preferred_rows[1] is 4, expected more than the one before, 4");
  EXPECT_EQ(refusal(with_batch({BatchMode::On, 8, {4, 9}, {}})),
            "batch.preferred_rows[1] is 9, expected at most batch.rows_max, 8");
  EXPECT_EQ(refusal(with_batch({BatchMode::On, 8, {}, {8, 4}})),
            "batch.allowed_rows[1] is 4, expected more than the one before, 8");
  EXPECT_EQ(refusal(with_batch({BatchMode::Auto, 8, {}, {16}})),
            "batch.allowed_rows[0] is 16, expected at most batch.rows_max, 8");
  EXPECT_EQ(refusal(with_batch({BatchMode::Auto, 8, {}, {2, 4}})),
            "batch.allowed_rows[1] is 4, expected the last one to be batch.rows_max, 8");
}

TEST(ParseModelSpec, QueuePolicy) {
  const Result<ModelSpec> spec = parse([](Builder& builder) {
    const auto policy = fb::CreateQueuePolicy(builder, TimeoutAction::Delay, 700, true, 9);
    return [policy](SpecBuilder& to) {
      to.add_queue_requests_max(33);
      to.add_queue_policy(policy);
    };
  });
  ASSERT_TRUE(spec.ok());
  const QueueSettings& queue = spec.value().queue;
  EXPECT_EQ(queue.requests_max, 33u);
  EXPECT_EQ(queue.policy.timeout_action, TimeoutAction::Delay);
  EXPECT_EQ(queue.policy.default_timeout_us, 700u);
  EXPECT_TRUE(queue.policy.allow_timeout_override);
  EXPECT_EQ(queue.policy.requests_max, 9u);
  EXPECT_TRUE(queue.reads_request());
}

// A timeout is later multiplied by 1000: it must not wrap around to a short one.
TEST(ParseModelSpec, EndlessTimeoutsAreCut) {
  const Result<ModelSpec> spec = parse([](Builder& builder) {
    const auto policy = fb::CreateQueuePolicy(builder, TimeoutAction::Reject, UINT64_MAX);
    return [policy](SpecBuilder& to) { to.add_queue_policy(policy); };
  });
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec.value().queue.policy.default_timeout_us, kTimeoutUsMax);
  EXPECT_LT(kTimeoutUsMax, static_cast<uint64_t>(INT64_MAX) / 1000);
}

TEST(ParseModelSpec, WrongQueue) {
  EXPECT_EQ(refusal(with([](SpecBuilder& spec) { spec.add_queue_requests_max(0); })),
            "queue_requests_max is 0, expected at least 1");
  EXPECT_EQ(refusal(with([](SpecBuilder& spec) { spec.add_queue_requests_max(-5); })),
            "queue_requests_max is -5, expected at least 1");
  EXPECT_EQ(refusal([](Builder& builder) {
              const auto policy = fb::CreateQueuePolicy(builder, static_cast<TimeoutAction>(2));
              return [policy](SpecBuilder& spec) { spec.add_queue_policy(policy); };
            }),
            "queue_policy.timeout_action is 2, expected 0 or 1");
  EXPECT_EQ(refusal(with([](SpecBuilder& spec) { spec.add_exec_mode(static_cast<ExecMode>(3)); })),
            "exec_mode is 3, expected 0, 1 or 2");
}

TEST(ParseModelSpec, Priorities) {
  const Result<ModelSpec> spec = parse(with_priorities(3, 2, {3, 1}));
  ASSERT_TRUE(spec.ok());
  const QueueSettings& queue = spec.value().queue;
  EXPECT_EQ(queue.priority_levels, 3u);
  EXPECT_EQ(queue.default_priority, 2u);
  ASSERT_EQ(queue.priority_policies.size(), 2u);
  EXPECT_EQ(queue.policy_of(3).default_timeout_us, 30u);
  EXPECT_EQ(queue.policy_of(1).default_timeout_us, 10u);
  EXPECT_EQ(queue.policy_of(1).timeout_action, TimeoutAction::Delay);
  EXPECT_EQ(queue.policy_of(2).default_timeout_us, 0u);
}

TEST(ParseModelSpec, WrongPriorities) {
  EXPECT_EQ(refusal(with_priorities(2, 3, {})),
            "default_priority is 3, expected at most priority_levels, 2");
  EXPECT_EQ(refusal(with_priorities(0, 1, {})),
            "default_priority is 1, expected at most priority_levels, 0");
  EXPECT_EQ(refusal(with_priorities(2, 1, {1, 3})),
            "priority_policies[1].level is 3, expected 1 to priority_levels, 2");
  EXPECT_EQ(refusal(with_priorities(2, 1, {0})),
            "priority_policies[0].level is 0, expected 1 to priority_levels, 2");
  EXPECT_EQ(refusal(with_priorities(2, 1, {2, 2})),
            "priority_policies[1].level is 2, expected each level once");
  EXPECT_EQ(refusal(with_priorities(UINT32_MAX, 1, {})),
            "priority_levels is 4294967295, expected at most 1024");
  EXPECT_EQ(refusal([](Builder& builder) {
              const auto policy = fb::CreateQueuePolicy(builder, static_cast<TimeoutAction>(9));
              const auto one = fb::CreatePriorityQueuePolicy(builder, 1, policy);
              const auto all = builder.CreateVector(&one, 1);
              return [all](SpecBuilder& spec) {
                spec.add_priority_levels(1);
                spec.add_priority_policies(all);
              };
            }),
            "priority_policies[0].policy.timeout_action is 9, expected 0 or 1");
}

TEST(ParseModelSpec, TensorOverrides) {
  const Result<ModelSpec> inputs =
      parse(with_inputs({{"x", {-1, 2, 3}, {-1, 6}, {}}, {"y", {}, {}, {}}}));
  ASSERT_TRUE(inputs.ok());
  ASSERT_EQ(inputs.value().inputs.size(), 2u);
  EXPECT_EQ(inputs.value().inputs[0].name, "x");
  EXPECT_EQ(inputs.value().inputs[0].dims, (std::vector<int64_t>{-1, 2, 3}));
  EXPECT_EQ(inputs.value().inputs[0].model_dims, (std::vector<int64_t>{-1, 6}));
  EXPECT_EQ(inputs.value().inputs[1].name, "y");
  EXPECT_TRUE(inputs.value().outputs.empty());
  const Result<ModelSpec> outputs = parse(with_outputs({{"z", {-1}, {}, {"cat", "", "dog"}}}));
  ASSERT_TRUE(outputs.ok());
  ASSERT_EQ(outputs.value().outputs.size(), 1u);
  EXPECT_EQ(outputs.value().outputs[0].labels, (std::vector<std::string>{"cat", "", "dog"}));
  EXPECT_TRUE(outputs.value().inputs.empty());
}

TEST(ParseModelSpec, WrongTensorOverrides) {
  EXPECT_EQ(refusal(with_inputs({{"", {}, {}, {}}})),
            "inputs[0].name is empty, expected a tensor's name");
  EXPECT_EQ(refusal(with_outputs({{"x", {}, {}, {}}, {"x", {}, {}, {}}})),
            "outputs[1].name is 'x', expected each tensor once");
  EXPECT_EQ(refusal(with_inputs({{"x", {-1, -2}, {}, {}}})),
            "inputs[0].dims[1] is -2, expected a size or -1");
  EXPECT_EQ(refusal(with_outputs({{"x", {}, {INT64_MIN}, {}}})),
            "outputs[0].model_dims[0] is -9223372036854775808, expected a size or -1");
  EXPECT_EQ(refusal(with_inputs({{"x", std::vector<int64_t>(33, 1), {}, {}}})),
            "inputs[0].dims has 33 dims, expected at most 32");
  EXPECT_EQ(refusal(with_inputs({{"x", {}, {}, {"cat"}}})),
            "inputs[0].labels is set, expected labels of outputs only");
  EXPECT_EQ(refusal(with_outputs({{"x", {}, {}, {"cat", std::string(4097, 'a')}}})),
            "outputs[0].labels[1] has 4097 bytes, expected at most 4096");
  EXPECT_EQ(refusal(with_outputs({{"x", {}, {}, std::vector<std::string>(kLabelsMax + 1)}})),
            "outputs[0].labels has 1000001 labels, expected at most 1000000");
  EXPECT_EQ(refusal(with_inputs(std::vector<Override>(kInputsMax + 1))),
            "inputs has 4097 tensors, expected at most 4096");
}

auto with_graph_rows(std::vector<uint32_t> rows) {
  return [rows](Builder& builder) {
    const auto at = builder.CreateVector(rows);
    return [at](SpecBuilder& spec) { spec.add_graph_rows(at); };
  };
}

auto with_devices(std::vector<int32_t> devices) {
  return [devices](Builder& builder) {
    const auto at = builder.CreateVector(devices);
    return [at](SpecBuilder& spec) { spec.add_devices(at); };
  };
}

auto with_option(const char* key, const char* value) {
  return [=](Builder& builder) {
    const auto one = fb::CreateKeyValueDirect(builder, key, value);
    const auto all = builder.CreateVector(&one, 1);
    return [all](SpecBuilder& spec) { spec.add_session_config(all); };
  };
}

TEST(ParseModelSpec, DevicesAndOptions) {
  const Result<ModelSpec> devices = parse(with_devices({1, 0, 1}));
  ASSERT_TRUE(devices.ok());
  EXPECT_EQ(devices.value().devices, (std::vector<int>{1, 0, 1}));
  const Result<ModelSpec> graphs = parse(with_graph_rows({1, 8}));
  ASSERT_TRUE(graphs.ok());
  EXPECT_EQ(graphs.value().graph_rows, (std::vector<uint32_t>{1, 8}));
  EXPECT_TRUE(parse(with_graph_rows({0})).ok());
  const Result<ModelSpec> option = parse(with_option("session.disable_prepacking", "1"));
  ASSERT_TRUE(option.ok());
  ASSERT_EQ(option.value().session_config.size(), 1u);
  EXPECT_EQ(option.value().session_config[0],
            std::make_pair(std::string("session.disable_prepacking"), std::string("1")));
  const Result<ModelSpec> batch_dim =
      parse(with([](SpecBuilder& spec) { spec.add_batch_dim(true); }));
  ASSERT_TRUE(batch_dim.ok());
  EXPECT_TRUE(batch_dim.value().batch_dim);
}

TEST(ParseModelSpec, WrongDevicesAndOptions) {
  EXPECT_EQ(refusal(with_devices({0, -1})), "devices[1] is -1, expected at least 0");
  EXPECT_EQ(refusal(with_graph_rows({1, 0})),
            "graph_rows[1] is 0, expected 1 to 1048576, or 0 alone");
  EXPECT_EQ(refusal(with_graph_rows({1 << 21})),
            "graph_rows[0] is 2097152, expected 1 to 1048576, or 0 alone");
  EXPECT_EQ(refusal(with_devices(std::vector<int32_t>(257))),
            "devices has 257 entries, expected at most 256");
  const Result<ModelSpec> file = parse(with_option("session.optimized_model_filepath", "/x"));
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::InvalidArgument);
}

// A truncated spec is refused or read, never read past its end (sanitizers check this).
TEST(ParseModelSpec, CutBytes) {
  Builder builder;
  const std::vector<uint32_t> sizes = {1, 2};
  const auto batch = fb::CreateBatchPolicyDirect(builder, BatchMode::On, 2, 0, &sizes, &sizes);
  const auto outputs = write_overrides(builder, {{"x", {1}, {2}, {"cat"}}});
  const auto name = builder.CreateString("m");
  SpecBuilder spec(builder);
  spec.add_name(name);
  spec.add_backend(name);
  spec.add_batch(batch);
  spec.add_outputs(outputs);
  builder.Finish(spec.Finish());
  const std::vector<uint8_t> whole(builder.GetBufferPointer(),
                                   builder.GetBufferPointer() + builder.GetSize());
  ASSERT_TRUE(parse_model_spec(whole).ok());
  size_t refused = 0;
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
    refused += !parse_model_spec(cut).ok();
  }
  EXPECT_GT(refused, whole.size() / 2);
}

}  // namespace
}  // namespace serval
