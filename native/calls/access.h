// Who may make which call: a table that JavaScript compiles from keys and settings (see
// ts/access/policy.ts, which says what it means), and how the listener's threads follow it while it
// changes. Hot path only where a method is locked; the listener's thread, where nothing else is
// said. No key is kept: digests are compared.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "calls/accepted_keys.h"
#include "transport/call.h"

namespace serval {

struct OpenSsl;

// SHA-256.
using Digest = std::array<uint8_t, 32>;

// Where a credential may be, and which are right.
struct CredentialCheck {
  std::string header;   // lower case
  bool bearer = false;  // behind "Bearer ", else as it is
  std::vector<Digest> allowed;
  std::vector<Digest> others;  // known, and not for this call
};

struct AccessRefusal {
  int code = 0;
  std::string text;
};

// Access to one kind of call.
struct CallAccess {
  enum class OpenTo : uint8_t { All, Local, None };
  OpenTo open_to = OpenTo::None;
  std::vector<CredentialCheck> checks;
  // No credential, one that nobody knows, one that is not for this.
  AccessRefusal missing, unknown, forbidden;
};

// Immutable.
class AccessTable {
 public:
  // `of_method`: an index of `accesses` for each method. Errors: invalid_argument: an index is not
  // there; what OpenSsl::find() says, where digests are to be compared.
  static Result<std::shared_ptr<const AccessTable>> make(std::vector<CallAccess> accesses,
                                                         std::vector<uint32_t> of_method);
  // Why a call that begins is refused; null: it is let in. A method that the table does not know is
  // refused. `accepted`: whom this table let in before.
  const AccessRefusal* judge(const Call& call, AcceptedKeys& accepted) const;

 private:
  Digest digest_of(std::string_view text) const;

  std::vector<CallAccess> accesses_;
  std::vector<uint32_t> of_method_;
  const OpenSsl* openssl_ = nullptr;  // where there are digests
  AccessRefusal unlisted_{7, "this method is open to nobody"};
};

// The newest table; none: everybody may make every call. Any thread.
class AccessSource {
 public:
  void publish(std::shared_ptr<const AccessTable> table);
  // How often publish() was called.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  std::shared_ptr<const AccessTable> table() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const AccessTable> table_;  // guarded by mutex_
  std::atomic<uint64_t> version_{0};
};

// One thread's hold of the newest table, and of those that it let in: costs a load where nothing
// has changed.
class AccessView {
 public:
  // Whether judge() would read a newer table than it did last.
  bool is_stale(const AccessSource& source) const { return source.version() != seen_; }
  // As AccessTable::judge() of the newest table; the refusal is valid until the next call.
  const AccessRefusal* judge(const AccessSource& source, const Call& call);

 private:
  std::shared_ptr<const AccessTable> table_;
  AcceptedKeys accepted_;  // by table_
  uint64_t seen_ = 0;
};

}  // namespace serval
