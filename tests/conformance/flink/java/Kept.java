/** In which kind of operator state an operator keeps what it got. */
enum Kept {
    SPLIT,
    UNION,
    BROADCAST,
    /** Split, and beside it a union list, which is there from the row "b2" on. */
    LATE_UNION
}
