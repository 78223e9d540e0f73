// Tasks of a MultiInferenceRequest, and how their responses are joined. Source: tensorflow/serving
// multi_inference.cc, inference.proto.
#include "codec/examples/multi.h"

#include <gtest/gtest.h>

#include "support/wire_tf_support.h"

namespace serval::test {
namespace {

const std::string kClassify = "tensorflow/serving/classify",
                  kRegress = "tensorflow/serving/regress";

struct Task {
  std::string signature, method = kClassify, model = "m";
};

WireBuilder task_of(const Task& task) {
  WireBuilder spec, message;
  if (!task.model.empty()) spec.bytes(1, task.model);
  if (!task.signature.empty()) spec.bytes(3, task.signature);
  return message.message(1, spec).bytes(2, task.method);
}

std::string request_of(const std::vector<Task>& tasks) {
  WireBuilder request;
  for (const Task& task : tasks) request.message(1, task_of(task));
  return request.str();
}

struct Read {
  explicit Read(std::string message) : bytes(std::move(message)) {
    const std::vector<Signature> signatures{tf_signature({}, {}, "c"), tf_signature({}, {}, "r"),
                                            tf_signature({}, {})};
    Status status = read_tf_tasks(as_bytes(bytes), tasks);
    if (status.ok()) status = check_tf_tasks(tasks, signatures);
    if (status.ok()) return;
    error = status.error().message;
    code = status.error().code;
    signature = status.error().signature;
  }
  std::string bytes, error = "none", signature;
  ErrorCode code = ErrorCode::Ok;
  std::vector<TfTask> tasks;
};

TEST(Multi, ReadsTasksInTheirOrder) {
  const Read read(request_of({{"r", kRegress}, {"c"}, {""}}));
  ASSERT_EQ(read.error, "none");
  ASSERT_EQ(read.tasks.size(), 3u);
  EXPECT_EQ(read.tasks[0].method(), Method::Regress);
  EXPECT_EQ(read.tasks[1].method(), Method::Classify);
  EXPECT_EQ(read.tasks[1].signature(), "c");
  EXPECT_EQ(read.tasks[2].signature(), "serving_default");
}

TEST(Multi, MergesWhatComesTwiceAndPassesOverTheRest) {
  WireBuilder first, second, value;
  first.bytes(1, "n").bytes(3, "c").bytes(4, "stable");
  second.bytes(1, "m").message(2, value.varint(1, 7));
  const std::string task = WireBuilder()
                               .message(1, first)
                               .bytes(2, "x")
                               .varint(9, 5)
                               .message(1, second)
                               .bytes(2, kRegress)
                               .str();
  const Read read(
      WireBuilder().fixed<uint32_t>(8, 1).bytes(1, task).varint(1, 3).bytes(2, "?").str());
  ASSERT_EQ(read.error, "none");
  ASSERT_EQ(read.tasks.size(), 1u);
  const TfModelRef& model = read.tasks[0].model;
  EXPECT_EQ(model.name, "m");
  EXPECT_EQ(model.signature_name, "c");
  EXPECT_TRUE(model.has_version);
  EXPECT_FALSE(model.has_label);
  EXPECT_EQ(model.version, 7);
  EXPECT_EQ(read.tasks[0].method(), Method::Regress);
}

TEST(Multi, RefusesWhatTensorFlowServingRefuses) {
  const auto error = [](const std::vector<Task>& tasks) { return Read(request_of(tasks)).error; };
  EXPECT_EQ(error({}), "ModelSpec has no name specified.");
  EXPECT_EQ(error({{"c", kClassify, ""}}), "ModelSpec has no name specified.");
  EXPECT_EQ(error({{"c"}, {"r", kRegress, ""}}), "Found ModelSpec with an empty model name.");
  EXPECT_EQ(error({{"c"}, {"r", kRegress, "n"}}),
            "All ModelSpecs in a MultiInferenceRequest must access the same model name.");
  EXPECT_EQ(error({{"c"}, {"c", kRegress}}), "Duplicate evaluation of signature: c");
  EXPECT_EQ(error({{""}, {"serving_default"}}),
            "Duplicate evaluation of signature: serving_default");
  EXPECT_EQ(error({{"c"}, {"q"}}), "Requested signature not found in model graph: q");
  EXPECT_EQ(error({{"q"}, {"c", kClassify, "n"}}),
            "All ModelSpecs in a MultiInferenceRequest must access the same model name.");
  const Read method(request_of({{"c", "tensorflow/serving/predict"}}));
  EXPECT_EQ(method.error, "Unsupported signature method_name: tensorflow/serving/predict");
  EXPECT_EQ(method.code, ErrorCode::Unimplemented);
  EXPECT_EQ(Read(request_of({{"q"}})).signature, "q");
}

TEST(Multi, HasLimits) {
  std::vector<Task> tasks(kTasksMax, {"c"});
  EXPECT_EQ(Read(request_of(tasks)).error, "Duplicate evaluation of signature: c");
  tasks.push_back({"c"});
  EXPECT_EQ(Read(request_of(tasks)).error,
            "MultiInferenceRequest: expected at most 1024 tasks, got more");
  EXPECT_EQ(Read(request_of({{std::string(kNameBytesMax + 1, 's')}})).error,
            "model_spec.signature_name is 4097 bytes long; the limit is 4096");
  const Read long_method(request_of({{"c", std::string(100'000, 'x')}}));
  EXPECT_LT(long_method.error.size(), 1000u);
}

TEST(Multi, SaysWhereAMessageIsBroken) {
  const Read cut(from_hex("0a05"));
  EXPECT_EQ(cut.code, ErrorCode::MalformedBody);
  EXPECT_EQ(cut.error,
            "malformed MultiInferenceRequest: length past the end of its message at byte 0");
  EXPECT_EQ(Read(WireBuilder().bytes(1, WireBuilder().bytes(2, "\xff").str()).str()).error,
            "malformed MultiInferenceRequest: string that is not valid UTF-8 at byte 4");
}

// A task's Examples are those of the whole message, whatever its tasks contain.
TEST(Multi, ATaskDecodesTheInputOfTheMessage) {
  const std::string message =
      WireBuilder()
          .message(1, task_of({"c"}))
          .message(2, WireBuilder().message(1, WireBuilder().bytes(1, "a").bytes(1, "b")))
          .message(1, task_of({"r", kRegress}))
          .str();
  const std::vector<Signature> signatures{
      tf_signature({tf_spec("inputs", DType::Bytes)}, {tf_spec("scores", DType::Fp32)}, "c"),
      tf_signature({tf_spec("inputs", DType::Bytes)}, {tf_spec("outputs", DType::Fp32)}, "r")};
  Arena arena;
  DecodedRequest request;
  Limits limits;
  const auto decode = [&](Method method, std::string_view signature, std::string_view bytes) {
    const Status status = decode_tf_task(as_bytes(bytes), method, signature, false, signatures,
                                         limits, arena, request);
    return status.ok() ? "none" : status.error().message;
  };
  EXPECT_EQ(decode(Method::Regress, "r", message), "none");
  EXPECT_EQ(request.signature_index, 1u);
  ASSERT_EQ(request.inputs.size(), 1u);
  ASSERT_EQ(request.inputs[0].strings.size(), 2u);
  EXPECT_EQ(request.inputs[0].strings[1], "b");
  EXPECT_EQ(decode(Method::Classify, "c", message), "none");
  EXPECT_EQ(decode(Method::Classify, "q", message), "No signature was found with the name: q");
  EXPECT_EQ(decode(Method::Classify, "c", request_of({{"c"}})), "Input is empty.");
  EXPECT_EQ(decode(Method::Classify, "c", from_hex("1205")),
            "malformed MultiInferenceRequest: length past the end of its message at byte 0");
  limits.body_bytes_max = message.size() - 1;
  EXPECT_EQ(decode(Method::Classify, "c", message).substr(0, 24), "MultiInferenceRequest is");
}

TEST(Multi, PutsResponsesTogether) {
  ByteBuffer out;
  Limits limits;
  const std::string classified = WireBuilder().bytes(1, "C").bytes(2, "spec").str();
  const std::string regressed = WireBuilder().bytes(1, "R").bytes(2, "").str();
  ASSERT_TRUE(append_tf_result(Method::Classify, as_bytes(classified), limits, out).ok());
  ASSERT_TRUE(append_tf_result(Method::Regress, as_bytes(regressed), limits, out).ok());
  const std::string wanted = WireBuilder()
                                 .message(1, WireBuilder().bytes(1, "spec").bytes(2, "C"))
                                 .message(1, WireBuilder().bytes(1, "").bytes(3, "R"))
                                 .str();
  EXPECT_EQ(to_hex({reinterpret_cast<const char*>(out.data()), out.size()}), to_hex(wanted));
  limits.response_bytes_max = wanted.size();
  const Status over = append_tf_result(Method::Regress, as_bytes(regressed), limits, out);
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().code, ErrorCode::BodyTooLarge);
  EXPECT_EQ(out.size(), wanted.size());
  EXPECT_EQ(append_tf_result(Method::Regress, as_bytes("\x0a"), Limits(), out).error().code,
            ErrorCode::Internal);
  EXPECT_EQ(out.size(), wanted.size());
}

}  // namespace
}  // namespace serval::test
