// Hot path. Thread: the listener's (inline) or an instance's.
#include "engine/serve.h"

#include "base/clock.h"
#include "codec/json_v1.h"
#include "codec/json_v2.h"
#include "codec/wire_v2.h"

namespace serval {

namespace {

// Hot path 6/12. Bytes to tensors.
Status decode(const ServeInput& input, Model& model, const Limits& limits, Worker& worker) {
  const std::vector<Signature>& signatures = model.signatures();
  switch (input.protocol) {
    case Protocol::V1Predict:
      return decode_v1_predict(input.body, signatures, limits, worker.arena, worker.decoded);
    case Protocol::V2Rest:
      return decode_v2_infer(input.body, input.json_bytes, &signatures[0], limits, worker.arena,
                             worker.decoded);
    case Protocol::V2Grpc:
    case Protocol::V2GrpcStream:
      return decode_wire_v2(input.body, signatures[0], limits, worker.arena, worker.decoded);
  }
  return make_error(ErrorCode::Internal, "unknown protocol");
}

// Hot path 9/12. Tensors to bytes.
Status encode(const ServeInput& input, const Model& model, const Signature& signature,
              const Limits& limits, Worker& worker, ByteBuffer& response, size_t& json_bytes_out) {
  const AnswerModel answer{model.spec().name, model.version_text()};
  switch (input.protocol) {
    case Protocol::V1Predict:
      return encode_v1_predict(signature, worker.decoded, worker.outputs, limits, response);
    case Protocol::V2Rest:
      return encode_v2_infer(answer, signature, worker.decoded, worker.outputs, limits, response,
                             json_bytes_out);
    case Protocol::V2Grpc:
    case Protocol::V2GrpcStream:
      return encode_wire_v2(answer, signature, worker.decoded, worker.outputs,
                            input.protocol == Protocol::V2GrpcStream, limits, response);
  }
  return make_error(ErrorCode::Internal, "unknown protocol");
}

// Hot path 7/12. The shapes against the signature, for every protocol alike.
Status check_inputs(const Signature& signature, const DecodedRequest& decoded) {
  if (decoded.inputs.size() != signature.inputs.size()) {
    return make_error(ErrorCode::Internal, "decoder left an input out");
  }
  for (size_t i = 0; i < decoded.inputs.size(); ++i) {
    if (Status fits = check_shape(signature.inputs[i], decoded.inputs[i].shape); !fits.ok()) {
      return fits;
    }
  }
  return {};
}

// Hot path 8/12. Runs the model; the outputs live in the scratch until it is released.
Status run(const ServeInput& input, Model& model, Worker& worker, BackendScratch& scratch) {
  const DecodedRequest& decoded = worker.decoded;
  worker.output_indices.clear();
  for (const RequestedOutput& output : decoded.outputs) {
    worker.output_indices.push_back(output.index);
  }
  const Stopwatch watch;
  Status ran = model.backend().run(decoded.signature_index, decoded.inputs, worker.output_indices,
                                   scratch, input.cancel);
  model.counters().compute_ns.fetch_add(watch.elapsed_ns(), std::memory_order_relaxed);
  if (!ran.ok()) return ran;
  const std::span<const TensorView> outputs = scratch.outputs();
  worker.outputs.assign(outputs.begin(), outputs.end());
  return {};
}

Status serve_once(const ServeInput& input, Model& model, const Limits& limits, Worker& worker,
                  ByteBuffer& response, size_t& json_bytes_out) {
  Status done = decode(input, model, limits, worker);
  if (!done.ok()) return done;
  const Signature& signature = model.signatures()[worker.decoded.signature_index];
  done = check_inputs(signature, worker.decoded);
  if (!done.ok()) return done;
  std::unique_ptr<BackendScratch> scratch = model.take_scratch();
  done = run(input, model, worker, *scratch);
  if (done.ok()) {
    done = encode(input, model, signature, limits, worker, response, json_bytes_out);
  }
  scratch->release_outputs();
  model.give_scratch(std::move(scratch));
  return done;
}

}  // namespace

// Hot path 5/12. The frame of one request: memory, the four steps, the stream's error form.
Status serve(const ServeInput& input, Model& model, const Limits& limits, Worker& worker,
             ByteBuffer& response, size_t& json_bytes_out) {
  worker.decoded.clear();
  response.clear();
  json_bytes_out = 0;
  Status done = serve_once(input, model, limits, worker, response, json_bytes_out);
  if (!done.ok()) {
    model.counters().failures.fetch_add(1, std::memory_order_relaxed);
    if (input.protocol == Protocol::V2GrpcStream) {
      response.clear();
      WireModelRef ref;
      const bool readable = peek_wire_v2(input.body, ref).ok();
      if (encode_wire_v2_stream_error(readable ? ref.id : std::string_view(),
                                      done.error().message, response)) {
        done = Status();
      }
    }
  }
  worker.arena.reset();
  return done;
}

}  // namespace serval
