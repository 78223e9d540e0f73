// Parameters of a ModelInferRequest with a meaning: priority, timeout, classification; how
// peek_wire_v2() and decode_wire_v2() read them. Source: v2-protocol.md 2, 11.
#include <gtest/gtest.h>

#include "support/wire_builder.h"
#include "support/wire_plain_decode.h"

namespace serval::test {
namespace {

// InferParameter values.
WireBuilder of_bool(bool value) { return WireBuilder().varint(1, value); }
WireBuilder of_int64(int64_t value) { return WireBuilder().varint(2, value); }
WireBuilder of_string(std::string_view value) { return WireBuilder().bytes(3, value); }
WireBuilder of_double(double value) { return WireBuilder().fixed(4, value); }
WireBuilder of_uint64(uint64_t value) {
  return WireBuilder().varint(5, static_cast<int64_t>(value));
}
WireBuilder entry(std::string_view key, const WireBuilder& value) {
  return WireBuilder().bytes(1, key).message(2, value);
}

// Inputs x and w, outputs y and z. compare_wire_v2() echoes the inputs as outputs.
Signature two_inputs() {
  const auto spec = [](const char* name) { return TensorSpec{name, DType::Fp32, {-1}, {}, false}; };
  return {"s", {spec("x"), spec("w")}, {spec("y"), spec("z")}};
}

// A valid request with one entry in its parameters, and more fields before it.
WireBuilder request_with(const WireBuilder& parameter) {
  return WireBuilder()
      .bytes(1, "m")
      .bytes(3, "id-1")
      .message(4, entry("triton_enable_empty_final_response", of_bool(true)))
      .message(4, parameter)
      .message(5, wire_input("x", "FP32", {1}))
      .message(5, wire_input("w", "FP32", {1}))
      .bytes(7, raw_of({1.f}))
      .bytes(7, raw_of({2.f}));
}

WireBuilder request_for(const WireBuilder& output_parameter) {
  return WireBuilder()
      .message(5, wire_input("x", "FP32", {1}))
      .message(5, wire_input("w", "FP32", {1}))
      .message(6, WireBuilder().bytes(1, "z"))
      .message(6, WireBuilder().bytes(1, "y").message(2, output_parameter))
      .bytes(7, raw_of({1.f}))
      .bytes(7, raw_of({2.f}));
}

struct DecodedParameters {
  explicit DecodedParameters(const WireBuilder& wire) : bytes(wire.str()) {
    const auto message = WireBuilder().raw(bytes);
    EXPECT_EQ(compare_wire_v2(message.span(), signature), "");
    status = decode_wire_v2({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                            signature, Limits(), arena, request);
  }
  std::string message() const { return status.ok() ? "" : status.error().message; }

  std::string bytes;
  Signature signature = two_inputs();
  Arena arena;
  DecodedRequest request;
  Status status;
};

SchedulePolicy peek(const WireBuilder& wire) {
  WireModelRef ref;
  const Status status = peek_wire_v2(wire.span(), ref);
  EXPECT_TRUE(status.ok()) << status.error().message;
  EXPECT_TRUE(DecodedParameters(wire).status.ok());
  return ref.schedule;
}

// Expects that both refuse it with this text; the peek keeps the id for a stream's error.
void expect_refused(const WireBuilder& wire, const std::string& text) {
  const DecodedParameters decoded(wire);
  ASSERT_FALSE(decoded.status.ok());
  EXPECT_EQ(decoded.status.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(decoded.message(), text);
  WireModelRef ref;
  const Status peeked = peek_wire_v2(wire.span(), ref);
  ASSERT_FALSE(peeked.ok());
  EXPECT_EQ(peeked.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(peeked.error().message, text);
  EXPECT_EQ(ref.name, "m");
  EXPECT_EQ(ref.id, "id-1");
  EXPECT_EQ(ref.schedule.priority + ref.schedule.timeout_us, 0u);
}

TEST(WireV2Parameters, PeekFindsTheSchedule) {
  EXPECT_EQ(peek(request_with(entry("priority", of_uint64(3)))).priority, 3u);
  EXPECT_EQ(peek(request_with(entry("priority", of_int64(4)))).priority, 4u);
  EXPECT_EQ(peek(request_with(entry("priority", of_uint64(UINT64_MAX)))).priority, UINT64_MAX);
  EXPECT_EQ(peek(request_with(entry("timeout", of_int64(1500000)))).timeout_us, 1500000u);
  EXPECT_EQ(peek(request_with(entry("timeout", of_int64(INT64_MAX)))).timeout_us,
            static_cast<uint64_t>(INT64_MAX));
  EXPECT_EQ(peek(request_with(entry("timeout", of_uint64(0)))).timeout_us, 0u);
  WireBuilder both = request_with(entry("priority", of_int64(1)));
  both.message(4, entry("timeout", of_uint64(2)));
  EXPECT_EQ(peek(both).priority, 1u);
  EXPECT_EQ(peek(both).timeout_us, 2u);
}

TEST(WireV2Parameters, PeekFindsNothingElsewhere) {
  for (const WireBuilder& wire :
       {request_with(entry("Priority", of_uint64(3))), request_with(entry("", of_uint64(3))),
        request_with(entry("timeouts", of_string("a"))), request_with(WireBuilder()),
        request_with(WireBuilder().message(2, of_uint64(3))),
        request_for(entry("priority", of_string("a"))),
        request_with(entry("a", of_uint64(1))).bytes(31, entry("priority", of_uint64(1)).str())}) {
    const SchedulePolicy found = peek(wire);
    EXPECT_EQ(found.priority + found.timeout_us, 0u);
  }
}

TEST(WireV2Parameters, TheLastOneCounts) {
  WireBuilder twice = request_with(entry("priority", of_string("a")));
  twice.message(4, entry("priority", of_uint64(5)));
  EXPECT_EQ(peek(twice).priority, 5u);
  EXPECT_EQ(peek(request_with(entry("priority", of_string("a").varint(5, 6)))).priority, 6u);
  const WireBuilder keys = WireBuilder().bytes(1, "timeout").message(2, of_int64(7));
  EXPECT_EQ(peek(request_with(WireBuilder().raw(keys.str()).bytes(1, "priority"))).priority, 7u);
  const WireBuilder values = entry("priority", of_string("a")).message(2, of_int64(8));
  EXPECT_EQ(peek(request_with(values)).priority, 8u);
  const WireBuilder empty_last = entry("priority", of_int64(9)).message(2, WireBuilder());
  EXPECT_EQ(peek(request_with(empty_last)).priority, 9u);  // entries are merged, as in protobuf
  const WireBuilder value_first = WireBuilder().message(2, of_int64(2)).bytes(1, "timeout");
  EXPECT_EQ(peek(request_with(value_first)).timeout_us, 2u);
}

TEST(WireV2Parameters, WrongSchedules) {
  for (const std::string key : {"priority", "timeout"}) {
    const std::string text =
        "parameter '" + key + "': expected an integer from 0 (int64_param or uint64_param), got ";
    expect_refused(request_with(entry(key, of_int64(-1))), text + "int64_param -1");
    expect_refused(request_with(entry(key, of_string("high"))), text + "string_param 'high'");
    expect_refused(request_with(entry(key, of_bool(true))), text + "bool_param true");
    expect_refused(request_with(entry(key, of_bool(false))), text + "bool_param false");
    expect_refused(request_with(entry(key, of_double(2))), text + "double_param 2.000000");
    expect_refused(request_with(entry(key, WireBuilder())), text + "no value");
    expect_refused(request_with(WireBuilder().bytes(1, key)), text + "no value");
    expect_refused(request_with(entry(key, of_int64(1).bytes(3, "a"))), text + "string_param 'a'");
    expect_refused(request_with(entry(key, WireBuilder().fixed(2, 1.0))), text + "no value");
    WireBuilder twice = request_with(entry(key, of_uint64(1)));
    expect_refused(twice.message(4, entry(key, of_int64(-5))), text + "int64_param -5");
  }
}

TEST(WireV2Parameters, MalformedEntriesAreMalformed) {
  const std::vector<std::pair<WireBuilder, std::string>> cases = {
      {request_with(WireBuilder().raw("\x80")), "varint cut off"},
      {request_with(WireBuilder().bytes(1, "\xff")), "string that is not valid UTF-8"},
      {request_with(entry("priority", of_string("\xff"))), "string that is not valid UTF-8"},
      {request_with(entry("priority", WireBuilder().raw("\x28"))), "varint cut off"},
      {request_with(WireBuilder().tag(2, 2).bare_varint(9)), "length past the end"}};
  for (const auto& [wire, reason] : cases) {
    WireModelRef ref;
    const Status peeked = peek_wire_v2(wire.span(), ref);
    ASSERT_FALSE(peeked.ok());
    EXPECT_EQ(peeked.error().code, ErrorCode::MalformedBody);
    EXPECT_NE(peeked.error().message.find(reason), std::string::npos) << peeked.error().message;
    EXPECT_EQ(ref.id, "");
    const DecodedParameters decoded(wire);
    EXPECT_EQ(decoded.message(), peeked.error().message);
  }
}

// Tries an output's parameters, and the same for an input; returns the error's text.
std::string shared_refusal(std::initializer_list<WireBuilder> parameters) {
  WireBuilder output = WireBuilder().bytes(1, "y"), input = wire_input("x", "FP32", {1});
  for (const WireBuilder& one : parameters) {
    output.message(2, one);
    input.message(4, one);
  }
  const DecodedParameters of_output(WireBuilder()
                                        .message(5, wire_input("x", "FP32", {1}))
                                        .message(5, wire_input("w", "FP32", {1}))
                                        .message(6, output)
                                        .bytes(7, raw_of({1.f}))
                                        .bytes(7, raw_of({2.f})));
  const DecodedParameters of_input(WireBuilder()
                                       .message(5, input)
                                       .message(5, wire_input("w", "FP32", {1}))
                                       .bytes(7, raw_of({2.f})));
  const std::string y = of_output.message(), x = of_input.message();
  EXPECT_EQ(y.substr(0, y.find("'y'")), x.substr(0, x.find("'x'")));
  return y;
}

TEST(WireV2Parameters, SharedMemoryPlaces) {
  const WireBuilder region = entry("shared_memory_region", of_string("r")),
                    bytes = entry("shared_memory_byte_size", of_int64(4)),
                    offset = entry("shared_memory_offset", of_uint64(1u << 20));
  EXPECT_EQ(shared_refusal({region, bytes, offset}), "");
  EXPECT_EQ(shared_refusal({bytes, region}), "");
  WireBuilder output = WireBuilder().bytes(1, "y"), input = wire_input("w", "FP32", {1});
  input.message(4, bytes).message(4, region).message(4, offset);
  output.message(2, entry("shared_memory_region", of_string("first"))).message(2, bytes);
  output.message(2, region);
  const DecodedParameters decoded(WireBuilder()
                                      .message(5, wire_input("x", "FP32", {1}))
                                      .message(5, input)
                                      .message(6, WireBuilder().bytes(1, "z"))
                                      .message(6, output)
                                      .bytes(7, raw_of({1.f})));
  ASSERT_EQ(decoded.message(), "");
  ASSERT_EQ(decoded.request.shared.size(), 2u);
  EXPECT_EQ(decoded.request.shared[0].input, 1u);
  EXPECT_EQ(decoded.request.shared[0].region, "r");
  EXPECT_EQ(decoded.request.shared[0].bytes, 4u);
  EXPECT_EQ(decoded.request.shared[0].offset, 1u << 20);
  EXPECT_EQ(decoded.request.shared[1].region, "r") << "of what is given twice the last one counts";
  EXPECT_EQ(decoded.request.outputs[0].shared, 0u);
  EXPECT_EQ(decoded.request.outputs[1].shared, 2u);
  EXPECT_EQ(decoded.request.inputs[1].data, nullptr);
}

// The messages are Triton's.
TEST(WireV2Parameters, SharedMemoryPlacesThatAreWrong) {
  const auto region = [](const WireBuilder& value) { return entry("shared_memory_region", value); };
  const auto bytes = [](const WireBuilder& v) { return entry("shared_memory_byte_size", v); };
  const auto offset = [](const WireBuilder& v) { return entry("shared_memory_offset", v); };
  const std::string tail = " parameter for tensor 'y'";
  const std::string number = tail + ", expected int64_param of 0 or more";
  EXPECT_EQ(shared_refusal({region(of_string("r"))}),
            "'shared_memory_byte_size' must be specified along with 'shared_memory_region'" + tail);
  EXPECT_EQ(shared_refusal({bytes(of_int64(4))}),
            "'shared_memory_byte_size' can not be specified without 'shared_memory_region'" + tail);
  EXPECT_EQ(shared_refusal({offset(of_int64(4))}),
            "'shared_memory_offset' can not be specified without 'shared_memory_region'" + tail);
  EXPECT_EQ(shared_refusal({region(of_int64(4)), bytes(of_int64(4))}),
            "invalid value type for 'shared_memory_region'" + tail + ", expected string_param");
  EXPECT_EQ(shared_refusal({region(of_string("r")), bytes(of_string("4"))}),
            "invalid value type for 'shared_memory_byte_size'" + number);
  EXPECT_EQ(shared_refusal({region(of_string("r")), bytes(of_int64(-4))}),
            "invalid value type for 'shared_memory_byte_size'" + number);
  EXPECT_EQ(shared_refusal({region(of_string("r")), bytes(of_int64(4)), offset(of_bool(true))}),
            "invalid value type for 'shared_memory_offset'" + number);
  EXPECT_EQ(shared_refusal({region(of_string("r")), bytes(of_string("4")), bytes(of_int64(4))}),
            "");
}

TEST(WireV2Parameters, SharedMemoryAndWhatCannotStandWithIt) {
  const WireBuilder region = entry("shared_memory_region", of_string("r")),
                    bytes = entry("shared_memory_byte_size", of_int64(4));
  WireBuilder input = wire_input("x", "FP32", {1});
  input.message(4, region).message(4, bytes);
  const auto with = [&](const WireBuilder& one) {
    return WireBuilder().message(5, one).message(5, wire_input("w", "FP32", {1}));
  };
  WireBuilder filled = input;
  filled.message(5, WireBuilder().packed_fixed<float>(6, {1.f}));
  EXPECT_EQ(DecodedParameters(with(filled).bytes(1, "m")).message(),
            "unexpected 'content' provided when using shared memory for input tensor 'x' for model "
            "'m'");
  EXPECT_EQ(
      DecodedParameters(with(input).bytes(7, raw_of({1.f})).bytes(7, raw_of({1.f}))).message(),
      "raw_input_contents: expected 1 entries, one per input that is not in shared memory, "
      "got 2");
  WireBuilder output = WireBuilder().bytes(1, "y").message(2, region).message(2, bytes);
  output.message(2, entry("classification", of_int64(1)));
  EXPECT_EQ(DecodedParameters(with(input).message(6, output).bytes(7, raw_of({1.f}))).message(),
            "output 'y' can't set both 'shared_memory_region' and 'classification'");
}

TEST(WireV2Parameters, SharedMemoryIsSaidFirst) {
  WireBuilder wire = request_for(entry("shared_memory_region", of_string("r")));
  const DecodedParameters decoded(wire.message(4, entry("priority", of_int64(-1))));
  ASSERT_FALSE(decoded.status.ok());
  EXPECT_NE(decoded.message().find("'shared_memory_byte_size' must"), std::string::npos);
}

uint32_t classes_of(const WireBuilder& parameter) {
  const DecodedParameters decoded(request_for(parameter));
  EXPECT_EQ(decoded.message(), "");
  if (!decoded.status.ok()) return 0;
  EXPECT_EQ(decoded.request.outputs[0].classes, 0u);
  return decoded.request.outputs[1].classes;
}

TEST(WireV2Parameters, Classification) {
  EXPECT_EQ(classes_of(entry("classification", of_int64(3))), 3u);
  EXPECT_EQ(classes_of(entry("classification", of_uint64(1))), 1u);
  EXPECT_EQ(classes_of(entry("classification", of_uint64(UINT32_MAX))), UINT32_MAX);
  EXPECT_EQ(classes_of(entry("classification", of_uint64(uint64_t{1} << 32))), UINT32_MAX);
  EXPECT_EQ(classes_of(entry("classification", of_int64(INT64_MAX))), UINT32_MAX);
  EXPECT_EQ(classes_of(entry("Classification", of_string("a"))), 0u);
  const DecodedParameters on_request(request_with(entry("classification", of_string("a"))));
  EXPECT_EQ(on_request.message(), "");
  WireBuilder input = wire_input("x", "FP32", {1});
  const DecodedParameters on_input(
      WireBuilder()
          .message(5, input.message(4, entry("classification", of_int64(0))))
          .message(5, wire_input("w", "FP32", {0}))
          .bytes(7, raw_of({1.f}))
          .bytes(7, ""));
  EXPECT_EQ(on_input.message(), "");
}

TEST(WireV2Parameters, WrongClassification) {
  const std::string text =
      "output 'y': parameter 'classification': expected an integer from 1 "
      "(int64_param or uint64_param), got ";
  const std::vector<std::pair<WireBuilder, std::string>> cases = {
      {of_int64(0), "int64_param 0"},     {of_uint64(0), "uint64_param 0"},
      {of_int64(-3), "int64_param -3"},   {of_string("3"), "string_param '3'"},
      {of_bool(true), "bool_param true"}, {of_double(3), "double_param 3.000000"},
      {WireBuilder(), "no value"},        {of_int64(3).varint(1, 1), "bool_param true"}};
  for (const auto& [value, got] : cases) {
    const DecodedParameters decoded(request_for(entry("classification", value)));
    ASSERT_FALSE(decoded.status.ok());
    EXPECT_EQ(decoded.status.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(decoded.message(), text + got);
  }
}

}  // namespace
}  // namespace serval::test
