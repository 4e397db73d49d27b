// Tests of what the stories cannot reach: JSON, the handshake of WebSockets, the file store,
// signatures, attributes, and the calls by O3DE's names where no server is.

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "../src/account.h"
#include "../src/attribute.h"
#include "../src/caller.h"
#include "../src/sigv4.h"
#include "../src/websocket.h"
#include "muster/o3de.h"
#include "muster/o3de_server.h"

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

// A system over the player API without a server: what is wrong is said before anything is sent.
void o3de_player() {
  muster::Client client("ftp://server");
  Netcode netcode;
  muster::o3de::SessionSystem system(client, netcode);
  check(system.CreateSession(muster::o3de::AWSGameLiftCreateSessionOnQueueRequest()).empty() && system.last_error().kind == muster::Error::Kind::usage, "a URL that is none", system.last_error().detail);
  check(system.CreateSession(muster::o3de::AWSGameLiftCreateSessionRequest()).empty() && system.last_error().detail.find("m_aliasId, m_fleetId") == 0, "players have no fleets");
  check(!system.JoinSession({"s", "another", ""}), "another player does not join");
  check(system.ConfigureGameLiftClient("us-east-1"), "the player API needs no configuration");
  system.LeaveSession();
  check(netcode.left == 1 && !system.last_error(), "leaving is the netcode's, and clears the last error");
}

// A system with keys, likewise.
void o3de_keys() {
  using namespace muster::o3de;
  Netcode netcode;
  int ended = 0;
  Notifications notify;
  notify.OnCreateSessionAsyncComplete = [&](const std::string& id) { ended += id.empty(); };
  notify.OnSearchSessionsAsyncComplete = [&](const SearchSessionsResponse& found) { ended += found.m_sessionConfigs.empty(); };
  notify.OnJoinSessionAsyncComplete = [&](bool joined) { ended += !joined; };
  notify.OnStartMatchmakingAsyncComplete = [&](const std::string& ticket) { ended += ticket.empty(); };
  notify.OnStopMatchmakingAsyncComplete = notify.OnAcceptMatchAsyncComplete = notify.OnLeaveSessionAsyncComplete = notify.OnMatchFailure = [&] { ended++; };
  SessionSystem system(netcode, notify);
  const auto all = [&] {
    system.CreateSessionAsync(AWSGameLiftCreateSessionRequest());
    system.CreateSessionAsync(AWSGameLiftCreateSessionOnQueueRequest());
    system.SearchSessionsAsync({});
    system.JoinSessionAsync({});
    system.LeaveSessionAsync();
    system.StartMatchmakingAsync({});
    system.StopMatchmakingAsync({});
    system.AcceptMatchAsync({});
    system.StartPolling("", "");
  };
  all();
  check(ended == 9 && system.last_error().detail == "call ConfigureGameLiftClient first", "without a configuration each call ends, once", std::to_string(ended));
  muster::gamelift::Options options;
  check(!system.ConfigureGameLiftClient(options), "a configuration needs a region or an endpoint");
  options.endpoint = "ftp://server";
  check(system.ConfigureGameLiftClient(options) && !system.last_error(), "a configuration");
  system.CreateSessionAsync(AWSGameLiftCreateSessionRequest());
  check(ended == 10 && system.last_error().detail.find("m_aliasId") == 0, "a request without a fleet", system.last_error().detail);
  StartMatchmakingRequest start;
  start.m_configurationName = "duel";
  start.m_players.push_back({"p", "", {}, {{"skill", "{\"N\":\"x\"}"}}});
  check(system.StartMatchmaking(start).empty() && system.last_error().detail.find("attribute skill") == 0, "an attribute that is none is named", system.last_error().detail);
  const std::string plain = SessionSystem::CreatePlayerId(false, false), full = SessionSystem::CreatePlayerId(true, true);
  check(plain.size() == 32 && full.size() == 38 && full[0] == '{' && full[9] == '-' && full[15] == '4', "player ids", full);
}

