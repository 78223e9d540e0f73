// Requests through a channel. The server's end and the process's end run in two threads, so that
// sanitizers see both. Responses equal those of the backend itself. A process that dies, hangs or
// writes nonsense is an error only of the requests it holds, whatever the bytes.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <random>
#include <thread>

#include "backend/isolated/isolated.h"
#include "backend/isolated/tensors.h"
#include "support.h"

namespace serval::isolated {
namespace {

void expect_echo(const Inputs& inputs, std::span<const TensorView> outputs,
                 std::span<const uint32_t> indices) {
  ASSERT_EQ(outputs.size(), indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    const TensorView& sent = inputs.views[indices[i]];
    const TensorView& got = outputs[i];
    EXPECT_EQ(got.dtype, sent.dtype);
    EXPECT_EQ(got.shape, sent.shape);
    ASSERT_EQ(got.bytes, sent.bytes);
    ASSERT_EQ(got.strings.size(), sent.strings.size());
    if (sent.bytes > 0) EXPECT_EQ(std::memcmp(got.data, sent.data, sent.bytes), 0);
    EXPECT_TRUE(std::equal(got.strings.begin(), got.strings.end(), sent.strings.begin()));
  }
}

TEST(IsolatedChannel, AnswersAsTheBackendOfAnySize) {
  MemoryBudget budget(1u << 30);
  {
    const auto process = null_process(&budget);
    const auto model = load(process, "echo", &budget);
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->info().signatures[0].outputs[1].name, "q");
    EXPECT_EQ(model->info().producer, "serval null backend");
    const auto scratch = model->make_scratch();
    const std::vector<std::vector<uint32_t>> wanted = {{0, 1, 2}, {2}, {1, 0}, {}};
    unsigned seed = 1;
    // Requests that are empty, small, larger than a channel's first memory, larger than what it
    // keeps, and small again.
    for (const size_t count : {0, 1, 3, 20'000, 400'000, 2, 30'000}) {
      for (const std::vector<uint32_t>& indices : wanted) {
        const Inputs inputs(count, ++seed);
        const Status done = model->run(0, inputs.views, indices, *scratch, {});
        ASSERT_TRUE(done.ok()) << done.error().message;
        expect_echo(inputs, scratch->outputs(), indices);
        scratch->release_outputs();
        EXPECT_TRUE(scratch->outputs().empty());
      }
    }
    EXPECT_GT(budget.used(), 0u);
    EXPECT_LT(budget.used(), 8u << 20);  // memory of the large requests was returned
  }
  EXPECT_EQ(budget.used(), 0u);
}

TEST(IsolatedChannel, RefusesWhatTheBudgetHasNoRoomFor) {
  MemoryBudget budget(2u << 20);
  const auto model = load(null_process(&budget), "echo", &budget);
  const auto scratch = model->make_scratch();
  const uint32_t all[] = {0, 1, 2};
  const Inputs large(400'000, 1), small(10, 2);
  const Status refused = model->run(0, large.views, all, *scratch, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::MemoryFull);
  ASSERT_TRUE(model->run(0, small.views, all, *scratch, {}).ok());
  expect_echo(small, scratch->outputs(), all);
}

TEST(IsolatedChannel, PassesOnTheBackendsErrors) {
  const auto process = null_process();
  const auto failing = load(process, "fail");
  const auto scratch = failing->make_scratch();
  const uint32_t all[] = {0, 1, 2};
  const Inputs inputs(2, 1);
  const Status failed = failing->run(0, inputs.views, all, *scratch, {});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::BackendFailed);
  EXPECT_EQ(failed.error().message, "null backend: asked to fail");
  const auto refused = load_isolated(process, source("no such mode"), nullptr);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::ModelInvalid);
  // the other one is unaffected
  ASSERT_FALSE(failing->run(0, inputs.views, all, *scratch, {}).ok());
}

TEST(IsolatedChannel, ServesManyThreads) {
  const auto process = null_process();
  const auto model = load(process, "echo"), other = load(process, "echo");
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    threads.emplace_back([&, seed] {
      BackendModel& mine = seed % 2 == 0 ? *model : *other;
      const auto scratch = mine.make_scratch();
      const uint32_t all[] = {0, 1, 2};
      for (unsigned i = 0; i < 200; ++i) {
        const Inputs inputs(i % 50, seed * 1000 + i);
        ASSERT_TRUE(mine.run(0, inputs.views, all, *scratch, {}).ok());
        expect_echo(inputs, scratch->outputs(), all);
      }
    });
  }
  for (std::thread& one : threads) one.join();
}

