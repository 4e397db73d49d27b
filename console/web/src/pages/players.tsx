// Players: where was this person?

import { useRef, useState } from "preact/hooks";
import { may, send } from "../core/api";
import { useLive } from "../core/live";
import { go, param, to } from "../core/route";
import { count, many, moment, quote, seconds, shortID, time } from "../core/text";
import { ask } from "../ui/act";
import { Glyph, Status, toneOf } from "../ui/glyph";
import { A, Ago, Empty, Facts, Head, ID, Panel, Show } from "../ui/parts";
import { Table } from "../ui/table";
import { Tickets, type TicketRow } from "../ui/tickets";
import { useWidth } from "../ui/width";

interface Stay {
  session: string;
  fleet_id: string;
  status: string;
  created: string;
  ended?: string;
}

interface PlayerView {
  id: string;
  stays: Stay[];
  more: boolean;
  tickets: TicketRow[];
  account?: { name?: string; created: string; links: string[]; banned: boolean; reason?: string; until?: string };
  party?: { id: string; leader: string; members: string[] };
  latencies?: Record<string, number>;
}

interface Stored {
  namespace: string;
  key: string;
  value: string;
  size: number;
  version: number;
  updated: string;
}

export function Players() {
  const id = param("id");
  return id ? <One id={id} /> : <Ask />;
}

function Ask() {
  const [id, setID] = useState("");
  return (
    <>
      <Head title="Players" question="Where was this person?" />
      <Panel>
        <form class="row wrap" onSubmit={(e) => { e.preventDefault(); if (id.trim()) go(to("/players", { id: id.trim() })); }}>
          <label class="field grow">
            <span>Player id, as the game's backend gives it to the API, or of the player API</span>
            <input class="input mono" value={id} onInput={(e) => setID(e.currentTarget.value)} autofocus />
          </label>
          <button type="submit" class="btn first">Show</button>
        </form>
      </Panel>
      <p class="soft">It shows the games and tickets of a player, the party and the account. With a part of the id, <kbd>/</kbd> finds those who play or wait.</p>
    </>
  );
}

function One({ id }: { id: string }) {
  const live = useLive<PlayerView>("player", { id }, 1000);
  return (
    <>
      <Head title={<ID id={id} most={48} />} question="Where was this person?">
        {live.data.value?.account && may("muster:BanPlayer") && <Ban id={id} account={live.data.value.account} />}
      </Head>
      <Show live={live} what="This player">
        {(v) => {
          const here = v.stays.find((s) => !s.ended);
          const [title, hours] = spanOf(v.stays);
          const nothing = v.stays.length === 0 && v.tickets.length === 0 && !v.account;
          if (nothing) return <div class="panel"><Empty>Nobody with this id has been seen in the last 30 days. Ids are exact; check upper and lower case.</Empty></div>;
          return (
            <>
              <div class="row wrap">
                {here ? <><Glyph tone={toneOf(here.status)} /><span>{here.status === "RESERVED" ? "is expected in" : "plays in"} <A to={to("/sessions", { id: here.session })}>{shortID(here.session)}</A></span></> : <span class="soft">is in no game{v.stays[0] && <>; left the last one <Ago at={v.stays[0].ended} sentence /></>}</span>}
                {v.account?.banned && <span class="st c-fail"><Glyph tone="fail" />banned until {moment(v.account.until)}: {v.account.reason}</span>}
              </div>
              {v.stays.length > 0 && <Panel title={title}><Hours stays={v.stays} hours={hours} title={title} /></Panel>}
              <div class="cols2">
                <Panel title="Games" note={v.more ? "the first 500" : undefined} bare>
                  {v.stays.length ? (
                    <Table
                      label="Games" rows={v.stays} id={(s) => s.session + s.created} to={(s) => to("/sessions", { id: s.session })} most={420}
                      columns={[
                        { key: "status", title: "", cell: (s) => <Status of={s.status} /> },
                        { key: "session", title: "Game session", cell: (s) => <A to={to("/sessions", { id: s.session })} class="mono">{shortID(s.session).slice(-12)}</A> },
                        { key: "created", title: "Came", value: (s) => Date.parse(s.created), cell: (s) => moment(s.created) },
                        { key: "stayed", title: "Stayed", num: true, cell: (s) => (s.ended ? seconds((Date.parse(s.ended) - Date.parse(s.created)) / 1000) : <Ago at={s.created} />) },
                      ]}
                    />
                  ) : <Empty>This player has been in no game.</Empty>}
                </Panel>
                <Panel title="Tickets" note="open ones, and the newest that ended" bare>
                  {v.tickets.length ? <Tickets rows={v.tickets} label="Tickets" one /> : <Empty>This player looks for no match.</Empty>}
                </Panel>
              </div>
              {v.latencies && <Panel title="Latency, ms" note="as the player reported it last"><Latencies of={v.latencies} /></Panel>}
              {v.account && may("muster:ReadPlayerData") && <Data id={id} />}
              {(v.account || v.party) && (
                <Panel title="Account">
                  <Facts of={[
                    ["name", v.account?.name], ["since", v.account && moment(v.account.created)], ["logs in with", v.account?.links.join(", ") || (v.account && "a guest's secret")],
                    ["party", v.party && <span>{v.party.members.map((m) => <><A to={to("/players", { id: m })}>{m}</A>{m === v.party!.leader ? " (leader) " : " "}</>)}</span>],
                  ]} />
                </Panel>
              )}
            </>
          );
        }}
      </Show>
    </>
  );
}

