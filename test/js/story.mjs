// Launch a game server, create a game session, add players, validate one, stop
// the session, shut down; with AWS's JavaScript SDK, in the protocol that the
// argument names.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import * as gamelift from "@aws-sdk/client-gamelift";
import { AwsSmithyRpcV2CborProtocol } from "@aws-sdk/core/protocols";

const protocol = process.argv[2];
let failures = 0;

function check(what, got, want) {
  if (isDeepStrictEqual(got, want)) {
    console.log(`ok - ${what}`);
    return;
  }
  failures++;
  console.log(`not ok - ${what}\n  got  ${JSON.stringify(got)}\n  want ${JSON.stringify(want)}`);
}

const options = { region: "us-east-1", endpoint: process.env.ENDPOINT };
if (protocol === "cbor") {
  options.protocol = AwsSmithyRpcV2CborProtocol;
}
const client = new gamelift.GameLiftClient(options);

// Every request's content type, to be sure of the protocol.
const sent = new Set();
client.middlewareStack.add(
  (next) => async (args) => {
    sent.add(args.request.headers["content-type"]);
    return next(args);
  },
  { step: "finalizeRequest", name: "contentType" },
);

// call sends the command of an operation.
const call = (operation, input = {}) => client.send(new gamelift[operation + "Command"](input));

// refused holds that a call fails with a typed exception.
async function refused(what, exception, operation, input) {
  try {
    await call(operation, input);
    check(what, "no error", exception);
  } catch (e) {
    check(what, [e.name, e instanceof gamelift[exception], e.message.length > 0], [exception, true, true]);
  }
}

// launch starts a game server that is spoken to in lines.
function launch(compute, token) {
  const child = spawn(process.env.GAMESERVER, {
    env: {
      ...process.env,
      GAMELIFT_SDK_WEBSOCKET_URL: compute.GameLiftServiceSdkEndpoint,
      GAMELIFT_SDK_AUTH_TOKEN: token,
      GAMELIFT_SDK_FLEET_ID: compute.FleetId,
      GAMELIFT_SDK_HOST_ID: compute.ComputeName,
      GAMELIFT_SDK_PROCESS_ID: "process-" + protocol,
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    does: (...words) => child.stdin.write(words.join(" ") + "\n"),
    hears: async (want) => check(`the game server says: ${want.split(" ")[0]}`, (await lines.next()).value, want),
  };
}

const Location = "custom-js-" + protocol;
const made = await call("CreateLocation", { LocationName: Location });
check("every answer has a request id", made.$metadata.requestId.length, 36);
await refused("a location's name is taken once", "ConflictException", "CreateLocation", { LocationName: Location });
const { FleetAttributes: fleet } = await call("CreateFleet", {
  Name: "js", ComputeType: "ANYWHERE", Locations: [{ Location }], AnywhereConfiguration: { Cost: "0.5" },
});
const { FleetId } = fleet;
check("an Anywhere fleet is ACTIVE at once", fleet.Status, "ACTIVE");
check("its creation is a time just past", Math.abs(Date.now() - fleet.CreationTime) < 60_000, true);
const { Compute } = await call("RegisterCompute", { FleetId, ComputeName: "host-1", Location, IpAddress: "127.0.0.1" });
const { AuthToken } = await call("GetComputeAuthToken", { FleetId, ComputeName: "host-1" });
const server = launch(Compute, AuthToken);
await server.hears("ready");

const { GameSession: game } = await call("CreateGameSession", {
  FleetId, Location, MaximumPlayerSessionCount: 3, Name: "fünf", GameProperties: [{ Key: "map", Value: "winter" }],
});
const { GameSessionId } = game;
check("a new game session is ACTIVATING", game.Status, "ACTIVATING");
await server.hears("activated " + GameSessionId);
const [shown] = (await call("DescribeGameSessions", { GameSessionId })).GameSessions;
check("and then ACTIVE, with its name and properties",
  [shown.Status, shown.Name, shown.GameProperties], ["ACTIVE", "fünf", [{ Key: "map", Value: "winter" }]]);

const { PlayerSession: player } = await call("CreatePlayerSession", { GameSessionId, PlayerId: "ana" });
const { PlayerSessionId } = player;
server.does("accept", GameSessionId, PlayerSessionId);
await server.hears("accepted " + PlayerSessionId);
check("a validated player session is ACTIVE",
  (await call("DescribePlayerSessions", { PlayerSessionId })).PlayerSessions[0].Status, "ACTIVE");
await call("CreatePlayerSessions", { GameSessionId, PlayerIds: ["ben", "eve"] });
await refused("the game session is full", "GameSessionFullException", "CreatePlayerSession", { GameSessionId, PlayerId: "joe" });
const players = [];
for await (const page of gamelift.paginateDescribePlayerSessions({ client, pageSize: 1 }, { GameSessionId })) {
  players.push(...page.PlayerSessions.map((p) => p.PlayerId));
}
check("pages of one give all three players", players, ["ana", "ben", "eve"]);
server.does("remove", GameSessionId, PlayerSessionId);
await server.hears("removed " + PlayerSessionId);

await call("UpdateGameSession", { GameSessionId, Name: "saturday", PlayerSessionCreationPolicy: "DENY_ALL" });
const found = await call("SearchGameSessions", { FleetId, FilterExpression: "gameSessionName='saturday' AND playerSessionCount=2" });
check("it is found by its new name", found.GameSessions.map((g) => g.GameSessionId), [GameSessionId]);
await refused("an unknown fleet is not found", "NotFoundException", "DescribeFleetLocationAttributes",
  { FleetId: "fleet-00000000-0000-0000-0000-000000000000" });

const stopped = await call("TerminateGameSession", { GameSessionId, TerminationMode: "TRIGGER_ON_PROCESS_TERMINATE" });
check("it is told to end", stopped.GameSession.Status, "TERMINATING");
await server.hears("terminated");
await server.hears("ended");
const [over] = (await call("DescribeGameSessions", { GameSessionId })).GameSessions;
check("it ended, and says why", [over.Status, over.StatusReason], ["TERMINATED", "TRIGGERED_ON_PROCESS_TERMINATE"]);
check("its end is a time after its beginning", over.TerminationTime >= over.CreationTime, true);

await call("DeregisterCompute", { FleetId, ComputeName: "host-1" });
await call("DeleteFleet", { FleetId });
check("every request was in " + protocol, [...sent], [protocol === "json" ? "application/x-amz-json-1.1" : "application/cbor"]);
if (server.child.exitCode === null) {
  await once(server.child, "exit");
}
process.exit(failures ? 1 : 0);
