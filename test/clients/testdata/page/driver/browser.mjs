// A driver without a library, which proves that pages reach the runner and what a page of
// another site is answered.
const channel = new WebSocket(`ws://${location.host}/driver`);
const say = (message) => channel.send(JSON.stringify(message));
let server = "";
const verbs = {
  open: ({ url }) => ((server = url), {}),
  close: () => ({}),
  config: async () => (await fetch(`${server}/player/v1/config`)).json(),
};
channel.onopen = () => say({ hello: "page", runtime: navigator.userAgent, skips: {} });
channel.onmessage = async ({ data }) => {
  const { id, do: verb, with: given } = JSON.parse(data);
  try {
    say({ id, result: await verbs[verb](given) });
  } catch (error) {
    say({ id, error: { kind: "network", detail: String(error) } });
  }
};
