"""A driver for tests, in a session that knows nothing of this project but the settings of its catalog.

read_catalog.py SCOPE
"""

import sys

from pyspark.sql import SparkSession

(scope,) = sys.argv[1:]
spark = SparkSession.builder.appName("catalog").getOrCreate()
spark.sql(f"CREATE TABLE pravega.`{scope}`.letters (letter string, n bigint)")
spark.sql(
    f"INSERT INTO pravega.`{scope}`.letters "
    f"SELECT cast(event AS string), count(*) FROM pravega.`{scope}`.plain GROUP BY event"
)
found = spark.newSession().sql(f"SELECT letter, n FROM pravega.`{scope}`.letters ORDER BY letter").collect()
print("found", " ".join(f"{row.letter}{row.n}" for row in found))
