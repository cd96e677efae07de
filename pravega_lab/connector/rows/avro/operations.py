"""The instructions of `kernels`, and the reasons with which they refuse an event.

A program is an array of rows (operation, a, b, level, d). Values are in one flat array of int64. Column
``slot`` begins at ``base[slot]`` and has one value per item of its level: level 0 is the rows, and every
array and map has a level for its items. Texts and bytes take two slots, a start and a length.
"""

from __future__ import annotations

# These begin with an integer of variable length. UNION and what is skipped are for decoding only.
LONG, BYTES, ARRAY, ENUM, UNION, SKIP_LONG, SKIP_BYTES = range(7)
# These have a fixed size, in bytes, in ``b``. SKIP_FIXED is for decoding only.
BOOLEAN, FLOAT, DOUBLE, FIXED, SKIP_FIXED = range(7, 12)
# Decoding: LOOP and END are for encoding, too.
LOOP, JUMP, NULL, FAIL, END = range(12, 17)
# Encoding.
NULLABLE, LITERAL = 17, 18
#: Why an event is not one datum of the schema. `decode_rows` returns the index of a reason.
REASONS = (
    "",
    "it ends in the middle of a value",
    "an integer is longer than its type",
    "a boolean is neither 0 nor 1",
    "a value is of a branch of its union that the column cannot contain",
    "bytes follow the last field",
    "an enum has no such symbol",
    "a length is negative",
    "an array has more items than bytes",
)
ENDS, TOO_LONG, NOT_BOOLEAN, BRANCH, FOLLOWED, SYMBOL, NEGATIVE, TOO_MANY = range(1, 9)
