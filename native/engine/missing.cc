// What is missing, as bytes. See missing.h. Any thread.
#include "engine/missing.h"

#include "base/generated/engine_generated.h"

namespace serval {

ErrorCode Missing::code() const {
  switch (part) {
    case fb::MissingPart::Model:
    case fb::MissingPart::Version: return ErrorCode::ModelNotFound;
    case fb::MissingPart::Ready: return ErrorCode::ModelNotReady;
    case fb::MissingPart::Label:
    case fb::MissingPart::Number:
    case fb::MissingPart::Int64: return ErrorCode::InvalidArgument;
    case fb::MissingPart::Signature: return ErrorCode::SignatureNotFound;
  }
  return ErrorCode::Internal;
}

std::string Missing::pack() const {
  flatbuffers::FlatBufferBuilder builder;
  const auto text = [&](std::string_view of) { return builder.CreateString(of.data(), of.size()); };
  const auto model_text = text(model), version_text = text(version), label_text = text(label),
             reason_text = text(reason), signature_text = text(signature), id = text(request_id);
  builder.Finish(fb::CreateMissing(builder, part, model_text, version_text, label_text,
                                   found_version, reason_text, signature_text, id));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

}  // namespace serval
