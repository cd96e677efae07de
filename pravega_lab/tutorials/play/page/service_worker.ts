// Keeps the files of the page, so that it also opens without a network after the first visit.

declare const FILES: readonly string[]; // the build writes both in (build_page.py)
declare const DIGEST: string;

interface Scope extends EventTarget {
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
}
interface Extendable extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface Fetched extends Extendable {
  readonly request: Request;
  respondWith(answer: Promise<Response>): void;
}

const scope = self as unknown as Scope;
const PREFIX = "pravega-lab-page-";
const NAME = PREFIX + DIGEST;

scope.addEventListener("install", (event) => {
  const keep = caches
    .open(NAME)
    .then((cache) => cache.addAll(FILES.map((path) => new Request(path, { cache: "no-cache" }))));
  (event as Extendable).waitUntil(keep.then(() => scope.skipWaiting()));
});

scope.addEventListener("activate", (event) => {
  const sweep = caches
    .keys()
    .then((names) =>
      Promise.all(names.filter((name) => name.startsWith(PREFIX) && name !== NAME).map((name) => caches.delete(name))),
    );
  (event as Extendable).waitUntil(sweep.then(() => scope.clients.claim()));
});

scope.addEventListener("fetch", (event) => {
  const { request } = event as Fetched;
  if (request.method !== "GET" || new URL(request.url).origin !== location.origin) return;
  const answer = async (): Promise<Response> => {
    const cache = await caches.open(NAME);
    return (await cache.match(request, { ignoreSearch: true })) ?? fetch(request);
  };
  (event as Fetched).respondWith(answer());
});
