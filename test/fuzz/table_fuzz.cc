// libFuzzer target for the decoders of tabular models: decoded fields match their declarations, and
// their response as V2 JSON is decoded to the same fields. The first byte chooses the protocol (bit
// 4: TensorFlow's Predict) and the model, the second is a length of JSON before binary data. Seeds:
// corpus/table.
#include <cstdio>
#include <cstdlib>

#include "support/table_check.h"

namespace {

using namespace serval;
using namespace serval::test;

// Typed fields as in PMML and MLeap, and Spark's, which accept any type.
TableModel model_of(unsigned choice) {
  std::vector<FieldSpec> fields;
  switch (choice) {
    case 0:
      fields = {field("a", Type::Double), field("b", Type::Int32), field("c", Type::String)};
      break;
    case 1: fields = {any_field("a"), any_field("b", Type::Vector), any_field("c")}; break;
    case 2:
      fields = {pmml_field("a", Type::Float), pmml_field("b", Type::Int64),
                pmml_field("c", Type::Timestamp)};
      break;
    default: fields = {vector_field("a", 2), list_field("b", Type::String), field("c", Type::Date)};
  }
  for (FieldSpec& one : fields) one.optional = true;
  TableModel model(fields, {field("y", Type::Double)});
  model.table.nan_is_missing = choice == 2;
  return model;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const TableModel model = model_of((data[0] >> 2) & 3u);
  const std::string_view body(reinterpret_cast<const char*>(data + 2), size - 2);
  constexpr fb::Protocol kProtocols[] = {fb::Protocol::V2Grpc, fb::Protocol::V2Rest,
                                         fb::Protocol::V2Rest, fb::Protocol::V1Predict};
  const unsigned protocol = data[0] & 3u;
  const int64_t header = protocol == 2 ? int64_t{data[1]} * 4 : -1;
  Limits limits;
  limits.json_depth_max = 16;
  const bool is_predict = (data[0] & 16u) != 0;
  const fb::Protocol chosen = is_predict ? fb::Protocol::TfPredict : kProtocols[protocol];
  const TableDecoded decoded(chosen, model, body, header, limits);
  if (!decoded.ok()) {
    if (!decoded.error().empty()) return 0;
    std::fprintf(stderr, "table: an error without a text\n");
    std::abort();
  }
  const bool has_decimals = std::ranges::any_of(
      decoded.request().inputs, [](const TensorView& one) { return one.dtype == DType::Decimal; });
  const std::string fault = has_decimals ? "" : fault_of(model, decoded.request());
  if (fault.empty()) return 0;
  std::fprintf(stderr, "table: %s\n", fault.c_str());
  std::abort();
}
