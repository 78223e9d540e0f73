// Random graphs: runs of rows alone and together never contradict what the graph proves.
// SERVAL_RANDOM_GRAPHS=30000 tries 30,000 graphs instead of 1,000.
#include "engine/engine_fixture.h"
#include "engine/model/batch_probe.h"
#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

using onnx::attribute;
using onnx::Dim;
using onnx::Dims;
using onnx::Message;

// Pseudo-random numbers that are the same in every run.
class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed) {}
  size_t below(size_t limit) {
    state_ = state_ * 1664525u + 1013904223u;
    return (state_ >> 16) % limit;
  }
  template <typename T, size_t Size>
  const T& of(const T (&list)[Size]) {
    return list[below(Size)];
  }

 private:
  uint32_t state_;
};

constexpr int64_t kWidth = 4;

// A graph of floats under construction: operators with random axes, shapes and constants, with or
// without couplings. Many do not load, or refuse every row.
class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {
    model_.opset = 18;
    const Dims dims = std::vector<Dim>{std::string(), kWidth};
    model_.input("x", onnx::kFloat, dims);
    const std::vector<float> weights = {0.5F, -1, 2, 0.25F, 1, 3,     -2, 0.75F,
                                        -1,   1,  4, 0.5F,  2, -0.5F, 1,  1.5F};
    model_.initializer<float>("w", onnx::kFloat, {kWidth, kWidth}, weights);
    model_.initializer<float>("v", onnx::kFloat, {kWidth}, {1, -2, 0.5F, 3});
    model_.initializer<float>("s", onnx::kFloat, {}, {0.5F});
    number("m2", {-2}).number("m1", {-1}).number("i0", {0}).number("i1", {1}).number("i2", {2});
    number("r42", {-1, 2, 2}).number("r4", {-1, 4}).number("r2", {-1, 2}).number("r22", {2, -1});
    number("r0", {0, -1}).number("t12", {1, 2}).number("t21", {2, 1}).number("back", {-1000});
    known_ = {"x", "x", "x", "v", "s"};
  }

  onnx::Model model(size_t steps) {
    for (size_t i = 0; i < steps; ++i) known_.push_back(step(known()));
    model_.node("Identity", {known_.back()}, {"y"});
    return model_.output("y", onnx::kFloat, std::nullopt);
  }

 private:
  Maker& number(std::string_view name, const std::vector<int64_t>& values) {
    const auto size = static_cast<int64_t>(values.size());
    model_.initializer<int64_t>(name, onnx::kInt64, {size}, values);
    return *this;
  }
  // Later names are more likely.
  std::string known() {
    const size_t back = std::min(random_.below(4), known_.size() - 1);
    return random_.below(3) == 0 ? known_[random_.below(known_.size())]
                                 : known_[known_.size() - 1 - back];
  }
  std::string made() { return "t" + std::to_string(count_++); }
  std::string node(std::string_view op, const std::vector<std::string>& inputs,
                   const std::vector<Message>& attributes = {}) {
    const std::string out = made();
    model_.node(op, inputs, {out}, attributes);
    return out;
  }
  Message axis() { return attribute("axis", static_cast<int64_t>(random_.below(3)) - 1); }
  std::string index() {
    static const char* const kIndices[] = {"i0", "i1", "m1", "m2"};
    return random_.of(kIndices);
  }

  std::string shaped(const std::string& from) {
    static const char* const kShapes[] = {"r42", "r4", "r4", "r2", "r22", "r0"};
    switch (random_.below(7)) {
      case 0: return node("Transpose", {from});
      case 1: return node("Unsqueeze", {from, index()});
      case 2:
        return node("Squeeze",
                    random_.below(2) == 0 ? std::vector{from} : std::vector{from, index()});
      case 3: return node("Flatten", {from}, {axis()});
      case 4: return node("Expand", {from, node("Shape", {known()})});
      case 5: return node("Tile", {from, random_.below(2) == 0 ? "t12" : "t21"});
      default: return node("Reshape", {from, random_.of(kShapes)});
    }
  }
  // Reshapes the rows by the sizes of another tensor.
  std::string sized(const std::string& from) {
    const std::string size = node("Gather", {node("Shape", {known()}), index()}, {});
    switch (random_.below(4)) {
      case 0:
        return node("Reshape",
                    {from, node("Concat", {size, "m1"}, {attribute("axis", int64_t{0})})});
      case 1: return node("Slice", {from, "i0", size, index()});
      case 2: {
        const std::string scalar = node("Squeeze", {size});
        const std::string range =
            node("Range", {node("Squeeze", {"i0"}), scalar, node("Squeeze", {"i1"})});
        return node("Gather", {from, range}, {axis()});
      }
      default:
        return node("Add", {from, node("Cast", {size}, {attribute("to", int64_t{onnx::kFloat})})});
    }
  }
  std::string reduced(const std::string& from) {
    static const char* const kOps[] = {"ReduceMean", "ReduceMax", "ReduceSum"};
    const Message keeps = attribute("keepdims", static_cast<int64_t>(random_.below(2)));
    if (random_.below(4) == 0) return node(random_.of(kOps), {from}, {keeps});
    return node(random_.of(kOps), {from, index()}, {keeps});
  }
  std::string chosen(const std::string& from) {
    switch (random_.below(6)) {
      case 0: return node("Gather", {from, index()}, {axis()});
      case 1: return node("Slice", {from, "i0", index(), index()});
      case 2: return node("Slice", {from, "m1", "back", index(), "m1"});
      case 3: return node("CumSum", {from, node("Squeeze", {index()})});
      case 4: {
        const std::string places = node("ArgMax", {from}, {axis()});
        return node("Gather", {known(), places}, {axis()});
      }
      default: {
        const std::string places = node("ArgMax", {from}, {axis()});
        return node("GatherElements", {known(), places}, {axis()});
      }
    }
  }
  // Three steps of a body, or a branch on a value that may depend on the rows.
  std::string bodied(const std::string& from) {
    onnx::Model body;
    body.graph.bytes(2, "body");
    const std::string in = made(), out = made();
    static const char* const kOps[] = {"Tanh", "Softmax", "Neg"};
    const std::string captured = known();
    const bool meets = random_.below(2) == 0;
    const bool loops = random_.below(2) == 0;
    const std::string value = loops ? in : from;
    if (loops) {
      body.input("i" + out, onnx::kInt64, std::vector<Dim>{});
      body.input("more" + out, onnx::kBool, std::vector<Dim>{});
      body.input(in, onnx::kFloat, std::nullopt);
      body.node("Identity", {"more" + out}, {"go" + out});
      body.output("go" + out, onnx::kBool, std::vector<Dim>{});
    }
    const char* op = random_.of(kOps);
    std::vector<Message> attributes;
    if (std::string_view(op) == "Softmax") attributes.push_back(axis());
    if (meets)
      body.node("Add", {value, captured}, {"a" + out}).node(op, {"a" + out}, {out}, attributes);
    else body.node(op, {value}, {out}, attributes);
    body.output(out, onnx::kFloat, std::nullopt);
    const std::string by = random_.below(3) == 0 ? known() : "s";
    const std::string one = node("ReduceMax", {by}, {attribute("keepdims", int64_t{0})});
    const int64_t type = loops ? onnx::kInt64 : onnx::kBool;
    const std::string decides = node("Cast", {node("Ceil", {one})}, {attribute("to", type)});
    if (loops)
      return node("Loop", {decides, "", from}, {onnx::graph_attribute("body", body.graph)});
    onnx::Model other;
    other.graph.bytes(2, "other");
    other.node("Identity", {from}, {"o" + out}).output("o" + out, onnx::kFloat, std::nullopt);
    return node("If", {decides},
                {onnx::graph_attribute("then_branch", body.graph),
                 onnx::graph_attribute("else_branch", other.graph)});
  }
  std::string step(const std::string& from) {
    static const char* const kOnes[] = {"Tanh", "Relu", "Neg", "Abs"};
    static const char* const kTwos[] = {"Add", "Mul", "Sub", "Max"};
    switch (random_.below(12)) {
      case 0: return node(random_.of(kOnes), {from});
      case 1:
      case 2: return node(random_.of(kTwos), {from, known()});
      case 3: return node("MatMul", {from, random_.below(2) == 0 ? "w" : known()});
      case 4: return node("Softmax", {from}, {axis()});
      case 5:
      case 6: return shaped(from);
      case 7: return sized(from);
      case 8: return reduced(from);
      case 9: return chosen(from);
      case 10: return bodied(from);
      default: return node("Concat", {from, known()}, {axis()});
    }
  }

  Random random_;
  onnx::Model model_;
  std::vector<std::string> known_;
  size_t count_ = 0;
};

