// See sparse_tensor.h. Hot path, any thread.
#include "operators/sparse/sparse_tensor.h"

namespace serval::operators {

SparsePlaces read_places(Ports& ports, size_t indices, size_t dims, std::string_view op) {
  const TensorView view = ports.view(indices), shape = ports.view(dims);
  SparsePlaces places;
  places.indices = ports.elements<int64_t>(view);
  places.dims = ports.elements<int64_t>(shape);
  if (ports.failed()) return places;
  ports.require(view.shape.rank() == 2, std::string(op) +
                                            ": Input indices should be a matrix but "
                                            "received shape " +
                                            view.shape.to_string());
  ports.require(shape.shape.rank() == 1, std::string(op) +
                                             ": Input shape should be a vector but "
                                             "received shape " +
                                             shape.shape.to_string());
  if (ports.failed()) return places;
  places.count = static_cast<size_t>(view.shape[0]);
  if (!ports.require(view.shape[1] == static_cast<int64_t>(places.rank()),
                     std::string(op) + ": Input shape has rank " + std::to_string(places.rank()) +
                         ", its indices have " + std::to_string(view.shape[1]))) {
    return places;
  }
  for (const int64_t dim : places.dims) {
    ports.require(dim >= 0, std::string(op) + ": negative dim in shape " + list_text(places.dims));
  }
  return places;
}

bool check_places(Ports& ports, const SparsePlaces& places) {
  for (size_t i = 0; i < places.count && !ports.failed(); ++i) {
    const auto index = places.at(i);
    for (size_t d = 0; d < places.rank(); ++d) {
      if (index[d] >= 0 && index[d] < places.dims[d]) continue;
      ports.refuse("indices[" + std::to_string(i) + "] = " + list_text(index) +
                   " is out of bounds: need 0 <= index < " + list_text(places.dims));
      break;
    }
  }
  return !ports.failed();
}

std::string list_text(std::span<const int64_t> values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) text += ',';
    text += std::to_string(values[i]);
  }
  return text + "]";
}

bool to_shape(Ports& ports, std::span<const int64_t> dims, Shape& shape) {
  shape.clear();
  for (const int64_t dim : dims) {
    if (!ports.require(shape.push_back(dim), "rank of shape too high")) return false;
  }
  return ports.require(shape.elements().has_value(),
                       "shape " + list_text(dims) + " has negative dims or too many elements");
}

}  // namespace serval::operators
