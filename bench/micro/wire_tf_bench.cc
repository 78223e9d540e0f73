// Micro-benchmark of TensorFlow Serving's gRPC messages: a PredictRequest of an image (typed and
// tensor_content, aligned or not) and of integers and strings, decoded, and a PredictResponse
// encoded; each next to protobuf's own C++ on the same bytes if protoc and libprotobuf were
// available at build time (else next to memcpy, which the output states). Prints one line of JSON
// per part: {"name", "ns", "gb_per_s", "reference", "reference_ns"}. Each number is the best of
// many rounds within 0.15 s. Results are checked before timing.
//
//   wire_tf_bench [PART OF A NAME]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "codec/serving/wire.h"
#include "codec/serving/wire_tensor.h"
#ifdef SERVAL_BENCH_PROTOBUF
#include "tf_predict.pb.h"
#endif

namespace {

using namespace serval;

constexpr uint64_t kRoundsNs = 150'000'000;
constexpr size_t kElements = 150'528;  // an image of 224 x 224 x 3

const char* filter = "";

void require(bool holds, const char* text) {
  if (holds) return;
  std::fprintf(stderr, "wire_tf_bench: %s\n", text);
  std::exit(1);
}

// Nanoseconds of the fastest of many calls.
double best_ns(const std::function<void()>& work) {
  const uint64_t start = now_ns();
  uint64_t best = UINT64_MAX;
  for (uint64_t begin = start; begin - start < kRoundsNs;) {
    work();
    const uint64_t end = now_ns();
    best = std::min(best, end - begin);
    begin = end;
  }
  return static_cast<double>(best);
}

// Keeps a result alive without the cost of a store.
void keep(const void* pointer) { asm volatile("" : : "g"(pointer) : "memory"); }

void print(const char* name, size_t bytes, const std::function<void()>& work, const char* other,
           const std::function<void()>& reference) {
  if (std::strstr(name, filter) == nullptr) return;
  const double ns = best_ns(work);
  const double reference_ns = best_ns(reference);
  std::printf(
      "{\"name\":\"%s\",\"ns\":%.0f,\"gb_per_s\":%.2f,\"reference\":\"%s\","
      "\"reference_ns\":%.0f}\n",
      name, ns, static_cast<double>(bytes) / ns, other, reference_ns);
  std::fflush(stdout);
}

// A message `offset` bytes after an aligned address.
struct Placed {
  std::vector<uint8_t> memory;
  size_t offset, bytes;

