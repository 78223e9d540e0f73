// ModelInferRequest bytes that are not protobuf, and random damage: no crash, and no result that
// differs from the plain decoder's.
#include <gtest/gtest.h>

#include <random>

#include "support/wire_builder.h"
#include "support/wire_plain_decode.h"

namespace serval::test {
namespace {

Signature signature_of(DType dtype) {
  return {"s", {{"x", dtype, {-1}, {}, false}}, {{"y", dtype, {-1}, {}, false}}};
}

// The error text without its common beginning.
std::string fault_of(const WireBuilder& wire) {
  Arena arena;
  DecodedRequest request;
  const Signature signature = signature_of(DType::Fp32);
  EXPECT_EQ(compare_wire_v2(wire.span(), signature), "");
  const Status status = decode_wire_v2(wire.span(), signature, Limits(), arena, request);
  if (status.ok()) return "none";
  if (status.error().code != ErrorCode::MalformedBody) return "not malformed";
  const std::string start = "malformed ModelInferRequest: ";
  EXPECT_EQ(status.error().message.substr(0, start.size()), start);
  return status.error().message.substr(start.size());
}

WireBuilder in_input(const WireBuilder& field) { return WireBuilder().message(5, field); }
WireBuilder in_contents(const WireBuilder& field) {
  return in_input(WireBuilder().message(5, field));
}

TEST(WireV2Malformed, TagsAndTypes) {
  EXPECT_EQ(fault_of(WireBuilder().raw("\x80")), "varint cut off at byte 0");
  EXPECT_EQ(fault_of(WireBuilder().raw({"\0", 1})), "field number 0 at byte 0");
  EXPECT_EQ(fault_of(WireBuilder().raw("\x0e")), "unknown wire type at byte 0");
  EXPECT_EQ(fault_of(WireBuilder().raw("\x0f")), "unknown wire type at byte 0");
  EXPECT_EQ(fault_of(WireBuilder().bare_varint(uint64_t{1} << 32)),
            "field tag over 32 bits at byte 0");
  EXPECT_EQ(fault_of(WireBuilder().raw({"\x8a\x80\x80\x80\x80\x00", 6})),
            "field tag over 32 bits at byte 0");
}

TEST(WireV2Malformed, CutOffValues) {
  EXPECT_EQ(fault_of(WireBuilder().bytes(1, "m").tag(9, 0)), "varint cut off at byte 4");
  EXPECT_EQ(fault_of(WireBuilder().tag(9, 0).raw("\xff\xff")), "varint cut off at byte 1");
  EXPECT_EQ(fault_of(WireBuilder().tag(9, 0).raw("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02")),
            "varint over 64 bits at byte 1");
  EXPECT_EQ(fault_of(WireBuilder().tag(9, 1).raw("1234567")), "fixed-size value cut off at byte 0");
  EXPECT_EQ(fault_of(WireBuilder().tag(9, 5).raw("123")), "fixed-size value cut off at byte 0");
  EXPECT_EQ(fault_of(WireBuilder().tag(9, 2)), "varint cut off at byte 1");
  EXPECT_EQ(fault_of(WireBuilder().tag(9, 2).bare_varint(UINT64_MAX).raw("abc")),
            "length past the end of its message at byte 0");
  // The inner length fits the message, but not the input that contains it.
  EXPECT_EQ(fault_of(in_input(WireBuilder().tag(1, 2).bare_varint(2)).bytes(1, "mm")),
            "length past the end of its message at byte 2");
}

TEST(WireV2Malformed, Strings) {
  const WireBuilder bad = WireBuilder().bytes(1, "\xc0\x80");
  const std::string text = "string that is not valid UTF-8 at byte ";
  for (uint32_t number : {1u, 2u, 3u}) {
    EXPECT_EQ(fault_of(WireBuilder().bytes(number, "ok-ok-ok-\xed\xa0\x80")), text + "2");
  }
  EXPECT_EQ(fault_of(in_input(bad)), text + "4");
  EXPECT_EQ(fault_of(in_input(WireBuilder().bytes(2, "\xff"))), text + "4");
  EXPECT_EQ(fault_of(WireBuilder().message(6, bad)), text + "4");
  EXPECT_EQ(fault_of(WireBuilder().message(4, bad)), text + "4");
  EXPECT_EQ(fault_of(in_input(WireBuilder().message(4, bad))), text + "6");
  const WireBuilder parameter = WireBuilder().message(2, WireBuilder().bytes(3, "\xff"));
  EXPECT_EQ(fault_of(WireBuilder().message(4, parameter)), text + "6");
  // A later valid string does not correct an earlier invalid one.
  EXPECT_EQ(fault_of(WireBuilder().bytes(1, "\xff").bytes(1, "m")), text + "2");
}

TEST(WireV2Malformed, PackedRuns) {
  const std::string nine(9, '\xff');
  EXPECT_EQ(fault_of(in_contents(WireBuilder().bytes(6, "12345"))),
            "packed values of which the last is cut off at byte 6");
  EXPECT_EQ(fault_of(in_contents(WireBuilder().bytes(7, "1234"))),
            "packed values of which the last is cut off at byte 6");
  const auto run = [](const std::string& bytes) {
    return fault_of(in_contents(WireBuilder().bytes(3, bytes)));
  };
  for (const std::string& pad : {std::string(), std::string(1, '\1'), std::string(13, '\1')}) {
    const std::string fault =
        "varint cut off or over 64 bits at byte " + std::to_string(6 + pad.size());
    EXPECT_EQ(run(pad + "\x80"), fault);
    EXPECT_EQ(run(pad + nine + "\x02"), fault);
    EXPECT_EQ(run(pad + nine + "\x02" + std::string(9, '\1')), fault);
    EXPECT_EQ(run(pad + nine + nine), fault);
    EXPECT_EQ(run(pad + nine + "\x01"), "not malformed");
  }
  EXPECT_EQ(fault_of(in_input(WireBuilder().bytes(3, "\1\x80"))), "varint cut off at byte 5");
}

TEST(WireV2Malformed, Groups) {
  EXPECT_EQ(fault_of(WireBuilder().tag(9, 4)), "end of a group that was not begun at byte 0");
  EXPECT_EQ(fault_of(WireBuilder().tag(9, 3)), "group that is not ended at byte 0");
  EXPECT_EQ(fault_of(WireBuilder().tag(9, 3).tag(8, 4)), "end of another group at byte 1");
  EXPECT_EQ(fault_of(WireBuilder().tag(9, 3).tag(0, 0).tag(9, 4)), "field number 0 at byte 1");
  EXPECT_EQ(fault_of(WireBuilder().tag(9, 3).raw("\x0e")), "unknown wire type at byte 1");
  WireBuilder deep, closed;
  for (int i = 0; i < 100; ++i) deep.tag(1, 3);
  for (int i = 0; i < 100; ++i) closed.tag(1, 4);
  EXPECT_EQ(fault_of(WireBuilder().raw(deep.str()).raw(closed.str())), "not malformed");
  EXPECT_EQ(fault_of(WireBuilder().raw(deep.str()).tag(1, 3).raw(closed.str()).tag(1, 4)),
            "groups nested over 100 deep at byte 100");
}

TEST(WireV2Malformed, MalformedWinsOverEverythingElse) {
  WireBuilder wire = in_input(wire_input("nobody", "FP99", {-1}));
  EXPECT_EQ(fault_of(wire.message(6, WireBuilder().raw("\x80"))), "varint cut off at byte 30");
}

TEST(WireV2Malformed, Limits) {
  Arena arena;
  DecodedRequest request;
  const Signature signature = signature_of(DType::Fp32);
  Limits limits;
  limits.body_bytes_max = 3;
  const WireBuilder four = WireBuilder().bytes(1, "mm");
  const Status large = decode_wire_v2(four.span(), signature, limits, arena, request);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::BodyTooLarge);
  EXPECT_EQ(large.error().message, "ModelInferRequest is 4 bytes long; the limit is 3");
  for (const auto& [number, name] :
       {std::pair(5u, "inputs"), std::pair(6u, "outputs"), std::pair(7u, "raw_input_contents")}) {
    WireBuilder many;
    for (size_t i = 0; i < kInputsMax + 1; ++i) many.bytes(number, "");
    const Status status = decode_wire_v2(many.span(), signature, Limits(), arena, request);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, std::string(name) + " has 4097 entries; the limit is 4096");
  }
  const WireBuilder long_id = WireBuilder().bytes(3, std::string(kIdBytesMax + 1, 'i'));
  EXPECT_EQ(decode_wire_v2(long_id.span(), signature, Limits(), arena, request).error().message,
            "id is 65537 bytes long; the limit is 65536");
}

