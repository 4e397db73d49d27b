#include "sigv4.h"

#include <chrono>
#include <cstdint>
#include <ctime>

namespace muster {

namespace {

constexpr std::size_t block = 64;  // bytes

constexpr std::uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74,
    0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d,
    0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e,
    0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
    0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

std::uint32_t turn(std::uint32_t word, int by) { return word >> by | word << (32 - by); }

void digest_block(std::uint32_t (&state)[8], const unsigned char* bytes) {
  std::uint32_t words[64];
  for (int i = 0; i < 16; i++) {
    words[i] = 0;
    for (int n = 0; n < 4; n++) words[i] = words[i] << 8 | bytes[4 * i + n];
  }
  for (int i = 16; i < 64; i++) {
    const std::uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + words[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
  }
  std::uint32_t v[8];
  for (int i = 0; i < 8; i++) v[i] = state[i];
  for (int i = 0; i < 64; i++) {
    const std::uint32_t up = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + rounds[i] + words[i];
    const std::uint32_t down = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    for (int n = 7; n > 0; n--) v[n] = v[n - 1];
    v[4] += up;
    v[0] = up + down;
  }
  for (int i = 0; i < 8; i++) state[i] += v[i];
}

}  // namespace

std::string sha256(std::string text) {
  const std::uint64_t bits = static_cast<std::uint64_t>(text.size()) * 8;
  text += static_cast<char>(0x80);
  text.append((2 * block - 8 - text.size() % block) % block, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift);
  std::uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (std::size_t at = 0; at < text.size(); at += block) digest_block(state, reinterpret_cast<const unsigned char*>(text.data()) + at);
  std::string out;
  for (const std::uint32_t word : state) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(word >> shift);
  }
  return out;
}

std::string hmac_sha256(std::string key, const std::string& text) {
  if (key.size() > block) key = sha256(key);
  key.resize(block, '\0');
  std::string inner, outer;
  for (const char c : key) {
    inner += static_cast<char>(c ^ 0x36);
    outer += static_cast<char>(c ^ 0x5c);
  }
  return sha256(outer + sha256(inner + text));
}

std::string hex(const std::string& bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) out += {digits[static_cast<unsigned char>(c) >> 4], digits[static_cast<unsigned char>(c) & 15]};
  return out;
}

std::string compact(Time time) {
  // Json's form has all the digits: 2026-01-02T03:04:05Z.
  std::string out;
  for (const char c : Json(std::chrono::time_point_cast<std::chrono::seconds>(time)).text()) {
    if (c == '.') break;
    if (c != '-' && c != ':' && c != 'Z') out += c;
  }
  return out + 'Z';
}

std::string authorization(const SigningKey& key, const SignedRequest& request) {
  std::string lines, names;
  for (const auto& header : request.headers) {
    lines += header.first + ':' + header.second + '\n';
    names += (names.empty() ? "" : ";") + header.first;
  }
  const std::string canonical = request.method + '\n' + request.path + "\n\n" + lines + '\n' + names + '\n' + hex(sha256(request.body));
  const std::string day = request.date.substr(0, 8), last = "aws4_request";
  const std::string scope = day + '/' + key.region + '/' + key.service + '/' + last;
  std::string secret = "AWS4" + key.secret_key;
  for (const std::string& part : {day, key.region, key.service, last}) secret = hmac_sha256(secret, part);
  const std::string signature = hex(hmac_sha256(secret, "AWS4-HMAC-SHA256\n" + request.date + '\n' + scope + '\n' + hex(sha256(canonical))));
  return "AWS4-HMAC-SHA256 Credential=" + key.access_key + '/' + scope + ", SignedHeaders=" + names + ", Signature=" + signature;
}

}  // namespace muster
