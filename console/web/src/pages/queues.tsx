// Queues: why is this one waiting? (Temporal's timelines: one row a placement, open ones run
// on to now.)

import { useEffect, useState } from "preact/hooks";
import { call, may, read } from "../core/api";
import { clock, useLive } from "../core/live";
import { base, param, to } from "../core/route";
import { count, many, quote, seconds, shortID, time } from "../core/text";
import { ask } from "../ui/act";
import { Chart } from "../ui/chart";
import { Glyph, shapes, Status, toneOf, type Tone } from "../ui/glyph";
import { A, Ago, Empty, Facts, Figure, Head, ID, Panel, Show } from "../ui/parts";
import { Ranges, ranged, rangeText } from "../ui/range";
import { every, Spark, Swatch, type Series } from "../ui/spark";
import { Table } from "../ui/table";
import { hint } from "../ui/tip";
import { useWidth } from "../ui/width";

interface QueueState {
  name: string;
  arn: string;
  pending: number;
  average_wait_ms: number;
  timeout_ms: number;
  destinations: string[];
}

interface Bar {
  id: string;
  status: string;
  started: string;
  ended?: string;
  deadline: string;
  players?: number;
  location?: string;
  session?: string;
  reason?: string;
  spans: { from_ms: number; held: string; cap?: number }[];
}

interface QueueView extends QueueState {
  held: Record<string, number>;
  waiting: Bar[];
  ended: Bar[];
  counts: Record<string, number>;
  quantiles: Record<string, number | null>;
  series: Series;
  waits: Series;
}

export function Queues() {
  const name = param("name");
  return name ? <Queue name={name} /> : <List />;
}

function List() {
  const live = useLive<{ queues: (QueueState & { placed: number; failed: number; p90: number | null; spark: Series })[] }>("queues", ranged(), 1000);
  return (
    <>
      <Head title="Queues" question="Does every game session find a place?"><Ranges /></Head>
      <Show live={live} what="The list of queues">
        {(v) =>
          v.queues.length === 0 ? (
            <div class="panel">
              <Empty command={`aws gamelift --endpoint-url ${location.origin} create-game-session-queue --name main --destinations DestinationArn=FLEET-ARN`}>
                There is no queue. A queue looks for the best place for a game session, in several fleets and locations.
              </Empty>
            </div>
          ) : (
            <Panel bare>
              <Table
                label="Queues" rows={v.queues} id={(q) => q.name} to={(q) => to("/queues", { name: q.name })}
                columns={[
                  { key: "name", title: "Queue", value: (q) => q.name, cell: (q) => <A to={to("/queues", { name: q.name })}>{q.name}</A> },
                  { key: "pending", title: "Waiting", num: true, value: (q) => q.pending, cell: (q) => count(q.pending) },
                  { key: "wait", title: "Mean wait now", num: true, value: (q) => q.average_wait_ms, cell: (q) => (q.pending ? seconds(q.average_wait_ms / 1000) : "–") },
                  { key: "placed", title: "Placed", num: true, value: (q) => q.placed, cell: (q) => count(q.placed) },
                  { key: "failed", title: "Failed", num: true, value: (q) => q.failed, cell: (q) => (q.failed ? <span class="c-fail">{count(q.failed)}</span> : "0") },
                  { key: "p90", title: "p90", num: true, value: (q) => q.p90 ?? undefined, cell: (q) => seconds(q.p90) },
                  { key: "spark", title: `Last ${rangeText()}`, wide: true, cell: (q) => <div class="cell-spark"><Spark series={q.spark} name="placed" label={`placed in the last ${rangeText()}: ${q.placed}`} /></div> },
                  { key: "destinations", title: "Destinations", num: true, wide: true, value: (q) => q.destinations.length, cell: (q) => q.destinations.length },
                ]}
              />
            </Panel>
          )
        }
      </Show>
    </>
  );
}

