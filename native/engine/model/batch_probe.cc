// Probes whether a model's rows can be batched. Control plane: the loading thread.
#include "engine/model/batch_probe.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "batch/gather.h"
#include "batch/probe_rows.h"
#include "engine/ragged/ragged_model.h"
#include "engine/request/catch_exceptions.h"

namespace serval {

namespace {

using Orders = std::vector<std::vector<uint32_t>>;

// Limit of the bytes of responses that are kept for comparison.
constexpr uint64_t kAnswerBytesMax = 64u << 20;

// Sets a cancel flag when the time is over, so that no run blocks its load forever.
class TimeLimit {
 public:
  explicit TimeLimit(uint64_t limit_ns)
      : end_ns_(now_ns() + limit_ns), thread_([this, limit_ns] { watch(limit_ns); }) {}
  ~TimeLimit() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  bool over() const { return now_ns() >= end_ns_; }
  const CancelFlag* flag() const { return &flag_; }

 private:
  void watch(uint64_t limit_ns) {
    pthread_setname_np(pthread_self(), "sv-probe");
    std::unique_lock lock(mutex_);
    const auto limit = std::chrono::nanoseconds(limit_ns);
    if (changed_.wait_for(lock, limit, [this] { return done_; })) return;
    flag_.cancel(EndCause::Deadline);
  }

  const uint64_t end_ns_;
  CancelFlag flag_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;  // guarded by mutex_
  std::thread thread_;
};

// Returns the signature without inputs that have defaults. Requests that have those run alone.
Signature without_defaults(Signature signature) {
  signature.inputs.resize(signature.required_inputs());
  return signature;
}

// A probe of one signature with values and free inner dims of one style.
class Attempt {
 public:
  enum class End : uint8_t { Holds, Constant, Blind, Refused, Contradicted, Undecided, Late };

  Attempt(const ModelShapes& shapes, BackendModel& backend, TimeLimit& limit, uint32_t signature,
          ProbeStyle style)
      : shapes_(shapes),
        signature_(without_defaults(shapes.signatures()[signature])),
        index_(signature),
        backend_(backend),
        limit_(limit),
        style_(style),
        digits_(backend.info().on_gpu ? ProbeDigits::Coarse : ProbeDigits::Full),
        scratch_(backend.make_scratch()),
        outputs_(signature_.outputs.size()) {
    std::iota(outputs_.begin(), outputs_.end(), 0u);
  }

  End run() {
    End end = run_variant(0, 3, {{1, 0}, {0, 1, 2}, {2, 0, 1, 1}});
    const bool goes_on = end == End::Holds || end == End::Constant;
    if (!goes_on || !has_free_inner_dims(signature_.inputs)) return end;
    const End other = run_variant(1, 2, {{0, 1}, {1, 0, 0}});
    return other == End::Constant ? end : other;
  }
  const std::string& why() const { return why_; }

 private:
  struct Row {
    ProbeTensors request, answer;
  };

  End run_variant(uint32_t variant, uint32_t count, const Orders& orders) {
    std::vector<std::unique_ptr<Row>> rows;
    for (uint32_t i = 0; i < count; ++i) {
      Row& row = *rows.emplace_back(std::make_unique<Row>());
      if (!row.request.make(signature_.inputs, style_, variant, i)) {
        return stop(End::Undecided,
                    "one row is over " + std::to_string(kProbeRowBytesMax) + " bytes");
      }
      shapes_.to_model(index_, row.request.views());
      if (const End end = run_once(row.request.views()); end != End::Holds) return end;
      uint64_t bytes = 0;
      for (const TensorView& output : scratch_->outputs()) bytes += output.bytes;
      if (bytes > kAnswerBytesMax / count)
        return stop(End::Undecided, "the responses are too large");
      row.answer.copy(scratch_->outputs());
    }
    for (const std::vector<uint32_t>& order : orders) {
      if (const End end = run_together(rows, order); end != End::Holds) return end;
    }
    if (const End end = run_again(*rows[0]); end != End::Holds) return end;
    switch (sight_of(rows[0]->answer.views(), rows[1]->answer.views())) {
      case ProbeSight::Clear: return End::Holds;
      case ProbeSight::Constant: return End::Constant;
      case ProbeSight::Blind: break;
    }
    return stop(End::Blind, "the responses to generated rows are not finite");
  }

