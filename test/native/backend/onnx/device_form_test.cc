// The GPU form of an imported graph: which of our operators are replaced by ONNX's, in bodies as
// well, and which are kept.
#include "backend/onnx/device_form.h"

#include <gtest/gtest.h>

#include "support/onnx_writer.h"

namespace serval {
namespace {

// "domain:op(inputs)->outputs" of each node of the graph, separated by blanks.
std::string nodes_of(std::string_view model) {
  std::string text;
  (void)ort::for_fields(ort::bytes_of(model), [&](const WireField& field) {
    if (field.number() != ort::ModelProto::kGraph) return true;
    return ort::for_fields(field.bytes, [&](const WireField& inner) {
      ort::OnnxNode node;
      if (inner.number() != ort::GraphProto::kNode) return true;
      EXPECT_TRUE(ort::read_node(inner.bytes, node));
      text += (text.empty() ? "" : " ") + std::string(node.domain) + ":" + std::string(node.op);
      char mark = '(';
      for (const std::string_view name : node.inputs) {
        text += mark + std::string(name);
        mark = ',';
      }
      text += ")";
      return true;
    });
  });
  return text;
}

std::string form_of(const onnx::Model& model, ort::IndexChecks checks) {
  const std::string bytes = model.to_bytes();
  return nodes_of(ort::device_form(ort::bytes_of(bytes), checks));
}

TEST(DeviceForm, PutsOnnxOperatorsInPlaceOfOurs) {
  onnx::Model model;
  model.node("ReduceMax", {"axes", "x"}, {"y"}, {}, "serval");
  model.node("WithoutNan", {"x"}, {"z"}, {}, "serval");
  model.node("TopK", {"k", "x"}, {"v", "i"}, {onnx::attribute("index_type", int64_t{6})}, "serval");
  model.node("StringLower", {"s"}, {"t"}, {}, "serval");
  model.node("CheckIndices", {"bound", "at"}, {"in"}, {}, "serval");
  const std::string start =
      ":ReduceMax(x,axes) :Identity(x) :Cast(k) :TopK(x,serval_device_2_k) "
      ":Cast(serval_device_2_i) serval:StringLower(s) ";
  EXPECT_EQ(form_of(model, ort::IndexChecks::Keep), start + "serval:CheckIndices(bound,at)");
  EXPECT_EQ(form_of(model, ort::IndexChecks::Drop), start + ":Identity(at)");
}

TEST(DeviceForm, LeavesOtherModelsAlone) {
  EXPECT_EQ(form_of(onnx::half_plus_three(), ort::IndexChecks::Drop), "");
  EXPECT_EQ(ort::device_form(ort::bytes_of("no model"), ort::IndexChecks::Keep), "");
}

}  // namespace
}  // namespace serval
