// The functions of serval.h: checks pointers, turns errors into objects, lets no exception out. Hot
// and control plane; any thread.
#include <new>

#include "capi/model.h"
#include "engine/request/catch_exceptions.h"

struct serval_error {
  serval_code code = SERVAL_INTERNAL;
  std::string message;
};

struct serval_model {
  std::shared_ptr<serval::capi::Model> model;
};

struct serval_result {
  std::unique_ptr<serval::capi::Run> run;
};

namespace serval::capi {

namespace {

static_assert(SERVAL_INVALID_ARGUMENT == static_cast<int>(ErrorCode::InvalidArgument));
static_assert(SERVAL_SIGNATURE_NOT_FOUND == static_cast<int>(ErrorCode::SignatureNotFound));
static_assert(SERVAL_BODY_TOO_LARGE == static_cast<int>(ErrorCode::BodyTooLarge));
static_assert(SERVAL_UNIMPLEMENTED == static_cast<int>(ErrorCode::Unimplemented));
static_assert(SERVAL_MODEL_INVALID == static_cast<int>(ErrorCode::ModelInvalid));
static_assert(SERVAL_RUNTIME_UNAVAILABLE == static_cast<int>(ErrorCode::RuntimeUnavailable));
static_assert(SERVAL_BACKEND_FAILED == static_cast<int>(ErrorCode::BackendFailed));
static_assert(SERVAL_INTERNAL == static_cast<int>(ErrorCode::Internal));
static_assert(SERVAL_MEMORY_FULL == static_cast<int>(ErrorCode::MemoryFull));
static_assert(SERVAL_BOOL == static_cast<int>(DType::Bool));
static_assert(SERVAL_INT64 == static_cast<int>(DType::Int64));
static_assert(SERVAL_FP64 == static_cast<int>(DType::Fp64));
static_assert(SERVAL_BYTES == static_cast<int>(DType::Bytes));
static_assert(SERVAL_BF16 == static_cast<int>(DType::Bf16));
static_assert(SERVAL_TIMESTAMP == static_cast<int>(DType::Timestamp));

// Returned if there is no memory for another error; never freed.
serval_error* out_of_memory() {
  static serval_error error{SERVAL_MEMORY_FULL, "out of memory"};
  return &error;
}

serval_error* error_object(const Error& error) {
  auto made = std::make_unique<serval_error>();
  made->code = static_cast<serval_code>(error.code);
  made->message = error.message;
  return made.release();
}

// Runs `work`, which returns a Status, and returns its error.
template <typename Work>
serval_error* guarded(const Work& work) {
  try {
    const Status done = catch_exceptions([&work]() -> Status {
      try {
        return work();
      } catch (const std::bad_alloc&) {
        return make_error(ErrorCode::MemoryFull, "out of memory");
      }
    });
    return done.ok() ? nullptr : error_object(done.error());
  } catch (...) {  // there was no memory for the error itself
    return out_of_memory();
  }
}

Status null_argument(const char* name) {
  return invalid_argument(std::string(name) + ": expected a pointer, got NULL");
}

Status open_model(const char* path, const serval_options* options, serval_model** out) {
  if (path == nullptr) return null_argument("path");
  if (out == nullptr) return null_argument("model");
  std::string library;
  int threads = 0;
  if (options != nullptr) {
    if (options->size != sizeof(serval_options)) {
      return invalid_argument("options.size: expected " + std::to_string(sizeof(serval_options)) +
                              ", got " + std::to_string(options->size));
    }
    if (options->onnxruntime_library != nullptr) library = options->onnxruntime_library;
    threads = options->threads;
    if (threads < 0) {
      return invalid_argument("options.threads: expected 0 or more, got " +
                              std::to_string(threads));
    }
  }
  Result<std::shared_ptr<Model>> model = Model::open(path, library, threads);
  if (!model.ok()) return std::move(model.error());
  auto made = std::make_unique<serval_model>();
  made->model = std::move(model.value());
  *out = made.release();
  return {};
}

Status infer(serval_model* model, const Call& call, serval_result** out) {
  Result<std::unique_ptr<Run>> run = model->model->infer(call);
  if (!run.ok()) return std::move(run.error());
  auto made = std::make_unique<serval_result>();
  made->run = std::move(run.value());
  *out = made.release();
  return {};
}

const SignatureInfo* signature_of(const serval_model* model, size_t signature) {
  if (model == nullptr || signature >= model->model->infos().size()) return nullptr;
  return &model->model->infos()[signature];
}

Status describe_tensor(const serval_model* model, size_t signature, size_t index, bool input,
                       serval_tensor_info* out) {
  if (model == nullptr) return null_argument("model");
  if (out == nullptr) return null_argument("info");
  const SignatureInfo* found = signature_of(model, signature);
  if (found == nullptr) {
    return invalid_argument("signature: expected an index below " +
                            std::to_string(model->model->infos().size()) + ", got " +
                            std::to_string(signature));
  }
  const std::vector<TensorInfo>& infos = input ? found->inputs : found->outputs;
  if (index >= infos.size()) {
    return invalid_argument("index: expected an index below " + std::to_string(infos.size()) +
                            ", got " + std::to_string(index));
  }
  const TensorInfo& info = infos[index];
  *out = {info.name.c_str(), static_cast<int32_t>(info.dtype),
          info.any_rank ? -1 : static_cast<int32_t>(info.dims.size()), info.dims.data(),
          info.optional ? 1 : 0};
  return {};
}

Status describe_output(const serval_result* result, size_t index, serval_tensor* out) {
  if (result == nullptr) return null_argument("result");
  if (out == nullptr) return null_argument("output");
  const std::vector<Output>& outputs = result->run->outputs;
  if (index >= outputs.size()) {
    return invalid_argument("index: expected an index below " + std::to_string(outputs.size()) +
                            ", got " + std::to_string(index));
  }
  const Output& output = outputs[index];
  *out = {output.name,
          static_cast<int32_t>(output.dtype),
          static_cast<int32_t>(output.shape.rank()),
          output.shape.dims().data(),
          output.data,
          output.bytes,
          output.offsets,
          output.lengths,
          output.missing};
  return {};
}

}  // namespace

}  // namespace serval::capi

