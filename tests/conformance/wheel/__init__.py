"""The official Python wheel, on both stores. Each test has a limit (`bounded`), since the wheel may hang."""
