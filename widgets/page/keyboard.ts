// Keys of the canvas, their list, and the buttons that do the same.
import * as actions from "./actions.ts";
import { fill, lineBreak, type Piece, piece } from "./elements.ts";
import type { Frame } from "./frame.ts";

const HELP = [
  ["space", "pause or resume"],
  ["← →", "back and forth in time"],
  ["Shift ← →", "to the last, the next observation"],
  [". ,", "to the next event, the one before"],
  ["F", "where a fork would begin, and its code"],
  ["Home End", "the start, the newest"],
  ["↑ ↓", "select the next mark"],
  ["Enter", "pin what is selected"],
  ["+ − 0", "zoom time in, out, all of it"],
  ["wheel", "zoom at the pointer"],
  ["drag", "move the zoomed time"],
  ["Esc", "release the pin"],
];
const STRIDES = 100; // arrow presses from one end to the other

type Action = (frame: Frame, event: KeyboardEvent) => void;

function sideways(direction: number): Action {
  return (frame, event) => {
    if (event.shiftKey) return actions.oneStep(frame, direction);
    const [from, to] = frame.clock.span;
    actions.seek(frame, frame.clock.now + (direction * (to - from)) / STRIDES);
  };
}

const KEYS: Readonly<Record<string, Action>> = {
  " ": actions.togglePlay,
  ArrowLeft: sideways(-1),
  ArrowRight: sideways(1),
  ArrowUp: (frame) => actions.select(frame, 1),
  ArrowDown: (frame) => actions.select(frame, -1),
  ".": (frame) => actions.toEvent(frame, 1),
  ",": (frame) => actions.toEvent(frame, -1),
  f: actions.markFork,
  F: actions.markFork,
  Home: (frame) => actions.seek(frame, frame.clock.start),
  End: actions.follow,
  Enter: actions.pin,
  Escape: actions.letGo,
  "+": ({ clock }) => clock.zoomAt(clock.now, 0.8),
  "-": ({ clock }) => clock.zoomAt(clock.now, 1.25),
  0: ({ clock }) => clock.set({ zoom: null }),
  "?": actions.toggleHelp,
};

function act(frame: Frame, e: KeyboardEvent): void {
  const action = KEYS[e.key];
  if (!action || e.ctrlKey || e.metaKey || e.altKey || !frame.clock.ticking) return;
  e.preventDefault();
  e.stopPropagation(); // or the notebook acts on it too
  action(frame, e);
}

export function listenToKeys(frame: Frame): void {
  const { parts } = frame;
  const lines = HELP.flatMap(([key, what], k): Piece[] => [
    ...(k ? [lineBreak] : []),
    piece("kbd", {}, key),
    ` ${what}`,
  ]);
  fill(parts.keys, lines);
  frame.on<KeyboardEvent>(parts.canvas, "keydown", (e) => act(frame, e));
  // A click on a button gives it the focus. It keeps the keys that press it; the slider, the lists and the fields
  // keep all of theirs.
  frame.on<KeyboardEvent>(parts.root, "keydown", (e) => {
    if (e.target === parts.canvas) return;
    const presses = e.key === " " || e.key === "Enter";
    if (e.target instanceof HTMLButtonElement && !presses) act(frame, e);
    else if (!e.ctrlKey && !e.metaKey && !e.altKey) e.stopPropagation();
  });
}

export function listenToBar(frame: Frame): void {
  const { clock, parts } = frame;
  const buttons: [HTMLElement, () => void][] = [
    [parts.play, () => actions.togglePlay(frame)],
    [parts.newest, () => actions.follow(frame)],
    [parts.stepBack, () => actions.oneStep(frame, -1)],
    [parts.stepOn, () => actions.oneStep(frame, 1)],
    [parts.jumpBack, () => actions.jump(frame, -1)],
    [parts.jumpOn, () => actions.jump(frame, 1)],
    [parts.fork, () => actions.markFork(frame)],
    [parts.help, () => actions.toggleHelp(frame)],
  ];
  for (const [button, act] of buttons) frame.on(button, "click", act);
  frame.on(parts.slider, "input", () => {
    clock.playing = false;
    actions.seek(frame, clock.start + (Number(parts.slider.value) / 1000) * (clock.newest - clock.start));
    frame.copyable(`view.at(${((clock.now - clock.start) / 1000).toFixed(2)})`);
  });
  frame.on(parts.speed, "change", () => clock.set({ speed: Number(parts.speed.value) }));
}
