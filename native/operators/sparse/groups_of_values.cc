// EditDistance, SparseToSparseSetOperation. A group is the content of a sparse tensor at one
// position of all dims but the last. Hot path, any thread.
// Source: tensorflow/core/kernels/edit_distance_op.cc, set_kernels.cc.
#include "operators/sparse/groups_of_values.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "operators/sparse/sparse_tensor.h"

namespace serval::operators {
namespace {

// Consecutive entries [begin, end) of one group.
struct Group {
  std::span<const int64_t> place;
  size_t begin = 0, end = 0;
  size_t size() const { return end - begin; }
};

std::vector<Group> groups_of(const SparsePlaces& places) {
  std::vector<Group> made;
  const size_t depth = places.rank() - 1;
  for (size_t i = 0; i < places.count; ++i) {
    const std::span<const int64_t> place = places.at(i).first(depth);
    if (made.empty() || !std::ranges::equal(made.back().place, place)) {
      made.push_back({place, i, i});
    }
    made.back().end = i + 1;
  }
  return made;
}

// Merges two ordered lists of groups: the next position, and the groups present there.
class Merge {
 public:
  Merge(std::span<const Group> first, std::span<const Group> second)
      : first_(first), second_(second) {}
  bool next() {
    a = b = nullptr;
    const bool has_a = i_ < first_.size(), has_b = j_ < second_.size();
    if (!has_a && !has_b) return false;
    const auto before = [](const Group& x, const Group& y) {
      return std::ranges::lexicographical_compare(x.place, y.place);
    };
    if (has_a && (!has_b || !before(second_[j_], first_[i_]))) a = &first_[i_];
    if (has_b && (!has_a || !before(first_[i_], second_[j_]))) b = &second_[j_];
    if (a != nullptr) ++i_;
    if (b != nullptr) ++j_;
    return true;
  }
  std::span<const int64_t> place() const { return a != nullptr ? a->place : b->place; }
  const Group* a = nullptr;
  const Group* b = nullptr;

