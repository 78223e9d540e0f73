// Converts ONNX Runtime's statuses and log lines to Error, and owns its handles. Control plane,
// except OrtHandle's destructor; any thread. Prints nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "backend/onnxruntime/api.h"
#include "base/error.h"
#include "base/signature.h"

namespace serval::ort {

// Owns one object of the runtime; kRelease is the table's function that frees it.
template <typename T, void (*OrtApi::*kRelease)(T*)>
class OrtHandle {
 public:
  explicit OrtHandle(const OrtApi* api) : api_(api) {}
  OrtHandle(OrtHandle&& other) noexcept
      : api_(other.api_), object_(std::exchange(other.object_, nullptr)) {}
  OrtHandle& operator=(OrtHandle&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(object_, other.object_);
    return *this;
  }
  OrtHandle(const OrtHandle&) = delete;
  OrtHandle& operator=(const OrtHandle&) = delete;
  ~OrtHandle() { reset(); }

  T* get() const { return object_; }
  // Returns the place in which a Create function stores a new object; frees the old one.
  T** out() {
    reset();
    return &object_;
  }
  void reset() {
    if (object_ != nullptr) (api_->*kRelease)(std::exchange(object_, nullptr));
  }

 private:
  const OrtApi* api_;
  T* object_ = nullptr;
};

using SessionHandle = OrtHandle<OrtSession, &OrtApi::ReleaseSession>;
using SessionOptionsHandle = OrtHandle<OrtSessionOptions, &OrtApi::ReleaseSessionOptions>;
using ValueHandle = OrtHandle<OrtValue, &OrtApi::ReleaseValue>;
using RunOptionsHandle = OrtHandle<OrtRunOptions, &OrtApi::ReleaseRunOptions>;
using TypeInfoHandle = OrtHandle<OrtTypeInfo, &OrtApi::ReleaseTypeInfo>;
using ShapeInfoHandle =
    OrtHandle<OrtTensorTypeAndShapeInfo, &OrtApi::ReleaseTensorTypeAndShapeInfo>;
using MetadataHandle = OrtHandle<OrtModelMetadata, &OrtApi::ReleaseModelMetadata>;
using ThreadingOptionsHandle = OrtHandle<OrtThreadingOptions, &OrtApi::ReleaseThreadingOptions>;

// Makes an error with `code`: message "<what>: <the runtime's text, cleaned>"; detail is the raw
// text and what the runtime logged on this thread. Takes `status` (not null).
Error take_error(const OrtApi& api, OrtStatus* status, ErrorCode code, std::string_view what);

// Frees a status (may be null) that is not reported, and its log lines.
void drop_status(const OrtApi& api, OrtStatus* status);

// The runtime's text without its source file names, C++ signatures, error prefix and line breaks.
std::string clean_message(std::string_view text);

// Surrounds a kernel's words in a status (custom_ops.h), so that the runtime's own words around
// them can be removed.
inline constexpr char kKernelMark = '\x1f';

// Extracts the words of our kernel that made a run (or a load) fail from the runtime's text; empty
// if no kernel of ours did. The view is into `text`.
std::string_view kernel_words(std::string_view text);

// An input of a failed run, with its declared and its actual shape.
struct FedInput {
  const TensorSpec& spec;
  const Shape& shape;
};

// The reason of a failed run, and its attribution. A failure that a node's kernel attributes to its
// data (shapes that do not match, an index out of bounds, a count too large) is the request's,
// because the same model serves other requests: invalid_argument with operator, node, reason and
// all inputs' shapes. Memory, devices, missing implementations and kernels of ours that say so are
// the backend's: backend_failed. Takes `status` (not null).
Error run_error(const OrtApi& api, OrtStatus* status, std::span<const FedInput> inputs);

// Passes the session logger's lines (severity error) to take_error() on the same thread.
void collect_log(void* param, OrtLoggingLevel severity, const char* category, const char* logid,
                 const char* code_location, const char* message);

}  // namespace serval::ort