// Valid requests that are damaged at random, each with the dtype of its "x".
std::vector<std::pair<DType, std::string>> seeds() {
  std::vector<std::pair<DType, std::string>> out;
  const WireBuilder choice = WireBuilder().bytes(3, "s").varint(5, 1);  // the last one counts
  const auto entry = [&choice](std::string_view key) {
    return WireBuilder().bytes(1, key).message(2, choice);
  };
  const auto add = [&](DType dtype, int64_t count, const WireBuilder& contents, bool typed) {
    WireBuilder input = wire_input("x", dtype_name(dtype), {count});
    if (typed) input.message(5, contents);
    WireBuilder wire = WireBuilder().bytes(1, "m").bytes(3, "7").message(4, entry("priority"));
    wire.message(4, entry("timeout")).message(5, input.message(4, entry("any")));
    wire.message(6, WireBuilder().bytes(1, "y").message(2, entry("classification")));
    if (!typed) wire.bytes(7, contents.str());
    out.emplace_back(dtype, wire.str());
  };
  add(DType::Fp32, 2, WireBuilder().packed_fixed(6, {1.f, 2.f}), true);
  add(DType::Fp64, 2, WireBuilder().fixed(7, 1.).fixed(7, 2.), true);
  add(DType::Int8, 3, WireBuilder().packed(2, {-1, 2}).varint(2, 9), true);
  add(DType::Uint16, 9, WireBuilder().packed(4, {1, 2, 3, 4, 500, 6, 7, 8, 9}), true);
  add(DType::Int64, 3, WireBuilder().packed(3, {-1, 2, INT64_MIN}), true);
  add(DType::Bool, 2, WireBuilder().packed(1, {0, 1}), true);
  add(DType::Bytes, 2, WireBuilder().bytes(8, "a").bytes(8, "bc"), true);
  add(DType::Bytes, 2, WireBuilder().raw({"\1\0\0\0a\0\0\0\0", 9}), false);
  add(DType::Fp16, 2, WireBuilder().raw("abcd"), false);
  add(DType::Bool, 3, WireBuilder().raw({"\0\1\1", 3}), false);
  return out;
}

