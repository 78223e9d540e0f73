// Implements Fourier transforms of one length. Hot path, any thread: the one that runs the kernel.
#include "operators/numeric/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "operators/numeric/eigen.h"

#include <unsupported/Eigen/FFT>

namespace serval::operators {
namespace {

// kissfft takes p steps for each element and prime factor p; from this factor on a convolution is
// faster.
constexpr size_t kFactorMax = 48;

bool has_small_factors(size_t length) {
  for (size_t p = 2; p <= kFactorMax; ++p) {
    while (length % p == 0) length /= p;
  }
  return length == 1;
}

}  // namespace

template <typename T>
struct FourierLine<T>::Engine {
  Eigen::FFT<T> fft;
  std::vector<Complex> line, other;  // scratch of length()
  // For Bluestein's algorithm: empty if the length has small factors.
  std::vector<Complex> chirp;   // exp(-i pi k^2 / length)
  std::vector<Complex> turned;  // the transform of its conjugate, padded
  std::vector<Complex> padded, product;
};

template <typename T>
FourierLine<T>::FourierLine(size_t length) : length_(length), engine_(std::make_unique<Engine>()) {
  Engine& engine = *engine_;
  engine.fft.SetFlag(Eigen::FFT<T>::Unscaled);
  engine.fft.SetFlag(Eigen::FFT<T>::HalfSpectrum);
  engine.line.resize(length);
  engine.other.resize(length);
  if (has_small_factors(length)) return;
  size_t size = 1;
  while (size < 2 * length - 1) size *= 2;
  engine.chirp.resize(length);
  engine.padded.assign(size, Complex(0));
  engine.product.resize(size);
  engine.turned.resize(size);
  const double step = std::numbers::pi / static_cast<double>(length);
  for (size_t k = 0; k < length; ++k) {
    const double angle = step * static_cast<double>(k * k % (2 * length));
    engine.chirp[k] = {static_cast<T>(std::cos(angle)), static_cast<T>(-std::sin(angle))};
    engine.padded[k] = std::conj(engine.chirp[k]);
    if (k > 0) engine.padded[size - k] = engine.padded[k];
  }
  engine.fft.fwd(engine.turned.data(), engine.padded.data(), static_cast<Eigen::Index>(size));
}

template <typename T>
FourierLine<T>::~FourierLine() = default;

template <typename T>
void FourierLine<T>::convolve(const Complex* in, Complex* out, bool inverse) {
  Engine& engine = *engine_;
  const auto size = static_cast<Eigen::Index>(engine.padded.size());
  const auto given = [&](size_t k) { return inverse ? std::conj(in[k]) : in[k]; };
  for (size_t k = 0; k < length_; ++k) engine.padded[k] = given(k) * engine.chirp[k];
  std::fill(engine.padded.begin() + static_cast<ptrdiff_t>(length_), engine.padded.end(),
            Complex(0));
  engine.fft.fwd(engine.product.data(), engine.padded.data(), size);
  for (size_t k = 0; k < engine.product.size(); ++k) engine.product[k] *= engine.turned[k];
  engine.fft.inv(engine.padded.data(), engine.product.data(), size);
  const T scale = T(1) / static_cast<T>(size);
  for (size_t k = 0; k < length_; ++k) {
    const Complex value = engine.padded[k] * engine.chirp[k] * scale;
    out[k] = inverse ? std::conj(value) : value;
  }
}

template <typename T>
void FourierLine<T>::forward(const Complex* in, Complex* out) {
  if (!engine_->chirp.empty()) return convolve(in, out, false);
  if (length_ == 1) *out = *in;
  else engine_->fft.fwd(out, in, static_cast<Eigen::Index>(length_));
}

template <typename T>
void FourierLine<T>::inverse(const Complex* in, Complex* out) {
  if (!engine_->chirp.empty()) return convolve(in, out, true);
  if (length_ == 1) *out = *in;
  else engine_->fft.inv(out, in, static_cast<Eigen::Index>(length_));
}

template <typename T>
void FourierLine<T>::real_forward(const T* in, Complex* out) {
  Engine& engine = *engine_;
  if (engine.chirp.empty() && length_ % 4 == 0) {  // uses a transform of half the length
    engine.fft.fwd(out, in, static_cast<Eigen::Index>(length_));
    return;
  }
  for (size_t k = 0; k < length_; ++k) engine.line[k] = Complex(in[k], 0);
  forward(engine.line.data(), engine.other.data());
  std::copy_n(engine.other.begin(), length_ / 2 + 1, out);
}

template <typename T>
void FourierLine<T>::real_inverse(const Complex* in, T* out) {
  Engine& engine = *engine_;
  engine.line[0] = Complex(in[0].real(), 0);
  for (size_t k = 1; k <= length_ / 2; ++k) {
    const bool is_middle = 2 * k == length_;
    engine.line[k] = is_middle ? Complex(in[k].real(), 0) : in[k];
    if (!is_middle) engine.line[length_ - k] = std::conj(in[k]);
  }
  if (engine.chirp.empty() && length_ % 4 == 0) {
    engine.fft.inv(out, engine.line.data(), static_cast<Eigen::Index>(length_));
    return;
  }
  inverse(engine.line.data(), engine.other.data());
  for (size_t k = 0; k < length_; ++k) out[k] = engine.other[k].real();
}

template class FourierLine<float>;
template class FourierLine<double>;

}  // namespace serval::operators
