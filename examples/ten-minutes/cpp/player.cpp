// Higher or lower: a player. C++17 with libcurl and Muster's library.
#include <curl/curl.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "muster/client.h"

size_t append(char* data, size_t, size_t size, void* text) {
  static_cast<std::string*>(text)->append(data, size);
  return size;
}

// Sends a guess, and returns what the game server answers.
std::string guess(const muster::Connection& game, const std::string& number) {
  const std::string url = "http://" + game.host + ":" + std::to_string(game.port) + "/";
  std::string text;
  CURL* curl = curl_easy_init();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, (game.player_session_id + " " + number).c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &text);
  if (curl_easy_perform(curl) != CURLE_OK) text = "you are not connected any more";
  curl_easy_cleanup(curl);
  return text;
}

int main() {
  const char* url = std::getenv("MUSTER_ENDPOINT");
  muster::Client client(url ? url : "http://127.0.0.1:9080");
  muster::Result<muster::Connection> game;
  bool done = false;

  std::cout << "looking for somebody to play with ..." << std::endl;
  client.login_guest([&](muster::Result<std::string> me) {
    if (!me.ok()) {
      game.error = me.error;
      done = true;
      return;
    }
    muster::TicketRequest request;
    request.matchmaker = "exec";
    client.find_match(request, {}, [&](muster::Result<muster::Connection> found) {
      game = found;
      done = true;
    });
  });
  while (!done) {  // the frames of a game
    client.update();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!game.ok()) {
    std::cerr << game.error.code << " " << game.error.detail << std::endl;
    return 1;
  }

  std::cout << "guess a number from 1 to 100" << std::endl;
  for (std::string number; std::getline(std::cin, number);) {
    const std::string answer = guess(game.value, number);
    std::cout << answer << std::endl;
    if (answer.rfind("you ", 0) == 0) break;
  }
}
