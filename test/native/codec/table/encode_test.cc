// Responses of tabular models in all protocols. Source: tabular.md 2.4, 2.5.
#include <gtest/gtest.h>

#include <cmath>

#include "base/bytes/wire_reader.h"
#include "support/table_support.h"

namespace serval::test {
namespace {

// An output of a run that owns the memory of its view.
struct Output {
  FieldSpec spec;
  TensorView view;
  std::vector<uint8_t> bytes;
  std::vector<std::string_view> strings;
  std::vector<uint8_t> states;
  std::vector<uint32_t> lengths;

  template <typename T>
  static Output of(FieldSpec spec, DType dtype, std::vector<int64_t> dims, std::vector<T> values,
                   std::vector<uint8_t> states = {}, std::vector<uint32_t> lengths = {}) {
    Output made;
    made.spec = std::move(spec);
    made.view.dtype = dtype;
    made.view.shape = Shape(dims);
    if constexpr (std::same_as<T, std::string_view>) {
      made.strings = std::move(values);
    } else {
      made.bytes.resize(values.size() * sizeof(T));
      if (!values.empty()) std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
    }
    made.states = std::move(states);
    made.lengths = std::move(lengths);
    return made;
  }
  TensorView shown() const {
    TensorView made = view;
    made.data = bytes.data();
    made.bytes = bytes.size();
    made.strings = strings;
    if (!states.empty()) made.states = states.data();
    if (!lengths.empty()) made.lengths = lengths.data();
    return made;
  }
};

Output doubles(std::string name, std::vector<double> values, std::vector<uint8_t> states = {}) {
  const auto rows = static_cast<int64_t>(values.size());
  return Output::of(field(std::move(name), Type::Double), DType::Fp64, {rows}, values, states);
}
Output integers(std::string name, std::vector<int32_t> values, std::vector<uint8_t> states = {}) {
  const auto rows = static_cast<int64_t>(values.size());
  return Output::of(field(std::move(name), Type::Int32), DType::Int32, {rows}, values, states);
}
Output texts(std::string name, std::vector<std::string_view> values,
             std::vector<uint8_t> states = {}) {
  const auto rows = static_cast<int64_t>(values.size());
  return Output::of(field(std::move(name), Type::String), DType::String, {rows}, values, states);
}

// A response in each protocol. Decimals have precision 6 and scale 2.
Output cents(std::string name, Int128 unscaled) {
  Output made =
      Output::of<Decimal>(decimal_field(std::move(name), 6, 2), DType::Decimal, {1}, {{unscaled}});
  made.view.precision = 6;
  made.view.scale = 2;
  return made;
}

struct Answer {
  explicit Answer(std::vector<Output> given) : outputs(std::move(given)) {
    std::vector<FieldSpec> specs;
    for (const Output& output : outputs) specs.push_back(output.spec);
    model = std::make_unique<TableModel>(std::vector<FieldSpec>{}, specs);
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      request.outputs.push_back({i, false});
      views.push_back(outputs[i].shown());
    }
    request.row_format = true;
  }
  std::string json() {
    size_t json_bytes = 0;
    const Status done = encode_table_v2_json({"m", "1"}, model->table, model->signature, request,
                                             views, limits, arena, out, json_bytes);
    if (!done.ok()) return "error: " + done.error().message;
    header = json_bytes;
    const std::string all(reinterpret_cast<const char*>(out.data()), out.size());
    const std::string front = R"({"model_name":"m","model_version":"1","outputs":[)";
    EXPECT_EQ(all.substr(0, front.size()), front);
    return all.substr(front.size());
  }
  std::string v1() {
    out.truncate(0);
    const Status done =
        encode_table_v1(model->table, model->signature, request, views, limits, arena, out);
    if (!done.ok()) return "error: " + done.error().message;
    return {reinterpret_cast<const char*>(out.data()), out.size()};
  }
  // Each tensor as text: name, datatype, shape, parameters, and the bytes of its raw contents.
  std::string wire() {
    out.truncate(0);
    const Status done = encode_table_wire({"m", "1"}, model->table, model->signature, request,
                                          views, false, limits, arena, out);
    if (!done.ok()) return "error: " + done.error().message;
    return wire_text(out.bytes());
  }
  static std::string wire_text(std::span<const uint8_t> message);