TEST(IsolatedChannel, EndsARunThatNobodyWaitsFor) {
  const auto model = load(null_process(), "delay");
  const auto scratch = model->make_scratch();
  const uint32_t all[] = {0, 1, 2};
  const Inputs inputs(2, 1);
  for (int i = 0; i < 20; ++i) {
    CancelFlag flag;
    std::thread canceller([&] {
      if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(i));
      flag.cancel(EndCause::ClientLeft);
    });
    const Status ended = model->run(0, inputs.views, all, *scratch, {&flag});
    canceller.join();
    ASSERT_FALSE(ended.ok());
    EXPECT_EQ(ended.error().code, ErrorCode::Cancelled);
  }
}

// Hangs up when `gate` opens; the next process serves normally.
TEST(IsolatedChannel, ADeathIsAnErrorOfWhatIsInFlightAndOfNothingElse) {
  std::atomic<int> ends{0};
  const auto process = process_of([&](int socket, int event, int start) {
    if (start % 2 == 0) return serve_null(socket, event);
    std::thread serving([&] { serve_null(socket, event); });
    while (ends.load() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ends.fetch_sub(1);
    shutdown(socket, SHUT_RDWR);
    serving.join();
  });
  const auto model = load(process, "delay");
  const auto other = load(process, "echo");
  ASSERT_NE(other, nullptr);
  const auto scratch = model->make_scratch();
  const uint32_t all[] = {0, 1, 2};
  const Inputs inputs(2, 1);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ends.fetch_add(1);
  });
  const Status died = model->run(0, inputs.views, all, *scratch, {});
  killer.join();
  ASSERT_FALSE(died.ok());
  // requests in a channel that is being closed end as Cancelled
  if (died.error().code != ErrorCode::Cancelled) {
    EXPECT_EQ(died.error().code, ErrorCode::ModelNotReady);
    EXPECT_NE(died.error().message.find("model 'm': its process ended by signal 9 (SIGKILL)"),
              std::string::npos)
        << died.error().message;
  }
  // The process restarts by itself; runs are refused meanwhile.
  const auto fresh = other->make_scratch();
  for (;;) {
    const Status done = other->run(0, inputs.views, all, *fresh, {});
    if (done.ok()) break;
    EXPECT_EQ(done.error().code, ErrorCode::ModelNotReady) << done.error().message;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  expect_echo(inputs, fresh->outputs(), all);
  EXPECT_GE(isolated_deaths().at({"m", "SIGKILL"}), 1u);
}

// A backend of null models, one of which cannot be reloaded for a while.
class ShortOfMemory final : public Backend {
 public:
  Result<std::shared_ptr<BackendModel>> load(const ModelSpec& spec) override {
    if (spec.name == "large" && failures.load() > 0) {
      failures.fetch_sub(1);
      return make_error(ErrorCode::BackendFailed, "out of memory on the device");
    }
    return null_->load(spec);
  }
  std::atomic<int> failures{0};

 private:
  const std::unique_ptr<Backend> null_ = make_null_backend();
};

ModelSource named(const std::string& name) {
  ModelSource made = source(name);
  made.name = name;
  return made;
}

