package api

// MaxBodies returns how many bytes the input of an operation may have, where that
// is more than inputs usually have.
func MaxBodies() map[string]int64 {
	const (
		script  = 7 << 20   // a ZIP file of 5 MB in base64
		ruleSet = 512 << 10 // 65,535 characters, each of which JSON may escape
		players = 1 << 20   // their attributes have no bound of their own
		session = 4 << 20   // data of 262,144 characters, escaped, and of each player
	)
	return map[string]int64{
		"CreateScript": script, "UpdateScript": script,
		"CreateMatchmakingRuleSet": ruleSet, "ValidateMatchmakingRuleSet": ruleSet,
		"CreateGameSession": session, "StartGameSessionPlacement": session, "CreatePlayerSessions": players,
		"StartMatchmaking": players, "StartMatchBackfill": players,
	}
}