  // Runs the model. Refused if the model fails.
  End run_once(std::span<const TensorView> inputs) {
    if (limit_.over()) return time_is_over();
    const Status ran = catch_exceptions(
        [&] { return backend_.run(index_, inputs, outputs_, *scratch_, limit_.flag()); });
    if (ran.ok()) return End::Holds;
    if (limit_.over()) return time_is_over();
    return stop(End::Refused, "a generated row is refused: " + ran.error().message);
  }

  End run_together(const std::vector<std::unique_ptr<Row>>& rows,
                   const std::vector<uint32_t>& order) {
    const auto count = static_cast<uint32_t>(order.size());
    std::vector<BatchPart> parts;
    for (const uint32_t row : order) parts.push_back({rows[row]->request.views(), 0, 1});
    std::vector<TensorView> inputs;
    if (!gather(parts, count, false, memory_, inputs).ok()) {
      return stop(End::Undecided, "no memory for " + std::to_string(count) + " rows");
    }
    if (const End end = run_once(inputs); end != End::Holds) {
      if (end != End::Refused) return end;
      return stop(End::Contradicted, std::to_string(count) +
                                         " rows in one batch are refused, but each " +
                                         "alone is accepted: " + why_);
    }
    for (uint32_t place = 0; place < count; ++place) {
      Row& row = *rows[order[place]];
      for (size_t i = 0; i < outputs_.size(); ++i) {
        const std::optional<std::string> difference =
            row_difference(scratch_->outputs()[i], count, place, row.answer.views()[i], digits_);
        if (!difference) continue;
        const std::string found = of_output(i) + *difference;
        const End again = run_again(row);
        return again == End::Holds ? stop(End::Contradicted, found) : again;
      }
    }
    return End::Holds;
  }

  // Runs the same row once more. Undecided if the model's outputs change without a change of the
  // inputs.
  End run_again(const Row& row) {
    if (const End end = run_once(row.request.views()); end != End::Holds) return end;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const TensorView &now = scratch_->outputs()[i], &before = row.answer.views()[i];
      // Both are one row, whatever the first dim is.
      if (now.shape == before.shape && (now.shape.rank() == 0 || now.shape[0] != 1)) continue;
      if (!row_difference(now, 1, 0, before, digits_)) continue;
      return stop(End::Undecided,
                  of_output(i) + "repeated runs of one row return different results");
    }
    return End::Holds;
  }

  std::string of_output(size_t index) const {
    return "output '" + signature_.outputs[index].name + "': ";
  }

  End time_is_over() { return stop(End::Late, "its runs are too slow for the check"); }

  End stop(End end, std::string why) {
    why_ = std::move(why);
    return end;
  }

