package event

// Codes of events of players' accounts. Resource is the player's id.
const (
	PlayerCreated     Code = "PLAYER_CREATED"
	PlayerLinked      Code = "PLAYER_IDENTITY_LINKED"
	PlayerUnlinked    Code = "PLAYER_IDENTITY_UNLINKED"
	PlayerMerged      Code = "PLAYER_MERGED" // Resource is the player kept; the message begins with the other one
	PlayerTokenReused Code = "PLAYER_REFRESH_TOKEN_REUSED"
	PlayerBanned      Code = "PLAYER_BANNED"
	PlayerDeleted     Code = "PLAYER_DELETED"
	PlayerKeyCreated  Code = "PLAYER_SIGNING_KEY_CREATED" // Resource is the key's id
)
