// What can be hovered and pinned. Views share marks through the clock, so one view outlines what another one picked.

/** A place in time, with nothing under the pointer. */
export interface Place {
  time: number;
  kind?: undefined;
  key?: undefined;
}

export interface Mark {
  kind: string;
  key: string;
  time: number;
}

/** A segment of a stream, in whatever view. */
export interface SegmentMark extends Mark {
  kind: "segment";
  stream: string;
  number: number;
}

/** A reader of a group, by its name. */
export interface ReaderMark extends Mark {
  kind: "reader";
  name: string;
}

/** A checkpoint or its cut: `source` is the group or the job that it belongs to. */
export interface CheckpointMark extends Mark {
  kind: "checkpoint" | "cut";
  name?: string;
  source?: string;
}

/** The positions of a checkpoint: `at` (ms) is when the segment had its position, `done` that it was read whole. */
interface CutPiece {
  stream: string;
  number: number;
  low: number;
  high: number;
  at?: number | null;
  done?: boolean;
}

export interface CutMark extends CheckpointMark {
  kind: "cut";
  number: number;
  pieces: CutPiece[];
  gaps: { stream?: string; low: number; high: number }[];
}

export const isSegment = (mark: Mark | Place | null): mark is SegmentMark => mark?.kind === "segment";
export const isReader = (mark: Mark | Place | null): mark is ReaderMark => mark?.kind === "reader";
export const isCut = (mark: Mark | Place | null): mark is CutMark => mark?.kind === "cut";
export const isCheckpoint = (mark: Mark | Place | null): mark is CheckpointMark =>
  mark?.kind === "checkpoint" || mark?.kind === "cut";
