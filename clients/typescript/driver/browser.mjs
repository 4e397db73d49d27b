// The driver for browsers: a page that is served beside a WebSocket /driver, over which each
// message is one object.
import * as library from "../dist/muster.min.js";
import { drive } from "./driver.mjs";

const runner = new WebSocket(`${location.origin.replace(/^http/, "ws")}/driver`);
runner.onopen = () => {
  const take = drive(library, {
    hello: { hello: "typescript", runtime: navigator.userAgent.match(/\w*Chrome\/[\d.]+/)?.[0] ?? navigator.userAgent, skips: {} },
    send: (object) => runner.send(JSON.stringify(object)),
  });
  runner.onmessage = ({ data }) => take(JSON.parse(data));
};
