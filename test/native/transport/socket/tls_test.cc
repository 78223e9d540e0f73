// TLS contexts and handshakes: which certificates, keys, versions and clients are accepted, what is
// reported about the others, and files that change.
#include "transport/socket/tls.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "transport/socket/tls_peer.h"

namespace serval {
namespace {

using namespace tls_test;
using Handshake = Channel::Handshake;

TEST(Tls, ShakesHandsWithEcAndRsaInBothVersions) {
  const Authority root;
  const std::string root_pem = pem(root.cert);
  for (const bool rsa : {false, true}) {
    const auto context = context_of(settings_of(identity("one", root, rsa ? rsa_key() : ec_key())));
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      ClientOptions options{.version_min = version, .version_max = version};
      options.server_signed_by = root_pem.c_str();
      Pair pair(*context, options);
      ASSERT_EQ(pair.shake_hands(), Handshake::Done) << pair.channel->problem();
      EXPECT_EQ(SSL_version(pair.client), version);
      EXPECT_EQ(SSL_get_verify_result(pair.client), X509_V_OK);
      EXPECT_EQ(name_shown(pair), "one");
      pair.client_sends("hello");
      EXPECT_EQ(pair.server_reads(), "hello");
      EXPECT_EQ(pair.channel->handshake(), Handshake::Done);
      EXPECT_EQ(pair.channel->problem(), "");
    }
  }
}

TEST(Tls, SendsTheWholeChain) {
  const Authority root;
  Authority middle;
  middle.cert = certificate("middle", middle.key, &root.cert, root.key, {.authority = true});
  Identity server = identity("leaf", middle);
  server.certificate += pem(middle.cert);
  const std::string root_pem = pem(root.cert);
  const auto context = context_of(settings_of(server));
  ClientOptions options;
  options.server_signed_by = root_pem.c_str();
  Pair pair(*context, options);
  ASSERT_EQ(pair.shake_hands(), Handshake::Done) << pair.channel->problem();
  EXPECT_EQ(SSL_get_verify_result(pair.client), X509_V_OK);
}

TEST(Tls, RefusesOldVersionsAndCiphersThatHttp2Bans) {
  const Authority root;
  const auto context = context_of(settings_of(identity("one", root, rsa_key())));
  Pair old(*context, {.version_min = TLS1_VERSION, .version_max = TLS1_1_VERSION});
  EXPECT_EQ(old.shake_hands(), Handshake::Failed);
  EXPECT_EQ(old.channel->problem(), "unsupported protocol");
  EXPECT_EQ(old.channel->handshake(), Handshake::Failed);
  for (const char* banned : {"AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA256"}) {
    ClientOptions options{.version_max = TLS1_2_VERSION};
    options.ciphers = banned;
    Pair pair(*context, options);
    EXPECT_EQ(pair.shake_hands(), Handshake::Failed) << banned;
    EXPECT_EQ(pair.channel->problem(), "no shared cipher");
  }
}

TEST(Tls, WantsHttp2) {
  const Authority root;
  const auto context = context_of(settings_of(identity("one", root)));
  Pair other(*context, {.alpn = "\x08http/1.1"});
  EXPECT_EQ(other.shake_hands(), Handshake::Failed);
  EXPECT_EQ(other.channel->problem(), "no application protocol");
  Pair none(*context, {.alpn = ""});
  EXPECT_EQ(none.shake_hands(), Handshake::Failed);
  EXPECT_EQ(none.channel->problem(), "the client does not offer HTTP/2 (ALPN \"h2\")");
  Pair both(*context, {.alpn = "\x08http/1.1\x02h2"});
  EXPECT_EQ(both.shake_hands(), Handshake::Done);
  const unsigned char* name = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(both.client, &name, &length);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(name), length), "h2");
}

