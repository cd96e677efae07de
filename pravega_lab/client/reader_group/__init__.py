"""Reader groups with Java's semantics in Java's state log, so Python and Java readers can share a group.

`state` and `assignment` are the rules, `reader` what one reader decides; the rest talks to the store.
"""
