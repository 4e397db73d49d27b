package api

// MaxBodies returns the maximum size in bytes of the inputs of operations that need
// more than the default.
func MaxBodies() map[string]int64 {
	const (
		script  = 7 << 20   // a ZIP file of 5 MB in base64
		ruleSet = 512 << 10 // 65,535 characters, each of which JSON may escape
		players = 1 << 20   // the size of their attributes has no limit of its own
		session = 4 << 20   // data of 262,144 characters, escaped, and data of each player
	)
	return map[string]int64{
		"CreateScript": script, "UpdateScript": script,
		"CreateMatchmakingRuleSet": ruleSet, "ValidateMatchmakingRuleSet": ruleSet,
		"CreateGameSession": session, "StartGameSessionPlacement": session, "CreatePlayerSessions": players,
		"StartMatchmaking": players, "StartMatchBackfill": players,
	}
}