  std::vector<Output> outputs;
  std::unique_ptr<TableModel> model;
  DecodedRequest request;
  std::vector<TensorView> views;
  Limits limits;
  Arena arena;
  ByteBuffer out;
  size_t header = 0;
};

std::string_view text_of(const WireField& one) {
  return {reinterpret_cast<const char*>(one.bytes.data()), one.bytes.size()};
}

std::string Answer::wire_text(std::span<const uint8_t> message) {
  std::vector<std::string> heads;
  std::string all;
  size_t raw = 0;
  WireFault fault;
  WireReader reader(message, message.data(), fault);
  for (WireField at; reader.next(at);) {
    if (at.number() == 5) {
      std::string head;
      WireReader tensor(at.bytes, message.data(), fault);
      for (WireField part; tensor.next(part);) {
        if (part.number() < 3) head += std::string(text_of(part)) + " ";
        if (part.number() == 3) {
          head += "[";
          WireCursor dims(part.bytes);
          for (uint64_t dim = 0; !dims.done() && dims.varint(dim);) {
            head += (head.back() == '[' ? "" : ",") + std::to_string(static_cast<int64_t>(dim));
          }
          head += "]";
        }
        if (part.number() == 4) {
          std::string entry;
          WireReader map(part.bytes, message.data(), fault);
          for (WireField item; map.next(item);) {
            if (item.number() == 1) entry += " " + std::string(text_of(item)) + "=";
            WireReader value(item.bytes, message.data(), fault);
            for (WireField inner; item.number() == 2 && value.next(inner);) {
              EXPECT_EQ(inner.number(), 3u);
              entry += text_of(inner);
            }
          }
          head += entry;
        }
      }
      heads.push_back(head);
    }
    if (at.number() != 6) continue;
    const std::string& head = heads.at(raw++);
    all += (all.empty() ? "" : "; ") + head + ":";
    if (head.find(" INT32 ") != std::string::npos) {
      for (size_t i = 0; i < at.bytes.size(); i += 4) {
        int32_t value = 0;
        std::memcpy(&value, at.bytes.data() + i, 4);
        all += " " + std::to_string(value);
      }
    } else if (head.find(" FP64 ") != std::string::npos ||
               head.find(" VECTOR ") != std::string::npos) {
      for (size_t i = 0; i < at.bytes.size(); i += 8) {
        double value = 0;
        std::memcpy(&value, at.bytes.data() + i, 8);
        char text[40];
        std::snprintf(text, sizeof text, " %.17g", value);
        all += text;
      }
    } else {
      for (size_t i = 0; i < at.bytes.size();) {
        uint32_t length = 0;
        std::memcpy(&length, at.bytes.data() + i, 4);
        all += " '" + std::string(text_of(at).substr(i + 4, length)) + "'";
        i += 4 + length;
      }
    }
  }
  EXPECT_EQ(fault.reason, nullptr);
  EXPECT_EQ(raw, heads.size());
  return all;
}

TEST(TableAnswer, MissingScalars) {
  Answer answer({doubles("x", {1.5, 0, NAN}, {0, 1, 0}), integers("i", {7, 99, -1}, {0, 1, 0}),
                 texts("s", {"a", "garbage", ""}, {0, 1, 0})});
  EXPECT_EQ(answer.wire(),
            "x FP64 [3]: 1.5 nan nan; i INT32 [3] null_indices=1: 7 0 -1; "
            "s BYTES [3] null_indices=1: 'a' '' ''");
  EXPECT_EQ(answer.json(), R"({"name":"x","datatype":"FP64","shape":[3],"data":[1.5,null,"NaN"]},)"
                           R"({"name":"i","datatype":"INT32","shape":[3],"data":[7,null,-1]},)"
                           R"({"name":"s","datatype":"BYTES","shape":[3],"data":["a",null,""]}]})");
  EXPECT_EQ(answer.v1(), R"({"predictions":[{"x":1.5,"i":7,"s":"a"},{"x":null,"i":null,"s":null},)"
                         R"({"x":NaN,"i":-1,"s":""}]})");
  answer.request.row_format = false;
  EXPECT_EQ(answer.v1(), R"({"outputs":{"x":[1.5,null,NaN],"i":[7,null,-1],"s":["a",null,""]}})");
}

TEST(TableAnswer, OneOutputGoesWithoutItsName) {
  Answer answer({doubles("x", {1, 2})});
  EXPECT_EQ(answer.v1(), R"({"predictions":[1.0,2.0]})");
}

TEST(TableAnswer, DatatypesFollowTheRequest) {
  Answer answer(
      {texts("s", {"a"}), Output::of<int64_t>(field("d", Type::Date), DType::Date, {1}, {18659}),
       Output::of<int64_t>(field("t", Type::Timestamp), DType::Timestamp, {1}, {-1000000}),
       Output::of<int64_t>(field("c", Type::Time), DType::Int64, {1}, {61}),
       Output::of<double>(vector_field("v"), DType::Vector, {1, 2}, {0.5, 1})});
  EXPECT_EQ(answer.wire(),
            "s BYTES [1]: 'a'; d BYTES [1]: '2021-02-01'; t BYTES [1]: '31/12/1969 23:59:59'; "
            "c BYTES [1]: '00:01:01'; v FP64 [1,2]: 0.5 1");
  answer.request.table.text_is_string = true;
  EXPECT_EQ(answer.wire(),
            "s STRING [1]: 'a'; d DATE [1]: '2021-02-01'; t TIMESTAMP [1]: '31/12/1969 23:59:59'; "
            "c STRING [1]: '00:01:01'; v VECTOR [1,2]: 0.5 1");
  EXPECT_EQ(answer.v1(), R"({"predictions":[{"s":"a","d":"2021-02-01","t":"31/12/1969 23:59:59",)"
                         R"("c":"00:01:01","v":[0.5,1.0]}]})");
}

TEST(TableAnswer, TimestampsWithFractions) {
  Answer answer({Output::of<int64_t>(field("t", Type::Timestamp), DType::Timestamp, {3},
                                     {0, 1500000, INT64_MAX}, {0, 0, 1})});
  answer.request.table.text_is_string = true;
  EXPECT_EQ(answer.wire(),
            "t TIMESTAMP [3] format=iso8601 null_indices=2: '1970-01-01T00:00:00' "
            "'1970-01-01T00:00:01.500000' ''");
}

TEST(TableAnswer, DaysOutOfTheCalendar) {
  Answer answer({Output::of<int64_t>(field("d", Type::Date), DType::Date, {2}, {0, 2932897})});
  EXPECT_EQ(answer.wire(),
            "error: output 'd', element 1: expected a day of the years 0001 to 9999 or a time of "
            "the day, got the number 2932897");
}

TEST(TableAnswer, Decimals) {
  Output output = Output::of<Decimal>(decimal_field("m", 10, 2), DType::Decimal, {3},
                                      {{12345}, {-1}, {7}}, {0, 0, 1});
  output.view.precision = 10;
  output.view.scale = 2;
  Answer answer({output});
  EXPECT_EQ(answer.wire(), "m FP64 [3] precision=10 scale=2: 123.45 -0.01 nan");
  EXPECT_EQ(answer.json(),
            R"({"name":"m","datatype":"FP64","shape":[3],"parameters":{"precision":"10",)"
            R"("scale":"2"},"data":[123.45,-0.01,null]}]})");
}

TEST(TableAnswer, RaggedRows) {
  Answer answer({Output::of<std::string_view>(list_field("r", Type::String), DType::String, {3, -1},
                                              {"a", "b", "c"}, {0, 1, 0}, {2, 0, 1})});
  EXPECT_EQ(answer.wire(),
            "r BYTES [3,1,-1] null_indices=1: 'a' 'b' 'c'; r_shape INT32 [1]: 2 0 1");
  EXPECT_EQ(answer.json(),
            R"({"name":"r","datatype":"BYTES","shape":[3,1,-1],"parameters":{"null_indices":"1"},)"
            R"("data":["a","b","c"]},{"name":"r_shape","datatype":"INT32","shape":[1],)"
            R"("data":[2,0,1]}]})");
  EXPECT_EQ(answer.v1(), R"({"predictions":[["a","b"],null,["c"]]})");
}

// Rows of equal lengths: ordinary clients get an ordinary tensor.
TEST(TableAnswer, RowsOfOneLengthAreDense) {
  Answer answer({Output::of<double>(vector_field("v"), DType::Vector, {3, -1}, {1, 2, 3, 4},
                                    {0, 1, 0}, {2, 0, 2})});
  EXPECT_EQ(answer.wire(), "v FP64 [3,2]: 1 2 nan nan 3 4");
  EXPECT_EQ(answer.json(),
            R"({"name":"v","datatype":"FP64","shape":[3,2],"data":[1.0,2.0,null,null,3.0,4.0]}]})");
  EXPECT_EQ(answer.v1(), R"({"predictions":[[1.0,2.0],null,[3.0,4.0]]})");
}

// Rows without an element that could be NaN are counted as missing.
TEST(TableAnswer, MissingRowsWithoutElements) {
  Answer answer(
      {Output::of<double>(vector_field("v"), DType::Vector, {2, -1}, {}, {0, 1}, {0, 0})});
  EXPECT_EQ(answer.wire(), "v FP64 [2,1,-1] null_indices=1:; v_shape INT32 [1]: 0 0");
  EXPECT_EQ(answer.v1(), R"({"predictions":[[],null]})");
  Answer dense({Output::of<double>(vector_field("v"), DType::Vector, {2, 0}, {}, {0, 1})});
  EXPECT_EQ(dense.wire(), "v FP64 [2,0] null_indices=1:");
}

TEST(TableAnswer, Groups) {
  Answer answer({doubles("a", {1, 2}), integers("i", {5, 6}), doubles("b,c", {3, 0}, {0, 1}),
                 texts("s", {"x", "y"}), texts("t", {"z", "w"}, {1, 0})});
  answer.request.table.group_outputs = true;
  EXPECT_EQ(answer.wire(),
            "outputs_FP64 FP64 [2,2] features=a,\"b,c\": 1 3 2 nan; i INT32 [2]: 5 6; "
            "outputs_BYTES BYTES [2,2] features=s,t null_indices=1: 'x' '' 'y' 'w'");
  EXPECT_EQ(answer.json(),
            R"({"name":"outputs_FP64","datatype":"FP64","shape":[2,2],"parameters":)"
            R"({"features":"a,\"b,c\""},"data":[1.0,3.0,2.0,null]},)"
            R"({"name":"i","datatype":"INT32","shape":[2],"data":[5,6]},)"
            R"({"name":"outputs_BYTES","datatype":"BYTES","shape":[2,2],"parameters":)"
            R"({"features":"s,t"},"data":["x",null,"y","w"]}]})");
}

