// Higher or lower: the game server. C++17 with libcurl, for Linux and other systems with POSIX's
// sockets; Muster's library reads JSON.
#include <curl/curl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "muster/json.h"

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

const int secret = std::uniform_int_distribution<>(1, 100)(*new std::random_device);
std::set<std::string> players;
std::string winner;
Clock::time_point last_guess;

size_t append(char* data, size_t, size_t size, void* text) {
  static_cast<std::string*>(text)->append(data, size);
  return size;
}

// Tells Muster something, or asks it, and reports whether Muster agrees.
bool say(const char* method, const std::string& path, const std::string& body = "{}", muster::Json* answer = nullptr) {
  static CURL* const curl = curl_easy_init();
  const std::string token = std::string("Authorization: Bearer ") + std::getenv("MUSTER_GAME_TOKEN");
  curl_slist* headers = curl_slist_append(nullptr, token.c_str());
  std::string text;
  curl_easy_reset(curl);
  curl_easy_setopt(curl, CURLOPT_URL, (std::getenv("MUSTER_GAME_URL") + path).c_str());
  if (method == std::string("POST")) curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, body.c_str());
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &text);
  long status = 0;
  if (curl_easy_perform(curl) == CURLE_OK) curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  curl_slist_free_all(headers);
  if (status == 0 || status == 503) {  // nobody answers for a moment, as when the agent restarts: nothing is done twice
    std::this_thread::sleep_for(1s);
    return say(method, path, body, answer);
  }
  if (answer) muster::Json::parse(text, *answer);
  return status >= 200 && status < 300;
}

// Answers a guess. The player is the player session that Muster gave to the client.
std::string guess(const std::string& player, int number) {
  if (!players.count(player)) {
    const std::string body = muster::Json::object().set("player_session_id", muster::Json(player)).write();
    if (!say("POST", "/players", body)) return "you are not in this game";
    players.insert(player);
  }
  last_guess = Clock::now();
  if (winner.empty() && number == secret) winner = player;
  if (winner.empty()) return number < secret ? "higher" : "lower";
  say("DELETE", "/players/" + player);  // the game is over for this player
  return player == winner ? "you won" : "you lost, it was " + std::to_string(secret);
}

// Reads a request, whose body is a player session, a space and a number, and answers it.
void answer(int connection) {
  timeval patience{1, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string request, player;
  char part[4096];
  size_t body = std::string::npos, length = 0;
  while (body == std::string::npos || request.size() < body + length) {
    const ssize_t n = recv(connection, part, sizeof part, 0);
    if (n <= 0) break;
    request.append(part, static_cast<size_t>(n));
    body = request.find("\r\n\r\n");
    if (body == std::string::npos) continue;
    body += 4;
    for (const char* name : {"Content-Length:", "content-length:"}) {
      const size_t at = request.find(name);
      if (at < body) length = std::strtoul(request.c_str() + at + 15, nullptr, 10);
    }
  }
  int number = 0;
  std::istringstream words(body == std::string::npos ? "" : request.substr(body));
  const std::string text = words >> player >> number ? guess(player, number) : "send your player session and a number";
  const std::string all = "HTTP/1.1 200 OK\r\nConnection: close\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
  send(connection, all.data(), all.size(), 0);
  close(connection);
}

// Reports whether everybody knows who has won, or nobody plays any more.
bool over() {
  muster::Json all;
  bool done = say("GET", "/players", "", &all);
  for (const muster::Json& player : all["players"].items()) {
    done = done && (player["state"].text() == "completed" || player["state"].text() == "timed_out");
  }
  return (!winner.empty() && done) || Clock::now() - last_guess > 60s;
}

int main() {
  std::signal(SIGPIPE, SIG_IGN);  // a player may be gone
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(std::getenv("GAME_PORT"))));
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener, 16) != 0) return 1;
  say("POST", "/ready");  // Muster may now start a game here
  std::string state;
  Clock::time_point asked = Clock::now();
  while (state != "ending" && !(state == "active" && over())) {
    while (Clock::now() - asked < 1s) {
      pollfd waiting{listener, POLLIN, 0};
      if (poll(&waiting, 1, 100) > 0) answer(accept(listener, nullptr, nullptr));
    }
    asked = Clock::now();
    muster::Json now;
    say("GET", "/session", "", &now);
    state = now["state"].text();
    if (state == "activating") {  // it has started one: let the players in
      say("POST", "/session/activate");
      last_guess = Clock::now();
    }
  }
  say("POST", "/end");
}
