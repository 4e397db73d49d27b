import type { SocketLike } from "../socket.js";
type Handler = ((event: never) => void) | null;
/** The WebSocket of Node.js versions that have none: text messages, as the player API has them. */
export declare class NodeWebSocket implements SocketLike {
    #private;
    onopen: Handler;
    onmessage: Handler;
    onclose: Handler;
    onerror: Handler;
    constructor(url: string, protocol: string);
    send(text: string): void;
    close(closeCode?: number): void;
    /** Cuts the connection without a close frame. */
    terminate(): void;
}
export {};
