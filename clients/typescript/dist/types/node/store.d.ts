import type { Tokens, TokenStore } from "../store.js";
/** Keeps a login in a file that only its owner can read. The folder must exist. */
export declare class FileTokenStore implements TokenStore {
    #private;
    /** @param file - The path of the file; use another for each player. */
    constructor(file: string);
    load(): Promise<Tokens | undefined>;
    /** Replaces the file as a whole, so that a crash leaves the old login or the new one. */
    save(tokens: Tokens): Promise<void>;
    clear(): Promise<void>;
}
