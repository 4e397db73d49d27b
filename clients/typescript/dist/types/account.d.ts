/** Who is logged in. */
export interface LoginState {
    /** The player; undefined before the first login. */
    readonly playerId: string | undefined;
    /** What the player has proven: `guest` or `authenticated`. */
    readonly scope: string | undefined;
    /** Whether there is a login. A login that the server has refused is over. */
    readonly loggedIn: boolean;
}
