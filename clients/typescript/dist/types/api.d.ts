/** The kinds of problems. Newer servers may have more. */
export type ProblemCode = "invalid-parameter" | "malformed-json" | "unknown-field" | "guest-secret-invalid" | "provider-token-invalid" | "refresh-invalid" | "refresh-reused" | "signature-invalid" | "token-expired" | "token-invalid" | "token-missing" | "banned" | "not-allowed" | "not-leader" | "reauth-required" | "scope-insufficient" | "not-found" | "provider-disabled" | "already-joined" | "conflict-token-invalid" | "identity-in-use" | "last-credential" | "merged-too-often" | "not-awaiting-acceptance" | "not-guest" | "party-full" | "party-not-ready" | "placement-ended" | "session-full" | "session-not-active" | "ticket-active" | "ticket-ended" | "precondition-failed" | "body-too-large" | "unsupported-media-type" | "attribute-rejected" | "latency-rejected" | "validation-failed" | "locked-out" | "rate-limited" | "internal" | "busy" | "no-capacity" | "provider-unavailable";
/** What a provider gave to the client. */
export interface ProviderLogin {
    /** ID token, access token, Steam ticket in hex, or what the operator’s webhook understands. */
    readonly token: string;
    /** The raw nonce that the token was asked for with. */
    readonly nonce?: string | undefined;
    /** Steam: the identity the ticket was made for. */
    readonly identity?: string | undefined;
    /** Make an account where there is none; default true. */
    readonly create?: boolean | null | undefined;
}
/** Which of two players to keep. The other must have no further account elsewhere, and is given up with its data. */
export interface MergeRequest {
    /** From the refused link. */
    readonly conflictToken: string;
    /** The player who asks, or the one whom the account leads to. */
    readonly keep: MergeRequestKeep;
}
/** The player who asks, or the one whom the account leads to. */
export type MergeRequestKeep = "mine" | "theirs";
/** An account elsewhere. */
export interface LinkedIdentity {
    /** Its provider. */
    readonly provider: string;
    /** The end of its name there. */
    readonly subjectHint: string;
    /** Since when. */
    readonly linkedAt: Date;
}
/** A login. */
export interface Session {
    /** The player. */
    readonly playerId: string;
    /** What the player has proven. */
    readonly scope: SessionScope;
    /** JWT for Authorization: Bearer. */
    readonly accessToken: string;
    /** Seconds. */
    readonly accessTokenExpiresIn: number;
    /** Gives the next login, once. */
    readonly refreshToken: string;
    /** Seconds. */
    readonly refreshTokenExpiresIn: number;
    /** The account is new. */
    readonly created: boolean;
    /** Accounts elsewhere. */
    readonly identities: readonly LinkedIdentity[];
    /** Of a new guest account; shown once. */
    readonly guestSecret?: string | undefined;
}
/** What the player has proven. */
export type SessionScope = "guest" | "authenticated";
/** The player’s own account. */
export interface Player {
    /** The player. */
    readonly playerId: string;
    /** Need not be unique. */
    readonly displayName?: string | undefined;
    /** Since when. */
    readonly createdAt: Date;
    /** What the player has proven. */
    readonly scope: PlayerScope;
    /** Accounts elsewhere. */
    readonly identities: readonly LinkedIdentity[];
}
/** What the player has proven. */
export type PlayerScope = "guest" | "authenticated";
/** What to change. */
export interface PlayerChange {
    /** 3 to 32 printable characters. */
    readonly displayName: string;
}
/** What anybody may know of a player. */
export interface PublicPlayer {
    /** The player. */
    readonly playerId: string;
    /** Need not be unique. */
    readonly displayName?: string | undefined;
    /** Public data by key. */
    readonly data: Readonly<Record<string, DataItem>>;
}
/** Whom to look up. */
export interface PlayerLookup {
    /** Players, at most 50. */
    readonly ids: readonly string[];
}
/** What anybody may know of several players. */
export interface PublicPlayers {
    /** In the order of the request, without players that do not exist. */
    readonly items: readonly PublicPlayer[];
}
/** A value of a player’s data. */
export interface DataItem {
    /** Any JSON of at most 32 KiB. */
    readonly value: unknown;
    /** Rises by one with each write; also the ETag. */
    readonly version: number;
    /** When it was written. */
    readonly updatedAt: Date;
}
/** A namespace of a player’s data. */
export interface DataItems {
    /** By key. */
    readonly items: Readonly<Record<string, DataItem>>;
}
/** What was measured for a location. */
export interface LatencySample {
    /** Its name. */
    readonly location: string;
    /** Round trip in milliseconds. */
    readonly rttMs: number;
    /** How it was measured. */
    readonly method?: LatencySampleMethod | undefined;
    /** Signed by the beacon. */
    readonly receipt?: string | undefined;
}
/** How it was measured. */
export type LatencySampleMethod = "udp" | "tcp" | "https";
/** What was measured. Leave out what was not reached. */
export interface LatencyReport {
    /** At most 64. */
    readonly samples: readonly LatencySample[];
}
/** A sample that does not count. */
export interface RejectedSample {
    /** Its name. */
    readonly location: string;
    /** Why. */
    readonly reason: RejectedSampleReason;
}
/** Why. */
export type RejectedSampleReason = "unknown-location" | "too-far" | "not-a-number" | "repeated" | "receipt-invalid";
/** What counts, for 15 minutes. */
export interface LatencyResult {
    /** Milliseconds by location. */
    readonly accepted: Readonly<Record<string, number>>;
    /** The rest. */
    readonly rejected: readonly RejectedSample[];
}
/** A place where games can be. */
export interface Location {
    /** Its name. */
    readonly name: string;
    /** HOST:PORT of a UDP beacon. */
    readonly udp?: string | undefined;
    /** HOST:PORT of a TCP beacon. */
    readonly tcp?: string | undefined;
    /** URL that answers GET with 204. */
    readonly https?: string | undefined;
}
/** Where games can be. */
export interface Locations {
    /** By name. */
    readonly locations: readonly Location[];
    /** How long this may be kept. */
    readonly ttlSeconds: number;
}
/** A way to log in. */
export interface ProviderInfo {
    /** For paths. */
    readonly name: string;
}
/** A way to be matched. */
export interface MatchmakerInfo {
    /** For requests. */
    readonly name: string;
    /** Fewest players of a ticket. */
    readonly minParty: number;
    /** Most players of a ticket. */
    readonly maxParty: number;
    /** A match has to be accepted. */
    readonly acceptance: boolean;
}
/** Where game sessions without matchmaking come from. */
export interface PoolInfo {
    /** For requests. */
    readonly name: string;
    /** Players may make game sessions. */
    readonly canCreate: boolean;
    /** Players may list and join game sessions. */
    readonly canList: boolean;
}
/** What a client has to know. */
export interface ClientConfig {
    /** Of this description. */
    readonly apiVersion: string;
    /** Now. */
    readonly serverTime: Date;
    /** Ways to log in besides guest. */
    readonly providers: readonly ProviderInfo[];
    /** For push. */
    readonly websocketUrl: string;
    /** How often to ask, where no long poll is used. */
    readonly pollIntervalMs: number;
    /** Longest wait of a long poll. */
    readonly maxWaitSeconds: number;
    /** Ways to be matched. */
    readonly matchmakers: readonly MatchmakerInfo[];
    /** Where game sessions without matchmaking come from. */
    readonly pools: readonly PoolInfo[];
}
/** A request for a match. */
export interface TicketRequest {
    /** One of the configuration’s. */
    readonly matchmaker: string;
    /** Match this party; only its leader may ask. */
    readonly partyId?: string | undefined;
    /** Number, text, list of texts, or numbers by text; only those that the matchmaker takes from clients. */
    readonly attributes?: Readonly<Record<string, unknown>> | undefined;
    /** Milliseconds by location; default: what was reported. */
    readonly latencyMs?: Readonly<Record<string, number>> | undefined;
    /** Only where the matchmaker lets players choose. */
    readonly team?: string | undefined;
}
/** Who is on a ticket. */
export interface TicketPlayer {
    /** The player. */
    readonly playerId: string;
    /** Once matched. */
    readonly team?: string | undefined;
    /** Whether the player accepts the proposed match; null: no answer yet. */
    readonly accepted?: boolean | null | undefined;
}
/** A proposed match waits for answers. */
export interface Acceptance {
    /** When it is given up. */
    readonly deadline?: Date | undefined;
    /** The asking player’s answer. */
    readonly mine: boolean | null;
}
/** Where to play. Only for the player who asks. */
export interface Connection {
    /** The game session: the region, fleet, custom location and id of its ARN, with colons in between. */
    readonly sessionId: string;
    /** Its address: the IPv6 one for a client that comes over IPv6, if its machine has both. */
    readonly ip?: string | undefined;
    /** All its IP addresses, that in ip first; a client that needs another kind takes that. */
    readonly addresses?: readonly string[] | undefined;
    /** Its name, which TLS needs; ip where it has none. */
    readonly dnsName?: string | undefined;
    /** dns_name, or else ip. */
    readonly host: string;
    /** Its port. */
    readonly port: number;
    /** To show to the game server, which accepts it once (AcceptPlayerSession). */
    readonly playerSessionId: string;
}
/** A request for a match, and its outcome so far. */
export interface Ticket {
    /** Its name. */
    readonly ticketId: string;
    /** As asked. */
    readonly matchmaker: string;
    /** As asked. */
    readonly partyId?: string | undefined;
    /** Where it is. */
    readonly state: TicketState;
    /** Why it ended without a match. */
    readonly reason?: string | undefined;
    /** When it was asked. */
    readonly createdAt: Date;
    /** When this changed. */
    readonly updatedAt: Date;
    /** When it is forgotten. */
    readonly expiresAt: Date;
    /** A guess. */
    readonly estimatedWaitSeconds?: number | undefined;
    /** Who is matched together. */
    readonly players: readonly TicketPlayer[];
    /** While a proposed match waits. */
    readonly acceptance?: Acceptance | undefined;
    /** Once proposed. */
    readonly matchId?: string | undefined;
    /** Once completed. */
    readonly connection?: Connection | undefined;
    /** Rises with each change; also the ETag. */
    readonly seq: number;
}
/** Where it is. */
export type TicketState = "queued" | "searching" | "requires_acceptance" | "placing" | "completed" | "failed" | "cancelled" | "timed_out";
/** Tickets of a player. */
export interface Tickets {
    /** The newest first. */
    readonly items: readonly Ticket[];
}
/** An answer to a proposed match. */
export interface AcceptRequest {
    /** Yes or no. */
    readonly accept: boolean;
}
/** A new party. */
export interface PartyRequest {
    /** That it will be matched with. */
    readonly matchmaker: string;
    /** Most members; default and most: the matchmaker’s. */
    readonly max?: number | undefined;
}
/** A way into a party. */
export interface PartyJoin {
    /** From a member. */
    readonly code: string;
}
/** A member’s own state. */
export interface MemberChange {
    /** Agrees to be matched, for a minute. */
    readonly ready: boolean;
    /** As in TicketRequest. */
    readonly attributes?: Readonly<Record<string, unknown>> | undefined;
    /** As in TicketRequest. */
    readonly latencyMs?: Readonly<Record<string, number>> | undefined;
}
/** Who is in a party. */
export interface PartyMember {
    /** The player. */
    readonly playerId: string;
    /** Agrees to be matched now. */
    readonly ready: boolean;
}
/** Players who want to be matched together. */
export interface Party {
    /** Its name. */
    readonly partyId: string;
    /** Lets others in. */
    readonly code: string;
    /** Who may start. */
    readonly leader: string;
    /** That it will be matched with. */
    readonly matchmaker: string;
    /** Most members. */
    readonly max: number;
    /** In order of joining. */
    readonly members: readonly PartyMember[];
    /** When it ends unless used. */
    readonly expiresAt: Date;
}
/** A new game session. */
export interface SessionRequest {
    /** One of the configuration’s. */
    readonly pool: string;
    /** For people. */
    readonly name?: string | undefined;
    /** Default and most: the pool’s. */
    readonly maxPlayers?: number | undefined;
    /** Only keys that the pool allows. */
    readonly properties?: Readonly<Record<string, string>> | undefined;
    /** As in TicketRequest. */
    readonly latencyMs?: Readonly<Record<string, number>> | undefined;
}
/** A game session on its way. */
export interface Placement {
    /** Its name. */
    readonly placementId: string;
    /** As asked. */
    readonly pool: string;
    /** Where it is. */
    readonly state: PlacementState;
    /** Why it ended without a game session. */
    readonly reason?: string | undefined;
    /** When it was asked. */
    readonly createdAt: Date;
    /** When it is forgotten. */
    readonly expiresAt: Date;
    /** Once fulfilled. */
    readonly connection?: Connection | undefined;
    /** Rises with each change; also the ETag. */
    readonly seq: number;
}
/** Where it is. */
export type PlacementState = "pending" | "fulfilled" | "cancelled" | "timed_out" | "failed";
/** A game. It is a picture of one moment. */
export interface GameSession {
    /** Its name: the region, fleet, custom location and id of its ARN, with colons in between. */
    readonly sessionId: string;
    /** Where it is in its life. */
    readonly status: GameSessionStatus;
    /** Why it ended, where somebody ended it. */
    readonly statusReason?: string | undefined;
    /** For people. */
    readonly name?: string | undefined;
    /** Where it came from, unless no player made it. */
    readonly pool?: string | undefined;
    /** As the player who created it set them; absent if no player did. */
    readonly properties: Readonly<Record<string, string>>;
    /** Present and expected. */
    readonly players: number;
    /** Most players. */
    readonly maxPlayers: number;
    /** The game lets others in, while there is room. */
    readonly acceptsPlayers: boolean;
    /** Where it is. */
    readonly location: string;
    /** Since when. */
    readonly createdAt: Date;
    /** Until when, once it is over. */
    readonly endedAt?: Date | undefined;
}
/** Where it is in its life. */
export type GameSessionStatus = "ACTIVATING" | "ACTIVE" | "TERMINATING" | "TERMINATED";
/** Games that can be joined. */
export interface GameSessions {
    /** At most as many as asked. */
    readonly items: readonly GameSession[];
}
/** A request to join a game session. */
export interface JoinRequest {
    /** For the game server; at most 2048 characters. */
    readonly playerData?: string | undefined;
}
/** A place in a game. */
export interface Reservation {
    /** Where to play. */
    readonly connection: Connection;
    /** Whether the player came already. */
    readonly status: ReservationStatus;
    /** When the place is given up. */
    readonly reservedUntil?: Date | undefined;
}
/** Whether the player came already. */
export type ReservationStatus = "RESERVED" | "ACTIVE";
/** Games to come back to. */
export interface Reservations {
    /** The newest first. */
    readonly items: readonly Reservation[];
}
/** What every call takes. */
export interface CallOptions {
    /** Gives the call up. A request that is on its way may still have its effect. */
    readonly signal?: AbortSignal | undefined;
}
/** The calls of the player API that need nothing besides their answer. */
export declare abstract class Calls {
    /** Answers without content, for measuring latency. */
    ping(options?: CallOptions): Promise<void>;
    /** What a client has to know. */
    config(options?: CallOptions): Promise<ClientConfig>;
    /** Where games can be, and how to measure the way. */
    locations(options?: CallOptions): Promise<Locations>;
    /** The own account. */
    me(options?: CallOptions): Promise<Player>;
    /** Change the own account. */
    changeMe(body: PlayerChange, options?: CallOptions): Promise<Player>;
    /** All data of a namespace: private, public or server. */
    allData(namespace: string, options?: CallOptions): Promise<DataItems>;
    /** Report what was measured. */
    reportLatency(body: LatencyReport, options?: CallOptions): Promise<LatencyResult>;
    /** Games to come back to after a crash. */
    reservations(options?: CallOptions): Promise<Reservations>;
    /** What anybody may know of a player. */
    publicPlayer(player: string, options?: CallOptions): Promise<PublicPlayer>;
    /** What anybody may know of several players. */
    lookUpPlayers(body: PlayerLookup, options?: CallOptions): Promise<PublicPlayers>;
    /** Ask to be matched. */
    startMatchmaking(body: TicketRequest, options?: CallOptions): Promise<Ticket>;
    /** The own tickets. */
    tickets(options?: CallOptions & {
        /** true leaves out those that are over. */
        readonly active?: boolean | undefined;
    }): Promise<Tickets>;
    /** A ticket; 304 where nothing changed. */
    getTicket(ticket: string, options?: CallOptions): Promise<Ticket>;
    /** Ask for a ticket to be cancelled. */
    stopMatchmaking(ticket: string, options?: CallOptions): Promise<Ticket>;
    /** Answer a proposed match. */
    acceptMatch(ticket: string, body: AcceptRequest, options?: CallOptions): Promise<Ticket>;
    /** Make a party. */
    createParty(body: PartyRequest, options?: CallOptions): Promise<Party>;
    /** Join a party by its code. */
    joinParty(body: PartyJoin, options?: CallOptions): Promise<Party>;
    /** A party one is in. */
    getParty(party: string, options?: CallOptions): Promise<Party>;
    /** Say that one is ready, or not. */
    changeMember(party: string, body: MemberChange, options?: CallOptions): Promise<Party>;
    /** Leave (me), or put somebody out, as the leader. */
    leaveParty(party: string, player: string, options?: CallOptions): Promise<void>;
    /** Games of a pool that can be joined. */
    listSessions(options?: CallOptions & {
        /** The pool. */
        readonly pool?: string | undefined;
        /** 1 to 20. */
        readonly limit?: number | undefined;
        /** Only there. */
        readonly location?: string | undefined;
        /** Only those for which this holds: a FilterExpression of SearchGameSessions, 1024 characters at most, on what players see. */
        readonly filter?: string | undefined;
        /** In this order: a SortExpression of SearchGameSessions, 1024 characters at most; default: by creation. */
        readonly sort?: string | undefined;
    }): Promise<GameSessions>;
    /** Ask for a new game session. */
    createSession(body: SessionRequest, options?: CallOptions): Promise<Placement>;
    /** A game one has a place in, or had one until a few minutes ago. */
    getSession(session: string, options?: CallOptions): Promise<GameSession>;
    /** Take a place in a game. */
    joinSession(session: string, body: JoinRequest, options?: CallOptions): Promise<Reservation>;
    /** A game session on its way; 304 where nothing changed. */
    getPlacement(placement: string, options?: CallOptions): Promise<Placement>;
    /** Give it up. */
    stopPlacement(placement: string, options?: CallOptions): Promise<Placement>;
}
