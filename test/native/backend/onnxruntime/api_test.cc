// The runtime library: errors for a missing, wrong or too old library, and the choice of its
// function table.
#include "backend/onnxruntime/api.h"

#include <dlfcn.h>

#include <thread>

#include "backend/onnxruntime/error.h"
#include "backend/onnxruntime/library.h"
#include "backend/onnxruntime/session.h"
#include "backend/onnxruntime/signature.h"
#include "support/onnxruntime_fixture.h"

namespace serval::ort {
namespace {

TEST(OrtElementTypes, ThereAndBack) {
  for (int i = 0; i <= static_cast<int>(DType::Bf16); ++i) {
    const DType dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_of(element_type_of(dtype)), dtype);
  }
  EXPECT_EQ(element_type_of(DType::Fp16), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16);
  EXPECT_EQ(element_type_of(DType::Invalid), ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED);
  EXPECT_EQ(dtype_of(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4), DType::Invalid);
}

Error load_error(const std::string& library) {
  ModelSpec spec;
  spec.path = "/nowhere.onnx";
  const auto loaded = make_onnxruntime_backend(library, 1)->load(spec);
  EXPECT_FALSE(loaded.ok());
  return loaded.ok() ? Error{} : loaded.error();
}

TEST(OrtLibrary, Missing) {
  const Error error = load_error("/no/such/libonnxruntime.so");
  EXPECT_EQ(error.code, ErrorCode::RuntimeUnavailable);
  EXPECT_TRUE(error.message.starts_with(
      "cannot load the ONNX Runtime library /no/such/libonnxruntime.so: "))
      << error.message;
  EXPECT_NE(error.message.find("No such file"), std::string::npos) << error.message;
}

TEST(OrtLibrary, NoSharedObject) {
  onnx::TemporaryDirectory directory;
  const std::string path = directory.write("text.so", std::string(4096, 't'));
  const Error error = load_error(path);
  EXPECT_EQ(error.code, ErrorCode::RuntimeUnavailable);
  EXPECT_NE(error.message.find("invalid ELF header"), std::string::npos) << error.message;
}

// The C library: certainly installed, and certainly not ONNX Runtime.
TEST(OrtLibrary, SomeOtherSharedObject) {
  Dl_info libc = {};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&std::fopen), &libc), 0);
  for (const std::string& path : {std::string(libc.dli_fname), std::string("libm.so.6")}) {
    const Error error = load_error(path);
    EXPECT_EQ(error.code, ErrorCode::RuntimeUnavailable);
    EXPECT_TRUE(error.message.starts_with("not an ONNX Runtime library: ")) << error.message;
    EXPECT_TRUE(error.message.ends_with(" has no function OrtGetApiBase")) << error.message;
  }
}

TEST(OrtLibrary, NoneNamed) {
  const char* variable = std::getenv("SERVAL_ORT_LIBRARY");
  const std::string kept = variable == nullptr ? "" : variable;
  unsetenv("SERVAL_ORT_LIBRARY");
  EXPECT_EQ(load_error("").message,
            "no ONNX Runtime library was named: give its path or set SERVAL_ORT_LIBRARY");
  setenv("SERVAL_ORT_LIBRARY", "/named/by/the/variable.so", 1);
  EXPECT_NE(load_error("").message.find("/named/by/the/variable.so"), std::string::npos);
  if (variable == nullptr) unsetenv("SERVAL_ORT_LIBRARY");
  else setenv("SERVAL_ORT_LIBRARY", kept.c_str(), 1);
}

// A library's entry point for a given version; asked[] lists the versions it was called with.
struct FakeLibrary {
  static inline const char* version = "";
  static inline uint32_t newest = 0;
  static inline std::vector<uint32_t> asked;
  static inline OrtApi table = {};
  static const OrtApi* get_api(uint32_t wanted) noexcept {
    asked.push_back(wanted);
    return wanted <= newest ? &table : nullptr;
  }
  static const char* get_version() noexcept { return version; }
  static Result<OrtVersion> choose(const char* text, uint32_t newest_version) {
    version = text;
    newest = newest_version;
    asked.clear();
    return choose_api(OrtApiBase{get_api, get_version}, "/lib/fake.so");
  }
};

TEST(OrtLibrary, TooOld) {
  const Result<OrtVersion> old = FakeLibrary::choose("1.16.3", 16);
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().code, ErrorCode::RuntimeUnavailable);
  EXPECT_EQ(old.error().message,
            "the ONNX Runtime library /lib/fake.so is version 1.16.3; wanted 1.17 or newer");
  EXPECT_TRUE(FakeLibrary::asked.empty());  // a call would make the library print
  EXPECT_FALSE(FakeLibrary::choose("1.9.0", 9).ok());
  EXPECT_FALSE(FakeLibrary::choose("1.30.0", 0).ok());  // it claims to be new but returns no table
  EXPECT_FALSE(FakeLibrary::choose("odd", 16).ok());
}

