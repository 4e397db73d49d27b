import { type LoginState } from "./account.js";
import { type CallOptions, Calls, type Connection, type DataItem, type LatencySample, type MergeRequest, type Party, type Placement, type ProviderLogin, type SessionRequest, type Ticket, type TicketRequest } from "./api.js";
import { type MeasureOptions } from "./latency.js";
import { type PushState } from "./push.js";
import type { SocketClass } from "./socket.js";
import { type TokenStore } from "./store.js";
/** How a client works; each member has a default. */
export interface ClientOptions {
    /** Keeps the login; default: in memory, so that it is lost with the page or the process. */
    readonly store?: TokenStore | undefined;
    /** Makes the requests; default: the platform's fetch. */
    readonly fetch?: typeof fetch | undefined;
    /** Opens the WebSocket; default: the platform's. null: changes are polled. */
    readonly webSocket?: SocketClass | null | undefined;
    /** How long an answer may take, in milliseconds; default 15 s. */
    readonly timeoutMs?: number | undefined;
    /** How often to ask where there is no push, in milliseconds; default 2 s. */
    readonly pollIntervalMs?: number | undefined;
    /** For tests: values from 0 to 1; default Math.random. */
    readonly random?: (() => number) | undefined;
    /** For tests: milliseconds since 1970; default Date.now. */
    readonly now?: (() => number) | undefined;
}
/** What {@link Client.on} reports. */
export interface ClientEvents {
    /** A ticket of the player has changed. */
    ticket: Ticket;
    /** The player's party has changed. */
    party: Party;
    /** The player is no longer in a party. */
    partyLeft: undefined;
    /** A game session that the player requested is closer, or there. */
    placement: Placement;
    /** Changes are received in another way now. */
    push: PushState;
    /** Another player is logged in, or none. */
    session: LoginState;
}
/** A change of a party. */
export type PartyEvent = 
/** The party as it is now. */
{
    readonly type: "changed";
    readonly party: Party;
}
/** The leader has requested a match: follow the ticket. */
 | {
    readonly type: "matched";
    readonly ticket: Ticket;
};
/** How a match is found. */
export interface FindMatchOptions extends CallOptions {
    /** Whether to accept a proposed match; default true. */
    readonly accept?: boolean | ((ticket: Ticket) => boolean | Promise<boolean>) | undefined;
    /** Is called with each change of the ticket. */
    readonly onTicket?: ((ticket: Ticket) => void) | undefined;
}
/** A value of the player's data. */
export interface DataValue {
    readonly value: unknown;
    /** Rises with each write; for {@link Client.putData}. */
    readonly version: number;
}
/** How a value is written. */
export interface PutDataOptions extends CallOptions {
    /** Write only if this is the version; 0: only if there is no value. Default: in any case. */
    readonly version?: number | undefined;
}
/**
 * A player of a game that Muster hosts.
 *
 * ```ts
 * const client = new Client("https://play.example.com", { store: new LocalStorageTokenStore() });
 * await client.loginGuest();
 * const connection = await client.findMatch({ matchmaker: "ranked" });
 * ```
 *
 * A promise of a call rejects with a {@link ProblemError} if the server refuses it, with a
 * {@link NetworkError} or a {@link TimeoutError} if it was not reached, and with the signal's
 * reason if that is aborted. Calls that can be repeated safely are repeated a few times first.
 */
export declare class Client extends Calls {
    #private;
    /**
     * Returns a client. It sends nothing.
     *
     * @param url - The server's base URL, such as https://play.example.com.
     */
    constructor(url: string, options?: ClientOptions);
    /** Who is logged in. */
    get session(): LoginState;
    /** How changes are received. */
    get pushState(): PushState;
    /** Calls a handler with each event, until the function that it returns is called. */
    on<Name extends keyof ClientEvents>(name: Name, handler: (data: ClientEvents[Name]) => void): () => void;
    /** Ends everything that is under way, with a {@link ClosedError}. The login remains in the store. */
    close(): void;
    /**
     * Logs in with what the store has, or else makes a guest account.
     *
     * @param options - displayName: of a new account.
     */
    loginGuest(options?: CallOptions & {
        readonly displayName?: string | undefined;
    }): Promise<LoginState>;
    /** Logs in with an account elsewhere, such as one of Steam. A player is made unless create is false. */
    loginProvider(provider: string, login: ProviderLogin, options?: CallOptions): Promise<LoginState>;
    /**
     * Links an account elsewhere to the player. If it belongs to another player, the error is
     * `identity-in-use`, whose conflictToken is for {@link Client.merge}.
     */
    link(provider: string, login: ProviderLogin, options?: CallOptions): Promise<LoginState>;
    /** Unlinks an account elsewhere. */
    unlink(provider: string, options?: CallOptions): Promise<void>;
    /** Makes one player of two. The player not kept is deleted for good: let the person choose. */
    merge(request: MergeRequest, options?: CallOptions): Promise<LoginState>;
    /** Ends this login, or all logins of the player. A guest can log in again. */
    logout(options?: CallOptions & {
        readonly everywhere?: boolean | undefined;
    }): Promise<void>;
    /** Deletes the player with all data. */
    deleteMe(options?: CallOptions): Promise<void>;
    /** Removes the stored login, a guest's secret too, without a request. */
    forget(): Promise<void>;
    /** Returns a value of the player's data. */
    getData(namespace: string, key: string, options?: CallOptions): Promise<DataValue>;
    /** Writes a value, any JSON, of the player's data. With a version, the error may be `precondition-failed`. */
    putData(namespace: string, key: string, value: unknown, options?: PutDataOptions): Promise<DataItem>;
    /** Deletes a value of the player's data. */
    deleteData(namespace: string, key: string, options?: PutDataOptions): Promise<void>;
    /**
     * Measures the way to the locations where games can be. Pass the result on:
     * `client.reportLatency({ samples: await client.measureLatency() })`.
     */
    measureLatency(options?: MeasureOptions): Promise<LatencySample[]>;
    /**
     * Requests a match, answers what is proposed, and returns where to play. If the signal is
     * aborted, or the page is closed or left, the ticket is stopped. The error is a
     * {@link MatchError} if there was no match.
     */
    findMatch(request: TicketRequest, options?: FindMatchOptions): Promise<Connection>;
    /** Yields a ticket and each change of it, until it has ended. */
    followTicket(ticketId: string, options?: CallOptions): AsyncGenerator<Ticket, void, undefined>;
    /** Leaves a party; with a player, puts that member out, which only the leader may. */
    leaveParty(party: string, player?: string, options?: CallOptions): Promise<void>;
    /**
     * Yields a party, each change of it, and each ticket that its leader starts. It ends when the
     * player is no longer in it.
     */
    followParty(partyId: string, options?: CallOptions): AsyncGenerator<PartyEvent, void, undefined>;
    /**
     * Requests a new game session and returns where to play. If the signal is aborted, or the
     * page is closed or left, the request is given up. The error is a {@link PlacementError} if there was none.
     */
    hostSession(request: SessionRequest, options?: CallOptions): Promise<Connection>;
    /** Returns a placement that is fulfilled; the error is a {@link PlacementError} if it ends in another way. */
    waitForPlacement(placementId: string, options?: CallOptions): Promise<Placement>;
    /** Yields a placement and each change of it, until it has ended. */
    followPlacement(placementId: string, options?: CallOptions): AsyncGenerator<Placement, void, undefined>;
    /** Receives changes, which {@link Client.on} reports, until {@link Client.disconnectPush}. */
    connectPush(): void;
    /** Ends what {@link Client.connectPush} has begun. What is followed is still followed. */
    disconnectPush(): void;
}
