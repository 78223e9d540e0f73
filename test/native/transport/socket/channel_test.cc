// The bytes of a connection, plain and encrypted: pieces, blocked writes that continue from other
// addresses, ends, and how a client may use a thread's time after its handshake.
#include "transport/socket/channel.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <algorithm>
#include <random>
#include <vector>

#include "transport/socket/tls_peer.h"

namespace serval {
namespace {

using namespace tls_test;
using State = Moved::State;

std::string noise(size_t bytes) {
  std::mt19937 random(static_cast<unsigned>(bytes));
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

iovec part_of(const std::string& text) { return {const_cast<char*>(text.data()), text.size()}; }

// `text` cut into parts of up to `bytes_max` bytes, some of them empty.
std::vector<iovec> cut(const std::string& text, size_t at, size_t bytes_max, std::mt19937& random) {
  std::vector<iovec> parts;
  while (at < text.size()) {
    const size_t bytes = std::min<size_t>(random() % (bytes_max + 1), text.size() - at);
    parts.push_back({const_cast<char*>(text.data()) + at, bytes});
    at += bytes;
  }
  return parts;
}

struct Tls {
  Authority root;
  std::unique_ptr<TlsContext> context = context_of(settings_of(identity("one", root)));
};

// A plain pair of sockets.
struct Plain {
  std::unique_ptr<Channel> channel;
  int socket = -1;

  Plain() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    channel = plain_channel(ends[0]);
    socket = ends[1];
  }
  ~Plain() { hang_up(); }
  void hang_up() {
    if (socket >= 0) ::close(std::exchange(socket, -1));
  }
};

TEST(PlainChannel, MovesBytesAndTellsTheEnd) {
  Plain pair;
  uint8_t room[16];
  EXPECT_EQ(pair.channel->handshake(), Channel::Handshake::Done);
  EXPECT_EQ(pair.channel->read(room).state, State::Blocked);
  ASSERT_EQ(::send(pair.socket, "abc", 3, 0), 3);
  const Moved read = pair.channel->read(room);
  EXPECT_EQ(read.state, State::Some);
  EXPECT_EQ(read.bytes, 3u);
  std::vector<iovec> parts(5000, iovec{room, 1});  // above IOV_MAX
  const Moved written = pair.channel->write(parts);
  EXPECT_EQ(written.state, State::Some);
  EXPECT_EQ(written.bytes, 1024u);
  pair.hang_up();
  EXPECT_EQ(pair.channel->write(parts).state, State::Closed);
  Plain other;
  other.hang_up();
  EXPECT_EQ(other.channel->read(room).state, State::Closed);
}

TEST(PlainChannel, IsBlockedByWhoDoesNotRead) {
  Plain pair;
  const std::string text = noise(1 << 20);
  const iovec part = part_of(text);
  size_t moved = 0;
  for (int turn = 0; turn < 1000; turn += 1) {
    const Moved written = pair.channel->write({&part, 1});
    if (written.state == State::Blocked) break;
    ASSERT_EQ(written.state, State::Some);
    moved += written.bytes;
  }
  EXPECT_GT(moved, 0u);
  EXPECT_EQ(pair.channel->write({&part, 1}).state, State::Blocked);
}

TEST(TlsChannel, GathersManyPartsIntoWholeRecords) {
  Tls tls;
  Pair pair(*tls.context, {});
  ASSERT_EQ(pair.shake_hands(), Channel::Handshake::Done);
  pair.client_reads();
  const std::string text = noise(20'000);
  std::vector<iovec> parts;
  for (const char& byte : text) parts.push_back({const_cast<char*>(&byte), 1});
  const Moved written = pair.channel->write(parts);
  EXPECT_EQ(written.state, State::Some);
  EXPECT_EQ(written.bytes, text.size());
  std::string raw(100'000, '\0');
  const ssize_t bytes = ::recv(pair.socket, raw.data(), raw.size(), MSG_PEEK);
  std::vector<size_t> records;
  for (size_t at = 0; at + 5 <= static_cast<size_t>(std::max<ssize_t>(bytes, 0));) {
    const size_t high = static_cast<uint8_t>(raw[at + 3]);
    records.push_back(high * 256 + static_cast<uint8_t>(raw[at + 4]));
    at += 5 + records.back();
  }
  // Each record is 17 bytes longer: the record type, and the tag.
  EXPECT_EQ(records, (std::vector<size_t>{16'384 + 17, 20'000 - 16'384 + 17}));
  EXPECT_EQ(pair.client_reads(), text);
}

// A socket with a small buffer, a client that reads now and then, and parts that are cut
// differently each time: the rest of a record comes again from another address.
TEST(TlsChannel, GoesOnAfterBlockedWritesFromOtherAddresses) {
  Tls tls;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Pair pair(*tls.context, {.version_min = version, .version_max = version}, 4096);
    ASSERT_EQ(pair.shake_hands(), Channel::Handshake::Done);
    std::mt19937 random(1);
    const std::string text = noise(700'000);
    std::string came;
    size_t sent = 0;
    int blocked = 0;
    while (sent < text.size()) {
      std::string copy = text;  // at another address
      const size_t sizes[] = {1, 100, 5000, 16'384, 40'000, 700'000};
      const std::vector<iovec> parts = cut(copy, sent, sizes[random() % 6], random);
      const Moved moved = pair.channel->write(parts);
      if (moved.state == State::Blocked) {
        blocked += 1;
        came += pair.client_reads();
        ASSERT_LT(blocked, 10'000);
        continue;
      }
      ASSERT_EQ(moved.state, State::Some);
      EXPECT_FALSE(pair.channel->write_waits_for_read());
      sent += moved.bytes;
    }
    came += pair.client_reads();
    EXPECT_GT(blocked, 10);
    EXPECT_TRUE(came == text);
  }
}

TEST(TlsChannel, EndsWhereLessThanTheBlockedRecordComesAgain) {
  Tls tls;
  Pair pair(*tls.context, {}, 4096);
  ASSERT_EQ(pair.shake_hands(), Channel::Handshake::Done);
  const std::string text = noise(100'000);
  iovec part = part_of(text);
  while (pair.channel->write({&part, 1}).state == State::Some) {
  }
  part.iov_len = 10;
  EXPECT_EQ(pair.channel->write({&part, 1}).state, State::Closed);
  EXPECT_EQ(pair.channel->write({&part, 1}).state, State::Closed);
  pair.channel->shut_down();
}

TEST(TlsChannel, ReadsAllThatHasComeInRoomsOfAnySize) {
  Tls tls;
  for (const size_t room_bytes : {1, 7, 1000, 16'384, 100'000}) {
    Pair pair(*tls.context, {});
    ASSERT_EQ(pair.shake_hands(), Channel::Handshake::Done);
    std::mt19937 random(2);
    std::string all;
    for (int record = 0; record < 30; record += 1) {
      const std::string text = noise(1 + random() % 3000);
      ASSERT_EQ(pair.client_sends(text), text.size());
      all += text;
    }
    EXPECT_TRUE(pair.server_reads(nullptr, room_bytes) == all) << room_bytes;
    EXPECT_FALSE(pair.channel->has_unread());
  }
}

// OpenSSL may have read ahead, and then the socket is empty (3.0; 3.5 leaves the bytes there).
TEST(TlsChannel, TellsOfBytesThatCameWithTheHandshake) {
  Tls tls;
  Pair pair(*tls.context, {});
  for (int turn = 0; turn < 10 && SSL_do_handshake(pair.client) != 1; turn += 1) {
    ASSERT_EQ(pair.channel->handshake(), Channel::Handshake::Blocked);
  }
  ASSERT_EQ(pair.client_sends("PRI"), 3u);
  ASSERT_EQ(pair.channel->handshake(), Channel::Handshake::Done);
  pollfd socket_now{pair.channel->socket(), POLLIN, 0};
  EXPECT_EQ(pair.channel->has_unread(), ::poll(&socket_now, 1, 0) == 0);
  EXPECT_EQ(pair.server_reads(), "PRI");
}

TEST(TlsChannel, WaitsForTheRestOfARecord) {
  Tls tls;
  Pair pair(*tls.context, {});
  ASSERT_EQ(pair.shake_hands(), Channel::Handshake::Done);
  // Holds back what the client sends.
  BIO* held = BIO_new(BIO_s_mem());
  BIO_up_ref(held);
  SSL_set0_wbio(pair.client, held);
  ASSERT_EQ(pair.client_sends("hello"), 5u);
  const std::string record = text_of(held);
  uint8_t room[16];
  for (size_t at = 0; at + 1 < record.size(); at += 1) {
    ASSERT_EQ(::send(pair.socket, record.data() + at, 1, 0), 1);
    ASSERT_EQ(pair.channel->read(room).state, State::Blocked);
    ASSERT_FALSE(pair.channel->has_unread());
  }
  ASSERT_EQ(::send(pair.socket, &record.back(), 1, 0), 1);
  EXPECT_EQ(pair.server_reads(), "hello");
}

TEST(TlsChannel, TellsTheEndBehindTheLastBytes) {
  Tls tls;
  for (const bool polite : {true, false}) {
    Pair pair(*tls.context, {});
    ASSERT_EQ(pair.shake_hands(), Channel::Handshake::Done);
    ASSERT_EQ(pair.client_sends("last"), 4u);
    if (polite) SSL_shutdown(pair.client);
    else pair.hang_up();
    bool closed = false;
    EXPECT_EQ(pair.server_reads(&closed), "last");
    EXPECT_TRUE(closed);
    uint8_t room[16];
    EXPECT_EQ(pair.channel->read(room).state, State::Closed);
    const std::string text = noise(100'000);
    const iovec part = part_of(text);
    if (!polite) {
      EXPECT_EQ(pair.channel->write({&part, 1}).state, State::Closed);
    }
  }
}

TEST(TlsChannel, SaysGoodbye) {
  Tls tls;
  Pair pair(*tls.context, {});
  ASSERT_EQ(pair.shake_hands(), Channel::Handshake::Done);
  pair.channel->shut_down();
  pair.client_reads();
  EXPECT_EQ(SSL_get_shutdown(pair.client), SSL_RECEIVED_SHUTDOWN);
  pair.channel->shut_down();
  Pair early(*tls.context, {});
  early.channel->shut_down();  // before a handshake there is nothing to send
  char byte = 0;
  EXPECT_EQ(::recv(early.socket, &byte, 1, 0), -1);
}

TEST(TlsChannel, EndsOnBytesThatSomebodyChanged) {
  Tls tls;
  Pair pair(*tls.context, {});
  ASSERT_EQ(pair.shake_hands(), Channel::Handshake::Done);
  const std::string forged = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
  ASSERT_GT(::send(pair.socket, forged.data(), forged.size(), 0), 0);
  bool closed = false;
  EXPECT_EQ(pair.server_reads(&closed), "");
  EXPECT_TRUE(closed);
}

bool update_keys(Pair& pair) {
  return SSL_key_update(pair.client, SSL_KEY_UPDATE_REQUESTED) == 1 &&
         SSL_do_handshake(pair.client) == 1;
}

TEST(TlsChannel, UpdatesKeysNowAndThen) {
  Tls tls;
  Pair pair(*tls.context, {.version_min = TLS1_3_VERSION});
  ASSERT_EQ(pair.shake_hands(), Channel::Handshake::Done);
  for (int turn = 0; turn < 20; turn += 1) {
    ASSERT_TRUE(update_keys(pair));
    ASSERT_EQ(pair.client_sends("hello"), 5u);
    ASSERT_EQ(pair.server_reads(), "hello");
    const iovec part{const_cast<char*>("back"), 4};
    ASSERT_EQ(pair.channel->write({&part, 1}).bytes, 4u);
    ASSERT_EQ(pair.client_reads(), "back");
  }
  // Gigabytes would allow more; 32 MiB allow 32.
  const std::string text = noise(16'000);
  for (int turn = 0; turn < 2200; turn += 1) {
    ASSERT_EQ(pair.client_sends(text), text.size());
    ASSERT_EQ(pair.server_reads().size(), text.size());
  }
  for (int turn = 0; turn < 32; turn += 1) ASSERT_TRUE(update_keys(pair));
  bool closed = true;
  EXPECT_EQ(pair.server_reads(&closed), "");
  EXPECT_FALSE(closed);
}

TEST(TlsChannel, EndsWhereKeysAreUpdatedWithoutEnd) {
  Tls tls;
  for (const bool with_data : {false, true}) {
    Pair pair(*tls.context, {.version_min = TLS1_3_VERSION});
    ASSERT_EQ(pair.shake_hands(), Channel::Handshake::Done);
    bool closed = false;
    int turns = 0;
    for (; turns < 1000 && !closed; turns += 1) {
      ASSERT_TRUE(update_keys(pair));
      const std::string_view data = with_data ? "x" : "";
      ASSERT_EQ(pair.client_sends(data), data.size());
      pair.server_reads(&closed);
    }
    EXPECT_TRUE(closed);
    EXPECT_EQ(turns, 33);
  }
}

TEST(TlsChannel, DoesNotRenegotiate) {
  Tls tls;
  Pair pair(*tls.context, {.version_max = TLS1_2_VERSION});
  ASSERT_EQ(pair.shake_hands(), Channel::Handshake::Done);
  ASSERT_EQ(SSL_renegotiate(pair.client), 1);
  SSL_do_handshake(pair.client);
  bool closed = false;
  pair.server_reads(&closed);
  ERR_clear_error();
  EXPECT_EQ(SSL_do_handshake(pair.client), -1);
  EXPECT_EQ(ERR_GET_REASON(ERR_peek_last_error()), SSL_R_NO_RENEGOTIATION);
}

// Expects the name that a listener at `at` gives a client at `from` (an IPv4 or IPv6 address).
void expect_peer(int family, const char* at, const char* from, const std::string& called) {
  sockaddr_storage address{};
  socklen_t bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  const auto fill = [&](int to, const char* text) {
    address = {};
    address.ss_family = static_cast<sa_family_t>(to);
    bytes = to == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    void* place = to == AF_INET
                      ? static_cast<void*>(&reinterpret_cast<sockaddr_in*>(&address)->sin_addr)
                      : &reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr;
    ASSERT_EQ(::inet_pton(to, text, place), 1);
  };
  const auto* any = reinterpret_cast<const sockaddr*>(&address);
  const int listening = ::socket(family, SOCK_STREAM, 0);
  fill(family, at);
  if (::bind(listening, any, bytes) != 0) {
    ::close(listening);
    GTEST_SKIP() << "this machine has no " << at;
  }
  ASSERT_EQ(::listen(listening, 1), 0);
  ::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &bytes);
  const in_port_t port = reinterpret_cast<sockaddr_in*>(&address)->sin_port;
  const int client_family =
      std::string_view(from).find(':') == std::string_view::npos ? AF_INET : AF_INET6;
  const int client = ::socket(client_family, SOCK_STREAM, 0);
  fill(client_family, from);
  reinterpret_cast<sockaddr_in*>(&address)->sin_port = port;
  ASSERT_EQ(::connect(client, any, bytes), 0);
  const int accepted = ::accept(listening, nullptr, nullptr);
  ::getsockname(client, reinterpret_cast<sockaddr*>(&address), &bytes);
  const std::string own = std::to_string(ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port));
  EXPECT_EQ(peer_of(accepted), called + own);
  for (const int one : {listening, client, accepted}) ::close(one);
}

TEST(Peer, IsCalledByItsAddress) {
  expect_peer(AF_INET, "127.0.0.1", "127.0.0.1", "127.0.0.1:");
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  EXPECT_EQ(peer_of(pair[0]), "a unix socket");
  ::close(pair[0]);
  ::close(pair[1]);
  EXPECT_EQ(peer_of(-1), "unknown");
}

TEST(Peer, OfIpv6IsCalledByItsAddress) {
  expect_peer(AF_INET6, "::1", "::1", "[::1]:");
  if (!IsSkipped()) expect_peer(AF_INET6, "::", "127.0.0.1", "127.0.0.1:");
}

}  // namespace
}  // namespace serval