TEST(Tls, ChecksClientsWhereTheyAreToShowCertificates) {
  const Authority root;
  const Authority impostor;  // an authority of the same name
  Authority stranger;
  stranger.cert = certificate("other", stranger.key, nullptr, stranger.key, {.authority = true});
  TlsSettings settings = settings_of(identity("server", root));
  settings.roots.text = pem(root.cert);
  settings.client_required = true;
  const auto context = context_of(settings);
  const Identity good = identity("client", root, ec_key(), {.usage = "clientAuth"});
  const Identity bad[] = {
      identity("client", stranger),
      identity("client", impostor),
      identity("client", root, ec_key(), {.begins_s = -7200, .ends_s = -3600}),
      identity("client", root, ec_key(), {.usage = "serverAuth"}),
  };
  const char* reasons[] = {"unable to get local issuer certificate",
                           "certificate signature failure", "certificate has expired",
                           "unsuitable certificate purpose"};
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    ClientOptions options{.version_min = version, .version_max = version};
    Pair without(*context, options);
    EXPECT_EQ(without.shake_hands(), Handshake::Failed);
    EXPECT_EQ(without.channel->problem(), "peer did not return a certificate");
    options.identity = &good;
    Pair with(*context, options);
    EXPECT_EQ(with.shake_hands(), Handshake::Done) << with.channel->problem();
    for (size_t index = 0; index < std::size(bad); index += 1) {
      options.identity = &bad[index];
      Pair refused(*context, options);
      EXPECT_EQ(refused.shake_hands(), Handshake::Failed);
      EXPECT_EQ(refused.channel->problem().find("certificate verify failed ("), 0u);
      EXPECT_NE(refused.channel->problem().find(reasons[index]), std::string::npos)
          << refused.channel->problem();
    }
  }
}

TEST(Tls, DoesNotAskClientsOtherwise) {
  const Authority root;
  TlsSettings settings = settings_of(identity("server", root));
  settings.roots.text = pem(root.cert);
  const auto context = context_of(settings);
  const Authority stranger;
  const Identity client = identity("client", stranger);
  ClientOptions options;
  options.identity = &client;
  Pair pair(*context, options);
  EXPECT_EQ(pair.shake_hands(), Handshake::Done) << pair.channel->problem();
}

TEST(Tls, TakesARootThatAnotherOneSigned) {
  const Authority root;
  Authority middle;
  middle.cert = certificate("middle", middle.key, &root.cert, root.key, {.authority = true});
  TlsSettings settings = settings_of(identity("server", root));
  settings.roots.text = pem(Authority().cert) + pem(middle.cert);
  settings.client_required = true;
  const auto context = context_of(settings);
  const Identity client = identity("client", middle);
  ClientOptions options;
  options.identity = &client;
  Pair pair(*context, options);
  EXPECT_EQ(pair.shake_hands(), Handshake::Done) << pair.channel->problem();
}

TEST(Tls, SaysWhatIsWrongWithWhatItIsGiven) {
  const Authority root;
  const Identity server = identity("one", root);
  const Key other = ec_key();
  const auto said = [&](const std::string& certificate, const std::string& key) {
    return error_of(settings_of({certificate, key}));
  };
  EXPECT_EQ(said("", server.key), "cannot use TLS: there is no certificate");
  EXPECT_EQ(said(server.certificate, ""), "cannot use TLS: there is no key");
  EXPECT_EQ(said("none", server.key),
            "cannot use TLS: certificate given as text: expected a certificate in PEM (no "
            "start line)");
  EXPECT_EQ(said(server.key, server.key)
                .find("cannot use TLS: certificate given as text: expected "
                      "a certificate in PEM"),
            0u);
  EXPECT_EQ(said(server.certificate, server.certificate)
                .find("cannot use TLS: key given as text: expected a private key in PEM"),
            0u);
  EXPECT_EQ(said(server.certificate, pem(other)),
            "cannot use TLS: key given as text: it does not belong to the certificate of "
            "certificate given as text (key values mismatch)");
  EXPECT_EQ(said(server.certificate, pem(rsa_key())).find("cannot use TLS: key given as "), 0u);
  EXPECT_EQ(said(server.certificate, pem(other, "secret")),
            "cannot use TLS: key given as text: expected a key without a passphrase, got an "
            "encrypted one");
  const std::string torn = server.certificate.substr(0, server.certificate.size() / 2);
  EXPECT_EQ(said(server.certificate + torn, server.key)
                .find("cannot use TLS: certificate given as text: certificate 2 is broken ("),
            0u);
  EXPECT_NE(said(torn, server.key), "");
  EXPECT_NE(said(std::string((4u << 20) + 1, 'x'), server.key).find("more than 4 MiB"),
            std::string::npos);
  EXPECT_EQ(ERR_peek_error(), 0u);
}

TEST(Tls, RefusesKeysThatAreTooShort) {
  const Authority root;
  EXPECT_NE(error_of(settings_of(identity("one", root, rsa_key(512)))).find("ee key too small"),
            std::string::npos);
}

