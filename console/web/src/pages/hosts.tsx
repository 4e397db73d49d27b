// Hosts: is this machine well?

import { may, read, send, server } from "../core/api";
import { useAsked } from "../core/asked";
import { useLive } from "../core/live";
import { param, to } from "../core/route";
import { count, many, quote, shortID } from "../core/text";
import { ask } from "../ui/act";
import { Glyph, Status, Toned, type Tone } from "../ui/glyph";
import { A, Ago, Empty, Facts, Figure, Head, ID, Panel } from "../ui/parts";
import { Table } from "../ui/table";

interface Host {
  HostID: string;
  Name: string;
  Location: string;
  IPAddress: string;
  DNSName?: string;
  OS: string;
  Arch: string;
  Version: string;
  Unsupported?: string;
  Isolation: string;
  Connected: boolean;
  Draining: boolean;
  Removing: boolean;
  Joined: string;
  CPUMillis: number;
  MemoryMiB: number;
  Instances: number;
  Processes: number;
  Resources: { CPUMillis?: number; CPUMillisUsed: number; MemoryMiB: number; MemoryUsedMiB: number; DiskMiB: number; DiskFreeMiB: number; DiskFull: boolean };
  Instance?: { InstanceID: string; FleetID: string; Status: string; Phase?: string; Cause?: string; Processes?: number }[];
}

const toneOf = (h: Host): Tone => (!h.Connected ? "fail" : h.Resources.DiskFull ? "fail" : h.Draining || h.Removing ? "hold" : "ok");
const word = (h: Host): string => (!h.Connected ? "away" : h.Resources.DiskFull ? "disk full" : h.Removing ? "being removed" : h.Draining ? (h.Instances ? "draining" : "drained") : "connected");
/** The release of the agent: what it says of itself is its program, release, build and platform. */
const release = (h: Host): string => h.Version.split(" ")[1] ?? h.Version;
/** The machine's processors, in thousandths. An agent that does not say offers them all, as far as is known. */
const processors = (h: Host): number => h.Resources.CPUMillis || h.CPUMillis;
const percent = (n: number, of: number): string => (of > 0 ? `${Math.round((100 * n) / of)} %` : "–");
const gib = (mib: number): string => `${(mib / 1024).toFixed(mib < 10_240 ? 1 : 0)} GiB`;

export function Hosts() {
  const id = param("id");
  return id ? <One id={id} /> : <List />;
}

function List() {
  const { data, problem } = useAsked(() => read<Host[]>("/agent/v1/hosts"), "hosts", 1000);
  return (
    <>
      <Head title="Hosts" question="Are the machines well?">
        {may("muster:JoinHost") && <button type="button" class="btn" onClick={join}>Add a machine …</button>}
      </Head>
      {problem && <Problem text={problem} />}
      {data && (data.length === 0 ? (
        <div class="panel"><Empty command={`muster admin join-token --endpoint ${location.origin}`}>No machine has joined. It prints what to run on the machine.</Empty></div>
      ) : (
        <Panel bare>
          <Table
            label="Hosts" rows={data} id={(h) => h.HostID} to={(h) => to("/hosts", { id: h.HostID })}
            columns={[
              { key: "name", title: "Host", value: (h) => h.Name, cell: (h) => <A to={to("/hosts", { id: h.HostID })}>{h.Name}</A> },
              { key: "state", title: "State", value: (h) => word(h), cell: (h) => <Toned tone={toneOf(h)}>{word(h)}</Toned> },
              { key: "location", title: "Location", wide: true, value: (h) => h.Location, cell: (h) => h.Location },
              { key: "processes", title: "Processes", num: true, value: (h) => h.Processes, cell: (h) => count(h.Processes) },
              { key: "instances", title: "Instances", num: true, wide: true, value: (h) => h.Instances, cell: (h) => count(h.Instances) },
              { key: "cpu", title: "CPU", num: true, value: (h) => h.Resources.CPUMillisUsed / Math.max(1, processors(h)), cell: (h) => percent(h.Resources.CPUMillisUsed, processors(h)) },
              { key: "memory", title: "Memory", num: true, value: (h) => h.Resources.MemoryUsedMiB / Math.max(1, h.Resources.MemoryMiB), cell: (h) => percent(h.Resources.MemoryUsedMiB, h.Resources.MemoryMiB) },
              { key: "disk", title: "Disk free", num: true, wide: true, value: (h) => h.Resources.DiskFreeMiB, cell: (h) => gib(h.Resources.DiskFreeMiB) },
              { key: "address", title: "Address", wide: true, value: (h) => h.IPAddress, cell: (h) => <span class="mono">{h.IPAddress}</span> },
              { key: "version", title: "Agent", wide: true, value: (h) => release(h), cell: (h) => (h.Unsupported ? <Toned tone="hold">{`${release(h)}, unsupported`}</Toned> : release(h)) },
            ]}
          />
        </Panel>
      ))}
    </>
  );
}

