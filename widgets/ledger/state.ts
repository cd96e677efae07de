// What one place on the page shows: the moment that was drawn last.
export interface State {
  t: number; // seconds since the origin
  row: number; // of the newest counts at that moment, or -1
  refresh: () => void; // bring the text of the body up to date
}

export const initial = (): State => ({ t: 0, row: -1, refresh: () => {} });
