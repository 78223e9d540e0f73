// Discrete Fourier transforms of one length, using Eigen's kissfft: lengths with small factors
// directly, others by Bluestein's convolution, so that each takes at most n log n. Hot path.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

namespace serval::operators {

// Callers refuse longer transforms: kissfft counts in ints.
inline constexpr int64_t kFourierLengthMax = int64_t{1} << 27;

// Not thread-safe: each has its own scratch memory. Results are not scaled.
template <typename T>
class FourierLine {
 public:
  using Complex = std::complex<T>;
  // `length` from 1 to kFourierLengthMax.
  explicit FourierLine(size_t length);
  ~FourierLine();
  FourierLine(const FourierLine&) = delete;
  FourierLine& operator=(const FourierLine&) = delete;

  size_t length() const { return length_; }
  // `in` and `out` hold length() elements and are not the same memory.
  void forward(const Complex* in, Complex* out);
  void inverse(const Complex* in, Complex* out);
  // `out`: the first length() / 2 + 1 coefficients; the others are their conjugates.
  void real_forward(const T* in, Complex* out);
  // `in`: as from real_forward(); imaginary parts that a real line cannot have count as 0.
  void real_inverse(const Complex* in, T* out);

 private:
  struct Engine;
  void convolve(const Complex* in, Complex* out, bool inverse);

  const size_t length_;
  const std::unique_ptr<Engine> engine_;
};

extern template class FourierLine<float>;
extern template class FourierLine<double>;

}  // namespace serval::operators
