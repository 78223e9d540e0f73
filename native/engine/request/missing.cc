// Encodes a missing model, version, label or signature. Any thread.
#include "engine/request/missing.h"

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
    case fb::MissingPart::Limit: return ErrorCode::LimitReached;
  }
  return ErrorCode::Internal;
}

std::string Missing::pack() const {
  flatbuffers::FlatBufferBuilder builder;
  const auto text = [&](std::string_view of) { return builder.CreateString(of.data(), of.size()); };
  const auto model_text = text(model), version_text = text(version), label_text = text(label),
             reason_text = text(reason), signature_text = text(signature), id = text(request_id);
  builder.Finish(fb::CreateMissing(builder, part, model_text, version_text, label_text,
                                   found_version, reason_text, signature_text, id, known,
                                   retry_after_s));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

std::string text_of_missing(const Error& error) {
  const fb::Missing& missing = *flatbuffers::GetRoot<fb::Missing>(error.missing.data());
  const auto text = [](const flatbuffers::String* of) {
    return of == nullptr ? std::string() : of->str();
  };
  const std::string model = "model '" + text(missing.model()) + "'";
  const std::string version = model + " version " + text(missing.version());
  switch (missing.part()) {
    case fb::MissingPart::Model: return model + " is not here";
    case fb::MissingPart::Version: return version + " is not here";
    case fb::MissingPart::Label: return model + " has no label '" + text(missing.label()) + "'";
    case fb::MissingPart::Ready: {
      const std::string reason = text(missing.reason());
      return model + " version " + std::to_string(missing.found_version()) + " does not serve" +
             (reason.empty() ? "" : ": " + reason);
    }
    case fb::MissingPart::Number:
    case fb::MissingPart::Int64: return version + ": expected a version's number";
    case fb::MissingPart::Signature: {
      if (!error.message.empty()) return error.message;
      return model + " has no signature '" + text(missing.signature()) + "'";
    }
    case fb::MissingPart::Limit: break;
  }
  return error.message;
}

}  // namespace serval
