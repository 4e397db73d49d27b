// The console's program: who one is, then the page that the address names.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { me, whoami } from "./core/api";
import { followLinks, path } from "./core/route";
import { Login } from "./login";
import { Page, useAllPages } from "./page";
import { groups, restoreTheme, Shell } from "./shell";

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
  useAllPages();
  const who = me.value;
  const title = groups.flat().find((e) => e.to === path.value || e.under?.includes(path.value))?.title;
  useEffect(() => {
    document.title = title ? `${title} · Muster` : "Muster";
  }, [title]);
  if (who === null) return <Login />;
  if (who === undefined) return problem ? <main class="login"><p role="alert">The server does not answer: {problem}. Trying again.</p></main> : null;
  return (
    <Shell>
      <Page title={title} />
    </Shell>
  );
}

restoreTheme();
followLinks();
const app = document.getElementById("app")!;
app.replaceChildren(); // the text for those who wait for the program
render(<Console />, app);
