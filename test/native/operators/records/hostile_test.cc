// Audio, protobuf messages and pixels that no client should send: cut at every byte, changed at
// random (seeded), of wrong shapes and sizes. A run may fail or succeed; it must not read past an
// end or use unbounded memory (the sanitizer builds check that).
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "operators/support/fake_context.h"

namespace serval::operators {
namespace {

using Random = std::mt19937;

std::string changed(std::string bytes, Random& random) {
  for (size_t i = 0; i <= random() % 4 && !bytes.empty(); ++i) {
    bytes[random() % bytes.size()] = static_cast<char>(random());
  }
  return bytes;
}

// Runs `run` with the whole bytes, cut at every length, and changed.
template <typename Run>
void with_damage(const std::string& bytes, Run run) {
  Random random(1);
  for (size_t length = 0; length <= bytes.size(); ++length) run(bytes.substr(0, length));
  for (int i = 0; i < 3000; ++i) run(changed(bytes, random));
}

FakeTensor text(std::string value) { return FakeTensor::of_texts({}, {std::move(value)}); }

FakeTensor sound(std::vector<int64_t> dims, std::vector<float> samples) {
  return FakeTensor::of(DType::Fp32, std::move(dims), samples);
}
FakeTensor int32s(std::vector<int64_t> dims, std::vector<int32_t> values) {
  return FakeTensor::of(DType::Int32, std::move(dims), values);
}

TEST(WavHostile, CutAndChangedFiles) {
  const auto file = run_operator("EncodeWav", {},
                                 {sound({3, 2}, {0, 1, -1, 0.5f, 2, -2}), int32s({}, {8000})}, 1);
  ASSERT_TRUE(file.ok());
  const std::string bytes = file.value()[0].texts[0];
  EXPECT_EQ(bytes.size(), 44U + 12);
  with_damage(bytes, [](std::string damaged) {
    (void)run_operator("DecodeWav", {}, {text(std::move(damaged))}, 2);
  });
}

TEST(WavHostile, AsksForMoreThanThereIs) {
  FakeAttributes many;
  many.ints["desired_samples"] = int64_t{1} << 40;
  many.ints["desired_channels"] = int64_t{1} << 40;
  const auto file = run_operator("EncodeWav", {}, {sound({1, 1}, {0}), int32s({}, {1})}, 1);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(run_operator("DecodeWav", many, {text(file.value()[0].texts[0])}, 2).ok());
}

TEST(WavHostile, WrongShapesAndRates) {
  for (const auto& rate : {int32s({1}, {8000}), int32s({}, {0}), int32s({}, {-5})}) {
    EXPECT_FALSE(run_operator("EncodeWav", {}, {sound({1, 1}, {0}), rate}, 1).ok());
  }
  EXPECT_FALSE(run_operator("EncodeWav", {}, {sound({2}, {0, 1}), int32s({}, {1})}, 1).ok());
  EXPECT_FALSE(run_operator("EncodeWav", {}, {sound({2, 0}, {}), int32s({}, {1})}, 1).ok());
}

// One repeated field of each kind: its type, ONNX's number of its tensor, and its element's bytes.
struct Kind {
  int64_t type, dtype;
  size_t bytes;
};
constexpr Kind kKinds[] = {{1, 11, 8},  {2, 1, 4},  {3, 7, 8},  {4, 13, 8}, {5, 6, 4},  {6, 13, 8},
                           {7, 12, 4},  {8, 9, 1},  {9, 8, 0},  {10, 8, 0}, {11, 8, 0}, {12, 8, 0},
                           {13, 12, 4}, {14, 6, 4}, {15, 6, 4}, {16, 7, 8}, {17, 6, 4}, {18, 7, 8}};

FakeAttributes fields_of(bool packed) {
  FakeAttributes attributes;
  std::string defaults;
  int64_t number = 1;
  for (const Kind& kind : kKinds) {
    attributes.int_lists["numbers"].push_back(number++);
    attributes.int_lists["types"].push_back(kind.type);
    attributes.int_lists["dtypes"].push_back(kind.dtype);
    attributes.int_lists["repeated"].push_back(1);
    attributes.int_lists["packed"].push_back(packed ? 1 : 0);
    defaults += std::to_string(kind.bytes) + ":" + std::string(kind.bytes, '\0');
  }
  attributes.strings["defaults"] = defaults;
  return attributes;
}

constexpr size_t kOutputs = 1 + std::size(kKinds);

TEST(ProtoHostile, CutAndChangedMessages) {
  for (const bool packed : {false, true}) {
    const FakeAttributes attributes = fields_of(packed);
    // A message with one value of each field: an empty message is decoded, then encoded again.
    auto parts =
        run_operator("DecodeProto", attributes, {FakeTensor::of_texts({1}, {""})}, kOutputs);
    ASSERT_TRUE(parts.ok());
    std::vector<int32_t> sizes(std::size(kKinds), 1);
    parts.value()[0] = int32s({1, static_cast<int64_t>(sizes.size())}, sizes);
    const auto whole = run_operator("EncodeProto", attributes, parts.value(), 1);
    ASSERT_TRUE(whole.ok());
    const std::string bytes = whole.value()[0].texts[0];
    const auto again =
        run_operator("DecodeProto", attributes, {FakeTensor::of_texts({1}, {bytes})}, kOutputs);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again.value(), parts.value());
    with_damage(bytes, [&](const std::string& damaged) {
      (void)run_operator("DecodeProto", attributes, {FakeTensor::of_texts({2}, {damaged, bytes})},
                         kOutputs);
    });
  }
}

TEST(ProtoHostile, GroupsInsideGroupsEndSomewhere) {
  const std::string deep(100000, '\x9b');
  std::string groups;
  for (int i = 0; i < 100000; ++i) groups += "\x9b\x06";
  for (const std::string& bytes : {deep, groups}) {
    const auto got = run_operator("DecodeProto", fields_of(false),
                                  {FakeTensor::of_texts({1}, {bytes})}, kOutputs);
    EXPECT_FALSE(got.ok());
  }
}

TEST(ProtoHostile, OneLongMessageAmongManyIsRefusedBeforeItTakesMemory) {
  std::vector<std::string> messages(1 << 17);
  messages[0] = "\x1a\x80\x80\x40" + std::string(1 << 20, '\x01');  // field 3: a million values
  const auto got = run_operator(
      "DecodeProto", fields_of(false),
      {FakeTensor::of_texts({static_cast<int64_t>(messages.size())}, messages)}, kOutputs);
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.error().message.find("too many"), std::string::npos) << got.error().message;
}