const Problem = ({ text }: { text: string }) => (
  <div class="alert b-fail" role="alert">
    <Glyph tone="fail" />
    <span>{text}</span>
  </div>
);

function One({ id }: { id: string }) {
  const { data: h, problem, again } = useAsked(() => read<Host>(`/agent/v1/hosts/${encodeURIComponent(id)}`), id, 1000);
  return (
    <>
      <Head title={h?.Name ?? id} question="Is this machine well?">
        {h && may("muster:ManageHosts") && (
          <>
            {h.Draining ? <button type="button" class="btn" onClick={() => change(h, "resume", again)}>Use again …</button> : <button type="button" class="btn" onClick={() => change(h, "drain", again)}>Drain …</button>}
            <button type="button" class="btn ends" onClick={() => remove(h)}>Remove …</button>
          </>
        )}
      </Head>
      {problem && <Problem text={problem} />}
      {h && (
        <>
          <div class="cols4">
            <Panel><Figure value={percent(h.Resources.CPUMillisUsed, processors(h))} label={`processors in use, of ${processors(h) / 1000}`} /></Panel>
            <Panel><Figure value={percent(h.Resources.MemoryUsedMiB, h.Resources.MemoryMiB)} label={`memory in use, of ${gib(h.Resources.MemoryMiB)}`} /></Panel>
            <Panel><Figure value={gib(h.Resources.DiskFreeMiB)} label={`disk free, of ${gib(h.Resources.DiskMiB)}`} /></Panel>
            <Panel><Figure value={count(h.Processes)} label={`processes; ${many(h.Instances, "instance")} of fleets`} /></Panel>
          </div>
          <Panel title="Machine">
            <Facts of={[
              ["state", <Toned tone={toneOf(h)}>{word(h)}</Toned>], ["id", <ID id={h.HostID} most={48} />], ["location", h.Location], ["address", <span class="mono">{[h.IPAddress, h.DNSName].filter(Boolean).join(", ")}</span>],
              ["system", `${h.OS} ${h.Arch}`], ["isolation", h.Isolation], ["agent", h.Unsupported ? <span>{h.Version}<br /><Glyph tone="hold" /> {h.Unsupported}</span> : h.Version], ["joined", <span><Ago at={h.Joined} sentence /></span>],
            ]} />
          </Panel>
          <Processes id={id} />
          <Panel title="Instances" bare>
            {h.Instance?.length ? (
              <Table
                label="Instances" rows={h.Instance} id={(i) => i.InstanceID} most={420}
                columns={[
                  { key: "id", title: "Instance", cell: (i) => <ID id={i.InstanceID} /> },
                  { key: "status", title: "Status", value: (i) => i.Status, cell: (i) => <Status of={i.Status} /> },
                  { key: "fleet", title: "Fleet", cell: (i) => <ID id={i.FleetID} to={to("/fleets", { id: i.FleetID })} /> },
                  { key: "cause", title: "", cell: (i) => <span class="soft">{i.Cause ?? i.Phase?.toLowerCase()}</span> },
                ]}
              />
            ) : (
              <Empty>Nothing of a fleet is on this machine.</Empty>
            )}
          </Panel>
        </>
      )}
    </>
  );
}

