// What the writers of TensorFlow Serving's responses share. Hot path, any thread.
#pragma once

#include "base/bytes/wire_writer.h"
#include "codec/request.h"

namespace serval {

// The response's ModelSpec {name, version, signature_name}: all that is known of the answer's
// model. Source: tfserving.md 2 "Response model_spec carries ...".
class TfModelSpec {
 public:
  // Borrows both. A version that is no int64 is left out.
  TfModelSpec(const AnswerModel& model, const Signature& signature);

  // Bytes of the whole field.
  uint64_t field_bytes() const { return wire_field_bytes(bytes_); }
  void write(WireWriter& writer, uint32_t number) const;

 private:
  uint64_t version_bytes() const;

  const AnswerModel& model_;
  const Signature& signature_;
  uint64_t version_ = 0;  // in front of has_version_, whose initialiser sets it
  bool has_version_;
  uint64_t bytes_;
};

// `bytes` are no more than a response may have. `name`: its type. Errors: body_too_large.
Status check_response_bytes(const char* name, uint64_t bytes, const Limits& limits);

// Room for `total` bytes at the end of `out`. `name`: the response's type, for errors.
// Errors, and `out` is as it was: body_too_large (limits.response_bytes_max); internal (memory).
Status grow_response(const char* name, uint64_t total, const Limits& limits, ByteBuffer& out,
                     uint8_t*& place);

// The backend's tensor is what its shape says. Errors: internal.
Status check_answer(const TensorSpec& spec, const TensorView& tensor);

}  // namespace serval
