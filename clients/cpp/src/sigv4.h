#pragma once

#include <string>
#include <utility>
#include <vector>

#include "muster/json.h"

namespace muster {

/// SHA-256 of a text (FIPS 180-4): 32 bytes.
std::string sha256(std::string text);
/// HMAC of a text with SHA-256 (RFC 2104): 32 bytes.
std::string hmac_sha256(std::string key, const std::string& text);
/// Bytes as hexadecimal digits in lower case.
std::string hex(const std::string& bytes);

/// A time as AWS's signatures have it: 20260102T030405Z.
std::string compact(Time time);

/// An access key and what it is used for.
struct SigningKey {
  std::string region, service, access_key, secret_key;
};

/// A request without a query, to be signed. headers are those that count, in the order of their
/// names, which are in lower case; x-amz-date is among them.
struct SignedRequest {
  std::string method, path, body, date;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// The value of the header Authorization (AWS Signature Version 4).
std::string authorization(const SigningKey& key, const SignedRequest& request);

}  // namespace muster