interface Process {
  id: string;
  fleet_id: string;
  compute: string;
  status: string;
  connected: boolean;
  session?: string;
  players: number;
  since: string;
  sdk?: string;
  port?: number;
}

/** The game servers of the machine. */
function Processes({ id }: { id: string }) {
  const live = useLive<{ processes: Process[] }>("host", { id }, 1000);
  const all = live.data.value?.processes ?? [];
  return (
    <Panel title="Game servers" note={all.length ? many(all.filter((p) => p.session).length, "game is", "games are") + " being played" : undefined} bare>
      {all.length ? (
        <Table
          label="Game servers" rows={all} id={(p) => p.id} to={(p) => (p.session ? to("/sessions", { id: p.session }) : to("/fleets", { id: p.fleet_id }))} most={420}
          columns={[
            { key: "status", title: "Status", value: (p) => p.status, cell: (p) => <Status of={p.status}>{p.connected ? p.status : `${p.status}, not connected`}</Status> },
            { key: "session", title: "Game session", cell: (p) => (p.session ? <A to={to("/sessions", { id: p.session })} class="mono">{shortID(p.session).slice(-12)}</A> : <span class="dim">free</span>) },
            { key: "players", title: "Players", num: true, value: (p) => p.players, cell: (p) => count(p.players) },
            { key: "fleet", title: "Fleet", value: (p) => p.fleet_id, cell: (p) => <A to={to("/fleets", { id: p.fleet_id })} class="mono">{p.fleet_id.slice(-12)}</A> },
            { key: "id", title: "Process", wide: true, cell: (p) => <ID id={p.id} /> },
            { key: "port", title: "Port", num: true, wide: true, value: (p) => p.port, cell: (p) => p.port ?? "–" },
            { key: "sdk", title: "Server SDK", wide: true, value: (p) => p.sdk, cell: (p) => p.sdk ?? "" },
            { key: "since", title: "Runs for", num: true, value: (p) => Date.parse(p.since), cell: (p) => <Ago at={p.since} /> },
          ]}
        />
      ) : (
        <Empty>No game server of a managed fleet is connected from this machine.</Empty>
      )}
    </Panel>
  );
}

function join(): void {
  ask({
    title: "Add a machine", verb: "Create a token",
    effect: "A token lets machines join for one hour. It is shown once.",
    command: `muster admin join-token --endpoint ${location.origin}`,
    run: async () => {
      const t = await send<{ Token: string }>("POST", "/agent/v1/tokens?name=console");
      ask({ title: "Run this on the machine", verb: "Done", effect: "The token is not shown again.", command: `MUSTER_TOKEN=${t.Token} muster agent --endpoint ${server}`, run: async () => undefined });
    },
  });
}

function change(h: Host, what: "drain" | "resume", then: () => void): void {
  ask({
    title: what === "drain" ? `Drain ${h.Name}?` : `Use ${h.Name} again?`, verb: what === "drain" ? "Drain" : "Use again",
    effect: what === "drain" ? `Nothing new is placed there. ${many(h.Processes, "process", "processes")} end after the game that they play.` : "It takes new instances again.",
    command: `muster hosts ${what} ${quote(h.Name)}`,
    run: async () => {
      await send("POST", `/agent/v1/hosts/${encodeURIComponent(h.HostID)}/${what}`);
      then();
      return what === "drain" ? `${h.Name} is being drained.` : `${h.Name} is used again.`;
    },
  });
}

function remove(h: Host): void {
  ask({
    title: `Remove ${h.Name}?`, verb: "Remove the machine", destroys: true, type: h.Name,
    effect: `It is drained, and removed with its last instance; ${many(h.Processes, "process", "processes")} run there now.`,
    command: `muster hosts remove ${quote(h.Name)}`,
    run: async () => {
      await send("DELETE", `/agent/v1/hosts/${encodeURIComponent(h.HostID)}?now=false`);
      return `${h.Name} is being removed.`;
    },
  });
}
