// Sessions: what is going on in this game? (Temporal's timelines, one row a player.)

import { useState } from "preact/hooks";
import { call, may } from "../core/api";
import { clock, useLive } from "../core/live";
import { base, param, setParams, to } from "../core/route";
import { ago, count, many, quote, seconds, shortID, time, words } from "../core/text";
import { ask } from "../ui/act";
import { Glyph, Status, toneOf } from "../ui/glyph";
import { A, Ago, Copy, Empty, Facts, Head, ID, Panel, Show } from "../ui/parts";
import { Table } from "../ui/table";
import { SessionLoad, SessionLog } from "./log";
import { useWidth } from "../ui/width";

interface Row {
  id: string;
  name?: string;
  fleet_id: string;
  location: string;
  status: string;
  reason?: string;
  created: string;
  ended?: string;
  players: number;
  max_players: number;
  protected?: boolean;
  address: string;
  port: number;
}

interface SessionView extends Row {
  dns_name?: string;
  creator_id?: string;
  join_policy: string;
  data?: string;
  properties?: { key: string; value: string }[];
  matchmaker_data?: string;
  process?: { id: string; compute_name: string; status: string; connected: boolean; host_id?: string; sdk?: { version?: string; language?: string }; why?: string };
  host?: string;
  lanes: { id?: string; player_id: string; status: string; created: string; accepted?: string; ended?: string; until?: string }[];
  events: { seq: number; at: string; code: string; text?: string }[];
}

export function Sessions() {
  const id = param("id");
  return id ? <One id={id} /> : <List />;
}

const part = 200; // game sessions that the page has at a time

function List() {
  const fleet = param("fleet"), state = param("state"), text = param("filter"), sort = param("sort");
  const [from, setFrom] = useState(0);
  const live = useLive<{ sessions: Row[]; from: number; found: number; all: number; counts: Record<string, number> }>(
    "sessions",
    Object.fromEntries(Object.entries({ fleet, state, text, sort, from: from ? String(from) : "", limit: String(part) }).filter(([, v]) => v)),
    1000,
  );
  const need = (first: number, last: number): void => {
    if (first < from || last > from + part) setFrom(Math.max(0, Math.floor((first - part / 4) / 50) * 50));
  };
  return (
    <>
      <Head title="Sessions" question="Which games are being played?">
        <input class="input small" type="search" aria-label="Filter by id, name, location or address" placeholder="filter" value={text} onInput={(e) => setParams({ filter: e.currentTarget.value })} />
      </Head>
      {fleet && <p class="soft">Of the fleet <A to={to("/fleets", { id: fleet })}>{fleet}</A>. <A to="/sessions">Show all</A></p>}
      <Show live={live} what="The list of game sessions">
        {(v) =>
          v.all === 0 ? (
            <div class="panel">
              <Empty command={`aws gamelift --endpoint-url ${location.origin} create-game-session --fleet-id FLEET --maximum-player-session-count 8`}>No game is being played, and none has ended in the last minutes.</Empty>
            </div>
          ) : (
            <>
              <div class="chips">
                {Object.entries(v.counts).sort().map(([s, n]) => (
                  <button type="button" class="chip" key={s} aria-pressed={state === s} onClick={() => setParams({ state: state === s ? "" : s })}>
                    <Glyph tone={toneOf(s)} />
                    {count(n)} {s.toLowerCase()}
                  </button>
                ))}
              </div>
              <Panel bare>
                <Table
                  label="Game sessions" rows={v.sessions} sorted id={(s) => s.id} to={(s) => to("/sessions", { id: s.id })} ended={(s) => s.status === "TERMINATED"}
                  part={{ from: v.from, of: v.found, need }}
                  foot={`${many(v.found, "game session")}${v.found < v.all ? ` of ${count(v.all)}` : ""}. Those that ended are shown for some minutes.`}
                  columns={[
                    { key: "id", title: "Game session", cell: (s) => <ID id={s.id} to={to("/sessions", { id: s.id })} text={s.name || shortID(s.id).slice(-12)} /> },
                    { key: "status", title: "Status", value: (s) => s.status, cell: (s) => <Status of={s.status}>{s.protected ? `${s.status}, protected` : s.status}</Status> },
                    { key: "players", title: "Players", num: true, value: (s) => s.players, cell: (s) => `${s.players} of ${s.max_players}` },
                    { key: "location", title: "Location", wide: true, value: (s) => s.location, cell: (s) => s.location },
                    { key: "address", title: "Address", wide: true, value: (s) => s.address, cell: (s) => <span class="mono">{s.address}:{s.port}</span> },
                    { key: "fleet", title: "Fleet", wide: true, value: (s) => s.fleet_id, cell: (s) => <A to={to("/fleets", { id: s.fleet_id })} class="mono">{s.fleet_id.slice(-12)}</A> },
                    { key: "created", title: "Age", num: true, value: (s) => Date.parse(s.created), cell: (s) => (s.ended ? <span>{seconds((Date.parse(s.ended) - Date.parse(s.created)) / 1000)}</span> : <Ago at={s.created} />) },
                  ]}
                />
              </Panel>
            </>
          )
        }
      </Show>
    </>
  );
}

