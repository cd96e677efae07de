"""What tasks import on their first use, in one import: for the worker daemon, before it forks. No gRPC."""

import pravega_lab.client
import pravega_lab.client.batches
import pravega_lab.client.compiled
import pravega_lab.client.events
import pravega_lab.client.stream
import pravega_lab.connector.spark.digest
import pravega_lab.connector.spark.settle
import pravega_lab.connector.spark.sink  # noqa: F401
