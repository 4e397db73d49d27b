// World: where do they play, and how far away? Land is of Natural Earth.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { me, read } from "../core/api";
import { useLive, type Live } from "../core/live";
import { href, param, setParams, to } from "../core/route";
import { count, many, seconds } from "../core/text";
import { shapes, Toned, type Tone } from "../ui/glyph";
import { fewer, Histogram } from "../ui/histogram";
import { A, Command, Empty, Facts, Head, Panel, Show } from "../ui/parts";
import { Table } from "../ui/table";
import { hint } from "../ui/tip";
import { useWidth } from "../ui/width";

interface Place {
  location: string;
  state: Tone;
  reason?: string;
  city?: string;
  at?: { lat: number; lon: number };
  known: number;
  median_ms: number | null;
  p90_ms: number | null;
  current_player_sessions: number;
  active_game_sessions: number;
  activating_game_sessions: number;
  available_game_sessions: number;
}

interface Flow {
  from: string;
  to: string;
  players: number;
  median_ms: number | null;
}

interface Distance {
  location: string;
  step_ms: number;
  playing: number[];
  measured: number[];
  queues: { name: string; caps: { max: number; from_ms: number; until_ms?: number }[] }[];
}

interface WorldView {
  locations: Place[];
  flows: Flow[];
  chosen?: Distance;
}

const millis = (v: number | null | undefined): string => (v === null || v === undefined ? "–" : `${Math.round(v)} ms`);
const called = (p: Place): string => p.city || p.location;

export function World() {
  const chosen = param("location");
  const live = kept(useLive<WorldView>("world", chosen ? { location: chosen } : {}, 1000));
  return (
    <>
      <Head title="World" question="Where do they play, and how far away?" />
      <Show live={live} what="The map" height={480}>
        {(v) => (v.locations.length === 0 ? <None /> : <Board v={v} chosen={chosen} />)}
      </Show>
    </>
  );
}

/** Keeps what was shown until the next view has come. */
function kept(live: Live<WorldView>): Live<WorldView> {
  const last = useRef<WorldView | undefined>(undefined);
  const data = live.data.value;
  if (data) last.current = data;
  return data || !last.current ? live : { ...live, data: { ...live.data, value: last.current } as Live<WorldView>["data"] };
}

function None() {
  return (
    <div class="panel">
      <Empty command={`aws gamelift --endpoint-url ${location.origin} create-location --location-name custom-berlin --tags 'Key=muster:coordinates,Value=52.5 13.4'`}>
        No fleet has a location yet. AWS's Regions are on the map by themselves; a custom location is once it has a tag with its coordinates.
      </Empty>
    </div>
  );
}

function Board({ v, chosen }: { v: WorldView; chosen: string }) {
  const on = v.locations.filter((l) => l.at), off = v.locations.filter((l) => !l.at);
  const players = v.locations.reduce((n, l) => n + l.current_player_sessions, 0);
  const detail = v.chosen && v.chosen.location === chosen ? v.locations.find((l) => l.location === chosen) : undefined;
  return (
    <>
      <Panel title={`${many(players, "player")} in ${many(v.locations.length, "location")}`} note="the size is players, the color is the state; lines are players whom another location would have been nearer to" bare>
        <Map places={on} flows={v.flows} chosen={chosen} />
        {off.length > 0 && <Beside places={off} chosen={chosen} />}
      </Panel>
      {detail && <Detail place={detail} of={v.chosen!} flows={v.flows} names={v.locations} />}
      <Panel title="Locations" bare>
        <Table
          label="Locations" rows={v.locations} id={(l) => l.location} to={(l) => to("/world", { location: l.location })} most={520}
          columns={[
            { key: "location", title: "Location", value: (l) => called(l), cell: (l) => <Toned tone={l.state}><A to={to("/world", { location: l.location })} aria-current={l.location === chosen ? "true" : undefined}>{called(l)}</A></Toned> },
            ...(v.locations.some((l) => called(l) !== l.location) ? [{ key: "name", title: "Name", wide: true, value: (l: Place) => l.location, cell: (l: Place) => <span class="dim">{l.location}</span> }] : []),
            { key: "players", title: "Players", num: true, value: (l) => l.current_player_sessions, cell: (l) => count(l.current_player_sessions) },
            { key: "sessions", title: "Game sessions", num: true, wide: true, value: (l) => l.active_game_sessions, cell: (l) => count(l.active_game_sessions + l.activating_game_sessions) },
            { key: "free", title: "Free", num: true, value: (l) => l.available_game_sessions, cell: (l) => count(l.available_game_sessions) },
            { key: "median", title: "Median latency", num: true, value: (l) => l.median_ms ?? undefined, cell: (l) => millis(l.median_ms) },
            { key: "p90", title: "9 of 10 below", num: true, wide: true, value: (l) => l.p90_ms ?? undefined, cell: (l) => millis(l.p90_ms) },
            { key: "why", title: "", wide: true, cell: (l) => <span class="soft">{l.reason ?? ""}</span> },
          ]}
          foot="Latencies are those that players reported, of the placements of the last hour."
        />
      </Panel>
    </>
  );
}

