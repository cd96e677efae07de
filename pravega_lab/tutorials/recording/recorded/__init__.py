"""The recorded runs themselves, as data files. ``recordings.recorded`` finds them."""
