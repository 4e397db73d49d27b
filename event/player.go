package event

// Codes of what happens to players' accounts. Resource is the player's id.
const (
	PlayerCreated     Code = "PLAYER_CREATED"
	PlayerLinked      Code = "PLAYER_IDENTITY_LINKED"
	PlayerUnlinked    Code = "PLAYER_IDENTITY_UNLINKED"
	PlayerMerged      Code = "PLAYER_MERGED" // Resource is who was kept; the message begins with who was not
	PlayerTokenReused Code = "PLAYER_REFRESH_TOKEN_REUSED"
	PlayerBanned      Code = "PLAYER_BANNED"
	PlayerDeleted     Code = "PLAYER_DELETED"
	PlayerKeyCreated  Code = "PLAYER_SIGNING_KEY_CREATED" // Resource is the key's id
)
