// Package identity knows players: their accounts, how they prove who they are,
// and the tokens they carry.
//
// A player is a guest, known by a secret that only the device has, or is linked
// to accounts elsewhere (Steam, Apple, Google, Facebook, Epic, any OpenID Connect
// provider, an operator's own webhook), or both. Who has proven an account gets
// an access token, a JWT that anybody can check against the published key set,
// and a refresh token, which is rotated on every use: an old one that comes back
// shows that it was stolen, and ends the whole family of tokens.
//
// What is secret is not stored: guest secrets as SHA-256, refresh tokens not at
// all (a MAC over family and generation), signing keys sealed under the
// deployment's master key. Secrets are made before a command runs, so that no
// recording holds one.
//
// Beside accounts it keeps the data of players, with versions. It knows nothing
// of games, matches or HTTP.
package identity
