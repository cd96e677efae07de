"""The program: the builder, and the job graph that it ends in.

User programs import `stream`. Checkpoints, tasks and the job master import `graph`.
"""
