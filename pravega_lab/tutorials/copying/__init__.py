"""The job of tutorials 07 and 08: it copies a stream while the stream scales and the job fails.

The notebooks import `copy_job`; the folder imports the connectors, their simulation and drawings.
"""