function One({ id }: { id: string }) {
  const live = useLive<SessionView>("session", { id }, 500);
  const v = live.data.value;
  const over = v?.status === "TERMINATED";
  return (
    <>
      <Head title={<ID id={id} text={v?.name || shortID(id)} />} question="What is going on in this game?">
        {v && !over && may("TerminateGameSession") && <button type="button" class="btn ends" onClick={() => end(v)}>End …</button>}
      </Head>
      <Show live={live} what="This game session">
        {(s) => (
          <>
            <div class="row wrap soft">
              <Status of={s.status}>{s.protected ? `${s.status}, protected` : s.status}</Status>
              <span>{s.ended ? `played ${seconds((Date.parse(s.ended) - Date.parse(s.created)) / 1000)}` : ago(s.created, clock.value)}</span>
              <span>{s.players} of {s.max_players} players</span>
              <span>{s.location}</span>
              <span class="mono">{s.dns_name ?? s.address}:{s.port}<Copy text={`${s.dns_name ?? s.address}:${s.port}`} what="address" /></span>
            </div>
            {s.reason && (
              <div class="alert b-warn"><Glyph tone="warn" /><span>It ended: {s.reason.toLowerCase().replaceAll("_", " ")}</span></div>
            )}
            <Panel title="Players">{s.lanes.length ? <Lanes v={s} /> : <p class="dim">Nobody has joined.</p>}</Panel>
            {!s.ended && <SessionLoad id={id} />}
            {may("muster:ReadLogs") && <SessionLog id={id} />}
            <div class="cols2">
              <Panel title="Game session">
                <div class="stack"><Facts of={[
                  ["ARN", <ID id={s.id} most={64} />], ["fleet", <ID id={s.fleet_id} to={to("/fleets", { id: s.fleet_id })} most={40} />], ["created by", s.creator_id], ["joining", s.join_policy === "ACCEPT_ALL" ? "open" : "closed"],
                  ["properties", s.properties?.map((p) => <div><code>{p.key}</code> {p.value}</div>)], ["data", s.data && <pre class="long" tabIndex={0} role="region" aria-label="Data of the game session">{s.data}</pre>],
                  ["host", s.host && (s.process?.host_id ? <A to={to("/hosts", { id: s.process.host_id })}>{s.host}</A> : s.host)],
                  ["process", s.process && <ID id={s.process.id} most={40} />],
                  ["process state", s.process && <Status of={s.process.status}>{`${s.process.status}${s.process.connected ? "" : ", not connected"}`}</Status>],
                  ["server SDK", s.process?.sdk && `${s.process.sdk.language ?? ""} ${s.process.sdk.version ?? ""}`.trim()],
                ]} />
                {s.matchmaker_data && <Match text={s.matchmaker_data} />}</div>
              </Panel>
              <Panel title="Story">
                <div class="events">
                  {s.events.map((e) => (
                    <>
                      <span class="dim mono">{time(e.at)}</span>
                      <span>{words(e.code)}</span>
                      <span class="text">{e.text}</span>
                    </>
                  ))}
                </div>
              </Panel>
            </div>
          </>
        )}
      </Show>
    </>
  );
}

