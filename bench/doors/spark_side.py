"""Spark's side of bench/doors/spark.py, in an environment that has it: answers a command per line with JSON.

    spark_side.py SERVER FOLDER

  keep        writes what eris.spark reads of `lineitem` to files of FOLDER, one for each of its partitions
  read SIDE   counts the rows and sums a column of all that is read: from `eris`, or `memory`, the files of `keep`
"""
import json
import os
import sys
import time

import eris.spark
import pyarrow
from pyspark.sql import SparkSession, functions
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType


class Memory(DataSource):
    """A Python data source whose Arrow batches are in memory: a task maps its partition's file, of Arrow's IPC format, and copies nothing."""

    @classmethod
    def name(cls):
        return "memory"

    def schema(self):
        with open(os.path.join(self.options["folder"], "schema"), encoding="utf-8") as file:
            return StructType.fromJson(json.load(file))

    def reader(self, schema):
        return MemoryReader(self.options["folder"])


class MemoryReader(DataSourceReader):
    def __init__(self, folder):
        self.folder = folder

    def partitions(self):
        return [InputPartition(path) for path in sorted(os.listdir(self.folder)) if path != "schema"]

    def read(self, partition):
        with pyarrow.memory_map(os.path.join(self.folder, partition.value)) as file:
            reader = pyarrow.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)


class Sides:
    def __init__(self, server, folder):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        self.spark = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
        self.spark.sparkContext.setLogLevel("ERROR")
        eris.spark.register(self.spark)
        self.spark.dataSource.register(Memory)
        self.folder = folder
        self.options = {"eris": {"address": server, "object": "lineitem"}, "memory": {"folder": folder}}

    def keep(self):
        source = eris.spark.Source(self.options["eris"])
        schema = source.schema()
        reader = source.reader(schema)
        with open(os.path.join(self.folder, "schema"), "w", encoding="utf-8") as file:
            file.write(schema.json())
        kept = []
        for number, partition in enumerate(reader.partitions()):
            batches = list(reader.read(partition))
            with pyarrow.ipc.new_file(os.path.join(self.folder, f"{number:03}.arrow"), batches[0].schema) as file:
                for batch in batches:
                    file.write_batch(batch)
            kept += batches
        return {"batches": len(kept), "bytes": sum(batch.nbytes for batch in kept)}

    def read(self, side):
        start = time.perf_counter()
        frame = self.spark.read.format(side).options(**self.options[side]).load()
        rows, quantity = frame.agg(functions.count("*"), functions.sum("l_quantity")).collect()[0]
        return {"seconds": time.perf_counter() - start, "rows": rows, "quantity": str(quantity), "partitions": frame.rdd.getNumPartitions(),
                "schema": frame.schema.json()}


def main():
    sides = Sides(*sys.argv[1:])
    for line in sys.stdin:
        name, *arguments = line.split()
        print(json.dumps(getattr(sides, name)(*arguments)), flush=True)


if __name__ == "__main__":
    main()
