/**
 * The client of Muster's player API: accounts, matchmaking, parties, game sessions and push.
 *
 * @packageDocumentation
 */
export type { LoginState } from "./account.js";
export type * from "./api.js";
export { Client } from "./client.js";
export type { ClientEvents, ClientOptions, DataValue, FindMatchOptions, PartyEvent, PutDataOptions } from "./client.js";
export {
  ClosedError,
  type Extensions,
  LoggedOutError,
  MatchError,
  MusterError,
  NetworkError,
  PlacementError,
  ProblemError,
  TimeoutError,
  UsageError,
} from "./errors.js";
export type { MeasureOptions } from "./latency.js";
export type { PushState } from "./push.js";
export type { SocketClass, SocketLike } from "./socket.js";
export { LocalStorageTokenStore, MemoryTokenStore, type Tokens, type TokenStore } from "./store.js";
