/** A login. Whoever has it is the player: keep it secret. */
export interface Tokens {
    /** The player. */
    readonly playerId: string;
    /** What the player has proven: `guest` or `authenticated`. */
    readonly scope: string;
    /** Of a guest: logs in again when the refresh token has expired. */
    readonly guestSecret?: string;
    /** The access token; absent once the player has logged out. */
    readonly accessToken?: string;
    /** When the access token is renewed, in milliseconds since 1970. */
    readonly renewAt?: number;
    /** When the access token expires, in milliseconds since 1970. */
    readonly expiresAt?: number;
    /** The refresh token, which works once. */
    readonly refreshToken?: string;
}
/** Keeps a login while the game is not running. Its methods are not called concurrently by one client. */
export interface TokenStore {
    /** Returns the login that was saved last; undefined if there is none. */
    load(): Tokens | undefined | Promise<Tokens | undefined>;
    /** Saves a login. The old refresh token does not work any more: a login that is not saved is lost. */
    save(tokens: Tokens): void | Promise<void>;
    /** Removes the login. */
    clear(): void | Promise<void>;
    /**
     * Runs work while no other client with the same store, such as one in another tab, renews
     * the login. Optional.
     */
    exclusive?<T>(work: () => Promise<T>): Promise<T>;
}
/** Keeps a login in memory. */
export declare class MemoryTokenStore implements TokenStore {
    #private;
    load(): Tokens | undefined;
    save(tokens: Tokens): void;
    clear(): void;
}
/**
 * Keeps a login in the browser's local storage, shared by all tabs of the site. Scripts of the
 * site can read it.
 */
export declare class LocalStorageTokenStore implements TokenStore {
    #private;
    /** @param key - The key in the storage; use another for each server and for each player. */
    constructor(key?: string);
    load(): Tokens | undefined;
    save(tokens: Tokens): void;
    clear(): void;
    exclusive<T>(work: () => Promise<T>): Promise<T>;
}
