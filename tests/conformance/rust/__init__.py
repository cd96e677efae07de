"""The official Rust client, in a program of ours, on the embedded store."""
