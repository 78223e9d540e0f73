// Access control: rules that JavaScript compiles from keys and settings (ts/access/policy.ts
// defines its meaning), and how the listener's threads follow its changes. Hot path only for
// methods that need a credential; the listener's thread, unless noted. Keys are not stored: digests
// are compared.
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

// A header that carries a credential, and the digests that are accepted.
struct CredentialCheck {
  std::string header;   // lower case
  bool bearer = false;  // after "Bearer ", else the whole value
  std::vector<Digest> allowed;
  std::vector<Digest> others;  // known, but not valid for this call
  // of each allowed one, its number in the engine's CallerTable, 0 = none
  std::vector<uint32_t> callers = {};
};

struct AccessRefusal {
  int code = 0;
  std::string text;
};

// Why a call is refused, or whose it is.
struct AccessJudgement {
  const AccessRefusal* refusal = nullptr;  // null: it is allowed
  uint32_t caller = 0;                     // number in the CallerTable, 0 = no limits
};

// The access rules of one kind of call.
struct CallAccess {
  enum class OpenTo : uint8_t { All, Local, None };
  OpenTo open_to = OpenTo::None;
  std::vector<CredentialCheck> checks;
  // Responses to: no credential, an unknown one, one without permission for this call.
  AccessRefusal missing, unknown, forbidden;
};

// Immutable.
class AccessRules {
 public:
  // `of_method`: for each method, an index into `accesses`. Errors: invalid_argument: an index is
  // out of range; the errors of OpenSsl::find(), if digests have to be compared.
  static Result<std::shared_ptr<const AccessRules>> make(std::vector<CallAccess> accesses,
                                                         std::vector<uint32_t> of_method);
  // Judges a call that begins. A method that the rules do not know is refused. `accepted`:
  // credentials that these rules accepted before.
  AccessJudgement judge(const Call& call, AcceptedKeys& accepted) const;

 private:
  Digest digest_of(std::string_view text) const;

  std::vector<CallAccess> accesses_;
  std::vector<uint32_t> of_method_;
  const OpenSsl* openssl_ = nullptr;  // null unless there are digests
  AccessRefusal unlisted_{7, "this method is open to nobody"};
};

// The newest rules; none: every call is allowed. Any thread.
class AccessSource {
 public:
  void publish(std::shared_ptr<const AccessRules> rules);
  // The number of publish() calls.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  std::shared_ptr<const AccessRules> rules() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const AccessRules> rules_;  // guarded by mutex_
  std::atomic<uint64_t> version_{0};
};

// One thread's reference to the newest rules and to the credentials it accepted; costs one load if
// nothing has changed.
class AccessView {
 public:
  // Whether judge() would switch to newer rules.
  bool is_stale(const AccessSource& source) const { return source.version() != seen_; }
  // AccessRules::judge() of the newest rules; the refusal is valid until the next call.
  AccessJudgement judge(const AccessSource& source, const Call& call);

 private:
  std::shared_ptr<const AccessRules> rules_;
  AcceptedKeys accepted_;  // accepted by rules_
  uint64_t seen_ = 0;
};

}  // namespace serval
