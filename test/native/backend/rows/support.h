// Small models for the proof of rows, and its verdicts as text. Test code.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/rows/prove.h"
#include "support/onnx_writer.h"

namespace serval::rows::test {

using onnx::attribute;
using onnx::Dim;
using onnx::Dims;
using onnx::Message;
using onnx::Model;

inline Dims rows_of(std::vector<Dim> inner) {
  inner.insert(inner.begin(), Dim(std::string("n")));
  return inner;
}

// A model with x, float [n, inner...], whose last node computes y.
class Graph {
 public:
  explicit Graph(std::vector<Dim> inner = {int64_t{4}}, int64_t opset = 18) {
    model_.opset = opset;
    model_.domains = {{"com.microsoft", 1}, {"ai.onnx.ml", 3}, {"serval", 1}};
    model_.input("x", onnx::kFloat, rows_of(std::move(inner)));
  }
  Graph& input(std::string_view name, std::vector<Dim> inner, int type = onnx::kFloat) {
    model_.input(name, type, rows_of(std::move(inner)));
    return *this;
  }
  Graph& integers(std::string_view name, const std::vector<int64_t>& values) {
    model_.initializer<int64_t>(name, onnx::kInt64, {static_cast<int64_t>(values.size())}, values);
    return *this;
  }
  Graph& number(std::string_view name, int64_t value) {
    model_.initializer<int64_t>(name, onnx::kInt64, {}, {value});
    return *this;
  }
  Graph& floats(std::string_view name, const std::vector<int64_t>& dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    const std::vector<float> ones(static_cast<size_t>(count), 1.0F);
    model_.initializer<float>(name, onnx::kFloat, dims, ones);
    return *this;
  }
  Graph& node(std::string_view op, const std::vector<std::string>& inputs,
              const std::vector<std::string>& outputs, const std::vector<Message>& attributes = {},
              std::string_view domain = {}) {
    model_.node(op, inputs, outputs, attributes, domain);
    return *this;
  }
  RowsProof proof() const {
    Model model = model_;
    model.output("y", onnx::kFloat, std::nullopt);
    const std::string bytes = model.to_bytes();
    return prove_model(ort::bytes_of(bytes), {});
  }
  Model& model() { return model_; }

 private:
  Model model_;
};

inline Message axis(int64_t value) { return attribute("axis", value); }

inline void expect_proved(const Graph& graph, const std::string& what = "") {
  const RowsProof proof = graph.proof();
  EXPECT_EQ(proof.verdict, RowsVerdict::Proved) << what << ": " << proof.text;
  EXPECT_EQ(proof.text, "") << what;
}

// Expects a message that contains `part` and the node's name.
inline void expect_coupled(const Graph& graph, const std::string& part) {
  const RowsProof proof = graph.proof();
  EXPECT_EQ(proof.verdict, RowsVerdict::Coupled) << part << ": " << proof.text;
  EXPECT_NE(proof.text.find(part), std::string::npos) << proof.text;
}

inline void expect_unproved(const Graph& graph, const std::string& part) {
  const RowsProof proof = graph.proof();
  EXPECT_EQ(proof.verdict, RowsVerdict::Unproved) << part << ": " << proof.text;
  EXPECT_NE(proof.text.find(part), std::string::npos) << proof.text;
}

}  // namespace serval::rows::test
