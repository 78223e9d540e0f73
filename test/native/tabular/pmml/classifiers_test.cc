// pmml.neural_network, pmml.support_vectors and pmml.naive_bayes: each activation, kernel and
// voting method against its plain formula, missing values, and plans with parts that do not fit.
#include "support/pmml_stage.h"

namespace serval::tabular {
namespace {

// Two inputs, one layer of one neuron: 2 x0 - x1 + 0.5.
MadeAttributes neuron(const std::string& activation, double threshold = 0) {
  return {{"classification", false},
          {"layer_rows", Ints{0, 1}},
          {"activations", Texts{activation}},
          {"normalizations", Texts{"none"}},
          {"thresholds", Reals{threshold}},
          {"biases", Reals{0.5}},
          {"widths", Reals{1.5}},
          {"altitudes", Reals{1}},
          {"connection_rows", Ints{0, 2}},
          {"connection_sources", Ints{0, 1}},
          {"connection_weights", Reals{2, -1}},
          {"output_neurons", Ints{2}},
          {"output_rows", Ints{0, 0}},
          {"output_norms", Reals{}},
          {"output_origs", Reals{}}};
}

double activated(const std::string& activation, double x0, double x1, double threshold = 0) {
  Given given("pmml.neural_network", 2, {{Type::Double}}, neuron(activation, threshold));
  EXPECT_EQ(given.run({{x0, x1}}), "");
  return given.out(0).reals[0];
}

TEST(PmmlNeuralNetwork, HasTheActivationsOfTheStandard) {
  const double z = 2 * 0.3 - 0.4 + 0.5;
  EXPECT_DOUBLE_EQ(activated("identity", 0.3, 0.4), z);
  EXPECT_DOUBLE_EQ(activated("logistic", 0.3, 0.4), 1 / (1 + std::exp(-z)));
  EXPECT_DOUBLE_EQ(activated("tanh", 0.3, 0.4), std::tanh(z));
  EXPECT_DOUBLE_EQ(activated("exponential", 0.3, 0.4), std::exp(z));
  EXPECT_DOUBLE_EQ(activated("reciprocal", 0.3, 0.4), 1 / z);
  EXPECT_DOUBLE_EQ(activated("square", 0.3, 0.4), z * z);
  EXPECT_DOUBLE_EQ(activated("Gauss", 0.3, 0.4), std::exp(-z * z));
  EXPECT_DOUBLE_EQ(activated("sine", 0.3, 0.4), std::sin(z));
  EXPECT_DOUBLE_EQ(activated("cosine", 0.3, 0.4), std::cos(z));
  EXPECT_DOUBLE_EQ(activated("Elliott", 0.3, 0.4), z / (1 + z));
  EXPECT_DOUBLE_EQ(activated("arctan", 0.3, 0.4), 2 * std::atan(z) / std::acos(-1.0));
  EXPECT_EQ(activated("rectifier", -3, 0), 0);
  EXPECT_EQ(activated("threshold", 0.25, 0.5, 0.5), 0);  // not above it
  EXPECT_EQ(activated("threshold", 0.26, 0.5, 0.5), 1);
  // The squared distance from the weights, divided by the width.
  const double squares = (0.3 - 2) * (0.3 - 2) + (0.4 + 1) * (0.4 + 1);
  EXPECT_DOUBLE_EQ(activated("radialBasis", 0.3, 0.4), std::exp(-squares / (2 * 1.5 * 1.5)));
  MadeAttributes high = neuron("radialBasis");
  set(high, "altitudes", Reals{3});
  Given given("pmml.neural_network", 2, {{Type::Double}}, high);
  ASSERT_EQ(given.run({{0.3, 0.4}}), "");
  EXPECT_NEAR(given.out(0).reals[0], 9 * std::exp(-squares / (2 * 1.5 * 1.5)), 1e-14);
}

TEST(PmmlNeuralNetwork, MapsAnOutputBack) {
  MadeAttributes made = neuron("identity");
  set(made, "output_rows", Ints{0, 3});
  set(made, "output_norms", Reals{0, 0.5, 1});
  set(made, "output_origs", Reals{10, 20, 60});
  Given given("pmml.neural_network", 2, {{Type::Double}}, made);
  ASSERT_EQ(given.run({{0, 0.25}, {0, -0.25}, {0, 2.5}, {0, -1.5}, {kNan, 1}}), "");
  // At 0.25, 0.75, and beyond both ends: the nearest piece is extrapolated.
  const Reals want{15, 40, -30, 140};
  for (uint32_t row = 0; row < 4; ++row) EXPECT_DOUBLE_EQ(given.out(0).reals[row], want[row]);
  EXPECT_FALSE(given.out(0).valid(4));
}

// One input; hidden neurons x and -x; outputs 3 h0 and h1, normalised.
MadeAttributes two_layers(const std::string& normalization) {
  return {{"classification", true},
          {"layer_rows", Ints{0, 2, 4}},
          {"activations", Texts{"identity", "identity"}},
          {"normalizations", Texts{"none", normalization}},
          {"thresholds", Reals{0, 0}},
          {"biases", Reals{0, 0, 0, 0}},
          {"widths", Reals{1, 1, 1, 1}},
          {"altitudes", Reals{1, 1, 1, 1}},
          {"connection_rows", Ints{0, 1, 2, 3, 4}},
          {"connection_sources", Ints{0, 0, 1, 2}},
          {"connection_weights", Reals{1, -1, 3, 1}},
          {"output_neurons", Ints{4, 3}},
          {"output_rows", Ints{0, 0, 0}},
          {"output_norms", Reals{}},
          {"output_origs", Reals{}}};
}

TEST(PmmlNeuralNetwork, NormalizesALayer) {
  Given soft("pmml.neural_network", 1, {{Type::Vector}}, two_layers("softmax"));
  ASSERT_EQ(soft.run({{1}, {kNan}, {1000}}), "");
  const double share = std::exp(3.0) / (std::exp(3.0) + std::exp(-1.0));
  EXPECT_NEAR(soft.vector(0, 0)[1], share, 1e-15);
  EXPECT_NEAR(soft.vector(0, 0)[0], 1 - share, 1e-15);
  EXPECT_FALSE(soft.out(0).valid(1));
  EXPECT_EQ(soft.vector(0, 2), (Reals{0, 1}));
  Given simple("pmml.neural_network", 1, {{Type::Vector}}, two_layers("simplemax"));
  ASSERT_EQ(simple.run({{2}}), "");
  EXPECT_EQ(simple.vector(0, 0), (Reals{-0.5, 1.5}));
}

TEST(PmmlNeuralNetwork, RefusesPartsThatDoNotFit) {
  const auto broken = [](const std::string& name, MadeAttribute value) {
    MadeAttributes made = two_layers("none");
    set(made, name, std::move(value));
    return Given("pmml.neural_network", 1, {{Type::Vector}}, made).fault();
  };
  EXPECT_NE(broken("connection_sources", Ints{0, 0, 1, 3}).find("own or a later layer"),
            std::string::npos);
  EXPECT_NE(broken("connection_sources", Ints{0, 0, 1, -1}), "");
  EXPECT_NE(broken("connection_sources", Ints{0, 0, 1, 99}), "");
  EXPECT_NE(broken("connection_rows", Ints{0, 1, 2}), "");
  EXPECT_NE(broken("connection_rows", Ints{0, 2, 1, 3, 4}), "");
  EXPECT_NE(broken("layer_rows", Ints{0, 2}), "");
  EXPECT_NE(broken("activations", Texts{"identity", "swish"}), "");
  EXPECT_NE(broken("normalizations", Texts{"none", "batch"}), "");
  EXPECT_NE(broken("output_neurons", Ints{4, 5}), "");
  EXPECT_NE(broken("output_neurons", Ints{}), "");
  EXPECT_NE(broken("widths", Reals{1}), "");
}

// Two vectors (1, 2) and (-1, 0.5); one machine of both.
MadeAttributes machine(const std::string& kernel) {
  return {{"method", std::string("regression")},
          {"kernel", kernel},
          {"gamma", 0.5},
          {"coef0", 1.5},
          {"degree", 3.0},
          {"vector_inputs", Ints{0, 1}},
          {"vector_values", Values{{Type::Double, 0, "", true}, {Type::Double, 0, "", true}}},
          {"vectors", Reals{1, 2, -1, 0.5}},
          {"machine_rows", Ints{0, 2}},
          {"machine_vectors", Ints{0, 1}},
          {"machine_coefficients", Reals{2, -3}},
          {"machine_intercepts", Reals{0.25}}};
}

TEST(PmmlSupportVectors, HasTheKernelsOfTheStandard) {
  const auto answer = [](const std::string& kernel) {
    Given given("pmml.support_vectors", 2, {{Type::Double}}, machine(kernel));
    EXPECT_EQ(given.run({{0.5, 3}}), "");
    return given.out(0).reals[0];
  };
  const double a = 0.5 + 6, b = -0.5 + 1.5;
  EXPECT_DOUBLE_EQ(answer("linear"), 2 * a - 3 * b + 0.25);
  EXPECT_DOUBLE_EQ(answer("polynomial"),
                   2 * std::pow(0.5 * a + 1.5, 3) - 3 * std::pow(0.5 * b + 1.5, 3) + 0.25);
  EXPECT_DOUBLE_EQ(answer("sigmoid"),
                   2 * std::tanh(0.5 * a + 1.5) - 3 * std::tanh(0.5 * b + 1.5) + 0.25);
  const double far_a = 0.25 + 1, far_b = 2.25 + 6.25;
  EXPECT_DOUBLE_EQ(answer("radialBasis"),
                   2 * std::exp(-0.5 * far_a) - 3 * std::exp(-0.5 * far_b) + 0.25);
}

TEST(PmmlSupportVectors, RefusesARowWithoutAValue) {
  Given given("pmml.support_vectors", 2, {{Type::Double}}, machine("linear"));
  EXPECT_EQ(given.run({{1, 1}, {1, kNan}}), "here: row 1: 'x1' is missing");
  EXPECT_EQ(given.run({{1, 1}, {1, kNan}}, true), "");
  EXPECT_TRUE(given.out(0).valid(0));
  EXPECT_FALSE(given.out(0).valid(1));
}

// Three machines with one vector each, so that a machine's number is its intercept.
MadeAttributes voting(const std::string& method, Reals numbers, Ints targets, Ints alternates) {
  MadeAttributes made = machine("linear");
  set(made, "method", method);
  set(made, "labels",
      Values{{Type::String, 0, "a"}, {Type::String, 0, "b"}, {Type::String, 0, "c"}});
  set(made, "rounded", false);
  set(made, "max_wins", false);
  set(made, "machine_rows", Ints{0, 0, 0, 0});
  set(made, "machine_vectors", Ints{});
  set(made, "machine_coefficients", Reals{});
  set(made, "machine_intercepts", std::move(numbers));
  set(made, "machine_targets", std::move(targets));
  set(made, "machine_alternates", std::move(alternates));
  set(made, "machine_thresholds", Reals{0, 0, 0});
  return made;
}

std::string winner(const MadeAttributes& attributes, Reals* scores = nullptr) {
  Given given("pmml.support_vectors", 2, {{Type::String}, {Type::Vector}}, attributes);
  EXPECT_EQ(given.run({{0, 0}}), "");
  if (scores != nullptr) *scores = given.vector(1, 0);
  return given.text(0, 0);
}

TEST(PmmlSupportVectors, Votes) {
  Reals shares;
  const auto one = [](Reals numbers) {
    return voting("oneAgainstOne", std::move(numbers), {0, 0, 1}, {1, 2, 2});
  };
  EXPECT_EQ(winner(one({-1, 1, 1}), &shares), "c");
  EXPECT_EQ(shares, (Reals{1.0 / 3, 0, 2.0 / 3}));
  EXPECT_EQ(winner(one({-1, -1, 1})), "a");
  // One vote each: the label that was voted for first wins.
  EXPECT_EQ(winner(one({1, -1, 1})), "b");
  EXPECT_EQ(winner(one({-1, 1, -1})), "a");
  EXPECT_EQ(winner(one({0, -1, -1})), "b");  // a number at the threshold is not below it
}

TEST(PmmlSupportVectors, TakesTheSmallestOrTheLargest) {
  Reals distances;
  MadeAttributes made = voting("oneAgainstAll", {0.5, -2, -2}, {2, 0, 1}, {-1, -1, -1});
  EXPECT_EQ(winner(made, &distances), "a");  // the first of equals
  EXPECT_EQ(distances, (Reals{-2, -2, 0.5}));
  set(made, "max_wins", true);
  EXPECT_EQ(winner(made), "c");
}

TEST(PmmlSupportVectors, RoundsToACategory) {
  MadeAttributes made = voting("oneAgainstOne", {0.6, 0.4, 1.2}, {0, 0, 0}, {1, 1, 1});
  set(made, "rounded", true);
  EXPECT_EQ(winner(made), "a");
  set(made, "machine_intercepts", Reals{0.6, 0.4, 1.6});
  Given given("pmml.support_vectors", 2, {{Type::String}, {Type::Vector}}, made);
  EXPECT_NE(given.run({{0, 0}}).find("row 0: a machine's number rounds to neither"),
            std::string::npos);
}

TEST(PmmlSupportVectors, RefusesPartsThatDoNotFit) {
  const auto broken = [](const std::string& name, MadeAttribute value) {
    MadeAttributes made = machine("linear");
    set(made, name, std::move(value));
    return Given("pmml.support_vectors", 2, {{Type::Double}}, made).fault();
  };
  EXPECT_NE(broken("vectors", Reals{1, 2, 3}), "");
  EXPECT_NE(broken("machine_vectors", Ints{0, 2}), "");
  EXPECT_NE(broken("machine_rows", Ints{0, 1}), "");
  EXPECT_NE(broken("vector_inputs", Ints{0, 2}), "");
  EXPECT_NE(broken("kernel", std::string("laplace")), "");
  EXPECT_NE(broken("method", std::string("oneAgainstOne")), "");
  const MadeAttributes votes = voting("oneAgainstOne", {1, 1, 1}, {0, 0, 3}, {1, 2, 2});
  EXPECT_NE(Given("pmml.support_vectors", 2, {{Type::String}, {Type::Vector}}, votes).fault(), "");
  const MadeAttributes none = voting("oneAgainstOne", {1, 1, 1}, {0, 0, 1}, {1, 2, -1});
  EXPECT_NE(Given("pmml.support_vectors", 2, {{Type::String}, {Type::Vector}}, none).fault(), "");
}

// Labels with 6 and 2 instances; x0: category 1 or 2; x1: normal; x2: Poisson for the second label.
MadeAttributes bayes() {
  return {{"threshold", 0.001},
          {"prior_counts", Reals{6, 2}},
          {"continuous", Ints{0, 1, 1}},
          {"distributions", Ints{0, 0, 1, 1, 0, 2}},
          {"means", Reals{0, 0, 1, 5, 0, 3}},
          {"variances", Reals{1, 1, 4, 1, 1, 1}},
          {"pair_rows", Ints{0, 2, 2, 2}},
          {"pair_values", Values{{Type::Double, 1}, {Type::Double, 2}}},
          {"pair_counts", Reals{4, 0, 2, 2}}};
}

TEST(PmmlNaiveBayes, MultipliesShares) {
  const auto normal = [](double x, double mean, double variance) {
    const double z = x - mean;
    return std::exp(-z * z / (2 * variance)) / std::sqrt(2 * std::acos(-1.0) * variance);
  };
  const double poisson = std::exp(-3.0) * 9 / 2;
  Given given("pmml.naive_bayes", 3, {{Type::Vector}}, bayes());
  ASSERT_EQ(given.run({{1, kNan, kNan},
                       {2, 2, kNan},
                       {kNan, kNan, 2},
                       {9, kNan, kNan},
                       {kNan, 1e6, kNan},
                       {kNan, kNan, -1}}),
            "");
  const auto expect = [&](uint32_t row, double first, double second) {
    const Reals got = given.vector(0, row);
    EXPECT_NEAR(got[0], first / (first + second), 1e-14) << row;
    EXPECT_NEAR(got[1], second / (first + second), 1e-14) << row;
  };
  expect(0, 6 * (4.0 / 6), 2 * 0.001);  // a count of 0 is the threshold
  expect(1, 6 * (2.0 / 6) * normal(2, 1, 4), 2 * 1.0 * normal(2, 5, 1));
  expect(2, 6, 2 * poisson);
  expect(3, 6, 2);                  // a value without counts has no effect
  expect(4, 6 * 0.001, 2 * 0.001);  // densities are not below the threshold
  expect(5, 6, 2 * 0.001);
}

TEST(PmmlNaiveBayes, RefusesACountThatIsNotWhole) {
  Given given("pmml.naive_bayes", 3, {{Type::Vector}}, bayes());
  EXPECT_EQ(given.run({{1, 1, 1}, {1, 1, 1.5}}), "here: row 1: 'x2' is not a count");
}

TEST(PmmlNaiveBayes, RefusesPartsThatDoNotFit) {
  const auto broken = [](const std::string& name, MadeAttribute value) {
    MadeAttributes made = bayes();
    set(made, name, std::move(value));
    return Given("pmml.naive_bayes", 3, {{Type::Vector}}, made).fault();
  };
  EXPECT_NE(broken("prior_counts", Reals{}), "");
  EXPECT_NE(broken("prior_counts", Reals{1, 2, 3}), "");
  EXPECT_NE(broken("distributions", Ints{0, 0, 1, 1, 0, 3}), "");
  EXPECT_NE(broken("pair_rows", Ints{0, 2, 2}), "");
  EXPECT_NE(broken("pair_counts", Reals{4, 0, 2}), "");
}

}  // namespace
}  // namespace serval::tabular
