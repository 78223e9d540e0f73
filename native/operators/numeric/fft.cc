// Fourier transforms as TensorFlow's operators of these names: FFT, IFFT, RFFT, IRFFT and their 2D
// and 3D forms, along the last one, two or three dims. Hot path, any thread. A complex tensor is
// represented by two: its real parts and its imaginary parts. Inputs: FFT, IFFT: real parts,
// imaginary parts; RFFT: numbers, fft_length (int32, one for each of the dims); IRFFT: real parts,
// imaginary parts, fft_length. Input beyond fft_length is ignored.
// Source: tensorflow/core/kernels/fft_ops.cc.
#include <array>
#include <atomic>
#include <mutex>
#include <numeric>

#include "operators/groups.h"
#include "operators/kernel_io.h"
#include "operators/numeric/fourier.h"

namespace serval::operators {
namespace {

constexpr size_t kDimsMax = 3;
// Elements per task: about ten microseconds of work.
constexpr size_t kFftTaskElements = 1 << 14;
constexpr size_t kTransformTasksMax = 64;

struct Form {
  bool real = false, inverse = false;
  size_t dims = 1;
};

// The extents of one transform, the last dims of the tensors. A complex extent is that of the half
// that a real transform keeps; `in` is the extent of the input, which may be more than is read.
struct Extents {
  std::array<size_t, kDimsMax> in = {1, 1, 1}, logical = {1, 1, 1}, complex = {1, 1, 1};
  size_t count = 0;  // number of transforms
  static size_t product(const std::array<size_t, kDimsMax>& dims) {
    return dims[0] * dims[1] * dims[2];
  }
};

// The state of one thread: a line for each dim, and the complex elements of one transform.
template <typename T>
struct Workspace {
  std::array<std::unique_ptr<FourierLine<T>>, kDimsMax> lines;
  std::vector<std::complex<T>> grid, from, to;
  std::vector<T> reals;

  explicit Workspace(const Extents& extents) {
    size_t longest = 0;
    for (size_t axis = 0; axis < kDimsMax; ++axis) {
      lines[axis] = std::make_unique<FourierLine<T>>(extents.logical[axis]);
      longest = std::max(longest, extents.logical[axis]);
    }
    grid.resize(Extents::product(extents.complex));
    from.resize(longest);
    to.resize(longest);
    reals.resize(extents.logical[kDimsMax - 1]);
  }
  bool fits(const Extents& extents) const {
    for (size_t axis = 0; axis < kDimsMax; ++axis) {
      if (lines[axis]->length() != extents.logical[axis]) return false;
    }
    return grid.size() == Extents::product(extents.complex);
  }
};

// Workspaces kept between runs, because twiddle factors cost as much as a transform. Only for the
// last extents, one for each thread that was ever busy at the same time.
template <typename T>
class Workspaces {
 public:
  std::unique_ptr<Workspace<T>> take(const Extents& extents) {
    std::unique_ptr<Workspace<T>> found;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        found = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (found != nullptr && found->fits(extents)) return found;
    return std::make_unique<Workspace<T>>(extents);
  }
  void give(std::unique_ptr<Workspace<T>> workspace) {
    if (workspace->grid.size() > kKeptElements) return;
    const std::lock_guard lock(mutex_);
    if (free_.size() < kTransformTasksMax) free_.push_back(std::move(workspace));
  }

 private:
  static constexpr size_t kKeptElements = 1 << 16;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace<T>>> free_;
};

// The tensors of one run, complete; a null imaginary part means real numbers.
template <typename T>
struct Parts {
  const T* in_real = nullptr;
  const T* in_imaginary = nullptr;
  T* out_real = nullptr;
  T* out_imaginary = nullptr;
};

// Transforms the `index`th part of the tensors.
template <typename T>
class Transform {
 public:
  Transform(const Form& form, const Extents& extents, const Parts<T>& parts, Workspace<T>& work)
      : form_(form), extents_(extents), parts_(parts), work_(work) {
    const double elements = static_cast<double>(Extents::product(extents.logical));
    scale_ = form.inverse ? static_cast<T>(1 / elements) : T(1);
  }

  void run(size_t index) {
    const size_t in = index * Extents::product(extents_.in);
    if (form_.real && !form_.inverse) read_real(parts_.in_real + in);
    else read_complex(parts_.in_real + in, parts_.in_imaginary + in);
    // The last dim of real numbers is transformed first, or last: only half of it is kept in
    // between.
    const size_t axes = form_.real ? kDimsMax - 1 : kDimsMax;
    for (size_t axis = kDimsMax - form_.dims; axis < axes; ++axis) turn(axis);
    if (form_.real && form_.inverse) {
      return write_real(parts_.out_real + index * Extents::product(extents_.logical));
    }
    const size_t out = index * work_.grid.size();
    for (size_t i = 0; i < work_.grid.size(); ++i) {
      parts_.out_real[out + i] = work_.grid[i].real() * scale_;
      parts_.out_imaginary[out + i] = work_.grid[i].imag() * scale_;
    }
  }

