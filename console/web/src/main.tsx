// The console's program: who one is, then the page that the address names.

import { render, type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { me, whoami } from "./core/api";
import { followLinks, path } from "./core/route";
import { Login } from "./login";
import { Access } from "./pages/access";
import { API } from "./pages/api";
import { Crashes } from "./pages/crashes";
import { Events } from "./pages/events";
import { Fleets } from "./pages/fleets";
import { Hosts } from "./pages/hosts";
import { Matchmaking } from "./pages/matchmaking";
import { Now } from "./pages/now";
import { Players } from "./pages/players";
import { Quality } from "./pages/quality";
import { Queues } from "./pages/queues";
import { Rules } from "./pages/rules";
import { Sessions } from "./pages/sessions";
import { Tickets } from "./pages/tickets";
import { Webhooks } from "./pages/webhooks";
import { World } from "./pages/world";
import { groups, restoreTheme, Shell } from "./shell";
import { Empty, Head } from "./ui/parts";

const pages: Record<string, ComponentType> = {
  "/": Now,
  "/world": World,
  "/queues": Queues,
  "/matchmaking": Matchmaking,
  "/quality": Quality,
  "/tickets": Tickets,
  "/rules": Rules,
  "/fleets": Fleets,
  "/hosts": Hosts,
  "/sessions": Sessions,
  "/players": Players,
  "/crashes": Crashes,
  "/events": Events,
  "/webhooks": Webhooks,
  "/access": Access,
  "/operations": API,
};

function Nowhere() {
  return (
    <>
      <Head title="Nothing is here" />
      <div class="panel">
        <Empty>The console has no page {path.value}. The pages are in the navigation, and / searches.</Empty>
      </div>
    </>
  );
}

function Console() {
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const ask = (): void => {
      whoami().then(() => setProblem("")).catch((e: Error) => {
        setProblem(e.message);
        setTimeout(ask, 2000);
      });
    };
    ask();
  }, []);
  const who = me.value;
  const Page = pages[path.value] ?? Nowhere;
  const title = groups.flat().find((e) => e.to === path.value)?.title;
  useEffect(() => {
    document.title = title ? `${title} · Muster` : "Muster";
  }, [title]);
  if (who === null) return <Login />;
  if (who === undefined) return problem ? <main class="login"><p role="alert">The server does not answer: {problem}. Trying again.</p></main> : null;
  return (
    <Shell>
      <Page />
    </Shell>
  );
}

restoreTheme();
followLinks();
render(<Console />, document.getElementById("app")!);