// Two groups of one datatype, and an output whose name is that of a group.
TEST(TableAnswer, GroupsOfOneDatatype) {
  Answer answer({doubles("a", {1}), doubles("b", {2}), integers("outputs_FP64_2", {7}),
                 cents("c", 150), cents("d", 250)});
  answer.request.table.group_outputs = true;
  EXPECT_EQ(answer.wire(),
            "outputs_FP64 FP64 [1,2] features=a,b: 1 2; outputs_FP64_2 INT32 [1]: 7; "
            "outputs_FP64_3 FP64 [1,2] precision=6 scale=2 features=c,d: 1.5 2.5");
}

TEST(TableAnswer, BinaryData) {
  Answer answer({doubles("x", {1.5, 0}, {0, 1}), integers("i", {7, 8}, {0, 1})});
  answer.request.outputs[0].binary = true;
  const std::string head =
      R"({"name":"x","datatype":"FP64","shape":[2],"parameters":{"binary_data_size":16}},)"
      R"({"name":"i","datatype":"INT32","shape":[2],"data":[7,null]}]})";
  const std::string all = answer.json();
  EXPECT_EQ(all.substr(0, head.size()), head);
  EXPECT_EQ(answer.header, answer.out.size() - 16);
  EXPECT_EQ(all.substr(head.size()), raw_of<double>({1.5, NAN}));
}

