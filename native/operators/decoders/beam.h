// A beam search over one sequence of scores: finds the labels whose CTC alignments have the largest
// sum. The last class is the blank. Hot path, any thread.
// Source: tensorflow/core/util/ctc/ctc_beam_search.h.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "operators/decoders/best.h"
#include "operators/decoders/paths.h"

namespace serval::operators {

// Limit on the prefixes that a search keeps for one sequence: about 64 bytes each.
inline constexpr size_t kBeginningsMax = size_t{1} << 21;

template <typename T>
class BeamSearch {
 public:
  BeamSearch(size_t width, size_t classes)
      : classes_(classes), width_(width), beam_(width, Better{&kept_}) {
    kept_.emplace_back();
    kept_[kRoot].now = {0, 0, kNone};
    kept_[kRoot].in_beam = true;
    (void)beam_.push(kRoot);
    known_.assign(classes, kNowhere);
  }
  BeamSearch(const BeamSearch&) = delete;
  BeamSearch& operator=(const BeamSearch&) = delete;

  // Applies the scores of one time step, one for each class. False: it would keep too many
  // prefixes.
  bool step(std::span<const T> scores);

  // Returns the best paths and their scores. Errors: invalid_argument if there are fewer.
  Status best_paths(size_t count, bool merges, std::vector<Labels>& paths, std::span<T> scores);

 private:
  using Place = int32_t;
  static constexpr Place kRoot = 0, kNowhere = -1;
  static constexpr T kNone = -std::numeric_limits<T>::infinity();

  // Logarithms of probabilities: of the labels so far, of those ending in a blank, and of those
  // ending in the label itself.
  struct Chance {
    T total = kNone, blank = kNone, label = kNone;
  };
  // A prefix of a path: its parent's labels and one more. The tree holds the prefixes in the beam
  // and their ancestors.
  struct Beginning {
    Place parent = kNowhere, child = kNowhere, next = kNowhere, previous = kNowhere;
    int32_t label = -1;
    bool in_beam = false, was_in_beam = false;
    Chance before, now;
  };
  // Scores that are NaN come last.
  struct Better {
    const std::vector<Beginning>* kept;
    bool operator()(Place a, Place b) const {
      const T left = (*kept)[static_cast<size_t>(a)].now.total;
      const T right = (*kept)[static_cast<size_t>(b)].now.total;
      return left > right || (std::isnan(right) && !std::isnan(left));
    }
  };

  Beginning& at(Place place) { return kept_[static_cast<size_t>(place)]; }
  static T either(T a, T b);
  static T sum_of_all(std::span<const T> scores);
  bool is_candidate(const Chance& chance) {
    return chance.total > kNone &&
           (beam_.size() < width_ || chance.total > at(beam_.worst()).now.total);
  }
  void go_on(Place place, std::span<const T> scores, T offset);
  bool branch(Place place, std::span<const T> scores, T offset);
  Place add_child(Place parent, int32_t label);
  void push(Place place);
  void forget(Place place);

