package backend

import _ "embed"

//go:generate go run github.com/musterhq/muster/internal/gen/openapi -in openapi.yaml -out ../sdk/session/player/protocol/types.go -package protocol

// Description is the OpenAPI 3.1 description of the API, in YAML. The types of
// package protocol are generated from it.
//
//go:embed openapi.yaml
var Description []byte
