module github.com/musterhq/muster/sdk/gameserver

go 1.26.0

require (
	github.com/amazon-gamelift/amazon-gamelift-servers-go-server-sdk/v5 v5.5.0
	github.com/musterhq/muster/sdk/session v0.1.0
)

require (
	github.com/DataDog/datadog-go/v5 v5.6.0 // indirect
	github.com/Microsoft/go-winio v0.5.0 // indirect
	github.com/golang/mock v1.6.0 // indirect
	github.com/google/uuid v1.5.0 // indirect
	github.com/gorilla/websocket v1.5.3 // indirect
	github.com/sethvargo/go-retry v0.2.4 // indirect
	golang.org/x/sys v0.28.0 // indirect
)
