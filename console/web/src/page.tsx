// The page that the address names. Now is part of the first load; the programs of the other
// pages are loaded when they are first shown, or before, once nothing else is to be done.

import type { ComponentType } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { me } from "./core/api";
import { heard } from "./core/live";
import { path } from "./core/route";
import { Now } from "./pages/now";
import { Glyph } from "./ui/glyph";
import { Empty, Head } from "./ui/parts";

/** The programs of the pages, by path. */
const programs: Record<string, () => Promise<ComponentType>> = {
  "/": async () => Now,
  "/world": async () => (await import("./pages/world")).World,
  "/queues": async () => (await import("./pages/queues")).Queues,
  "/matchmaking": async () => (await import("./pages/matchmaking")).Matchmaking,
  "/quality": async () => (await import("./pages/quality")).Quality,
  "/tickets": async () => (await import("./pages/tickets")).Tickets,
  "/rules": async () => (await import("./pages/rules")).Rules,
  "/fleets": async () => (await import("./pages/fleets")).Fleets,
  "/hosts": async () => (await import("./pages/hosts")).Hosts,
  "/sessions": async () => (await import("./pages/sessions")).Sessions,
  "/players": async () => (await import("./pages/players")).Players,
  "/crashes": async () => (await import("./pages/crashes")).Crashes,
  "/events": async () => (await import("./pages/events")).Events,
  "/webhooks": async () => (await import("./pages/webhooks")).Webhooks,
  "/access": async () => (await import("./pages/access")).Access,
  "/operations": async () => (await import("./pages/api")).API,
};

const loaded = signal<Record<string, ComponentType>>({ "/": Now });

async function load(at: string): Promise<void> {
  if (loaded.peek()[at]) return;
  const page = await programs[at]!();
  loaded.value = { ...loaded.peek(), [at]: page };
}

/** The page at the address of the browser. title is its name in the navigation. */
export function Page({ title = "" }: { title?: string }) {
  const at = path.value;
  const [problem, setProblem] = useState("");
  const known = at in programs;
  useEffect(() => {
    setProblem("");
    if (known) load(at).catch((e: Error) => at === path.peek() && setProblem(e.message));
  }, [at]);
  const Shown = loaded.value[at];
  if (Shown) return <Shown />;
  if (!known) {
    return (
      <>
        <Head title="Nothing is here" />
        <div class="panel">
          <Empty>The console has no page {at}. The pages are in the navigation, and / searches.</Empty>
        </div>
      </>
    );
  }
  return (
    <>
      <Head title={title} />
      {problem ? (
        <div class="alert b-fail" role="alert">
          <Glyph tone="fail" />
          <span>
            The program of this page was not loaded: {problem}. The server may be away, or another version of it may run by now. <button type="button" class="btn" onClick={() => location.reload()}>Load the console again</button>
          </span>
        </div>
      ) : (
        <div class="skel page" />
      )}
    </>
  );
}

const patience = 2000; // ms, for the first page's data

/** Loads the programs of all pages once the first page has shown its data, so that another page
 *  is there at once, also while the server is away. */
export function useAllPages(): void {
  const known = !!me.value, shown = heard.value > 0;
  useEffect(() => {
    const saving = (navigator as { connection?: { saveData?: boolean } }).connection?.saveData;
    if (!known || saving) return;
    let over = false;
    const rest = Object.keys(programs);
    const next = (): void => {
      const at = rest.shift();
      if (at && !over) load(at).then(soon, () => undefined); // it is loaded when it is shown
    };
    const soon = (): void => void (globalThis.requestIdleCallback ?? setTimeout)(next);
    const wait = setTimeout(soon, shown ? 0 : patience);
    return () => {
      over = true;
      clearTimeout(wait);
    };
  }, [known, shown]);
}
