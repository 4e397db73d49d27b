// A page that uses the package by its name: it is only compiled.
import { Client, LocalStorageTokenStore, ProblemError, type Connection, type Ticket } from "@muster/client";

const client = new Client("https://play.example.com", { store: new LocalStorageTokenStore("game") });

export async function play(signal: AbortSignal, show: (t: Ticket) => void): Promise<Connection | undefined> {
  await client.loginGuest({ displayName: "Ada", signal });
  client.on("party", (party) => party.members.map((m) => m.playerId));
  try {
    return await client.findMatch({ matchmaker: "ranked", attributes: { skill: 3 } }, { signal, onTicket: show, accept: (t) => t.players.length > 1 });
  } catch (error) {
    if (error instanceof ProblemError && error.code === "ticket-active") {
      for await (const ticket of client.followTicket(error.ticketId ?? "", { signal })) {
        show(ticket);
      }
    }
    return undefined;
  }
}

// @ts-expect-error: a matchmaker is required
void client.startMatchmaking({});
// @ts-expect-error: what is read cannot be changed
void client.me().then((me) => (me.displayName = "x"));
// @ts-expect-error: tokens are not for everybody
void client.account;