/** Locations whose place nobody knows. */
function Beside({ places, chosen }: { places: Place[]; chosen: string }) {
  const who = me.value!;
  const first = places[0]!.location;
  return (
    <div class="beside">
      <span class="dim">Not on the map:</span>
      {places.map((p) => (
        <button key={p.location} type="button" class="chip" aria-pressed={p.location === chosen} onClick={() => setParams({ location: p.location === chosen ? "" : p.location })}>
          <Toned tone={p.state}>{p.location}</Toned> <b>{count(p.current_player_sessions)}</b>
        </button>
      ))}
      <details class="grow">
        <summary class="dim">How to put them on</summary>
        <Command text={`aws gamelift --endpoint-url ${location.origin} tag-resource --resource-arn arn:aws:gamelift:${who.region}:${who.account}:location/${first} --tags 'Key=muster:coordinates,Value=52.5 13.4' 'Key=muster:city,Value=Berlin'`} />
      </details>
    </div>
  );
}

// Equal Earth (Šavrič, Patterson and Jenny, 2018): areas are true, and the shapes near enough.

const a1 = 1.340264, a2 = -0.081106, a3 = 0.000893, a4 = 0.003796, m = Math.sqrt(3) / 2;

function project(lat: number, lon: number): [number, number] {
  const t = Math.asin(m * Math.sin((lat * Math.PI) / 180)), t2 = t * t, t6 = t2 * t2 * t2;
  return [((lon * Math.PI) / 180) * (Math.cos(t) / (m * (a1 + 3 * a2 * t2 + t6 * (7 * a3 + 9 * a4 * t2)))), t * (a1 + a2 * t2 + t6 * (a3 + a4 * t2))];
}

const north = project(81, 0)[1], south = project(-57, 0)[1], west = project(0, -162)[0], east = project(0, 178)[0];

/** The outlines of land as the path of an SVG, in thousandths of the projection's unit. */
function outline(land: number[][]): string {
  let d = "";
  for (const ring of land) {
    let lon = 0, lat = 0;
    for (let i = 0; i < ring.length; i += 2) {
      lon += ring[i]!;
      lat += ring[i + 1]!;
      const [x, y] = project(lat / 10, lon / 10);
      d += `${i ? "L" : "M"}${Math.round(1000 * x)} ${Math.round(-1000 * y)}`;
    }
    d += "Z";
  }
  return d;
}

let land: Promise<string> | undefined; // asked for once

function useLand(): string {
  const [d, setD] = useState("");
  useEffect(() => {
    land ??= read<{ land: number[][] }>("/console/assets/land.json").then((f) => outline(f.land));
    land.then(setD, () => (land = undefined)); // without it the locations are still right
  }, []);
  return d;
}

interface Mark extends Place {
  x: number;
  y: number;
  r: number;
  label?: { x: number; y: number; anchor: "start" | "end" | "middle" };
}

const least = 720; // pixels; on a narrower screen the map scrolls inside itself

