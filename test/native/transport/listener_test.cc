// Calls over the listener: unary and streaming, metadata, statuses, deadlines, cancellation,
// requests that are not gRPC, size limits.
#include "transport/listener.h"

#include <gtest/gtest.h>

#include <random>

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

TEST(UnaryCall, GivesItsMessageBack) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  for (const size_t bytes : {0u, 1u, 5u, 4'096u, 4'097u, 16'379u, 16'384u, 70'000u, 3'000'000u}) {
    const string text = some_text(bytes);
    const StreamAnswer& got = client.answer(client.call("/t.T/Unary", text));
    EXPECT_EQ(got.header(":status"), "200");
    EXPECT_EQ(got.header("content-type"), "application/grpc");
    EXPECT_EQ(got.status(), 0) << got.message();
    ASSERT_EQ(got.messages().size(), 1u) << bytes;
    EXPECT_TRUE(got.messages()[0] == text) << bytes;
    EXPECT_EQ(got.data.size(), 5 + bytes);
    EXPECT_FALSE(got.reset.has_value());
  }
  EXPECT_EQ(server.journal.counts().closed, 0);
}

TEST(UnaryCall, ComesInFramesOfAnySize) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  for (const size_t frame_bytes : {1u, 2u, 3u, 4u, 5u, 6u, 100u, 999u}) {
    const string text = some_text(500, 2);
    const uint32_t stream = client.open("/t.T/Unary");
    client.send(data_frames(stream, grpc_message(text), false, frame_bytes));
    client.send(frame(kData, kEndStream, stream, ""));
    EXPECT_EQ(client.answer(stream).messages(), std::vector{text}) << frame_bytes;
  }
}

// Large raw data, which a client writes last, can then be read as numbers without a copy.
TEST(UnaryCall, EndsAtAlignedMemoryWhereItIsPutTogether) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  for (const size_t bytes : {20'000u, 20'001u, 50'063u}) {
    const std::string message(bytes, 'x');
    EXPECT_EQ(client.answer(client.call("/t.T/Unary", message)).messages(),
              std::vector<std::string>{message});
  }
  EXPECT_EQ(server.journal.counts().put_together, 3);
  EXPECT_EQ(server.journal.counts().ends_aligned, 3);
}

TEST(UnaryCall, ComesInPacketsOfAnySizeWithPaddingAndPriorities) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const string message = grpc_message("text");
  const string padded = string(1, '\7') + message + string(7, '\0');
  const string head = hpack(call_headers("/t.T/Unary"));
  const string dependency = big_endian(0, 4) + "\x10";  // weight 17
  string all = frame(kHeaders, 0x20, 1, dependency + head.substr(0, 20)) +
               frame(kContinuation, 0, 1, head.substr(20, 30)) +
               frame(kContinuation, kEndHeaders, 1, head.substr(50)) +
               frame(kPriority, 0, 1, dependency) + frame(0xbe, 0xff, 1, "greasing") +
               frame(kData, kPadded | kEndStream, 1, padded);
  for (const char byte : all) ASSERT_TRUE(client.send({&byte, 1}));
  EXPECT_EQ(client.answer(1).messages(), std::vector<string>{"text"});
}

TEST(UnaryCall, RunsBesideManyOthers) {
  TransportSettings settings;
  settings.threads = 2;
  EchoServer server(settings);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->begin();
  }
  for (int round = 0; round < 100; ++round) {
    for (auto& client : clients) client->call("/t.T/Unary", std::to_string(round));
  }
  for (auto& client : clients) {
    for (int round = 0; round < 100; ++round) {
      const StreamAnswer& got = client->answer(static_cast<uint32_t>(2 * round + 1));
      EXPECT_EQ(got.messages(), std::vector{std::to_string(round)});
    }
  }
}