TEST(IsolatedChannel, AModelThatIsNotLoadedAgainIsDownAlone) {
  ShortOfMemory backend;
  std::atomic<bool> ends{false};
  std::atomic<int> starts{0};
  const auto process = process_of([&](int socket, int event, int start) {
    starts = start;
    ServeOptions options;
    options.socket = socket;
    options.cancel_event = event;
    options.is_process = false;
    options.parse = [](std::span<const uint8_t> bytes) -> Result<ModelSpec> {
      ModelSpec model = null_spec("echo");
      model.name = std::string(bytes.begin(), bytes.end());
      return model;
    };
    options.backend = [&](const std::string&) { return &backend; };
    std::thread serving([&] { serve(options); });
    while (start == 1 && !ends) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (start == 1) shutdown(socket, SHUT_RDWR);
    serving.join();
  });
  const auto large = load_isolated(process, named("large"), nullptr);
  const auto small = load_isolated(process, named("small"), nullptr);
  ASSERT_TRUE(large.ok() && small.ok());
  take_isolated_deaths();
  backend.failures = 1'000'000'000;
  ends = true;
  const uint32_t all[] = {0, 1, 2};
  const Inputs inputs(2, 1);
  const auto run = [&](BackendModel& model) {
    return model.run(0, inputs.views, all, *model.make_scratch(), {});
  };
  const auto until = [](const auto& holds) {
    while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  until([&] { return starts == 2 && small.value()->can_run(); });
  std::string text;
  until([&] {
    const Status done = run(*large.value());
    EXPECT_FALSE(done.ok());
    if (!done.ok()) text = done.error().message;
    return text.find("reloaded: out of memory on the device; ") != std::string::npos;
  });
  EXPECT_EQ(text.find("model 'large': it could not be reloaded"), 0u) << text;
  EXPECT_FALSE(large.value()->can_run());
  EXPECT_EQ(process->outage("small", 0), "");
  EXPECT_NE(process->outage("large", 0), "");
  EXPECT_TRUE(process->up());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(run(*small.value()).ok());
  backend.failures = 0;
  until([&] { return large.value()->can_run(); });
  EXPECT_TRUE(run(*large.value()).ok());
  EXPECT_TRUE(run(*small.value()).ok());
  EXPECT_EQ(process->outage("large", 0), "");
  EXPECT_EQ(starts, 2);
  const std::vector<IsolatedDeath> told = take_isolated_deaths();
  const auto reload =
      std::find_if(told.begin(), told.end(), [](const auto& it) { return !it.ended; });
  ASSERT_NE(reload, told.end());
  EXPECT_EQ(reload->models, "large");
  EXPECT_EQ(reload->reason, "it could not be reloaded: out of memory on the device");
  EXPECT_EQ(reload->pause_ms, 1u);
}

// Reports on its first run that the device is gone.
class FaultyModel final : public BackendModel {
 public:
  explicit FaultyModel(std::atomic<bool>& faulty) : faulty_(faulty) {
    info_.signatures = {null_spec("echo").null_signature};
  }
  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override { return null_->make_scratch(); }
  Status run(uint32_t, std::span<const TensorView>, std::span<const uint32_t>, BackendScratch&,
             const RunOptions&) override {
    return make_error(ErrorCode::BackendFailed, "one run failed");
  }
  std::string lasting_fault() override { return faulty_ ? "GPU 0: it fell off its bus (700)" : ""; }

 private:
  const std::shared_ptr<BackendModel> null_ = make_null_backend()->load(null_spec("echo")).value();
  std::atomic<bool>& faulty_;
  BackendModelInfo info_;
};

TEST(IsolatedChannel, AFaultThatLastsEndsItsProcessAndIsTheReason) {
  struct Faulty final : Backend {
    Result<std::shared_ptr<BackendModel>> load(const ModelSpec&) override {
      return std::shared_ptr<BackendModel>(std::make_shared<FaultyModel>(faulty));
    }
    std::atomic<bool> faulty{false};
  } backend;
  std::atomic<int> starts{0};
  const auto process = process_of([&](int socket, int event, int start) {
    starts = start;
    serve_backend(backend, socket, event);
  });
  const auto model = load(process, "echo");
  ASSERT_NE(model, nullptr);
  take_isolated_deaths();
  const uint32_t all[] = {0, 1, 2};
  const Inputs inputs(2, 1);
  const auto run = [&] { return model->run(0, inputs.views, all, *model->make_scratch(), {}); };
  const Status failed = run();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "one run failed");
  EXPECT_EQ(starts, 1);
  backend.faulty = true;
  const Status died = run();
  ASSERT_FALSE(died.ok());
  EXPECT_EQ(died.error().code, ErrorCode::ModelNotReady) << died.error().message;
  backend.faulty = false;
  while (starts != 2 || !model->can_run())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(run().error().message, "one run failed");
  const std::vector<IsolatedDeath> deaths = take_isolated_deaths();
  ASSERT_EQ(deaths.size(), 1u);
  EXPECT_EQ(deaths[0].reason, "GPU 0: it fell off its bus (700)");
  EXPECT_TRUE(deaths[0].ended);
}

