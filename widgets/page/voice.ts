// What a view says to the kernel.

import type { Model, Settings } from "./spec.ts";
import { page } from "./time/registry.ts";

/** The way to the kernel that all shown views of a page share. */
export interface SharedVoice {
  users: number;
  model: Promise<Model>;
  timer?: ReturnType<typeof setInterval>;
}

export interface Voice {
  say(content: Record<string, unknown>): void;
  /** Say that an update has arrived. */
  acknowledge(seq: number): void;
  close(): void;
}

const TRIES = 40;
const TRY_EVERY_MS = 250;
const GREET_EVERY_MS = 1500;
const ACK_AFTER_MS = 250; // pace.py allows as many updates without an answer as it sends in this time, and two more

/** Return a widget's model by its id. After a reload the page brings models back in any order, so look repeatedly. */
async function found(manager: NonNullable<Model["widget_manager"]>, id: string): Promise<Model> {
  for (let tries = 1; ; tries++) {
    try {
      return await manager.get_model(id);
    } catch (error) {
      if (tries === TRIES) throw error;
      await new Promise((later) => setTimeout(later, TRY_EVERY_MS));
    }
  }
}

function send(to: Model, content: Record<string, unknown>): void {
  try {
    to.send(content);
  } catch {
    // The kernel was restarted and its comms are closed: no process is there to receive it.
  }
}

/**
 * Acknowledge an update together with those that all views of the page receive in this time. For each message JupyterLab
 * shows a busy kernel and then an idle one, and lays out its toolbar again.
 */
function acknowledge(to: Model, control: string, view: string, seq: number): void {
  page.acks ??= new Map();
  const { acks } = page;
  const seqs = acks.get(control) ?? {};
  seqs[view] = seq;
  if (acks.has(control)) return;
  acks.set(control, seqs);
  setTimeout(() => {
    acks.delete(control);
    send(to, { kind: "acks", seqs });
  }, ACK_AFTER_MS);
}

/**
 * Return a way to the kernel that also works while a cell blocks it (control.py says why): messages use a comm that
 * carries no data and is greeted now and then. Until it is open, and where there is none, they use the view's own.
 */
export function voiceOf(model: Model, view: string | undefined, isShown: boolean): Voice {
  const { control } = model.get("_settings") ?? ({} as Settings);
  const alone = (seq: number) => send(model, { kind: "ack", seq });
  if (!model.widget_manager || !control) {
    return { say: (content) => send(model, content), acknowledge: alone, close() {} };
  }
  let way: Model | null = null;
  let open = true;
  page.voices ??= new Map();
  const voices = page.voices;
  const voice = voices.get(control) ?? { users: 0, model: found(model.widget_manager, control) };
  if (isShown) {
    // A model that no view shows greets no page.
    voice.users += 1;
    voices.set(control, voice);
  }
  voice.model.then(
    (it) => {
      if (!open || !it) return;
      way = it;
      if (!isShown || voice.timer) return;
      voice.timer = setInterval(() => send(it, { kind: "greeting" }), GREET_EVERY_MS);
      send(it, { kind: "greeting" });
    },
    () => {},
  );
  return {
    say: (content) => (way ? send(way, { ...content, view }) : send(model, content)),
    acknowledge: (seq) => (way && view ? acknowledge(way, control, view, seq) : alone(seq)),
    close() {
      open = false;
      if (!isShown) return;
      voice.users -= 1;
      if (voice.users) return;
      clearInterval(voice.timer);
      voices.delete(control);
    },
  };
}