TEST(UnaryCall, IsAnsweredFromAnotherThread) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const uint32_t first = client.call("/t.T/Later", "one");
  const uint32_t gone = client.call("/t.T/Later", "gone");
  const uint32_t second = client.call("/t.T/Later", "two");
  client.send(reset_frame(gone));
  ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::closed, 1));
  server.go_on();
  EXPECT_EQ(client.answer(second).messages(), std::vector<string>{"two"});
  EXPECT_EQ(client.answer(first).messages(), std::vector<string>{"one"});
}

TEST(Metadata, GoesBothWays) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const uint32_t stream = client.call(
      "/t.T/Unary", "m",
      {{"x-text", "a, b"}, {"x-two-bin", "AAE,/v8="}, {"x-text", "c"}, {"other", "not echoed"}});
  const StreamAnswer& got = client.answer(stream);
  for (const HeaderList* list : {&got.initial, &got.trailing}) {
    HeaderList ours;
    for (const auto& entry : *list) {
      if (entry.first.starts_with("x-")) ours.push_back(entry);
    }
    const HeaderList expected{
        {"x-text", "a, b"}, {"x-two-bin", "AAE"}, {"x-two-bin", "/v8"}, {"x-text", "c"}};
    EXPECT_EQ(ours, expected);
  }
  EXPECT_EQ(got.header("other"), "");
}

TEST(Status, ComesAloneWhereThereIsNoMessage) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const StreamAnswer& got = client.answer(client.call("/t.T/Status", "9 100%\n\xC3\xA4 "));
  EXPECT_EQ(got.header_blocks, 1);
  EXPECT_EQ(got.header(":status"), "200");
  EXPECT_EQ(got.header("content-type"), "application/grpc");
  EXPECT_EQ(got.status(), 9);
  EXPECT_EQ(got.message(), "100%25%0A%C3%A4%20");
  EXPECT_EQ(got.trailer("grpc-status-details-bin"), "d2h5");
  EXPECT_EQ(got.trailer("x-trailing"), "yes");
  EXPECT_EQ(got.data, "");
  const string long_text(10'000, 'x');
  EXPECT_EQ(client.answer(client.call("/t.T/Status", "3 " + long_text)).message().size(), 4096u);
}

TEST(Deadline, EndsACallThatHangs) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const uint64_t begin = now_ns();
  const StreamAnswer& got = client.answer(client.call("/t.T/Hang", "m", {{"grpc-timeout", "50m"}}));
  EXPECT_EQ(got.status(), 4);
  EXPECT_GE(now_ns() - begin, 50'000'000u);
  EXPECT_EQ(server.journal.counts().closed, 1);
  // A deadline that has passed on arrival ends the call as well, with or without its message.
  EXPECT_EQ(client.answer(client.call("/t.T/Hang", "m", {{"grpc-timeout", "0n"}})).status(), 4);
  EXPECT_EQ(client.answer(client.open("/t.T/Echo", {{"grpc-timeout", "1u"}})).status(), 4);
  // A long deadline has no effect on a call that is answered.
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", "", {{"grpc-timeout", "99999999H"}})).status(),
            0);
}

TEST(Cancellation, ReachesTheHandler) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const uint32_t hanging = client.call("/t.T/Hang", "m");
  ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::messages, 1));
  client.send(reset_frame(hanging));
  EXPECT_TRUE(server.journal.wait_for(&Journal::Counts::closed, 1));
  // The end of the connection ends its calls.
  client.call("/t.T/Hang", "m");
  client.open("/t.T/Echo");
  ASSERT_TRUE(server.journal.wait_for(&Journal::Counts::begun, 3));
  client.close();
  EXPECT_TRUE(server.journal.wait_for(&Journal::Counts::closed, 3));
  EXPECT_TRUE(server.has_connections(0));
}

