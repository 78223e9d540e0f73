// Compressed messages over the listener: both codings, limits, and that decompressing one message
// delays nobody else.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "base/limits.h"
#include "transport/grpc/packing.h"
#include "transport/support/echo_server.h"

namespace serval {
namespace {

using namespace serval::testing;
using std::string;

string some_text(size_t bytes, unsigned seed = 1) {
  std::mt19937 random(seed);
  string out(bytes, 0);
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

string packed_by_zlib(std::string_view text, MessageCoding coding) {
  ByteBuffer out;
  EXPECT_TRUE(pack_message(coding, 6, bytes_of(text), out));
  return string(text_of(out.bytes()));
}

TEST(Compression, IsUnpackedInBothFormats) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  for (const auto coding : {MessageCoding::Gzip, MessageCoding::Deflate}) {
    for (const size_t bytes : {100u, 50'000u, 5'000'000u}) {
      const string text(bytes, 'z');
      const uint32_t stream =
          client.open("/t.T/Unary", {{"grpc-encoding", string(name_of(coding))}});
      client.send(data_frames(stream, grpc_message(packed_by_zlib(text, coding), true), true));
      const StreamAnswer& got = client.answer(stream);
      EXPECT_EQ(got.status(), 0) << got.message();
      ASSERT_EQ(got.messages().size(), 1u);
      EXPECT_TRUE(got.messages()[0] == text);
    }
  }
  // Compressed and plain messages alternate on a stream.
  const uint32_t stream = client.open("/t.T/Echo", {{"grpc-encoding", "gzip"}});
  const string text(3'000'000, 'y');
  const string both =
      grpc_message(packed_by_zlib(text, MessageCoding::Gzip), true) + grpc_message("plain");
  client.send(data_frames(stream, both + both, true));
  const StreamAnswer& got = client.answer(stream);
  EXPECT_EQ(got.status(), 0) << got.message();
  EXPECT_TRUE(got.messages() == std::vector({text, string("plain"), text, string("plain")}));
}

TEST(Compression, OfAnswersIsWhatTheClientTakes) {
  TransportSettings settings;
  settings.compression_level = 6;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  const string text(10'000, 'z');
  const StreamAnswer& packed =
      client.answer(client.call("/t.T/Unary", text, {{"grpc-accept-encoding", "identity,gzip"}}));
  EXPECT_EQ(packed.header("grpc-encoding"), "gzip");
  EXPECT_EQ(packed.data[0], 1);
  ASSERT_EQ(packed.messages().size(), 1u);
  EXPECT_LT(packed.messages()[0].size(), 200u);
  EXPECT_EQ(packed.messages()[0].substr(0, 2), "\x1f\x8b");
  const StreamAnswer& plain = client.answer(client.call("/t.T/Unary", text));
  EXPECT_EQ(plain.header("grpc-encoding"), "");
  EXPECT_EQ(plain.messages(), std::vector{text});
  // Data that does not shrink is sent uncompressed.
  const string noise = some_text(10'000);
  const StreamAnswer& long_one =
      client.answer(client.call("/t.T/Unary", noise, {{"grpc-accept-encoding", "gzip"}}));
  EXPECT_EQ(long_one.data[0], 0);
  EXPECT_EQ(long_one.messages(), std::vector{noise});
}

TEST(Compression, ThatCannotBeReadIsRefused) {
  TransportSettings settings;
  settings.receive_bytes_max = 1'000'000;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  const auto status_of = [&](const char* coding, const string& message) {
    const uint32_t stream = coding == nullptr
                                ? client.open("/t.T/Unary")
                                : client.open("/t.T/Unary", {{"grpc-encoding", coding}});
    client.send(data_frames(stream, message, true));
    return client.answer(stream).status();
  };
  const string packed = packed_by_zlib(string(1000, 'x'), MessageCoding::Gzip);
  EXPECT_EQ(status_of("snappy", grpc_message("plain")), 0);
  EXPECT_EQ(status_of("snappy", grpc_message(packed, true)), 12);
  EXPECT_EQ(status_of(nullptr, grpc_message(packed, true)), 13);
  EXPECT_EQ(status_of("gzip", grpc_message("no gzip", true)), 13);
  EXPECT_EQ(status_of("gzip", grpc_message(packed.substr(0, packed.size() - 1), true)), 13);
  EXPECT_EQ(status_of("gzip", grpc_message("", true)), 13);
  // A bomb: its size is a thousandth of the limit, and it unpacks to a hundred times the limit.
  EXPECT_EQ(
      status_of("gzip",
                grpc_message(packed_by_zlib(string(100'000'000, 0), MessageCoding::Gzip), true)),
      8);
  EXPECT_EQ(status_of("gzip", grpc_message(packed, true)), 0);
}

// Text that compresses to about half of its size.
string letters(size_t bytes) {
  string out = some_text(bytes);
  for (char& c : out) c = static_cast<char>('a' + (c & 15));
  return out;
}

// Runs tasks on the test's command.
class HeldTasks {
 public:
  TransportEvents events() {
    TransportEvents out;
    out.elsewhere = [this](std::function<void()> task) {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
      return true;
    };
    return out;
  }
  // False: none arrived in ten seconds.
  bool wait() {
    for (int i = 0; i < 10'000; ++i) {
      {
        std::lock_guard lock(mutex_);
        if (!tasks_.empty()) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  bool run_one() {
    if (!wait()) return false;
    std::function<void()> task;
    {
      std::lock_guard lock(mutex_);
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;
};

TEST(Compression, MayUnpackToWhatRestAllows) {
  EXPECT_EQ(TransportSettings().inflated_bytes_max, Limits().inflated_bytes_max);
  TransportSettings settings;
  settings.inflated_bytes_max = 1'000'000;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  for (const auto coding : {MessageCoding::Gzip, MessageCoding::Deflate}) {
    const HeaderList headers{{"grpc-encoding", string(name_of(coding))}};
    for (const size_t bytes : {1'000'000u, 1'000'001u, 50'000'000u}) {
      const uint32_t stream = client.open("/t.T/Unary", headers);
      const string packed = packed_by_zlib(string(bytes, 0), coding);
      client.send(data_frames(stream, grpc_message(packed, true), true));
      const StreamAnswer& got = client.answer(stream);
      EXPECT_EQ(got.status(), bytes > 1'000'000 ? 8 : 0) << bytes;
      if (bytes <= 1'000'000) continue;
      EXPECT_EQ(got.message(), "Received message that decompresses to a size larger than 1000000");
    }
  }
  // Uncompressed messages have the message's own limit.
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", string(2'000'000, 'x'))).status(), 0);
}

TEST(Compression, KeepsNobodyElseWaiting) {
  HeldTasks held;
  EchoServer server({}, 1u << 30, held.events());
  RawClient client(server.port());
  client.begin();
  RawClient other(server.port());
  other.begin();
  const string plain = letters(1'500'000);
  const uint32_t stream = client.open("/t.T/Unary", {{"grpc-encoding", "gzip"}});
  const string packed = packed_by_zlib(plain, MessageCoding::Gzip);
  client.send(data_frames(stream, grpc_message(packed, true), true));
  // Its tasks run one after another, each for a part; all others are answered between them.
  int steps = 0;
  for (; steps < 5; ++steps) {
    ASSERT_TRUE(held.run_one()) << steps;
    EXPECT_EQ(other.answer(other.call("/t.T/Unary", "m")).status(), 0);
    EXPECT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0);
  }
  ASSERT_TRUE(held.run_one());
  const StreamAnswer& got = client.answer(stream);
  EXPECT_EQ(got.status(), 0) << got.message();
  ASSERT_EQ(got.messages().size(), 1u);
  EXPECT_TRUE(got.messages()[0] == plain);
}

TEST(Compression, EndsWithItsCall) {
  HeldTasks held;
  std::shared_ptr<MemoryBudget> budget;
  {
    EchoServer server({}, 1u << 30, held.events());
    budget = server.budget;
    const string packed = packed_by_zlib(letters(1'500'000), MessageCoding::Gzip);
    const auto leave_in_the_middle = [&] {
      RawClient client(server.port());
      client.begin();
      const uint32_t stream = client.open("/t.T/Unary", {{"grpc-encoding", "gzip"}});
      client.send(data_frames(stream, grpc_message(packed, true), true));
      ASSERT_TRUE(held.run_one());
      ASSERT_TRUE(held.wait());
    };
    leave_in_the_middle();
    ASSERT_TRUE(server.has_connections(0));
    EXPECT_GT(budget->used(), packed.size());
    ASSERT_TRUE(held.run_one());  // a task of a call that has ended
    leave_in_the_middle();
    ASSERT_TRUE(server.has_connections(0));
  }
  ASSERT_TRUE(held.run_one());  // a task of a listener that has ended
  EXPECT_EQ(budget->used(), 0u);
}

}  // namespace
}  // namespace serval