TEST(Tls, SaysWhatIsWrongWithRoots) {
  const Authority root;
  TlsSettings settings = settings_of(identity("one", root));
  settings.client_required = true;
  EXPECT_EQ(
      error_of(settings),
      "cannot use TLS: client certificates are required, but there are no root certificates to "
      "verify them");
  settings.roots.text = "no roots";
  EXPECT_EQ(error_of(settings),
            "cannot use TLS: root certificates given as text: "
            "expected certificates in PEM (no start line)");
  settings.roots.text = pem(root.cert);
  settings.roots.text += settings.roots.text.substr(0, settings.roots.text.size() / 2);
  EXPECT_EQ(error_of(settings).find("cannot use TLS: root certificates given as text: "
                                    "certificate 2 is broken"),
            0u);
}

TEST(Tls, SaysWhatIsWrongWithFiles) {
  const Authority root;
  const Identity server = identity("one", root);
  const PemFolder folder;
  TlsSettings settings;
  settings.certificate.path = folder.at("cert");
  settings.key.path = folder.at("key");
  EXPECT_EQ(error_of(settings), "cannot use TLS: certificate file " + folder.at("cert") +
                                    ": No such file or directory");
  folder.put("cert", server.certificate);
  settings.key.path = "/tmp";
  EXPECT_EQ(error_of(settings), "cannot use TLS: key file /tmp: expected a regular file");
  settings.key.path = folder.at("key");
  ASSERT_EQ(::mkfifo(folder.at("key").c_str(), 0600), 0);
  EXPECT_NE(error_of(settings).find("expected a regular file"), std::string::npos);
  folder.put("key", std::string((4u << 20) + 1, 'k'));
  EXPECT_EQ(error_of(settings), "cannot use TLS: key file " + folder.at("key") +
                                    " has 4194305 bytes, at most 4194304 are expected");
  folder.put("key", pem(ec_key()));
  EXPECT_EQ(error_of(settings).find("cannot use TLS: key file " + folder.at("key") +
                                    ": it does not belong to the certificate of certificate "
                                    "file " +
                                    folder.at("cert")),
            0u);
  folder.put("key", server.key);
  EXPECT_EQ(error_of(settings), "");
}

TEST(Tls, ReadsFilesAnewWhenTheyChange) {
  const Authority root;
  const Identity one = identity("one", root);
  const Identity two = identity("two", root);
  const PemFolder folder;
  folder.put("cert", one.certificate);
  folder.put("key", one.key);
  TlsSettings settings;
  settings.certificate.path = folder.at("cert");
  settings.key.path = folder.at("key");
  const auto context = context_of(settings);
  EXPECT_FALSE(context->changed());
  Pair before(*context, {});
  ASSERT_EQ(before.shake_hands(), Handshake::Done);

  folder.put("cert", two.certificate);
  EXPECT_TRUE(context->changed());
  Status half = context->reload();  // the key is still the old one
  ASSERT_FALSE(half.ok());
  EXPECT_NE(half.error().message.find("it does not belong to the certificate"), std::string::npos);
  EXPECT_FALSE(context->changed());
  Pair between(*context, {});
  ASSERT_EQ(between.shake_hands(), Handshake::Done);
  EXPECT_EQ(name_shown(between), "one");

  folder.put("key", two.key);
  EXPECT_TRUE(context->changed());
  EXPECT_TRUE(context->reload().ok());
  EXPECT_FALSE(context->changed());
  Pair after(*context, {});
  ASSERT_EQ(after.shake_hands(), Handshake::Done);
  EXPECT_EQ(name_shown(after), "two");

  ASSERT_EQ(::unlink(folder.at("cert").c_str()), 0);
  EXPECT_TRUE(context->changed());
  EXPECT_FALSE(context->reload().ok());
  EXPECT_FALSE(context->changed());
  Pair still(*context, {});
  ASSERT_EQ(still.shake_hands(), Handshake::Done);
  EXPECT_EQ(name_shown(still), "two");
  // Existing connections continue.
  before.client_sends("hello");
  EXPECT_EQ(before.server_reads(), "hello");
}

TEST(Tls, NoticesAFileThatIsWrittenInPlace) {
  const Authority root;
  const Identity server = identity("one", root);
  const PemFolder folder;
  folder.put("cert", server.certificate);
  TlsSettings settings = settings_of(server);
  settings.certificate.path = folder.at("cert");
  const auto context = context_of(settings);
  EXPECT_FALSE(context->changed());
  const timespec times[2] = {{1'000'000, 1}, {1'000'000, 1}};
  ASSERT_EQ(::utimensat(AT_FDCWD, folder.at("cert").c_str(), times, 0), 0);
  EXPECT_TRUE(context->changed());
  EXPECT_TRUE(context->reload().ok());
  EXPECT_FALSE(context->changed());
}