class RandomGraphsTest : public OnnxRuntimeTest {};

TEST_F(RandomGraphsTest, WhatIsProvedIsNeverContradicted) {
  const char* const more = std::getenv("SERVAL_RANDOM_GRAPHS");
  const auto graphs = static_cast<uint32_t>(more == nullptr ? 1'000 : std::atoi(more));
  size_t loaded = 0, proved = 0, coupled = 0;
  for (uint32_t seed = 1; seed <= graphs; ++seed) {
    const onnx::Model model = Maker(seed).model(1 + seed % 6);
    ModelSpec spec;
    spec.backend = "onnxruntime";
    spec.batch.mode = BatchMode::Auto;
    spec.batch.rows_max = 4;
    const Result<std::shared_ptr<BackendModel>> made = try_load(model, spec);
    if (!made.ok()) continue;
    ++loaded;
    BackendModel& backend = *made.value();
    const Result<ModelShapes> shapes = ModelShapes::make(spec, backend.info().signatures);
    if (!shapes.ok()) continue;
    const BatchFinding found = probe_batching(spec, shapes.value(), backend, 60'000'000'000);
    // A batch that is refused is run again row by row, so no response is wrong. Nodes that no
    // output needs are refused this way.
    const bool refused = found.text.find("in one batch are refused") != std::string::npos;
    ASSERT_FALSE(found.proof == BatchProof::Contradicted && !refused)
        << "seed " << seed << ": " << found.text;
    proved += found.proof == BatchProof::Proven ? 1 : 0;
    coupled += backend.info().rows[0].verdict == RowsVerdict::Proved ? 0 : 1;
  }
  EXPECT_GT(loaded, graphs / 4);
  EXPECT_GT(proved, graphs / 20);
  EXPECT_GT(coupled, graphs / 20);
}

}  // namespace
}  // namespace serval