TEST(WrongCall, IsAnsweredByAStatus) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const auto status_of = [&](uint32_t stream) { return client.answer(stream).status(); };
  EXPECT_EQ(status_of(client.call("/t.T/None", "m")), 12);
  EXPECT_NE(client.answer(client.call("/t.T/None", "m")).message().find("/t.T/None"), string::npos);
  EXPECT_EQ(status_of(client.call("/", "m")), 12);
  EXPECT_EQ(status_of(client.call("/t.T/Unary", "m", {{"grpc-timeout", "1 s"}})), 13);
  // No message, two messages, half of one, one in an unknown format.
  uint32_t stream = client.open("/t.T/Unary");
  client.send(frame(kData, kEndStream, stream, ""));
  EXPECT_EQ(status_of(stream), 12);
  stream = client.open("/t.T/Unary");
  client.send(data_frames(stream, grpc_message("a") + grpc_message("b"), true));
  EXPECT_EQ(status_of(stream), 12);
  for (const size_t bytes : {1u, 4u, 5u, 8u}) {
    for (const char* path : {"/t.T/Unary", "/t.T/Echo"}) {
      stream = client.open(path);
      client.send(data_frames(stream, grpc_message("text").substr(0, bytes), true));
      EXPECT_EQ(status_of(stream), 13) << path << bytes;
    }
  }
  stream = client.open("/t.T/Unary");
  client.send(data_frames(stream, string("\2\0\0\0\1x", 6), true));
  EXPECT_EQ(status_of(stream), 13);
  EXPECT_TRUE(client.sync());
}

