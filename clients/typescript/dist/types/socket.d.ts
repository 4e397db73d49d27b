/** The part of the WebSocket interface of browsers that this library uses. */
export interface SocketLike {
    onopen: ((event: never) => void) | null;
    onmessage: ((event: never) => void) | null;
    onclose: ((event: never) => void) | null;
    onerror: ((event: never) => void) | null;
    send(text: string): void;
    close(code?: number): void;
}
/** A WebSocket class, such as that of browsers. */
export type SocketClass = new (url: string, protocol: string) => SocketLike;
