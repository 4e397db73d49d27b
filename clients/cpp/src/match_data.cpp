#include "attribute.h"
#include "muster/game_server.h"

namespace muster {

bool MatchData::parse(const std::string& text, MatchData& out) {
  MatchData data;
  Json json;
  if (!text.empty() && (!Json::parse(text, json) || !json.is_object())) return false;
  data.match_id = json["matchId"].text();
  data.configuration = json["matchmakingConfigurationArn"].text();
  data.auto_backfill_ticket = json["autoBackfillTicketId"].text();
  for (const Json& team : json["teams"].items()) {
    for (const Json& one : team["players"].items()) {
      BackfillPlayer player;
      player.player_id = one["playerId"].text();
      player.team = team["name"].text();
      for (const Json::Member& member : one["attributes"].members()) {
        Attribute attribute;
        if (!Attribute::make(member.second["attributeType"].text(), member.second["valueAttribute"], attribute)) return false;
        player.attributes[member.first] = attribute.for_api().write();
      }
      data.players.push_back(std::move(player));
    }
  }
  out = std::move(data);
  return true;
}

}  // namespace muster
