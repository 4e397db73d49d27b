import type { Intent } from "./game.js";
import type { Snapshot } from "./wire.js";

const keys: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowUp: [0, -1],
  KeyW: [0, -1],
  ArrowDown: [0, 1],
  KeyS: [0, 1],
  ArrowLeft: [-1, 0],
  KeyA: [-1, 0],
  ArrowRight: [1, 0],
  KeyD: [1, 0],
};

/** Returns the direction nearest to dx east and dy south; 0 for none. */
export function direction(dx: number, dy: number): number {
  if (dx === 0 && dy === 0) {
    return 0;
  }
  return ((Math.round((Math.atan2(dy, dx) * 4) / Math.PI) + 10) % 8) + 1;
}

/** Follows keys and touches on an element; returns what the player wants now. */
export function controls(field: HTMLElement): () => Intent {
  const down = new Set<string>();
  let move = 0;
  let fire = false;
  let stick: { id: number; x: number; y: number } | undefined;
  let trigger: number | undefined;
  addEventListener("keydown", (e) => {
    if (e.code in keys || e.code === "Space") {
      down.add(e.code);
      e.preventDefault();
    }
  });
  addEventListener("keyup", (e) => down.delete(e.code));
  addEventListener("blur", () => down.clear());
  // The left half of the field is a stick, the right half fires.
  field.addEventListener("pointerdown", (e) => {
    field.setPointerCapture(e.pointerId);
    const { left, width } = field.getBoundingClientRect();
    if (e.clientX - left < width / 2 && !stick) {
      stick = { id: e.pointerId, x: e.clientX, y: e.clientY };
    } else {
      trigger = e.pointerId;
      fire = true;
    }
  });
  field.addEventListener("pointermove", (e) => {
    if (stick?.id === e.pointerId) {
      const [dx, dy] = [e.clientX - stick.x, e.clientY - stick.y];
      move = Math.hypot(dx, dy) < 12 ? 0 : direction(dx, dy);
    }
  });
  const up = (e: PointerEvent): void => {
    if (stick?.id === e.pointerId) {
      stick = undefined;
      move = 0;
    } else if (trigger === e.pointerId) {
      trigger = undefined;
      fire = false;
    }
  };
  field.addEventListener("pointerup", up);
  field.addEventListener("pointercancel", up);
  return () => {
    let [dx, dy] = [0, 0];
    for (const code of down) {
      dx += keys[code]?.[0] ?? 0;
      dy += keys[code]?.[1] ?? 0;
    }
    return { move: direction(dx, dy) || move, fire: fire || down.has("Space") };
  };
}

/** Plays by itself: to the nearest pick-up, shooting on the way. */
export function autopilot(view: Snapshot, me: number): Intent {
  const self = view.players.find((p) => p.id === me);
  if (!self || self.health === 0) {
    return { move: 0, fire: false };
  }
  const near = (p: { x: number; y: number }): number => Math.hypot(p.x - self.x, p.y - self.y);
  const [goal] = [...view.pickUps].sort((a, b) => near(a) - near(b));
  return { move: goal ? direction(goal.x - self.x, goal.y - self.y) : 0, fire: true };
}
