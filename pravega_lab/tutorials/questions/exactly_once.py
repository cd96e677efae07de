"""The exercises of ``notebooks/11-exactly-once-end-to-end.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, whole_number, word
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="11.1",
        asks=(
            "One subtask. Transaction 5 was pre-committed at checkpoint 5, which is complete; the "
            "notice of it was lost. Transaction 6 was pre-committed at checkpoint 6, complete too, "
            "and the process died before any commit. Transaction 7 was the current one then, and 8 "
            "was begun by a subtask that had passed the barrier of checkpoint 7. Which ones does the "
            "restart commit?"
        ),
        read=numbers_in_any_order,
        right="7532e95daac787a0",
        hints=(
            "What does the checkpoint that it is restored from say of each of them?",
            (
                "A transaction that was pre-committed waits in the state until somebody has committed it. "
                "How many notices that takes is no matter."
            ),
        ),
        solution=(
            "c-l>l(G9{d3`AGC0Z{)as7o+|n;053wJX~dVtWz<5`Vsv?meGDk}*!0H5QODc9vY^fg*^7;X%RBJJP~w-L*(yJbhLKV-GdX("
            "4CFiiKN?B!a=pRIR%RUhyyM?b!a-wxPer-XX7t$RtwGpZg*TE+G%^`R{h&o(Wg%+(SLh+cMA@QQqj$o$r(-Q!y8s4P4f"
        ),
        remarks={
            "a29b968ce851bf66": ("Nobody has committed the one before it, and no notice of it will come."),
            "af6a02d003bed3c9": "What the current transaction holds is read once more.",
            "3b907a0df83263f5": ("What comes after the barrier of a completed checkpoint is read once more."),
        },
    ),
    Exercise(
        number="11.2",
        asks=(
            "Nobody's lease ends, and yet somebody restarts each time from the checkpoint before the "
            "last completed one (checkpoints_back=1). After which of the seven kills is the output "
            "exact all the same? The name of the Step."
        ),
        read=word,
        right="39c918ba2790d0ec",
        hints=(
            "Try it: killed_at(step, PravegaWriter, checkpoints_back=1).verdict.sentence for each Step.",
            (
                "Exact is what has committed nothing since the checkpoint that one goes back to. What is "
                "it, before the second one is there?"
            ),
        ),
        solution=(
            "c-nQ4!A`_53`BorZd_LV063z(f#9$bXK!}WM7xcv#G>%`xGA7Yh^xmlZ|ujH=hvs>>39!IL}So$K}ZbOS#vSuhM?1YqwxT7t"
            "*E73MrcI-k*93N%Ye7U%6C>Yow%(nvfF?}b9E){5SGNCg&36$X9-uB9@ca>`oxwT_<%E`R{m4-8`FFK$?6`j_30U7F2#Fox2"
            "*G+YwP&ChN?@C;l><rS`>4V=2_xwen>FHs#CY#q}eZZUuR42dqv?7^P`<Gd;t@qgTw"
        ),
        remarks={
            "b18f17e2c336303e": (
                "Then the first checkpoint is the last completed one, and its rows are in the output already."
            ),
            "d50d944544ae1dfe": (
                "Then the first checkpoint is the last completed one, and its rows are in the output already."
            ),
            "3d3e8b6e8aa9d692": "What both have committed is read once more, and committed once more.",
        },
    ),
    Exercise(
        number="11.3",
        asks=(
            "The process dies with checkpoint complete and nothing committed, and is down for 60 s "
            "(down_s=60). In whole tens of seconds, which is the shortest lease (lease_ms) with which "
            "the output is exact?"
        ),
        read=whole_number,
        right="138bed348a61e7db",
        hints=(
            "When did the lease begin to run? Not with the kill.",
            (
                "Try leases from 40 s on. When is the commit of the restart, in seconds after the "
                "transaction was begun?"
            ),
        ),
        solution=(
            "c-l>mQBK4#3`DOo2Uu0W2T1&J2QFZ?PGgbUQtVZ=x5o)Z>{nuY?0NI{1Yhu38I8#qU%Zjxkf?}kMkjT;hL~PJXcEzes95JI_"
            "?FgkqU)@#w(k<-VgHv?3GQ>=*@Jq#<27wTc|$G0YPYQ-Z_fU}5r4GCL0OyOZa3ZXmjroB`QUZIhr-&L4yKG;JO`jarB)!}zu"
            "_)$OR9m4o$e@-*i%Ah`o<;U{y<J6r;@ABFB3U8Jkv#$1R27ISj!J0Vsdc"
        ),
        remarks={
            "3d8112d1a38e1eb6": (
                "Count from the beginning of the transaction to its commit, not from the kill to the restart."
            ),
            "2551c08144a049c8": "That is safe always. Here less was enough.",
            "6aabc4e9aa074871": "That is nearly what one should set. But here less was enough.",
        },
    ),
)
