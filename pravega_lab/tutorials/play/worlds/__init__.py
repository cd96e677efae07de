"""The worlds in which the scenarios happen: a stream with readers, a copying job, a job, a race.

Each module has ``play(scenario, spec)``, which returns a `Played`. Only `player` and `messages` import them.
"""
