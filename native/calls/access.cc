// Implements the access rules and their per-thread view. Hot path only for methods that need a
// credential.
#include "calls/access.h"

#include <algorithm>
#include <utility>

#include "transport/socket/openssl.h"

namespace serval {

namespace {

constexpr std::string_view kBearer = "bearer";

// The text after "Bearer" and blanks; "" if it contains blanks or there is no such scheme.
std::string_view bearer_token(std::string_view value) {
  if (value.size() <= kBearer.size()) return {};
  for (size_t i = 0; i < kBearer.size(); ++i) {
    const char letter = value[i];
    const char lower = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
    if (lower != kBearer[i]) return {};
  }
  const size_t start = value.find_first_not_of(' ', kBearer.size());
  if (start == kBearer.size() || start == std::string_view::npos) return {};
  const std::string_view token = value.substr(start);
  const bool plain =
      std::all_of(token.begin(), token.end(), [](char one) { return one > ' ' && one <= '~'; });
  return plain ? token : std::string_view();
}

// The place of the digest, counted from 1; 0 = it is not there. Compares all bytes of all digests,
// so that the time says nothing about which one matches.
size_t place_of(const Digest& digest, const std::vector<Digest>& digests) {
  size_t place = 0;
  for (size_t at = 0; at < digests.size(); ++at) {
    unsigned different = 0;
    for (size_t i = 0; i < digest.size(); ++i) {
      different |= static_cast<unsigned>(digest[i] ^ digests[at][i]);
    }
    place |= different == 0 ? at + 1 : 0;
  }
  return place;
}

std::string_view header_of(const Call& call, std::string_view name) {
  for (const MetadataEntry& entry : call.metadata()) {
    if (entry.name == name) return entry.value;
  }
  return {};
}

// A proxy on this machine is local, its clients are not. ts/access/policy.ts has the same names.
bool came_by_proxy(const Call& call) {
  constexpr std::string_view kNames[] = {"forwarded", "x-forwarded-for", "x-real-ip", "via"};
  for (const std::string_view name : kNames) {
    if (!header_of(call, name).empty()) return true;
  }
  return false;
}

}  // namespace

Result<std::shared_ptr<const AccessRules>> AccessRules::make(std::vector<CallAccess> accesses,
                                                             std::vector<uint32_t> of_method) {
  for (const uint32_t index : of_method) {
    if (index >= accesses.size()) return invalid_argument("gRPC access: no rule of that index");
  }
  auto rules = std::make_shared<AccessRules>();
  const bool has_digests = std::any_of(accesses.begin(), accesses.end(),
                                       [](const CallAccess& one) { return !one.checks.empty(); });
  if (has_digests) {
    const Result<const OpenSsl*> found = OpenSsl::find();
    if (!found.ok()) {
      return make_error(found.error().code, "gRPC " + found.error().message);
    }
    rules->openssl_ = found.value();
  }
  rules->accesses_ = std::move(accesses);
  rules->of_method_ = std::move(of_method);
  return std::shared_ptr<const AccessRules>(std::move(rules));
}

Digest AccessRules::digest_of(std::string_view text) const {
  Digest digest{};
  openssl_->SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

AccessJudgement AccessRules::judge(const Call& call, AcceptedKeys& accepted) const {
  if (call.method() >= of_method_.size()) return {&unlisted_, 0};
  const uint32_t index = of_method_[call.method()];
  const CallAccess& access = accesses_[index];
  if (access.open_to == CallAccess::OpenTo::All) return {};
  if (access.open_to == CallAccess::OpenTo::Local && call.is_local() && !came_by_proxy(call)) {
    return {};
  }
  const AccessRefusal* outcome = &access.missing;
  uint64_t place = uint64_t{index} << 32;
  for (const CredentialCheck& check : access.checks) {
    const uint64_t here = place++;
    const std::string_view value = header_of(call, check.header);
    if (value.empty()) continue;
    if (const std::optional<uint32_t> caller = accepted.find(here, value); caller.has_value()) {
      return {nullptr, *caller};
    }
    if (outcome == &access.missing) outcome = &access.unknown;
    const std::string_view credential = check.bearer ? bearer_token(value) : value;
    if (credential.empty()) continue;
    const Digest digest = digest_of(credential);
    const size_t may = place_of(digest, check.allowed);
    const bool known = place_of(digest, check.others) != 0;
    if (may != 0) {
      const uint32_t caller = may <= check.callers.size() ? check.callers[may - 1] : 0;
      accepted.add(here, value, caller);
      return {nullptr, caller};
    }
    if (known) outcome = &access.forbidden;
  }
  return {outcome, 0};
}

void AccessSource::publish(std::shared_ptr<const AccessRules> rules) {
  std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
  version_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const AccessRules> AccessSource::rules() const {
  std::lock_guard lock(mutex_);
  return rules_;
}

AccessJudgement AccessView::judge(const AccessSource& source, const Call& call) {
  const uint64_t version = source.version();
  if (version != seen_) {
    seen_ = version;
    rules_ = source.rules();
    accepted_.clear();
  }
  return rules_ == nullptr ? AccessJudgement() : rules_->judge(call, accepted_);
}

}  // namespace serval