 private:
  std::span<const Group> first_, second_;
  size_t i_ = 0, j_ = 0;
};

// Calls work(values of input 1, values of input 4), which have one type. False: the type is
// unsupported.
template <typename Work>
bool for_values(KernelIo& io, Work work) {
  const TensorView first = io.view(1), second = io.view(4);
  if (io.failed()) return true;
  if (first.dtype != second.dtype) return false;
  if (first.dtype == DType::Bytes) {
    work(first.strings, second.strings);
    return true;
  }
  return for_number(first.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    work(io.elements<T>(first), io.elements<T>(second));
  });
}

// Refuses a tensor without dims, or whose values do not match its indices.
bool check(KernelIo& io, const SparsePlaces& places, size_t values, std::string_view name) {
  if (io.failed()) return false;
  const Shape& shape = io.view(values).shape;
  io.require(places.rank() > 0, std::string(name) + ": expected a shape of 1 dim or more, got 0");
  io.require(shape.rank() == 1 && shape[0] == static_cast<int64_t>(places.count),
             std::string(name) + ": expected " + std::to_string(places.count) +
                 " values, got shape " + shape.to_string());
  return !io.failed();
}

template <typename T>
size_t distance(std::span<const T> a, std::span<const T> b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

// Inputs: hypothesis (indices, values, shape), truth. Output: distances, with all dims but the
// last.
class EditDistance final : public Kernel {
 public:
  explicit EditDistance(bool normalize) : normalize_(normalize) {}
  Status run(KernelContext& context) const override;

 private:
  float scaled(size_t steps, size_t truth) const {
    if (!normalize_) return static_cast<float>(steps);
    if (truth == 0) return steps == 0 ? 0 : std::numeric_limits<float>::infinity();
    return static_cast<float>(steps) / static_cast<float>(truth);
  }
  const bool normalize_;
};

Status EditDistance::run(KernelContext& context) const {
  KernelIo io(context);
  const SparsePlaces hypothesis = read_places(io, 0, 2, "EditDistance");
  const SparsePlaces truth = read_places(io, 3, 5, "EditDistance");
  if (!check(io, hypothesis, 1, "hypothesis") || !check(io, truth, 4, "truth")) return io.take();
  io.require(truth.rank() >= 2,
             "Input SparseTensors must have rank at least 2, but truth_shape "
             "rank is: " +
                 std::to_string(truth.rank()));
  if (!io.require(hypothesis.rank() == truth.rank(),
                  "truth_shape and hypothesis_shape must have the same length")) {
    return io.take();
  }
  std::vector<int64_t> dims;
  for (size_t d = 0; d + 1 < truth.rank(); ++d) {
    dims.push_back(std::max(hypothesis.dims[d], truth.dims[d]));
  }
  Shape shape;
  if (!to_shape(io, dims, shape)) return io.take();
  const std::span<float> out = io.output<float>(0, shape);
  if (io.failed()) return io.take();
  std::fill(out.begin(), out.end(), 0.0F);
  const std::vector<Group> given = groups_of(hypothesis), wanted = groups_of(truth);
  const bool known = for_values(io, [&](auto first, auto second) {
    for (Merge merge(given, wanted); merge.next() && !io.failed();) {
      size_t at = 0;
      bool inside = true;
      for (size_t d = 0; d < dims.size(); ++d) {
        const int64_t index = merge.place()[d];
        inside = inside && index >= 0 && index < dims[d];
        at = at * static_cast<size_t>(dims[d]) + static_cast<size_t>(index);
      }
      if (!io.require(inside, "EditDistance: an index " + list_text(merge.place()) +
                                  " is outside of the output's shape " + list_text(dims))) {
        return;
      }
      const Group none, *a = merge.a == nullptr ? &none : merge.a;
      const Group* b = merge.b == nullptr ? &none : merge.b;
      out[at] =
          scaled(distance(first.subspan(a->begin, a->size()), second.subspan(b->begin, b->size())),
                 b->size());
    }
  });
  if (!known) return internal_failure("EditDistance: no kernel for this type");
  return io.take();
}

enum class SetOperation : uint8_t { AMinusB, BMinusA, Intersection, Union };

std::optional<SetOperation> operation_named(std::string_view name) {
  if (name == "a-b") return SetOperation::AMinusB;
  if (name == "b-a") return SetOperation::BMinusA;
  if (name == "intersection") return SetOperation::Intersection;
  if (name == "union") return SetOperation::Union;
  return std::nullopt;
}

template <typename T>
void combine(SetOperation operation, const std::set<T>& a, const std::set<T>& b,
             std::vector<T>& out) {
  const auto to = std::back_inserter(out);
  switch (operation) {
    case SetOperation::AMinusB: std::ranges::set_difference(a, b, to); break;
    case SetOperation::BMinusA: std::ranges::set_difference(b, a, to); break;
    case SetOperation::Intersection: std::ranges::set_intersection(a, b, to); break;
    case SetOperation::Union: std::ranges::set_union(a, b, to); break;
  }
}

// Checks that indices are sorted, unique and in range.
bool check_order(KernelIo& io, const SparsePlaces& places) {
  if (!check_places(io, places)) return false;
  for (size_t i = 1; i < places.count; ++i) {
    const bool rises = std::ranges::lexicographical_compare(places.at(i - 1), places.at(i));
    if (!io.require(
            rises, "indices[" + std::to_string(i) + "] = " + list_text(places.at(i)) +
                       (std::ranges::equal(places.at(i - 1), places.at(i)) ? " is repeated"
                                                                           : " is out of order"))) {
      return false;
    }
  }
  return true;
}

// Inputs: a (indices, values, shape), b. Outputs: indices, values, shape of the result.
class SparseSets final : public Kernel {
 public:
  SparseSets(SetOperation operation, bool checks) : operation_(operation), checks_(checks) {}
  Status run(KernelContext& context) const override;

 private:
  const SetOperation operation_;
  const bool checks_;
};

template <typename T>
void write_values(KernelIo& io, DType dtype, const std::vector<T>& values) {
  const Shape shape = shape_of({static_cast<int64_t>(values.size())});
  if constexpr (std::is_same_v<T, std::string_view>) {
    io.strings(1, shape, values);
  } else {
    const std::span<uint8_t> out = io.raw_output(1, dtype, shape);
    if (!io.failed() && !values.empty()) std::memcpy(out.data(), values.data(), out.size());
  }
}

Status SparseSets::run(KernelContext& context) const {
  KernelIo io(context);
  const SparsePlaces a = read_places(io, 0, 2, "SparseToSparseSetOperation");
  const SparsePlaces b = read_places(io, 3, 5, "SparseToSparseSetOperation");
  if (!check(io, a, 1, "set1") || !check(io, b, 4, "set2")) return io.take();
  const size_t rank = a.rank();
  if (!io.require(rank >= 2 && b.rank() >= 2, "Input rank should be 2 or more") ||
      !io.require(rank == b.rank(), "Mismatched ranks of set1 and set2")) {
    return io.take();
  }
  if (checks_ && (!check_order(io, a) || !check_order(io, b))) return io.take();
  for (size_t d = 0; d + 1 < rank; ++d) {
    if (!io.require(a.dims[d] == b.dims[d], "Mismatched group shapes: " + list_text(a.dims) +
                                                " and " + list_text(b.dims))) {
      return io.take();
    }
  }
  const DType dtype = io.view(1).dtype;
  const std::vector<Group> first_groups = groups_of(a), second_groups = groups_of(b);
  const bool known =
      for_values(io, [&]<typename T>(std::span<const T> first, std::span<const T> second) {
        std::vector<int64_t> indices;
        std::vector<T> values;
        int64_t most = 0;
        for (Merge merge(first_groups, second_groups); merge.next();) {
          std::set<T> left, right;
          if (merge.a != nullptr) left.insert(&first[merge.a->begin], &first[0] + merge.a->end);
          if (merge.b != nullptr) right.insert(&second[merge.b->begin], &second[0] + merge.b->end);
          const size_t begin = values.size();
          combine(operation_, left, right, values);
          const auto size = static_cast<int64_t>(values.size() - begin);
          for (int64_t i = 0; i < size; ++i) {
            indices.insert(indices.end(), merge.place().begin(), merge.place().end());
            indices.push_back(i);
          }
          most = std::max(most, size);
        }
        const auto count = static_cast<int64_t>(values.size());
        io.integers_output(0, DType::Int64, shape_of({count, static_cast<int64_t>(rank)}), indices);
        write_values(io, dtype, values);
        std::vector<int64_t> dims(a.dims.begin(), a.dims.end());
        dims.back() = most;
        io.integers_output(2, DType::Int64, shape_of({static_cast<int64_t>(rank)}), dims);
      });
  if (!known) return internal_failure("SparseToSparseSetOperation: no kernel for this type");
  return io.take();
}

Result<std::unique_ptr<Kernel>> make_edit_distance(const KernelAttributes& attributes) {
  const bool normalize = attributes.integer("normalize", 1) != 0;
  return std::unique_ptr<Kernel>(std::make_unique<EditDistance>(normalize));
}

Result<std::unique_ptr<Kernel>> make_sets(const KernelAttributes& attributes) {
  const std::string name = attributes.text("set_operation", "");
  const auto operation = operation_named(name);
  if (!operation) return model_invalid("set_operation '" + name + "' is not one");
  const bool checks = attributes.integer("validate_indices", 1) != 0;
  return std::unique_ptr<Kernel>(std::make_unique<SparseSets>(*operation, checks));
}

}  // namespace

std::vector<OperatorType> sparse_group_operators() {
  const Operand longs{DType::Int64}, any{}, floats{DType::Fp32};
  return {
      {"EditDistance", {longs, any, longs, longs, any, longs}, {floats}, make_edit_distance},
      {"SparseToSparseSetOperation",
       {longs, any, longs, longs, any, longs},
       {longs, any, longs},
       make_sets},
  };
}

}  // namespace serval::operators
