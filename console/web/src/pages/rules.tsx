// Rules: who may play with whom, and what would a change do?

import { useEffect, useState } from "preact/hooks";
import { all, may } from "../core/api";
import { param, to } from "../core/route";
import { count } from "../core/text";
import { Apply } from "../rules/apply";
import { Create } from "../rules/create";
import { Lab } from "../rules/lab";
import type { Configuration, RuleSet } from "../rules/types";
import { Glyph } from "../ui/glyph";
import { A, Ago, Empty, Head, Panel } from "../ui/parts";
import { Table } from "../ui/table";

export function Rules() {
  const [sets, setSets] = useState<RuleSet[]>();
  const [configurations, setConfigurations] = useState<Configuration[]>([]);
  const [problem, setProblem] = useState("");
  const name = param("name");
  useEffect(() => {
    Promise.all([all<RuleSet>("DescribeMatchmakingRuleSets", "RuleSets"), may("DescribeMatchmakingConfigurations") ? all<Configuration>("DescribeMatchmakingConfigurations", "Configurations") : []])
      .then(([s, c]) => {
        setSets(s);
        setConfigurations(c);
      })
      .catch((e: Error) => setProblem(e.message));
  }, [name]);
  if (problem) return <><Head title="Rules" question="What would this change do?" /><div class="alert b-fail" role="alert"><Glyph tone="fail" /><span>The rule sets cannot be shown: {problem}</span></div></>;
  if (!sets) return <><Head title="Rules" question="What would this change do?" /><div class="skel" /></>;
  const chosen = sets.find((s) => s.RuleSetName === name);
  const names = sets.map((s) => s.RuleSetName);
  if (chosen) return <One key={name} set={chosen} names={names} configurations={configurations} />;
  const kind = param("new");
  if (kind) return <Create kind={kind} names={names} configurations={configurations} />;
  return <List sets={sets} configurations={configurations} missing={name} />;
}

function List({ sets, configurations, missing }: { sets: RuleSet[]; configurations: Configuration[]; missing: string }) {
  const users = (s: RuleSet): Configuration[] => configurations.filter((c) => c.RuleSetName === s.RuleSetName);
  return (
    <>
      <Head title="Rules" question="Who may play with whom, and what would a change do?">
        {may("CreateMatchmakingRuleSet") && may("DescribeMatchmaking") && <A to={to("/rules", { new: "yes" })} class="btn">New rule set …</A>}
      </Head>
      {missing && <div class="alert b-warn" role="alert"><Glyph tone="warn" /><span>Rule set {missing} does not exist (any more).</span></div>}
      {sets.length === 0 ? (
        <div class="panel">
          <Empty command={`aws gamelift --endpoint-url ${location.origin} create-matchmaking-rule-set --name duel --rule-set-body file://duel.json`}>There is no rule set. It says how large teams are and who may play with whom. {may("CreateMatchmakingRuleSet") && may("DescribeMatchmaking") && <A to={to("/rules", { new: "yes" })}>Begin with a template</A>}</Empty>
        </div>
      ) : (
        <Panel bare>
          <Table
            label="Rule sets" rows={sets} id={(s) => s.RuleSetName} to={(s) => to("/rules", { name: s.RuleSetName })}
            columns={[
              { key: "name", title: "Rule set", value: (s) => s.RuleSetName, cell: (s) => <A to={to("/rules", { name: s.RuleSetName })}>{s.RuleSetName}</A> },
              { key: "used", title: "Used by", value: (s) => users(s).length, cell: (s) => users(s).map((c, i) => <>{i > 0 && ", "}<A to={to("/matchmaking", { name: c.Name })}>{c.Name}</A></>) },
              { key: "lines", title: "Lines", num: true, wide: true, value: (s) => s.RuleSetBody.split("\n").length, cell: (s) => count(s.RuleSetBody.split("\n").length) },
              { key: "created", title: "Created", num: true, wide: true, value: (s) => s.CreationTime, cell: (s) => <Ago at={new Date(s.CreationTime * 1000).toISOString()} /> },
            ]}
          />
        </Panel>
      )}
    </>
  );
}

/** Returns a body that can be read: one without line breaks is set in lines. */
function readable(body: string): string {
  if (body.trim().includes("\n")) return body;
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function One({ set, names, configurations }: { set: RuleSet; names: string[]; configurations: Configuration[] }) {
  const name = set.RuleSetName, was = readable(set.RuleSetBody);
  const users = configurations.filter((c) => c.RuleSetName === name);
  return (
    <Lab
      of={{ name, title: name, was, draft: name }} configurations={configurations}
      about={users.length ? <>used by {users.map((u, i) => <>{i > 0 && ", "}<A to={to("/matchmaking", { name: u.Name })}>{u.Name}</A></>)}</> : "used by no configuration"}
      actions={(text, ready) => <Apply name={name} was={was} text={text} names={names} users={users} ready={ready} />}
    />
  );
}