/** A match's teams, from the matchmaker's data. */
function Match({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  let m: { matchId?: string; matchmakingConfigurationArn?: string; teams?: { name: string; players: { playerId: string }[] }[] } = {};
  try {
    m = JSON.parse(text) as typeof m;
  } catch {
    // shown as it is
  }
  return (
    <div class="stack">
      <h3>Match</h3>
      <Facts of={[
        ["matchmaker", m.matchmakingConfigurationArn && <A to={to("/matchmaking", { name: shortID(m.matchmakingConfigurationArn) })}>{shortID(m.matchmakingConfigurationArn)}</A>],
        ["match", m.matchId && <ID id={m.matchId} most={40} />],
        ...(m.teams ?? []).map((t) => [`team ${t.name}`, t.players.map((p) => <><A to={to("/players", { id: p.playerId })}>{p.playerId}</A> </>)] as [string, preact.ComponentChildren]),
      ]} />
      <button type="button" class="btn" aria-expanded={open} onClick={() => setOpen(!open)}>Matchmaker data</button>
      {open && <pre class="long" tabIndex={0} role="region" aria-label="Matchmaker data">{text}</pre>}
    </div>
  );
}

/** One row a player: reserved, in the game, gone. */
function Lanes({ v }: { v: SessionView }) {
  const now = v.ended ? Date.parse(v.ended) : clock.value, from = Date.parse(v.created), span = Math.max(5000, now - from);
  const { box, width: seen } = useWidth<HTMLDivElement>();
  const left = 220, width = Math.max(640, seen || 1200), rowH = 24, lanes = v.lanes.slice(0, 200);
  const x = (at: number): number => left + ((at - from) / span) * (width - left - 160);
  const height = lanes.length * rowH + 20;
  return (
    <>
      <div class="hero" ref={box} tabIndex={0} role="region" aria-label="Players over time"><svg width={width} height={height} role="group" aria-label={many(v.lanes.length, "player")}>
        {[0, 0.5, 1].map((f) => (
          <g key={f}>
            <line class="grid" x1={x(from + f * span)} x2={x(from + f * span)} y1="0" y2={height - 18} />
            <text class="axis" x={x(from + f * span)} y={height - 4} text-anchor="middle">{f === 1 && !v.ended ? "now" : time(from + f * span)}</text>
          </g>
        ))}
        {lanes.map((l, i) => {
          const start = Date.parse(l.created), stop = l.ended ? Date.parse(l.ended) : now, inside = l.accepted ? Date.parse(l.accepted) : l.status === "RESERVED" || l.status === "TIMEDOUT" ? undefined : start;
          const y = i * rowH, name = l.player_id.length > 30 ? `${l.player_id.slice(0, 14)}…${l.player_id.slice(-14)}` : l.player_id;
          const how = l.status === "RESERVED" ? `reserved, ${seconds((Date.parse(l.until ?? "") - now) / 1000)} left` : l.status === "TIMEDOUT" ? "never came" : l.ended ? `left ${time(l.ended)}` : "playing";
          return (
            <a key={l.player_id + l.created} class="lane" href={`${base}${to("/players", { id: l.player_id })}`} aria-label={`${name} ${how}`}>
              <rect class="hit" x="0" y={y} width={width} height={rowH} fill="transparent" />
              <text class="lane-label" x="4" y={y + 16}>{name}</text>{" "}
              <line x1={x(start)} x2={x(inside ?? stop)} y1={y + 12} y2={y + 12} stroke="var(--hold)" stroke-width="2" stroke-dasharray="3 3" />
              {inside !== undefined && <rect class={l.status === "ACTIVE" ? "f-ok" : "f-idle"} x={x(inside)} y={y + 7} width={Math.max(2, x(stop) - x(inside))} height="10" rx="1" />}
              <svg x={x(stop) + 4} y={y + 6} width="12" height="12" viewBox="0 0 12 12"><Glyph tone={toneOf(l.status)} /></svg>
              <text class="axis" x={x(stop) + 20} y={y + 16}>{how}</text>
            </a>
          );
        })}
      </svg></div>
      {v.lanes.length > lanes.length && <p class="dim">The first {lanes.length} of {count(v.lanes.length)}.</p>}
    </>
  );
}

function end(v: SessionView): void {
  ask({
    title: "End this game session?", verb: "End the game", destroys: true,
    effect: v.players ? `It ends a game of ${many(v.players, "player")}. The game server is asked to end it, and ended by force if it does not.` : "Nobody is in it.",
    command: `aws gamelift terminate-game-session --game-session-id ${quote(v.id)} --termination-mode ${v.protected ? "FORCE_TERMINATE" : "TRIGGER_ON_PROCESS_TERMINATE"}`,
    run: async () => {
      await call("TerminateGameSession", { GameSessionId: v.id, TerminationMode: v.protected ? "FORCE_TERMINATE" : "TRIGGER_ON_PROCESS_TERMINATE" });
      return "The game session is being ended.";
    },
  });
}