  const size_t classes_;
  const size_t width_;
  std::vector<Beginning> kept_;
  std::vector<Place> free_;
  // For the prefix that branches: its children by label.
  std::vector<Place> known_;
  Best<Place, Better> beam_;
};

// The logarithm of the sum of two probabilities; in single precision even for doubles, as in
// TensorFlow.
template <typename T>
T BeamSearch<T>::either(T a, T b) {
  if (a == kNone) return b;
  if (b == kNone) return a;
  const float apart = std::exp(static_cast<float>(a > b ? b - a : a - b));
  return (a > b ? a : b) + static_cast<T>(std::log1p(apart));
}

template <typename T>
bool BeamSearch<T>::step(std::span<const T> scores) {
  const T offset = sum_of_all(scores);
  const std::vector<Place> order = beam_.take();
  for (const Place place : order) {
    Beginning& one = at(place);
    one.before = one.now;
    one.in_beam = false;
    one.was_in_beam = true;
  }
  for (const Place place : order) go_on(place, scores, offset);
  bool fits = true;
  for (const Place place : order) fits = fits && branch(place, scores, offset);
  for (const Place place : order) at(place).was_in_beam = false;
  for (const Place place : order) forget(place);
  return fits;
}

// The logarithm of the sum of the scores' exponentials.
template <typename T>
T BeamSearch<T>::sum_of_all(std::span<const T> scores) {
  T highest = scores[0], sum = 0;
  for (const T score : scores) highest = std::max(highest, score);
  for (const T score : scores) sum += std::exp(score - highest);
  return highest + std::log(sum);
}

// Keeps the same labels at this time: repeats the last one, or adds a blank.
template <typename T>
void BeamSearch<T>::go_on(Place place, std::span<const T> scores, T offset) {
  Beginning& one = at(place);
  if (one.parent != kNowhere) {
    const Beginning& parent = at(one.parent);
    if (parent.now.total != kNone) {
      one.now.label = either(one.now.label,
                             one.label == parent.label ? parent.before.blank : parent.before.total);
    }
    one.now.label += scores[static_cast<size_t>(one.label)] - offset;
  }
  one.now.blank = one.before.total + scores[classes_ - 1] - offset;
  one.now.total = either(one.now.blank, one.now.label);
  push(place);
}

// Extends by one label wherever the result is good enough for the beam. False: too many are kept.
template <typename T>
bool BeamSearch<T>::branch(Place place, std::span<const T> scores, T offset) {
  if (!is_candidate(at(place).before)) return true;
  for (Place child = at(place).child; child != kNowhere; child = at(child).next) {
    known_[static_cast<size_t>(at(child).label)] = child;
  }
  const Chance before = at(place).before;
  const int32_t last = at(place).label;
  for (int32_t label = 0; label + 1 < static_cast<int32_t>(classes_); ++label) {
    Place child = std::exchange(known_[static_cast<size_t>(label)], kNowhere);
    if (child != kNowhere && at(child).now.total != kNone) continue;
    Chance chance;
    chance.label =
        scores[static_cast<size_t>(label)] - offset + (label == last ? before.blank : before.total);
    chance.total = chance.label;
    if (!is_candidate(chance)) {
      if (child != kNowhere) at(child).now = at(child).before = Chance();
      continue;
    }
    if (child == kNowhere) child = add_child(place, label);
    if (child == kNowhere) return false;
    at(child).now = chance;
    if (beam_.size() == width_) at(beam_.worst()).now = Chance();
    push(child);
  }
  return true;
}

template <typename T>
typename BeamSearch<T>::Place BeamSearch<T>::add_child(Place parent, int32_t label) {
  Place place = kNowhere;
  if (!free_.empty()) {
    place = free_.back();
    free_.pop_back();
    at(place) = Beginning();
  } else {
    if (kept_.size() >= kBeginningsMax) return kNowhere;
    place = static_cast<Place>(kept_.size());
    kept_.emplace_back();
  }
  Beginning& one = at(place);
  one.parent = parent;
  one.label = label;
  one.next = at(parent).child;
  if (one.next != kNowhere) at(one.next).previous = place;
  at(parent).child = place;
  return place;
}

template <typename T>
void BeamSearch<T>::push(Place place) {
  at(place).in_beam = true;
  const std::optional<Place> left = beam_.push(place);
  if (!left) return;
  at(*left).in_beam = false;
  forget(*left);
}

// Removes prefixes that are not in the beam and lead to nothing in it.
template <typename T>
void BeamSearch<T>::forget(Place place) {
  while (place != kRoot) {
    const Beginning one = at(place);
    if (one.in_beam || one.was_in_beam || one.child != kNowhere || one.parent == kNowhere) return;
    if (one.previous != kNowhere) at(one.previous).next = one.next;
    else at(one.parent).child = one.next;
    if (one.next != kNowhere) at(one.next).previous = one.previous;
    at(place) = Beginning();
    free_.push_back(place);
    place = one.parent;
  }
}

template <typename T>
Status BeamSearch<T>::best_paths(size_t count, bool merges, std::vector<Labels>& paths,
                                 std::span<T> scores) {
  if (count > width_) return invalid_argument("requested more paths than the beam width.");
  if (count > beam_.size()) {
    return invalid_argument("Less leaves in the beam search than requested.");
  }
  Best<Place, Better> best(count, Better{&kept_});
  for (size_t i = 0; i < beam_.size(); ++i) (void)best.push(beam_[i]);
  const std::vector<Place> order = best.take();
  paths.assign(count, Labels());
  for (size_t i = 0; i < count; ++i) {
    scores[i] = at(order[i]).now.total;
    int32_t last = -1;
    for (Place place = order[i]; place != kRoot; place = at(place).parent) {
      const int32_t label = at(place).label;
      if (!merges || label != last) paths[i].push_back(label);
      last = label;
    }
    std::reverse(paths[i].begin(), paths[i].end());
  }
  return ok_status();
}

}  // namespace serval::operators
