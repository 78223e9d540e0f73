// Micro-benchmark of every codec part: numbers, strings, base64, and whole V1 and V2 bodies, each
// next to a reference that does as little as possible with the same bytes (memcpy, std::to_chars,
// simdjson's DOM alone). Prints one line of JSON per part: {"name", "ns_per_element", "gb_per_s",
// "reference", "reference_ns_per_element"}. gb_per_s counts the text or wire bytes. Each number is
// the best of many rounds within 0.15 s. Results are checked before timing.
//
//   codec_bench [PART OF A NAME]
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "codec/examples/json.h"
#include "codec/examples/named_inputs.h"
#include "codec/json/text.h"
#include "codec/serving/json.h"
#include "codec/v2/json.h"
#include "simdjson.h"

namespace {

using namespace serval;

constexpr uint64_t kRoundsNs = 150'000'000;
constexpr size_t kElements = 150'528;  // an image of 224 x 224 x 3

const char* filter = "";

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "codec_bench: %s\n", text.c_str());
  std::exit(1);
}

void require(bool holds, const std::string& text) {
  if (!holds) fail(text);
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

struct Reference {
  const char* name;
  std::function<void()> work;
};

void measure(const char* name, size_t elements, size_t bytes, const std::function<void()>& work,
             const Reference& reference) {
  if (std::strstr(name, filter) == nullptr) return;
  const double ns = best_ns(work);
  const double reference_ns = best_ns(reference.work);
  const auto count = static_cast<double>(elements);
  std::printf(
      "{\"name\":\"%s\",\"ns_per_element\":%.3f,\"gb_per_s\":%.3f,\"reference\":\"%s\","
      "\"reference_ns_per_element\":%.3f}\n",
      name, ns / count, static_cast<double>(bytes) / ns, reference.name, reference_ns / count);
  std::fflush(stdout);
}

// Keeps a result alive without the cost of a store.
void keep(const void* pointer) { asm volatile("" : : "g"(pointer) : "memory"); }

Reference copying(const std::string& bytes) {
  auto target = std::make_shared<std::string>(bytes.size(), '\0');
  return {"memcpy", [&bytes, target] {
            std::memcpy(target->data(), bytes.data(), bytes.size());
            keep(target->data());
          }};
}

Reference dom_parsing(const std::string& json) {
  auto parser = std::make_shared<simdjson::dom::parser>();
  auto padded = std::make_shared<simdjson::padded_string>(json);
  return {"simdjson DOM", [parser, padded] {
            simdjson::dom::element root;
            require(parser->parse(*padded).get(root) == simdjson::SUCCESS, "simdjson refused");
            keep(&root);
          }};
}

template <typename T>
Reference to_chars(const std::vector<T>& values) {
  auto text = std::make_shared<std::string>(values.size() * 32, '\0');
  return {"std::to_chars", [&values, text] {
            char* at = text->data();
            for (T value : values) {
              at = std::to_chars(at, at + 32, value).ptr;
              *at++ = ',';
            }
            keep(at);
          }};
}

std::string text_of(const ByteBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

template <typename T>
TensorView view_of(DType dtype, const std::vector<T>& values) {
  TensorView tensor;
  tensor.dtype = dtype;
  const int64_t dims[] = {static_cast<int64_t>(values.size())};
  tensor.shape = Shape(dims);
  tensor.data = reinterpret_cast<const uint8_t*>(values.data());
  tensor.bytes = values.size() * sizeof(T);
  return tensor;
}

template <typename T>
void bench_write(const char* name, DType dtype, const std::vector<T>& values) {
  const TensorView tensor = view_of(dtype, values);
  ByteBuffer out;
  const auto work = [&] {
    out.truncate(0);
    require(append_elements(out, tensor, 0, values.size()), "no memory");
  };
  work();
  const std::string text = text_of(out);
  require(static_cast<size_t>(std::count(text.begin(), text.end(), ',')) + 1 == values.size(),
          "wrong number of elements written");
  measure(name, values.size(), text.size(), work, to_chars(values));
}

void bench_text() {
  std::string text;
  std::mt19937 random(3);
  for (int i = 0; i < 65536; ++i) text += static_cast<char>('a' + random() % 26);
  ByteBuffer out;
  const auto write = [&] {
    out.truncate(0);
    require(append_json_string(out, text), "no memory");
  };
  write();
  require(out.size() == text.size() + 2, "wrong string written");
  measure("write one string of 64 KiB", text.size(), text.size(), write, copying(text));
  const auto write_short = [&] {
    out.truncate(0);
    for (size_t i = 0; i < text.size(); i += 16) {
      require(append_json_string(out, std::string_view(text).substr(i, 16)), "no memory");
    }
  };
  measure("write strings of 16 bytes", text.size() / 16, text.size(), write_short, copying(text));
  const auto encode = [&] {
    out.truncate(0);
    require(append_b64_object(out, text), "no memory");
  };
  encode();
  const std::string object = text_of(out);
  measure("base64 encode", text.size(), text.size(), encode, copying(text));
  const std::string base64 = object.substr(8, object.size() - 10);
  Arena arena;
  const auto decode = [&] {
    arena.reset();
    require(decode_base64(base64, arena).bytes.size() == text.size(), "base64 refused");
  };
  require(decode_base64(base64, arena).bytes == text, "wrong base64 decoded");
  measure("base64 decode", text.size(), base64.size(), decode, copying(base64));
}

Signature model(DType dtype) {
  TensorSpec in;
  in.name = "x";
  in.dtype = dtype;
  in.dims = {-1};
  in.symbols = {""};
  TensorSpec out = in;
  out.name = "y";
  return {"serving_default", {in}, {out}};
}

// A body followed by kBodyPadding readable bytes.
struct Body {
  explicit Body(const std::string& text) : padded(text + std::string(kBodyPadding, ' ')) {
    bytes = {reinterpret_cast<const uint8_t*>(padded.data()), text.size()};
  }
  std::string padded;
  std::span<const uint8_t> bytes;
};

std::string v2_body(DType dtype, const TensorView& tensor) {
  const Signature signature = model(dtype);
  DecodedRequest request;
  request.outputs = {{0, false}};
  ByteBuffer out;
  size_t json = 0;
  const TensorView outputs[] = {tensor};
  require(encode_v2_infer({"m", "1"}, signature, request, outputs, {}, out, json).ok(), "encode");
  std::string text = text_of(out);
  text.replace(text.find("\"outputs\""), 9, "\"inputs\"");
  text.replace(text.find("\"y\""), 3, "\"x\"");
  return text;
}

void bench_v2_decode(const char* name, DType dtype, const TensorView& tensor) {
  const std::string text = v2_body(dtype, tensor);
  const Body body(text);
  const Signature signature = model(dtype);
  const Limits limits;
  Arena arena;
  DecodedRequest request;
  const auto decode = [&] {
    arena.reset();
    require(decode_v2_infer_fast(body.bytes, kNoJsonHeader, signature, limits, arena, request),
            "the fast decoder refused");
  };
  decode();
  const size_t elements = std::max(tensor.strings.size(), size_t{1}) *
                          (tensor.bytes != 0 ? tensor.bytes / dtype_bytes(dtype) : 1);
  require(tensor.bytes == 0 || std::memcmp(request.inputs[0].data, tensor.data, tensor.bytes) == 0,
          "wrong values decoded");
  measure(name, elements, text.size(), decode, dom_parsing(text));
}

void bench_v2_plain(const TensorView& tensor) {
  const std::string text = v2_body(DType::Fp32, tensor);
  const Body body(text);
  const Signature signature = model(DType::Fp32);
  Arena arena;
  DecodedRequest request;
  const auto decode = [&] {
    arena.reset();
    require(decode_v2_infer_plain(body.bytes, kNoJsonHeader, signature, {}, arena, request).ok(),
            "the plain decoder refused");
  };
  measure("V2 decode FP32, plain decoder", kElements, text.size(), decode, dom_parsing(text));
}

void bench_v2_encode(const char* name, const TensorView& tensor, bool binary) {
  const Signature signature = model(tensor.dtype);
  DecodedRequest request;
  request.outputs = {{0, binary}};
  const TensorView outputs[] = {tensor};
  ByteBuffer out;
  size_t json = 0;
  const auto encode = [&] {
    out.truncate(0);
    require(encode_v2_infer({"m", "1"}, signature, request, outputs, {}, out, json).ok(), "encode");
  };
  encode();
  const std::string text = text_of(out);
  const size_t elements = tensor.bytes / dtype_bytes(tensor.dtype);
  measure(name, elements, text.size(), encode, copying(text));
}

void bench_v2_binary(const std::vector<float>& values) {
  std::string json = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[)" +
                     std::to_string(values.size()) + R"(],"parameters":{"binary_data_size":)" +
                     std::to_string(values.size() * 4) + "}}]}";
  json.append(64 - json.size() % 64, ' ');
  const std::string raw(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  ByteBuffer body;
  require(body.append(json) && body.append(raw) && body.room(kBodyPadding) != nullptr, "memory");
  const Signature signature = model(DType::Fp32);
  Arena arena;
  DecodedRequest request;
  const auto decode = [&] {
    arena.reset();
    require(decode_v2_infer(body.bytes(), static_cast<int64_t>(json.size()), &signature, {}, arena,
                            request)
                .ok(),
            "binary refused");
  };
  decode();
  require(request.inputs[0].data == body.data() + json.size(), "binary data copied");
  measure("V2 decode binary FP32 (a view)", values.size(), body.size(), decode, copying(raw));
}

void bench_v1(const std::vector<float>& values) {
  const TensorView tensor = view_of(DType::Fp32, values);
  const std::vector<Signature> signatures = {model(DType::Fp32)};
  ByteBuffer out;
  require(out.append("{\"instances\":[") && append_elements(out, tensor, 0, values.size()) &&
              out.append("]}"),
          "memory");
  const std::string text = text_of(out);
  const Body body(text);
  Arena arena;
  DecodedRequest request;
  const Limits limits;
  const auto decode = [&] {
    arena.reset();
    require(decode_v1_predict_fast(body.bytes, signatures, limits, arena, request),
            "the fast V1 decoder refused");
  };
  decode();
  require(std::memcmp(request.inputs[0].data, tensor.data, tensor.bytes) == 0, "wrong V1 values");
  measure("V1 decode FP32 rows", values.size(), text.size(), decode, dom_parsing(text));
  const TensorView outputs[] = {tensor};
  const auto encode = [&] {
    out.truncate(0);
    require(encode_v1_predict(signatures[0], request, outputs, limits, out).ok(), "V1 encode");
  };
  encode();
  const std::string answer = text_of(out);
  measure("V1 encode FP32 rows", values.size(), answer.size(), encode, copying(answer));
}

void bench_small() {
  const std::string text =
      R"({"inputs":[{"name":"x","shape":[4],"datatype":"FP32","data":[1.0,2.0,5.0,7.5]}]})";
  const Body body(text);
  const Signature signature = model(DType::Fp32);
  Arena arena;
  DecodedRequest request;
  ByteBuffer out;
  size_t json = 0;
  const Limits limits;
  constexpr size_t kTimes = 1000;
  const auto both = [&] {
    for (size_t i = 0; i < kTimes; ++i) {
      arena.reset();
      out.truncate(0);
      const bool ok =
          decode_v2_infer(body.bytes, kNoJsonHeader, &signature, limits, arena, request).ok() &&
          encode_v2_infer({"m", "1"}, signature, request, request.inputs, limits, out, json).ok();
      require(ok, "small request");
    }
  };
  const Reference dom = dom_parsing(text);
  const Reference times = {dom.name, [&dom] {
                             for (size_t i = 0; i < kTimes; ++i) dom.work();
                           }};
  measure("V2 request of 4 floats, in and out", kTimes, kTimes * (text.size() + out.size()), both,
          times);
}

// Rows for a classifier with named scores: directly to its input, and through Examples.
void bench_classify() {
  constexpr size_t kRows = 32;
  std::string text = R"({"examples":[)";
  for (size_t row = 0; row < kRows; ++row) {
    text += std::string(row == 0 ? "" : ",") + R"({"x":[5.1,3.5,1.4,0.2],"note":"none"})";
  }
  const Body body(text + "]}");
  Signature classifier = model(DType::Fp32);
  classifier.inputs[0].dims = {-1, 4};
  classifier.outputs[0].dims = {-1, 2};
  classifier.outputs[0].labels = {"no", "yes"};
  const std::vector<Signature> signatures = {classifier};
  const Limits limits;
  Arena arena;
  DecodedRequest request;
  const auto direct = [&] {
    arena.reset();
    bool named = false;
    const Status done =
        decode_v1_classify(body.bytes, false, signatures, limits, arena, request, named);
    require(done.ok() && named, "classify");
  };
  const Reference examples = {"by Examples", [&] {
                                arena.reset();
                                require(decode_v1_examples(body.bytes, Method::Classify, false,
                                                           signatures, limits, arena, request)
                                                .ok() &&
                                            examples_to_inputs(classifier, arena, request).ok(),
                                        "classify by Examples");
                              }};
  measure("V1 classify of 32 rows", kRows, text.size(), direct, examples);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) filter = arguments[1];
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> floats(kElements);
  std::vector<double> doubles(kElements);
  std::vector<int32_t> int32s(kElements);
  std::vector<int64_t> int64s(kElements);
  for (size_t i = 0; i < kElements; ++i) {
    floats[i] = normal(random);
    doubles[i] = static_cast<double>(floats[i]) * 1.1;
    int32s[i] = static_cast<int32_t>(random()) >> (random() % 32);
    int64s[i] = static_cast<int64_t>(uint64_t{random()} << 32 | random()) >> (random() % 63);
  }
  std::vector<std::string> words;
  for (size_t i = 0; i < 20'000; ++i) words.emplace_back(i % 40, 'w');
  const std::vector<std::string_view> views(words.begin(), words.end());
  TensorView strings;
  strings.dtype = DType::Bytes;
  const int64_t dims[] = {static_cast<int64_t>(views.size())};
  strings.shape = Shape(dims);
  strings.strings = views;
  const TensorView image = view_of(DType::Fp32, floats);

  bench_write("write FP32", DType::Fp32, floats);
  bench_write("write FP64", DType::Fp64, doubles);
  bench_write("write INT32", DType::Int32, int32s);
  bench_write("write INT64", DType::Int64, int64s);
  bench_text();
  bench_v2_decode("V2 decode FP32", DType::Fp32, image);
  bench_v2_decode("V2 decode FP64", DType::Fp64, view_of(DType::Fp64, doubles));
  bench_v2_decode("V2 decode INT64", DType::Int64, view_of(DType::Int64, int64s));
  bench_v2_decode("V2 decode BYTES", DType::Bytes, strings);
  bench_v2_plain(image);
  bench_v2_encode("V2 encode FP32", image, false);
  bench_v2_encode("V2 encode binary FP32", image, true);
  bench_v2_binary(floats);
  bench_v1(floats);
  bench_small();
  bench_classify();
  return 0;
}
