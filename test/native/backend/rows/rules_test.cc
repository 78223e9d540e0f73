// The rules of the proof of rows, family by family: what is proved and what is not, with the
// messages that name the node.
#include "backend/rows/support.h"

namespace serval::rows::test {
namespace {

constexpr int64_t k0 = 0, k1 = 1;

TEST(RowsRules, ElementsMeetOnlyTheirOwnRow) {
  expect_proved(Graph().node("Tanh", {"x"}, {"y"}));
  expect_proved(Graph().floats("b", {4}).node("Add", {"x", "b"}, {"y"}));
  expect_proved(Graph().floats("b", {1, 4}).node("Add", {"x", "b"}, {"y"}));
  expect_proved(Graph().input("z", {k1}).node("Mul", {"x", "z"}, {"y"}));
  expect_unproved(Graph().floats("b", {3, 4}).node("Add", {"x", "b"}, {"y"}),
                  "node 'Add_0' (Add): an input that is the same for all rows has 3 entries");
  // [n, 4] and [n, 1, 4]: every row is combined with all others.
  expect_coupled(Graph().input("z", {k1, int64_t{4}}).node("Add", {"x", "z"}, {"y"}),
                 "rows of one input are combined with all rows of another");
  expect_unproved(Graph().node("MeltingPot", {"x"}, {"y"}),
                  "(MeltingPot): no rule proves that this operator keeps rows independent");
}

TEST(RowsRules, ReshapesKeepRowsAsTheMajorPartOfAnAxis) {
  const std::vector<Dim> inner = {std::string("t"), int64_t{6}};
  expect_proved(Graph(inner)
                    .integers("flat", {-1, 6})
                    .floats("w", {6, 6})
                    .node("Reshape", {"x", "flat"}, {"f"})
                    .node("MatMul", {"f", "w"}, {"m"})
                    .node("Shape", {"x"}, {"s"})
                    .node("Reshape", {"m", "s"}, {"y"}),
                "TimeDistributed");
  expect_proved(Graph({int64_t{6}}).integers("s", {-1, 2, 3}).node("Reshape", {"x", "s"}, {"y"}));
  expect_proved(Graph({int64_t{6}}).integers("s", {0, -1}).node("Reshape", {"x", "s"}, {"y"}));
  expect_proved(Graph({int64_t{2}, int64_t{3}}).node("Flatten", {"x"}, {"y"}));
  expect_coupled(Graph({int64_t{6}}).integers("s", {6, -1}).node("Reshape", {"x", "s"}, {"y"}),
                 "the new shape splits rows");
  expect_unproved(Graph({int64_t{6}}).integers("s", {-1, 4}).node("Reshape", {"x", "s"}, {"y"}),
                  "may not contain whole rows");
  expect_coupled(Graph({int64_t{6}}).integers("s", {1, -1}).node("Reshape", {"x", "s"}, {"y"}),
                 "its rows are on axis 1");
  expect_coupled(Graph({int64_t{6}}).integers("s", {-1, 3}).node("Reshape", {"x", "s"}, {"y"}),
                 "it does not have exactly one entry for each row");
  expect_coupled(Graph({int64_t{2}}).node("Flatten", {"x"}, {"y"}, {axis(0)}),
                 "its rows are on axis 1");
}

TEST(RowsRules, AxesMoveWithTheRows) {
  const auto swap = attribute("perm", std::vector<int64_t>{1, 0});
  expect_proved(
      Graph().node("Transpose", {"x"}, {"t"}, {swap}).node("Transpose", {"t"}, {"y"}, {swap}));
  expect_coupled(Graph().node("Transpose", {"x"}, {"y"}), "its rows are on axis 1");
  expect_proved(Graph({k1, int64_t{4}}).integers("a", {1}).node("Squeeze", {"x", "a"}, {"y"}));
  expect_coupled(Graph({k1, int64_t{4}}).node("Squeeze", {"x"}, {"y"}), "without axes");
  expect_coupled(Graph().integers("a", {0}).node("Squeeze", {"x", "a"}, {"y"}),
                 "it drops the batch axis");
  expect_proved(Graph().integers("a", {2}).node("Unsqueeze", {"x", "a"}, {"y"}));
  expect_coupled(Graph().integers("a", {0}).node("Unsqueeze", {"x", "a"}, {"y"}),
                 "its rows are on axis 1");
  expect_proved(Graph().node("Concat", {"x", "x"}, {"y"}, {axis(1)}));
  expect_coupled(Graph().node("Concat", {"x", "x"}, {"y"}, {axis(0)}), "rows are concatenated");
  expect_proved(Graph().node("Split", {"x"}, {"y", "z"}, {axis(1)}));
  expect_coupled(Graph().node("Split", {"x"}, {"y", "z"}, {axis(0)}), "it splits the rows");
}

TEST(RowsRules, PartsOfOtherAxesAreTakenAndAdded) {
  const auto slice = [](int64_t along, int64_t from, int64_t to) {
    return Graph()
        .integers("from", {from})
        .integers("to", {to})
        .integers("axes", {along})
        .node("Slice", {"x", "from", "to", "axes"}, {"y"});
  };
  expect_proved(slice(1, 0, 2));
  expect_proved(slice(0, 0, INT64_MAX));
  expect_coupled(slice(0, 0, 1), "it selects some of the rows");
  expect_proved(Graph().integers("p", {0, 1, 0, 1}).node("Pad", {"x", "p"}, {"y"}));
  expect_coupled(Graph().integers("p", {1, 0, 0, 0}).node("Pad", {"x", "p"}, {"y"}),
                 "it adds rows");
  expect_proved(Graph().integers("r", {1, 2}).node("Tile", {"x", "r"}, {"y"}));
  expect_coupled(Graph().integers("r", {2, 1}).node("Tile", {"x", "r"}, {"y"}),
                 "it repeats all rows");
  // A constant that every row is given, such as a class token.
  expect_proved(Graph({int64_t{3}, int64_t{4}})
                    .floats("token", {1, 1, 4})
                    .integers("one", {1})
                    .integers("four", {4})
                    .integers("zero", {0})
                    .node("Shape", {"x"}, {"s"})
                    .node("Gather", {"s", "zero"}, {"n"})
                    .node("Concat", {"n", "one", "four"}, {"to"}, {axis(0)})
                    .node("Expand", {"token", "to"}, {"tokens"})
                    .node("Concat", {"tokens", "x"}, {"y"}, {axis(1)}));
  // A length that equals that of the longest row.
  expect_coupled(Graph()
                     .integers("axes", {1})
                     .integers("from", {0})
                     .integers("one", {1})
                     .node("ReduceSum", {"x", "axes"}, {"lengths"}, {attribute("keepdims", k0)})
                     .node("ReduceMax", {"lengths"}, {"most"})
                     .node("Slice", {"x", "from", "most", "one"}, {"y"}),
                 "node 'ReduceMax_1' (ReduceMax): it reduces the batch axis");
}

TEST(RowsRules, IndicesStayWithinTheRow) {
  expect_proved(Graph().integers("i", {2, 1}).node("Gather", {"x", "i"}, {"y"}, {axis(1)}));
  expect_coupled(Graph().integers("i", {0, 0}).node("Gather", {"x", "i"}, {"y"}),
                 "it selects rows by their index");
  Graph table({int64_t{2}});
  table.floats("t", {10, 3}).input("ids", {int64_t{5}}, onnx::kInt64);
  expect_proved(table.node("Gather", {"t", "ids"}, {"y"}));
  Graph crossed;
  crossed.input("ids", {int64_t{5}}, onnx::kInt64);
  expect_coupled(crossed.node("Gather", {"x", "ids"}, {"y"}, {axis(1)}),
                 "every row is combined with the indices of all rows");
  Graph elements;
  elements.input("ids", {int64_t{2}}, onnx::kInt64);
  expect_proved(elements.node("GatherElements", {"x", "ids"}, {"y"}, {axis(1)}));
  Graph nd({int64_t{4}, int64_t{3}});
  nd.input("ids", {int64_t{2}, k1}, onnx::kInt64);
  expect_proved(nd.node("GatherND", {"x", "ids"}, {"y"}, {attribute("batch_dims", k1)}));
  // x[arange(n), argmax], as exporters of pooled text towers write it.
  const auto picked = [](const char* positions) {
    return Graph({int64_t{4}, int64_t{3}})
        .input("ids", {int64_t{4}}, onnx::kInt64)
        .number("zero", 0)
        .number("one", 1)
        .integers("last", {-1})
        .node("Shape", {"x"}, {"s"})
        .node("Gather", {"s", "zero"}, {"n"})
        .node("Range", {"zero", "n", "one"}, {"numbers"})
        .node("ArgMax", {"ids"}, {"positions"}, {axis(1), attribute("keepdims", k0)})
        .node("Unsqueeze", {"numbers", "last"}, {"column"})
        .node("Unsqueeze", {positions, "last"}, {"other"})
        .node("Concat", {"column", "other"}, {"index"}, {axis(-1)})
        .node("GatherND", {"x", "index"}, {"y"});
  };
  expect_proved(picked("positions"));
  expect_coupled(picked("numbers"), "its indices may refer to other rows");
}

TEST(RowsRules, SumsOfProductsGoOverOtherAxes) {
  expect_proved(Graph().floats("w", {4, 3}).node("MatMul", {"x", "w"}, {"y"}));
  expect_proved(Graph().floats("w", {4, 3}).floats("b", {3}).node("Gemm", {"x", "w", "b"}, {"y"}));
  expect_coupled(Graph().node("Transpose", {"x"}, {"t"}).node("MatMul", {"x", "t"}, {"y"}),
                 "rows of one input are combined with all rows of another");
  expect_coupled(
      Graph().floats("w", {4, 3}).node("Transpose", {"x"}, {"t"}).node("MatMul", {"t", "x"}, {"y"}),
      "the sum is computed over the rows");
  const std::vector<Dim> heads = {int64_t{2}, int64_t{3}, int64_t{4}};
  const auto attention = [&](std::vector<int64_t> perm) {
    return Graph(heads)
        .input("k", {int64_t{2}, int64_t{3}, int64_t{4}})
        .node("Transpose", {"k"}, {"kt"}, {attribute("perm", perm)})
        .node("MatMul", {"x", "kt"}, {"scores"})
        .node("Softmax", {"scores"}, {"p"}, {axis(-1)})
        .node("MatMul", {"p", "k"}, {"y"});
  };
  expect_proved(attention({0, 1, 3, 2}));
  const auto einsum = [](const std::string& equation) {
    return Graph()
        .input("z", {int64_t{4}})
        .node("Einsum", {"x", "z"}, {"y"},
              {Message().bytes(1, "equation").bytes(4, equation).varint(20, 3)});
  };
  expect_proved(einsum("bi,bi->b"));
  expect_proved(einsum("...i,...i->..."));
  expect_coupled(einsum("bi,ci->bc"), "rows of one input are combined with all rows of another");
  expect_coupled(einsum("bi,bi->i"), "the sum is computed over the rows");
}

TEST(RowsRules, WindowsAndNormalisationsStayWithinTheRow) {
  const std::vector<Dim> picture = {int64_t{3}, int64_t{8}, int64_t{8}};
  expect_proved(Graph(picture).floats("w", {5, 3, 3, 3}).node("Conv", {"x", "w"}, {"y"}));
  expect_proved(
      Graph(picture).node("GlobalAveragePool", {"x"}, {"p"}).node("Flatten", {"p"}, {"y"}));
  expect_coupled(
      Graph(picture)
          .node("Transpose", {"x"}, {"t"}, {attribute("perm", std::vector<int64_t>{1, 0, 2, 3})})
          .node("GlobalMaxPool", {"t"}, {"y"}),
      "its windows span the batch axis");
  const auto normal = [&](int64_t training) {
    return Graph(picture, 17)
        .floats("g", {3})
        .floats("b", {3})
        .floats("m", {3})
        .floats("v", {3})
        .node("BatchNormalization", {"x", "g", "b", "m", "v"}, {"y", "m1", "v1"},
              {attribute("training_mode", training)});
  };
  expect_proved(normal(0));
  expect_coupled(normal(1), "it runs in training mode");
  expect_proved(Graph().floats("g", {4}).node("LayerNormalization", {"x", "g"}, {"y"}));
  expect_coupled(
      Graph().floats("g", {1, 4}).node("LayerNormalization", {"x", "g"}, {"y"}, {axis(0)}),
      "the mean is computed over the rows");
  expect_coupled(Graph(picture).node("MeanVarianceNormalization", {"x"}, {"y"}),
                 "the mean is computed over the rows");
  expect_proved(Graph().node("Softmax", {"x"}, {"y"}));
  expect_coupled(Graph().node("Softmax", {"x"}, {"y"}, {axis(0)}),
                 "the sum is computed over the rows");
  // Before opset 13 the sum covers all axes from `axis` on.
  expect_proved(Graph(picture, 11).node("Softmax", {"x"}, {"y"}, {axis(2)}));
  expect_coupled(Graph(picture, 11).node("Softmax", {"x"}, {"y"}, {axis(0)}),
                 "the sum is computed over the rows");
}

TEST(RowsRules, ReductionsAndOrderGoOverOtherAxes) {
  expect_proved(Graph().integers("a", {1}).node("ReduceSum", {"x", "a"}, {"y"}));
  expect_coupled(Graph().node("ReduceMean", {"x"}, {"y"}), "it reduces the batch axis");
  expect_coupled(Graph().integers("a", {-2}).node("ReduceMax", {"x", "a"}, {"y"}),
                 "it reduces the batch axis");
  expect_proved(Graph().node("ReduceSum", {"x"}, {"y"}, {attribute("noop_with_empty_axes", k1)}));
  expect_proved(Graph().node("ArgMax", {"x"}, {"y"}, {axis(1), attribute("keepdims", k0)}));
  expect_coupled(Graph().node("ArgMax", {"x"}, {"y"}), "it reduces the batch axis");
  expect_proved(Graph().integers("k", {2}).node("TopK", {"x", "k"}, {"v", "y"}));
  expect_coupled(Graph().integers("k", {1}).node("TopK", {"x", "k"}, {"v", "y"}, {axis(0)}),
                 "it orders the rows");
  expect_proved(Graph().number("a", 1).node("CumSum", {"x", "a"}, {"y"}));
  expect_coupled(Graph().number("a", 0).node("CumSum", {"x", "a"}, {"y"}),
                 "it reduces the batch axis");
}

TEST(RowsRules, RecurrentLayersHaveTheirRowsOnTheBatchAxis) {
  const auto lstm = [](bool turned) {
    Graph graph({int64_t{5}, int64_t{3}});
    graph.floats("w", {1, 8, 3}).floats("r", {1, 8, 2}).integers("one", {1});
    const auto perm = attribute("perm", std::vector<int64_t>{1, 0, 2});
    graph.node(turned ? "Transpose" : "Identity", {"x"}, {"t"},
               turned ? std::vector<Message>{perm} : std::vector<Message>{});
    graph.node("LSTM", {"t", "w", "r"}, {"all", "last"}, {attribute("hidden_size", int64_t{2})});
    graph.integers("zero", {0});
    return graph.node("Squeeze", {"last", "zero"}, {"y"});
  };
  expect_proved(lstm(true));
  expect_coupled(lstm(false), "the rows are the steps of the sequence");
}

TEST(RowsRules, QuantisedModelsHaveScalesOfTheirOwn) {
  expect_proved(Graph()
                    .floats("s", {})
                    .node("QuantizeLinear", {"x", "s"}, {"q"})
                    .node("DequantizeLinear", {"q", "s"}, {"y"}));
  expect_coupled(
      Graph().node("DynamicQuantizeLinear", {"x"}, {"y", "s", "z"}),
      "node 'DynamicQuantizeLinear_0' (DynamicQuantizeLinear): its scale is computed from the "
      "whole batch");
  expect_coupled(Graph()
                     .node("Abs", {"x"}, {"a"})
                     .node("ReduceMax", {"a"}, {"s"}, {attribute("keepdims", k0)})
                     .node("QuantizeLinear", {"x", "s"}, {"y"}),
                 "node 'ReduceMax_1'");
}

TEST(RowsRules, TextIsNotPaddedToTheLongestRow) {
  Graph split;
  split.model() = Model();
  split.model().opset = 20;
  split.model().input("x", onnx::kString, rows_of({k1}));
  expect_coupled(split.node("StringSplit", {"x"}, {"y", "count"}),
                 "the row with the most parts sets the length of all");
  expect_proved(Graph().node("StringLower", {"x"}, {"y"}, {}, "serval"));
}

TEST(RowsRules, RandomNumbersAreNeverProved) {
  for (const char* op : {"RandomUniformLike", "RandomNormalLike", "Bernoulli"}) {
    expect_coupled(Graph().node(op, {"x"}, {"y"}), "it draws random numbers");
  }
  expect_coupled(
      Graph()
          .node("RandomUniform", {}, {"r"}, {attribute("shape", std::vector<int64_t>{1, 4})})
          .node("Add", {"x", "r"}, {"y"}),
      "node 'RandomUniform_0' (RandomUniform): it draws random numbers");
}

TEST(RowsRules, TheNumberOfRowsIsNoNumberToComputeWith) {
  const auto by_rows = [](const char* op) {
    return Graph()
        .number("zero", 0)
        .node("Shape", {"x"}, {"s"})
        .node("Gather", {"s", "zero"}, {"n"})
        .node("Cast", {"n"}, {"f"}, {attribute("to", int64_t{onnx::kFloat})})
        .node(op, {"x", "f"}, {"y"});
  };
  expect_coupled(by_rows("Div"), "depends on the number of rows");
  expect_coupled(Graph()
                     .number("zero", 0)
                     .number("one", 1)
                     .node("Shape", {"x"}, {"s"})
                     .node("Gather", {"s", "zero"}, {"n"})
                     .node("Range", {"zero", "n", "one"}, {"r"})
                     .node("Cast", {"r"}, {"y"}, {attribute("to", int64_t{onnx::kFloat})}),
                 "depends on the number of rows");
}

// A body that adds the outer graph's tensor `what` to its value.
Message adding(const std::string& what) {
  Model body;
  body.graph.bytes(2, "body");
  body.node("Add", {"x", what}, {"sum"});
  body.output("sum", onnx::kFloat, std::nullopt);
  return body.graph;
}

TEST(RowsRules, BodiesKeepRowsApartAndValuesDecideNothing) {
  const auto branched = [](const char* condition) {
    return Graph()
        .floats("b", {4})
        .number("yes", 1)
        .integers("axes", {0, 1})
        .node("Cast", {"yes"}, {"constant"}, {attribute("to", int64_t{onnx::kBool})})
        .node("ReduceSum", {"b"}, {"total"}, {attribute("keepdims", k0)})
        .node("Cast", {"total"}, {"same"}, {attribute("to", int64_t{onnx::kBool})})
        .node("ReduceMax", {"x", "axes"}, {"most"}, {attribute("keepdims", k0)})
        .node("Cast", {"most"}, {"value"}, {attribute("to", int64_t{onnx::kBool})})
        .node("If", {condition}, {"y"},
              {onnx::graph_attribute("then_branch", adding("b")),
               onnx::graph_attribute("else_branch", adding("x"))});
  };
  expect_proved(branched("constant"));
  expect_proved(branched("same"));
  expect_coupled(branched("value"), "node 'ReduceMax_3'");
  const auto looped = [](const char* trips, const char* inner) {
    Model body;
    body.graph.bytes(2, "body");
    body.input("i", onnx::kInt64, std::vector<Dim>{})
        .input("more", onnx::kBool, std::vector<Dim>{});
    body.input("v", onnx::kFloat, std::nullopt);
    body.node("Identity", {"more"}, {"more_out"});
    body.node(inner, {"v"}, {"w"}, {axis(0)});
    body.output("more_out", onnx::kBool, std::vector<Dim>{});
    body.output("w", onnx::kFloat, std::nullopt);
    return Graph()
        .number("three", 3)
        .integers("axes", {0, 1})
        .node("ReduceMax", {"x", "axes"}, {"most"}, {attribute("keepdims", k0)})
        .node("Cast", {"most"}, {"by_value"}, {attribute("to", int64_t{onnx::kInt64})})
        .node("Loop", {trips, "", "x"}, {"y"}, {onnx::graph_attribute("body", body.graph)});
  };
  expect_proved(looped("three", "Tanh"));
  expect_coupled(looped("by_value", "Tanh"), "node 'ReduceMax_0'");
  expect_coupled(looped("three", "Softmax"), "(Softmax): the sum is computed over the rows");
}

// Nodes of the domain serval.
Graph own(Graph graph, std::string_view op, const std::vector<std::string>& inputs,
          const std::vector<Message>& attributes = {},
          const std::vector<std::string>& out = {"y"}) {
  return graph.node(op, inputs, out, attributes, "serval");
}

TEST(RowsRules, ChecksOfOurOwnPassOnWhatTheyCheck) {
  Graph ids({int64_t{2}});
  ids.floats("t", {10, 3}).integers("ten", {10}).input("ids", {int64_t{5}}, onnx::kInt64);
  expect_proved(
      own(ids, "CheckIndices", {"ten", "ids"}, {}, {"i"}).node("Gather", {"t", "i"}, {"y"}));
  Graph counted = Graph().integers("zero", {0}).node("Shape", {"x"}, {"s"});
  counted.node("Gather", {"s", "zero"}, {"n"}).input("ids", {int64_t{5}}, onnx::kInt64);
  expect_coupled(own(counted, "CheckIndices", {"n", "ids"}),
                 "whether it refuses depends on the number of rows");
  Graph tuples({int64_t{4}, int64_t{3}});
  tuples.integers("shape", {10, 3}).floats("t", {10, 3}).input("i", {int64_t{2}}, onnx::kInt64);
  expect_proved(
      own(tuples, "CheckTuples", {"shape", "i"}, {}, {"c"}).node("GatherND", {"t", "c"}, {"y"}));
  Graph flags = Graph().floats("b", {4}).integers("none", {}).node("Less", {"x", "b"}, {"bad"});
  expect_proved(own(flags, "Require", {"bad", "none", "x"}));
  Graph most = Graph().integers("none", {}).integers("axes", {0, 1});
  most.node("ReduceMax", {"x", "axes"}, {"m"});
  expect_coupled(own(most, "Require", {"m", "none", "x"}),
                 "(ReduceMax): it reduces the batch axis");
  Graph wide({k1, int64_t{4}});
  wide.integers("three", {3}).integers("four", {4}).integers("zero", {0});
  wide.node("Shape", {"x"}, {"s"}).node("Gather", {"s", "zero"}, {"n"});
  wide.node("Concat", {"n", "three", "four"}, {"to"}, {axis(0)});
  expect_proved(
      own(wide, "BroadcastDims", {"s", "to"}, {}, {"d"}).node("Expand", {"x", "d"}, {"y"}));
}

TEST(RowsRules, SizesOfOurOwnFollowTheNumberOfRows) {
  const auto cut = [](const std::vector<int64_t>& from, const std::vector<int64_t>& sizes) {
    Graph graph;
    graph.integers("from", from).integers("sizes", sizes).node("Shape", {"x"}, {"s"});
    return own(graph, "SliceEnds", {"s", "from", "sizes"}, {}, {"to"})
        .node("Slice", {"x", "from", "to"}, {"y"});
  };
  expect_proved(cut({0, 1}, {-1, 2}));
  expect_proved(cut({0, 1}, {-1, -1}));
  expect_coupled(cut({0, 1}, {1, 2}), "it selects some of the rows");
  expect_coupled(cut({1, 0}, {-1, 2}), "it selects some of the rows");
  const auto padded = [](int64_t before) {
    Graph graph;
    graph.model().initializer<int64_t>("p", onnx::kInt64, {2, 2}, {before, 0, 1, 2});
    graph.node("Shape", {"x"}, {"s"});
    return own(graph, "PadsOf", {"s", "p"}, {}, {"q"}).node("Pad", {"x", "q"}, {"y"});
  };
  expect_proved(padded(0));
  expect_coupled(padded(1), "it adds rows");
  const auto reduced = [](int64_t along) {
    Graph graph({int64_t{4}, int64_t{3}});
    graph.number("rank", 3).integers("axes", {along});
    return own(own(graph, "ReductionAxes", {"rank", "axes"}, {}, {"a"}), "ReduceMax", {"a", "x"});
  };
  expect_proved(reduced(-1));
  expect_coupled(reduced(-3), "it reduces the batch axis");
  Graph nothing = Graph().integers("axes", {});
  expect_proved(own(nothing, "ReduceMin", {"axes", "x"}), "no axes: nothing is reduced");
  Graph turned = Graph().integers("order", {1, 0});
  expect_proved(own(turned, "InvertPermutation", {"order"}, {}, {"i"})
                    .node("Gather", {"x", "i"}, {"y"}, {axis(1)}));
  Graph order = Graph().input("o", {}, onnx::kInt64);
  expect_coupled(own(order, "InvertPermutation", {"o"}),
                 "the order must not depend on the values of the rows");
}

TEST(RowsRules, OperatorsOfOurOwnKeepRowsApart) {
  for (const char* op : {"WithoutNan", "RoundFloat8"}) expect_proved(own(Graph(), op, {"x"}));
  for (const char* op : {"Igamma", "Igammac", "Zeta", "Polygamma", "IntegerPower"}) {
    expect_proved(own(Graph(), op, {"x", "x"}));
  }
  expect_proved(own(Graph(), "Betainc", {"x", "x", "x"}));
  expect_proved(own(Graph().number("k", 2), "TopK", {"k", "x"}, {}, {"y", "places"}));
  Graph column({}, 18);
  expect_coupled(own(column.number("k", 2), "TopK", {"k", "x"}, {}, {"y", "p"}), "orders the rows");
  Graph sorted = Graph().input("v", {int64_t{3}});
  expect_proved(own(sorted, "SearchSorted", {"x", "v"}));
  Graph bins = Graph({}, 18).floats("bins", {1, 5}).integers("flat", {1, -1});
  bins.integers("rows", {-1}).node("Reshape", {"x", "flat"}, {"v"});
  expect_proved(
      own(bins, "SearchSorted", {"bins", "v"}, {}, {"f"}).node("Reshape", {"f", "rows"}, {"y"}));
  expect_coupled(own(Graph().floats("bins", {1, 5}), "SearchSorted", {"bins", "x"}),
                 "values are looked up in the lists of other rows");
  const auto places = [](int64_t with_batch) {
    Graph graph({int64_t{4}, int64_t{4}, int64_t{2}});
    return own(graph, "MaxPoolWithArgmax", {"x"}, {attribute("with_batch", with_batch)},
               {"values", "y"});
  };
  expect_proved(places(0));
  expect_coupled(places(1), "count all rows");
  Graph square({int64_t{4}, int64_t{4}});
  expect_proved(own(square, "Lu", {"x"}, {}, {"y", "p"}));
  expect_proved(own(square, "Lu", {"x"}, {}, {"l", "y"}));
  expect_coupled(own(Graph(), "Lu", {"x"}, {}, {"y", "p"}), "it iterates over the batch axis");
  Graph diagonals = Graph({int64_t{3}, int64_t{4}}).input("b", {int64_t{4}, int64_t{1}});
  expect_proved(own(diagonals, "TridiagonalSolve", {"x", "b"}));
  Graph image({int64_t{4}, int64_t{4}, int64_t{3}});
  expect_proved(own(image, "EncodePng", {"x"}));
  expect_coupled(own(square, "EncodePng", {"x"}), "the batch axis is an axis of the image");
  Graph fields = Graph({int64_t{2}}).input("v", {int64_t{7}});
  expect_proved(own(fields, "EncodeProto", {"x", "v"}));
  expect_proved(own(Graph({}, 18), "DecodeProto", {"x"}, {}, {"y", "v"}));
  expect_coupled(own(Graph({}, 18), "DecodeProto", {"x"}, {}, {"s", "y"}), "padded to the longest");
  Graph texts({}, 18);
  const Message words = Message().bytes(1, "stopwords").bytes(4, "1:a,").varint(20, 3);
  expect_proved(own(texts, "NormalizeStrings", {"x"}));
  expect_coupled(own(texts, "NormalizeStrings", {"x"}, {words}), "stop words are removed");
  Graph extreme;
  extreme.model().initializer<int64_t>("i", onnx::kInt64, {1, 1}, {1});
  const auto swap = attribute("perm", std::vector<int64_t>{1, 0});
  extreme.node("Transpose", {"x"}, {"t"}, {swap}).integers("first", {0});
  extreme.node("Gather", {"t", "first"}, {"u"});
  expect_proved(own(extreme, "ScatterExtreme", {"i", "u", "t"}, {}, {"e"})
                    .node("Transpose", {"e"}, {"y"}, {swap}));
  expect_coupled(own(extreme, "ScatterExtreme", {"i", "u", "x"}), "it writes rows by their index");
}

TEST(RowsRules, SizesOfEachRowAreComparedAndMet) {
  Graph two({std::string("a"), int64_t{4}});
  two.input("z", {std::string("b"), int64_t{4}}).integers("flat", {-1, 4});
  two.node("Reshape", {"x", "flat"}, {"u"}).node("Reshape", {"z", "flat"}, {"v"});
  two.node("Add", {"u", "v"}, {"w"}).node("Shape", {"x"}, {"s"});
  expect_proved(two.node("Reshape", {"w", "s"}, {"y"}), "a batch runs only where a = b");
  const auto above = [](int64_t least) {
    return Graph({std::string("a")})
        .integers("axes", {0})
        .number("least", least)
        .node("Shape", {"x"}, {"s"})
        .node("ReduceProd", {"s", "axes"}, {"p"},
              {attribute("keepdims", k0), attribute("noop_with_empty_axes", k1)})
        .node("Greater", {"p", "least"}, {"any"})
        .node("Cast", {"any"}, {"f"}, {attribute("to", int64_t{onnx::kFloat})})
        .node("Mul", {"x", "f"}, {"y"});
  };
  expect_proved(above(0), "N * a > 0 where a > 0");
  expect_coupled(above(1), "the result depends on the number of rows");
}

TEST(RowsRules, OutputsHaveOneRowForEachRow) {
  Graph same;
  same.floats("c", {2, 2});
  expect_unproved(same.node("Identity", {"c"}, {"y"}), "it is the same for all rows");
}

}  // namespace
}  // namespace serval::rows::test
