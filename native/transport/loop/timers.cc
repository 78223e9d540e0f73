// Implements the timers as a binary heap. Hot path; the listener's thread.
#include "transport/loop/timers.h"

namespace serval {

void Timers::set(TimerNode& node, uint64_t due_ns) {
  node.due_ns = due_ns;
  if (node.place == TimerNode::kOut) {
    node.place = heap_.size();
    heap_.push_back(&node);
  }
  rise(node.place);
  sink(node.place);
}

void Timers::clear(TimerNode& node) {
  const size_t place = node.place;
  if (place == TimerNode::kOut) return;
  TimerNode* last = heap_.back();
  heap_.pop_back();
  node.place = TimerNode::kOut;
  if (last == &node) return;
  put(place, last);
  rise(place);
  sink(last->place);
}

TimerNode* Timers::take(uint64_t now_ns) {
  if (next_ns() > now_ns) return nullptr;
  TimerNode* first = heap_.front();
  clear(*first);
  return first;
}

void Timers::put(size_t place, TimerNode* node) {
  heap_[place] = node;
  node->place = place;
}

void Timers::rise(size_t place) {
  TimerNode* node = heap_[place];
  while (place > 0) {
    const size_t parent = (place - 1) / 2;
    if (heap_[parent]->due_ns <= node->due_ns) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, node);
}

void Timers::sink(size_t place) {
  TimerNode* node = heap_[place];
  for (;;) {
    size_t child = 2 * place + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->due_ns < heap_[child]->due_ns) ++child;
    if (heap_[child]->due_ns >= node->due_ns) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, node);
}

}  // namespace serval