function Queue({ name }: { name: string }) {
  const live = useLive<QueueView>("queue", ranged({ name }), 500);
  const chosen = param("placement");
  return (
    <>
      <Head title={name} question="Why is this one waiting?"><Ranges /></Head>
      <Show live={live} what={`Queue ${name}`}>
        {(v) => (
          <>
            <div class="cols4">
              <Panel><Figure value={count(v.pending)} label="placements wait" /></Panel>
              <Panel><Figure value={seconds(v.quantiles["p50"])} label="half are placed within" /></Panel>
              <Panel><Figure value={seconds(v.quantiles["p90"])} label="9 of 10 within" /></Panel>
              <Panel>
                <Figure value={count((v.counts["placement FAILED"] ?? 0) + (v.counts["placement TIMED_OUT"] ?? 0))} unit={`of ${count((v.counts["placed"] ?? 0) + (v.counts["placement FAILED"] ?? 0) + (v.counts["placement TIMED_OUT"] ?? 0))}`} label="found no place" />
              </Panel>
            </div>
            <Panel title="Placements" note={held(v)} right={<Legend />}>
              {v.waiting.length + v.ended.length === 0 ? <p class="dim">Nobody waits, and this server has placed nothing yet.</p> : <Waterfall waiting={v.waiting} ended={v.ended} queue={v} chosen={chosen} />}
              {v.pending > v.waiting.length && <p class="dim">The {v.waiting.length} longest waiting of {count(v.pending)}.</p>}
            </Panel>
            {chosen && <Placement id={chosen} />}
            <div class="cols2">
              <Panel title="Wait until placed" note={`each ${every(v.waits)}`}><Chart label="Waits" series={v.waits} unit={seconds} lines={[{ key: "p99", title: "p99", color: "control", band: "p90" }, { key: "p90", title: "p90", color: "busy", band: "p50" }, { key: "p50", title: "p50", color: "accent" }]} /></Panel>
              <Panel title={`Placements, each ${every(v.series)}`}><Chart label="Placements" series={v.series} lines={[{ key: "placed", title: "placed", color: "ok" }, { key: "placement TIMED_OUT", title: "timed out", color: "warn" }, { key: "placement FAILED", title: "failed", color: "fail" }]} /></Panel>
            </div>
            <Panel title="Destinations">
              <Facts of={[["ARN", <ID id={v.arn} most={60} />], ["times out after", seconds(v.timeout_ms / 1000)], ...v.destinations.map((d, i) => [`${i + 1}`, <ID id={d} text={shortID(d)} to={d.includes(":fleet/") || d.includes("containerfleet/") ? to("/fleets", { id: shortID(d) }) : undefined} />] as [string, preact.ComponentChildren])]} />
            </Panel>
          </>
        )}
      </Show>
    </>
  );
}

const reasons: Record<string, { tone: Tone; text: string; hatch: string }> = {
  "no process": { tone: "idle", text: "no free process", hatch: "" },
  "latency cap": { tone: "warn", text: "over the latency cap", hatch: "a" },
  "not allowed": { tone: "hold", text: "not allowed by the filter or the request", hatch: "b" },
  "no fleet": { tone: "fail", text: "no destination can host", hatch: "c" },
  activating: { tone: "busy", text: "being started", hatch: "" },
};

const held = (v: QueueView): string =>
  Object.entries(v.held)
    .sort((a, b) => b[1] - a[1])
    .map(([h, n]) => `${n} ${reasons[h]?.text ?? h}`)
    .join(", ");

function Legend() {
  return (
    <span class="legend">
      {Object.values(reasons).map((r) => (
        <span key={r.text}>
          <Swatch color={r.tone} hatch={r.hatch} />
          {r.text}
        </span>
      ))}
    </span>
  );
}

const rowH = 22;

