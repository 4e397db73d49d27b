// The driver for Node.js: one object a line, over TCP to MUSTER_DRIVER (HOST:PORT).
import { connect } from "node:net";
import { createInterface } from "node:readline";
import * as library from "../dist/node.js";
import { drive } from "./driver.mjs";

const [, host, port] = /^(.*):(\d+)$/.exec(process.env.MUSTER_DRIVER ?? "") ?? [];
const runner = connect(Number(port), host);
const take = drive(library, {
  hello: { hello: "typescript", runtime: `node ${process.versions.node}`, skips: {} },
  send: (object) => runner.write(JSON.stringify(object) + "\n"),
});
createInterface({ input: runner })
  .on("line", (line) => take(JSON.parse(line)))
  .on("close", () => process.exit(0));
