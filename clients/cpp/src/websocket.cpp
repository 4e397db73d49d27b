#include "websocket.h"

#include <cstdlib>
#include <vector>

namespace muster {

namespace {

constexpr std::size_t most_message = 1 << 20, most_head = 16 << 10;
constexpr int continuation = 0, text_frame = 1, close_frame = 8, ping_frame = 9, pong_frame = 10;

std::string base64(const std::string& bytes) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t n = 0; n < 3; n++) three = three << 8 | (i + n < bytes.size() ? static_cast<unsigned char>(bytes[i + n]) : 0);
    for (std::size_t n = 0; n < 4; n++) out += i + n > bytes.size() ? '=' : digits[three >> (18 - 6 * n) & 63];
  }
  return out;
}

std::uint32_t rotate(std::uint32_t word, int by) { return word << by | word >> (32 - by); }

// SHA-1 (RFC 3174), which the handshake is defined with. It protects nothing here.
std::string sha1(std::string text) {
  const std::uint64_t bits = static_cast<std::uint64_t>(text.size()) * 8;
  text += static_cast<char>(0x80);
  while (text.size() % 64 != 56) text += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift);
  std::uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (std::size_t at = 0; at < text.size(); at += 64) {
    std::uint32_t words[80];
    for (int i = 0; i < 16; i++) {
      words[i] = 0;
      for (int n = 0; n < 4; n++) words[i] = words[i] << 8 | static_cast<unsigned char>(text[at + static_cast<std::size_t>(4 * i + n)]);
    }
    for (int i = 16; i < 80; i++) words[i] = rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    std::uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 80; i++) {
      std::uint32_t f, k;
      if (i < 20) {
        f = (b & c) | (~b & d), k = 0x5a827999;
      } else if (i < 40) {
        f = b ^ c ^ d, k = 0x6ed9eba1;
      } else if (i < 60) {
        f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
      } else {
        f = b ^ c ^ d, k = 0xca62c1d6;
      }
      const std::uint32_t next = rotate(a, 5) + f + e + k + words[i];
      e = d, d = c, c = rotate(b, 30), b = a, a = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
  }
  std::string out;
  for (const std::uint32_t word : state) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(word >> shift);
  }
  return out;
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return text;
}

// The parts of an http or https URL.
struct Address {
  std::string host, path;
};

Address address_of(const std::string& url) {
  const std::size_t host = url.find("://") + 3;
  const std::size_t path = url.find('/', host);
  if (path == std::string::npos) return {url.substr(host), "/"};
  return {url.substr(host, path - host), url.substr(path)};
}

}  // namespace

