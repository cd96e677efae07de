// The colours of the page around a view.
import { ink } from "./colours.ts";

export interface Theme {
  dark: boolean;
  ground: string;
  text: string;
  soft: string;
  line: string;
  none: string;
  cold: string;
  hot: string;
  font: string;
}

const SANS = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

/** Return the theme for a background colour (#rrggbb). */
export function themeOn(ground: string, font = SANS): Theme {
  const dark = ink(ground) === "#ffffff";
  return {
    dark,
    ground,
    text: dark ? "#e6e6e6" : "#1a1a1a",
    soft: dark ? "#b4b4b4" : "#555555",
    line: dark ? "#4a4a4a" : "#d0d0d0",
    none: dark ? "#5a5a5a" : "#c4c4c4",
    cold: dark ? "#1b3a52" : "#dcebf6",
    hot: dark ? "#7cc4f8" : "#08519c",
    font,
  };
}

/** Return the colours of JupyterLab's theme, or the page's own where there is no lab. */
export function themeOf(el: Element): Theme {
  const style = getComputedStyle(el);
  const get = (name: string, otherwise: string) => style.getPropertyValue(name).trim() || otherwise;
  const probe = document.createElement("canvas").getContext("2d")!;
  probe.fillStyle = get("--jp-layout-color0", "#ffffff");
  const named = String(probe.fillStyle);
  return themeOn(named.startsWith("#") ? named : "#ffffff", get("--jp-ui-font-family", SANS));
}

/** Call `changed` when the lab's or the system's theme changes, until `signal` ends. */
export function watchTheme(changed: () => void, signal: AbortSignal): void {
  const observer = new MutationObserver(changed);
  observer.observe(document.body, { attributes: true }); // JupyterLab's theme
  observer.observe(document.documentElement, { attributes: true }); // a site's
  signal.addEventListener("abort", () => observer.disconnect());
  globalThis.matchMedia?.("(prefers-color-scheme: dark)").addEventListener("change", changed, { signal });
}
