// The best few of what is pushed, in the order that TensorFlow's gtl::TopN keeps them in: where
// scores are equal, that order says who stays. Hot path, any thread.
// Source: tensorflow/core/lib/gtl/top_n.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace serval::operators {

// `Better` is a strict weak order, also of scores that are no numbers.
template <typename Item, typename Better>
class Best {
 public:
  Best(size_t limit, Better better) : limit_(limit), better_(better) {}

  size_t size() const { return std::min(items_.size(), limit_); }
  const Item& operator[](size_t i) const { return items_[i]; }

  // The item that leaves for this one, which may be this one itself; none while there is room.
  std::optional<Item> push(Item item) {
    if (limit_ == 0) return item;
    if (order_ == Order::Heap) {
      if (!better_(item, items_.front())) return item;
      items_.back() = item;
      std::push_heap(items_.begin(), items_.end(), better_);
      return leave();
    }
    items_.push_back(item);
    if (order_ == Order::WorstFirst && !better_(items_.back(), items_.front())) {
      std::swap(items_.front(), items_.back());
    }
    if (items_.size() <= limit_) return std::nullopt;
    std::make_heap(items_.begin(), items_.end(), better_);
    order_ = Order::Heap;
    return leave();
  }

  // There is one.
  const Item& worst() {
    if (order_ == Order::AsPushed) {
      size_t at = 0;
      for (size_t i = 1; i < items_.size(); ++i) {
        if (better_(items_[at], items_[i])) at = i;
      }
      std::swap(items_[0], items_[at]);
      order_ = Order::WorstFirst;
    }
    return items_.front();
  }

  // All of them, the best first; none is left.
  std::vector<Item> take() {
    std::vector<Item> taken = std::exchange(items_, {});
    if (order_ == Order::Heap) {
      taken.pop_back();
      std::sort_heap(taken.begin(), taken.end(), better_);
    } else {
      std::sort(taken.begin(), taken.end(), better_);
    }
    order_ = Order::AsPushed;
    return taken;
  }

 private:
  // Of a heap the last item is one that has left.
  enum class Order : uint8_t { AsPushed, WorstFirst, Heap };

  Item leave() {
    const Item worst = items_.front();
    std::pop_heap(items_.begin(), items_.end(), better_);
    return worst;
  }

  std::vector<Item> items_;
  const size_t limit_;
  const Better better_;
  Order order_ = Order::AsPushed;
};

}  // namespace serval::operators
