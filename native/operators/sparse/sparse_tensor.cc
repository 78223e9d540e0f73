// Reads and checks sparse tensors. Hot path, any thread.
#include "operators/sparse/sparse_tensor.h"

namespace serval::operators {

SparsePlaces read_places(KernelIo& io, size_t indices, size_t dims, std::string_view op) {
  const TensorView view = io.view(indices), shape = io.view(dims);
  SparsePlaces places;
  places.indices = io.elements<int64_t>(view);
  places.dims = io.elements<int64_t>(shape);
  if (io.failed()) return places;
  io.require(view.shape.rank() == 2, std::string(op) +
                                         ": Input indices should be a matrix but "
                                         "received shape " +
                                         view.shape.to_string());
  io.require(shape.shape.rank() == 1, std::string(op) +
                                          ": Input shape should be a vector but "
                                          "received shape " +
                                          shape.shape.to_string());
  if (io.failed()) return places;
  places.count = static_cast<size_t>(view.shape[0]);
  if (!io.require(view.shape[1] == static_cast<int64_t>(places.rank()),
                  std::string(op) + ": Input shape has rank " + std::to_string(places.rank()) +
                      ", its indices have " + std::to_string(view.shape[1]))) {
    return places;
  }
  for (const int64_t dim : places.dims) {
    io.require(dim >= 0, std::string(op) + ": negative dim in shape " + list_text(places.dims));
  }
  return places;
}

bool check_places(KernelIo& io, const SparsePlaces& places) {
  for (size_t i = 0; i < places.count && !io.failed(); ++i) {
    const auto index = places.at(i);
    for (size_t d = 0; d < places.rank(); ++d) {
      if (index[d] >= 0 && index[d] < places.dims[d]) continue;
      io.refuse("indices[" + std::to_string(i) + "] = " + list_text(index) +
                " is out of bounds: need 0 <= index < " + list_text(places.dims));
      break;
    }
  }
  return !io.failed();
}

std::string list_text(std::span<const int64_t> values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) text += ',';
    text += std::to_string(values[i]);
  }
  return text + "]";
}

bool to_shape(KernelIo& io, std::span<const int64_t> dims, Shape& shape) {
  shape.clear();
  for (const int64_t dim : dims) {
    if (!io.require(shape.push_back(dim), "rank of shape too high")) return false;
  }
  return io.require(shape.elements().has_value(),
                    "shape " + list_text(dims) + " has negative dims or too many elements");
}

}  // namespace serval::operators
