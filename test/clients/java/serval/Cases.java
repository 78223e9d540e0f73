// What the Java client tries, by name; a case throws where something is wrong. Test time only.
package serval;

import com.google.protobuf.ByteString;
import inference.GRPCInferenceServiceGrpc;
import inference.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import inference.GRPCInferenceServiceGrpc.GRPCInferenceServiceFutureStub;
import inference.ModelInferRequest;
import inference.ModelInferResponse;
import inference.ModelMetadataRequest;
import inference.ModelStreamInferResponse;
import inference.ServerMetadataRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.Context;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import tensorflow.DataType;
import tensorflow.TensorProto;
import tensorflow.TensorShapeProto;
import tensorflow.serving.ModelSpec;
import tensorflow.serving.PredictRequest;
import tensorflow.serving.PredictResponse;
import tensorflow.serving.PredictionServiceGrpc;

final class Cases {
  interface Case {
    void run(Channel channel) throws Exception;
  }

  private static final int WAIT_SECONDS = 60;
  private static final int AT_ONCE = 500;
  private static final int STREAMED = 200;
  private static final int LARGE = 2_000_000;

  private Cases() {}

  static Map<String, Case> all() {
    Map<String, Case> cases = new LinkedHashMap<>();
    cases.put("metadata", Cases::metadata);
    cases.put("ModelInfer", channel -> checkSame(stub(channel), "one", ramp(3)));
    cases.put("ModelInfer of 8 MB", channel -> checkSame(stub(channel), "large", ramp(LARGE)));
    cases.put(
        "ModelInfer packed with gzip",
        channel -> checkSame(stub(channel).withCompression("gzip"), "packed", ramp(100_000)));
    cases.put("many calls at once on one connection", Cases::many);
    cases.put("ModelStreamInfer in order, errors in their place", Cases::stream);
    cases.put("deadline and cancellation", Cases::deadline);
    cases.put("statuses of what is not there", Cases::missing);
    cases.put("Predict", Cases::predict);
    cases.put("a method that is not there", Cases::unimplemented);
    return cases;
  }

  private static GRPCInferenceServiceBlockingStub stub(Channel channel) {
    return GRPCInferenceServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(WAIT_SECONDS, TimeUnit.SECONDS);
  }

  private static void expect(boolean holds, Object seen) {
    if (!holds) {
      throw new AssertionError(String.valueOf(seen));
    }
  }

  private static void expectCode(Status.Code code, String text, Runnable call) {
    try {
      call.run();
    } catch (StatusRuntimeException error) {
      expect(error.getStatus().getCode() == code, error);
      expect(String.valueOf(error.getStatus().getDescription()).contains(text), error);
      return;
    }
    throw new AssertionError("expected " + code + ", got an answer");
  }

