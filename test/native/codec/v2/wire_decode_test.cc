// Decoding of ModelInferRequest: accepted messages, refused ones, and the error messages. Source of
// the cases: KServe's V2 inference protocol, "GRPC"; v2-protocol.md 1.1, 1.4, 10.
#include <gtest/gtest.h>

#include <random>

#include "support/wire_builder.h"
#include "support/wire_plain_decode.h"

namespace serval::test {
namespace {

TensorSpec spec(const std::string& name, DType dtype) { return {name, dtype, {-1}, {}, false}; }

Signature one_input(DType dtype) {
  return {"serving_default", {spec("x", dtype)}, {spec("y", dtype)}};
}

// A decoded message with the memory of its views. Its bytes are copied to a 64-byte aligned
// address.
struct Decoded {
  ByteBuffer body;
  Arena arena;
  DecodedRequest request;
  ErrorCode code = ErrorCode::Ok;
  std::string message;

  Decoded(const WireBuilder& wire, const Signature& signature, const Limits& limits = {}) {
    EXPECT_TRUE(body.append(wire.str()));
    const Status status = decode_wire_v2(body.bytes(), signature, limits, arena, request);
    if (status.ok()) return;
    code = status.error().code;
    message = status.error().message;
  }
  template <typename T>
  std::vector<T> values(size_t input) const {
    const TensorView& tensor = request.inputs.at(input);
    std::vector<T> out(tensor.bytes / sizeof(T));
    if (tensor.bytes != 0) std::memcpy(out.data(), tensor.data, tensor.bytes);
    return out;
  }
};

void expect_error(const WireBuilder& wire, const Signature& signature, ErrorCode code,
                  const std::string& message) {
  const Decoded decoded(wire, signature);
  EXPECT_EQ(decoded.code, code) << decoded.message;
  EXPECT_EQ(decoded.message, message);
  EXPECT_EQ(compare_wire_v2(wire.span(), signature), "");
}

void expect_invalid(const WireBuilder& wire, const Signature& signature,
                    const std::string& message) {
  expect_error(wire, signature, ErrorCode::InvalidArgument, message);
}

// One typed input "x" of `datatype` and shape {count} with `contents`.
WireBuilder typed(std::string_view datatype, int64_t count, const WireBuilder& contents) {
  WireBuilder input = wire_input("x", datatype, {count});
  return WireBuilder().message(5, input.message(5, contents));
}

WireBuilder raw(std::string_view datatype, std::initializer_list<int64_t> shape,
                std::string_view bytes) {
  return WireBuilder().message(5, wire_input("x", datatype, shape)).bytes(7, bytes);
}

WireBuilder four_floats() {
  return WireBuilder()
      .bytes(1, "m")
      .bytes(2, "3")
      .bytes(3, "id-1")
      .message(5, wire_input("x", "FP32", {1, 4}))
      .bytes(7, raw_of({1.f, 2.f, 3.f, -0.f}));
}

TEST(WireV2Decode, RawFloats) {
  const Decoded decoded(four_floats(), one_input(DType::Fp32));
  ASSERT_EQ(decoded.message, "");
  EXPECT_EQ(decoded.request.id, "id-1");
  EXPECT_TRUE(decoded.request.has_id);
  ASSERT_EQ(decoded.request.inputs.size(), 1u);
  EXPECT_EQ(decoded.request.inputs[0].dtype, DType::Fp32);
  EXPECT_EQ(decoded.request.inputs[0].shape.to_string(), "[1,4]");
  EXPECT_EQ(decoded.values<float>(0), (std::vector<float>{1, 2, 3, -0.f}));
  EXPECT_TRUE(std::signbit(decoded.values<float>(0)[3]));
  ASSERT_EQ(decoded.request.outputs.size(), 1u);
  EXPECT_EQ(decoded.request.outputs[0].index, 0u);
}

TEST(WireV2Decode, AlignedRawIsAView) {
  // 4 bytes of name put the start of the raw data at a multiple of 4.
  for (size_t pad = 0; pad < 4; ++pad) {
    const Decoded decoded(WireBuilder()
                              .bytes(1, std::string(pad, 'm'))
                              .message(5, wire_input("x", "FP32", {1}))
                              .bytes(7, raw_of({2.5f})),
                          one_input(DType::Fp32));
    ASSERT_EQ(decoded.message, "");
    const uint8_t* place = decoded.body.data() + decoded.body.size() - 4;
    const bool aligned = reinterpret_cast<uintptr_t>(place) % 4 == 0;
    EXPECT_EQ(decoded.request.inputs[0].data == place, aligned) << pad;
    EXPECT_EQ(decoded.values<float>(0), std::vector<float>{2.5f});
  }
}

TEST(WireV2Decode, PeekReadsTopLevelAndLastWins) {
  WireModelRef ref;
  WireBuilder wire = four_floats();
  ASSERT_TRUE(peek_wire_v2(wire.span(), ref).ok());
  EXPECT_EQ(ref.name, "m");
  EXPECT_EQ(ref.version, "3");
  EXPECT_EQ(ref.id, "id-1");
  wire.bytes(1, "n").bytes(3, "id-2");
  ASSERT_TRUE(peek_wire_v2(wire.span(), ref).ok());
  EXPECT_EQ(ref.name, "n");
  EXPECT_EQ(Decoded(wire, one_input(DType::Fp32)).request.id, "id-2");
  ASSERT_TRUE(peek_wire_v2({}, ref).ok());
  EXPECT_EQ(ref.name, "");
}

TEST(WireV2Decode, PeekErrors) {
  WireModelRef ref;
  const WireBuilder cut = WireBuilder().bytes(1, "m").tag(3, 2).bare_varint(5).raw("ab");
  const Status status = peek_wire_v2(cut.span(), ref);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::MalformedBody);
  EXPECT_EQ(status.error().message,
            "malformed ModelInferRequest: length past the end of its message at byte 3");
  EXPECT_EQ(ref.name, "");
  const WireBuilder long_id = WireBuilder().bytes(3, std::string(kIdBytesMax + 1, 'i'));
  EXPECT_EQ(peek_wire_v2(long_id.span(), ref).error().message,
            "id is 65537 bytes long; the limit is 65536");
  const WireBuilder long_name = WireBuilder().bytes(1, std::string(kNameBytesMax + 1, 'i'));
  EXPECT_EQ(peek_wire_v2(long_name.span(), ref).error().code, ErrorCode::InvalidArgument);
  const WireBuilder bad_name = WireBuilder().bytes(1, "\xff");
  EXPECT_EQ(peek_wire_v2(bad_name.span(), ref).error().message,
            "malformed ModelInferRequest: string that is not valid UTF-8 at byte 2");
}

TEST(WireV2Decode, TypedEveryDtype) {
  const auto decode = [](DType dtype, int64_t count, const WireBuilder& contents) {
    const WireBuilder wire = typed(dtype_name(dtype), count, contents);
    EXPECT_EQ(compare_wire_v2(wire.span(), one_input(dtype)), "") << dtype_name(dtype);
    return Decoded(wire, one_input(dtype));
  };
  EXPECT_EQ(decode(DType::Bool, 3, WireBuilder().packed(1, {1, 0, 1})).values<uint8_t>(0),
            (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(decode(DType::Int8, 2, WireBuilder().packed(2, {-128, 127})).values<int8_t>(0),
            (std::vector<int8_t>{-128, 127}));
  EXPECT_EQ(decode(DType::Int16, 2, WireBuilder().packed(2, {-32768, 32767})).values<int16_t>(0),
            (std::vector<int16_t>{-32768, 32767}));
  EXPECT_EQ(
      decode(DType::Int32, 2, WireBuilder().packed(2, {INT32_MIN, INT32_MAX})).values<int32_t>(0),
      (std::vector<int32_t>{INT32_MIN, INT32_MAX}));
  const WireBuilder wide = WireBuilder().packed(3, {INT64_MIN, 9007199254740993, INT64_MAX});
  EXPECT_EQ(decode(DType::Int64, 3, wide).values<int64_t>(0),
            (std::vector<int64_t>{INT64_MIN, 9007199254740993, INT64_MAX}));
  EXPECT_EQ(decode(DType::Uint8, 2, WireBuilder().packed(4, {0, 255})).values<uint8_t>(0),
            (std::vector<uint8_t>{0, 255}));
  EXPECT_EQ(decode(DType::Uint16, 1, WireBuilder().packed(4, {65535})).values<uint16_t>(0),
            (std::vector<uint16_t>{65535}));
  EXPECT_EQ(decode(DType::Uint32, 1, WireBuilder().packed(4, {UINT32_MAX})).values<uint32_t>(0),
            (std::vector<uint32_t>{UINT32_MAX}));
  EXPECT_EQ(decode(DType::Uint64, 1, WireBuilder().packed(5, {-1})).values<uint64_t>(0),
            (std::vector<uint64_t>{UINT64_MAX}));
  EXPECT_EQ(decode(DType::Fp32, 2, WireBuilder().packed_fixed(6, {1.5f, -2.f})).values<float>(0),
            (std::vector<float>{1.5f, -2.f}));
  EXPECT_EQ(decode(DType::Fp64, 1, WireBuilder().packed_fixed(7, {0.1})).values<double>(0),
            (std::vector<double>{0.1}));
  const Decoded strings =
      decode(DType::Bytes, 3, WireBuilder().bytes(8, "a").bytes(8, "").bytes(8, {"\0\xff", 2}));
  ASSERT_EQ(strings.request.inputs[0].strings.size(), 3u);
  EXPECT_EQ(strings.request.inputs[0].strings[1], "");
  EXPECT_EQ(strings.request.inputs[0].strings[2], std::string_view("\0\xff", 2));
}

TEST(WireV2Decode, LongVarintRunsOfMixedWidths) {
  std::vector<int64_t> expected;
  WireBuilder run;
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    const int64_t value = static_cast<int64_t>(random()) >> (random() % 64);
    expected.push_back(i % 100 < 50 ? value : value & 0x7f);
    run.bare_varint(static_cast<uint64_t>(expected.back()));
  }
  const Decoded decoded(typed("INT64", 5000, WireBuilder().bytes(3, run.str())),
                        one_input(DType::Int64));
  ASSERT_EQ(decoded.message, "");
  EXPECT_EQ(decoded.values<int64_t>(0), expected);
}

TEST(WireV2Decode, ContentsInPiecesAreAppended) {
  WireBuilder input = wire_input("x", "FP32", {6});
  input.message(5, WireBuilder().fixed(6, 1.f).packed_fixed(6, {2.f, 3.f}).bytes(6, ""))
      .message(5, WireBuilder())
      .message(5, WireBuilder().packed_fixed(6, {4.f, 5.f}).fixed(6, 6.f));
  const Decoded floats(WireBuilder().message(5, input), one_input(DType::Fp32));
  ASSERT_EQ(floats.message, "");
  EXPECT_EQ(floats.values<float>(0), (std::vector<float>{1, 2, 3, 4, 5, 6}));

  WireBuilder integers = wire_input("x", "INT16", {4});
  integers.message(5, WireBuilder().varint(2, -5).packed(2, {6, 300}))
      .message(5, WireBuilder().varint(2, 7));
  const Decoded decoded(WireBuilder().message(5, integers), one_input(DType::Int16));
  ASSERT_EQ(decoded.message, "");
  EXPECT_EQ(decoded.values<int16_t>(0), (std::vector<int16_t>{-5, 6, 300, 7}));
}

TEST(WireV2Decode, ShapePackedOrNot) {
  WireBuilder input;
  input.bytes(1, "x").bytes(2, "FP32").varint(3, 1).packed(3, {2, 1}).varint(3, 2);
  const Decoded decoded(WireBuilder().message(5, input).bytes(7, raw_of({1.f, 2.f, 3.f, 4.f})),
                        one_input(DType::Fp32));
  ASSERT_EQ(decoded.message, "");
  EXPECT_EQ(decoded.request.inputs[0].shape.to_string(), "[1,2,1,2]");
}

TEST(WireV2Decode, ScalarsAndEmptyTensors) {
  const Decoded scalar(raw("FP32", {}, raw_of({3.f})), one_input(DType::Fp32));
  ASSERT_EQ(scalar.message, "");
  EXPECT_EQ(scalar.request.inputs[0].shape.rank(), 0u);
  EXPECT_EQ(scalar.values<float>(0), std::vector<float>{3.f});
  EXPECT_EQ(Decoded(raw("FP32", {0, 4}, ""), one_input(DType::Fp32)).message, "");
  EXPECT_EQ(Decoded(raw("BYTES", {0}, ""), one_input(DType::Bytes)).message, "");
  const WireBuilder none_of_many = raw("FP16", {0, INT64_MAX, INT64_MAX}, "");
  EXPECT_EQ(Decoded(none_of_many, one_input(DType::Fp16)).message, "");
  for (const auto dtype : {DType::Fp32, DType::Int8, DType::Bytes, DType::Bool}) {
    const WireBuilder none = WireBuilder().message(5, wire_input("x", dtype_name(dtype), {3, 0}));
    EXPECT_EQ(Decoded(none, one_input(dtype)).message, "");
    EXPECT_EQ(compare_wire_v2(none.span(), one_input(dtype)), "");
  }
}

TEST(WireV2Decode, RawBytesTensor) {
  const std::string elements = std::string("\2\0\0\0ab", 6) + std::string("\0\0\0\0", 4);
  const Decoded decoded(raw("BYTES", {2}, elements), one_input(DType::Bytes));
  ASSERT_EQ(decoded.message, "");
  ASSERT_EQ(decoded.request.inputs[0].strings.size(), 2u);
  EXPECT_EQ(decoded.request.inputs[0].shape.to_string(), "[2]");
  EXPECT_EQ(decoded.request.inputs[0].dtype, DType::Bytes);
  EXPECT_EQ(decoded.request.inputs[0].strings[0], "ab");
  EXPECT_EQ(Decoded(raw("BYTES", {3}, elements), one_input(DType::Bytes)).code,
            ErrorCode::InvalidArgument);
  EXPECT_EQ(Decoded(raw("BYTES", {1}, elements), one_input(DType::Bytes)).code,
            ErrorCode::InvalidArgument);
}

TEST(WireV2Decode, InputsInAnyOrderLandInSignatureOrder) {
  const Signature two{"s",
                      {spec("a", DType::Fp32), spec("b", DType::Int8)},
                      {spec("c", DType::Fp32), spec("d", DType::Int8)}};
  // Raw contents before, between and after the inputs; they are assigned by position.
  const Decoded decoded(WireBuilder()
                            .bytes(7, "\5")
                            .message(5, wire_input("b", "INT8", {1}))
                            .message(6, WireBuilder().bytes(1, "d"))
                            .message(5, wire_input("a", "FP32", {1}))
                            .bytes(7, raw_of({9.f}))
                            .message(6, WireBuilder().bytes(1, "c")),
                        two);
  ASSERT_EQ(decoded.message, "");
  EXPECT_EQ(decoded.values<float>(0), std::vector<float>{9.f});
  EXPECT_EQ(decoded.values<int8_t>(1), std::vector<int8_t>{5});
  ASSERT_EQ(decoded.request.outputs.size(), 2u);
  EXPECT_EQ(decoded.request.outputs[0].index, 1u);
  EXPECT_EQ(decoded.request.outputs[1].index, 0u);
}

TEST(WireV2Decode, NoInputsNoData) {
  const Signature none{"s", {}, {spec("y", DType::Fp32)}};
  EXPECT_EQ(Decoded(WireBuilder().bytes(1, "m"), none).message, "");
  expect_invalid(WireBuilder().bytes(7, ""), none,
                 "raw_input_contents: expected 0 entries, one per input, got 1");
}

TEST(WireV2Decode, UnknownFieldsAndParametersAreSkipped) {
  WireBuilder choice = WireBuilder().varint(1, 1).varint(2, -4).bytes(3, "text").fixed(4, 0.5);
  choice.varint(5, -1).bytes(99, "new");
  const WireBuilder entry =
      WireBuilder().bytes(1, "triton_enable_empty_final_response").message(2, choice);
  WireBuilder input = wire_input("x", "FP32", {1});
  input.message(4, entry).fixed(77, 1.f).fixed(78, 1.0).varint(79, 1).varint(1, 8).fixed(3, 3.f);
  WireBuilder group;
  group.tag(1000, 3).tag(7, 3).varint(1, 2).bytes(2, "abc").fixed(3, 1.f).tag(7, 4).tag(1000, 4);
  const Decoded decoded(WireBuilder()
                            .raw(group.str())
                            .message(4, entry)
                            .message(4, entry)
                            .message(5, input)
                            .message(6, WireBuilder().bytes(1, "y").message(2, entry))
                            .bytes(7, raw_of({1.f}))
                            .bytes(31, "later"),
                        one_input(DType::Fp32));
  EXPECT_EQ(decoded.message, "");
}

TEST(WireV2Decode, ARequestHasNoPlaceInSharedMemory) {
  const WireBuilder entry =
      WireBuilder().bytes(1, "shared_memory_region").message(2, WireBuilder().bytes(3, "r"));
  EXPECT_EQ(
      Decoded(raw("FP32", {1}, raw_of({1.f})).message(4, entry), one_input(DType::Fp32)).message,
      "");
}

TEST(WireV2Decode, WrongNames) {
  const Signature signature = one_input(DType::Fp32);
  expect_invalid(WireBuilder(), signature, "input 'x' is missing");
  expect_invalid(WireBuilder().message(5, wire_input("z", "FP32", {1})).bytes(7, raw_of({1.f})),
                 signature, "input 'z': the model has no such input; expected 'x'");
  expect_invalid(raw("FP32", {1}, raw_of({1.f}))
                     .message(5, wire_input("x", "FP32", {1}))
                     .bytes(7, raw_of({1.f})),
                 signature, "input 'x': given more than once");
  expect_invalid(raw("FP32", {1}, raw_of({1.f})).message(6, WireBuilder().bytes(1, "x")), signature,
                 "requested output 'x': the model has no such output; expected 'y'");
  const WireBuilder wanted = WireBuilder().bytes(1, "y");
  const Decoded twice(raw("FP32", {1}, raw_of({1.f})).message(6, wanted).message(6, wanted),
                      signature);
  EXPECT_EQ(twice.message, "");
  EXPECT_EQ(twice.request.outputs.size(), 1u);  // returned once
  const Decoded long_name(WireBuilder().message(5, wire_input(std::string(5000, 'n'), "FP32", {1})),
                          signature);
  EXPECT_EQ(long_name.message,
            "input '" + std::string(256, 'n') + "...': the model has no such input; expected 'x'");
  const Decoded cut_name(
      WireBuilder().message(5, wire_input(std::string(255, 'n') + "\u00e9\u00e9", "FP32", {1})),
      signature);
  EXPECT_EQ(cut_name.message,
            "input '" + std::string(255, 'n') + "...': the model has no such input; expected 'x'");
}

TEST(WireV2Decode, WrongDatatype) {
  expect_invalid(raw("INT32", {1}, raw_of({1.f})), one_input(DType::Fp32),
                 "input 'x': expected datatype FP32, got 'INT32'");
  expect_invalid(raw("fp32", {1}, raw_of({1.f})), one_input(DType::Fp32),
                 "input 'x': expected datatype FP32, got unknown datatype 'fp32'");
  expect_invalid(WireBuilder().message(5, WireBuilder().bytes(1, "x")), one_input(DType::Fp32),
                 "input 'x': expected datatype FP32, got unknown datatype ''");
}

TEST(WireV2Decode, WrongShape) {
  const Signature signature = one_input(DType::Fp32);
  expect_invalid(raw("FP32", {2, -1}, raw_of({1.f})), signature,
                 "input 'x': dimension 1 of shape [2,-1] is negative");
  expect_invalid(raw("FP32", {1 << 30, 1 << 30, 8}, raw_of({1.f})), signature,
                 "input 'x': shape [1073741824,1073741824,8] has over 2^62 elements");
  WireBuilder input = wire_input("x", "FP32", {});
  for (int i = 0; i < 33; ++i) input.varint(3, 1);
  expect_invalid(WireBuilder().message(5, input).bytes(7, raw_of({1.f})), signature,
                 "input 'x': shape has 33 dimensions; the limit is 32");
  // 2^62 elements of 4 bytes: over 64 bits of bytes.
  EXPECT_EQ(Decoded(raw("FP32", {int64_t{1} << 62}, raw_of({1.f})), signature).code,
            ErrorCode::InvalidArgument);
}

TEST(WireV2Decode, WrongRawContents) {
  const Signature signature = one_input(DType::Fp32);
  expect_invalid(raw("FP32", {2}, raw_of({1.f})), signature,
                 "input 'x': expected 8 bytes (shape [2] of FP32), got 4");
  expect_invalid(raw("FP32", {1}, raw_of({1.f, 2.f})), signature,
                 "input 'x': expected 4 bytes (shape [1] of FP32), got 8");
  expect_invalid(raw("FP32", {1}, raw_of({1.f})).bytes(7, ""), signature,
                 "raw_input_contents: expected 1 entries, one per input, got 2");
  const Signature two{"s", {spec("a", DType::Int8), spec("b", DType::Int8)}, {}};
  expect_invalid(WireBuilder()
                     .message(5, wire_input("a", "INT8", {1}))
                     .message(5, wire_input("b", "INT8", {1}))
                     .bytes(7, "1"),
                 two, "raw_input_contents: expected 2 entries, one per input, got 1");
  EXPECT_EQ(Decoded(raw("BOOL", {1}, "\2"), one_input(DType::Bool)).code,
            ErrorCode::InvalidArgument);
}

TEST(WireV2Decode, TypedAndRawTogether) {
  expect_invalid(typed("FP32", 1, WireBuilder().fixed(6, 1.f)).bytes(7, raw_of({1.f})),
                 one_input(DType::Fp32),
                 "input 'x': contents must not be given together with raw_input_contents");
}

TEST(WireV2Decode, WrongContentsField) {
  expect_invalid(typed("FP32", 3, WireBuilder().packed(2, {1, 2, 3})), one_input(DType::Fp32),
                 "input 'x': datatype FP32 is given in fp32_contents, "
                 "got 3 values in int_contents");
  expect_invalid(typed("FP32", 1, WireBuilder().fixed(6, 1.f).bytes(8, "")), one_input(DType::Fp32),
                 "input 'x': datatype FP32 is given in fp32_contents, "
                 "got 1 values in bytes_contents");
  expect_invalid(typed("INT64", 1, WireBuilder().varint(2, 1)), one_input(DType::Int64),
                 "input 'x': datatype INT64 is given in int64_contents, "
                 "got 1 values in int_contents");
  for (const auto dtype : {DType::Fp16, DType::Bf16}) {
    expect_invalid(typed(dtype_name(dtype), 1, WireBuilder().fixed(6, 1.f)), one_input(dtype),
                   "input 'x': datatype " + std::string(dtype_name(dtype)) +
                       " has no typed contents: send it in raw_input_contents");
  }
}

TEST(WireV2Decode, WrongTypedCount) {
  expect_invalid(typed("FP32", 3, WireBuilder().packed_fixed(6, {1.f, 2.f})),
                 one_input(DType::Fp32),
                 "input 'x': expected 3 values in fp32_contents (shape [3]), got 2");
  expect_invalid(typed("INT8", 1, WireBuilder().packed(2, {1, 2})), one_input(DType::Int8),
                 "input 'x': expected 1 values in int_contents (shape [1]), got 2");
  expect_invalid(typed("BYTES", 2, WireBuilder().bytes(8, "")), one_input(DType::Bytes),
                 "input 'x': expected 2 values in bytes_contents (shape [2]), got 1");
  expect_invalid(WireBuilder().message(5, wire_input("x", "UINT64", {int64_t{1} << 60})),
                 one_input(DType::Uint64),
                 "input 'x': expected 1152921504606846976 values in uint64_contents "
                 "(shape [1152921504606846976]), got 0");
}

TEST(WireV2Decode, ValuesOutOfRange) {
  const auto message = [](const std::string& value, int index, const std::string& range) {
    return "input 'x': value " + value + " at index " + std::to_string(index) +
           " is out of range for " + range;
  };
  expect_invalid(typed("UINT8", 2, WireBuilder().packed(4, {7, 300})), one_input(DType::Uint8),
                 message("300", 1, "UINT8 (0 to 255)"));
  expect_invalid(typed("INT8", 1, WireBuilder().varint(2, -129)), one_input(DType::Int8),
                 message("-129", 0, "INT8 (-128 to 127)"));
  expect_invalid(typed("INT8", 9, WireBuilder().packed(2, {0, 0, 0, 0, 0, 0, 0, 0, 128})),
                 one_input(DType::Int8), message("128", 8, "INT8 (-128 to 127)"));
  expect_invalid(typed("INT16", 1, WireBuilder().varint(2, 32768)), one_input(DType::Int16),
                 message("32768", 0, "INT16 (-32768 to 32767)"));
  expect_invalid(typed("UINT16", 1, WireBuilder().varint(4, 65536)), one_input(DType::Uint16),
                 message("65536", 0, "UINT16 (0 to 65535)"));
  expect_invalid(typed("INT32", 1, WireBuilder().varint(2, int64_t{1} << 31)),
                 one_input(DType::Int32),
                 message("2147483648", 0, "INT32 (-2147483648 to 2147483647)"));
  expect_invalid(typed("UINT32", 1, WireBuilder().varint(4, -1)), one_input(DType::Uint32),
                 message("18446744073709551615", 0, "UINT32 (0 to 4294967295)"));
  expect_invalid(typed("BOOL", 8, WireBuilder().packed(1, {1, 1, 1, 1, 1, 1, 1, 2})),
                 one_input(DType::Bool), message("2", 7, "BOOL (0 to 1)"));
}

}  // namespace
}  // namespace serval::test
