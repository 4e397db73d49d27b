#include "provider.h"

#include "caller.h"

namespace muster::o3de {

SessionConnectionConfig Place::connection() const { return {player_session_id, session.m_dnsName, session.m_ipAddress, session.m_port}; }

Error usage(const std::string& detail) { return error_of(Error::Kind::usage, detail); }

bool is_session(const std::string& id) { return id.find(':') != std::string::npos; }

Error no_place() { return error_of(Error::Kind::usage, "playerId: the player has no place in the match"); }

}  // namespace muster::o3de
