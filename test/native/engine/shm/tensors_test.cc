// Requests with tensors in shared memory through the whole engine: inline, queued and in batches,
// gRPC and REST. The null backend echoes its inputs.
#include "engine/shm/tensors.h"

#include <thread>

#include "base/copies.h"
#include "engine/engine_fixture.h"
#include "engine/shm/shared_wire.h"
#include "engine/shm/shm_object.h"

namespace serval::test {
namespace {

class SharedTensors : public EngineTest {
 protected:
  SharedTensors() : memory(8192) {
    EXPECT_TRUE(engine_->shared_regions().add({"r", memory.key(), 0, 8192}, 16).ok());
    memory.put(raw_of<float>({1.5f, 2.5f}));
  }

  // Returns the code and the bytes, whether answered at once or later.
  std::pair<ErrorCode, std::string> ask(std::string_view message,
                                        Protocol protocol = Protocol::V2Grpc) {
    const Answer answer = lane_->infer_message(protocol, bytes_of(message), 0);
    return taken(answer);
  }
  std::pair<ErrorCode, std::string> ask_rest(uint32_t handle, std::string_view body) {
    return taken(lane_->infer(Protocol::V2Rest, handle, bytes_of(body), -1));
  }
  std::pair<ErrorCode, std::string> taken(const Answer& answer) {
    if (!answer.pending) return {answer.code, inline_text()};
    Request* done = next();
    if (done == nullptr) return {ErrorCode::Internal, "no answer"};
    const std::pair<ErrorCode, std::string> out{done->code, text(*done)};
    lane_->slots().release(*done);
    return out;
  }

  uint32_t serve(ExecMode mode, const std::function<void(ModelSpec&)>& change = nullptr) {
    ModelSpec spec = null_spec("m", "echo", mode);
    if (change != nullptr) change(spec);
    const uint32_t handle = load(spec);
    route("m", handle);
    return handle;
  }