TEST(ProtoHostile, WrongSizesAndShapesAreRefused) {
  FakeAttributes one;
  for (const char* name : {"numbers", "repeated", "packed"}) one.int_lists[name] = {1};
  one.int_lists["types"] = {5};
  one.int_lists["dtypes"] = {6};
  one.strings["defaults"] = std::string("4:\0\0\0\0", 6);
  const FakeTensor values = int32s({1, 2}, {7, 8});
  EXPECT_TRUE(run_operator("EncodeProto", one, {int32s({1, 1}, {2}), values}, 1).ok());
  for (const auto& sizes : {int32s({1, 1}, {3}), int32s({1}, {1}), int32s({2, 1}, {1, 1})}) {
    EXPECT_FALSE(run_operator("EncodeProto", one, {sizes, values}, 1).ok());
  }
  EXPECT_FALSE(run_operator("EncodeProto", one, {int32s({1, 1}, {1})}, 1).ok());
  EXPECT_FALSE(run_operator("EncodeProto", one, {int32s({1}, {1}), int32s({1}, {1})}, 1).ok());
  one.int_lists["types"] = {19};
  EXPECT_FALSE(run_operator("DecodeProto", one, {text("")}, 2).ok());
}

TEST(EncodeImageHostile, WrongShapesAreRefused) {
  for (const char* name : {"EncodePng", "EncodeJpeg"}) {
    for (const std::vector<int64_t>& dims :
         {std::vector<int64_t>{4}, {2, 2}, {0, 2, 3}, {2, 0, 3}, {2, 2, 0}, {2, 2, 9}}) {
      size_t count = 1;
      for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
      const FakeTensor pixels = FakeTensor::of(DType::Uint8, dims, std::vector<uint8_t>(count, 7));
      EXPECT_FALSE(run_operator(name, {}, {pixels}, 1).ok()) << name << dims.size();
    }
  }
  FakeAttributes wide;
  wide.strings["xmp_metadata"] = std::string(70000, 'x');
  const FakeTensor pixels = FakeTensor::of(DType::Uint8, {1, 1, 3}, std::vector<uint8_t>(3, 7));
  EXPECT_FALSE(run_operator("EncodeJpeg", wide, {pixels}, 1).ok());
}

TEST(RoundFloat8, RoundsToTheNearestEvenAndEndsAsItsType) {
  const auto of = [](const char* type, std::vector<float> values) {
    FakeAttributes attributes;
    attributes.strings["type"] = type;
    const auto count = static_cast<int64_t>(values.size());
    return run_operator("RoundFloat8", attributes, {sound({count}, std::move(values))}, 1)
        .value()[0]
        .values<float>();
  };
  const std::vector<float> small = {0, 1, 1.0625f, 1.1875f, -17, 448, 0.001953125f, 0.0009765625f};
  EXPECT_EQ(of("float8_e4m3fn", small),
            (std::vector<float>{0, 1, 1, 1.25f, -16, 448, 0.001953125f, 0}));
  EXPECT_EQ(of("float8_e4m3fn", {464})[0], 448);
  EXPECT_TRUE(std::isnan(of("float8_e4m3fn", {465})[0]));
  EXPECT_EQ(of("float8_e5m2", {57344, 1e6f, -INFINITY}),
            (std::vector<float>{57344, INFINITY, -INFINITY}));
}

}  // namespace
}  // namespace serval::operators
