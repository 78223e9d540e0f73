// Generated from proto/engine.fbs by proto/generate.mjs.
#pragma once

#include "flatbuffers/base.h"

namespace serval {
namespace fb {

enum class DType : uint8_t {
  Invalid = 0,
  Bool = 1,
  Uint8 = 2,
  Uint16 = 3,
  Uint32 = 4,
  Uint64 = 5,
  Int8 = 6,
  Int16 = 7,
  Int32 = 8,
  Int64 = 9,
  Fp16 = 10,
  Fp32 = 11,
  Fp64 = 12,
  Bytes = 13,
  Bf16 = 14,
  String = 15,
  Date = 16,
  Timestamp = 17,
  Vector = 18,
  Decimal = 19,
  MIN = Invalid,
  MAX = Decimal
};

inline const DType (&EnumValuesDType())[20] {
  static const DType values[] = {
    DType::Invalid,
    DType::Bool,
    DType::Uint8,
    DType::Uint16,
    DType::Uint32,
    DType::Uint64,
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::Fp16,
    DType::Fp32,
    DType::Fp64,
    DType::Bytes,
    DType::Bf16,
    DType::String,
    DType::Date,
    DType::Timestamp,
    DType::Vector,
    DType::Decimal
  };
  return values;
}

inline const char * const *EnumNamesDType() {
  static const char * const names[21] = {
    "Invalid",
    "Bool",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Fp16",
    "Fp32",
    "Fp64",
    "Bytes",
    "Bf16",
    "String",
    "Date",
    "Timestamp",
    "Vector",
    "Decimal",
    nullptr
  };
  return names;
}

inline const char *EnumNameDType(DType e) {
  if (flatbuffers::IsOutRange(e, DType::Invalid, DType::Decimal)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesDType()[index];
}

enum class ErrorCode : uint8_t {
  Ok = 0,
  InvalidArgument = 1,
  MalformedBody = 2,
  PathNotFound = 3,
  ModelNotFound = 4,
  SignatureNotFound = 5,
  ModelNotReady = 6,
  MethodNotAllowed = 7,
  BodyTooLarge = 8,
  UnsupportedEncoding = 9,
  QueueFull = 10,
  Unimplemented = 11,
  DeadlineExceeded = 12,
  Cancelled = 13,
  ShuttingDown = 14,
  ModelInvalid = 15,
  RuntimeUnavailable = 16,
  BackendFailed = 17,
  Internal = 18,
  MemoryFull = 19,
  LimitReached = 20,
  MIN = Ok,
  MAX = LimitReached
};

inline const ErrorCode (&EnumValuesErrorCode())[21] {
  static const ErrorCode values[] = {
    ErrorCode::Ok,
    ErrorCode::InvalidArgument,
    ErrorCode::MalformedBody,
    ErrorCode::PathNotFound,
    ErrorCode::ModelNotFound,
    ErrorCode::SignatureNotFound,
    ErrorCode::ModelNotReady,
    ErrorCode::MethodNotAllowed,
    ErrorCode::BodyTooLarge,
    ErrorCode::UnsupportedEncoding,
    ErrorCode::QueueFull,
    ErrorCode::Unimplemented,
    ErrorCode::DeadlineExceeded,
    ErrorCode::Cancelled,
    ErrorCode::ShuttingDown,
    ErrorCode::ModelInvalid,
    ErrorCode::RuntimeUnavailable,
    ErrorCode::BackendFailed,
    ErrorCode::Internal,
    ErrorCode::MemoryFull,
    ErrorCode::LimitReached
  };
  return values;
}

inline const char * const *EnumNamesErrorCode() {
  static const char * const names[22] = {
    "Ok",
    "InvalidArgument",
    "MalformedBody",
    "PathNotFound",
    "ModelNotFound",
    "SignatureNotFound",
    "ModelNotReady",
    "MethodNotAllowed",
    "BodyTooLarge",
    "UnsupportedEncoding",
    "QueueFull",
    "Unimplemented",
    "DeadlineExceeded",
    "Cancelled",
    "ShuttingDown",
    "ModelInvalid",
    "RuntimeUnavailable",
    "BackendFailed",
    "Internal",
    "MemoryFull",
    "LimitReached",
    nullptr
  };
  return names;
}

inline const char *EnumNameErrorCode(ErrorCode e) {
  if (flatbuffers::IsOutRange(e, ErrorCode::Ok, ErrorCode::LimitReached)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesErrorCode()[index];
}

enum class Protocol : uint8_t {
  V1Predict = 0,
  V2Rest = 1,
  V2Grpc = 2,
  V2GrpcStream = 3,
  TfPredict = 4,
  TfClassify = 5,
  TfRegress = 6,
  V1Classify = 7,
  V1Regress = 8,
  TfMultiInference = 9,
  MIN = V1Predict,
  MAX = TfMultiInference
};

inline const Protocol (&EnumValuesProtocol())[10] {
  static const Protocol values[] = {
    Protocol::V1Predict,
    Protocol::V2Rest,
    Protocol::V2Grpc,
    Protocol::V2GrpcStream,
    Protocol::TfPredict,
    Protocol::TfClassify,
    Protocol::TfRegress,
    Protocol::V1Classify,
    Protocol::V1Regress,
    Protocol::TfMultiInference
  };
  return values;
}

inline const char * const *EnumNamesProtocol() {
  static const char * const names[11] = {
    "V1Predict",
    "V2Rest",
    "V2Grpc",
    "V2GrpcStream",
    "TfPredict",
    "TfClassify",
    "TfRegress",
    "V1Classify",
    "V1Regress",
    "TfMultiInference",
    nullptr
  };
  return names;
}

inline const char *EnumNameProtocol(Protocol e) {
  if (flatbuffers::IsOutRange(e, Protocol::V1Predict, Protocol::TfMultiInference)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesProtocol()[index];
}

enum class CallResult : uint8_t {
  Pending = 255,
  MIN = Pending,
  MAX = Pending
};

inline const CallResult (&EnumValuesCallResult())[1] {
  static const CallResult values[] = {
    CallResult::Pending
  };
  return values;
}

inline const char * const *EnumNamesCallResult() {
  static const char * const names[2] = {
    "Pending",
    nullptr
  };
  return names;
}

inline const char *EnumNameCallResult(CallResult e) {
  if (flatbuffers::IsOutRange(e, CallResult::Pending, CallResult::Pending)) return "";
  const size_t index = static_cast<size_t>(e) - static_cast<size_t>(CallResult::Pending);
  return EnumNamesCallResult()[index];
}

enum class ListenerEvent : uint8_t {
  Open = 0,
  Message = 1,
  HalfClosed = 2,
  Closed = 3,
  Left = 4,
  Explain = 5,
  Full = 6,
  Certificates = 7,
  Drained = 8,
  HandshakeFailed = 9,
  Request = 10,
  Data = 11,
  Failed = 12,
  Refused = 13,
  ThreadAdded = 14,
  MIN = Open,
  MAX = ThreadAdded
};

inline const ListenerEvent (&EnumValuesListenerEvent())[15] {
  static const ListenerEvent values[] = {
    ListenerEvent::Open,
    ListenerEvent::Message,
    ListenerEvent::HalfClosed,
    ListenerEvent::Closed,
    ListenerEvent::Left,
    ListenerEvent::Explain,
    ListenerEvent::Full,
    ListenerEvent::Certificates,
    ListenerEvent::Drained,
    ListenerEvent::HandshakeFailed,
    ListenerEvent::Request,
    ListenerEvent::Data,
    ListenerEvent::Failed,
    ListenerEvent::Refused,
    ListenerEvent::ThreadAdded
  };
  return values;
}

inline const char * const *EnumNamesListenerEvent() {
  static const char * const names[16] = {
    "Open",
    "Message",
    "HalfClosed",
    "Closed",
    "Left",
    "Explain",
    "Full",
    "Certificates",
    "Drained",
    "HandshakeFailed",
    "Request",
    "Data",
    "Failed",
    "Refused",
    "ThreadAdded",
    nullptr
  };
  return names;
}

inline const char *EnumNameListenerEvent(ListenerEvent e) {
  if (flatbuffers::IsOutRange(e, ListenerEvent::Open, ListenerEvent::ThreadAdded)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesListenerEvent()[index];
}

enum class RequestFlag : uint8_t {
  Local = 1,
  MIN = Local,
  MAX = Local
};

inline const RequestFlag (&EnumValuesRequestFlag())[1] {
  static const RequestFlag values[] = {
    RequestFlag::Local
  };
  return values;
}

inline const char * const *EnumNamesRequestFlag() {
  static const char * const names[2] = {
    "Local",
    nullptr
  };
  return names;
}

inline const char *EnumNameRequestFlag(RequestFlag e) {
  if (flatbuffers::IsOutRange(e, RequestFlag::Local, RequestFlag::Local)) return "";
  const size_t index = static_cast<size_t>(e) - static_cast<size_t>(RequestFlag::Local);
  return EnumNamesRequestFlag()[index];
}

enum class EventWord : uint8_t {
  Kind = 0,
  Thread = 1,
  CallLow = 2,
  CallHigh = 3,
  Value = 4,
  Bytes = 5,
  Words = 6,
  MIN = Kind,
  MAX = Words
};

inline const EventWord (&EnumValuesEventWord())[7] {
  static const EventWord values[] = {
    EventWord::Kind,
    EventWord::Thread,
    EventWord::CallLow,
    EventWord::CallHigh,
    EventWord::Value,
    EventWord::Bytes,
    EventWord::Words
  };
  return values;
}

inline const char * const *EnumNamesEventWord() {
  static const char * const names[8] = {
    "Kind",
    "Thread",
    "CallLow",
    "CallHigh",
    "Value",
    "Bytes",
    "Words",
    nullptr
  };
  return names;
}

inline const char *EnumNameEventWord(EventWord e) {
  if (flatbuffers::IsOutRange(e, EventWord::Kind, EventWord::Words)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesEventWord()[index];
}

enum class ListenerCommand : uint8_t {
  Message = 0,
  Finish = 1,
  Pause = 2,
  ExplainedStatus = 3,
  ExplainedReply = 4,
  Answer = 5,
  Learn = 6,
  MIN = Message,
  MAX = Learn
};

inline const ListenerCommand (&EnumValuesListenerCommand())[7] {
  static const ListenerCommand values[] = {
    ListenerCommand::Message,
    ListenerCommand::Finish,
    ListenerCommand::Pause,
    ListenerCommand::ExplainedStatus,
    ListenerCommand::ExplainedReply,
    ListenerCommand::Answer,
    ListenerCommand::Learn
  };
  return values;
}

inline const char * const *EnumNamesListenerCommand() {
  static const char * const names[8] = {
    "Message",
    "Finish",
    "Pause",
    "ExplainedStatus",
    "ExplainedReply",
    "Answer",
    "Learn",
    nullptr
  };
  return names;
}

inline const char *EnumNameListenerCommand(ListenerCommand e) {
  if (flatbuffers::IsOutRange(e, ListenerCommand::Message, ListenerCommand::Learn)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesListenerCommand()[index];
}

enum class LinkWord : uint8_t {
  Bytes = 0,
  JsonBytes = 1,
  Ticket = 2,
  Generation = 3,
  Traced = 4,
  TraceId = 5,
  SpanId = 9,
  Ring = 16,
  MIN = Bytes,
  MAX = Ring
};

inline const LinkWord (&EnumValuesLinkWord())[8] {
  static const LinkWord values[] = {
    LinkWord::Bytes,
    LinkWord::JsonBytes,
    LinkWord::Ticket,
    LinkWord::Generation,
    LinkWord::Traced,
    LinkWord::TraceId,
    LinkWord::SpanId,
    LinkWord::Ring
  };
  return values;
}

inline const char * const *EnumNamesLinkWord() {
  static const char * const names[18] = {
    "Bytes",
    "JsonBytes",
    "Ticket",
    "Generation",
    "Traced",
    "TraceId",
    "",
    "",
    "",
    "SpanId",
    "",
    "",
    "",
    "",
    "",
    "",
    "Ring",
    nullptr
  };
  return names;
}

inline const char *EnumNameLinkWord(LinkWord e) {
  if (flatbuffers::IsOutRange(e, LinkWord::Bytes, LinkWord::Ring)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesLinkWord()[index];
}

enum class RingWord : uint8_t {
  Ticket = 0,
  Code = 1,
  Slot = 2,
  Bytes = 3,
  JsonBytes = 4,
  Generation = 5,
  LoadWaitMs = 6,
  Words = 7,
  MIN = Ticket,
  MAX = Words
};

inline const RingWord (&EnumValuesRingWord())[8] {
  static const RingWord values[] = {
    RingWord::Ticket,
    RingWord::Code,
    RingWord::Slot,
    RingWord::Bytes,
    RingWord::JsonBytes,
    RingWord::Generation,
    RingWord::LoadWaitMs,
    RingWord::Words
  };
  return values;
}

inline const char * const *EnumNamesRingWord() {
  static const char * const names[9] = {
    "Ticket",
    "Code",
    "Slot",
    "Bytes",
    "JsonBytes",
    "Generation",
    "LoadWaitMs",
    "Words",
    nullptr
  };
  return names;
}

inline const char *EnumNameRingWord(RingWord e) {
  if (flatbuffers::IsOutRange(e, RingWord::Ticket, RingWord::Words)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesRingWord()[index];
}

enum class MetricsKind : uint8_t {
  Triton = 0,
  TensorFlow = 1,
  MIN = Triton,
  MAX = TensorFlow
};

inline const MetricsKind (&EnumValuesMetricsKind())[2] {
  static const MetricsKind values[] = {
    MetricsKind::Triton,
    MetricsKind::TensorFlow
  };
  return values;
}

inline const char * const *EnumNamesMetricsKind() {
  static const char * const names[3] = {
    "Triton",
    "TensorFlow",
    nullptr
  };
  return names;
}

inline const char *EnumNameMetricsKind(MetricsKind e) {
  if (flatbuffers::IsOutRange(e, MetricsKind::Triton, MetricsKind::TensorFlow)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesMetricsKind()[index];
}

enum class PackedCoding : uint8_t {
  Gzip = 0,
  Deflate = 1,
  MIN = Gzip,
  MAX = Deflate
};

inline const PackedCoding (&EnumValuesPackedCoding())[2] {
  static const PackedCoding values[] = {
    PackedCoding::Gzip,
    PackedCoding::Deflate
  };
  return values;
}

inline const char * const *EnumNamesPackedCoding() {
  static const char * const names[3] = {
    "Gzip",
    "Deflate",
    nullptr
  };
  return names;
}

inline const char *EnumNamePackedCoding(PackedCoding e) {
  if (flatbuffers::IsOutRange(e, PackedCoding::Gzip, PackedCoding::Deflate)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesPackedCoding()[index];
}

enum class ExecMode : uint8_t {
  Auto = 0,
  Inline = 1,
  Queued = 2,
  MIN = Auto,
  MAX = Queued
};

inline const ExecMode (&EnumValuesExecMode())[3] {
  static const ExecMode values[] = {
    ExecMode::Auto,
    ExecMode::Inline,
    ExecMode::Queued
  };
  return values;
}

inline const char * const *EnumNamesExecMode() {
  static const char * const names[4] = {
    "Auto",
    "Inline",
    "Queued",
    nullptr
  };
  return names;
}

inline const char *EnumNameExecMode(ExecMode e) {
  if (flatbuffers::IsOutRange(e, ExecMode::Auto, ExecMode::Queued)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesExecMode()[index];
}

enum class BatchMode : uint8_t {
  Off = 0,
  Auto = 1,
  On = 2,
  MIN = Off,
  MAX = On
};

inline const BatchMode (&EnumValuesBatchMode())[3] {
  static const BatchMode values[] = {
    BatchMode::Off,
    BatchMode::Auto,
    BatchMode::On
  };
  return values;
}

inline const char * const *EnumNamesBatchMode() {
  static const char * const names[4] = {
    "Off",
    "Auto",
    "On",
    nullptr
  };
  return names;
}

inline const char *EnumNameBatchMode(BatchMode e) {
  if (flatbuffers::IsOutRange(e, BatchMode::Off, BatchMode::On)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesBatchMode()[index];
}

enum class RowsVerdict : uint8_t {
  Unknown = 0,
  Proved = 1,
  Coupled = 2,
  Unproved = 3,
  MIN = Unknown,
  MAX = Unproved
};

inline const RowsVerdict (&EnumValuesRowsVerdict())[4] {
  static const RowsVerdict values[] = {
    RowsVerdict::Unknown,
    RowsVerdict::Proved,
    RowsVerdict::Coupled,
    RowsVerdict::Unproved
  };
  return values;
}

inline const char * const *EnumNamesRowsVerdict() {
  static const char * const names[5] = {
    "Unknown",
    "Proved",
    "Coupled",
    "Unproved",
    nullptr
  };
  return names;
}

inline const char *EnumNameRowsVerdict(RowsVerdict e) {
  if (flatbuffers::IsOutRange(e, RowsVerdict::Unknown, RowsVerdict::Unproved)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesRowsVerdict()[index];
}

enum class BatchProof : uint8_t {
  Untried = 0,
  Proven = 1,
  Contradicted = 2,
  Undecided = 3,
  MIN = Untried,
  MAX = Undecided
};

inline const BatchProof (&EnumValuesBatchProof())[4] {
  static const BatchProof values[] = {
    BatchProof::Untried,
    BatchProof::Proven,
    BatchProof::Contradicted,
    BatchProof::Undecided
  };
  return values;
}

inline const char * const *EnumNamesBatchProof() {
  static const char * const names[5] = {
    "Untried",
    "Proven",
    "Contradicted",
    "Undecided",
    nullptr
  };
  return names;
}

inline const char *EnumNameBatchProof(BatchProof e) {
  if (flatbuffers::IsOutRange(e, BatchProof::Untried, BatchProof::Undecided)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesBatchProof()[index];
}

enum class TimeoutAction : uint8_t {
  Reject = 0,
  Delay = 1,
  MIN = Reject,
  MAX = Delay
};

inline const TimeoutAction (&EnumValuesTimeoutAction())[2] {
  static const TimeoutAction values[] = {
    TimeoutAction::Reject,
    TimeoutAction::Delay
  };
  return values;
}

inline const char * const *EnumNamesTimeoutAction() {
  static const char * const names[3] = {
    "Reject",
    "Delay",
    nullptr
  };
  return names;
}

inline const char *EnumNameTimeoutAction(TimeoutAction e) {
  if (flatbuffers::IsOutRange(e, TimeoutAction::Reject, TimeoutAction::Delay)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesTimeoutAction()[index];
}

enum class BatchInputKind : uint8_t {
  ElementCount = 0,
  AccumulatedElementCount = 1,
  AccumulatedElementCountWithZero = 2,
  MaxElementCountAsShape = 3,
  ItemShape = 4,
  ItemShapeFlatten = 5,
  MIN = ElementCount,
  MAX = ItemShapeFlatten
};

inline const BatchInputKind (&EnumValuesBatchInputKind())[6] {
  static const BatchInputKind values[] = {
    BatchInputKind::ElementCount,
    BatchInputKind::AccumulatedElementCount,
    BatchInputKind::AccumulatedElementCountWithZero,
    BatchInputKind::MaxElementCountAsShape,
    BatchInputKind::ItemShape,
    BatchInputKind::ItemShapeFlatten
  };
  return values;
}

inline const char * const *EnumNamesBatchInputKind() {
  static const char * const names[7] = {
    "ElementCount",
    "AccumulatedElementCount",
    "AccumulatedElementCountWithZero",
    "MaxElementCountAsShape",
    "ItemShape",
    "ItemShapeFlatten",
    nullptr
  };
  return names;
}

inline const char *EnumNameBatchInputKind(BatchInputKind e) {
  if (flatbuffers::IsOutRange(e, BatchInputKind::ElementCount, BatchInputKind::ItemShapeFlatten)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesBatchInputKind()[index];
}

enum class GraphUse : uint8_t {
  Required = 0,
  Optional = 1,
  Known = 2,
  MIN = Required,
  MAX = Known
};

inline const GraphUse (&EnumValuesGraphUse())[3] {
  static const GraphUse values[] = {
    GraphUse::Required,
    GraphUse::Optional,
    GraphUse::Known
  };
  return values;
}

inline const char * const *EnumNamesGraphUse() {
  static const char * const names[4] = {
    "Required",
    "Optional",
    "Known",
    nullptr
  };
  return names;
}

inline const char *EnumNameGraphUse(GraphUse e) {
  if (flatbuffers::IsOutRange(e, GraphUse::Required, GraphUse::Known)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesGraphUse()[index];
}

enum class SequenceStrategy : uint8_t {
  Direct = 0,
  Oldest = 1,
  MIN = Direct,
  MAX = Oldest
};

inline const SequenceStrategy (&EnumValuesSequenceStrategy())[2] {
  static const SequenceStrategy values[] = {
    SequenceStrategy::Direct,
    SequenceStrategy::Oldest
  };
  return values;
}

inline const char * const *EnumNamesSequenceStrategy() {
  static const char * const names[3] = {
    "Direct",
    "Oldest",
    nullptr
  };
  return names;
}

inline const char *EnumNameSequenceStrategy(SequenceStrategy e) {
  if (flatbuffers::IsOutRange(e, SequenceStrategy::Direct, SequenceStrategy::Oldest)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesSequenceStrategy()[index];
}

enum class SequenceSignal : uint8_t {
  Start = 0,
  Ready = 1,
  End = 2,
  Id = 3,
  MIN = Start,
  MAX = Id
};

inline const SequenceSignal (&EnumValuesSequenceSignal())[4] {
  static const SequenceSignal values[] = {
    SequenceSignal::Start,
    SequenceSignal::Ready,
    SequenceSignal::End,
    SequenceSignal::Id
  };
  return values;
}

inline const char * const *EnumNamesSequenceSignal() {
  static const char * const names[5] = {
    "Start",
    "Ready",
    "End",
    "Id",
    nullptr
  };
  return names;
}

inline const char *EnumNameSequenceSignal(SequenceSignal e) {
  if (flatbuffers::IsOutRange(e, SequenceSignal::Start, SequenceSignal::Id)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesSequenceSignal()[index];
}

enum class MissingPart : uint8_t {
  Model = 0,
  Version = 1,
  Label = 2,
  Ready = 3,
  Number = 4,
  Int64 = 5,
  Signature = 6,
  Limit = 7,
  MIN = Model,
  MAX = Limit
};

inline const MissingPart (&EnumValuesMissingPart())[8] {
  static const MissingPart values[] = {
    MissingPart::Model,
    MissingPart::Version,
    MissingPart::Label,
    MissingPart::Ready,
    MissingPart::Number,
    MissingPart::Int64,
    MissingPart::Signature,
    MissingPart::Limit
  };
  return values;
}

inline const char * const *EnumNamesMissingPart() {
  static const char * const names[9] = {
    "Model",
    "Version",
    "Label",
    "Ready",
    "Number",
    "Int64",
    "Signature",
    "Limit",
    nullptr
  };
  return names;
}

inline const char *EnumNameMissingPart(MissingPart e) {
  if (flatbuffers::IsOutRange(e, MissingPart::Model, MissingPart::Limit)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesMissingPart()[index];
}

}  // namespace fb
}  // namespace serval