using namespace serval::capi;  // NOLINT: the functions below are this file's only other content

extern "C" {

uint32_t serval_abi_version(void) { return SERVAL_ABI_VERSION; }

serval_code serval_error_code(const serval_error* error) {
  return error == nullptr ? SERVAL_OK : error->code;
}

const char* serval_error_message(const serval_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}

void serval_error_free(serval_error* error) {
  if (error != out_of_memory()) std::unique_ptr<serval_error>(error).reset();
}

const char* serval_dtype_name(int32_t dtype) {
  if (dtype < SERVAL_BOOL || dtype > SERVAL_TIMESTAMP) return nullptr;
  return serval::dtype_name(static_cast<serval::DType>(dtype)).data();
}

serval_error* serval_open(const char* path, const serval_options* options, serval_model** model) {
  return guarded([&] { return open_model(path, options, model); });
}

void serval_close(serval_model* model) { std::unique_ptr<serval_model>(model).reset(); }

size_t serval_signature_count(const serval_model* model) {
  return model == nullptr ? 0 : model->model->infos().size();
}

const char* serval_signature_name(const serval_model* model, size_t signature) {
  const SignatureInfo* found = signature_of(model, signature);
  return found == nullptr ? nullptr : found->name.c_str();
}

int32_t serval_is_tabular(const serval_model* model) {
  return model != nullptr && model->model->table() != nullptr ? 1 : 0;
}

size_t serval_input_count(const serval_model* model, size_t signature) {
  const SignatureInfo* found = signature_of(model, signature);
  return found == nullptr ? 0 : found->inputs.size();
}

size_t serval_output_count(const serval_model* model, size_t signature) {
  const SignatureInfo* found = signature_of(model, signature);
  return found == nullptr ? 0 : found->outputs.size();
}

serval_error* serval_input(const serval_model* model, size_t signature, size_t index,
                           serval_tensor_info* info) {
  return guarded([&] { return describe_tensor(model, signature, index, true, info); });
}

serval_error* serval_output(const serval_model* model, size_t signature, size_t index,
                            serval_tensor_info* info) {
  return guarded([&] { return describe_tensor(model, signature, index, false, info); });
}

serval_error* serval_infer(serval_model* model, size_t signature, const serval_tensor* inputs,
                           size_t input_count, const char* const* outputs, size_t output_count,
                           serval_result** result) {
  return guarded([&]() -> serval::Status {
    if (model == nullptr) return null_argument("model");
    if (inputs == nullptr && input_count != 0) return null_argument("inputs");
    if (outputs == nullptr && output_count != 0) return null_argument("outputs");
    if (result == nullptr) return null_argument("result");
    return infer(model, {signature, {inputs, input_count}, {outputs, output_count}}, result);
  });
}

size_t serval_result_count(const serval_result* result) {
  return result == nullptr ? 0 : result->run->outputs.size();
}

serval_error* serval_result_output(const serval_result* result, size_t index,
                                   serval_tensor* output) {
  return guarded([&] { return describe_output(result, index, output); });
}

void serval_result_free(serval_result* result) {
  if (result == nullptr) return;
  const std::unique_ptr<serval_result> owned(result);
  const std::shared_ptr<Model> model = owned->run->model;
  model->give(std::move(owned->run));
}

}  // extern "C"
