/**
 * The client of Muster's player API for Node.js: as in browsers, with the platform's WebSocket,
 * datagrams and files.
 *
 * @packageDocumentation
 */
import { Client as PageClient } from "./client.js";
import type { UdpMeasure } from "./latency.js";
import { measureUdp } from "./node/udp.js";
import { NodeWebSocket } from "./node/websocket.js";
import type { SocketClass } from "./socket.js";

export * from "./index.js";
export { FileTokenStore } from "./node/store.js";
export { NodeWebSocket } from "./node/websocket.js";

/** {@inheritDoc PageClient} */
export class Client extends PageClient {
  /** @internal */
  protected override defaultSocket(): SocketClass {
    return NodeWebSocket; // the same in all versions of Node.js; 20 has none
  }

  /** @internal */
  protected override get udp(): UdpMeasure {
    return measureUdp;
  }
}
