// Generated from proto/engine.fbs by proto/generate.mjs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/generated/engine_names.h"

namespace serval {

// A constant shared by the graphs of a model: raw little-endian elements in a file.
struct Weight {
  std::string name;  // the initializer's name in every graph that uses it
  fb::DType datatype = fb::DType::Invalid;
  std::vector<int64_t> dims;
  uint32_t file = 0;  // index into ModelSpec.weight_files
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::optional<uint32_t> masked_crc32c;  // over exactly these bytes; absent: not checked
};

template <typename Table, typename Visit>
void each_member(const Table& from, Weight& to, Visit visit) {
  visit(from.name(), to.name);
  visit(from.datatype(), to.datatype);
  visit(from.dims(), to.dims);
  visit(from.file(), to.file);
  visit(from.offset(), to.offset);
  visit(from.bytes(), to.bytes);
  visit(from.masked_crc32c(), to.masked_crc32c);
}

// A variable that a graph reads and, with `output`, assigns: state of the loaded version.
struct GraphState {
  uint32_t state = 0;  // index into ModelSpec.states
  std::string input;
  std::string output;  // "" = only read
};

template <typename Table, typename Visit>
void each_member(const Table& from, GraphState& to, Visit visit) {
  visit(from.state(), to.state);
  visit(from.input(), to.input);
  visit(from.output(), to.output);
}

// The common form of TensorFlow Serving's batching parameters and Triton's dynamic_batching. A row is one entry along the first dim.
struct BatchPolicy {
  fb::BatchMode mode = fb::BatchMode::Off;
  uint32_t rows_max = 0;  // largest batch
  uint32_t request_rows_max = 0;  // larger requests are refused; 0 = any
  std::vector<uint32_t> preferred_rows;  // ascending; a batch of such a size starts at once
  std::vector<uint32_t> allowed_rows;  // ascending; batches are padded up to the next one
  uint32_t delay_us = 0;  // how long the oldest request may wait for others
  bool split = false;  // requests over rows_max are run in pieces
  bool pad_inner = false;  // trailing dims are zero-padded to the largest instead of separated
  bool preserve_ordering = false;  // responses keep the order of the requests
  bool only_if_batchable = false;  // Off unless the first dim of every input and output is free.
  bool any_rows = false;  // never padded, even if the model's operators plan each shape
};

template <typename Table, typename Visit>
void each_member(const Table& from, BatchPolicy& to, Visit visit) {
  visit(from.mode(), to.mode);
  visit(from.rows_max(), to.rows_max);
  visit(from.request_rows_max(), to.request_rows_max);
  visit(from.preferred_rows(), to.preferred_rows);
  visit(from.allowed_rows(), to.allowed_rows);
  visit(from.delay_us(), to.delay_us);
  visit(from.split(), to.split);
  visit(from.pad_inner(), to.pad_inner);
  visit(from.preserve_ordering(), to.preserve_ordering);
  visit(from.only_if_batchable(), to.only_if_batchable);
  visit(from.any_rows(), to.any_rows);
}

struct QueuePolicy {
  fb::TimeoutAction timeout_action = fb::TimeoutAction::Reject;
  uint64_t default_timeout_us = 0;  // 0 = none
  bool allow_timeout_override = false;  // a request's `timeout` may shorten it
  uint32_t requests_max = 0;  // 0 = ModelSpec.queue_requests_max
};

template <typename Table, typename Visit>
void each_member(const Table& from, QueuePolicy& to, Visit visit) {
  visit(from.timeout_action(), to.timeout_action);
  visit(from.default_timeout_us(), to.default_timeout_us);
  visit(from.allow_timeout_override(), to.allow_timeout_override);
  visit(from.requests_max(), to.requests_max);
}

// Level 1 is served first.
struct PriorityQueuePolicy {
  uint32_t level = 0;
  QueuePolicy policy;
};

template <typename Table, typename Visit>
void each_member(const Table& from, PriorityQueuePolicy& to, Visit visit) {
  visit(from.level(), to.level);
  visit(from.policy(), to.policy);
}

// A configuration's settings of one input or output, in any order.
struct TensorOverride {
  std::string name;
  std::vector<int64_t> dims;  // the clients' shape, including the batch dim; -1 = free
  std::vector<int64_t> model_dims;  // the model's shape (reshape); empty = dims
  std::vector<std::string> labels;  // outputs: classification labels by index
  bool optional = false;  // inputs: a request may omit it
  bool ragged = false;  // inputs: requests of any shapes join to one flat tensor
};

template <typename Table, typename Visit>
void each_member(const Table& from, TensorOverride& to, Visit visit) {
  visit(from.name(), to.name);
  visit(from.dims(), to.dims);
  visit(from.model_dims(), to.model_dims);
  visit(from.labels(), to.labels);
  visit(from.optional(), to.optional);
  visit(from.ragged(), to.ragged);
}

struct BatchInput {
  std::string input;
  fb::BatchInputKind kind = fb::BatchInputKind::ElementCount;
  fb::DType datatype = fb::DType::Invalid;  // INT32 or FP32
  std::string source;  // an input of the clients
};

template <typename Table, typename Visit>
void each_member(const Table& from, BatchInput& to, Visit visit) {
  visit(from.input(), to.input);
  visit(from.kind(), to.kind);
  visit(from.datatype(), to.datatype);
  visit(from.source(), to.source);
}

// An output whose elements are split among the requests of a batch, by the shape of a source in each (Triton's BATCH_SCATTER_WITH_INPUT_SHAPE).
struct BatchOutput {
  std::string output;
  std::string source;
};

template <typename Table, typename Visit>
void each_member(const Table& from, BatchOutput& to, Visit visit) {
  visit(from.output(), to.output);
  visit(from.source(), to.source);
}

struct Provider {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;
};

template <typename Table, typename Visit>
void each_member(const Table& from, Provider& to, Visit visit) {
  visit(from.name(), to.name);
  visit(from.options(), to.options);
}

// An input or output of a step, and the ensemble's tensor that is connected with it.
struct EnsembleLink {
  std::string name;
  std::string tensor;
};

template <typename Table, typename Visit>
void each_member(const Table& from, EnsembleLink& to, Visit visit) {
  visit(from.name(), to.name);
  visit(from.tensor(), to.tensor);
}

// One step of an ensemble: a loaded model, with the tensors that it reads and makes. An input that the model can do without may have no link.
struct EnsembleStep {
  uint32_t handle = 0;
  std::vector<EnsembleLink> inputs;
  std::vector<EnsembleLink> outputs;
};

template <typename Table, typename Visit>
void each_member(const Table& from, EnsembleStep& to, Visit visit) {
  visit(from.handle(), to.handle);
  visit(from.inputs(), to.inputs);
  visit(from.outputs(), to.outputs);
}

// An input that the server fills.
struct SequenceControl {
  std::string input;
  fb::SequenceSignal signal = fb::SequenceSignal::Start;
  fb::DType datatype = fb::DType::Invalid;
  std::vector<uint8_t> off;  // the element if the signal is off; not for Id
  std::vector<uint8_t> on;
};

template <typename Table, typename Visit>
void each_member(const Table& from, SequenceControl& to, Visit visit) {
  visit(from.input(), to.input);
  visit(from.signal(), to.signal);
  visit(from.datatype(), to.datatype);
  visit(from.off(), to.off);
  visit(from.on(), to.on);
}

// An output that becomes an input of the sequence's next request.
struct SequenceState {
  std::string input;
  std::string output;
  fb::DType datatype = fb::DType::Invalid;
  std::vector<int64_t> dims;  // of the initial value, without the batch dim
  std::vector<uint8_t> initial;  // its elements in V2's binary form; empty = zeros or empty texts
};

template <typename Table, typename Visit>
void each_member(const Table& from, SequenceState& to, Visit visit) {
  visit(from.input(), to.input);
  visit(from.output(), to.output);
  visit(from.datatype(), to.datatype);
  visit(from.dims(), to.dims);
  visit(from.initial(), to.initial);
}

// Triton's sequence_batching. Batches have the sizes of ModelSpec.batch.
struct SequenceSpec {
  fb::SequenceStrategy strategy = fb::SequenceStrategy::Direct;
  uint64_t idle_us = 0;  // a sequence without a request for this long ends
  uint32_t slots = 0;  // Oldest: sequences that have a slot, per instance
  uint32_t rows_min = 0;  // Direct: a batch of fewer rows waits for batch.delay_us
  std::vector<SequenceControl> controls;
  std::vector<SequenceState> states;
  std::string done_output;  // Iterative: a request is a sequence of its own, whose steps repeat until this output is true. "" = not iterative
  uint32_t steps_max = 0;  // a request that is not done after as many steps fails
};

template <typename Table, typename Visit>
void each_member(const Table& from, SequenceSpec& to, Visit visit) {
  visit(from.strategy(), to.strategy);
  visit(from.idle_us(), to.idle_us);
  visit(from.slots(), to.slots);
  visit(from.rows_min(), to.rows_min);
  visit(from.controls(), to.controls);
  visit(from.states(), to.states);
  visit(from.done_output(), to.done_output);
  visit(from.steps_max(), to.steps_max);
}

// Limits of the requests of a model, or of a caller; 0 = none. Rates: a burst is one second's worth, at least 1.
struct LimitSpec {
  uint32_t max_in_flight = 0;  // admitted and not yet answered
  double requests_per_second = 0;
  double rows_per_second = 0;
};

template <typename Table, typename Visit>
void each_member(const Table& from, LimitSpec& to, Visit visit) {
  visit(from.max_in_flight(), to.max_in_flight);
  visit(from.requests_per_second(), to.requests_per_second);
  visit(from.rows_per_second(), to.rows_per_second);
}

// A resource that a run of a model needs while the rate limiter is on. Triton's ModelRateLimiter.Resource.
struct RateResource {
  std::string name;
  bool global = false;  // one count for all devices
  uint32_t count = 0;
};

template <typename Table, typename Visit>
void each_member(const Table& from, RateResource& to, Visit visit) {
  visit(from.name(), to.name);
  visit(from.global(), to.global);
  visit(from.count(), to.count);
}

// The number of a graph's nodes that a provider runs, by ONNX Runtime's name for it.
struct ProviderNodes {
  std::string provider;
  uint32_t nodes = 0;
};

template <typename Table, typename Visit>
void each_member(const Table& from, ProviderNodes& to, Visit visit) {
  visit(from.provider(), to.provider);
  visit(from.nodes(), to.nodes);
}

// How a model runs on a GPU. Each instance records its own graphs; these are the first one's.
struct DeviceRuns {
  std::vector<uint32_t> graph_rows;  // batch sizes recorded at load; 0 = a model without a batch
  int64_t graph_bytes = 0;  // device memory that they took
  std::vector<uint32_t> fixed_rows;  // ascending; batches are padded to these sizes; empty = to none
  std::string why;  // why sizes are fixed, or why there are no graphs
};

template <typename Table, typename Visit>
void each_member(const Table& from, DeviceRuns& to, Visit visit) {
  visit(from.graph_rows(), to.graph_rows);
  visit(from.graph_bytes(), to.graph_bytes);
  visit(from.fixed_rows(), to.fixed_rows);
  visit(from.why(), to.why);
}

}  // namespace serval
