// A program that uses the package by its name: it is only compiled.
import { Client, FileTokenStore } from "@muster/client";

const client = new Client("https://play.example.com", { store: new FileTokenStore("login.json") });

export async function nearest(): Promise<string | undefined> {
  const samples = await client.measureLatency({ transport: "udp", receipts: true });
  await client.reportLatency({ samples });
  return [...samples].sort((a, b) => a.rttMs - b.rttMs)[0]?.location;
}
