/**
 * The client of Muster's player API for Node.js: as in browsers, with the platform's WebSocket,
 * datagrams and files.
 *
 * @packageDocumentation
 */
import { Client as PageClient } from "./client.js";
export * from "./index.js";
export { FileTokenStore } from "./node/store.js";
export { NodeWebSocket } from "./node/websocket.js";
/** {@inheritDoc PageClient} */
export declare class Client extends PageClient {
}
