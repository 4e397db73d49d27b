// Fleets: is there room, and what is it doing? (Nomad's topology.)

import { batch, signal, type Signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { call, type Failure, may, me, read } from "../core/api";
import { useLive } from "../core/live";
import { param, to } from "../core/route";
import { count, many, quote, words } from "../core/text";
import { ask, tell } from "../ui/act";
import { Chart } from "../ui/chart";
import { Glyph, Status } from "../ui/glyph";
import { cells, Heat, type Host } from "../ui/heat";
import { A, Ago, Empty, Figure, Head, ID, Panel, Show } from "../ui/parts";
import { Ranges, ranged } from "../ui/range";
import { type Series } from "../ui/spark";
import { Table } from "../ui/table";
import { useAsked } from "../core/asked";

export interface Load {
  desired_instances: number;
  active_instances: number;
  idle_instances: number;
  pending_instances: number;
  terminating_instances: number;
  short_instances: number;
  active_server_processes: number;
  available_game_sessions: number;
  active_game_sessions: number;
  activating_game_sessions: number;
  current_player_sessions: number;
  maximum_player_sessions: number;
}

export interface Fleet extends Load {
  id: string;
  name: string;
  status: string;
  compute_type: string;
  created: string;
  locations: ({ location: string; status: string; reason?: string } & Load)[];
}

interface FleetView extends Fleet {
  hosts: Host[];
  counts: Record<string, number>;
  series?: Series;
  events: { seq: number; at: string; code: string; text?: string; session?: string }[];
}

export function Fleets() {
  const id = param("id");
  return id ? <One id={id} /> : <List />;
}

interface Cost {
  per_hour: number;
  current_player_sessions: number;
  per_player_hour: number | null;
  instances: number;
  unpriced_instances: number;
}

/** What fleets cost by the server's price list, which has no currency if it has no prices. */
interface Costs {
  currency: string;
  total: Cost;
  fleets: ({ fleet_id: string; location: string } & Cost)[];
  unused: { location: string; hosts: number; per_hour: number }[];
}

function List() {
  const { data, problem } = useAsked(() => read<Fleet[]>("/console/api/fleets"), "fleets", 1000);
  const costs = useAsked(() => read<Costs>("/console/api/costs"), "costs", 5000).data;
  const priced = costs && costs.currency ? costs : undefined;
  const cost = (f: Fleet): number => priced!.fleets.filter((c) => c.fleet_id === f.id).reduce((sum, c) => sum + c.per_hour, 0);
  return (
    <>
      <Head title="Fleets" question="Is there room for more players?" />
      {problem && <div class="alert b-fail" role="alert"><Glyph tone="fail" /><span>Fleets cannot be shown: {problem}</span></div>}
      {data && (data.length === 0 ? (
        <div class="panel">
          <Empty command={`aws gamelift --endpoint-url ${location.origin} create-fleet --name mine --compute-type ANYWHERE --locations Location=custom-here`}>There is no fleet. A fleet is where game servers run: on machines that joined, in containers, or anywhere.</Empty>
        </div>
      ) : (
        <>
        {priced && <Expenses of={priced} />}
        <Panel bare>
          <Table
            label="Fleets" rows={data} id={(f) => f.id} to={(f) => to("/fleets", { id: f.id })} ended={(f) => f.status === "TERMINATED"}
            columns={[
              { key: "name", title: "Fleet", value: (f) => f.name, cell: (f) => <A to={to("/fleets", { id: f.id })}>{f.name || f.id}</A> },
              { key: "status", title: "Status", value: (f) => f.status, cell: (f) => <Status of={f.status} /> },
              { key: "players", title: "Players", num: true, value: (f) => f.current_player_sessions, cell: (f) => count(f.current_player_sessions) },
              { key: "sessions", title: "Game sessions", num: true, value: (f) => f.active_game_sessions, cell: (f) => count(f.active_game_sessions + f.activating_game_sessions) },
              { key: "free", title: "Free", num: true, value: (f) => f.available_game_sessions, cell: (f) => count(f.available_game_sessions) },
              { key: "processes", title: "Processes", num: true, wide: true, value: (f) => f.active_server_processes, cell: (f) => count(f.active_server_processes) },
              { key: "instances", title: "Instances", num: true, wide: true, value: (f) => f.active_instances, cell: (f) => (f.compute_type === "ANYWHERE" ? "–" : `${f.active_instances} of ${f.desired_instances}`) },
              ...(priced ? [{ key: "cost", title: `${priced.currency} an hour`, num: true, value: cost, cell: (f: Fleet) => money(cost(f)) }] : []),
              { key: "kind", title: "Hosting", wide: true, value: (f) => f.compute_type, cell: (f) => <span class="soft">{f.compute_type.toLowerCase()}</span> },
              { key: "locations", title: "Locations", wide: true, cell: (f) => <span class="soft">{f.locations.map((l) => l.location).join(", ")}</span> },
              { key: "created", title: "Age", num: true, wide: true, value: (f) => -Date.parse(f.created), cell: (f) => <Ago at={f.created} /> },
            ]}
          />
        </Panel>
        </>
      ))}
    </>
  );
}

/** Returns an amount with two digits that count, or more: a player's hour costs less than a cent. */
const money = (amount: number): string => (amount === 0 ? "0" : amount >= 1 ? amount.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 }) : amount.toPrecision(2));

