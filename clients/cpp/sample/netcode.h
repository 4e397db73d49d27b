// The netcode of the samples: lines of text over TCP, with POSIX's sockets. The first line of a
// client is its player session.
#pragma once

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace netcode {

/// The side of the game server.
class Server {
 public:
  ~Server() { stop(); }

  /// Listens on a port, 0 for any, and returns the port, or 0 where it cannot.
  std::uint16_t listen(std::uint16_t port) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    const int yes = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    socklen_t size = sizeof address;
    auto* at = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, at, size) != 0 || ::listen(listener_, 16) != 0 || ::getsockname(listener_, at, &size) != 0) return 0;
    return ntohs(address.sin_port);
  }

  /// Handles what has come, after waiting for it for a while.
  void update(int milliseconds, const std::function<void(int, const std::string&)>& received, const std::function<void(int)>& left) {
    std::vector<pollfd> sockets{{listener_, POLLIN, 0}};
    for (const auto& one : open_) sockets.push_back({one.first, POLLIN, 0});
    if (::poll(sockets.data(), static_cast<nfds_t>(sockets.size()), milliseconds) <= 0) return;
    if (sockets[0].revents != 0) open_[::accept(listener_, nullptr, nullptr)];
    for (std::size_t i = 1; i < sockets.size(); i++) {
      if (sockets[i].revents != 0 && !read(sockets[i].fd, received)) {
        drop(sockets[i].fd);
        left(sockets[i].fd);
      }
    }
  }

  void send(int connection, const std::string& line) { ::send(connection, (line + "\n").data(), line.size() + 1, MSG_NOSIGNAL); }

  void drop(int connection) {
    if (open_.erase(connection) > 0) ::close(connection);
  }

  void stop() {
    while (!open_.empty()) drop(open_.begin()->first);
    if (listener_ >= 0) ::close(listener_);
    listener_ = -1;
  }

 private:
  // Reports whether the connection is still there.
  bool read(int connection, const std::function<void(int, const std::string&)>& received) {
    char part[1024];
    const ssize_t size = ::recv(connection, part, sizeof part, 0);
    if (size <= 0) return false;
    open_[connection].append(part, static_cast<std::size_t>(size));
    while (open_.count(connection) > 0) {
      std::string& text = open_[connection];
      const std::size_t end = text.find('\n');
      if (end == std::string::npos) break;
      const std::string line = text.substr(0, end);
      text.erase(0, end + 1);
      received(connection, line);
    }
    return true;
  }

  int listener_ = -1;
  std::map<int, std::string> open_;  // what each connection has sent of its next line
};

/// The side of a player.
class Client {
 public:
  ~Client() { leave(); }

  bool connect(const std::string& address, std::uint16_t port, const std::string& player_session) {
    leave();
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    if (::inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) return false;
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    const timeval patience{60, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return ::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 && send(player_session);
  }

  bool send(const std::string& line) { return ::send(socket_, (line + "\n").data(), line.size() + 1, MSG_NOSIGNAL) > 0; }

  /// Waits for a line; "" if the connection has ended.
  std::string receive() {
    std::string line;
    char c;
    while (::recv(socket_, &c, 1, 0) == 1) {
      if (c == '\n') return line;
      line += c;
    }
    return "";
  }

  void leave() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  int socket_ = -1;
};

}  // namespace netcode
