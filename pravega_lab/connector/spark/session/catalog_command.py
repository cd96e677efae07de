"""``pravega-lab catalog``: print what a Spark session needs to have the catalog ``pravega``."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from pravega_lab.client.client import parse_address
from pravega_lab.client.registry.rest import split_address
from pravega_lab.connector.spark.catalog.jar import CLASS, SETTING, jar_path, make_jar
from pravega_lab.connector.spark.session.java import find_java
from pravega_lab.connector.spark.session.registration import installed_spark
from pravega_lab.connector.spark.session.session import SUBMITTED_VARIABLE


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.epilog = "Example: spark-submit $(pravega-lab catalog tcp://localhost:9090) job.py"
    parser.add_argument(
        "uri", metavar="URI", help="the address of a controller, such as tcp://localhost:9090"
    )
    parser.add_argument(
        "--registry", metavar="URI", help="the address of a schema registry, such as http://localhost:9092"
    )


def run(args: Namespace) -> int:
    """Compile the catalog if it is not in the cache, and print the options of spark-submit.

    Raises:
        BadInputError: An address is malformed.
    """
    parse_address(args.uri)
    if args.registry:
        split_address(args.registry)
    version = installed_spark()
    path = jar_path(version)
    if not path.exists():
        from pyspark.java_gateway import launch_gateway

        os.environ.pop(SUBMITTED_VARIABLE, None)
        os.environ["JAVA_HOME"] = str(find_java().home)
        gateway = launch_gateway()
        try:
            path = make_jar(gateway.jvm, version)
        finally:
            gateway.shutdown()
            gateway.proc.stdin.close()
    registry = f" --conf {SETTING}.registry_uri={args.registry}" if args.registry else ""
    print(f"--jars {path} --conf {SETTING}={CLASS} --conf {SETTING}.controller-uri={args.uri}{registry}")
    return 0
