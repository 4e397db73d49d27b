// Crashes: what is new?

import { useLive } from "../core/live";
import { to } from "../core/route";
import { count, many, middle, moment, seconds, shortID, words } from "../core/text";
import { Chart } from "../ui/chart";
import { Glyph } from "../ui/glyph";
import { A, Ago, Empty, Head, Panel, Show } from "../ui/parts";
import { Ranges, ranged, rangeText } from "../ui/range";
import { every, type Series } from "../ui/spark";
import { Table } from "../ui/table";

interface Crash {
  at: string;
  cause: string;
  fleet_id: string;
  location: string;
  compute: string;
  process: string;
  session?: string;
  lived_ms: number;
}

interface CrashesView {
  since: string;
  count: number;
  groups: { cause: string; how?: string; fleet_id: string; fleet?: string; build?: string; count: number; games: number; first: string; last: string; hosts: Record<string, number>; crashes: Crash[] }[];
  series: Series;
}

export function Crashes() {
  const live = useLive<CrashesView>("crashes", ranged(), 1000);
  return (
    <>
      <Head title="Crashes" question="Which game servers end without being asked, and why?"><Ranges /></Head>
      <Show live={live} what="Crashes">
        {(v) => (
          <>
            <Panel title={`Crashes, each ${every(v.series)}`} note={`${count(v.count)} in the last ${rangeText()}`}><Chart label="Crashes" series={v.series} height={120} lines={[{ key: "crashes", title: "crashes", color: "fail" }]} /></Panel>
            {v.groups.length > 0 && <p class="soft">The newest crashes, by cause, fleet and build.</p>}
            {v.groups.length === 0 && <div class="panel"><Empty>No game server has crashed since {moment(v.since)}, when the recording began.</Empty></div>}
            {v.groups.map((g) => (
              <Panel
                key={`${g.cause} ${g.how} ${g.fleet_id} ${g.build}`} bare
                title={<span class="st"><Glyph tone="fail" /><span class="cut">{g.how || words(g.cause)}</span></span>}
                note={<>{g.how && `${words(g.cause)}: `}{many(g.count, "process", "processes")} of <A to={to("/fleets", { id: g.fleet_id })} title={g.fleet_id}>{g.fleet || g.fleet_id.slice(-12)}</A>{g.build && <>, build <span class="mono" title={g.build}>{middle(g.build, 26)}</span></>}, {many(g.games, "game session")} hit; {g.count > 1 && <>first <Ago at={g.first} sentence />, </>}last <Ago at={g.last} sentence /></>}
              >
                <Table
                  label={words(g.cause)} rows={g.crashes} id={(c) => c.process + c.at} most={320} foot={g.count > g.crashes.length ? `the newest ${g.crashes.length} of ${count(g.count)}` : null}
                  columns={[
                    { key: "at", title: "When", value: (c) => Date.parse(c.at), cell: (c) => moment(c.at) },
                    { key: "lived", title: "Ran for", num: true, value: (c) => c.lived_ms, cell: (c) => seconds(c.lived_ms / 1000) },
                    { key: "where", title: "Location", wide: true, cell: (c) => c.location },
                    { key: "compute", title: "Compute", wide: true, cell: (c) => <span class="mono">{c.compute}</span> },
                    { key: "session", title: "Game session", cell: (c) => (c.session ? <A to={to("/sessions", { id: c.session })} class="mono">{shortID(c.session).slice(-12)}</A> : <span class="dim">none</span>) },
                  ]}
                />
              </Panel>
            ))}
          </>
        )}
      </Show>
    </>
  );
}
