// Helpers shared by the writers of TensorFlow Serving's responses. Hot path, any thread.
#pragma once

#include "base/bytes/wire_writer.h"
#include "codec/request.h"

namespace serval {

// The response's ModelSpec {name, version, signature_name}, all fields that are known. Source:
// tfserving.md 2 "Response model_spec carries ...".
class TfModelSpec {
 public:
  // Borrows both. Omits a version that is not an int64.
  TfModelSpec(const AnswerModel& model, const Signature& signature);

  // Bytes of the whole field.
  uint64_t field_bytes() const { return wire_field_bytes(bytes_); }
  void write(WireWriter& writer, uint32_t number) const;

 private:
  uint64_t version_bytes() const;

  const AnswerModel& model_;
  const Signature& signature_;
  uint64_t version_ = 0;  // declared before has_version_, whose initialiser sets it
  bool has_version_;
  uint64_t bytes_;
};

// Checks that `bytes` does not exceed the response limit. `name`: the response's type. Errors:
// body_too_large.
Status check_response_bytes(const char* name, uint64_t bytes, const Limits& limits);

// Appends space for `total` bytes to `out`. `name`: the response's type, for errors. Errors, which
// leave `out` unchanged: body_too_large (limits.response_bytes_max); internal (memory).
Status grow_response(const char* name, uint64_t total, const Limits& limits, ByteBuffer& out,
                     uint8_t*& place);

// Checks that the backend's tensor matches its shape. Errors: internal.
Status check_answer(const TensorSpec& spec, const TensorView& tensor);

}  // namespace serval
