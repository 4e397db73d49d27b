// Tests of what the stories cannot reach: JSON, the handshake of WebSockets, the file store, and
// the calls by O3DE's names where no server is.

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "../src/account.h"
#include "../src/caller.h"
#include "../src/websocket.h"
#include "muster/o3de.h"

namespace {

int failed = 0;

void check(bool holds, const char* what, const std::string& seen = "") {
  std::printf("%s - %s %s\n", holds ? "ok" : "not ok", what, holds ? "" : seen.c_str());
  if (!holds) failed++;
}

using muster::Json;

Json any(std::mt19937& random, int depth) {
  const auto text = [&random] {
    std::string out;
    for (unsigned n = random() % 8; n > 0; n--) out += static_cast<char>(random() % 127 + 1);
    return out;
  };
  switch (random() % (depth > 4 ? 5 : 7)) {
    case 0: return Json();
    case 1: return Json(random() % 2 == 0);
    case 2: return Json(static_cast<std::int64_t>(random()) - 2000000000);
    case 3: return Json(static_cast<double>(random()) / 7 * (random() % 2 == 0 ? 1e-9 : 1e9));
    case 4: return Json(text());
    case 5: {
      Json out = Json::list();
      for (unsigned n = random() % 4; n > 0; n--) out.add(any(random, depth + 1));
      return out;
    }
  }
  Json out = Json::object();
  for (unsigned n = random() % 4; n > 0; n--) out.set(text(), any(random, depth + 1));
  return out;
}

void json() {
  std::mt19937 random(1);
  bool same = true;
  for (int i = 0; i < 5000; i++) {
    const std::string text = any(random, 0).write();
    Json read;
    same = same && Json::parse(text, read) && read.write() == text;
  }
  check(same, "JSON is read as it was written");
  const std::string good = "{\"a\":[1,-2.5e3,true,null,\"\\u00e9\\n\\ud83d\\ude00\"],\"b\":{\"c\":\"d\"}}";
  for (int i = 0; i < 20000; i++) {
    std::string text = good;
    for (unsigned n = random() % 3 + 1; n > 0; n--) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text.erase(at, 1);
      } else {
        text[at] = static_cast<char>(random());
      }
    }
    Json read;
    if (Json::parse(text, read)) read.write();
  }
  bool refused = true;
  for (const char* bad : {"", "01", "1.", "-", "+1", "1 2", "{,}", "[1,]", "\"\t\"", "nul", "\"\\x\"", "\"\\ud83", "{\"a\" 1}"}) {
    Json read;
    refused = refused && !Json::parse(bad, read);
  }
  Json deep;
  check(refused && !Json::parse(std::string(100000, '['), deep), "damaged JSON is refused");
  Json smile;
  check(Json::parse("\"\\ud83d\\ude00\"", smile) && smile.text() == "\xf0\x9f\x98\x80", "pairs are one character", smile.text());
  const muster::Time time = Json("2030-01-02T04:04:05.123456789+01:00").time();
  check(Json(time).text() == "2030-01-02T03:04:05.123456Z", "times", Json(time).text());
  check(Json("2030-13-02T04:04:05Z").time() == muster::Time(), "a month that is none");
}

void parts() {
  check(muster::websocket_accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "the handshake of RFC 6455");
  check(muster::escape("a/b?c#d e") == "a%2Fb%3Fc%23d%20e", "paths are escaped", muster::escape("a/b?c#d e"));
  muster::Login login;
  check(!muster::Login::parse("{half", login) && muster::Login::parse("", login), "a damaged login is an error");
  login.player_id = "p";
  login.refresh = "r";
  muster::Login again;
  check(muster::Login::parse(login.write(), again) && again.player_id == "p" && again.refresh == "r", "a login is read as it was written");
}

void store(const std::string& path) {
  muster::FileTokenStore store(path);
  std::string text = "x";
  check(store.load(text) && text.empty(), "a store without a file has no login");
  check(store.save("{}") && store.save("{\"a\":1}") && store.load(text) && text == "{\"a\":1}", "a store replaces its file", text);
  check(!muster::FileTokenStore("/nowhere/at/all").save("{}"), "a store without a folder says so");
  std::remove(path.c_str());
}

struct Netcode : muster::o3de::ISessionHandlingClientRequests {
  bool RequestPlayerJoinSession(const muster::o3de::SessionConnectionConfig&) override { return true; }
  void RequestPlayerLeaveSession() override { left++; }
  int left = 0;
};

void o3de() {
  muster::Client client("ftp://server");
  Netcode netcode;
  muster::o3de::SessionSystem system(client, netcode);
  check(system.CreateSession({}).empty() && system.last_error().kind == muster::Error::Kind::usage, "a URL that is none", system.last_error().detail);
  check(!system.JoinSession({"s", "another", ""}), "another player does not join");
  muster::o3de::SearchSessionsRequest search;
  search.m_filterExpression = "hasAvailablePlayerSessions=true";
  check(system.SearchSessions(search).m_sessionConfigs.empty() && system.last_error().detail.find("m_filterExpression") == 0, "a filter is refused");
  system.LeaveSession();
  check(netcode.left == 1, "leaving is the netcode's");
}

}  // namespace

int main(int count, char** arguments) {
  json();
  parts();
  store(count > 1 ? arguments[1] : "login.json");
  o3de();
  return failed == 0 ? 0 : 1;
}
