// Package wire reads and writes the messages of Server SDK 3 and 4.
//
// Server SDK 3 speaks socket.io over Engine.IO 3: a text frame has the Engine.IO type,
// then the socket.io type, then an id, then a JSON array. Requests are events whose
// argument is a protobuf message, as an attachment (a binary frame of its own) or in
// base64, and each is acknowledged. C# SDK 4 posts the same messages by HTTP. What is sent
// to a process is protobuf's JSON form in both. C++ and C# refuse JSON with members that
// they do not know, so the types here have no others.
//
// The package knows frames and messages, and no connections.
package wire
