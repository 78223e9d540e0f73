// The best few of the pushed items, in the order in which TensorFlow's gtl::TopN keeps them: for
// equal scores that order decides which stay. Hot path, any thread.
// Source: tensorflow/core/lib/gtl/top_n.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace serval::operators {

// `Better` is a strict weak order, including scores that are NaN.
template <typename Item, typename Better>
class Best {
 public:
  Best(size_t limit, Better better) : limit_(limit), better_(better) {}

  size_t size() const { return std::min(items_.size(), limit_); }
  const Item& operator[](size_t i) const { return items_[i]; }

  // Returns the item that this one displaces, which may be this one itself; none while there is
  // space.
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

  // Requires at least one item.
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

  // Removes and returns all items, the best first.
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
  // In a heap, the last item is one that has been removed.
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