/** Placements as bars over the server's time, each part colored and hatched by what held it. */
function Waterfall({ waiting, ended, queue, chosen }: { waiting: Bar[]; ended: Bar[]; queue: QueueView; chosen: string }) {
  const now = clock.value;
  const shown = [...waiting, ...ended.slice(0, Math.max(10, 30 - waiting.length))];
  const earliest = Math.min(...shown.map((b) => Date.parse(b.started)));
  const from = Math.max(earliest, now - 15 * 60_000) - 1000;
  const span = Math.max(20_000, now - from);
  const { box, width: seen } = useWidth<HTMLDivElement>();
  const label = 176, width = Math.max(640, seen || 1200), x = (at: number): number => label + ((Math.max(at, from) - from) / span) * (width - label - 90);
  const ticks = [0.25, 0.5, 0.75, 1].map((f) => from + f * span);
  const height = shown.length * rowH + 22;
  return (
    <div class="hero" ref={box} tabIndex={0} role="region" aria-label="Placements over time">
      <svg width={width} height={height} role="group" aria-label={`${many(waiting.length, "waiting placement")}, ${many(ended.length, "ended one")}`}>
        <defs>
          <pattern id="hatch-a" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatch-line" y2="6" /></pattern>
          <pattern id="hatch-b" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><line class="hatch-line" y2="6" /></pattern>
          <pattern id="hatch-c" width="5" height="5" patternUnits="userSpaceOnUse"><line class="hatch-line" y2="5" /></pattern>
        </defs>
        {ticks.map((t) => (
          <g key={t}>
            <line class="grid" x1={x(t)} x2={x(t)} y1="0" y2={height - 18} />
            <text class="axis" x={x(t)} y={height - 4} text-anchor="middle">{t === ticks[3] ? "now" : time(t)}</text>
          </g>
        ))}
        {shown.map((b, i) => (
          <Lane key={b.id} bar={b} y={i * rowH} x={x} now={now} width={width} queue={queue.name} on={b.id === chosen} />
        ))}
      </svg>
    </div>
  );
}

function Lane({ bar, y, x, now, width, queue, on }: { bar: Bar; y: number; x: (at: number) => number; now: number; width: number; queue: string; on: boolean }) {
  const start = Date.parse(bar.started), end = bar.ended ? Date.parse(bar.ended) : now;
  const parts = bar.spans.map((s, i) => ({ ...s, from: start + s.from_ms, to: bar.spans[i + 1] ? start + bar.spans[i + 1]!.from_ms : end }));
  const name = bar.id.length > 24 ? `${bar.id.slice(0, 10)}…${bar.id.slice(-12)}` : bar.id, lasted = seconds((end - start) / 1000);
  const text = `${bar.id}\n${bar.status.toLowerCase()} ${bar.ended ? `after ${seconds((end - start) / 1000)}` : `for ${seconds((end - start) / 1000)}`}${bar.location ? `, ${bar.location}` : ""}\n${parts.map((p) => `${reasons[p.held]?.text ?? p.held}${p.cap ? ` (cap ${p.cap} ms)` : ""}: ${seconds((p.to - p.from) / 1000)}`).join("\n")}${bar.reason ? `\n${bar.reason}` : ""}`;
  return (
    <a href={`${base}${to("/queues", { name: queue, placement: bar.id })}`} class={`lane ${on ? "sel" : ""}`} aria-label={`${name} ${lasted}, ${text.split("\n").slice(1).join(", ")}`} onMouseMove={(e) => hint(e, text)} onMouseLeave={() => hint(null)} onClick={() => hint(null)}>
      <rect class="hit" x="0" y={y} width={width} height={rowH} fill="transparent" />
      <text class="lane-label" x="4" y={y + 15}>{name}</text>{" "}
      {parts.map((p, i) => {
        const r = reasons[p.held] ?? reasons["no process"]!;
        const w = Math.max(1.5, x(p.to) - x(p.from));
        return (
          <g key={i}>
            <rect class={`f-${r.tone} ${r.tone === "idle" ? "faint" : ""}`} x={x(p.from)} y={y + 6} width={w} height={10} rx="1" />
            {r.hatch && <rect x={x(p.from)} y={y + 6} width={w} height={10} fill={`url(#hatch-${r.hatch})`} />}
          </g>
        );
      })}
      {bar.ended ? (
        <g transform={`translate(${x(end) + 4} ${y + 5})`}><svg width="12" height="12" viewBox="0 0 12 12"><GlyphPath tone={toneOf(bar.status)} /></svg></g>
      ) : (
        <path class="f-busy" d={`M${x(end)} ${y + 5}l7 6-7 6Z`} />
      )}
      <text class="axis" x={x(end) + 20} y={y + 15}>{lasted}</text>
    </a>
  );
}

function GlyphPath({ tone }: { tone: Tone }) {
  return <path class={`f-${tone}`} d={shapes[tone]} fill-rule="evenodd" />;
}

interface Round {
  at: string;
  cap?: number;
  result: string;
  more?: number;
  candidates?: { place: { fleet_id: string; location: string; remote?: string }; outcome: string; text?: string; latency?: number; failed?: number; player?: string; ms?: number }[];
}

