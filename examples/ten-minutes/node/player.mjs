// Higher or lower: a player. Node.js 20 or later, with Muster's library.
import { createInterface } from "node:readline";
import { Client } from "../../../clients/typescript/dist/node.js"; // npm: "@muster/client"

const client = new Client(process.env.MUSTER_ENDPOINT ?? "http://127.0.0.1:9080");
await client.loginGuest();
console.log("looking for somebody to play with ...");
const game = await client.findMatch({ matchmaker: "exec" });

console.log("guess a number from 1 to 100");
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await fetch(`http://${game.host}:${game.port}/`, { method: "POST", body: `${game.playerSessionId} ${line}` });
  const text = await answer.text();
  console.log(text);
  if (text.startsWith("you ")) break;
}
client.close();
process.exit();