 private:
  // Calls row(offset in the input, offset in the grid) for each of the grid's rows.
  template <typename Row>
  void rows(Row row) {
    const auto& [in, complex] = std::tie(extents_.in, extents_.complex);
    for (size_t i = 0; i < complex[0]; ++i) {
      for (size_t j = 0; j < complex[1]; ++j) {
        row((i * in[1] + j) * in[2], (i * complex[1] + j) * complex[2]);
      }
    }
  }
  void read_real(const T* from) {
    rows([&](size_t in, size_t out) {
      work_.lines[kDimsMax - 1]->real_forward(from + in, work_.grid.data() + out);
    });
  }
  void read_complex(const T* real, const T* imaginary) {
    const size_t width = extents_.complex[kDimsMax - 1];
    rows([&](size_t in, size_t out) {
      for (size_t k = 0; k < width; ++k) {
        work_.grid[out + k] = {real[in + k], imaginary[in + k]};
      }
    });
  }
  void write_real(T* to) {
    const size_t width = extents_.complex[kDimsMax - 1], length = work_.reals.size();
    for (size_t row = 0; row * width < work_.grid.size(); ++row) {
      FourierLine<T>& line = *work_.lines[kDimsMax - 1];
      line.real_inverse(work_.grid.data() + row * width, work_.reals.data());
      for (size_t k = 0; k < length; ++k) to[row * length + k] = work_.reals[k] * scale_;
    }
  }
  // Transforms the grid along an axis.
  void turn(size_t axis) {
    const auto& dims = extents_.complex;
    size_t step = 1;
    for (size_t later = axis + 1; later < kDimsMax; ++later) step *= dims[later];
    const size_t length = dims[axis];
    for (size_t start = 0; start < work_.grid.size(); start += step * length) {
      for (size_t offset = 0; offset < step; ++offset) {
        std::complex<T>* const first = work_.grid.data() + start + offset;
        for (size_t k = 0; k < length; ++k) work_.from[k] = first[k * step];
        if (form_.inverse) work_.lines[axis]->inverse(work_.from.data(), work_.to.data());
        else work_.lines[axis]->forward(work_.from.data(), work_.to.data());
        for (size_t k = 0; k < length; ++k) first[k * step] = work_.to[k];
      }
    }
  }

  const Form& form_;
  const Extents& extents_;
  const Parts<T>& parts_;
  Workspace<T>& work_;
  T scale_ = 1;
};

class Fourier final : public Kernel {
 public:
  explicit Fourier(const Form& form) : form_(form) {}
  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView in = io.view(0);
    if (io.failed()) return io.take();
    if (in.dtype == DType::Fp64) return run_as<double>(context, io, in, doubles_);
    return run_as<float>(context, io, in, floats_);
  }

 private:
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& in,
                Workspaces<T>& workspaces) const;
  Extents extents_of(KernelIo& io, const TensorView& in, Shape& out) const;
  void set_logical(KernelIo& io, const TensorView& in, Extents& extents, Shape& out) const;
  template <typename T>
  Status transform(KernelContext& context, const Extents& extents, const Parts<T>& parts,
                   Workspaces<T>& workspaces) const;

  const Form form_;
  mutable Workspaces<float> floats_;
  mutable Workspaces<double> doubles_;
};

// Reads the lengths in fft_length, and the output's last dims.
void Fourier::set_logical(KernelIo& io, const TensorView& in, Extents& extents, Shape& out) const {
  const size_t lengths_index = form_.inverse ? 2 : 1;
  const TensorView asked = io.view(lengths_index);
  const std::vector<int64_t> lengths = io.integers(lengths_index);
  if (!io.require(asked.shape.rank() == 1 && lengths.size() == form_.dims,
                  "fft_length must have shape [" + std::to_string(form_.dims) + "]")) {
    return;
  }
  const size_t first = in.shape.rank() - form_.dims;
  for (size_t i = 0; i < form_.dims; ++i) {
    const int64_t length = lengths[i];
    if (!io.require(length >= 0, "fft_length[" + std::to_string(i) +
                                     "] must be >= 0, but got: " + std::to_string(length))) {
      return;
    }
    const bool last = i + 1 == form_.dims;
    const int64_t least = form_.inverse && last ? length / 2 + 1 : length;
    const int64_t got = in.shape[first + i];
    if (!io.require(got == 0 || got >= least, "Input dimension " + std::to_string(first + i) +
                                                  " must have length of at least " +
                                                  std::to_string(least) +
                                                  " but got: " + std::to_string(got))) {
      return;
    }
    const int64_t half = length == 0 ? 0 : length / 2 + 1;
    out.set(first + i, !form_.inverse && last ? half : length);
    const size_t axis = kDimsMax - form_.dims + i;
    extents.logical[axis] = static_cast<size_t>(length);
    extents.complex[axis] = static_cast<size_t>(last ? half : length);
  }
}

