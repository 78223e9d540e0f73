// Fourier transforms against written-out sums, for lengths with all kinds of factors; refused
// inputs; inputs of any shape.
#include <gtest/gtest.h>

#include <complex>
#include <numbers>
#include <random>

#include "operators/numeric/fourier.h"
#include "operators/support/fake_context.h"

namespace serval::operators {
namespace {

using Random = std::mt19937;

template <typename T>
std::vector<std::complex<T>> random_line(size_t length, Random& random) {
  std::uniform_real_distribution<T> numbers(-1, 1);
  std::vector<std::complex<T>> line(length);
  for (auto& one : line) one = {numbers(random), numbers(random)};
  return line;
}

// The definition, in double.
template <typename T>
std::complex<double> coefficient(const std::vector<std::complex<T>>& line, size_t k, double sign) {
  std::complex<double> sum = 0;
  const double turn = sign * 2 * std::numbers::pi / static_cast<double>(line.size());
  for (size_t i = 0; i < line.size(); ++i) {
    const double angle = turn * static_cast<double>(i * k % line.size());
    sum += std::complex<double>(line[i]) * std::polar(1.0, angle);
  }
  return sum;
}

template <typename T>
void expect_transforms(size_t length, double tolerance) {
  Random random(static_cast<unsigned>(length));
  const auto line = random_line<T>(length, random);
  FourierLine<T> fourier(length);
  std::vector<std::complex<T>> forward(length), inverse(length), half(length / 2 + 1);
  std::vector<T> real(length), back(length);
  for (size_t i = 0; i < length; ++i) real[i] = line[i].real();
  fourier.forward(line.data(), forward.data());
  fourier.inverse(forward.data(), inverse.data());
  fourier.real_forward(real.data(), half.data());
  fourier.real_inverse(half.data(), back.data());
  std::vector<std::complex<T>> reals(real.begin(), real.end());
  const double scale = std::sqrt(static_cast<double>(length));
  for (size_t k = 0; k < length; k += 1 + length / 50) {
    SCOPED_TRACE("element " + std::to_string(k));
    const auto wanted = coefficient(line, k, -1);
    EXPECT_NEAR(std::abs(std::complex<double>(forward[k]) - wanted), 0, tolerance * scale);
    const auto n = static_cast<T>(length);
    EXPECT_NEAR(std::abs(inverse[k] / n - line[k]), 0, tolerance);
    EXPECT_NEAR(std::abs(back[k] / n - real[k]), 0, tolerance);
    if (k >= half.size()) continue;
    const auto of_real = coefficient(reals, k, -1);
    EXPECT_NEAR(std::abs(std::complex<double>(half[k]) - of_real), 0, tolerance * scale);
  }
}

TEST(FourierLine, EveryLength) {
  for (size_t length = 1; length <= 70; ++length) {
    SCOPED_TRACE("length " + std::to_string(length));
    expect_transforms<float>(length, 5e-6);
    expect_transforms<double>(length, 1e-13);
  }
}

TEST(FourierLine, LongLengths) {
  // A power of two, odd factors, primes, a squared prime; the last ones use convolution.
  for (const size_t length : {1024u, 1000u, 1155u, 997u, 4099u, 53u * 53u, 2u * 499u, 4u * 127u}) {
    SCOPED_TRACE("length " + std::to_string(length));
    expect_transforms<float>(length, 2e-5);
    expect_transforms<double>(length, 1e-12);
  }
}

FakeTensor floats(std::vector<int64_t> dims, float first = 1) {
  const size_t count = Shape(dims).elements().value_or(0);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i % 7);
  return FakeTensor::of(DType::Fp32, std::move(dims), values);
}
FakeTensor lengths(const std::vector<int32_t>& values) {
  return FakeTensor::of(DType::Int32, {static_cast<int64_t>(values.size())}, values);
}

std::string refusal(std::string_view name, std::vector<FakeTensor> inputs) {
  const auto got = run_operator(name, {}, std::move(inputs), 2);
  if (got.ok()) return "none";
  EXPECT_EQ(got.error().code, ErrorCode::InvalidArgument);
  return got.error().message;
}

TEST(Fourier, RefusalsAsTensorFlow) {
  EXPECT_EQ(refusal("RFFT", {floats({2, 4}), lengths({5})}),
            "Input dimension 1 must have length of at least 5 but got: 4");
  EXPECT_EQ(refusal("IRFFT", {floats({2, 4}), floats({2, 4}), lengths({8})}),
            "Input dimension 1 must have length of at least 5 but got: 4");
  EXPECT_EQ(refusal("RFFT", {floats({2, 4}), lengths({-1})}),
            "fft_length[0] must be >= 0, but got: -1");
  EXPECT_EQ(refusal("RFFT2D", {floats({2, 4}), lengths({2})}), "fft_length must have shape [2]");
  EXPECT_EQ(refusal("RFFT2D", {floats({4}), lengths({2, 2})}),
            "Input must have rank of at least 2 but got: [4]");
  EXPECT_NE(refusal("FFT", {floats({4}), floats({5})}), "none");
}

TEST(Fourier, NothingIn) {
  const auto none = run_operator("RFFT", {}, {floats({0, 4}), lengths({4})}, 2);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none.value()[0].dims, (std::vector<int64_t>{0, 3}));
  const auto zeros = run_operator("RFFT", {}, {floats({2, 0}), lengths({4})}, 2);
  ASSERT_TRUE(zeros.ok());
  EXPECT_EQ(zeros.value()[1].values<float>(), std::vector<float>(6, 0));
  const auto empty = run_operator("RFFT", {}, {floats({2, 4}), lengths({0})}, 2);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty.value()[0].dims, (std::vector<int64_t>{2, 0}));
}

