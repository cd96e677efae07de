"""What a tutorial asks of a learner: predictions, exercises with hints, and a fresh start.

`pravega_lab.tutorials` publishes it; it imports nothing of the lab but its errors.
"""