TEST(OrtLibrary, OldEnoughAndNew) {
  const std::pair<const char*, uint32_t> plain[] = {
      {"1.17.0", 17}, {"1.18.1-dev", 18}, {"1.23.2", 23}, {"2.0.0", 40}, {"odd", 20}};
  for (const auto& [text, newest] : plain) {
    const Result<OrtVersion> chosen = FakeLibrary::choose(text, newest);
    ASSERT_TRUE(chosen.ok()) << text;
    EXPECT_FALSE(chosen.value().has_shape_calls) << text;
    EXPECT_EQ(FakeLibrary::asked, std::vector<uint32_t>{kOrtApiVersion}) << text;
  }
  for (const auto& [text, newest] : {std::pair("1.24.0", 24u), std::pair("1.30.0", 30u)}) {
    const Result<OrtVersion> chosen = FakeLibrary::choose(text, newest);
    ASSERT_TRUE(chosen.ok()) << text;
    EXPECT_TRUE(chosen.value().has_shape_calls) << text;
  }
}

TEST(OrtLibrary, LoadedOncePerProcess) {
  SKIP_WITHOUT_ONNXRUNTIME();
  const std::string path = onnxruntime_library();
  const std::string spelled = std::filesystem::path(path).parent_path().string() + "/./" +
                              std::filesystem::path(path).filename().string();
  std::vector<const OrtRuntime*> runtimes(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < runtimes.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto runtime = acquire_runtime(i % 2 == 0 ? path : spelled, 2);
      runtimes[i] = runtime.ok() ? runtime.value() : nullptr;
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_NE(runtimes[0], nullptr);
  for (const OrtRuntime* runtime : runtimes) EXPECT_EQ(runtime, runtimes[0]);
  EXPECT_GE(runtimes[0]->intra_op_threads, 1);
  EXPECT_TRUE(runtimes[0]->version.starts_with("1."));
}

int threads_of_this_process() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    count += task.is_directory() ? 1 : 0;
  }
  return count;
}