function Expenses({ of }: { of: Costs }) {
  const unused = of.unused.reduce((sum, u) => sum + u.per_hour, 0);
  const each = of.total.per_player_hour;
  return (
    <div class="cols4">
      <Panel><Figure value={money(of.total.per_hour)} unit={of.currency} label="cost of an hour" /></Panel>
      <Panel><Figure value={each === null ? "–" : money(each)} unit={each === null ? "" : of.currency} label={each === null ? "cost of a player’s hour: nobody plays" : "cost of a player’s hour"} /></Panel>
      <Panel><Figure value={money(unused)} unit={of.currency} label="unused room, an hour" /></Panel>
      <Panel><Figure value={count(of.total.unpriced_instances)} unit={`of ${count(of.total.instances)}`} label="instances without a price" /></Panel>
    </div>
  );
}

function One({ id }: { id: string }) {
  const live = useLive<FleetView>("fleet", ranged({ id }), 1000);
  const [only, setOnly] = useState("");
  const v = live.data.value;
  const managed = v && v.compute_type !== "ANYWHERE";
  return (
    <>
      <Head title={v?.name || id} question="Is there room, and what is it doing?">
        <Ranges />
        {v && managed && may("UpdateFleetCapacity") && v.status === "ACTIVE" && <button type="button" class="btn" onClick={() => void scale(v)}>Set capacity …</button>}
        {v && may("DeleteFleet") && v.status !== "DELETING" && v.status !== "TERMINATED" && <button type="button" class="btn ends" onClick={() => remove(v)}>Delete …</button>}
      </Head>
      <Show live={live} what={`Fleet ${id}`}>
        {(f) => (
          <>
            <div class="row wrap soft">
              <Status of={f.status} />
              <ID id={f.id} most={48} />
              <span>{f.compute_type.toLowerCase()}</span>
              <span>created <Ago at={f.created} sentence /></span>
            </div>
            <div class="cols4">
              <Panel><Figure value={count(f.current_player_sessions)} label="players" to={to("/sessions", { fleet: f.id })} /></Panel>
              <Panel><Figure value={count(f.active_game_sessions + f.activating_game_sessions)} label="game sessions" to={to("/sessions", { fleet: f.id })} /></Panel>
              <Panel><Figure value={count(f.available_game_sessions)} label="could start now" /></Panel>
              <Panel>{managed ? <Figure value={count(f.active_instances)} unit={`of ${f.desired_instances}`} label="instances" /> : <Figure value={count(f.active_server_processes)} label="processes ready" />}</Panel>
            </div>
            <Panel title="Game servers" note={many(f.hosts.length, "host")} right={<Counts counts={f.counts} only={only} set={setOnly} />}>
              {f.hosts.length ? (
                <Heat hosts={f.hosts} only={only} session={(s) => to("/sessions", { id: arnOf(f, s) })} host={(h) => (h.id ? to("/hosts", { id: h.id }) : undefined)} />
              ) : (
                <p class="dim">No game server of this fleet is connected{f.locations.find((l) => l.reason) ? `: ${f.locations.find((l) => l.reason)!.reason}` : "."}</p>
              )}
            </Panel>
            <div class="cols2">
              {f.series && <Panel title="Game servers"><Chart label="Game servers" series={f.series} lines={[{ key: "processes", title: "ready", color: "control" }, { key: "sessions", title: "game sessions", color: "ok" }, { key: "free", title: "free", color: "busy" }]} /></Panel>}
              {f.series && (managed ? (
                <Panel title="Instances"><Chart label="Instances" series={f.series} lines={[{ key: "wanted", title: "wanted", color: "accent" }, { key: "there", title: "there", color: "ok" }]} /></Panel>
              ) : (
                <Panel title="Players"><Chart label="Players" series={f.series} lines={[{ key: "players", title: "players", color: "accent" }]} /></Panel>
              ))}
            </div>
            {managed && <Scaling id={f.id} />}
            {f.compute_type === "CONTAINER" && <Deployments id={f.id} />}
            <Panel title="Locations" bare>
              <Table
                label="Locations" rows={f.locations} id={(l) => l.location} most={360}
                columns={[
                  { key: "location", title: "Location", value: (l) => l.location, cell: (l) => l.location },
                  { key: "status", title: "Status", value: (l) => l.status, cell: (l) => <Status of={l.status} /> },
                  { key: "players", title: "Players", num: true, value: (l) => l.current_player_sessions, cell: (l) => count(l.current_player_sessions) },
                  { key: "sessions", title: "Game sessions", num: true, value: (l) => l.active_game_sessions, cell: (l) => count(l.active_game_sessions + l.activating_game_sessions) },
                  { key: "free", title: "Free", num: true, value: (l) => l.available_game_sessions, cell: (l) => count(l.available_game_sessions) },
                  { key: "instances", title: "Instances", num: true, wide: true, cell: (l) => (managed ? `${l.active_instances} of ${l.desired_instances}` : "–") },
                  { key: "why", title: "", cell: (l) => <span class="soft">{l.reason}</span> },
                ]}
              />
            </Panel>
            <Panel title="Events" right={<A to={to("/events", { fleet: f.id })}>all of this fleet</A>}>
              {f.events.length ? (
                <div class="events">
                  {f.events.map((e) => (
                    <>
                      <span class="dim num"><Ago at={e.at} /></span>
                      <span>{e.session ? <A to={to("/sessions", { id: e.session })}>{words(e.code)}</A> : words(e.code)}</span>
                      <span class="text">{e.text}</span>
                    </>
                  ))}
                </div>
              ) : (
                <p class="dim">None yet.</p>
              )}
            </Panel>
          </>
        )}
      </Show>
    </>
  );
}