function Map({ places, flows, chosen }: { places: Place[]; flows: Flow[]; chosen: string }) {
  const { box, width } = useWidth<HTMLDivElement>();
  const d = useLand();
  const w = Math.max(least, width), scale = Math.min(w / (east - west), 600 / (north - south));
  const left = (w - scale * (east - west)) / 2;
  const h = Math.round(scale * (north - south));
  const at = (p: { lat: number; lon: number }): [number, number] => {
    const [x, y] = project(p.lat, p.lon);
    return [left + (x - west) * scale, (north - y) * scale];
  };
  const marks = useMemo(() => labeled(places.map((p) => {
    const [x, y] = at(p.at!);
    return { ...p, x, y, r: Math.min(34, 6 + 1.5 * Math.sqrt(p.current_player_sessions)) };
  }), w), [places, w]);
  useEffect(() => {
    const el = box.current!;
    const most = marks.length ? marks.reduce((a, b) => (b.current_player_sessions > a.current_player_sessions ? b : a)) : undefined;
    if (width && width < least) el.scrollLeft = (most?.x ?? w / 2) - width / 2;
  }, [width > 0]);
  const top = Math.max(1, ...flows.map((f) => f.players));
  return (
    <div class="map" ref={box} tabIndex={width && width < least ? 0 : undefined} role="region" aria-label="Map of the locations">
      {width > 0 && (
        <svg width={w} height={h} role="group" aria-label={`${many(marks.length, "location")} on a map of the world`}>
          <path class="land" d={d} transform={`translate(${left - west * scale} ${north * scale}) scale(${scale / 1000})`} />
          {flows.map((f) => {
            const a = marks.find((p) => p.location === f.from), b = marks.find((p) => p.location === f.to);
            if (!a || !b) return null;
            const lift = Math.min(90, 0.25 * Math.hypot(b.x - a.x, b.y - a.y));
            return (
              <path
                key={`${f.from} ${f.to}`} class={`flow ${chosen && f.to !== chosen && f.from !== chosen ? "off" : ""}`} d={`M${a.x} ${a.y}Q${(a.x + b.x) / 2} ${(a.y + b.y) / 2 - lift} ${b.x} ${b.y}`}
                ref={(e) => { if (e) e.style.strokeWidth = `${1 + (5 * f.players) / top}px`; }}
                onMouseMove={(e) => hint(e, `${many(f.players, "player")} near ${called(a)} play in ${called(b)}\nmedian latency ${millis(f.median_ms)}`)} onMouseLeave={() => hint(null)}
              />
            );
          })}
          {marks.map((p) => (
            <a
              key={p.location} class={`mark f-${p.state}`} href={href(to("/world", { location: p.location }))} aria-label={`${called(p)} ${many(p.current_player_sessions, "player")}, ${p.reason ?? "well"}${p.known ? `, median latency ${millis(p.median_ms)}` : ""}`} aria-current={p.location === chosen ? "true" : undefined}
              onClick={(e) => { e.preventDefault(); setParams({ location: p.location === chosen ? "" : p.location }); }}
              onMouseMove={(e) => hint(e, `${called(p)}, ${p.location}\n${many(p.current_player_sessions, "player")}, ${many(p.active_game_sessions, "game session")}, ${p.available_game_sessions} free${p.known ? `\nmedian latency ${millis(p.median_ms)} of ${p.known}` : ""}${p.reason ? `\n${p.reason}` : ""}`)} onMouseLeave={() => hint(null)}
            >
              <circle class="reach" cx={p.x} cy={p.y} r={p.r} />
              {p.location === chosen && <circle class="ring" cx={p.x} cy={p.y} r={p.r + 4} />}
              <path d={shapes[p.state]} fill-rule="evenodd" transform={`translate(${p.x - 5} ${p.y - 5}) scale(.8333)`} />
              {p.label && (
                <text x={p.label.x} y={p.label.y} text-anchor={p.label.anchor}>
                  <tspan>{called(p)}</tspan>{" "}
                  <tspan class="n" dx="1">{count(p.current_player_sessions)}</tspan>
                </text>
              )}
            </a>
          ))}
        </svg>
      )}
    </div>
  );
}