// Loads the library and a model as in a user's first process, with `home` for every place where the
// runtime's telemetry could keep its queue. Exit status 0: nothing was written, and there are no
// threads besides the pool's.
[[noreturn]] void load_in_an_empty_home(const std::string& library) {
  const onnx::TemporaryDirectory home, models;
  for (const char* name : {"CI", "TF_BUILD", "GITHUB_ACTIONS", "ORT_DISABLE_TELEMETRY"}) {
    unsetenv(name);
  }
  for (const char* name : {"HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "TMPDIR"}) {
    setenv(name, home.path("").c_str(), 1);
  }
  std::filesystem::current_path(home.path(""));
  std::thread([] {}).join();  // a sanitizer starts its own thread with our first one
  const int threads_before = threads_of_this_process();
  ModelSpec spec;
  spec.path = models.write("model.onnx", onnx::half_plus_three().to_bytes());
  const auto loaded = make_onnxruntime_backend(library, 2)->load(spec);
  const bool written = !std::filesystem::is_empty(home.path(""));
  const int threads = threads_of_this_process() - threads_before;
  if (!loaded.ok()) std::fprintf(stderr, "not loaded: %s\n", loaded.error().message.c_str());
  if (written) std::fprintf(stderr, "the runtime wrote files of its own\n");
  if (threads != 1) std::fprintf(stderr, "%d new threads, not the pool's\n", threads);
  std::filesystem::current_path("/");
  std::filesystem::remove_all(home.path(""));
  std::filesystem::remove_all(models.path(""));
  std::_Exit(loaded.ok() && !written && threads == 1 ? 0 : 1);
}

// Runs in its own process, because the library must not have been loaded before.
TEST(OrtLibraryDeathTest, SendsAndQueuesNoTelemetry) {
  SKIP_WITHOUT_ONNXRUNTIME();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(load_in_an_empty_home(onnxruntime_library()), testing::ExitedWithCode(0), "");
}

// A library before 1.24, represented by this one's table without the two calls: shapes of outputs
// are read the long way, and rank 0 is treated as unknown because the runtime cannot tell.
TEST(OrtLibrary, WithoutShapeCalls) {
  SKIP_WITHOUT_ONNXRUNTIME();
  const auto acquired = acquire_runtime(onnxruntime_library(), 2);
  ASSERT_TRUE(acquired.ok());
  OrtRuntime runtime = *acquired.value();
  runtime.has_shape_calls = false;
  onnx::Model graph = onnx::half_plus_three(std::vector<onnx::Dim>{std::string("n"), int64_t{2}});
  graph.node("Neg", {"s"}, {"t"}).input("s", onnx::kFloat, std::vector<onnx::Dim>{});
  graph.output("t", onnx::kFloat, std::vector<onnx::Dim>{});
  onnx::TemporaryDirectory directory;
  const std::string path = directory.write("model.onnx", graph.to_bytes());
  const OrtApi& api = *runtime.api;
  SessionOptionsHandle options(&api);
  SessionHandle session(&api);
  ASSERT_EQ(api.CreateSessionOptions(options.out()), nullptr);
  ASSERT_EQ(api.DisablePerSessionThreads(options.get()), nullptr);
  ASSERT_EQ(api.CreateSession(runtime.env, path.c_str(), options.get(), session.out()), nullptr);
  std::vector<std::string> notes;
  Result<Signature> signature = read_signature(runtime, *session.get(), notes);
  ASSERT_TRUE(signature.ok());
  EXPECT_FALSE(signature.value().inputs[0].unknown_rank);
  EXPECT_EQ(signature.value().inputs[0].dims, (std::vector<int64_t>{-1, 2}));
  EXPECT_TRUE(signature.value().inputs[1].unknown_rank);
  BackendModelInfo info;
  info.signatures.push_back(signature.value());
  OrtModel model(runtime, std::move(session), std::move(info), true);
  const auto scratch = model.make_scratch();
  const TestTensor<float> x(DType::Fp32, {3, 2}, {0, 2, 4, 6, 8, 10}), s(DType::Fp32, {}, {4});
  const std::vector<TensorView> inputs = {x.view(), s.view()};
  const std::vector<uint32_t> outputs = {0, 1};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(model.run(0, inputs, outputs, *scratch, nullptr).ok());
    EXPECT_EQ(scratch->outputs()[0].shape.to_string(), "[3,2]");
    EXPECT_EQ(values_of<float>(scratch->outputs()[0]), (std::vector<float>{3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(scratch->outputs()[1].shape.rank(), 0u);
    EXPECT_EQ(values_of<float>(scratch->outputs()[1]), std::vector<float>{-4});
    scratch->release_outputs();
  }
}

// An operator's own words stand alone, unless an input has not the shape that the model declares.
TEST(OrtMessage, WordsOfAnOperatorNameTheInputThatContradicts) {
  SKIP_WITHOUT_ONNXRUNTIME();
  const auto acquired = acquire_runtime(onnxruntime_library(), 2);
  ASSERT_TRUE(acquired.ok());
  const OrtApi& api = *acquired.value()->api;
  TensorSpec texts{"text", DType::Bytes, {-1}, {}, false};
  const std::string text = std::string(1, kKernelMark) + "input must be a vector" + kKernelMark;
  const auto message = [&](const Shape& shape) {
    const FedInput fed{texts, shape};
    OrtStatus* status = api.CreateStatus(ORT_INVALID_ARGUMENT, text.c_str());
    return run_error(api, status, {&fed, 1}).message;
  };
  EXPECT_EQ(message(Shape(std::vector<int64_t>{2})), "input must be a vector");
  EXPECT_EQ(message(Shape(std::vector<int64_t>{2, 1})),
            "input must be a vector; inputs: 'text' [2,1] where [-1] is declared");
  texts.unknown_rank = true;
  EXPECT_EQ(message(Shape(std::vector<int64_t>{2, 1})), "input must be a vector");
}

TEST(OrtMessage, Cleaned) {
  EXPECT_EQ(clean_message("plain text."), "plain text.");
  EXPECT_EQ(clean_message(" two\n lines\t\n"), "two lines");
  EXPECT_EQ(clean_message("[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid rank"),
            "Invalid rank");
  EXPECT_EQ(clean_message("Status Message: /onnxruntime_src/core/math/matmul.h:61 "
                          "onnxruntime::common::Status onnxruntime::Helper<T>::Compute(const "
                          "std::vector<int (*)(int)>&, bool) const [with T = std::array<int, 3>] "
                          "left == right was false. Mismatch"),
            "Status Message: left == right was false. Mismatch");
  EXPECT_EQ(clean_message("/a/b.cc:83 virtual void f(int) [ONNXRuntimeError] : 1 : FAIL : bad"),
            "bad");
  EXPECT_EQ(clean_message("load failed:/a/b.h:9 X::X(int) no graph"), "load failed:no graph");
  EXPECT_EQ(clean_message("Message: matmul.h:59 Compute dims differ"), "Message: dims differ");
  EXPECT_EQ(clean_message("matmul.h:59 Compute"), "Compute");
  EXPECT_EQ(clean_message("ratio 3:4, file.h: gone, a.cc:x"), "ratio 3:4, file.h: gone, a.cc:x");
  EXPECT_EQ(clean_message("open /data/model.cc failed"), "open /data/model.cc failed");
  EXPECT_EQ(clean_message("see /a/b.cc:12 no call"), "see no call");
  EXPECT_EQ(clean_message("/a/b.cc:12 f(unclosed"), "f(unclosed");
  EXPECT_EQ(clean_message("[ONNXRuntimeError] : 2"), "2");
  EXPECT_EQ(clean_message(""), "");
}

}  // namespace
}  // namespace serval::ort