TEST(WireV2Malformed, SeedsAreGood) {
  for (const auto& [dtype, wire] : seeds()) {
    EXPECT_EQ(plain_decode_wire_v2(wire, signature_of(dtype)).code, ErrorCode::Ok);
    const WireBuilder whole = WireBuilder().raw(wire);
    EXPECT_EQ(compare_wire_v2(whole.span(), signature_of(dtype)), "");
  }
}

TEST(WireV2Malformed, EveryTruncationAgreesWithThePlainDecoder) {
  for (const auto& [dtype, wire] : seeds()) {
    for (size_t size = 0; size < wire.size(); ++size) {
      const std::vector<uint8_t> cut(wire.begin(), wire.begin() + size);
      EXPECT_EQ(compare_wire_v2(cut, signature_of(dtype)), "") << size;
    }
  }
}

TEST(WireV2Malformed, DamageAgreesWithThePlainDecoder) {
  std::mt19937 random(7);
  const auto all = seeds();
  size_t good = 0;
  for (int round = 0; round < 30000; ++round) {
    const auto& [dtype, wire] = all[random() % all.size()];
    std::vector<uint8_t> damaged(wire.begin(), wire.end());
    for (size_t edits = random() % 3; edits-- > 0 && !damaged.empty();) {
      const size_t at = random() % damaged.size();
      const uint8_t byte = static_cast<uint8_t>(random());
      if (random() % 4 == 0) damaged.erase(damaged.begin() + at);
      else if (random() % 3 == 0) damaged.insert(damaged.begin() + at, byte);
      else if (random() % 2 == 0) damaged[at] = byte;
      else damaged[at] = static_cast<uint8_t>(damaged[at] ^ (1u << (byte % 8)));
    }
    const std::string difference = compare_wire_v2(damaged, signature_of(dtype));
    ASSERT_EQ(difference, "") << "round " << round;
    const std::string_view text(reinterpret_cast<const char*>(damaged.data()), damaged.size());
    good += plain_decode_wire_v2(text, signature_of(dtype)).code == ErrorCode::Ok;
  }
  EXPECT_GT(good, 3000u);   // the damage leaves some requests valid ...
  EXPECT_LT(good, 27000u);  // ... and breaks many
}

}  // namespace
}  // namespace serval::test
