// Tables of rows, as the kernel sends them: typed columns that grow.

type ColumnOf<T> = T extends "u" ? Uint32Array : Float32Array;

/** The columns of a format such as "index:u start:f", by name. */
type Columns<F extends string> = F extends `${infer N}:${infer T} ${infer Rest}`
  ? { [K in N]: ColumnOf<T> } & Columns<Rest>
  : F extends `${infer N}:${infer T}`
    ? { [K in N]: ColumnOf<T> }
    : never;

interface Format {
  readonly format: string;
  readonly keyed?: boolean;
}
export type Formats = Readonly<Record<string, Format>>;

/** Columns that grow. Format: "index:u start:f": u32 and f32, little-endian, in this order. */
export class Table<F extends string = string> {
  n = 0;
  col!: Columns<F>;
  readonly #fields: readonly (readonly [string, string])[];
  readonly #keyed: boolean;
  #room = 0;

  constructor(format: F, keyed = false) {
    this.#fields = format.split(" ").map((field) => field.split(":") as unknown as readonly [string, string]);
    this.#keyed = keyed;
    this.clear();
  }

  clear(): void {
    this.n = 0;
    this.#room = 0;
    this.col = {} as Columns<F>;
    this.#grow(256);
  }

  #grow(room: number): void {
    if (room <= this.#room) return;
    const wanted = Math.max(room, 2 * this.#room);
    const columns = this.col as Record<string, Uint32Array | Float32Array>;
    for (const [name, type] of this.#fields) {
      const old = columns[name];
      columns[name] = type === "u" ? new Uint32Array(wanted) : new Float32Array(wanted);
      if (old) columns[name].set(old);
    }
    this.#room = wanted;
  }

  /** Take the rows of a buffer, and return the index of the first appended one. */
  put(buffer: DataView | ArrayBuffer | Uint8Array): number {
    const view =
      buffer instanceof ArrayBuffer
        ? new DataView(buffer)
        : new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    const columns = this.col as Record<string, Uint32Array | Float32Array>;
    const stride = 4 * this.#fields.length;
    const first = this.n;
    for (let at = 0; at + stride <= view.byteLength; at += stride) {
      const i = this.#keyed ? view.getUint32(at, true) : this.n;
      this.#grow(i + 1);
      for (let k = 0; k < this.#fields.length; k++) {
        const [name, type] = this.#fields[k];
        columns[name][i] = type === "u" ? view.getUint32(at + 4 * k, true) : view.getFloat32(at + 4 * k, true);
      }
      this.n = Math.max(this.n, i + 1);
    }
    return first;
  }
}
