// Players: where was this person?

import { useState } from "preact/hooks";
import { useLive } from "../core/live";
import { go, param, to } from "../core/route";
import { seconds, shortID, time, moment } from "../core/text";
import { Glyph, Status, toneOf } from "../ui/glyph";
import { A, Ago, Empty, Facts, Head, ID, Panel, Show } from "../ui/parts";
import { Table } from "../ui/table";
import { Tickets, type TicketRow } from "./matchmaking";
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
      <Head title={<ID id={id} most={48} />} question="Where was this person?" />
      <Show live={live} what="This player">
        {(v) => {
          const here = v.stays.find((s) => !s.ended);
          const nothing = v.stays.length === 0 && v.tickets.length === 0 && !v.account;
          if (nothing) return <div class="panel"><Empty>Nobody with this id has been seen in the last 30 days. Ids are exact; check upper and lower case.</Empty></div>;
          return (
            <>
              <div class="row wrap">
                {here ? <><Glyph tone={toneOf(here.status)} /><span>{here.status === "RESERVED" ? "is expected in" : "plays in"} <A to={to("/sessions", { id: here.session })}>{shortID(here.session)}</A></span></> : <span class="soft">is in no game{v.stays[0] && <> since <Ago at={v.stays[0].ended} /></>}</span>}
                {v.account?.banned && <span class="st c-fail"><Glyph tone="fail" />banned until {moment(v.account.until)}: {v.account.reason}</span>}
              </div>
              {v.stays.length > 0 && <Panel title="Day"><Days stays={v.stays} /></Panel>}
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

/** The last 24 hours as a strip: one mark a game. */
function Days({ stays }: { stays: Stay[] }) {
  const { box, width: wide } = useWidth<HTMLDivElement>();
  const width = Math.max(240, wide || 1000);
  const now = Date.now(), from = now - 86_400_000;
  const x = (at: number): number => ((Math.max(at, from) - from) / 86_400_000) * width;
  const seen = stays.filter((s) => !s.ended || Date.parse(s.ended) > from);
  return (
    <div class="hero" ref={box} tabIndex={0} role="region" aria-label="The last 24 hours"><svg width={width} height="40" role="img" aria-label={`${seen.length} games in the last 24 hours`}>
      <rect x="0" y="6" width={width} height="14" fill="var(--sunken)" />
      {seen.map((s) => (
        <rect key={s.session + s.created} class={`f-${s.ended ? "idle" : "ok"}`} x={x(Date.parse(s.created))} y="6" width={Math.max(2, x(s.ended ? Date.parse(s.ended) : now) - x(Date.parse(s.created)))} height="14" />
      ))}
      {[0, 6, 12, 18, 24].map((h) => (
        <text key={h} class="axis" x={(h / 24) * width} y="36" text-anchor={h === 0 ? "start" : h === 24 ? "end" : "middle"}>{h === 24 ? "now" : time(from + h * 3_600_000).slice(0, 5)}</text>
      ))}
    </svg></div>
  );
}
