// TopK: the k largest elements of each row and their positions, as TensorFlow finds them; the first
// of equal ones. Uses its algorithms, because they determine the position of NaN. Hot path, any
// thread.
// Source: tensorflow/core/kernels/topk_op.cc, tensorflow/core/lib/gtl/top_n.h.
#include <limits>
#include <numeric>

#include "operators/kernel_io.h"
#include "operators/strict/groups.h"
#include "operators/strict/sort.h"
#include "operators/strict/support.h"

namespace serval::operators {
namespace {

template <typename T>
struct Row {
  const T* values;
  size_t count;
};

// Minimum elements per parallel task: less is not worth a thread.
constexpr size_t kElementsPerTask = 1 << 15;

// Sorts a whole row. Equal neighbours are then ordered by position.
template <typename T>
void sort_row(Row<T> row, int32_t* order) {
  const T* const values = row.values;
  int32_t* const end = order + row.count;
  std::iota(order, end, 0);
  StrictSort sort([values](int32_t a, int32_t b) { return values[b] < values[a]; });
  sort(order, end);
  for (int32_t* run = order; run != end;) {
    int32_t* next = run + 1;
    while (next != end && values[*run] == values[*next]) ++next;
    std::sort(run, next);
    run = next;
  }
}

// Finds the first k of a row, in a heap with the smallest of them on top.
template <typename T>
void top_of_row(Row<T> row, size_t k, bool sorted, std::vector<int32_t>& heap) {
  const T* const values = row.values;
  const auto before = [values](int32_t a, int32_t b) {
    if (values[b] < values[a]) return true;
    if (values[b] > values[a]) return false;
    return a < b;
  };
  heap.resize(k + 1);
  std::iota(heap.begin(), heap.end(), 0);
  std::make_heap(heap.begin(), heap.end(), before);
  std::pop_heap(heap.begin(), heap.end(), before);
  heap.pop_back();
  const int32_t count = static_cast<int32_t>(row.count);
  for (int32_t i = static_cast<int32_t>(k) + 1; i < count; ++i) {
    if (!before(i, heap.front())) continue;
    std::pop_heap(heap.begin(), heap.end(), before);
    heap.back() = i;
    std::push_heap(heap.begin(), heap.end(), before);
  }
  if (sorted) std::sort_heap(heap.begin(), heap.end(), before);
}

// Finds the largest: the first element that equals the maximum, the first of all if that is NaN. In
// vectorized parts NaN never counts; in the rest, a value after a NaN does.
template <typename T>
int32_t largest_of_row(Row<T> row) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr size_t kLanes = 32 / sizeof(T);  // of AVX, for which TensorFlow is built
    const size_t vectors = row.count - row.count % kLanes;
    T best = -std::numeric_limits<T>::infinity(), rest = best;
    for (size_t i = 0; i < vectors; ++i) best = best < row.values[i] ? row.values[i] : best;
    for (size_t i = vectors; i < row.count; ++i) rest = row.values[i] < rest ? rest : row.values[i];
    if (rest != rest) return 0;
    best = std::max(best, rest);
    for (size_t i = 0; i < row.count; ++i) {
      if (row.values[i] == best) return static_cast<int32_t>(i);
    }
    return 0;
  } else {
    return static_cast<int32_t>(std::max_element(row.values, row.values + row.count) - row.values);
  }
}

template <typename T, typename Index>
struct TopKRun {
  std::span<const T> values;
  std::span<T> top;
  std::span<Index> places;
  size_t columns, k;
  bool sorted;

  void rows(size_t from, size_t to) const {
    std::vector<int32_t> order(k == columns ? columns : 0);
    for (size_t r = from; r < to; ++r) {
      const Row<T> row{values.data() + r * columns, columns};
      if (k == 1) order.assign(1, largest_of_row(row));
      else if (k == columns) sort_row(row, order.data());
      else top_of_row(row, k, sorted, order);
      for (size_t i = 0; i < k; ++i) {
        top[r * k + i] = row.values[order[i]];
        places[r * k + i] = static_cast<Index>(order[i]);
      }
    }
  }
};

// Inputs: k (int32 or int64), numbers [..., n]. Outputs: [..., k] of them; their places.
// Attributes: `sorted`, `index_type` (ONNX int32 or int64).
class TopK final : public Kernel {
 public:
  explicit TopK(const KernelAttributes& attributes)
      : sorted_(attributes.integer("sorted", 1) != 0),
        index_type_(dtype_from_onnx(attributes.integer("index_type", 6))) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const int64_t k = io.integer(0, "k");
    const TensorView input = io.view(1);
    if (io.failed()) return io.take();
    const size_t rank = input.shape.rank();
    io.require(k >= 0, "Need k >= 0, got " + std::to_string(k));
    io.require(rank >= 1, "input must be >= 1-D, got shape " + input.shape.to_string());
    if (io.failed()) return io.take();
    const int64_t columns = input.shape[rank - 1];
    io.require(k <= columns, "input must have at least k columns. Had " + std::to_string(columns) +
                                 ", needed " + std::to_string(k));
    io.require(columns <= INT32_MAX, "input has too many columns");
    if (io.failed()) return io.take();
    Shape shape = input.shape;
    shape.set(rank - 1, k);
    const bool known = for_number(input.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if (index_type_ == DType::Int32) answer<T, int32_t>(context, io, input, shape);
      else answer<T, int64_t>(context, io, input, shape);
    });
    if (!known) return internal_failure("TopK: no kernel for this type");
    return io.take();
  }

 private:
  template <typename T, typename Index>
  void answer(KernelContext& context, KernelIo& io, const TensorView& input,
              const Shape& shape) const {
    const size_t rank = shape.rank();
    TopKRun<T, Index> run{io.elements<T>(input),
                          io.output<T>(0, shape),
                          io.output<Index>(1, shape),
                          static_cast<size_t>(input.shape[rank - 1]),
                          static_cast<size_t>(shape[rank - 1]),
                          sorted_};
    if (io.failed() || run.k == 0 || run.columns == 0) return;
    const size_t rows = run.values.size() / run.columns;
    const size_t per_task = std::max<size_t>(1, kElementsPerTask / run.columns);
    const size_t tasks = (rows + per_task - 1) / per_task;
    if (tasks < 2) {
      run.rows(0, rows);
      return;
    }
    Status done = context.parallel(tasks, [&](size_t task) {
      run.rows(task * per_task, std::min(rows, (task + 1) * per_task));
    });
    if (!done.ok()) io.fail(std::move(done.error()));
  }
  const bool sorted_;
  const DType index_type_;
};

}  // namespace

std::vector<OperatorType> top_k_operators() {
  constexpr Operand kAny;
  return {{"TopK", {kAny, kAny}, {kAny, kAny}, make_class<TopK>}};
}

}  // namespace serval::operators