  const ModelShapes& shapes_;
  const Signature signature_;
  const uint32_t index_;
  BackendModel& backend_;
  TimeLimit& limit_;
  const ProbeStyle style_;
  const ProbeDigits digits_;
  std::unique_ptr<BackendScratch> scratch_;
  std::vector<uint32_t> outputs_;
  GatherMemory memory_;
  std::string why_;
};

// Probes one signature; tries other values or sizes if the first are refused or inconclusive.
BatchFinding probe_signature(const ModelShapes& shapes, BackendModel& backend, TimeLimit& limit,
                             uint32_t index) {
  constexpr ProbeStyle kStyles[] = {{false, false}, {true, false}, {false, true}, {true, true}};
  bool constant = false, blind = false;
  std::string refusal;
  for (const ProbeStyle style : kStyles) {
    const Signature signature = without_defaults(shapes.signatures()[index]);
    if (style.large && !has_free_inner_dims(signature.inputs)) break;
    if (style.large && (constant || blind)) break;  // the sizes are not the obstacle
    Attempt attempt(shapes, backend, limit, index, style);
    switch (attempt.run()) {
      case Attempt::End::Holds: return {BatchProof::Proven, {}};
      case Attempt::End::Contradicted: return {BatchProof::Contradicted, attempt.why()};
      case Attempt::End::Undecided: return {BatchProof::Undecided, attempt.why()};
      case Attempt::End::Late: return {BatchProof::Undecided, attempt.why(), true};
      case Attempt::End::Constant: constant = true; break;
      case Attempt::End::Blind: blind = true; [[fallthrough]];
      case Attempt::End::Refused:
        if (refusal.empty()) refusal = attempt.why();
    }
  }
  if (constant) return {BatchProof::Proven, {}};
  return {BatchProof::Undecided, refusal};
}

// Returns the first signature whose graph does not prove that rows are independent; null: all do.
const RowsProof* not_proved(const std::vector<RowsProof>& rows, size_t signatures, size_t& index) {
  static const RowsProof unknown{RowsVerdict::Unknown,
                                 "nothing proves that its rows are independent"};
  for (index = 0; index < signatures; ++index) {
    if (index >= rows.size()) return &unknown;
    if (rows[index].verdict != RowsVerdict::Proved) return &rows[index];
  }
  return nullptr;
}

// Returns "" if all symbols of first dims are the same and no other dim has that symbol; else a
// description of the contradiction.
std::string other_meaning(const Signature& signature) {
  std::string symbol, owner;
  const auto tensors = {&signature.inputs, &signature.outputs};
  for (const std::vector<TensorSpec>* list : tensors) {
    for (const TensorSpec& tensor : *list) {
      const std::string own = tensor.symbols.empty() ? "" : tensor.symbols[0];
      if (own.empty()) continue;
      if (symbol.empty()) {
        symbol = own;
        owner = tensor.name;
      } else if (own != symbol) {
        return "the first dim of '" + owner + "' is '" + symbol + "', that of '" + tensor.name +
               "' is '" + own + "'";
      }
    }
  }
  for (const std::vector<TensorSpec>* list : tensors) {
    for (const TensorSpec& tensor : *list) {
      if (symbol.empty() || tensor.symbols.empty()) continue;
      if (std::find(tensor.symbols.begin() + 1, tensor.symbols.end(), symbol) ==
          tensor.symbols.end()) {
        continue;
      }
      return "'" + symbol + "' is the first dim of '" + owner + "' and another one of '" +
             tensor.name + "'";
    }
  }
  return {};
}

BatchFinding probe_all(const ModelSpec& spec, const ModelShapes& shapes, BackendModel& backend,
                       uint64_t limit_ns) {
  const std::vector<Signature>& signatures = shapes.signatures();
  const auto where = [&](const Signature& signature) {
    return signatures.size() == 1 ? std::string() : "signature '" + signature.name + "': ";
  };
  if (spec.batch.mode == BatchMode::Auto) {
    for (const Signature& signature : signatures) {
      const std::string other = other_meaning(without_defaults(signature));
      if (!other.empty()) return {BatchProof::Undecided, where(signature) + other};
    }
    size_t index = 0;
    const RowsProof* const against = not_proved(backend.info().rows, signatures.size(), index);
    if (against != nullptr) {
      return {BatchProof::Undecided, where(signatures[index]) + against->text};
    }
  }
  // A slow check does not invalidate a proof.
  const bool proved = spec.batch.mode == BatchMode::Auto;
  TimeLimit limit(limit_ns);
  BatchFinding undecided{BatchProof::Proven, {}};
  for (uint32_t i = 0; i < signatures.size(); ++i) {
    BatchFinding found = probe_signature(shapes, backend, limit, i);
    if (found.proof == BatchProof::Proven) continue;
    found.text = where(signatures[i]) + found.text;
    if (found.proof == BatchProof::Contradicted) return found;
    if (found.late && proved) {
      if (undecided.text.empty()) undecided.text = std::move(found.text);
    } else if (undecided.proof == BatchProof::Proven) {
      undecided = std::move(found);
    }
  }
  return undecided;
}

}  // namespace

BatchFinding probe_batching(const ModelSpec& spec, const ModelShapes& shapes, BackendModel& backend,
                            uint64_t limit_ns) {
  const bool is_wanted =
      effective_mode(spec.batch, shapes, backend.info().stateful, BatchProof::Proven,
                     backend.info().table != nullptr) != BatchMode::Off;
  if (!is_wanted || !shapes.batchable() || spec.batch.rows_max < 2 || is_ragged(spec)) return {};
  // The null backend returns its inputs row by row; the rows of a tabular model are independent.
  if (spec.backend == "null" || backend.info().table != nullptr) return {BatchProof::Proven, {}};
  try {
    return probe_all(spec, shapes, backend, limit_ns);
  } catch (const std::exception& problem) {
    return {BatchProof::Undecided, std::string("exception: ") + problem.what()};
  }
}

BatchMode effective_mode(const BatchPolicy& policy, const ModelShapes& shapes, bool stateful,
                         BatchProof proof, bool tabular) {
  if (stateful) return BatchMode::Off;
  if (policy.only_if_batchable && !shapes.batchable()) return BatchMode::Off;
  if (policy.mode != BatchMode::Auto) return policy.mode;
  // The configuration does not ask for batching by name: the free dim of a vector may be its
  // length.
  if (policy.rows_max <= 1 || !(tabular || shapes.rows_have_dims())) return BatchMode::Off;
  return proof == BatchProof::Proven ? BatchMode::Auto : BatchMode::Off;
}

}  // namespace serval
