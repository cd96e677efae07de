"""Checkpoints: whom they trigger, barriers, storage, damage; without a job where possible."""