TEST(IsolatedProcessPage, AnyFaultIsReadWithinItsBounds) {
  auto page = std::make_unique<ProcessPage>();
  EXPECT_EQ(read_fault(*page), "");
  write_fault(*page, "short");
  EXPECT_EQ(read_fault(*page), "short");
  write_fault(*page, std::string(5000, 'x'));
  EXPECT_EQ(read_fault(*page), std::string(kFaultBytesMax, 'x'));
  page->fault_bytes = UINT32_MAX;
  EXPECT_EQ(read_fault(*page).size(), kFaultBytesMax);
}

TEST(IsolatedChannel, ALoadThatEndsItsProcessIsAnErrorOfTheLoad) {
  const auto process = process_of([](int socket, int, int) { shutdown(socket, SHUT_RDWR); });
  const auto loaded = load_isolated(process, source("echo"), nullptr);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::BackendFailed);
  EXPECT_EQ(loaded.error().message,
            "model 'm': its process ended by signal 9 (SIGKILL) while it loaded");
}

// A process that answers with arbitrary bytes: nothing is read out of bounds (ASan) and no run
// hangs.
TEST(IsolatedChannel, NoAnswerIsTrusted) {
  std::atomic<bool> stop{false};
  const auto process = process_of([&](int socket, int, int start) {
    std::minstd_rand random(static_cast<unsigned>(start));
    std::vector<Area> areas;
    uint32_t loads = 0;
    while (!stop.load()) {
      Received received = receive_packet(socket);
      if (received.what == Received::What::Ended) return;
      if (received.what == Received::What::Packet && received.packet.kind == PacketKind::Load) {
        Writer out;
        BackendModelInfo info;
        info.signatures = {null_spec("echo").null_signature};
        write_info(info, out);
        const Result<Descriptor> blob = blob_of(out.bytes());
        const int fd = blob.value().get();
        send_packet(socket, {PacketKind::Loaded, received.packet.id, 0}, {&fd, 1});
        ++loads;
      } else if (received.what == Received::What::Packet &&
                 received.packet.kind == PacketKind::Open) {
        for (Descriptor& one : received.descriptors) {
          areas.push_back(std::move(Area::adopt(std::move(one), 64, true).value()));
        }
      }
      if (areas.size() < 3) continue;
      Area& answers = areas[areas.size() - 1];
      auto& page = *reinterpret_cast<ChannelPage*>(areas[areas.size() - 3].data());
      const uint32_t number = page.request.load();
      if (number == page.answer.load()) continue;
      // A valid response with one place changed.
      const Inputs inputs(4, number);
      Writer head;
      head.number<uint8_t>(random() % 8 == 0 ? 1 : 0);
      const auto bytes = write_records(inputs.views, {}, head);
      ASSERT_TRUE(answers.see(kAreaFirstBytes));
      ASSERT_TRUE(write_message(head, *bytes, inputs.views, answers).ok());
      uint64_t total = message_bytes(head, *bytes);
      for (unsigned changes = random() % 6; changes > 0; --changes) {
        const auto value = static_cast<uint8_t>(random());
        answers.data()[random() % std::min<uint64_t>(total, 200)] = value;
      }
      if (random() % 8 == 0) total = (uint64_t{random()} << 33) | random();
      if (random() % 8 == 0) total = random() % 100;
      page.answer_bytes.store(total);
      page.answer.store(number);
      wake_all(page.answer);
    }
  });
  const auto model = load(process, "echo");
  ASSERT_NE(model, nullptr);
  const auto scratch = model->make_scratch();
  const uint32_t all[] = {0, 1, 2};
  const Inputs inputs(4, 1);
  size_t answered = 0, refused = 0;
  uint64_t sum = 0;
  for (int i = 0; i < 3000; ++i) {
    if (!model->run(0, inputs.views, all, *scratch, {}).ok()) {
      ++refused;
      continue;
    }
    ++answered;
    for (const TensorView& one : scratch->outputs()) {  // every byte is readable
      for (size_t at = 0; at < one.bytes; ++at) sum += one.data[at];
      for (const std::string_view text : one.strings) {
        for (const char letter : text) sum += static_cast<unsigned char>(letter);
      }
    }
    scratch->release_outputs();
  }
  stop.store(true);
  EXPECT_GT(answered, 100u);
  EXPECT_GT(refused, 100u);
  EXPECT_GT(sum, 0u);
}

