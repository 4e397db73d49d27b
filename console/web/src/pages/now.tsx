// Now: can players play? (Grafana's density, Linear's calm.)

import { useLive } from "../core/live";
import { count, many, words } from "../core/text";
import { Spark, type Series } from "../ui/spark";
import { Glyph, Toned, type Tone } from "../ui/glyph";
import { Ranges, ranged, rangeText } from "../ui/range";
import { A, Ago, Empty, Figure, Head, Panel, Show } from "../ui/parts";
import { Table } from "../ui/table";
import type { Load } from "./fleets";

interface NowView {
  lights: { name: string; state: Tone; text: string; to: string }[];
  totals: Record<"players" | "sessions" | "waiting" | "pending" | "free" | "processes" | "fleets" | "hosts" | "hosts_away", number>;
  starts: number;
  crashes: number;
  series: Series;
  locations: ({ location: string; state: Tone; reason?: string } & Load)[];
  notable: { at: string; state: Tone; code: string; text: string; times: number; more?: boolean; to?: string }[];
  first: boolean;
}

export function Now() {
  const live = useLive<NowView>("now", ranged(), 1000);
  return (
    <>
      <Head title="Now" question="Can players play?"><Ranges /></Head>
      <Show live={live} what="This page">
        {(v) => (v.first ? <First /> : <Board v={v} />)}
      </Show>
    </>
  );
}

function Board({ v }: { v: NowView }) {
  const t = v.totals;
  return (
    <>
      <div class="cols3">
        {v.lights.map((l) => (
          <A key={l.name} to={l.to} class="panel light">
            <Glyph tone={l.state} size={20} />
            <b>{l.name}</b>
            <span class="why">{l.text}</span>
          </A>
        ))}
      </div>
      <div class="cols4">
        <Panel>
          <Figure value={count(t.players)} label="players in game sessions" to="/sessions">
            <Spark series={v.series} name="players" label={`players in the last ${rangeText()}, now ${t.players}`} />
          </Figure>
        </Panel>
        <Panel>
          <Figure value={count(t.waiting)} label="tickets that wait for a match" to="/matchmaking">
            <Spark series={v.series} name="waiting" label={`waiting tickets in the last ${rangeText()}, now ${t.waiting}`} />
          </Figure>
        </Panel>
        <Panel>
          <Figure value={count(v.starts)} label="game sessions started in a minute" to="/sessions?sort=-created">
            <Spark series={v.series} name="starts" label={`starts in the last ${rangeText()}`} />
          </Figure>
        </Panel>
        <Panel>
          <Figure value={count(v.crashes)} label={`crashes in the last ${rangeText()}`} to="/crashes">
            <Spark series={v.series} name="crashes" label={`crashes in the last ${rangeText()}`} />
          </Figure>
        </Panel>
      </div>
      <Panel title="Locations" note={`${many(t.fleets, "fleet")}, ${many(t.hosts, "host")}`} bare>
        <Table
          label="Locations" rows={v.locations.slice(0, 12)} id={(l) => l.location} most={480}
          foot={v.locations.length > 12 ? `${v.locations.length - 12} more, none of them in more trouble` : null}
          columns={[
            { key: "location", title: "Location", value: (l) => l.location, cell: (l) => <Toned tone={l.state}>{l.location}</Toned> },
            { key: "players", title: "Players", num: true, value: (l) => l.current_player_sessions, cell: (l) => count(l.current_player_sessions) },
            { key: "sessions", title: "Game sessions", num: true, value: (l) => l.active_game_sessions, cell: (l) => count(l.active_game_sessions + l.activating_game_sessions) },
            { key: "free", title: "Free", num: true, value: (l) => l.available_game_sessions, cell: (l) => count(l.available_game_sessions) },
            { key: "processes", title: "Processes", num: true, wide: true, value: (l) => l.active_server_processes, cell: (l) => count(l.active_server_processes) },
            { key: "why", title: "", cell: (l) => <span class="soft">{l.reason ?? ""}</span> },
          ]}
        />
      </Panel>
      <Panel title="Worth knowing" right={<A to="/events">all events</A>}>
        {v.notable.length === 0 ? (
          <p class="dim">Nothing has gone wrong, and nothing has changed, in the events that are kept.</p>
        ) : (
          <div class="notable">
            {v.notable.map((n) => (
              <>
                <span class="dim num"><Ago at={n.at} /></span>
                <Glyph tone={n.state} />
                <span class="text">
                  {n.to ? <A to={n.to}>{words(n.code)}</A> : words(n.code)} <span class="soft">{n.text}</span>
                </span>
                <span class="dim">{n.times > 1 ? `× ${n.times}${n.more ? "+" : ""}` : ""}</span>
              </>
            ))}
          </div>
        )}
      </Panel>
    </>
  );
}

/** What one sees before there is anything. */
function First() {
  const server = location.origin;
  return (
    <Panel title="Nothing runs here yet">
      <div class="stack">
        <p class="soft">A game server needs a fleet; players need a queue or matchmaking. The shortest way is a program on this machine:</p>
        <Empty command={["muster local --exec ./my-game-server", `aws gamelift --endpoint-url ${server} create-location --location-name custom-here`, `aws gamelift --endpoint-url ${server} create-fleet --name mine --compute-type ANYWHERE --locations Location=custom-here`, `muster admin join-token --endpoint ${server}`]}>
          Each of these makes the next page say something.
        </Empty>
      </div>
    </Panel>
  );
}
