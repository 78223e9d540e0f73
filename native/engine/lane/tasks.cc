// MultiInference: each task runs at once or is queued, like a separate request; the results are
// joined in the order of the tasks, and the first failure ends them all. Hot path. Thread: the
// listener's. Source: tensorflow/serving multi_inference.cc.
#include "engine/lane/tasks.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "engine/lane/lookup.h"
#include "engine/model/record.h"
#include "engine/model/refusals.h"
#include "engine/request/outcome.h"

namespace serval {

namespace {

// A task's response is small; the memory of a large one is not kept.
constexpr size_t kAnswerKeepBytes = 64 * 1024;

Protocol protocol_of(const TfTask& task) {
  return task.method() == Method::Classify ? Protocol::TfClassify : Protocol::TfRegress;
}

// Logs the whole request and its response in the request log.
void log_tasks(Model& model, std::span<const uint8_t> bytes, ErrorCode code, const Request& whole,
               uint64_t total_ns) {
  log_request(model,
              {Protocol::TfMultiInference, code, bytes.size(), whole.response.size(), total_ns, {}},
              bytes, -1, whole);
}

// Copies the error of `failed` to `out`.
void copy_error(const Request& failed, Request& out) {
  out.response.clear();
  const bool copied = out.response.append(failed.response.data(), failed.response.size());
  out.json_bytes_out = copied ? failed.json_bytes_out : 0;
  out.code = failed.code;
}

}  // namespace

Answer Tasks::accept(const Arrival& arrival) {
  std::vector<TfTask>& tasks = tasks_;
  if (Status read = read_tf_tasks(arrival.bytes, tasks); !read.ok()) {
    return replies_.answer(arrival, read.error());
  }
  const Result<uint32_t> handle = find_servable(tasks[0].model, state_);
  if (!handle.ok()) return replies_.answer(arrival, handle.error());
  const std::shared_ptr<Model>* model = state_.published().find(handle.value());
  if (model == nullptr) return replies_.answer(arrival, gone(handle.value()));
  Admission admission;
  if (const Status admitted = state_.admit(**model, admission); !admitted.ok()) {
    return replies_.answer(arrival, admitted.error(), handle.value());
  }
  if ((*model)->is_absent()) return wait_for_load(arrival, *model, std::move(admission));
  if (Status checked = check_tf_tasks(tasks, (*model)->signatures()); !checked.ok()) {
    explain_signature(**model, checked.error());
    return replies_.answer(arrival, checked.error(), handle.value());
  }
  traces_.begin(**model);
  const Stopwatch watch;
  size_t done = 0;
  const std::optional<Answer> answer = run_here(arrival, **model, admission, done);
  answer_.response.shrink(kAnswerKeepBytes);
  if (answer.has_value()) {
    log_tasks(**model, arrival.bytes, answer->code, state_.slots.first(), watch.elapsed_ns());
  }
  const Answer whole = answer.has_value()
                           ? *answer
                           : queue(arrival, *model, std::move(admission), done, watch.elapsed_ns());
  answer_.admission.end();
  traces_.drop();
  return whole;
}

// Runs tasks one after the other as long as the policy allows; the results of the first `done` are
// in slot 0. Returns nothing if tasks remain: the caller must queue them.
std::optional<Answer> Tasks::run_here(const Arrival& arrival, Model& model,
                                      const Admission& admission, size_t& done) {
  const Stopwatch watch;
  Request& whole = state_.slots.first();
  Request& one = answer_;
  whole.response.clear();
  whole.json_bytes_out = 0;
  one.wait_until_ns = 0;
  one.died = false;
  for (; done < tasks_.size(); ++done) {
    const TfTask& task = tasks_[done];
    const Protocol protocol = protocol_of(task);
    one.admission = admission.part(done == 0);
    const uint64_t alone = state_.flow_requests();
    if (!runs_inline(model, protocol, arrival.bytes.size(), alone)) return std::nullopt;
    const std::string_view signature = task.signature();
    ServeInput input{protocol, arrival.bytes, -1, nullptr, &signature};
    input.cache = CacheUse::Waits;
    const uint64_t limit_ns =
        arrival.timeout_us == 0 ? kNever : left_of(arrival.timeout_us, watch.elapsed_ns());
    one.trace = traces_.of_task(done);
    if (!inline_runner_.run(model, input, 0, limit_ns, one)) return std::nullopt;
    one.trace.reset();
    model.counters().requests_inline.fetch_add(1, std::memory_order_relaxed);
    if (one.code != ErrorCode::Ok) {
      copy_error(one, whole);
      return Answer{whole.code, false, 0};
    }
    Status added =
        append_tf_result(task.method(), one.response.bytes(), state_.settings, whole.response);
    if (!added.ok()) return replies_.answer(arrival, added.error(), model.handle());
  }
  return Answer{};
}

// Queues the tasks from `first` on; the results of those before are in slot 0.
Answer Tasks::queue(const Arrival& arrival, const std::shared_ptr<Model>& model,
                    Admission admission, size_t first, uint64_t spent_ns) {
  const Result<Request*> accepted = queueing_.accept(arrival);
  if (!accepted.ok()) return replies_.answer(arrival, accepted.error(), model->handle());
  Request& whole = *accepted.value();
  whole.admission = std::move(admission);
  if (queue_all(whole, model, first, arrival.timeout_us, spent_ns)) {
    return {ErrorCode::Ok, true, state_.slots.ticket_of(whole)};
  }
  copy_error(whole, state_.slots.first());
  state_.slots.release(whole);
  return {state_.slots.first().code, false, 0};
}

// Queues the tasks from `first` on; the results of those before are in slot 0. Returns false if the
// request ended, with its error stored.
bool Tasks::queue_all(Request& whole, const std::shared_ptr<Model>& model, size_t first,
                      uint64_t timeout_us, uint64_t spent_ns) {
  const auto group = std::make_shared<TaskGroup>();
  const ByteBuffer& results = state_.slots.first().response;
  whole.response.clear();
  Status begun = read_tf_tasks(whole.bytes(), group->tasks);
  if (begun.ok() && first > 0 && !whole.response.append(results.data(), results.size())) {
    begun = make_error(ErrorCode::MemoryFull, "out of memory for a response of " +
                                                  std::to_string(results.size()) + " bytes");
  }
  group->whole = &whole;
  group->parts.resize(group->tasks.size());
  group->next = first;
  whole.group = group;
  whole.queued = Stopwatch();
  whole.stage = Request::Stage::Tasks;
  for (size_t at = first; at < group->tasks.size() && begun.ok(); ++at) {
    begun = queue_one(group, at, model, timeout_us, spent_ns);
  }
  if (begun.ok()) return true;
  put_error(begun.error(), whole);
  whole.code = begun.error().code;
  end(*group);
  return group->working != 0;
}

// The tasks need the model's signatures: the whole request waits for them.
Answer Tasks::wait_for_load(const Arrival& arrival, const std::shared_ptr<Model>& model,
                            Admission admission) {
  const Result<Request*> accepted = queueing_.accept(arrival);
  if (!accepted.ok()) return replies_.answer(arrival, accepted.error(), model->handle());
  Request& request = *accepted.value();
  request.admission = std::move(admission);
  queueing_.begin(request, model, arrival, 0);
  const Answer pending{ErrorCode::Ok, true, state_.slots.ticket_of(request)};
  const Status pushed = queueing_.push(request, model);
  if (pushed.ok()) return pending;
  end_request(*request.model, request, pushed);
  copy_error(request, state_.slots.first());
  request.home.reset();
  state_.slots.release(request);
  return {state_.slots.first().code, false, 0};
}

bool Tasks::begin_again(Request& whole) {
  answer_.admission.end();
  Status begun = queueing_.take_up(whole);
  if (begun.ok() && whole.model->is_absent()) return queueing_.enter(whole);
  if (begun.ok()) begun = read_tf_tasks(whole.bytes(), tasks_);
  if (begun.ok()) {
    begun = check_tf_tasks(tasks_, whole.model->signatures());
    if (!begun.ok()) explain_signature(*whole.model, begun.error());
  }
  if (begun.ok()) {
    const uint64_t now = now_ns();
    const uint64_t left_us =
        whole.deadline_ns == 0 ? 0 : (std::max(whole.deadline_ns, now + 1000) - now) / 1000;
    const std::shared_ptr<Model> model = std::move(whole.model);
    if (queue_all(whole, model, 0, left_us, 0)) return true;
    whole.group.reset();
    whole.stage = Request::Stage::Taken;
    return false;
  }
  end_request(*whole.model, whole, begun);
  return false;
}

// Errors: queue_full (no slot left, or the queue is full); model_not_ready.
Status Tasks::queue_one(const std::shared_ptr<TaskGroup>& group, size_t at,
                        const std::shared_ptr<Model>& model, uint64_t timeout_us,
                        uint64_t spent_ns) {
  Request* part = state_.slots.open();
  if (part == nullptr) {
    replies_.log({Protocol::TfMultiInference, group->whole->bytes(), -1, 0, nullptr, {}}, no_slot(),
                 model->handle());
    return no_slot();
  }
  const TfTask& task = group->tasks[at];
  part->body.clear();
  part->pinned = group->whole->bytes();
  part->group = group;
  part->task_signature = task.signature();
  queueing_.begin(*part, model, {protocol_of(task), {}, -1, timeout_us, nullptr, {}}, spent_ns);
  part->died = at == group->next && answer_.died;  // its run on this thread
  part->trace = traces_.of_task(at);
  part->admission = answer_.admission && at == group->next ? std::move(answer_.admission)
                                                           : group->whole->admission.part(at == 0);
  Status pushed = queueing_.push(*part, model);
  if (pushed.ok()) {
    group->parts[at].request = part;
    ++group->working;
    return pushed;
  }
  end_request(*model, *part, pushed.error());
  part->home.reset();
  state_.slots.release(*part);
  return pushed;
}

// Withdraws the tasks that have not ended. The request's response is written already.
void Tasks::end(TaskGroup& group) {
  group.over = true;
  for (TaskGroup::Part& part : group.parts) {
    if (part.request == nullptr) continue;
    if (part.answered) {
      state_.slots.release(*part.request);
    } else {
      if (!queueing_.withdraw(*part.request)) continue;
      --group.working;
    }
    part.request = nullptr;
  }
}

bool Tasks::cancel(Request& whole) {
  const std::shared_ptr<TaskGroup> group = whole.group;
  if (!group->over) {
    const Error left = client_left();
    put_error(left, whole);
    whole.code = left.code;
    end(*group);
  }
  if (group->working != 0) return false;
  state_.slots.release(whole);
  return true;
}

// Handles a completed task. Answers its request if no thread works on it any more.
Request* Tasks::finish(Request& done) {
  const std::shared_ptr<TaskGroup> group = done.group;
  Request& whole = *group->whole;
  const bool logged = done.model->tap() != nullptr && done.model->tap()->on();
  const std::shared_ptr<Model> model = logged ? done.model : nullptr;
  TaskGroup::Part& part = *std::find_if(group->parts.begin(), group->parts.end(),
                                        [&](const auto& one) { return one.request == &done; });
  --group->working;
  part.answered = true;
  if (!group->over && done.code != ErrorCode::Ok) {
    copy_error(done, whole);
    end(*group);
  } else if (group->over) {
    state_.slots.release(done);
    part.request = nullptr;
  } else {
    add_results(*group);
  }
  if (group->working != 0) return nullptr;
  if (logged) {
    log_tasks(*model, whole.bytes(), whole.code, whole, whole.queued.elapsed_ns());
  }
  whole.stage = Request::Stage::Taken;
  return &whole;
}

// Appends the results that come next to the response.
void Tasks::add_results(TaskGroup& group) {
  Request& whole = *group.whole;
  for (; group.next < group.parts.size() && group.parts[group.next].answered; ++group.next) {
    TaskGroup::Part& part = group.parts[group.next];
    const Status added =
        append_tf_result(group.tasks[group.next].method(), part.request->response.bytes(),
                         state_.settings, whole.response);
    if (!added.ok()) {
      put_error(added.error(), whole);
      whole.code = added.error().code;
      return end(group);
    }
    state_.slots.release(*part.request);
    part.request = nullptr;
  }
}

}  // namespace serval
