// Requests with tensors in GPU memory that a client shares, to models on the host: the null backend
// echoes its inputs. Also the table of regions of both kinds.
#include "engine/engine_fixture.h"
#include "engine/shm/shared_wire.h"
#include "engine/shm/shm_object.h"
#include "engine/shm/tensors.h"
#include "gpu/cuda_client.h"

namespace serval::test {
namespace {

class GpuTensors : public EngineTest {
 protected:
  GpuTensors() : client_(8192) {
    memory_ = client_.open();
    put<float>(*memory_, 0, {1.5f, 2.5f});
    EXPECT_TRUE(add("g").ok());
  }
  Status add(const std::string& name) {
    RegionSpec spec;
    spec.name = name;
    spec.kind = RegionKind::Cuda;
    spec.handle.assign(client_.spec().handle.reserved, gpu::kIpcHandleBytes);
    spec.bytes = 8192;
    return engine_->shared_regions().add(spec, 16);
  }
  std::string status(const std::string& name, RegionKind kind) {
    ByteBuffer out;
    const Status written = engine_->shared_regions().write_status(name, out, kind);
    return written.ok() ? std::string(reinterpret_cast<const char*>(out.data()), out.size())
                        : written.error().message;
  }
  std::pair<ErrorCode, std::string> ask(const WireBuilder& message) {
    const Answer answer = lane_->infer_message(Protocol::V2Grpc, bytes_of(message.str()), 0);
    waited_ = answer.pending;
    if (!answer.pending) return {answer.code, inline_text()};
    Request* done = next();
    if (done == nullptr) return {ErrorCode::Internal, "no answer"};
    const std::pair<ErrorCode, std::string> out{done->code, text(*done)};
    lane_->slots().release(*done);
    return out;
  }
  void serve(ExecMode mode, const std::function<void(ModelSpec&)>& change = nullptr) {
    ModelSpec spec = null_spec("m", "echo", mode);
    if (change != nullptr) change(spec);
    route("m", load(spec));
  }
  static WireBuilder request() { return WireBuilder().bytes(1, "m"); }