/** Returns a game session's id as the API has it. */
function arnOf(f: FleetView, id: string): string {
  const where = id.includes("/custom-") ? me.value!.region : f.hosts.find((o) => o.sessions?.includes(id))?.location;
  return `arn:aws:gamelift:${where}::gamesession/${id}`;
}

interface Policy {
  Name: string;
  Status?: string;
  PolicyType?: string;
  MetricName: string;
  Location?: string;
  ScalingAdjustment?: number;
  ScalingAdjustmentType?: string;
  Threshold?: number;
  ComparisonOperator?: string;
  EvaluationPeriods?: number;
  TargetConfiguration?: { TargetValue: number };
}

/** What changes the fleet's capacity. */
function Scaling({ id }: { id: string }) {
  const { data } = useAsked(() => call<{ ScalingPolicies?: Policy[] }>("DescribeScalingPolicies", { FleetId: id }), `scaling ${id}`, 5000);
  if (!data) return null;
  const policies = data.ScalingPolicies ?? [];
  return (
    <Panel title="Scaling">
      {policies.length === 0 ? (
        <p class="dim">No policy: the capacity stays as it is set.</p>
      ) : (
        <div class="events">
          {policies.map((p) => (
            <>
              <Status of={p.Status ?? "ACTIVE"} />
              <span>{p.Name}</span>
              <span class="text">
                {p.PolicyType === "TargetBased"
                  ? `keeps ${words(p.MetricName.replace(/([a-z])([A-Z])/g, "$1_$2"))} at ${p.TargetConfiguration?.TargetValue}`
                  : `if ${words(p.MetricName.replace(/([a-z])([A-Z])/g, "$1_$2"))} is ${words((p.ComparisonOperator ?? "").replace(/([a-z])([A-Z])/g, "$1_$2"))} ${p.Threshold} for ${p.EvaluationPeriods} min: ${p.ScalingAdjustmentType === "ExactCapacity" ? `${p.ScalingAdjustment} instances` : `${p.ScalingAdjustment}${p.ScalingAdjustmentType === "PercentChangeInCapacity" ? " %" : " instances"}`}`}
              </span>
            </>
          ))}
        </div>
      )}
    </Panel>
  );
}

interface Deployment {
  DeploymentId: string;
  DeploymentStatus: string;
  GameServerBinaryArn?: string;
  CreationTime?: number;
}

/** The versions that were rolled out, newest first. */
function Deployments({ id }: { id: string }) {
  const { data } = useAsked(() => call<{ FleetDeployments?: Deployment[] }>("ListFleetDeployments", { FleetId: id }), `deployments ${id}`, 3000);
  if (!data?.FleetDeployments?.length) return null;
  return (
    <Panel title="Deployments" bare>
      <Table
        label="Deployments" rows={data.FleetDeployments} id={(d) => d.DeploymentId} most={320}
        columns={[
          { key: "status", title: "Status", cell: (d) => <Status of={d.DeploymentStatus} /> },
          { key: "binary", title: "Version", cell: (d) => <span class="mono">{(d.GameServerBinaryArn ?? "").split("/").pop()}</span> },
          { key: "created", title: "Age", num: true, cell: (d) => (d.CreationTime ? <Ago at={new Date(d.CreationTime * 1000).toISOString()} /> : "–") },
          { key: "id", title: "Deployment", wide: true, cell: (d) => <ID id={d.DeploymentId} /> },
        ]}
      />
    </Panel>
  );
}

