#include "beacon.h"

#include <algorithm>
#include <cstring>
#include <random>

#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
#else
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

namespace muster {

namespace {

using Clock = std::chrono::steady_clock;

#ifdef _WIN32
using Socket = SOCKET;
constexpr Socket no_socket = INVALID_SOCKET;
void close_socket(Socket socket) { closesocket(socket); }
int wait_for(pollfd* sockets, std::size_t count, int ms) { return WSAPoll(sockets, static_cast<ULONG>(count), ms); }
bool set_nonblocking(Socket socket) {
  u_long on = 1;
  return ioctlsocket(socket, FIONBIO, &on) == 0;
}
#else
using Socket = int;
constexpr Socket no_socket = -1;
void close_socket(Socket socket) { close(socket); }
int wait_for(pollfd* sockets, std::size_t count, int ms) { return poll(sockets, count, ms); }
bool set_nonblocking(Socket socket) { return fcntl(socket, F_SETFL, O_NONBLOCK) == 0; }
#endif

constexpr std::size_t tag_size = 8;  // so that answers to somebody else do not count
constexpr auto last_answer = std::chrono::seconds(1);
constexpr std::size_t ask_size = 64, datagram_size = 300;  // a beacon never answers with more than it was sent

// Opens a socket to HOST:PORT.
Socket open_to(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return no_socket;
  std::string host = address.substr(0, colon);
  if (!host.empty() && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found) != 0) return no_socket;
  Socket out = no_socket;
  for (const addrinfo* one = found; one != nullptr && out == no_socket; one = one->ai_next) {
    const Socket opened = socket(one->ai_family, one->ai_socktype, one->ai_protocol);
    if (opened == no_socket) continue;
    if (set_nonblocking(opened) && connect(opened, one->ai_addr, static_cast<int>(one->ai_addrlen)) == 0) {
      out = opened;
    } else {
      close_socket(opened);
    }
  }
  freeaddrinfo(found);
  return out;
}

// A beacon that is measured.
struct Beacon {
  Socket socket = no_socket;
  std::vector<Clock::time_point> sent;
  std::vector<bool> heard;
  std::vector<double> trips;  // without the first, which only opens the way

  void hear(const char* tag) {
    char answer[64];
    for (;;) {
      const auto size = recv(socket, answer, sizeof answer, 0);
      if (size < 0) return;
      const auto now = Clock::now();
      if (static_cast<std::size_t>(size) != tag_size + 1 || std::memcmp(answer, tag, tag_size) != 0) continue;
      const std::size_t number = static_cast<unsigned char>(answer[tag_size]);
      if (number >= sent.size() || heard[number]) continue;
      heard[number] = true;
      if (number > 0) trips.push_back(std::chrono::duration<double, std::milli>(now - sent[number]).count());
    }
  }
};

// Has the beacons that were measured sign what they measure themselves. Each is asked for the time,
// which it signs, and then, with that, for a receipt.
class Receipts {
 public:
  Receipts(std::vector<Beacon>& beacons, std::vector<Trip>& trips) : nonce_(random_nonce()) {
    for (std::size_t i = 0; i < beacons.size(); i++) {
      if (trips[i].ms >= 0) asked_.push_back({beacons[i].socket, false, &trips[i].receipt});
    }
  }

  void get(Clock::time_point end, const std::atomic<bool>& stop) {
    for (const Asked& one : asked_) say(one.socket, "GLB1" + nonce_, ask_size);
    end = std::min<Clock::time_point>(end, Clock::now() + last_answer);
    while (!asked_.empty() && !stop) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
      if (left <= 0) return;
      std::vector<pollfd> sockets;
      for (const Asked& one : asked_) sockets.push_back({one.socket, POLLIN, 0});
      wait_for(sockets.data(), sockets.size(), static_cast<int>(std::min<std::int64_t>(left, 50)));
      asked_.erase(std::remove_if(asked_.begin(), asked_.end(), [this](Asked& one) { return hear(one); }), asked_.end());
    }
  }

 private:
  struct Asked {
    Socket socket;
    bool has_time;
    std::string* receipt;
  };

  static void say(Socket socket, std::string text, std::size_t size) {
    text.resize(size);
    send(socket, text.data(), static_cast<int>(text.size()), 0);
  }

  // Reads what a beacon has answered, and reports whether that is all.
  bool hear(Asked& one) {
    char answer[datagram_size];
    for (;;) {
      const auto size = recv(one.socket, answer, sizeof answer, 0);
      if (size < 0) return false;
      const std::string text(answer, static_cast<std::size_t>(size));
      const std::string begin = (one.has_time ? "GLB4" : "GLB2") + nonce_;
      if (text.size() <= begin.size() || text.compare(0, begin.size(), begin) != 0) continue;
      if (one.has_time) {
        *one.receipt = text.substr(begin.size());
        return true;
      }
      one.has_time = true;
      say(one.socket, "GLB3" + text.substr(4), datagram_size);
    }
  }

  const std::string nonce_;
  std::vector<Asked> asked_;
};

}  // namespace

std::string random_nonce() {
  std::random_device random;
  std::string out(tag_size, '\0');
  for (char& one : out) one = static_cast<char>(random());
  return out;
}

std::vector<Trip> measure_by_datagrams(const Datagrams& what, const std::atomic<bool>& stop) {
  const auto begun = Clock::now();
  const auto end = begun + what.deadline;
  std::string datagram = random_nonce() + '\0';
  std::vector<Beacon> beacons(what.to.size());
  for (std::size_t i = 0; i < beacons.size(); i++) {
    beacons[i].socket = open_to(what.to[i]);
    beacons[i].heard.resize(static_cast<std::size_t>(what.samples));
  }
  auto next = Clock::now();
  int round = 0;
  while (!stop) {
    const auto now = Clock::now();
    if (round < what.samples && now >= next) {
      datagram[tag_size] = static_cast<char>(round++);
      next = now + (round < what.samples ? what.interval : std::chrono::milliseconds(last_answer));
      for (Beacon& one : beacons) {
        one.sent.push_back(Clock::now());
        if (one.socket != no_socket) send(one.socket, datagram.data(), static_cast<int>(datagram.size()), 0);
      }
    }
    bool complete = round == what.samples;
    std::vector<pollfd> sockets;
    for (const Beacon& one : beacons) {
      if (one.socket == no_socket) continue;
      sockets.push_back({one.socket, POLLIN, 0});
      complete = complete && std::all_of(one.heard.begin(), one.heard.end(), [](bool yes) { return yes; });
    }
    if (complete || now >= end || (round == what.samples && now >= next) || sockets.empty()) break;
    const auto until = std::chrono::duration_cast<std::chrono::milliseconds>(std::min(next, end) - now).count();
    wait_for(sockets.data(), sockets.size(), static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(until, 50))));
    for (Beacon& one : beacons) {
      if (one.socket != no_socket) one.hear(datagram.data());
    }
  }
  std::vector<Trip> trips(beacons.size());
  for (std::size_t i = 0; i < beacons.size(); i++) {
    std::vector<double>& all = beacons[i].trips;
    std::sort(all.begin(), all.end());
    if (static_cast<int>(all.size()) * 2 > what.samples - 1) trips[i].ms = all[all.size() / 2];
  }
  if (what.receipts) Receipts(beacons, trips).get(end, stop);
  for (const Beacon& one : beacons) {
    if (one.socket != no_socket) close_socket(one.socket);
  }
  return trips;
}

}  // namespace muster