// Sets `out` to the output's shape.
Extents Fourier::extents_of(KernelIo& io, const TensorView& in, Shape& out) const {
  Extents extents;
  out = in.shape;
  if (!io.require(in.shape.rank() >= form_.dims, "Input must have rank of at least " +
                                                     std::to_string(form_.dims) +
                                                     " but got: " + in.shape.to_string())) {
    return extents;
  }
  const size_t first = in.shape.rank() - form_.dims;
  for (size_t i = 0; i < form_.dims; ++i) {
    const size_t axis = kDimsMax - form_.dims + i;
    extents.in[axis] = static_cast<size_t>(in.shape[first + i]);
    extents.logical[axis] = extents.complex[axis] = extents.in[axis];
  }
  extents.count = 1;
  for (size_t i = 0; i < first; ++i) extents.count *= static_cast<size_t>(in.shape[i]);
  if (form_.real) set_logical(io, in, extents, out);
  for (const size_t length : extents.logical) {
    io.require(length <= static_cast<size_t>(kFourierLengthMax),
               "a Fourier transform of " + std::to_string(length) + " elements: expected at most " +
                   std::to_string(kFourierLengthMax));
  }
  return extents;
}

template <typename T>
Status Fourier::run_as(KernelContext& context, KernelIo& io, const TensorView& in,
                       Workspaces<T>& workspaces) const {
  Shape shape;
  const Extents extents = extents_of(io, in, shape);
  Parts<T> parts;
  parts.in_real = io.elements<T>(in).data();
  if (form_.inverse || !form_.real) {
    const TensorView imaginary = io.view(1);
    io.require(imaginary.shape == in.shape, "the imaginary parts have shape " +
                                                imaginary.shape.to_string() + ", the real ones " +
                                                in.shape.to_string());
    parts.in_imaginary = io.elements<T>(imaginary).data();
  }
  const bool real_out = form_.real && form_.inverse;
  const std::span<T> real = io.output<T>(0, shape);
  parts.out_real = real.data();
  std::span<T> imaginary;
  if (!real_out) imaginary = io.output<T>(1, shape);
  parts.out_imaginary = imaginary.data();
  if (io.failed() || real.empty()) return io.take();
  if (in.shape.elements().value_or(0) == 0) {
    std::fill(real.begin(), real.end(), T(0));
    std::fill(imaginary.begin(), imaginary.end(), T(0));
    return io.take();
  }
  return transform(context, extents, parts, workspaces);
}

template <typename T>
Status Fourier::transform(KernelContext& context, const Extents& extents, const Parts<T>& parts,
                          Workspaces<T>& workspaces) const {
  const size_t each = std::max<size_t>(Extents::product(extents.logical), 1);
  const size_t worth = (extents.count - 1) / std::max<size_t>(kFftTaskElements / each, 1) + 1;
  const size_t tasks = std::min({worth, extents.count, kTransformTasksMax});
  const size_t step = (extents.count + tasks - 1) / tasks;
  return context.parallel(tasks, [&](size_t task) {
    const size_t end = std::min(extents.count, (task + 1) * step);
    if (task * step >= end) return;
    std::unique_ptr<Workspace<T>> work = workspaces.take(extents);
    Transform<T> transform(form_, extents, parts, *work);
    for (size_t i = task * step; i < end; ++i) transform.run(i);
    workspaces.give(std::move(work));
  });
}

template <bool kReal, bool kInverse, size_t kDims>
Result<std::unique_ptr<Kernel>> make_fourier(const KernelAttributes&) {
  return std::unique_ptr<Kernel>(std::make_unique<Fourier>(Form{kReal, kInverse, kDims}));
}

}  // namespace

std::vector<OperatorType> fourier_operators() {
  const Operand any{};
  return {
      {"FFT", {any, any}, {any, any}, make_fourier<false, false, 1>},
      {"IFFT", {any, any}, {any, any}, make_fourier<false, true, 1>},
      {"RFFT", {any, any}, {any, any}, make_fourier<true, false, 1>},
      {"IRFFT", {any, any, any}, {any}, make_fourier<true, true, 1>},
      {"FFT2D", {any, any}, {any, any}, make_fourier<false, false, 2>},
      {"IFFT2D", {any, any}, {any, any}, make_fourier<false, true, 2>},
      {"RFFT2D", {any, any}, {any, any}, make_fourier<true, false, 2>},
      {"IRFFT2D", {any, any, any}, {any}, make_fourier<true, true, 2>},
      {"FFT3D", {any, any}, {any, any}, make_fourier<false, false, 3>},
      {"IFFT3D", {any, any}, {any, any}, make_fourier<false, true, 3>},
      {"RFFT3D", {any, any}, {any, any}, make_fourier<true, false, 3>},
      {"IRFFT3D", {any, any, any}, {any}, make_fourier<true, true, 3>},
  };
}

}  // namespace serval::operators
