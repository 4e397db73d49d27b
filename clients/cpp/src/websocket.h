#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "loop.h"

namespace muster {

/// A WebSocket with text messages (RFC 6455), used in the network thread only. After ended has
/// been called, or close, nothing is called any more.
class WebSocket {
 public:
  struct Handler {
    std::function<void()> opened;
    std::function<void(std::string)> received;
    std::function<void(int)> ended;  ///< with the code with which the server closed it, the HTTP status with which it refused it, or 0
  };

  /// Opens a WebSocket; url is http or https. The subprotocol may be empty, for none.
  WebSocket(Loop& loop, const std::string& url, const std::string& subprotocol, Handler handler);
  ~WebSocket();
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;

  void send(const std::string& text);
  void close();

 private:
  void connected(CURL* connection);
  void readable();
  bool read_head();
  bool read_frame();
  bool take_frame(int opcode, bool final, const std::string& payload);
  void write_frame(int opcode, const std::string& payload);
  void flush();
  void end(int code);

  Loop& loop_;
  const std::string url_, subprotocol_;
  Handler handler_;
  Loop::Transfer connecting_ = 0;
  Loop::Timer flushing_ = 0;
  CURL* connection_ = nullptr;
  std::mt19937 random_{std::random_device{}()};
  std::string key_, in_, out_, message_;
  bool open_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// The answer to a key that a server proves to be a WebSocket's with; for tests.
std::string websocket_accept(const std::string& key);

}  // namespace muster