void signatures() {
  check(muster::hex(muster::sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "SHA-256 of FIPS 180-4");
  check(muster::hex(muster::sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", "SHA-256 of two blocks");
  check(muster::hex(muster::hmac_sha256("Jefe", "what do ya want for nothing?")) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", "HMAC of RFC 4231");
  check(muster::hex(muster::hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")) == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", "HMAC with a long key");
  check(muster::compact(Json("2015-08-30T12:36:00.9Z").time()) == "20150830T123600Z", "times of signatures", muster::compact(Json("2015-08-30T12:36:00Z").time()));
  // AWS's test suite of Signature Version 4, post-vanilla.
  const muster::SignedRequest request{"POST", "/", "", "20150830T123600Z", {{"host", "example.amazonaws.com"}, {"x-amz-date", "20150830T123600Z"}}};
  const std::string signature = muster::authorization({"us-east-1", "service", "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}, request);
  check(signature.find("5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b") != std::string::npos, "a signature of version 4", signature);
}

void attributes() {
  bool same = true;
  for (const char* text : {"{\"S\":\"x\"}", "{\"N\":2.5}", "{\"SL\":[\"a\",\"b\"]}", "{\"SDM\":{\"k\":1}}", "{\"SL\":[]}"}) {
    muster::Attribute attribute;
    same = same && muster::Attribute::parse(text, attribute) && attribute.for_api().write() == text;
  }
  check(same, "attributes are read as they were written");
  muster::Attribute attribute;
  check(muster::Attribute::parse("{\"DOUBLE\":1}", attribute) && attribute.for_server().write() == "{\"AttrType\":\"DOUBLE\",\"N\":1}", "the other spelling", attribute.for_server().write());
  bool refused = true;
  for (const char* text : {"", "1", "{}", "{\"N\":\"1\"}", "{\"S\":1}", "{\"SL\":[1]}", "{\"SDM\":{\"k\":\"1\"}}", "{\"S\":\"a\",\"N\":1}", "{\"X\":1}"}) refused = refused && !muster::Attribute::parse(text, attribute);
  check(refused, "what is no attribute is refused");
}

void matches() {
  const std::string text =
      "{\"matchId\":\"m\",\"matchmakingConfigurationArn\":\"arn\",\"teams\":[{\"name\":\"red\",\"players\":[{\"playerId\":\"p\",\"attributes\":{\"skill\":{\"attributeType\":\"DOUBLE\",\"valueAttribute\":7}}}]},"
      "{\"name\":\"blue\",\"players\":[{\"playerId\":\"q\"}]}],\"autoBackfillTicketId\":null}";
  muster::MatchData match;
  check(muster::MatchData::parse(text, match) && match.players.size() == 2 && match.players[0].team == "red" && match.players[0].attributes["skill"] == "{\"N\":7}" && match.players[1].player_id == "q" && match.auto_backfill_ticket.empty(), "matchmaker data");
  check(muster::MatchData::parse("", match) && match.players.empty(), "no matchmaker data");
  check(!muster::MatchData::parse("{half", match), "damaged matchmaker data");
  std::mt19937 random(2);
  for (int i = 0; i < 5000; i++) {
    std::string damaged = text;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    muster::MatchData::parse(damaged, match);
  }
}

// A process without an agent.
void game_server() {
  muster::GameServerOptions options;
  muster::GameServer server(options);
  check(server.init().detail.find("websocket_url") == 0, "what is missing is named");
  check(server.ready(7777, {}).detail.find("init") != std::string::npos && server.accept_player("psess-1").kind == muster::Error::Kind::usage, "nothing is sent before init");
  muster::o3de::AWSGameLiftServer process({});
  check(!process.NotifyGameLiftProcessReady() && !process.ValidatePlayerJoinSession({1, ""}) && !process.StartMatchBackfill() && process.GetExternalSessionCertificate().empty(), "O3DE's server without Muster");
  process.HandlePlayerLeaveSession({1, ""});
  process.HandleDestroySession();
  check(process.IsEnded(), "it ends all the same");
}

}  // namespace

int main(int count, char** arguments) {
  json();
  parts();
  store(count > 1 ? arguments[1] : "login.json");
  o3de_player();
  o3de_keys();
  signatures();
  attributes();
  matches();
  game_server();
  return failed == 0 ? 0 : 1;
}
