package main

// An emitter writes the generated file of one language. To add a language, write its
// emitter in a file of its own (typescript.go) and add it to emitters.
type emitter struct {
	// Lang selects it on the command line: -lang typescript.
	Lang string
	// File is the committed file, from the top of the repository.
	File string
	// Emit returns the content of the file. The same model returns the same bytes.
	Emit func(m *model) ([]byte, error)
}

// emitters are all languages. A test compares File of each with what Emit returns.
var emitters = []emitter{
	{Lang: "go", File: "sdk/session/player/protocol/types.go", Emit: emitGo},
	{Lang: "typescript", File: "clients/typescript/src/api.ts", Emit: emitTypeScript},
	{Lang: "csharp", File: "clients/csharp/Runtime/Generated/PlayerApi.cs", Emit: emitCSharp},
	{Lang: "cpp-header", File: "clients/cpp/include/muster/api.h", Emit: emitCPPTypes},
	{Lang: "cpp", File: "clients/cpp/src/api.cpp", Emit: emitCPPSource},
	{Lang: "gdscript-types", File: "clients/godot/addons/muster/generated/types.gd", Emit: emitGDScriptTypes},
	{Lang: "gdscript", File: "clients/godot/addons/muster/generated/calls.gd", Emit: emitGDScriptCalls},
}
