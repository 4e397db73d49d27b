// The driver for browsers: a page that is served beside a WebSocket /driver, over which each
// message is one object.
import * as library from "../dist/muster.min.js";
import { drive } from "./driver.mjs";

class Socket extends WebSocket {
  /** A page cannot cut a connection: for the library it is cut, for the server it is closed. */
  cut() {
    const { onclose } = this;
    this.onopen = this.onmessage = this.onclose = this.onerror = null;
    this.close();
    onclose?.({ code: 1006 });
  }
}

const runner = new WebSocket(`${location.origin.replace(/^http/, "ws")}/driver`);
runner.onopen = () => {
  const take = drive(library, {
    hello: { hello: "typescript", runtime: navigator.userAgent.match(/\w*Chrome\/[\d.]+/)?.[0] ?? navigator.userAgent, skips: {} },
    send: (object) => runner.send(JSON.stringify(object)),
    Socket,
  });
  runner.onmessage = ({ data }) => take(JSON.parse(data));
};