TEST(WrongCall, ThatIsNoGrpcIsAnsweredByHttp) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const auto http_status = [&](uint32_t stream, HeaderList headers) {
    client.send(headers_frame(stream, headers, true));
    return client.answer(stream).header(":status");
  };
  HeaderList get = call_headers("/t.T/Unary");
  get[0].second = "GET";
  EXPECT_EQ(http_status(101, get), "405");
  HeaderList json = call_headers("/t.T/Unary");
  json[5].second = "application/json";
  EXPECT_EQ(http_status(103, json), "415");
  json[5].second = "application/grpcx";
  EXPECT_EQ(http_status(105, json), "415");
  json.pop_back();
  EXPECT_EQ(http_status(107, json), "415");
  EXPECT_EQ(client.answer(101).header("allow"), "POST");
  EXPECT_NE(client.answer(101).data.find("serves gRPC"), string::npos);
  for (const uint32_t stream : {101u, 103u}) {
    const StreamAnswer& got = client.answer(stream);
    EXPECT_EQ(got.header("content-length"), std::to_string(got.data.size()));
    EXPECT_EQ(got.header_blocks, 1);
  }
  HeaderList head = get;
  head[0].second = "HEAD";
  EXPECT_EQ(http_status(201, head), "405");
  EXPECT_EQ(client.answer(201).data, "");
  // A request with an endless body is answered before its end.
  client.send(headers_frame(203, json));
  client.send(data_frames(203, string(65'536, '{'), false));
  ASSERT_TRUE(client.sync());
  EXPECT_EQ(client.streams.count(203), 0u);
  client.send(data_frames(203, "{", false));
  EXPECT_EQ(client.answer(203).header(":status"), "415");
  for (const char* type : {"application/grpc+proto", "application/grpc;charset=utf-8"}) {
    HeaderList other = call_headers("/t.T/Unary");
    other[5].second = type;
    static uint32_t stream = 205;
    client.send(headers_frame(stream, other));
    client.send(data_frames(stream, grpc_message("m"), true));
    EXPECT_EQ(client.answer(stream).status(), 0) << type;
    stream += 2;
  }
}

// Headers that HTTP/2 does not allow end the stream, not the connection.
TEST(WrongCall, ThatIsNoHttpIsReset) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  HeaderList upper = call_headers("/t.T/Unary", {{"X-Upper", "1"}});
  HeaderList no_path = call_headers("/t.T/Unary");
  no_path.erase(no_path.begin() + 2);
  HeaderList empty_path = call_headers("");
  HeaderList twice = call_headers("/t.T/Unary");
  twice.insert(twice.begin(), {":path", "/"});
  HeaderList late = call_headers("/t.T/Unary", {{":late", "1"}});
  HeaderList connection = call_headers("/t.T/Unary", {{"connection", "close"}});
  uint32_t stream = 1;
  for (const HeaderList& headers : {upper, no_path, empty_path, twice, late, connection}) {
    client.send(headers_frame(stream, headers));
    EXPECT_EQ(client.answer(stream).reset, kProtocolError) << stream;
    stream += 2;
  }
  client.send(headers_frame(stream, call_headers("/t.T/Unary")));
  client.send(data_frames(stream, grpc_message("m"), true));
  EXPECT_EQ(client.answer(stream).status(), 0);
}

TEST(Size, HasLimitsBothWays) {
  TransportSettings settings;
  settings.receive_bytes_max = 1'000;
  settings.send_bytes_max = 500;
  EchoServer server(settings);
  RawClient client(server.port());
  client.begin();
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", string(500, 'x'))).status(), 0);
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", string(501, 'x'))).status(), 8);
  EXPECT_EQ(client.answer(client.call("/t.T/Collect", string(1'000, 'x'))).status(), 0);
  EXPECT_EQ(client.answer(client.call("/t.T/Collect", string(1'001, 'x'))).status(), 8);
  // The stated length is refused: 4 GiB need not be sent.
  const uint32_t stream = client.open("/t.T/Collect");
  client.send(frame(kData, 0, stream, string("\0\xff\xff\xff\xff", 5)));
  EXPECT_EQ(client.answer(stream).status(), 8);
}

TEST(Stream, EchoesUntilTheClientHasEnded) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const uint32_t stream = client.open("/t.T/Echo");
  std::vector<string> sent;
  for (size_t i = 0; i < 50; ++i) {
    sent.push_back(some_text(i * i * 10, static_cast<unsigned>(i)));
    client.send(data_frames(stream, grpc_message(sent.back()), false));
    ASSERT_TRUE(client.messages(stream, i + 1) == sent) << i;
  }
  EXPECT_FALSE(client.streams[stream].ended);
  client.send(frame(kData, kEndStream, stream, ""));
  EXPECT_EQ(client.answer(stream).status(), 0);
  EXPECT_EQ(server.journal.counts().half_closed, 1);
}

TEST(Stream, OfTheServerOnly) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const StreamAnswer& got = client.answer(client.call("/t.T/Push", "1000 3000"));
  EXPECT_EQ(got.messages().size(), 1'000u);
  EXPECT_EQ(got.status(), 0);
  EXPECT_TRUE(server.journal.wait_for(&Journal::Counts::left, 990));
}

TEST(Stream, OfTheClientOnly) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const uint32_t stream = client.open("/t.T/Collect");
  for (int i = 0; i < 300; ++i) {
    client.send(data_frames(stream, grpc_message(string(10'000, 'x')), i == 299));
  }
  EXPECT_EQ(client.answer(stream).messages(), std::vector<string>{"3000000"});
}

// A client that has its response need not send the rest: RST_STREAM with NO_ERROR. Source: RFC 9113
// 8.1.
TEST(Stream, ThatEndsEarlyTellsTheClientToStop) {
  EchoServer server;
  RawClient client(server.port());
  client.begin();
  const uint32_t stream = client.open("/t.T/Early");
  client.send(data_frames(stream, grpc_message("first"), false));
  StreamAnswer& got = client.answer(stream);
  EXPECT_EQ(got.status(), 5);
  while (!got.reset.has_value() && client.take().has_value()) continue;
  EXPECT_EQ(got.reset, kNoError);
  // Data in transit meanwhile is harmless.
  client.send(data_frames(stream, string(10'000, 'x'), true));
  EXPECT_EQ(client.answer(client.call("/t.T/Unary", "m")).status(), 0);
}

}  // namespace
}  // namespace serval
