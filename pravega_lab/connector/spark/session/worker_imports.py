"""Imports everything that tasks import on first use. The worker daemon imports this module before it forks.

Nothing here may import gRPC, whose threads do not survive a fork.
"""

import pravega_lab.client
import pravega_lab.client.framing.events
import pravega_lab.client.reading.batches
import pravega_lab.client.stream
import pravega_lab.connector.spark.sink.commit_steps
import pravega_lab.connector.spark.sink.digest
import pravega_lab.connector.spark.sink.writer  # noqa: F401
from pravega_lab.client.framing.arrays import wait_until_compiled

wait_until_compiled(2.0)  # longer only where nothing is cached: workers then begin with plain Python
