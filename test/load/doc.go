// Command load measures Muster's speed and size, each figure next to a limit measured
// in the same run:
//
//	go run ./test/load create   CreateGameSession and CreatePlayerSession over
//	                            HTTP with SigV4 in both protocols, beside the
//	                            same transactions called on the store directly
//	go run ./test/load describe reads of a cell with many game sessions: utilization,
//	                            lists by status, searches
//	go run ./test/load idle     memory of the server for each idle game server
//	                            connection (needs -bin)
//	go run ./test/load start    from the start of `muster local` to the first
//	                            ACTIVE game session (needs -bin)
//	go run ./test/load restart  W9: from a kill of the server until all its game
//	                            servers are usable again (needs -bin)
//	go run ./test/load takeover from a kill of the owner of a cell on PostgreSQL,
//	                            with -n game sessions of ten players, until the
//	                            next answer (needs -bin)
//	go run ./test/load size     what -n game sessions of ten players leave in the
//	                            database, SQLite and PostgreSQL: bytes by table
//	go run ./test/load week     a week, by the times of the rows, in which -n game
//	                            sessions end every ten minutes and are kept for two
//	                            days: bytes of the database after each day
//	go run ./test/load agents   game server processes behind the relays of 20
//	                            agents: time until ready, memory (needs -bin)
//	go run ./test/load match    the workloads W3 to W6 of matchmaking, in process
//	go run ./test/load pool     matchmaking of -n parties, and of 1, 10 and 50 rules
//	go run ./test/load players  requests and WebSockets of game clients: rates,
//	                            processor time and memory of the server (needs
//	                            -bin; -for must not be 0)
//	go run ./test/load push     logins, memory and pushes of connected game clients,
//	                            and whether a kill loses one (needs -bin)
//
// Load and server share the machine. Each command is bounded and prints a table in
// Markdown, as in docs/benchmarks.md.
package main