TEST(IsolatedMessage, DescriptionsComeBackAsTheyWere) {
  BackendModelInfo info;
  Signature signature = null_spec("echo").null_signature;
  const float value[] = {1.5f, 2.5f};
  TensorView view;
  view.dtype = DType::Fp32;
  const int64_t dims[] = {2};
  view.shape = Shape(dims);
  view.data = reinterpret_cast<const uint8_t*>(value);
  view.bytes = sizeof value;
  signature.inputs[0].default_value = std::make_shared<TensorView>(view);
  signature.inputs[2].may_be_absent = true;
  signature.inputs[2].rank_of = "MatMul";
  signature.inputs[2].rank_min = 2;
  signature.outputs[0].labels = {"cat", "dog"};
  info.signatures = {signature, signature};
  info.metadata = {{"k", "v"}};
  info.providers = {"CPUExecutionProvider"};
  info.notes = {"a note"};
  info.nodes = {{"CUDAExecutionProvider", 7}, {"CPUExecutionProvider", 2}};
  info.on_gpu = true;
  info.device_runs = {{1, 4}, 5 << 20, {1, 4, 16}, "Conv is planned for each shape"};
  info.stateful = true;
  Writer out;
  write_info(info, out);
  const Result<BackendModelInfo> back = read_info(out.bytes());
  ASSERT_TRUE(back.ok());
  Writer again;
  write_info(back.value(), again);
  EXPECT_TRUE(std::equal(out.bytes().begin(), out.bytes().end(), again.bytes().begin(),
                         again.bytes().end()));
  EXPECT_EQ(back.value().signatures[1].inputs[2].rank_of, "MatMul");
  EXPECT_TRUE(back.value().on_gpu);
  EXPECT_EQ(back.value().device_runs.fixed_rows, (std::vector<uint32_t>{1, 4, 16}));
  EXPECT_EQ(back.value().device_runs.why, info.device_runs.why);
  ASSERT_EQ(back.value().nodes.size(), 2u);
  EXPECT_EQ(back.value().nodes[1].nodes, 2u);
  EXPECT_TRUE(back.value().stateful);
  const TensorView& kept = *back.value().signatures[0].inputs[0].default_value;
  EXPECT_EQ(std::memcmp(kept.data, value, sizeof value), 0);
  // A response that is cut short or changed anywhere is either refused or read.
  std::vector<uint8_t> bytes(out.bytes().begin(), out.bytes().end());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(read_info(std::span(bytes).first(length)).ok()) << length;
  }
  std::minstd_rand random(1);
  for (int i = 0; i < 5000; ++i) {
    std::vector<uint8_t> changed = bytes;
    for (int n = 0; n < 3; ++n) changed[random() % bytes.size()] = static_cast<uint8_t>(random());
    const Result<BackendModelInfo> read = read_info(changed);
    if (read.ok()) EXPECT_FALSE(read.value().signatures.empty());
  }
}

TEST(IsolatedPauses, DoubleUpToTheLongest) {
  const Pauses pauses;
  EXPECT_EQ(pause_ms_after(1, pauses), 100u);
  EXPECT_EQ(pause_ms_after(2, pauses), 200u);
  EXPECT_EQ(pause_ms_after(8, pauses), 12'800u);
  EXPECT_EQ(pause_ms_after(10, pauses), 30'000u);
  EXPECT_EQ(pause_ms_after(4'000'000'000u, pauses), 30'000u);
}

}  // namespace
}  // namespace serval::isolated
