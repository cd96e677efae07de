"""The exercises of ``notebooks/10-stop-with-savepoint.ipynb``."""

from __future__ import annotations

from pravega_lab.tutorials.learning.answer_forms import whole_number
from pravega_lab.tutorials.learning.book import Exercise

EXERCISES = (
    Exercise(
        number="10.1",
        asks=(
            "Stopped without drain after 36 sales. How many of these sales are in the savepoint, in "
            "windows and in the page that is not full?"
        ),
        read=whole_number,
        right="e48d646e45c4bbb2",
        hints=(
            "What was read before the stop is in the output or in the state.",
            (
                "Count what is in the output at the stop, with counted(): each of the others is in "
                "exactly one window or count of the state."
            ),
        ),
        solution=(
            "c-l>lQ4Yc|3`4Kt1E5M{+CKQ>C}B-U(b`N+N3T!V1lnKZ*w5~|8~PDS3o9BIMq%<7Q1-YEAQNIneKJ;>*$%2`q?jb7SSx#n@$8"
            "b7Gg{1EnnD7UCoxoi5Qo1lvmv%zf5cezT;y=aOCHC!ux`obg(7KpD7|@=xTkG$5bK}W2(&EUQd5)r00cKmss"
        ),
        remarks={
            "536f7f7a2b399ed7": "These are in the windows. A count waits in the page, too.",
            "c542bf0c7c8ca740": "That is a count: of how many sales?",
            "bccd91177d3733b1": "These are in the output.",
        },
    ),
    Exercise(
        number="10.2",
        asks=(
            "The old order again, stopped with drain, but after 28 sales (sales_before=28). How many "
            "of them are in the output at the stop?"
        ),
        read=whole_number,
        right="320a8a7fff9349dc",
        hints=(
            (
                "The watermark goes to its end before the savepoint, in the old order, too. What do the "
                "windows do then?"
            ),
            (
                "Which counts make a full page before the savepoint, and which one waits for the end of "
                "the operator? Try: stopped(True, resumed=False, history=OLD, sales_before=28)."
            ),
        ),
        solution=(
            "c-mc#K@P$&3<STjcd8yxx$pp9zz0n05KC!X#ir%?B#}74VGmxfcYL0%FnMFvS9XI2_@S_<n}PBIkA)e=v*yJHTyXl))HLEIJNM"
            "hjD}tm1!bVTVgM$`sK8$wWRI(4fn5sSNx{5n5IK(5wN8DRd-gW994V7S&xT3|t-*n{MJ9XniuB9@wSY&Gj<Sk3Vx%`7oE2M3cn"
            "vWlOwp6n"
        ),
        remarks={
            "69ba32a7135d9ffc": "The windows of second 2 fire, too: the watermark goes to its end.",
            "757402188fac7f15": "That is so since FLIP-147.",
            "b5231589252c998a": "Five counts fill a page. Are there five?",
        },
    ),
    Exercise(
        number="10.3",
        asks=(
            "After which number of sales, from 31 to 45, can one stop with drain, resume from the "
            "savepoint, and still get the result of a job that is never stopped?"
        ),
        read=whole_number,
        right="44d528b98e6c345b",
        hints=(
            "The drained windows are emitted early. When does that do no harm?",
            "Try them: stopped(True, sales_before=n).in_the_end == never_stopped().",
        ),
        solution=(
            "c-l3OK@P$&3<STj52z3lJ#phHE^$eu)<&@*>hFnZd$a7>S$VwP;hE8jBy9$rVf<7{xFOS*LCX@$&XfwHg)L?oK%F_zv7-jj!-9"
            "?df(KHiBH*>Sp=ENEf41@-rW5zLg(12E-fI>$4y)%PFHBoMb?fY0dwhe23i4Set^-ugAEG5XofCS!H^rN(+vNvpQBq<"
        ),
        remarks={
            "f12c2a98d8e32b5f": "Then second 3 is emitted twice.",
            "197f62476b64f7c3": "From 31 on. But the thought is right.",
        },
    ),
    Exercise(
        number="10.4",
        asks=(
            "The job of section 6 with the variable, but 1,000 sales in all. A worker is killed when the "
            "numbers of 600 sales are committed. How many numbers of the output are doubled?"
        ),
        read=whole_number,
        right="c7b063a316d93bdc",
        hints=(
            "Which number does the first sale of a shop after the kill get?",
            "Write down for one shop which numbers come before the kill, and which after it. Two shops.",
        ),
        solution=(
            "c-mEuOAf*?3`DOo2dGf^ZMXq@E?|gDEz$(VE)}=OO@#z2EAq?C^Etx?MlV$jbEyxm+JWgdK!@_golUWY73@RkKsheFGV(NDods3K"
            "t&F3XaophIVVUP|)bhU-yr>FY6N41uO+IMds8O{JTH0$D0+bRfO8=uly>V^8LsDv~O=`DD&4W0%h{$?Pnd~_kC{?ETKH=b@zrL|d"
            "t`gUC_Ms&mo%yeHa1>R^_ss_a31ey"
        ),
        remarks={
            "d6a3267c9cffaebf": "These were numbered before the kill. Which of their numbers come again?",
            "98129cb7db0f68e5": "That is for one shop.",
            "b67817aaf75ab82c": "So it would be with the counts in state.",
        },
    ),
)