const spans: [string, number][] = [["The last hour", 1], ["The last 6 hours", 6], ["The last 24 hours", 24]];

/** Returns the shortest span that has all games of the last day: its title and its hours. */
const spanOf = (stays: Stay[]): [string, number] => spans.find(([, hours]) => stays.every((s) => Date.parse(s.created) > Date.now() - hours * 3_600_000)) ?? spans.at(-1)!;

/** The last hours as a strip: one mark a game. */
function Hours({ stays, hours, title }: { stays: Stay[]; hours: number; title: string }) {
  const { box, width: wide } = useWidth<HTMLDivElement>();
  const width = Math.max(240, wide || 1000);
  const now = Date.now(), span = hours * 3_600_000, from = now - span;
  const x = (at: number): number => ((Math.max(at, from) - from) / span) * width;
  const seen = stays.filter((s) => !s.ended || Date.parse(s.ended) > from);
  return (
    <div class="hero" ref={box} tabIndex={0} role="region" aria-label={title}><svg width={width} height="40" role="img" aria-label={`${many(seen.length, "game")} in ${title.toLowerCase()}`}>
      <rect x="0" y="6" width={width} height="14" fill="var(--sunken)" />
      {seen.map((s) => (
        <rect key={s.session + s.created} class={`f-${s.ended ? "idle" : "ok"}`} x={x(Date.parse(s.created))} y="6" width={Math.max(2, x(s.ended ? Date.parse(s.ended) : now) - x(Date.parse(s.created)) - 1)} height="14" />
      ))}
      {[0, 1, 2, 3, 4].map((i) => (
        <text key={i} class="axis" x={(i / 4) * width} y="36" text-anchor={i === 0 ? "start" : i === 4 ? "end" : "middle"}>{i === 4 ? "now" : time(from + (i / 4) * span).slice(0, 5)}</text>
      ))}
    </svg></div>
  );
}

const until: [string, number][] = [["1 hour", 1], ["1 day", 24], ["7 days", 168], ["30 days", 720], ["for good", 24 * 365 * 100]];