  Placed(const std::vector<uint8_t>& message, size_t at)
      : memory(message.size() + at), offset(at), bytes(message.size()) {
    std::copy(message.begin(), message.end(), memory.begin() + static_cast<std::ptrdiff_t>(at));
  }
  std::span<const uint8_t> span() const { return {memory.data() + offset, bytes}; }
};

// PredictRequest{model_spec{name "m"}, inputs{"x": tensor}}.
std::vector<uint8_t> request_of(const TensorView& tensor, TfTensorForm form) {
  const WireTensorBytes sizes = wire_tensor_bytes(tensor, form);
  const uint64_t entry = 3 + wire_field_bytes(sizes.proto);
  std::vector<uint8_t> message(5 + wire_field_bytes(entry));
  WireWriter writer{message.data()};
  writer.head(1, 3);
  writer.bytes(1, "m");
  writer.head(2, entry);
  writer.bytes(1, "x");
  writer.head(2, sizes.proto);
  write_wire_tensor(writer, tensor, form, sizes);
  require(writer.at == message.data() + message.size(), "sizes");
  return message;
}

std::vector<Signature> signatures_of(DType dtype) {
  TensorSpec input, output;
  input.name = "x";
  output.name = "y";
  input.dtype = output.dtype = dtype;
  return {{"serving_default", {input}, {output}, ""}};
}

void bench_decode(const char* name, const TensorView& tensor, TfTensorForm form, size_t offset) {
  const Placed message(request_of(tensor, form), offset);
  const std::vector<Signature> signatures = signatures_of(tensor.dtype);
  Arena arena;
  DecodedRequest request;
  const Limits limits;
  const auto work = [&] {
    arena.reset();
    const Status status = decode_tf_predict(message.span(), signatures, limits, arena, request);
    require(status.ok(), "decoding");
    keep(request.inputs.data());
  };
  work();
  const TensorView& got = request.inputs[0];
  require(got.bytes == tensor.bytes && got.strings.size() == tensor.strings.size(), "size");
  require(got.bytes == 0 || std::memcmp(got.data, tensor.data, got.bytes) == 0, "bytes");
#ifdef SERVAL_BENCH_PROTOBUF
  serval_bench::PredictRequest parsed;
  const auto parse = [&] {
    parsed.Clear();
    require(parsed.ParseFromArray(message.span().data(), static_cast<int>(message.bytes)),
            "protobuf refused");
    keep(&parsed);
  };
  print(name, message.bytes, work, "protobuf parse", parse);
#else
  std::vector<uint8_t> target(message.bytes);
  const auto copy = [&] {
    std::memcpy(target.data(), message.span().data(), message.bytes);
    keep(target.data());
  };
  print(name, message.bytes, work, "memcpy", copy);
#endif
}

void bench_encode(const char* name, const TensorView& tensor, TfTensorForm form) {
  const std::vector<Signature> signatures = signatures_of(tensor.dtype);
  DecodedRequest request;
  request.outputs.push_back({0});
  ByteBuffer out;
  const Limits limits;
  const auto work = [&] {
    out.clear();
    const Status status =
        encode_tf_predict({"m", "1"}, signatures[0], request, {&tensor, 1}, form, limits, out);
    require(status.ok(), "encoding");
    keep(out.data());
  };
  work();
#ifdef SERVAL_BENCH_PROTOBUF
  serval_bench::PredictResponse response;
  require(response.ParseFromArray(out.data(), static_cast<int>(out.size())), "protobuf refused");
  std::string text;
  const auto write = [&] {
    response.SerializeToString(&text);
    keep(text.data());
  };
  print(name, out.size(), work, "protobuf serialize", write);
#else
  std::vector<uint8_t> target(out.size());
  const auto copy = [&] {
    std::memcpy(target.data(), out.data(), out.size());
    keep(target.data());
  };
  print(name, out.size(), work, "memcpy", copy);
#endif
}

template <typename T>
TensorView view_of(DType dtype, const std::vector<T>& values) {
  TensorView tensor;
  tensor.dtype = dtype;
  (void)tensor.shape.push_back(static_cast<int64_t>(values.size()));
  tensor.data = reinterpret_cast<const uint8_t*>(values.data());
  tensor.bytes = values.size() * sizeof(T);
  return tensor;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) filter = argv[1];
#ifndef SERVAL_BENCH_PROTOBUF
  std::fprintf(stderr,
               "wire_tf_bench: built without protobuf (protobuf-compiler, "
               "libprotobuf-dev): compared with memcpy only\n");
#endif
  std::vector<float> reals(kElements);
  std::vector<int32_t> small(kElements), large(kElements);
  std::vector<std::string_view> texts(kElements / 16, "some text");
  for (size_t i = 0; i < kElements; ++i) {
    reals[i] = static_cast<float>(i) * 0.001f;
    small[i] = static_cast<int32_t>(i % 256);
    large[i] = static_cast<int32_t>(i * 2654435761u);
  }
  const TensorView image = view_of(DType::Fp32, reals);
  TensorView strings;
  strings.dtype = DType::Bytes;
  (void)strings.shape.push_back(static_cast<int64_t>(texts.size()));
  strings.strings = texts;
  // Values have every alignment as the message moves; one in four offsets allows a view.
  for (size_t offset = 0; offset < 4; ++offset) {
    const std::string at = " at offset " + std::to_string(offset);
    bench_decode(("decode floats typed" + at).c_str(), image, TfTensorForm::Typed, offset);
    bench_decode(("decode floats content" + at).c_str(), image, TfTensorForm::Content, offset);
  }
  bench_decode("decode int32 0..255", view_of(DType::Int32, small), TfTensorForm::Typed, 0);
  bench_decode("decode int32 random", view_of(DType::Int32, large), TfTensorForm::Typed, 0);
  bench_decode("decode strings", strings, TfTensorForm::Typed, 0);
  bench_encode("encode floats typed", image, TfTensorForm::Typed);
  bench_encode("encode floats content", image, TfTensorForm::Content);
  bench_encode("encode int32 0..255", view_of(DType::Int32, small), TfTensorForm::Typed);
  bench_encode("encode int32 random", view_of(DType::Int32, large), TfTensorForm::Typed);
  bench_encode("encode strings", strings, TfTensorForm::Typed);
  return 0;
}