/** Gives names to the marks for which there is room, those with the most players first. */
function labeled(marks: Mark[], width: number): Mark[] {
  const taken: [number, number, number, number][] = marks.map((p) => [p.x - 7, p.y - 7, p.x + 7, p.y + 7]);
  const order = [...marks].sort((a, b) => b.current_player_sessions - a.current_player_sessions);
  for (const p of order) {
    const w = 6.6 * (called(p).length + String(p.current_player_sessions).length + 1), r = p.r + 4;
    const own = marks.indexOf(p);
    const tries: [NonNullable<Mark["label"]>, [number, number, number, number]][] = [
      [{ x: p.x + r, y: p.y + 4, anchor: "start" }, [p.x + r, p.y - 7, p.x + r + w, p.y + 7]],
      [{ x: p.x - r, y: p.y + 4, anchor: "end" }, [p.x - r - w, p.y - 7, p.x - r, p.y + 7]],
      [{ x: p.x, y: p.y + r + 10, anchor: "middle" }, [p.x - w / 2, p.y + r - 1, p.x + w / 2, p.y + r + 13]],
      [{ x: p.x, y: p.y - r - 3, anchor: "middle" }, [p.x - w / 2, p.y - r - 14, p.x + w / 2, p.y - r]],
    ];
    const found = tries.find(([, b]) => b[0] > 2 && b[2] < width - 2 && b[1] > 0 && !taken.some((o, i) => i !== own && o[0] < b[2] && b[0] < o[2] && o[1] < b[3] && b[1] < o[3]));
    if (!found) continue;
    p.label = found[0];
    taken.push(found[1]);
  }
  return order.reverse(); // the smaller ones above
}

function Detail({ place, of, flows, names }: { place: Place; of: Distance; flows: Flow[]; names: Place[] }) {
  const caps = of.queues.flatMap((q) => q.caps.filter((c) => c.max > 0).map((c) => ({ at: c.max, text: `${q.name} ${c.max} ms${c.from_ms ? ` after ${seconds(c.from_ms / 1000).replace(".0 ", " ")}` : ""}` })));
  const reach = Math.min(400, Math.max(60, ...caps.map((c) => c.at * 1.15)));
  const whole = of.playing.map((v, i) => v + (of.measured[i] ?? 0));
  const size = fewer(whole, of.step_ms, 40, reach);
  const cut = (v: number[]): number[] => {
    const by = size.step / of.step_ms;
    return size.counts.map((_, i) => v.slice(i * by, (i + 1) * by).reduce((a, b) => a + b, 0));
  };
  const name = (l: string): string => names.find((p) => p.location === l)?.city || l;
  const far = flows.filter((f) => f.to === place.location);
  const away = flows.filter((f) => f.from === place.location);
  const told = (f: Flow[], other: (f: Flow) => string) => f.slice(0, 4).map((x) => `${name(other(x))} ${x.players} (${millis(x.median_ms)})`).join(", ");
  return (
    <Panel title={`Latency to ${called(place)}`} note={place.known ? `${many(place.known, "player")} of the last hour` : undefined} right={<button type="button" class="btn" onClick={() => setParams({ location: "" })}>Close</button>}>
      {place.known === 0 && of.measured.every((n) => n === 0) ? (
        <p class="dim">Nobody who was placed in the last hour reported a latency to {place.location}. Latencies come with PlayerLatencies of a placement, LatencyInMs of a ticket, or from the beacons of the player API.</p>
      ) : (
        <div class="stack">
          <Histogram
            label={`Latency to ${called(place)}`} step={size.step} open={size.open} show={(v) => `${Math.round(v)} ms`} height={200} limits={caps.slice(0, 6)}
            main={{ title: "play here", counts: cut(of.playing) }} other={{ title: "measured it", counts: cut(of.measured) }}
          />
          <div class="legend"><span><i class="key bg-accent" />share of those who play here</span><span><i class="key bg-outline" />of all who measured it</span>{caps.length > 0 && <span><i class="key bg-limit" />latency caps of queues</span>}</div>
          <Facts of={[
            ["half are below", millis(place.median_ms)], ["9 of 10 below", millis(place.p90_ms)],
            ["would be nearer to", far.length ? told(far, (f) => f.from) : place.known ? "nowhere else: this is the nearest location of all who play here" : undefined],
            ["near, but play in", away.length ? told(away, (f) => f.to) : undefined],
            ["queues", of.queues.length ? of.queues.map((q) => <><A to={to("/queues", { name: q.name })}>{q.name}</A> </>) : undefined],
          ]} />
        </div>
      )}
    </Panel>
  );
}