TEST(TableAnswer, TextThatIsNotUtf8) {
  Answer answer({texts("s", {"\xFF"})});
  EXPECT_EQ(answer.json(),
            "error: output 's', element 0: not valid UTF-8, so it cannot be written as JSON");
  Answer binary(
      {Output::of<std::string_view>(field("b", Type::Binary), DType::Bytes, {1}, {"\xFF"})});
  EXPECT_EQ(binary.v1(), R"({"predictions":[{"b64":"/w=="}]})");
}

TEST(TableAnswer, OutputsThatAreNotWhatTheySay) {
  Output output = doubles("x", {1, 2});
  output.view.shape = Shape(std::vector<int64_t>{3});
  EXPECT_EQ(Answer({output}).wire(), "error: output 'x': 2 elements do not fit its shape [3]");
}

TEST(TableAnswer, Limits) {
  Answer answer({doubles("x", std::vector<double>(100, 0.125))});
  answer.limits.response_bytes_max = 200;
  EXPECT_EQ(answer.json(), "error: the response is over the limit of 200 bytes");
  EXPECT_EQ(answer.out.size(), 0u);
  EXPECT_EQ(answer.wire(), "error: the ModelInferResponse would be over the limit of 200 bytes");
  EXPECT_EQ(answer.v1(), "error: the response is over the limit of 200 bytes");
}

TEST(TableAnswer, NoRows) {
  Answer answer({doubles("x", {}), texts("s", {})});
  EXPECT_EQ(answer.wire(), "x FP64 [0]:; s BYTES [0]:");
  EXPECT_EQ(answer.v1(), R"({"predictions":[]})");
}

}  // namespace
}  // namespace serval::test
