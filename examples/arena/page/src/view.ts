import type { Snapshot, Welcome } from "./wire.js";

const colors = ["#5ec8f2", "#f28b5e", "#9be564", "#d78bf2", "#f2d95e", "#5ef2c8", "#f25e8b", "#a0a8f2"];
const fullHealth = 3;
/** Lengths of the game (package game). */
const radius = 15;

/** Returns a player's color. */
export function color(id: number): string {
  return colors[(id - 1) % colors.length] ?? "#ffffff";
}

/** Draws the arena. */
export function draw(canvas: HTMLCanvasElement, view: Snapshot, welcome: Welcome): void {
  const c = canvas.getContext("2d");
  if (!c) {
    return;
  }
  const size = Math.round(canvas.clientWidth * devicePixelRatio);
  if (canvas.width !== size) {
    canvas.width = canvas.height = size;
  }
  c.setTransform(size / welcome.width, 0, 0, size / welcome.height, 0, 0);
  c.fillStyle = "#10161f";
  c.fillRect(0, 0, welcome.width, welcome.height);
  c.strokeStyle = "#1d2735";
  c.lineWidth = 2;
  for (let at = 100; at < welcome.width; at += 100) {
    c.strokeRect(at, -10, 0, welcome.height + 20);
    c.strokeRect(-10, at, welcome.width + 20, 0);
  }
  const disc = (x: number, y: number, r: number, fill: string): void => {
    c.beginPath();
    c.arc(x, y, r, 0, 2 * Math.PI);
    c.fillStyle = fill;
    c.fill();
  };
  view.pickUps.forEach((p) => {
    disc(p.x, p.y, 9, "#ffd166");
    disc(p.x, p.y, 4, "#10161f");
  });
  view.shots.forEach((s) => disc(s.x, s.y, 5, "#ffffff"));
  for (const p of view.players) {
    const own = p.id === welcome.player;
    c.globalAlpha = p.health === 0 ? 0.25 : 1;
    if (own) {
      disc(p.x, p.y, radius + 5, "#ffffff");
    }
    disc(p.x, p.y, radius, color(p.id));
    if (p.facing > 0) {
      const angle = ((p.facing - 1) * Math.PI) / 4 - Math.PI / 2;
      disc(p.x + Math.cos(angle) * radius, p.y + Math.sin(angle) * radius, 5, "#10161f");
    }
    c.fillStyle = "#2c3a4d";
    c.fillRect(p.x - 18, p.y - 32, 36, 5);
    c.fillStyle = "#6fdc8c";
    c.fillRect(p.x - 18, p.y - 32, (36 * p.health) / fullHealth, 5);
    c.globalAlpha = 1;
  }
}