TEST(Fourier, AnyShapes) {
  Random random(7);
  size_t answered = 0;
  for (int round = 0; round < 3000; ++round) {
    const size_t dims = 1 + random() % 3;
    std::vector<int64_t> shape(random() % 5);
    for (int64_t& dim : shape) dim = static_cast<int64_t>(random() % 6);
    std::vector<int32_t> asked(random() % 8 == 0 ? 1 : dims);
    for (int32_t& length : asked) {
      length = random() % 40 == 0 ? INT32_MAX : static_cast<int32_t>(random() % 8) - 1;
    }
    const std::string suffix = dims == 1 ? "" : std::to_string(dims) + "D";
    const bool other = random() % 30 == 0;
    const FakeTensor imaginary = other ? floats({3}) : floats(shape, 2);
    const bool forward = random() % 2 == 0;
    const auto real =
        forward ? run_operator("RFFT" + suffix, {}, {floats(shape), lengths(asked)}, 2)
                : run_operator("IRFFT" + suffix, {}, {floats(shape), imaginary, lengths(asked)}, 1);
    const auto whole =
        run_operator(forward ? "FFT" + suffix : "IFFT" + suffix, {}, {floats(shape), imaginary}, 2);
    answered += real.ok() + whole.ok();
  }
  EXPECT_GT(answered, 500u);
}

TEST(Complex, LengthAndDirection) {
  const std::vector<float> re = {3, 0, 1e30f, 1e-30f, -2}, im = {4, 0, 1e30f, 0, 0};
  const std::vector<FakeTensor> inputs = {FakeTensor::of(DType::Fp32, {5}, re),
                                          FakeTensor::of(DType::Fp32, {5}, im)};
  const auto length = run_operator("ComplexAbs", {}, inputs, 1);
  ASSERT_TRUE(length.ok());
  EXPECT_EQ(length.value()[0].values<float>(),
            (std::vector<float>{5, 0, 1.41421356e30f, 1e-30f, 2}));
  const auto direction = run_operator("Angle", {}, inputs, 1);
  ASSERT_TRUE(direction.ok());
  EXPECT_FLOAT_EQ(direction.value()[0].values<float>()[4], std::numbers::pi_v<float>);
}

}  // namespace
}  // namespace serval::operators