  private static float[] ramp(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = i;
    }
    return values;
  }

  private static ByteString raw(float[] values) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(values);
    return ByteString.copyFrom(bytes);
  }

  private static ModelInferRequest request(String model, String id, float[] values) {
    return ModelInferRequest.newBuilder()
        .setModelName(model)
        .setId(id)
        .addInputs(
            ModelInferRequest.InferInputTensor.newBuilder()
                .setName("input")
                .setDatatype("FP32")
                .addShape(1)
                .addShape(values.length))
        .addRawInputContents(raw(values))
        .build();
  }

  private static void checkReply(ModelInferResponse reply, String id, float[] values) {
    expect(reply.getId().equals(id), reply.getId() + " instead of " + id);
    expect(reply.getRawOutputContents(0).equals(raw(values)), "other values for " + id);
  }

  private static void checkSame(GRPCInferenceServiceBlockingStub stub, String id, float[] values) {
    checkReply(stub.modelInfer(request("identity_fp32", id, values)), id, values);
  }

  private static void metadata(Channel channel) {
    expect(
        stub(channel).serverMetadata(ServerMetadataRequest.getDefaultInstance())
            .getExtensionsCount() > 0,
        "no extensions");
    ModelMetadataRequest request =
        ModelMetadataRequest.newBuilder().setName("identity_fp32").build();
    expect(stub(channel).modelMetadata(request).getInputsCount() == 1, "not one input");
  }

  private static void many(Channel channel) throws Exception {
    GRPCInferenceServiceFutureStub stub =
        GRPCInferenceServiceGrpc.newFutureStub(channel)
            .withDeadlineAfter(WAIT_SECONDS, TimeUnit.SECONDS);
    List<Future<ModelInferResponse>> replies = new ArrayList<>();
    for (int i = 0; i < AT_ONCE; i++) {
      replies.add(stub.modelInfer(request("identity_fp32", "n" + i, ramp(1 + i))));
    }
    for (int i = 0; i < AT_ONCE; i++) {
      checkReply(replies.get(i).get(), "n" + i, ramp(1 + i));
    }
  }

  private static void stream(Channel channel) throws Exception {
    BlockingQueue<ModelStreamInferResponse> replies = new LinkedBlockingQueue<>();
    CompletableFuture<Void> ended = new CompletableFuture<>();
    StreamObserver<ModelInferRequest> requests =
        GRPCInferenceServiceGrpc.newStub(channel)
            .withDeadlineAfter(WAIT_SECONDS, TimeUnit.SECONDS)
            .modelStreamInfer(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ModelStreamInferResponse reply) {
                    replies.add(reply);
                  }

                  @Override
                  public void onError(Throwable error) {
                    ended.completeExceptionally(error);
                  }

                  @Override
                  public void onCompleted() {
                    ended.complete(null);
                  }
                });
    for (int i = 0; i < STREAMED; i++) {
      String model = i % 10 == 7 ? "nope" : "identity_fp32";
      requests.onNext(request(model, "s" + i, ramp(1 + i)));
    }
    requests.onCompleted();
    ended.get();
    expect(replies.size() == STREAMED, replies.size() + " replies");
    for (int i = 0; i < STREAMED; i++) {
      ModelStreamInferResponse reply = replies.take();
      expect((i % 10 == 7) == !reply.getErrorMessage().isEmpty(), reply.getErrorMessage());
      if (i % 10 != 7) {
        checkReply(reply.getInferResponse(), "s" + i, ramp(1 + i));
      }
    }
  }

  private static void deadline(Channel channel) throws Exception {
    ModelInferRequest late =
        ModelInferRequest.newBuilder()
            .setModelName("outlasting")
            .addInputs(
                ModelInferRequest.InferInputTensor.newBuilder()
                    .setName("x")
                    .setDatatype("FP32")
                    .addShape(1))
            .addRawInputContents(raw(ramp(1)))
            .build();
    expectCode(
        Status.Code.DEADLINE_EXCEEDED,
        "",
        () -> stub(channel).withDeadlineAfter(50, TimeUnit.MILLISECONDS).modelInfer(late));
    Context.CancellableContext left = Context.current().withCancellation();
    Thread leave =
        new Thread(
            () -> {
              try {
                Thread.sleep(50);
              } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
              }
              left.cancel(null);
            });
    leave.start();
    left.run(
        () -> expectCode(Status.Code.CANCELLED, "", () -> stub(channel).modelInfer(late)));
    leave.join();
    expect(stub(channel).modelInfer(late).getOutputsCount() == 1, "no output");
  }

  private static void missing(Channel channel) {
    expectCode(
        Status.Code.NOT_FOUND,
        "größer",
        () -> stub(channel).modelInfer(request("größer", "", ramp(1))));
    expectCode(
        Status.Code.NOT_FOUND,
        "nope",
        () ->
            stub(channel)
                .modelMetadata(ModelMetadataRequest.newBuilder().setName("nope").build()));
  }

  private static void predict(Channel channel) {
    TensorProto input =
        TensorProto.newBuilder()
            .setDtype(DataType.DT_FLOAT)
            .setTensorShape(
                TensorShapeProto.newBuilder()
                    .addDim(TensorShapeProto.Dim.newBuilder().setSize(2)))
            .addFloatVal(1)
            .addFloatVal(2)
            .build();
    PredictRequest request =
        PredictRequest.newBuilder()
            .setModelSpec(ModelSpec.newBuilder().setName("half_plus_three"))
            .putInputs("x", input)
            .build();
    PredictResponse reply = PredictionServiceGrpc.newBlockingStub(channel).predict(request);
    expect(reply.getOutputsOrThrow("y").getFloatValList().equals(List.of(3.5f, 4f)), reply);
  }

  private static void unimplemented(Channel channel) {
    MethodDescriptor<ModelMetadataRequest, ?> nope =
        GRPCInferenceServiceGrpc.getModelMetadataMethod().toBuilder()
            .setFullMethodName("inference.GRPCInferenceService/Nope")
            .build();
    expectCode(
        Status.Code.UNIMPLEMENTED,
        "",
        () ->
            ClientCalls.blockingUnaryCall(
                channel, nope, CallOptions.DEFAULT, ModelMetadataRequest.getDefaultInstance()));
  }
}
