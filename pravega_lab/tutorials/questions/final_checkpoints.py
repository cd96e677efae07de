"""The exercises of ``notebooks/09-final-checkpoints.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import numbers_in_any_order, whole_number, words_in_any_order
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="09.1",
        asks="Option 1, a source and six sinks: how many checkpoints complete after the source ended?",
        read=whole_number,
        right="3e89de6d9fe10d5b",
        hints=(
            "Which tasks wait? Not only those with a sink.",
            "`checkpoints_after_the_end(chain(6, ...))` counts them.",
        ),
        solution=(
            "c-ke6Q3}H_3`4J?1BAl%GuTD;ZBmDXf>mO7z5X2bC&bg!>kXCK!G`Dx*RL8v{BYbd!qGS(s9o!Ea#$>K^}MZsrjQnzh%xuG"
            "WZ3^EUb8BO=X&`Hg52;Kk!NQN8lEXyz+?LXRlqI|"
        ),
        remarks={"366fc2447f3d7f52": "The source is a task, too."},
    ),
    Exercise(
        number="09.2",
        asks="The run `at_once`: which customers are twice in the files of known?",
        read=numbers_in_any_order,
        right="58a637772623f8ad",
        hints=(
            "Look at the third column of `files_of(at_once, ...)`.",
            "Look for customers that are in two of the files. They came after checkpoint 2.",
        ),
        solution=(
            "c-mEsK@P$&3<STj52!eB0)FG#OB15lC|IiaJ&;Sqaiy8r3&aiA8?x{Xl}^Y#IiQ8wo>4t<Ua)fz8ok#{8umi}8F*E1pc`$O"
            "p~(%3&2<Q}N%cc}#ESBTws2w<ZOHh0JbeJYhcyo"
        ),
        remarks={"3dd25c32c02ae1c6": "Those are there once."},
    ),
    Exercise(
        number="09.3",
        asks="The run `new`: which tasks were not called again after the failure?",
        read=words_in_any_order,
        right="9589fdff492d3968",
        hints=(
            "The job has five tasks. Section 4 says which of them were called again.",
            "The tasks that checkpoint 14 calls fully finished.",
        ),
        solution=(
            "c-k$EK?=h#3<STj4=9B~PyLN*%dv1G1xd!=Zvs8eVP?vVw1YiBS~1j?en9(<>@1F$-=r9UP8Cg5qI1RStSFt!I88M1dSg)_UAB"
            "##>jPn+mh5*1jbxwBP*aArf7(uVO1sVyH|Xs-Q@zMh>^LOj`2&d*I*9"
        ),
        remarks={"677ce00c2bed9397": "There is another one after it."},
    ),
)
