// What is asked for again and again, for paths that have no view.

import { useEffect, useState } from "preact/hooks";
import { Failure } from "./api";
import { heard, offlineSince, paused } from "./live";

/** Asks again every so often while the component is shown and the console is not paused. The signal
 *  of a question says that nobody wants its answer any more. */
export function useAsked<T>(ask: (signal: AbortSignal) => Promise<T>, key: string, every: number): { data: T | undefined; problem: string; again: () => void } {
  const [data, setData] = useState<T | undefined>(undefined);
  const [problem, setProblem] = useState("");
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let over = false;
    let timer = 0;
    const stop = new AbortController();
    const once = async (): Promise<void> => {
      if (!paused.peek() && !document.hidden) {
        try {
          const next = await ask(stop.signal);
          if (over) return;
          heard.value = Date.now();
          offlineSince.value = 0;
          setData((old) => (old !== undefined && JSON.stringify(old) === JSON.stringify(next) ? old : next));
          setProblem("");
        } catch (e) {
          if (over) return;
          if (e instanceof Failure) setProblem(e.message);
          else if (!offlineSince.peek()) offlineSince.value = Date.now();
        }
      }
      if (!over && every > 0) timer = window.setTimeout(() => void once(), every);
    };
    void once();
    return () => {
      over = true;
      stop.abort();
      clearTimeout(timer);
      offlineSince.value = 0;
    };
  }, [key, turn]);
  return { data, problem, again: () => setTurn(turn + 1) };
}
