// Strings that are split. Pieces stay with their rows through operators that treat one piece at a
// time, up to a declared width. Anything else that is made of them is not proved.
#include "backend/rows/planted.h"

namespace serval::rows::test {
namespace {

constexpr int64_t kOne = 1;

Message text_attribute(std::string_view name, std::string_view value) {
  return Message().bytes(1, name).bytes(4, value).varint(20, 3);
}

// Splits the strings [n]: pieces in "p", their rows in "r", the number of strings in "n".
Graph split_texts(std::string_view op = "StringSplitV2") {
  Graph graph;
  graph.model() = Model();
  graph.model().opset = 20;
  graph.model().domains = {{"serval", 1}};
  graph.model().input("x", onnx::kString, rows_of({kOne}));
  graph.integers("one", {1}).number("zero", 0).number("two", 2).integers("list", {1, 2});
  graph.integers("open", {-1, -1}).integers("cut", {-1, 6}).integers("four", {4, 6});
  graph.floats("space", {}).floats("words", {3}).integers("ids", {1, 2, 3});
  graph.node("Squeeze", {"x", "one"}, {"t"});
  graph.node(op, {"t", "space"}, {"at", "p", "extents"}, {}, "serval");
  graph.node("Gather", {"at", "zero"}, {"r"}, {axis(1)});
  graph.node("Gather", {"extents", "zero"}, {"n"});
  return graph.node("LookupFind", {"p", "zero", "words", "ids"}, {"v"}, {}, "serval");
}

Graph& padded(Graph& graph, const char* shape, const char* values, const char* rows = "r",
              const char* count = "n") {
  return graph.node("RaggedTensorToTensor", {shape, values, "zero", count, rows}, {"y"},
                    {text_attribute("row_partition_types", "14:FIRST_DIM_SIZE12:VALUE_ROWIDS")},
                    "serval");
}

TEST(RowsRagged, TextsOfAWrittenWidthAreProved) {
  for (const char* op : {"StringSplit", "StringSplitV2"}) {
    Graph graph = split_texts(op);
    expect_proved(padded(graph, "cut", "v"), op);
  }
  Graph checked = split_texts();
  checked.node("Equal", {"v", "two"}, {"is"}).node("Where", {"is", "zero", "v"}, {"w"});
  checked.node("Cast", {"r"}, {"r32"}, {attribute("to", int64_t{onnx::kInt32})});
  checked.node("Cast", {"r32"}, {"r64"}, {attribute("to", int64_t{onnx::kInt64})});
  expect_proved(padded(checked, "cut", "w", "r64"));
}

// Steps on the pieces before they are put into rows, and the widths at which rows are coupled.
struct Coupling {
  const char* name;
  void (*add)(Graph& graph);
};

const Coupling kCouplings[] = {
    {"the longest row", [](Graph& graph) { padded(graph, "open", "v"); }},
    {"another number of rows", [](Graph& graph) { padded(graph, "four", "v"); }},
    {"rows of other texts",
     [](Graph& graph) {
       graph.node("StringUpper", {"t"}, {"u"}, {}, "serval");
       graph.node("StringSplitV2", {"u", "space"}, {"at2", "p2", "e2"}, {}, "serval");
       graph.node("Gather", {"at2", "zero"}, {"r2"}, {axis(1)});
       padded(graph, "cut", "v", "r2");
     }},
    {"pieces of other texts",
     [](Graph& graph) {
       graph.node("StringSplitV2", {"t", "space"}, {"at2", "p2", "e2"}, {}, "serval");
       graph.node("Equal", {"p", "p2"}, {"is"}).node("Where", {"is", "zero", "v"}, {"w"});
       padded(graph, "cut", "w");
     }},
    {"rows that are moved",
     [](Graph& graph) {
       graph.node("Mul", {"r", "two"}, {"m"});
       padded(graph, "cut", "v", "m");
     }},
    {"places for rows",
     [](Graph& graph) {
       graph.number("second", 1).node("Gather", {"at", "second"}, {"q"}, {axis(1)});
       padded(graph, "cut", "v", "q");
     }},
    {"numbers of rows for values", [](Graph& graph) { padded(graph, "cut", "r"); }},
    {"rows of few bits",
     [](Graph& graph) {
       graph.node("Cast", {"r"}, {"b"}, {attribute("to", int64_t{onnx::kBool})});
       graph.node("Cast", {"b"}, {"i"}, {attribute("to", int64_t{onnx::kInt64})});
       padded(graph, "cut", "v", "i");
     }},
    {"the largest of all",
     [](Graph& graph) {
       graph.node("ReduceMax", {"v"}, {"m"}).node("Sub", {"v", "m"}, {"w"});
       padded(graph, "cut", "w");
     }},
    {"the first of all",
     [](Graph& graph) {
       graph.node("Gather", {"v", "zero"}, {"f"}).node("Add", {"v", "f"}, {"w"});
       padded(graph, "cut", "w");
     }},
    {"the order of all",
     [](Graph& graph) {
       graph.node("TopK", {"v", "one"}, {"w", "i"}, {axis(0)});
       padded(graph, "cut", "w");
     }},
    {"a list that meets the pieces one by one",
     [](Graph& graph) {
       graph.node("Add", {"v", "list"}, {"w"});
       padded(graph, "cut", "w");
     }},
    {"how many there are",
     [](Graph& graph) {
       graph.node("Size", {"v"}, {"s"}).node("Add", {"v", "s"}, {"w"});
       padded(graph, "cut", "w");
     }},
    {"the shape of all",
     [](Graph& graph) {
       graph.node("Shape", {"v"}, {"s"}).node("ConstantOfShape", {"s"}, {"w"});
       padded(graph, "cut", "w");
     }},
    {"how long the longest is",
     [](Graph& graph) {
       graph.number("second", 1).node("Gather", {"extents", "second"}, {"l"});
       graph.node("Add", {"v", "l"}, {"w"});
       padded(graph, "cut", "w");
     }},
    {"the longest as a shape",
     [](Graph& graph) {
       graph.node("Expand", {"zero", "extents"}, {"y"});
     }},
    {"pieces without rows", [](Graph& graph) { graph.node("Identity", {"v"}, {"y"}); }},
    {"pieces as rows",
     [](Graph& graph) {
       graph.integers("ones", {-1, 1}).node("Reshape", {"v", "ones"}, {"y"});
     }},
    {"pieces of a branch",
     [](Graph& graph) {
       Model yes, no;
       for (Model* body : {&yes, &no}) {
         body->graph.bytes(2, "body");
         body->node("Identity", {body == &yes ? "v" : "r"}, {"b"});
         body->output("b", onnx::kInt64, std::nullopt);
       }
       graph.node("Cast", {"space"}, {"c"}, {attribute("to", int64_t{onnx::kBool})});
       graph.node("If", {"c"}, {"w"},
                  {onnx::graph_attribute("then_branch", yes.graph),
                   onnx::graph_attribute("else_branch", no.graph)});
       padded(graph, "cut", "w");
     }},
};

TEST(RowsRagged, PiecesThatMeetOtherRowsAreNotProved) {
  for (const Coupling& coupling : kCouplings) {
    Graph graph = split_texts();
    coupling.add(graph);
    const RowsProof proof = graph.proof();
    EXPECT_NE(proof.verdict, RowsVerdict::Proved) << coupling.name;
    EXPECT_NE(proof.text, "") << coupling.name;
  }
}

TEST(RowsRagged, TextsWithoutARowEachAreNotFollowed) {
  Graph graph;
  graph.model() = Model();
  graph.model().opset = 20;
  graph.model().domains = {{"serval", 1}};
  graph.model().input("x", onnx::kString, rows_of({int64_t{2}}));
  graph.integers("flat", {-1}).floats("space", {}).integers("cut", {-1, 6}).number("zero", 0);
  graph.node("Reshape", {"x", "flat"}, {"t"});
  graph.node("StringSplitV2", {"t", "space"}, {"at", "p", "extents"}, {}, "serval");
  expect_coupled(graph.node("Identity", {"p"}, {"y"}), "depends on the values of all rows");
}

// A classifier's labels: one list for all rows, indexed by the class that each row chose.
TEST(RowsRagged, LabelsOfOneListAreProved) {
  const auto labels = [](const std::vector<int64_t>& list, const std::vector<int64_t>& shape) {
    Graph graph;
    graph.floats("labels", list).integers("shape", shape).integers("flat", {-1});
    graph.node("ArgMax", {"x"}, {"i"}, {axis(1), attribute("keepdims", int64_t{0})});
    graph.node("Reshape", {"i", "shape"}, {"j"});
    graph.node("ArrayFeatureExtractor", {"labels", "j"}, {"l"}, {}, "ai.onnx.ml");
    return graph.node("Reshape", {"l", "flat"}, {"y"});
  };
  expect_proved(labels({4}, {-1}));
  expect_proved(labels({1, 4}, {1, -1}));
  expect_proved(labels({1, 4}, {-1, 1}));
  expect_unproved(labels({3, 4}, {-1}), "is indexed by the rows");
  Graph turned;
  turned.floats("labels", {4}).integers("flat", {-1, 4}).node("Transpose", {"x"}, {"t"});
  turned.node("ArrayFeatureExtractor", {"labels", "t"}, {"l"}, {}, "ai.onnx.ml");
  expect_coupled(turned.node("Reshape", {"l", "flat"}, {"y"}), "the indices of the rows are mixed");
  Graph own;
  own.node("ArrayFeatureExtractor", {"x", "x"}, {"y"}, {}, "ai.onnx.ml");
  expect_coupled(own, "every row is combined with the indices of all rows");
}

// Two calls of one function have their own sizes: what a branch makes in one call does not have the
// size that it has in the other.
TEST(RowsRagged, CallsOfOneFunctionHaveTheirOwnSizes) {
  Model yes, no;
  for (Model* body : {&yes, &no}) body->graph.bytes(2, "body");
  yes.node("Concat", {"a", "a"}, {"b"}, {axis(1)}).output("b", onnx::kFloat, std::nullopt);
  no.node("Identity", {"a"}, {"b"}).output("b", onnx::kFloat, std::nullopt);
  const Message branch = onnx::Message()
                             .bytes(1, "c")
                             .bytes(2, "z")
                             .bytes(3, "If_0")
                             .bytes(4, "If")
                             .message(5, onnx::graph_attribute("then_branch", yes.graph))
                             .message(5, onnx::graph_attribute("else_branch", no.graph));
  const Message opset = Message().bytes(1, "").integer(2, 20);
  const Message function = Message()
                               .bytes(1, "longer")
                               .bytes(4, "a")
                               .bytes(4, "c")
                               .bytes(5, "z")
                               .message(7, branch)
                               .message(9, opset)
                               .bytes(10, "own");
  Graph graph({std::string("s")});
  graph.model().opset = 20;
  graph.model().domains = {{"own", 1}};
  graph.input("u", {std::string("t")}).floats("b", {}).integers("last", {-1}).number("axis1", 1);
  graph.node("Cast", {"b"}, {"c"}, {attribute("to", int64_t{onnx::kBool})});
  graph.node("longer", {"x", "c"}, {"p"}, {}, "own").node("longer", {"u", "c"}, {"q"}, {}, "own");
  // [s, N] in the shape [t, -1]: rows are mixed if s and t differ.
  graph.node("Transpose", {"p"}, {"turned"}).node("Shape", {"q"}, {"sizes"});
  graph.integers("one", {1}).node("Gather", {"sizes", "one"}, {"size"});
  graph.node("Concat", {"size", "last"}, {"shape"}, {axis(0)});
  graph.node("Reshape", {"turned", "shape"}, {"r"}).node("Transpose", {"r"}, {"y"});
  Model model = graph.model();
  model.output("y", onnx::kFloat, std::nullopt);
  const std::string bytes = model.to_bytes() + Message().message(25, function).str();
  const RowsProof proof = prove_model(ort::bytes_of(bytes), {});
  EXPECT_NE(proof.verdict, RowsVerdict::Proved);
  EXPECT_NE(proof.text.find("Reshape"), std::string::npos) << proof.text;
}

}  // namespace
}  // namespace serval::rows::test