TEST(Tls, ChangesRootsForTicketsToo) {
  const Authority old_root;
  const Authority new_root;
  const PemFolder folder;
  folder.put("roots", pem(old_root.cert));
  TlsSettings settings = settings_of(identity("server", old_root));
  settings.roots.path = folder.at("roots");
  settings.client_required = true;
  const auto context = context_of(settings);
  const Identity client = identity("client", old_root);
  ClientOptions options;
  options.identity = &client;
  Pair first(*context, options);
  ASSERT_EQ(first.shake_hands(), Handshake::Done);
  first.client_reads();  // reads the ticket
  SSL_SESSION* session = SSL_get1_session(first.client);
  {
    Pair again(*context, options);
    SSL_set_session(again.client, session);
    EXPECT_EQ(again.shake_hands(), Handshake::Done);
    EXPECT_EQ(SSL_session_reused(again.client), 1);
  }
  folder.put("roots", pem(new_root.cert));
  ASSERT_TRUE(context->reload().ok());
  Pair late(*context, options);
  SSL_set_session(late.client, session);
  EXPECT_EQ(late.shake_hands(), Handshake::Failed);
  SSL_SESSION_free(session);
}

TEST(Tls, TakesHandshakesInPiecesAndEndsTornOnes) {
  const Authority root;
  const auto context = context_of(settings_of(identity("one", root)));
  Pair whole(*context, {});
  EXPECT_EQ(whole.channel->handshake(), Handshake::Blocked);
  EXPECT_TRUE(whole.channel->write_waits_for_read());
  SSL_do_handshake(whole.client);
  char hello[4096];
  const ssize_t bytes = ::recv(whole.channel->socket(), hello, sizeof(hello), 0);
  ASSERT_GT(bytes, 100);
  for (ssize_t sent = 0; sent < bytes; sent += 1) {
    ASSERT_EQ(::send(whole.socket, hello + sent, 1, 0), 1);
    const Handshake state = whole.channel->handshake();
    ASSERT_EQ(state, Handshake::Blocked) << sent;
    ASSERT_EQ(whole.channel->problem(), "the client did not finish it");
  }
  EXPECT_EQ(whole.shake_hands(), Handshake::Done);
  for (const ssize_t cut : {ssize_t{0}, ssize_t{1}, ssize_t{5}, bytes / 2, bytes}) {
    Pair torn(*context, {});
    ASSERT_EQ(::send(torn.socket, hello, static_cast<size_t>(cut), 0), cut);
    SSL_set_fd(torn.client, -1);
    torn.hang_up();
    Handshake state = torn.channel->handshake();
    for (int turn = 0; turn < 5 && state == Handshake::Blocked; turn += 1) {
      state = torn.channel->handshake();
    }
    EXPECT_EQ(state, Handshake::Failed) << cut;
    // A client that sends nothing only checked whether the port is open.
    EXPECT_EQ(torn.channel->problem().empty(), cut == 0) << torn.channel->problem();
  }
}

TEST(Tls, RefusesWhatIsNoTls) {
  const Authority root;
  const auto context = context_of(settings_of(identity("one", root)));
  for (const std::string_view words : {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
                                       "\x16\x03\x01\xff\xff aaaaaaaaaaaaaaaaaaaaaaa"}) {
    Pair pair(*context, {});
    ASSERT_GT(::send(pair.socket, words.data(), words.size(), 0), 0);
    EXPECT_EQ(pair.channel->handshake(), Handshake::Failed) << words;
    EXPECT_NE(pair.channel->problem(), "");
    uint8_t room[16];
    EXPECT_EQ(pair.channel->read(room).state, Moved::State::Closed);
    const iovec part{room, 16};
    EXPECT_EQ(pair.channel->write({&part, 1}).state, Moved::State::Closed);
    pair.channel->shut_down();
  }
}

// Threads accept connections while another one reloads the files.
TEST(Tls, AcceptsWhileFilesAreRead) {
  const Authority root;
  const auto context = context_of(settings_of(identity("one", root)));
  std::thread reader([&] {
    for (int turn = 0; turn < 50; turn += 1) {
      EXPECT_TRUE(context->reload().ok());
      EXPECT_FALSE(context->changed());
    }
  });
  for (int turn = 0; turn < 50; turn += 1) {
    Pair pair(*context, {});
    EXPECT_EQ(pair.shake_hands(), Handshake::Done);
  }
  reader.join();
}

}  // namespace
}  // namespace serval