  ShmObject memory;
};

WireBuilder request() { return WireBuilder().bytes(1, "m"); }

TEST_F(SharedTensors, InAndOutByEveryPath) {
  for (const ExecMode mode : {ExecMode::Inline, ExecMode::Queued}) {
    for (const bool batched : {false, true}) {
      serve(mode, [&](ModelSpec& spec) {
        if (!batched) return;
        spec.exec_mode = ExecMode::Queued;
        spec.batch.mode = BatchMode::On;
        spec.batch.rows_max = 16;
        spec.batch_dim = true;
      });
      memory.put(std::string(8, '\0'), 4096);
      const WireBuilder wire =
          request().message(5, input_at("r", 8)).message(6, output_at("r", 100, 4096));
      const auto [code, answer] = ask(wire.str());
      EXPECT_EQ(code, ErrorCode::Ok) << answer;
      EXPECT_EQ(memory.get(8, 4096), raw_of<float>({1.5f, 2.5f}));
      const WireBuilder expected = WireBuilder()
                                       .bytes(1, "m")
                                       .bytes(2, "3")
                                       .message(5, answer_at("r", 8, 4096))
                                       .bytes(6, "");
      EXPECT_EQ(answer, expected.str());
    }
  }
}

TEST_F(SharedTensors, AStreamAnswersTheSameWrapped) {
  serve(ExecMode::Inline);
  const WireBuilder wire = request().message(5, input_at("r", 8)).message(6, output_at("r", 8, 16));
  const auto [code, answer] = ask(wire.str(), Protocol::V2GrpcStream);
  EXPECT_EQ(code, ErrorCode::Ok) << answer;
  const WireBuilder last =
      WireBuilder().bytes(1, "triton_final_response").message(2, WireBuilder().varint(1, 1));
  const WireBuilder response = WireBuilder()
                                   .bytes(1, "m")
                                   .bytes(2, "3")
                                   .message(4, last)
                                   .message(5, answer_at("r", 8, 16))
                                   .bytes(6, "");
  EXPECT_EQ(answer, WireBuilder().message(2, response).str());
}

TEST_F(SharedTensors, RestHasNoData) {
  const uint32_t handle = serve(ExecMode::Inline);
  const auto [code, answer] = ask_rest(
      handle, R"({"inputs":[{"name":"x","shape":[2],"datatype":"FP32","parameters":{)"
              R"("shared_memory_region":"r","shared_memory_byte_size":8}}],"outputs":[{"name":"y",)"
              R"("parameters":{"binary_data":true,"shared_memory_region":"r",)"
              R"("shared_memory_byte_size":64,"shared_memory_offset":24}}]})");
  EXPECT_EQ(code, ErrorCode::Ok) << answer;
  EXPECT_EQ(answer,
            R"({"model_name":"m","model_version":"3","outputs":[{"name":"y","datatype":"FP32",)"
            R"("shape":[2]}]})");
  EXPECT_EQ(memory.get(8, 24), raw_of<float>({1.5f, 2.5f}));
}

// Raw contents belong to the inputs that are not in shared memory, in their order.
TEST_F(SharedTensors, BesideRawContents) {
  serve(ExecMode::Inline, [](ModelSpec& spec) {
    for (const char* name : {"v", "w"}) {
      spec.null_signature.inputs.push_back(tensor_spec(name, DType::Fp32, {-1}));
      spec.null_signature.outputs.push_back(
          tensor_spec(std::string("out_") + name, DType::Fp32, {-1}));
    }
  });
  const WireBuilder wire = request()
                               .message(5, wire_input("v", "FP32", {1}))
                               .message(5, input_at("r", 8))
                               .message(5, wire_input("w", "FP32", {1}))
                               .message(6, output_at("r", 4, 64, "out_w"))
                               .message(6, WireBuilder().bytes(1, "y"))
                               .message(6, output_at("r", 4, 68, "out_v"))
                               .bytes(7, raw_of<float>({10.0f}))
                               .bytes(7, raw_of<float>({20.0f}));
  const auto [code, answer] = ask(wire.str());
  EXPECT_EQ(code, ErrorCode::Ok) << answer;
  EXPECT_EQ(memory.get(8, 64), raw_of<float>({20.0f, 10.0f}));
  const std::string raw =
      WireBuilder().bytes(6, "").bytes(6, raw_of<float>({1.5f, 2.5f})).bytes(6, "").str();
  EXPECT_TRUE(answer.ends_with(raw));
}

TEST_F(SharedTensors, TextIsReadAndWrittenWithItsLengths) {
  serve(ExecMode::Queued, [](ModelSpec& spec) {
    spec.null_signature.inputs[0] = tensor_spec("x", DType::Bytes, {-1});
    spec.null_signature.outputs[0] = tensor_spec("y", DType::Bytes, {-1});
  });
  const std::string raw("\3\0\0\0abc\0\0\0\0", 11);
  memory.put(raw, 100);
  const auto sent = [&](int64_t bytes) {
    return ask(request()
                   .message(5, input_at("r", bytes, 100, "x", "BYTES"))
                   .message(6, output_at("r", 11, 1000))
                   .str());
  };
  EXPECT_EQ(sent(11).first, ErrorCode::Ok);
  EXPECT_EQ(memory.get(11, 1000), raw);
  EXPECT_EQ(sent(12).second,
            "input 'x': BYTES data: 1 bytes left over after 2 elements at byte 11");
  memory.put("\377", 103);
  EXPECT_NE(sent(11).second.find("overruns the data"), std::string::npos);
}

// Aligned floats are read in place; values that kernels rely on are read only once.
TEST_F(SharedTensors, WhatIsCopied) {
  struct Case {
    DType dtype;
    const char* name;
    int64_t offset;
    bool copied;
  };
  const std::vector<Case> cases = {
      {DType::Fp32, "FP32", 0, false},   {DType::Fp64, "FP64", 8, false},
      {DType::Uint8, "UINT8", 3, false}, {DType::Fp16, "FP16", 2, false},
      {DType::Fp32, "FP32", 2, true},    {DType::Int64, "INT64", 0, true},
      {DType::Int32, "INT32", 0, true},  {DType::Bool, "BOOL", 0, true}};
  memory.put(std::string(64, '\0'));
  for (const Case& one : cases) {
    serve(ExecMode::Inline, [&](ModelSpec& spec) {
      spec.null_signature.inputs[0].dtype = spec.null_signature.outputs[0].dtype = one.dtype;
    });
    const auto bytes = static_cast<int64_t>(2 * dtype_bytes(one.dtype));
    const uint64_t before = copy_count().copied_bytes.load();
    const WireBuilder wire = request().message(5, input_at("r", bytes, one.offset, "x", one.name));
    const auto [code, answer] = ask(wire.str());
    EXPECT_EQ(code, ErrorCode::Ok) << answer;
    EXPECT_EQ(copy_count().copied_bytes.load() > before, one.copied) << one.name << one.offset;
  }
}

TEST_F(SharedTensors, WrongPlacesAreRefused) {
  serve(ExecMode::Inline);
  const auto refused = [&](const WireBuilder& wire) {
    const auto [code, answer] = ask(wire.str());
    EXPECT_EQ(code, ErrorCode::InvalidArgument) << answer;
    return answer;
  };
  const auto of_input = [&](std::string_view region, int64_t bytes, int64_t offset) {
    return refused(request().message(5, input_at(region, bytes, offset)));
  };
  const auto of_output = [&](int64_t bytes, int64_t offset) {
    return refused(
        request().message(5, input_at("r", 8)).message(6, output_at("r", bytes, offset)));
  };
  EXPECT_EQ(of_input("no", 8, 0), "Unable to find shared memory region: 'no'");
  EXPECT_EQ(of_input("", 8, 0), "Unable to find shared memory region: ''");
  EXPECT_EQ(of_input("r", 8, 8192),
            "Invalid offset for shared memory region: 'r': expected less than 8192, got 8192");
  EXPECT_EQ(of_input("r", 8, 8188),
            "Invalid offset + byte size for shared memory region: 'r': expected at most 8192, got "
            "8188 + 8");
  EXPECT_EQ(of_input("r", 4, 0), "input 'x': expected 8 bytes (shape [2] of FP32), got 4");
  EXPECT_EQ(of_input("r", 0, 0), "input 'x': expected 8 bytes (shape [2] of FP32), got 0");
  EXPECT_EQ(of_output(8, INT64_MAX),
            "Invalid offset for shared memory region: 'r': expected less than 8192, got "
            "9223372036854775807");
  EXPECT_EQ(of_output(8193, 0),
            "Invalid offset + byte size for shared memory region: 'r': expected at most 8192, got "
            "0 + 8193");
  EXPECT_EQ(of_output(7, 0),
            "shared memory size specified with the request for output 'y' (7 bytes) should be at "
            "least 8 bytes to hold the results");
  // 64 bits, the range of uint64_param.
  const WireBuilder huge = WireBuilder()
                               .bytes(1, "y")
                               .message(2, text_entry("shared_memory_region", "r"))
                               .message(2, number_entry("shared_memory_offset", 32));
  WireBuilder output = huge;
  output.message(
      2,
      WireBuilder().bytes(1, "shared_memory_byte_size").message(2, WireBuilder().varint(5, -32)));
  EXPECT_EQ(refused(request().message(5, input_at("r", 8)).message(6, output)),
            "Integer overflow detected: byte_size (18446744073709551584) + offset (32) exceeds "
            "maximum value (18446744073709551615) for region 'r'");
}

TEST_F(SharedTensors, ARegionThatShrankIsSaid) {
  serve(ExecMode::Inline);
  const std::string wire =
      request().message(5, input_at("r", 8, 4096)).message(6, output_at("r", 8)).str();
  EXPECT_EQ(ask(wire).first, ErrorCode::Ok);
  memory.resize(4096);
  const auto [code, answer] = ask(wire);
  EXPECT_EQ(code, ErrorCode::InvalidArgument);
  EXPECT_EQ(answer, "shared memory region 'r' (key '" + memory.key() +
                        "') has shrunk: expected an object of 8192 bytes or more, got 4096");
}

DecodedRequest echo_of_region(const Signature& signature) {
  DecodedRequest request;
  request.inputs.resize(1);
  request.inputs[0].dtype = signature.inputs[0].dtype;
  (void)request.inputs[0].shape.push_back(2);
  SharedTensor input;
  input.region = "r";
  input.bytes = 8;
  input.offset = 4096;
  input.input = 0;
  SharedTensor output = input;
  output.input = SharedTensor::kOutput;
  output.offset = 0;
  request.shared = {input, output};
  request.outputs.push_back({0, false, 0, 2});
  return request;
}

// The region shrinks between the steps of a request.
TEST_F(SharedTensors, ShrinkingUnderARequestIsItsError) {
  const Signature signature = null_spec("m", "echo", ExecMode::Inline).null_signature;
  Arena arena;
  DecodedRequest request = echo_of_region(signature);
  const Status attached =
      attach_shared(&engine_->shared_regions(), signature, false, arena, request);
  ASSERT_TRUE(attached.ok()) << attached.error().message;
  memory.resize(4096);
  EXPECT_EQ(*reinterpret_cast<const volatile float*>(request.inputs[0].data), 0.0f);
  memory.resize(8192);
  const Status written = write_shared(request, signature, request.inputs);
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message.find("memory of it was missing"), std::string::npos);
  const Status failed = blame_shared(request, invalid_argument("the run failed"));
  EXPECT_NE(failed.error().message.find("memory of it was missing"), std::string::npos);
  EXPECT_EQ(blame_shared(DecodedRequest(), invalid_argument("it did")).error().message, "it did");
}

TEST_F(SharedTensors, UnregisteredRegionsStayTillTheRequestEnds) {
  const uint32_t handle = serve(ExecMode::Queued, [](ModelSpec& spec) {
    spec.null_mode = "delay";
    spec.null_delay_us = 50'000;
  });
  const std::weak_ptr<SharedRegion> held = engine_->shared_regions().find("r");
  const std::string wire =
      request().message(5, input_at("r", 8)).message(6, output_at("r", 8, 512)).str();
  const Answer answer = lane_->infer_message(Protocol::V2Grpc, bytes_of(wire), 0);
  ASSERT_TRUE(answer.pending);
  // It is running when the region has two holders besides the table: its input and its output.
  while (held.use_count() < 3) std::this_thread::yield();
  engine_->shared_regions().remove("");
  EXPECT_FALSE(held.expired());
  EXPECT_EQ(taken(answer).first, ErrorCode::Ok);
  EXPECT_EQ(memory.get(8, 512), raw_of<float>({1.5f, 2.5f}));
  EXPECT_EQ(ask(wire).second, "Unable to find shared memory region: 'r'");
  EXPECT_EQ(unload(handle), ErrorCode::Ok);
  EXPECT_TRUE(held.expired());
}

// Batches of requests of several kinds: each gets its own rows, in the place that it asked for.
TEST_F(SharedTensors, TogetherInABatch) {
  serve(ExecMode::Queued, [](ModelSpec& spec) {
    spec.null_mode = "delay";
    spec.null_delay_us = 2'000;
    spec.batch.mode = BatchMode::On;
    spec.batch.rows_max = 8;
    spec.batch_dim = true;
  });
  constexpr int kRequests = 24;
  std::vector<std::string> messages;
  for (int i = 0; i < kRequests; ++i) {
    const auto value = static_cast<float>(i);
    const int64_t at = i * 8;
    memory.put(raw_of<float>({value, -value}), static_cast<size_t>(at));
    WireBuilder wire = request();
    if (i % 3 == 0) {
      wire.message(5, wire_input("x", "FP32", {2})).bytes(7, raw_of<float>({value, -value}));
    } else {
      wire.message(5, input_at("r", 8, at));
    }
    wire.message(6, i % 2 == 0 ? output_at("r", 8, 4096 + at) : WireBuilder().bytes(1, "y"));
    messages.push_back(wire.str());
  }
  std::map<uint32_t, int> asked;
  for (int i = 0; i < kRequests; ++i) {
    const std::string& message = messages[static_cast<size_t>(i)];
    const Answer answer = lane_->infer_message(Protocol::V2Grpc, bytes_of(message), 0);
    ASSERT_TRUE(answer.pending);
    asked[answer.ticket] = i;
  }
  for (int i = 0; i < kRequests; ++i) {
    Request* done = next();
    ASSERT_NE(done, nullptr);
    EXPECT_EQ(done->code, ErrorCode::Ok) << text(*done);
    const int which = asked[lane_->slots().ticket_of(*done)];
    const auto value = static_cast<float>(which);
    const std::string raw = raw_of<float>({value, -value});
    if (which % 2 == 0) {
      EXPECT_EQ(memory.get(8, static_cast<size_t>(4096 + which * 8)), raw);
    } else {
      EXPECT_TRUE(text(*done).ends_with(raw));
    }
    lane_->slots().release(*done);
  }
}

}  // namespace
}  // namespace serval::test
