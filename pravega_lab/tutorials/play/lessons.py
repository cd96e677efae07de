"""Six lessons of five minutes for the page: words, a prediction, a run that fails, and one that succeeds."""

from __future__ import annotations

from dataclasses import dataclass

OUTCOMES = {
    "exact": "Every event arrives once and in order.",
    "lost": "Some events are lost.",
    "doubled": "Some events arrive twice.",
    "waits": "Some events are never read, and the run waits.",
}


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a lesson.

    Args:
        words: What a person reads before the prediction.
        ask: The question; the answers are `OUTCOMES`.
        link: The run that answers it (`spec`).
        right: The name of the outcome.
        then: What explains the outcome.
    """

    words: str
    ask: str
    link: str
    right: str
    then: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson: its name in a link, ``#lesson=reader-groups``, its title, and its steps."""

    name: str
    title: str
    steps: tuple[Step, ...]


KEYS_AND_SPLITS = Lesson(
    "keys-and-splits",
    "Keys and splits",
    (
        Step(
            "A stream is a row of events that many programs write and read at once. Each event has a "
            "routing key, the number of an aircraft for example. A hash gives each key a place between "
            "0 and 1. A segment contains the events of a range of places: in the picture it is a "
            "rectangle. When more events arrive, a segment is split, and two segments continue its "
            "range. Later, two segments can be merged into one.",
            "Suppose that a merged segment waits for only one of the two segments before it. What happens?",
            "scenario=split&seed=0&bug=first-predecessor-only",
            "doubled",
            "A reader began the merged segment while another reader still read one of the two before "
            "it. The shared state of the group no longer matches what its readers have read, so events "
            "are read again.",
        ),
        Step(
            "The real rule is on the right below the pictures. A segment becomes readable when the "
            "last of its predecessors has been read to its end. Until then it waits, and is drawn with "
            "dots.",
            "The same splits and the same merge, with this rule. What happens now?",
            "scenario=split&seed=0",
            "exact",
            "The events of a key are always in one segment after another, and are read in this order. "
            "This is the promise of a stream: order for each key, however often the stream scales.",
        ),
    ),
)
READER_GROUPS = Lesson(
    "reader-groups",
    "Reader groups",
    (
        Step(
            "Readers of a group share the segments of a stream: each segment has one reader. Their "
            "shared state is a log, to which every reader writes what it has acquired and released. A "
            "checkpoint notes how far each reader has come. At second 13, the reader eva dies. Nothing "
            "in the log says so.",
            "Nobody declares that eva is dead. What happens to her segments?",
            "scenario=reader-dies&seed=3&act=8+checkpoint&act=13+kill+eva",
            "waits",
            "The segments stay eva's, and nobody else may read them. No checkpoint completes any more, "
            "because each reader has to pass it. A program has to notice that a reader is gone, and "
            "say so.",
        ),
        Step(
            "At second 14, somebody declares eva dead. The other two readers acquire her segments. "
            "They begin where the last checkpoint was, because nothing else is known about eva.",
            "Eva had read on after the checkpoint. What happens?",
            "scenario=reader-dies&seed=3",
            "doubled",
            "What eva had read after the checkpoint is read again by others. Reading twice is the "
            "price for losing nothing. It is called at-least-once.",
        ),
        Step(
            "Suppose that eva's position was stored somewhere each time she had processed an event.",
            "She is declared dead at this position. What happens?",
            "scenario=reader-dies&seed=3&declared=with-position",
            "exact",
            "The others begin at the very event that eva did not read. Who stores the position "
            "together with the result has exactly-once. This is what a job does with its checkpoints.",
        ),
    ),
)
TWO_CHECKPOINTS = Lesson(
    "two-kinds-of-checkpoint",
    "Two kinds of checkpoint",
    (
        Step(
            "A job copies the stream. Its own checkpoint is a barrier that travels through all tasks: "
            "each stores its state when the barrier passes. The reader group, with which it reads, has "
            "checkpoints too: each reader passes one between two events. After a failure, the job goes "
            "back to its checkpoint, and the group to its own.",
            "The group's checkpoint is first, and the barrier comes a little later. The job fails. "
            "What happens?",
            "scenario=flip-27-gap&seed=3&way=b2",
            "doubled",
            "The readers went back to the group's checkpoint. But the sink had committed everything up "
            "to the barrier. What is between the two is in the copy twice.",
        ),
        Step(
            "A master hook lets the coordinator of the job ask the group first. When a reader meets "
            "the group's checkpoint among its events, it sends the barrier from there.",
            "The two checkpoints are one place now. The job fails. What happens?",
            "scenario=flip-27-gap&seed=3&way=a",
            "exact",
            "Whatever the sink has committed is before the place to which the group goes back. Nothing "
            "is between.",
        ),
    ),
)
FLIP_27 = Lesson(
    "flip-27-gap",
    "The FLIP-27 gap",
    (
        Step(
            "FLIP-27 gave Flink a new form of sources: readers have splits, and a checkpoint stores "
            "each reader's splits with their positions. For a reader group, the position of a reader "
            "seemed to be the split. The stream is split while the job runs, so readers finish "
            "segments and acquire new ones.",
            "Each reader stores its own position at the barrier. One of them fails. What happens?",
            "scenario=flip-27-gap&seed=3",
            "lost",
            "Each position was right, but together they were no place of the stream. A segment that "
            "was acquired after the barrier is in nobody's position. The group resumed at a later "
            "place of its own.",
        ),
        Step(
            "The enumerator is the part of the source that assigns splits. It can ask the group for a "
            "cut: a place in every segment, which fits together.",
            "The checkpoint stores this cut. The barrier is sent as before. What happens?",
            "scenario=flip-27-gap&seed=3&way=b2",
            "doubled",
            "Nothing is lost, because the cut covers every key. But the readers had read on between "
            "the cut and the barrier, and the sink had committed that.",
        ),
        Step(
            "The last piece was a change in Flink: a reader may hold the barrier back until it meets "
            "the group's checkpoint (FLINK-20270).",
            "Now the barrier is exactly at the cut. What happens?",
            "scenario=flip-27-gap&seed=3&way=b3",
            "exact",
            "This closes the gap, and it is how the connector reads today.",
        ),
    ),
)
FINAL = Lesson(
    "final-checkpoints",
    "Final checkpoints",
    (
        Step(
            "A job joins ten customers with many orders. The customers are a short file: their task "
            "soon ends. A sink commits its rows when a checkpoint is complete. Before FLIP-147, a job "
            "took no checkpoint any more after one of its tasks had ended.",
            "The task of the customers ends after half a second, and the orders continue. What happens?",
            "scenario=finished-task&seed=3&finishing=before",
            "lost",
            "After the end of the customers no checkpoint came, so nothing was committed. The failure "
            "at second 2 and the end of the job found rows that belonged to no checkpoint.",
        ),
        Step(
            "With FLIP-147, a finished task is part of a checkpoint: it is marked as finished. And no "
            "task closes before a last checkpoint has committed its last rows.",
            "The same job, with the same failure. What happens?",
            "scenario=finished-task&seed=3",
            "exact",
            "In the job graph, a task waits for its final checkpoint before it closes. After the "
            "failure, the customers were not read again.",
        ),
    ),
)
EXACTLY_ONCE = Lesson(
    "exactly-once",
    "Exactly once",
    (
        Step(
            "A program writes in transactions. It may be told that a transaction is committed only "
            "when that survives anything. The store is killed four times in the middle of its work "
            "(kill -9), and starts again from its disk, which is slow.",
            "Suppose that the store answers before its disk has the data. What happens?",
            "scenario=kill-9&seed=1&bug=ack-before-sync",
            "lost",
            "An answer was on its way when the store died, and the data was not on the disk. The "
            "program believed the answer.",
        ),
        Step(
            "The real store writes a group of changes to its disk, waits until the disk has it, and "
            "answers then.",
            "The same kills, with this rule. What happens?",
            "scenario=kill-9&seed=1",
            "exact",
            "After a kill the client asks for the commit again. The transaction is there as a whole, "
            "and a commit that was decided before the kill is not carried out twice.",
        ),
    ),
)
LESSONS = (KEYS_AND_SPLITS, READER_GROUPS, TWO_CHECKPOINTS, FLIP_27, FINAL, EXACTLY_ONCE)