std::string websocket_accept(const std::string& key) { return base64(sha1(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")); }

WebSocket::WebSocket(Loop& loop, const std::string& url, const std::string& subprotocol, Handler handler)
    : loop_(loop), url_(url), subprotocol_(subprotocol), handler_(std::move(handler)) {
  std::string bytes;
  for (int i = 0; i < 16; i++) bytes += static_cast<char>(random_());
  key_ = base64(bytes);
  connecting_ = loop_.connect(url_, [this](CURL* connection, const std::string&) {
    connecting_ = 0;
    if (connection == nullptr) {
      end(0);
    } else {
      connected(connection);
    }
  });
}

WebSocket::~WebSocket() {
  *alive_ = false;
  close();
}

void WebSocket::close() {
  if (connecting_ != 0) loop_.abort(connecting_);
  if (flushing_ != 0) loop_.cancel(flushing_);
  connecting_ = flushing_ = 0;
  if (connection_ == nullptr) return;
  loop_.release(connection_);
  connection_ = nullptr;
}

void WebSocket::end(int code) {
  close();
  const auto ended = std::move(handler_.ended);
  handler_ = Handler();
  if (ended) ended(code);
}

void WebSocket::connected(CURL* connection) {
  connection_ = connection;
  const Address at = address_of(url_);
  out_ = "GET " + at.path + " HTTP/1.1\r\nHost: " + at.host + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key_ +
         (subprotocol_.empty() ? "" : "\r\nSec-WebSocket-Protocol: " + subprotocol_) + "\r\n\r\n";
  loop_.watch(connection_, [this] { readable(); });
  flush();
}

void WebSocket::flush() {
  flushing_ = 0;
  while (!out_.empty() && connection_ != nullptr) {
    std::size_t sent = 0;
    const CURLcode code = curl_easy_send(connection_, out_.data(), out_.size(), &sent);
    if (code == CURLE_AGAIN) {  // a client sends little, so that this is rare
      flushing_ = loop_.after(std::chrono::milliseconds(10), [this] { flush(); });
      return;
    }
    if (code != CURLE_OK) return end(0);
    out_.erase(0, sent);
  }
}

void WebSocket::readable() {
  char buffer[16 << 10];
  const std::shared_ptr<bool> alive = alive_;
  while (connection_ != nullptr) {
    std::size_t count = 0;
    const CURLcode code = curl_easy_recv(connection_, buffer, sizeof buffer, &count);
    if (code == CURLE_AGAIN) return;
    if (code != CURLE_OK || count == 0) return end(0);
    in_.append(buffer, count);
    if (!open_ && !read_head()) return;
    while (open_ && read_frame()) {
      if (!*alive || connection_ == nullptr) return;
    }
    if (!*alive) return;
  }
}

// read_head reports whether the answer to the handshake is complete and right.
bool WebSocket::read_head() {
  const std::size_t size = in_.find("\r\n\r\n");
  if (size == std::string::npos) {
    if (in_.size() > most_head) end(0);
    return false;
  }
  const std::string head = in_.substr(0, size + 2);
  in_.erase(0, size + 4);
  const std::string low = lower(head);
  const std::size_t at = low.find("\r\nsec-websocket-accept:");
  const std::string want = websocket_accept(key_);
  if (head.compare(0, 12, "HTTP/1.1 101") != 0 || at == std::string::npos || head.substr(at, head.find("\r\n", at + 2) - at).find(want) == std::string::npos) {
    const bool is_refusal = head.compare(0, 9, "HTTP/1.1 ") == 0 && head.compare(9, 3, "101") != 0;
    end(is_refusal ? static_cast<int>(std::strtol(head.c_str() + 9, nullptr, 10)) : 0);
    return false;
  }
  open_ = true;
  const std::shared_ptr<bool> alive = alive_;
  handler_.opened();
  return *alive && connection_ != nullptr;
}

// read_frame handles the first frame that has been received, if it is complete.
bool WebSocket::read_frame() {
  if (in_.size() < 2) return false;
  const auto byte = [this](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(in_[i])); };
  std::uint64_t length = byte(1) & 0x7f;
  std::size_t head = 2;
  if (length >= 126) {
    const std::size_t more = length == 126 ? 2 : 8;
    if (in_.size() < head + more) return false;
    length = 0;
    for (std::size_t i = 0; i < more; i++) length = length << 8 | byte(head + i);
    head += more;
  }
  if (length > most_message || (byte(1) & 0x80) != 0) {
    end(0);
    return false;
  }
  if (in_.size() < head + length) return false;
  const int opcode = static_cast<int>(byte(0) & 0x0f);
  const bool final = (byte(0) & 0x80) != 0;
  const std::string payload = in_.substr(head, static_cast<std::size_t>(length));
  in_.erase(0, head + static_cast<std::size_t>(length));
  return take_frame(opcode, final, payload);
}

bool WebSocket::take_frame(int opcode, bool final, const std::string& payload) {
  const std::shared_ptr<bool> alive = alive_;
  switch (opcode) {
    case ping_frame: write_frame(pong_frame, payload); break;
    case pong_frame: break;
    case close_frame: {
      const int code = payload.size() < 2 ? 1005 : static_cast<unsigned char>(payload[0]) << 8 | static_cast<unsigned char>(payload[1]);
      write_frame(close_frame, payload.substr(0, 2));
      if (*alive && connection_ != nullptr) end(code);
      return false;
    }
    case text_frame:
    case continuation:
      message_ += payload;
      if (message_.size() > most_message) {
        end(0);
        return false;
      }
      if (final) {
        std::string whole;
        whole.swap(message_);
        handler_.received(std::move(whole));
      }
      break;
    default: end(0); return false;
  }
  return *alive && connection_ != nullptr;
}

void WebSocket::send(const std::string& text) {
  if (open_ && connection_ != nullptr) write_frame(text_frame, text);
}

void WebSocket::write_frame(int opcode, const std::string& payload) {
  std::string frame(1, static_cast<char>(0x80 | opcode));
  if (payload.size() < 126) {
    frame += static_cast<char>(0x80 | payload.size());
  } else {
    const bool is_long = payload.size() > 0xffff;
    frame += static_cast<char>(0x80 | (is_long ? 127 : 126));
    for (int shift = is_long ? 56 : 8; shift >= 0; shift -= 8) frame += static_cast<char>(static_cast<std::uint64_t>(payload.size()) >> shift);
  }
  char mask[4];
  for (char& one : mask) one = static_cast<char>(random_());
  frame.append(mask, sizeof mask);
  for (std::size_t i = 0; i < payload.size(); i++) frame += static_cast<char>(payload[i] ^ mask[i % 4]);
  out_ += frame;
  if (flushing_ == 0) flush();
}

}  // namespace muster