/** Bans a player, or lifts the ban. */
function Ban({ id, account }: { id: string; account: NonNullable<PlayerView["account"]> }) {
  const path = `/player/v1/server/players/${encodeURIComponent(id)}/ban`;
  const form = useRef({ reason: "", hours: 24 });
  const ban = (): void => {
    form.current = { reason: "", hours: 24 };
    const body = () => ({ until: new Date(Date.now() + form.current.hours * 3_600_000).toISOString(), reason: form.current.reason });
    ask({
      title: `Ban ${account.name || id}`,
      effect: "The player is logged out everywhere, leaves party and tickets, and cannot log in until the ban ends. A game that is being played goes on.",
      command: `muster players ban ${quote(id)} --until 24h --reason '…'`, verb: "Ban", destroys: true,
      form: (
        <div class="stack">
          <label class="field"><span>Until</span>
            <select class="input" onChange={(e) => (form.current.hours = Number(e.currentTarget.value))}>
              {until.map(([text, hours]) => <option key={text} value={hours} selected={hours === 24}>{text}</option>)}
            </select>
          </label>
          <label class="field"><span>Reason, for other operators</span><input class="input" maxLength={250} onInput={(e) => (form.current.reason = e.currentTarget.value)} /></label>
        </div>
      ),
      run: async () => { await send("PUT", path, body()); return `${account.name || id} is banned.`; },
    });
  };
  const lift = (): void => {
    const body = { until: new Date(0).toISOString() };
    ask({ title: `Lift the ban of ${account.name || id}`, effect: "The player can log in again at once.", command: `muster players unban ${quote(id)}`, verb: "Lift the ban", run: async () => { await send("PUT", path, body); return "The ban is lifted."; } });
  };
  return account.banned ? <button type="button" class="btn" onClick={lift}>Lift the ban …</button> : <button type="button" class="btn ends" onClick={ban}>Ban …</button>;
}

/** Latencies as bars, the nearest location first. */
function Latencies({ of }: { of: Record<string, number> }) {
  const rows = Object.entries(of).sort((a, b) => a[1] - b[1]).slice(0, 16);
  const top = Math.max(1, ...rows.map((r) => r[1]));
  return (
    <div class="loads">
      {rows.map(([name, ms]) => (
        <>
          <A to={to("/world", { location: name })}>{name}</A>
          <div class="track" aria-hidden="true"><div class="bg-accent" ref={(e) => { if (e) e.style.width = `${(ms / top) * 100}%`; }} /></div>
          <span class="num">{ms} ms</span>
        </>
      ))}
    </div>
  );
}

/** What is stored for the player. */
function Data({ id }: { id: string }) {
  const live = useLive<{ values: Stored[] }>("player-data", { id }, 2000);
  const [open, setOpen] = useState("");
  return (
    <Panel title="Stored data" note="by namespace; server and secret are written by game servers" bare>
      <Show live={live} what="The stored data" height={80}>
        {(v) => v.values.length === 0 ? <Empty>Nothing is stored for this player.</Empty> : (
          <>
            <Table
              label="Stored data" rows={v.values} id={(d) => `${d.namespace}/${d.key}`} most={320}
              columns={[
                { key: "namespace", title: "Namespace", value: (d) => d.namespace, cell: (d) => d.namespace },
                { key: "key", title: "Key", value: (d) => d.key, cell: (d) => <button type="button" class="link mono" aria-expanded={open === `${d.namespace}/${d.key}`} onClick={() => setOpen(open === `${d.namespace}/${d.key}` ? "" : `${d.namespace}/${d.key}`)}>{d.key}</button> },
                { key: "value", title: "Value", wide: true, cell: (d) => <span class="mono">{d.value.slice(0, 80)}</span> },
                { key: "size", title: "Bytes", num: true, wide: true, value: (d) => d.size, cell: (d) => count(d.size) },
                { key: "version", title: "Version", num: true, wide: true, value: (d) => d.version, cell: (d) => d.version },
                { key: "updated", title: "Written", num: true, value: (d) => d.updated, cell: (d) => <Ago at={d.updated} /> },
              ]}
            />
            {v.values.filter((d) => `${d.namespace}/${d.key}` === open).map((d) => (
              <div class="value" key={d.key}>
                <pre>{d.value}</pre>
                {d.size > d.value.length && <p class="dim">The first {count(d.value.length)} of {count(d.size)} bytes.</p>}
              </div>
            ))}
          </>
        )}
      </Show>
    </Panel>
  );
}
