// Listening sockets: addresses, ports in use, unix sockets and leftover socket files, and accepting
// with too many connections or no descriptors. The system chooses the ports.
#include "transport/socket/listening.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

namespace serval {
namespace {

int connect_v4(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return made;
  ::close(made);
  return -1;
}

int connect_v6(uint16_t port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  address.sin6_addr = in6addr_loopback;
  const int made = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return made;
  ::close(made);
  return -1;
}

bool has_v6() {
  Result<ListeningSockets> opened = ListeningSockets::open("::1", 0, "", 1);
  return opened.ok();
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int connect_unix(const std::string& path) {
  const sockaddr_un address = unix_address(path);
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return made;
  }
  ::close(made);
  return -1;
}

// A listener of another program, which binds with its own options.
int foreign(uint16_t& port, int option) {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (option != 0) ::setsockopt(made, SOL_SOCKET, option, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  EXPECT_EQ(::bind(made, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(::listen(made, 5), 0);
  ::getsockname(made, reinterpret_cast<sockaddr*>(&address), &length);
  port = ntohs(address.sin_port);
  return made;
}

// Waits until a client has connected.
void wait_readable(int socket) {
  pollfd wait{socket, POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 10'000), 1);
}

// Returns the listening socket that has a client, or -1.
int ready_one(const std::vector<int>& sockets) {
  std::vector<pollfd> waits;
  for (const int socket : sockets) waits.push_back({socket, POLLIN, 0});
  if (::poll(waits.data(), waits.size(), 10'000) < 1) return -1;
  for (const pollfd& wait : waits) {
    if ((wait.revents & POLLIN) != 0) return wait.fd;
  }
  return -1;
}

// True if the peer closed it, in either way.
bool is_closed(int socket) {
  pollfd wait{socket, POLLIN, 0};
  char byte = 0;
  return ::poll(&wait, 1, 10'000) == 1 && ::recv(socket, &byte, 1, 0) <= 0;
}

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/serval-socket-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Folder() {
    ::unlink((path_ + "/s").c_str());
    ::rmdir(path_.c_str());
  }
  std::string socket() const { return path_ + "/s"; }

 private:
  std::string path_;
};

std::string listen_error(const std::string& host, uint16_t port, const std::string& unix_path = "",
                         uint32_t threads = 2) {
  Result<ListeningSockets> opened = ListeningSockets::open(host, port, unix_path, threads);
  if (opened.ok()) return "";
  EXPECT_EQ(opened.error().code, ErrorCode::InvalidArgument);
  return opened.error().message;
}

TEST(Listening, GivesEachThreadASocketOfItsOwnOnOnePort) {
  Result<ListeningSockets> opened = ListeningSockets::open("127.0.0.1", 0, "", 3);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  ListeningSockets& sockets = opened.value();
  ASSERT_GT(sockets.port(), 0);
  std::vector<int> all;
  for (uint32_t thread = 0; thread < 3; thread += 1) {
    ASSERT_EQ(sockets.of_thread(thread).size(), 1u);
    const int socket = sockets.of_thread(thread)[0];
    all.push_back(socket);
    EXPECT_NE(::fcntl(socket, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(::fcntl(socket, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), 3u);
  // The first one too, which got its SO_REUSEPORT late: the system spreads clients over all of
  // them.
  ConnectionCount count;
  Acceptor acceptor(count, 1000);
  std::set<int> used;
  for (int client = 0; client < 200 && used.size() < 3; client += 1) {
    const int connected = connect_v4(sockets.port());
    ASSERT_GE(connected, 0);
    const int ready = ready_one(all);
    ASSERT_GE(ready, 0);
    int accepted = -1;
    ASSERT_EQ(acceptor.accept(ready, accepted), Acceptor::Outcome::Accepted);
    used.insert(ready);
    ::close(accepted);
    ::close(connected);
  }
  EXPECT_EQ(used.size(), 3u);
}

TEST(Listening, TakesThePortThatItIsGiven) {
  uint16_t port = 0;
  ::close(foreign(port, 0));
  Result<ListeningSockets> opened = ListeningSockets::open("127.0.0.1", port, "", 2);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened.value().port(), port);
}

TEST(Listening, ComesBackWhileOldConnectionsAreLeft) {
  Result<ListeningSockets> opened = ListeningSockets::open("127.0.0.1", 0, "", 2);
  ASSERT_TRUE(opened.ok());
  const uint16_t port = opened.value().port();
  const int client = connect_v4(port);
  const int ready = ready_one({opened.value().of_thread(0)[0], opened.value().of_thread(1)[0]});
  ConnectionCount count;
  Acceptor acceptor(count, 10);
  int accepted = -1;
  ASSERT_EQ(acceptor.accept(ready, accepted), Acceptor::Outcome::Accepted);
  opened.value().close();
  ::close(accepted);  // the side that closes first keeps the port in TIME_WAIT
  EXPECT_TRUE(is_closed(client));
  ::close(client);
  Result<ListeningSockets> again = ListeningSockets::open("127.0.0.1", port, "", 2);
  EXPECT_TRUE(again.ok()) << again.error().message;
}

TEST(Listening, RefusesAPortInUseHoweverItIsShared) {
  for (const int option : {0, SO_REUSEADDR, SO_REUSEPORT}) {
    uint16_t port = 0;
    const int other = foreign(port, option);
    const std::string said = listen_error("127.0.0.1", port);
    EXPECT_EQ(said, "cannot listen on 127.0.0.1 port " + std::to_string(port) +
                        ": the port is in use by another process; choose another, or 0 for a free "
                        "one")
        << option;
    ::close(other);
  }
}

TEST(Listening, RefusesThePortOfAnotherListenerOfOurs) {
  Result<ListeningSockets> first = ListeningSockets::open("127.0.0.1", 0, "", 4);
  ASSERT_TRUE(first.ok());
  const uint16_t port = first.value().port();
  EXPECT_NE(listen_error("127.0.0.1", port, "", 4).find("in use by another process"),
            std::string::npos);
  EXPECT_NE(listen_error("127.0.0.1", port, "", 1).find("in use by another process"),
            std::string::npos);
  EXPECT_NE(listen_error("0.0.0.0", port, "", 4).find("in use by another process"),
            std::string::npos);
  ListeningSockets moved = std::move(first.value());
  EXPECT_EQ(moved.of_thread(3).size(), 1u);
  EXPECT_EQ(first.value().of_thread(3).size(), 0u);
  moved.close();
  EXPECT_EQ(listen_error("127.0.0.1", port, "", 4), "");
}

TEST(Listening, SharesItsPortWithProcessesThatShareItTooWhereItIsToldTo) {
  Result<ListeningSockets> first = ListeningSockets::open("127.0.0.1", 0, "", 1, true);
  ASSERT_TRUE(first.ok()) << first.error().message;
  const uint16_t port = first.value().port();
  EXPECT_NE(listen_error("127.0.0.1", port).find("in use by another process"), std::string::npos);
  Result<ListeningSockets> second = ListeningSockets::open("127.0.0.1", port, "", 2, true);
  ASSERT_TRUE(second.ok()) << second.error().message;
  first.value().close();
  const int client = connect_v4(port);
  std::vector<int> sockets = second.value().of_thread(0);
  sockets.push_back(second.value().of_thread(1).front());
  EXPECT_GE(ready_one(sockets), 0);
  ::close(client);
}

TEST(Listening, SharesNoPortOfAProcessThatDoesNot) {
  uint16_t port = 0;
  const int other = foreign(port, 0);
  Result<ListeningSockets> opened = ListeningSockets::open("127.0.0.1", port, "", 1, true);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("in use by another process"), std::string::npos);
  ::close(other);
}

TEST(Listening, SaysWhatIsWrongWithAnAddress) {
  EXPECT_EQ(listen_error("no-such-host.invalid", 8500),
            "cannot listen on no-such-host.invalid port 8500: the host name is not known");
  EXPECT_EQ(listen_error("192.0.2.1", 8500),  // TEST-NET-1
            "cannot listen on 192.0.2.1 port 8500: the address does not belong to this "
            "machine");
  EXPECT_NE(listen_error("1.2.3.4.5", 8500), "");
  EXPECT_NE(listen_error(std::string(100'000, 'h'), 8500), "");
}

TEST(Listening, SpeaksIpv6) {
  if (!has_v6()) GTEST_SKIP() << "no IPv6 here";
  for (const char* host : {"::1", "[::1]"}) {
    Result<ListeningSockets> opened = ListeningSockets::open(host, 0, "", 2);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const int client = connect_v6(opened.value().port());
    EXPECT_GE(client, 0);
    EXPECT_EQ(connect_v4(opened.value().port()), -1);
    ::close(client);
  }
  Result<ListeningSockets> all = ListeningSockets::open("::", 0, "", 2);
  ASSERT_TRUE(all.ok()) << all.error().message;
  const int sixth = connect_v6(all.value().port());
  EXPECT_GE(sixth, 0);
  ::close(sixth);
  int only = 0;
  socklen_t length = sizeof(only);
  ::getsockopt(all.value().of_thread(0)[0], IPPROTO_IPV6, IPV6_V6ONLY, &only, &length);
  const int fourth = connect_v4(all.value().port());
  EXPECT_EQ(fourth >= 0, only == 0);
  ::close(fourth);
}

TEST(Listening, TakesAllAddressesOfAName) {
  Result<ListeningSockets> opened = ListeningSockets::open("localhost", 0, "", 2);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const int client = connect_v4(opened.value().port());
  EXPECT_GE(client, 0);
  ::close(client);
  EXPECT_EQ(opened.value().of_thread(0).size(), opened.value().of_thread(1).size());
}

TEST(Listening, SharesAUnixSocketAndRemovesItsFile) {
  const Folder folder;
  const std::string path = folder.socket();
  {
    Result<ListeningSockets> opened = ListeningSockets::open("", 0, path, 3);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_EQ(opened.value().port(), 0);
    ASSERT_EQ(opened.value().of_thread(0).size(), 1u);
    EXPECT_EQ(opened.value().of_thread(0), opened.value().of_thread(2));
    const int client = connect_unix(path);
    ASSERT_GE(client, 0);
    ConnectionCount count;
    Acceptor acceptor(count, 10);
    int accepted = -1;
    EXPECT_EQ(acceptor.accept(opened.value().of_thread(1)[0], accepted),
              Acceptor::Outcome::Accepted);
    ::close(accepted);
    ::close(client);
    ListeningSockets moved = std::move(opened.value());
  }
  struct stat file {};
  EXPECT_NE(::lstat(path.c_str(), &file), 0);
}

TEST(Listening, ListensOnTcpAndAUnixSocketAtOnce) {
  const Folder folder;
  Result<ListeningSockets> opened = ListeningSockets::open("127.0.0.1", 0, folder.socket(), 2);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened.value().of_thread(0).size(), 2u);
  EXPECT_EQ(opened.value().of_thread(1).size(), 2u);
}

TEST(Listening, TakesOverWhatADeadServerLeft) {
  const Folder folder;
  const sockaddr_un address = unix_address(folder.socket());
  const int dead = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(dead, 1), 0);
  ::close(dead);
  Result<ListeningSockets> opened = ListeningSockets::open("", 0, folder.socket(), 1);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const int client = connect_unix(folder.socket());
  EXPECT_GE(client, 0);
  ::close(client);
}

TEST(Listening, LeavesALiveServersSocketAlone) {
  const Folder folder;
  const std::string path = folder.socket();
  Result<ListeningSockets> first = ListeningSockets::open("", 0, path, 1);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(listen_error("", 0, path),
            "cannot listen on unix:" + path + ": another server answers on it; choose another");
  const int client = connect_unix(path);
  EXPECT_GE(client, 0);
  ::close(client);
}

TEST(Listening, LeavesALiveServersSocketAloneWhoseQueueIsFull) {
  const Folder folder;
  const sockaddr_un address = unix_address(folder.socket());
  const int busy = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(busy, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(busy, 0), 0);
  std::vector<int> clients;
  for (;;) {
    const int client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    clients.push_back(client);
    ASSERT_LT(clients.size(), 100u);
    if (::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) break;
  }
  EXPECT_NE(listen_error("", 0, folder.socket()).find("another server answers on it"),
            std::string::npos);
  for (const int client : clients) ::close(client);
  ::close(busy);
}

TEST(Listening, LeavesTheFileOfWhoTookThePathOver) {
  const Folder folder;
  Result<ListeningSockets> first = ListeningSockets::open("", 0, folder.socket(), 1);
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(::unlink(folder.socket().c_str()), 0);
  Result<ListeningSockets> second = ListeningSockets::open("", 0, folder.socket(), 1);
  ASSERT_TRUE(second.ok());
  first.value().close();
  const int client = connect_unix(folder.socket());
  EXPECT_GE(client, 0);
  ::close(client);
}

TEST(Listening, RefusesUnixPathsThatCannotBe) {
  const Folder folder;
  const std::string path = folder.socket();
  std::ofstream(path) << "kept";
  EXPECT_EQ(listen_error("", 0, path), "cannot listen on unix:" + path +
                                           ": a file that is not a socket exists there; remove it "
                                           "or choose another");
  std::string kept;
  std::ifstream(path) >> kept;
  EXPECT_EQ(kept, "kept");
  const std::string longest = "/tmp/" + std::string(103, 'x');
  EXPECT_EQ(listen_error("", 0, longest),
            "cannot listen on unix:" + longest +
                ": the path has 108 bytes, the system takes at most 107");
  EXPECT_EQ(listen_error("", 0, "/tmp/serval-no-such-folder/s"),
            "cannot listen on unix:/tmp/serval-no-such-folder/s: its folder does not exist");
  EXPECT_NE(listen_error("", 0, std::string("/tmp/a\0b", 8)).find("a zero byte"),
            std::string::npos);
}

TEST(Listening, RefusesClientsOnceItStopped) {
  const Folder folder;
  Result<ListeningSockets> opened = ListeningSockets::open("127.0.0.1", 0, folder.socket(), 2);
  ASSERT_TRUE(opened.ok());
  const uint16_t port = opened.value().port();
  const int waiting = connect_v4(port);
  ASSERT_GE(waiting, 0);
  opened.value().stop();
  EXPECT_TRUE(is_closed(waiting));
  ::close(waiting);
  EXPECT_EQ(connect_v4(port), -1);
  EXPECT_EQ(connect_unix(folder.socket()), -1);
  ConnectionCount count;
  Acceptor acceptor(count, 10);
  int socket = -1;
  for (const int listening : opened.value().of_thread(0)) {
    EXPECT_EQ(acceptor.accept(listening, socket), Acceptor::Outcome::None);
  }
  EXPECT_EQ(opened.value().port(), port);
  // The next server need not wait until this one has ended.
  Result<ListeningSockets> next = ListeningSockets::open("127.0.0.1", port, folder.socket(), 2);
  ASSERT_TRUE(next.ok()) << next.error().message;
  opened.value().close();
  const int client = connect_unix(folder.socket());
  EXPECT_GE(client, 0);
  ::close(client);
}

TEST(Accepting, GivesSocketsThatDoNotBlockAndWaitForNothing) {
  Result<ListeningSockets> opened = ListeningSockets::open("127.0.0.1", 0, "", 1);
  ASSERT_TRUE(opened.ok());
  const int listening = opened.value().of_thread(0)[0];
  ConnectionCount count;
  Acceptor acceptor(count, 10);
  int socket = -1;
  EXPECT_EQ(acceptor.accept(listening, socket), Acceptor::Outcome::None);
  const int client = connect_v4(opened.value().port());
  wait_readable(listening);
  ASSERT_EQ(acceptor.accept(listening, socket), Acceptor::Outcome::Accepted);
  EXPECT_EQ(count.open.load(), 1u);
  EXPECT_NE(::fcntl(socket, F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(socket, F_GETFD) & FD_CLOEXEC, 0);
  int no_delay = 0;
  socklen_t length = sizeof(no_delay);
  ::getsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &no_delay, &length);
  EXPECT_NE(no_delay, 0);
  ::close(socket);
  acceptor.closed();
  EXPECT_EQ(count.open.load(), 0u);
  ::close(client);
}

TEST(Accepting, ClosesThoseAboveTheLimitOfAllThreads) {
  Result<ListeningSockets> opened = ListeningSockets::open("127.0.0.1", 0, "", 1);
  ASSERT_TRUE(opened.ok());
  const int listening = opened.value().of_thread(0)[0];
  ConnectionCount count;
  Acceptor acceptor(count, 2);
  Acceptor other(count, 2);
  int first = -1;
  int second = -1;
  int third = -1;
  const int clients[] = {connect_v4(opened.value().port()), connect_v4(opened.value().port()),
                         connect_v4(opened.value().port())};
  wait_readable(listening);
  EXPECT_EQ(acceptor.accept(listening, first), Acceptor::Outcome::Accepted);
  EXPECT_EQ(other.accept(listening, second), Acceptor::Outcome::Accepted);
  EXPECT_EQ(acceptor.accept(listening, third), Acceptor::Outcome::Full);
  EXPECT_EQ(third, -1);
  EXPECT_EQ(count.open.load(), 2u);
  EXPECT_TRUE(is_closed(clients[2]));
  ::close(first);
  acceptor.closed();
  const int late = connect_v4(opened.value().port());
  wait_readable(listening);
  EXPECT_EQ(other.accept(listening, first), Acceptor::Outcome::Accepted);
  for (const int socket : {first, second, late, clients[0], clients[1], clients[2]}) {
    ::close(socket);
  }
}

// The reserve descriptor closes each client that cannot be served, and is then available again.
TEST(Accepting, ClosesClientsWhereDescriptorsHaveRunOut) {
  Result<ListeningSockets> opened = ListeningSockets::open("127.0.0.1", 0, "", 1);
  ASSERT_TRUE(opened.ok());
  const int listening = opened.value().of_thread(0)[0];
  ConnectionCount count;
  Acceptor acceptor(count, 1000);
  std::vector<int> clients;
  for (int client = 0; client < 3; client += 1) {
    clients.push_back(connect_v4(opened.value().port()));
  }
  wait_readable(listening);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 64;
  ::setrlimit(RLIMIT_NOFILE, &none);
  std::vector<int> held;
  for (int fd = ::open("/dev/null", O_RDONLY); fd >= 0; fd = ::open("/dev/null", O_RDONLY)) {
    held.push_back(fd);
  }
  EXPECT_EQ(errno, EMFILE);
  int socket = -1;
  for (int client = 0; client < 3; client += 1) {
    EXPECT_EQ(acceptor.accept(listening, socket), Acceptor::Outcome::Full);
  }
  EXPECT_EQ(acceptor.accept(listening, socket), Acceptor::Outcome::None);
  EXPECT_EQ(socket, -1);
  EXPECT_EQ(count.open.load(), 0u);
  for (const int fd : held) ::close(fd);
  ::setrlimit(RLIMIT_NOFILE, &before);
  for (const int client : clients) {
    EXPECT_TRUE(is_closed(client));
    ::close(client);
  }
  const int client = connect_v4(opened.value().port());
  wait_readable(listening);
  EXPECT_EQ(acceptor.accept(listening, socket), Acceptor::Outcome::Accepted);
  ::close(socket);
  ::close(client);
}

}  // namespace
}  // namespace serval
