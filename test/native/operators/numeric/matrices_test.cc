// Solutions and decompositions of matrices, checked by their defining equations; TensorFlow's
// errors for matrices that have none; inputs of any shape and with NaN or infinity.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "operators/support/fake_context.h"

namespace serval::operators {
namespace {

using Random = std::mt19937;

// A matrix, row by row.
struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<double> values;
  double at(size_t i, size_t j) const { return values[i * columns + j]; }
};

FakeTensor tensor(const Matrix& matrix) {
  return FakeTensor::of(DType::Fp64,
                        {static_cast<int64_t>(matrix.rows), static_cast<int64_t>(matrix.columns)},
                        matrix.values);
}
Matrix matrix_of(const FakeTensor& tensor) {
  return {static_cast<size_t>(tensor.dims.at(0)), static_cast<size_t>(tensor.dims.at(1)),
          tensor.values<double>()};
}
Matrix random_matrix(size_t rows, size_t columns, Random& random) {
  std::uniform_real_distribution<double> numbers(-1, 1);
  Matrix made{rows, columns, std::vector<double>(rows * columns)};
  for (double& value : made.values) value = numbers(random);
  return made;
}
Matrix transposed(const Matrix& a) {
  Matrix out{a.columns, a.rows, {}};
  for (size_t j = 0; j < a.columns; ++j) {
    for (size_t i = 0; i < a.rows; ++i) out.values.push_back(a.at(i, j));
  }
  return out;
}
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out{a.rows, b.columns, std::vector<double>(a.rows * b.columns)};
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t j = 0; j < b.columns; ++j) {
      for (size_t k = 0; k < a.columns; ++k) {
        out.values[i * b.columns + j] += a.at(i, k) * b.at(k, j);
      }
    }
  }
  return out;
}
Matrix diagonal(const std::vector<double>& values) {
  Matrix out{values.size(), values.size(), std::vector<double>(values.size() * values.size())};
  for (size_t i = 0; i < values.size(); ++i) out.values[i * values.size() + i] = values[i];
  return out;
}
void expect_near(const Matrix& got, const Matrix& wanted) {
  ASSERT_EQ(got.values.size(), wanted.values.size());
  for (size_t i = 0; i < got.values.size(); ++i) EXPECT_NEAR(got.values[i], wanted.values[i], 1e-9);
}

FakeAttributes flags(std::map<std::string, int64_t, std::less<>> values) {
  FakeAttributes attributes;
  attributes.ints = std::move(values);
  return attributes;
}
std::vector<FakeTensor> run(std::string_view name, std::vector<FakeTensor> inputs, size_t outputs,
                            const FakeAttributes& attributes = {}) {
  auto got = run_operator(name, attributes, std::move(inputs), outputs);
  EXPECT_TRUE(got.ok()) << got.error().message;
  return got.ok() ? std::move(got.value()) : std::vector<FakeTensor>(outputs);
}

TEST(Matrices, Solve) {
  Random random(1);
  for (const size_t side : {1u, 2u, 5u, 17u}) {
    const Matrix a = random_matrix(side, side, random), b = random_matrix(side, 3, random);
    expect_near(product(a, matrix_of(run("MatrixSolve", {tensor(a), tensor(b)}, 1)[0])), b);
    const auto turned = run("MatrixSolve", {tensor(a), tensor(b)}, 1, flags({{"adjoint", 1}}));
    expect_near(product(transposed(a), matrix_of(turned[0])), b);
    const Matrix inverse = matrix_of(run("MatrixInverse", {tensor(a)}, 1)[0]);
    expect_near(product(a, inverse), diagonal(std::vector<double>(side, 1)));
  }
}

TEST(Matrices, CholeskyAndTriangles) {
  Random random(2);
  for (const size_t side : {1u, 3u, 12u}) {
    const Matrix root = random_matrix(side, side, random);
    Matrix a = product(root, transposed(root));
    for (size_t i = 0; i < side; ++i) a.values[i * side + i] += 1;
    const Matrix lower = matrix_of(run("Cholesky", {tensor(a)}, 1)[0]);
    expect_near(product(lower, transposed(lower)), a);
    for (size_t i = 0; i < side; ++i) {
      for (size_t j = i + 1; j < side; ++j) EXPECT_EQ(lower.at(i, j), 0);
    }
    const Matrix b = random_matrix(side, 2, random);
    for (const int64_t adjoint : {0, 1}) {
      const auto x = run("MatrixTriangularSolve", {tensor(lower), tensor(b)}, 1,
                         flags({{"lower", 1}, {"adjoint", adjoint}}));
      expect_near(product(adjoint ? transposed(lower) : lower, matrix_of(x[0])), b);
      const auto y = run("MatrixTriangularSolve", {tensor(transposed(lower)), tensor(b)}, 1,
                         flags({{"lower", 0}, {"adjoint", adjoint}}));
      expect_near(product(adjoint ? lower : transposed(lower), matrix_of(y[0])), b);
    }
  }
}

