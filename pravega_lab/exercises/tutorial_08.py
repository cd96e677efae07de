"""The exercises of ``notebooks/08-the-flip-27-gap.ipynb``."""

from __future__ import annotations

from pravega_lab.exercises.answers import numbers_in_any_order, word, words_in_any_order
from pravega_lab.exercises.book import Exercise

EXERCISES = (
    Exercise(
        number="08.1",
        asks="b1, with the failure and without any scale: what does the ledger say of the copy?",
        read=word,
        right="d7d49c2c2f3274e7",
        hints=(
            'Let it happen: `copied("b1", Story(acts=..., events=480), SEED)`, with one act.',
            "`.ledger.verdict().sentence` of that run is the answer.",
        ),
        solution=(
            "c-k$E(G7z@3`1A(0Ej*M(;ZUIa1oH8OG?}Adqw@S^kn<-EmMxTJA%tjOVA1n#0t!fn5x*)L5~uUIoXi)$2qNstL1=j@M"
            "Qbo@X%B@nCuL^sw6Z6jZ*q9Qn#%?#fV!XW$m4ZXB{Be{p4j8%%a<~@h{UHzey!J^Z"
        ),
    ),
    Exercise(
        number="08.2",
        asks="b2: which segments does the cut in checkpoint 2 name?",
        read=numbers_in_any_order,
        right="654cbbe9153bdfb5",
        hints=(
            "`b2.stream_cut(2).positions` has an offset for each of them; -1 is the end.",
            "All keys have to be in it, each once.",
        ),
        solution=(
            "c-ke(K?;B%5QX8ZJa8Lgwd)*RV6rKrp#inT+b6Yo{0}|{x>ocSv+kS&N3^N%`m`hwoLticGkngB*i=LdjO&o}#}pY0ho"
            "gb^;qTmm5(p)zuzdkEUmz9"
        ),
    ),
    Exercise(
        number="08.3",
        asks="c: who keeps positions in the checkpoint that it went back to?",
        read=words_in_any_order,
        right="c80aa8b54643eb1d",
        hints=(
            "`c.kept()` has a column for it.",
            "Each name once: `.unique()`.",
        ),
        solution=(
            "c-ke5Q4T;b5Jays2N2=cIb2}rM5Sz{yCQC{_?yXlGcK0UK{UYM*bku05grNSvQyn^5y$E%lwd8!%BbhgBAyEpc^I;8H?"
            "CLIJmqlza`Qibd#l9bstY0u+XpyXD>w"
        ),
    ),
)