  CudaClient client_;
  std::shared_ptr<gpu::SharedMemory> memory_;
  bool waited_ = false;  // the latest response came from another thread
};

TEST_F(GpuTensors, InAndOutAndNeverOnAListenersThread) {
  for (const ExecMode mode : {ExecMode::Inline, ExecMode::Auto, ExecMode::Queued}) {
    for (const bool batched : {false, true}) {
      serve(mode, [&](ModelSpec& spec) {
        if (!batched) return;
        spec.exec_mode = ExecMode::Queued;
        spec.batch.mode = BatchMode::On;
        spec.batch.rows_max = 16;
        spec.batch_dim = true;
      });
      for (int i = 0; i < 3; ++i) {
        put<float>(*memory_, 4096, {0, 0});
        const auto [code, answer] =
            ask(request().message(5, input_at("g", 8)).message(6, output_at("g", 100, 4096)));
        EXPECT_EQ(code, ErrorCode::Ok) << answer;
        EXPECT_EQ(get<float>(*memory_, 4096, 2), (std::vector<float>{1.5f, 2.5f}));
        EXPECT_EQ(answer, WireBuilder()
                              .bytes(1, "m")
                              .bytes(2, "3")
                              .message(5, answer_at("g", 8, 4096))
                              .bytes(6, "")
                              .str());
        EXPECT_TRUE(waited_);
      }
    }
  }
}

TEST_F(GpuTensors, OnlyOneEndOnTheGpu) {
  serve(ExecMode::Inline);
  ShmObject object(4096);
  ASSERT_TRUE(engine_->shared_regions().add({"r", object.key(), 0, 4096}, 16).ok());
  auto [code, answer] =
      ask(request().message(5, input_at("g", 8)).message(6, output_at("r", 8, 64)));
  EXPECT_EQ(code, ErrorCode::Ok) << answer;
  EXPECT_EQ(object.get(8, 64), raw_of<float>({1.5f, 2.5f}));
  object.put(raw_of<float>({7.0f, 8.0f}));
  std::tie(code, answer) =
      ask(request().message(5, input_at("r", 8)).message(6, output_at("g", 8, 64)));
  EXPECT_EQ(code, ErrorCode::Ok) << answer;
  EXPECT_EQ(get<float>(*memory_, 64, 2), (std::vector<float>{7, 8}));
  std::tie(code, answer) = ask(request().message(5, input_at("g", 8)));
  EXPECT_TRUE(answer.ends_with(raw_of<float>({1.5f, 2.5f})));
  // Inputs that name no region stay where they were.
  std::tie(code, answer) = ask(request().message(5, input_at("r", 8)));
  EXPECT_EQ(code, ErrorCode::Ok) << answer;
  EXPECT_FALSE(waited_);
}

TEST_F(GpuTensors, TextAndTruthAreLookedAtOnTheHost) {
  serve(ExecMode::Inline, [](ModelSpec& spec) {
    spec.null_signature.inputs[0] = tensor_spec("x", DType::Bytes, {-1});
    spec.null_signature.outputs[0] = tensor_spec("y", DType::Bytes, {-1});
  });
  const std::string raw("\3\0\0\0abc\0\0\0\0", 11);
  put<char>(*memory_, 100, {raw.begin(), raw.end()});
  auto [code, answer] = ask(request()
                                .message(5, input_at("g", 11, 100, "x", "BYTES"))
                                .message(6, output_at("g", 11, 1000)));
  EXPECT_EQ(code, ErrorCode::Ok) << answer;
  EXPECT_EQ(get<char>(*memory_, 1000, 11), std::vector<char>(raw.begin(), raw.end()));
  serve(ExecMode::Inline, [](ModelSpec& spec) {
    spec.null_signature.inputs[0].dtype = spec.null_signature.outputs[0].dtype = DType::Bool;
  });
  put<char>(*memory_, 0, {1, 2});
  std::tie(code, answer) = ask(request().message(5, input_at("g", 2, 0, "x", "BOOL")));
  EXPECT_EQ(answer, "input 'x': BOOL element 1: expected byte 0 or 1, got 2");
}

TEST_F(GpuTensors, WrongPlacesAreRefused) {
  serve(ExecMode::Inline);
  const auto refused = [&](const WireBuilder& wire) {
    const auto [code, answer] = ask(wire);
    EXPECT_EQ(code, ErrorCode::InvalidArgument) << answer;
    return answer;
  };
  EXPECT_EQ(refused(request().message(5, input_at("g", 8, 8188))),
            "Invalid offset + byte size for shared memory region: 'g': expected at most 8192, got "
            "8188 + 8");
  EXPECT_EQ(refused(request().message(5, input_at("g", 4))),
            "input 'x': expected 8 bytes (shape [2] of FP32), got 4");
  EXPECT_EQ(refused(request().message(5, input_at("g", 8)).message(6, output_at("g", 7))),
            "shared memory size specified with the request for output 'y' (7 bytes) should be at "
            "least 8 bytes to hold the results");
}

TEST_F(GpuTensors, NamesAreOneSpaceAndKindsAreTold) {
  ShmObject object(4096);
  SharedRegions& regions = engine_->shared_regions();
  ASSERT_TRUE(regions.add({"r", object.key(), 0, 4096}, 16).ok());
  EXPECT_EQ(add("r").error().message, "shared memory region 'r' already in manager");
  EXPECT_EQ(status("", RegionKind::Cuda), R"([{"name":"g","device_id":0,"byte_size":8192}])");
  EXPECT_EQ(status("g", RegionKind::Cuda), R"([{"name":"g","device_id":0,"byte_size":8192}])");
  EXPECT_EQ(status("r", RegionKind::Cuda),
            "The region named 'r' is registered as system shared memory, not CUDA shared memory");
  EXPECT_EQ(status("g", RegionKind::System),
            "The region named 'g' is registered as CUDA shared memory, not system shared memory");
  EXPECT_EQ(status("x", RegionKind::Cuda), "Unable to find cuda shared memory region: 'x'");
  regions.remove("g", RegionKind::System);
  regions.remove("r", RegionKind::Cuda);
  regions.remove("", RegionKind::System);
  EXPECT_EQ(status("", RegionKind::System), "[]");
  EXPECT_NE(status("", RegionKind::Cuda), "[]");
  regions.remove("", RegionKind::Cuda);
  EXPECT_EQ(status("", RegionKind::Cuda), "[]");
}

TEST_F(GpuTensors, ARefusalNamesTheRegion) {
  RegionSpec spec;
  spec.name = "h";
  spec.kind = RegionKind::Cuda;
  spec.handle.assign(client_.spec().handle.reserved, gpu::kIpcHandleBytes);
  spec.bytes = 8193;
  EXPECT_EQ(engine_->shared_regions().add(spec, 16).error().message,
            "failed to register CUDA shared memory region 'h': byte_size: expected at most the "
            "8192 bytes that were allocated, got 8193");
  spec.handle.pop_back();
  EXPECT_EQ(engine_->shared_regions().add(spec, 16).error().message,
            "failed to register CUDA shared memory region 'h': raw_handle: expected 64 bytes, got "
            "63");
}

TEST_F(GpuTensors, UnregisteredRegionsStayTillTheRequestEnds) {
  serve(ExecMode::Queued, [](ModelSpec& spec) {
    spec.null_mode = "delay";
    spec.null_delay_us = 50'000;
  });
  const std::weak_ptr<SharedRegion> held = engine_->shared_regions().find("g");
  const WireBuilder wire =
      request().message(5, input_at("g", 8)).message(6, output_at("g", 8, 512));
  const Answer answer = lane_->infer_message(Protocol::V2Grpc, bytes_of(wire.str()), 0);
  ASSERT_TRUE(answer.pending);
  while (held.use_count() < 3) std::this_thread::yield();
  engine_->shared_regions().remove("g", RegionKind::Cuda);
  Request* done = next();
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->code, ErrorCode::Ok);
  lane_->slots().release(*done);
  EXPECT_EQ(get<float>(*memory_, 512, 2), (std::vector<float>{1.5f, 2.5f}));
  EXPECT_EQ(ask(wire).second, "Unable to find shared memory region: 'g'");
  while (!held.expired()) std::this_thread::yield();
}

}  // namespace
}  // namespace serval::test