interface Explained {
  placement: { id: string; status: string; started: string; ended?: string; deadline: string; game_session_id?: string; location?: string; reason?: string };
  request: { max_players: number; name?: string; players?: { PlayerID: string }[] };
  attempt?: { status: string; began: string; place: { fleet_id: string; location: string; remote?: string } };
  rounds: Round[];
  now?: Round;
}

const outcomes: Record<string, Tone> = { CHOSEN: "ok", NOT_NEEDED: "idle", NO_FREE_PROCESS: "idle", OVER_LATENCY_CAP: "warn", NOT_ALLOWED: "hold", NOT_IN_OVERRIDE: "hold", FLEET_NOT_ACTIVE: "fail", NO_SUCH_FLEET: "fail", TERMINAL_ALIAS: "fail", REMOTE_UNAVAILABLE: "fail" };

/** One placement: its candidates now, or in the round that decided. */
function Placement({ id }: { id: string }) {
  const [told, setTold] = useState<Explained | null>(null);
  const [problem, setProblem] = useState("");
  const ended = told?.placement.id === id && !!told.placement.ended;
  useEffect(() => {
    if (ended) return;
    read<Explained>(`/console/api/placements/${encodeURIComponent(id)}/explain`)
      .then((e) => { setTold(e); setProblem(""); })
      .catch((e: Error) => setProblem(e.message));
  }, [id, ended ? 0 : clock.value]);
  if (problem) return <Panel title={id}><p>{problem}</p></Panel>;
  if (!told) return null;
  const p = told.placement, round = told.now ?? told.rounds.at(-1);
  return (
    <Panel
      title={<span class="row"><Status of={p.status} /> <ID id={p.id} most={40} /></span>}
      note={p.ended ? `ended after ${seconds((Date.parse(p.ended) - Date.parse(p.started)) / 1000)}` : `times out in ${seconds((Date.parse(p.deadline) - clock.value) / 1000)}`}
      right={!p.ended && may("StopGameSessionPlacement") && <button type="button" class="btn ends" onClick={() => stop(p.id)}>Cancel …</button>}
    >
      <div class="stack">
        <Facts of={[
          ["game session", p.game_session_id && <ID id={p.game_session_id} to={to("/sessions", { id: p.game_session_id })} text={shortID(p.game_session_id)} />],
          ["location", p.location],
          ["at a remote", told.attempt && <span>{told.attempt.place.remote}, {told.attempt.place.location}: {told.attempt.status} (since <Ago at={told.attempt.began} />)</span>],
          ["why", p.reason],
          ["players", told.request.players?.length ? told.request.players.slice(0, 16).map((w) => <><A to={to("/players", { id: w.PlayerID })}>{w.PlayerID}</A> </>) : undefined],
          ["decided", round && <span>{round.result} (<Ago at={round.at} sentence />{round.cap ? `, cap ${round.cap} ms` : ""})</span>],
        ]} />
        {round?.candidates && (
          <div class="events">
            {round.candidates.map((c) => (
              <>
                <Glyph tone={outcomes[c.outcome] ?? "idle"} />
                <span>{c.place.remote ? <>{c.place.location || "?"} <span class="tag">{c.place.remote}</span></> : <A to={to("/fleets", { id: c.place.fleet_id })}>{c.place.location}</A>} <span class="dim mono">{c.place.fleet_id.slice(-12)}</span></span>
                <span class="text">{c.latency !== undefined ? `${Math.round(c.latency)} ms · ` : ""}{c.text ?? c.outcome}</span>
              </>
            ))}
          </div>
        )}
        {round?.more ? <p class="dim">{round.candidates?.length} of {(round.candidates?.length ?? 0) + round.more} candidates.</p> : null}
      </div>
    </Panel>
  );
}

function stop(id: string): void {
  ask({
    title: "Cancel this placement?", verb: "Cancel the placement", destroys: true,
    effect: "The players who wait for it get no game session.",
    command: `aws gamelift stop-game-session-placement --placement-id ${quote(id)}`,
    run: async () => {
      await call("StopGameSessionPlacement", { PlacementId: id });
      return "The placement was canceled.";
    },
  });
}