TEST(Matrices, Determinants) {
  const FakeTensor given =
      FakeTensor::of<double>(DType::Fp64, {3, 2, 2}, {1, 2, 3, 4, 0, 1, 1, 0, 1, 2, 2, 4});
  const auto plain = run("MatrixDeterminant", {given}, 1)[0].values<double>();
  EXPECT_NEAR(plain.at(0), -2, 1e-12);
  EXPECT_NEAR(plain.at(1), -1, 1e-12);
  EXPECT_EQ(plain.at(2), 0);
  const auto both = run("LogMatrixDeterminant", {given}, 2);
  EXPECT_EQ(both[0].values<double>(), (std::vector<double>{-1, -1, 0}));
  EXPECT_NEAR(both[1].values<double>().at(0), std::log(2), 1e-12);
  EXPECT_EQ(both[1].values<double>().at(2), -std::numeric_limits<double>::infinity());
}

TEST(Matrices, Decompositions) {
  Random random(3);
  for (const auto& [rows, columns] : {std::pair{4u, 4u}, {7u, 3u}, {3u, 7u}, {30u, 20u}}) {
    const Matrix a = random_matrix(rows, columns, random);
    for (const int64_t full : {0, 1}) {
      const auto qr = run("Qr", {tensor(a)}, 2, flags({{"full_matrices", full}}));
      expect_near(product(matrix_of(qr[0]), matrix_of(qr[1])), a);
      const auto svd = run("Svd", {tensor(a)}, 3, flags({{"full_matrices", full}}));
      const std::vector<double> values = svd[0].values<double>();
      EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend()));
      EXPECT_EQ(svd[1].dims[1], full ? rows : std::min(rows, columns));
      if (full == 0) {
        const Matrix scaled = product(matrix_of(svd[1]), diagonal(values));
        expect_near(product(scaled, transposed(matrix_of(svd[2]))), a);
      }
    }
  }
  const Matrix root = random_matrix(6, 6, random);
  const Matrix symmetric = product(root, transposed(root));
  const auto eigen = run("SelfAdjointEigV2", {tensor(symmetric)}, 2);
  const Matrix v = matrix_of(eigen[1]);
  expect_near(product(product(v, diagonal(eigen[0].values<double>())), transposed(v)), symmetric);
  const auto alone = run("SelfAdjointEigV2", {tensor(symmetric)}, 2, flags({{"compute_v", 0}}));
  EXPECT_EQ(alone[1].dims, std::vector<int64_t>());
}

TEST(Matrices, WithoutAnAnswerAsTensorFlow) {
  const auto root = run("Cholesky", {tensor({2, 2, {1, 2, 2, 1}})}, 1)[0].values<double>();
  EXPECT_TRUE(std::isnan(root.at(0)) && root.at(1) == 0 && std::isnan(root.at(3)));
  const auto x =
      run("MatrixTriangularSolve", {tensor({2, 2, {1, 2, 2, 0}}), tensor({2, 1, {1, 1}})}, 1,
          flags({{"lower", 1}}));
  EXPECT_TRUE(std::isinf(x[0].values<double>().at(1)));
}

TEST(Matrices, RefusalsAsTensorFlow) {
  const auto refusal = [](std::string_view name, std::vector<FakeTensor> inputs) {
    const auto got = run_operator(name, {}, std::move(inputs), 3);
    if (got.ok()) return std::string("none");
    EXPECT_EQ(got.error().code, ErrorCode::InvalidArgument);
    return got.error().message;
  };
  const FakeTensor singular = tensor({2, 2, {1, 2, 2, 4}}), oblong = tensor({1, 2, {1, 2}});
  EXPECT_EQ(refusal("MatrixInverse", {singular}), "Input matrix is not invertible.");
  EXPECT_EQ(refusal("MatrixSolve", {singular, singular}), "Input matrix is not invertible.");
  for (const char* name : {"Cholesky", "MatrixInverse", "MatrixDeterminant", "SelfAdjointEigV2"}) {
    EXPECT_EQ(refusal(name, {oblong}), "Input matrix must be square.");
  }
  EXPECT_EQ(refusal("Svd", {FakeTensor::of<double>(DType::Fp64, {2}, {1, 2})}),
            "Input tensor 0 must have rank >= 2, got 1");
  EXPECT_EQ(refusal("MatrixSolve", {singular, oblong}), "Input matrix and rhs are incompatible.");
}

TEST(Matrices, AnyShapesAndNumbers) {
  Random random(4);
  constexpr double kOdd[] = {0, 1, -1, 1e300, 1e-300, INFINITY, NAN};
  size_t answered = 0;
  const auto make = [&](bool square) {
    std::vector<int64_t> dims(random() % 12 == 0 ? 1 : 2 + random() % 2);
    for (int64_t& dim : dims) dim = static_cast<int64_t>(random() % 5);
    if (square && dims.size() >= 2) dims[dims.size() - 2] = dims.back();
    std::vector<double> values(Shape(dims).elements().value_or(0));
    for (double& value : values) {
      value = random() % 6 == 0 ? kOdd[random() % std::size(kOdd)] : random() % 9 - 4.0;
    }
    return FakeTensor::of(DType::Fp64, std::move(dims), values);
  };
  for (int round = 0; round < 400; ++round) {
    for (const char* name : {"Cholesky", "MatrixInverse", "MatrixDeterminant",
                             "LogMatrixDeterminant", "Svd", "Qr", "SelfAdjointEigV2"}) {
      answered += run_operator(name, {}, {make(random() % 4 != 0)}, 3).ok();
    }
    for (const char* name : {"MatrixSolve", "MatrixTriangularSolve"}) {
      answered += run_operator(name, {}, {make(random() % 4 != 0), make(false)}, 1).ok();
    }
  }
  EXPECT_GT(answered, 500u);
}

}  // namespace
}  // namespace serval::operators
