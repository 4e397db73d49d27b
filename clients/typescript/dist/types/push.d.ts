/** How changes reach the client. */
export interface PushState {
    /**
     * `closed`: not at all, because nothing needs them or because another client of the player
     * has replaced this one; `connecting`: soon; `connected`: by WebSocket; `reconnecting`: the
     * WebSocket was cut; `polling`: by requests, until a WebSocket can be opened.
     */
    readonly state: "closed" | "connecting" | "connected" | "reconnecting" | "polling";
    /** The close code of the last WebSocket, if it was closed with one. */
    readonly code?: number;
}