function Counts({ counts, only, set }: { counts: Record<string, number>; only: string; set: (letter: string) => void }) {
  return (
    <span class="chips">
      {Object.entries(cells).filter(([letter]) => counts[letter]).map(([letter, c]) => (
        <button type="button" class="chip" key={letter} aria-pressed={only === letter} onClick={() => set(only === letter ? "" : letter)}>
          <Glyph tone={c.tone} />
          {count(counts[letter]!)} {c.text}
        </button>
      ))}
    </span>
  );
}

/**
 * How many instances a location is to have, by the members of UpdateFleetCapacity. MinSize is not there where the server
 * sets it.
 */
interface Size {
  MinSize?: number;
  DesiredInstances: number;
  MaxSize: number;
}

async function sizeOf(f: FleetView, location: string): Promise<Size> {
  const { FleetCapacity: out } = await call<{
    FleetCapacity: { InstanceCounts: { MINIMUM: number; DESIRED: number; MAXIMUM: number }; ManagedCapacityConfiguration?: { ZeroCapacityStrategy?: string } };
  }>("DescribeFleetLocationCapacity", { FleetId: f.id, Location: location });
  const n = out.InstanceCounts, size = { DesiredInstances: n.DESIRED, MaxSize: n.MAXIMUM };
  return out.ManagedCapacityConfiguration?.ZeroCapacityStrategy === "SCALE_TO_AND_FROM_ZERO" ? size : { MinSize: n.MINIMUM, ...size };
}

const membersOf = Object.keys as (s: Size) => (keyof Size)[];

/** Asks for the capacity of a location: at first of the one that desires the most instances. */
async function scale(f: FleetView): Promise<void> {
  let all: Map<string, Size>;
  try {
    all = new Map(await Promise.all(f.locations.map(async (l): Promise<[string, Size]> => [l.location, await sizeOf(f, l.location)])));
  } catch (e) {
    tell((e as Failure).message, true);
    return;
  }
  const [first, has] = [...all].reduce((most, l) => (l[1].DesiredInstances > most[1].DesiredInstances ? l : most));
  const place = signal(first), size = signal(has);
  ask({
    title: `Set the capacity of ${f.name}`, verb: "Set capacity",
    effect: "Fewer instances end those without game sessions first; protected game sessions are played to their end.",
    form: <Sizes all={all} place={place} size={size} />,
    command: () => `aws gamelift update-fleet-capacity --fleet-id ${quote(f.id)} --location ${quote(place.value)} ${membersOf(size.value).map((m) => `-${m.replace(/[A-Z]/g, "-$&").toLowerCase()} ${size.value[m]}`).join(" ")}`,
    run: async () => {
      const of = { Location: place.value, ...size.value };
      await call("UpdateFleetCapacity", { FleetId: f.id, ...of });
      return `${f.name} desires ${many(of.DesiredInstances, "instance")} in ${of.Location}.`;
    },
  });
}

function Sizes({ all, place, size }: { all: Map<string, Size>; place: Signal<string>; size: Signal<Size> }) {
  const has = all.get(place.value)!;
  const choose = (location: string): void => batch(() => {
    place.value = location;
    size.value = all.get(location)!;
  });
  return (
    <>
      {all.size > 1 && (
        <label class="field">
          <span>Location</span>
          <select class="input" value={place.value} onChange={(e) => choose(e.currentTarget.value)}>
            {[...all.keys()].map((l) => <option key={l} value={l} selected={l === place.value}>{l}</option>)}
          </select>
        </label>
      )}
      <div class="cols3">
        {membersOf(size.value).map((m) => (
          <label class="field" key={m}>
            <span>{m} (now {has[m]})</span>
            <input class="input" type="number" min="0" value={size.value[m]} onInput={(e) => (size.value = { ...size.value, [m]: Number(e.currentTarget.value) })} />
          </label>
        ))}
      </div>
    </>
  );
}

function remove(f: FleetView): void {
  const games = f.active_game_sessions + f.activating_game_sessions;
  ask({
    title: `Delete ${f.name}?`, verb: "Delete the fleet", destroys: true, type: f.name || f.id,
    effect: games ? `It ends ${many(games, "game session")} of ${many(f.current_player_sessions, "player")}, and every game server of the fleet.` : "It ends every game server of the fleet.",
    command: `aws gamelift delete-fleet --fleet-id ${quote(f.id)}`,
    run: async () => {
      await call("DeleteFleet", { FleetId: f.id });
      return `${f.name} is being deleted.`;
    },
  });
}
