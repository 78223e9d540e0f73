// Label sequences as sparse tensors. Hot path, any thread.
#include "operators/decoders/paths.h"

namespace serval::operators {

void write_paths(KernelIo& io, std::span<const std::vector<Labels>> paths, size_t top) {
  for (size_t path = 0; path < top; ++path) {
    size_t count = 0, longest = 0;
    for (const std::vector<Labels>& row : paths) {
      count += row[path].size();
      longest = std::max(longest, row[path].size());
    }
    const auto indices = io.output<int64_t>(path, shape_of({static_cast<int64_t>(count), 2}));
    const auto values = io.vector_output<int64_t>(top + path, count);
    const auto shape = io.vector_output<int64_t>(2 * top + path, 2);
    if (io.failed()) return;
    size_t at = 0;
    for (size_t row = 0; row < paths.size(); ++row) {
      const Labels& labels = paths[row][path];
      for (size_t i = 0; i < labels.size(); ++i, ++at) {
        indices[2 * at] = static_cast<int64_t>(row);
        indices[2 * at + 1] = static_cast<int64_t>(i);
        values[at] = labels[i];
      }
    }
    shape[0] = static_cast<int64_t>(paths.size());
    shape[1] = static_cast<int64_t>(longest);
  }
}

}  // namespace serval::operators
