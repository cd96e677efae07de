import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.serialization.Encoder;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.configuration.WebOptions;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.util.Collector;

/**
 * The job of benchmarks/flow.py on a mini cluster: words, key by, rolling count, exactly-once file sink.
 *
 * <p>One command a line: {@code records keys parallelism intervalMs fails folder}; answers a line of JSON.
 */
final class Counting {
    private static final AtomicBoolean FAILS = new AtomicBoolean();
    private static volatile long firstNs;
    private static volatile long lastNs;
    private static volatile long failedNs;
    private static volatile long recoveredNs;

    private Counting() {}

    public static void main(String[] args) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", 6);
            System.out.println(run(Long.parseLong(words[0]), Integer.parseInt(words[1]), Integer.parseInt(words[2]),
                Long.parseLong(words[3]), Boolean.parseBoolean(words[4]), Path.of(words[5])));
        }
        System.exit(0);
    }

    private static String run(long records, int keys, int parallelism, long intervalMs, boolean fails, Path folder)
            throws Exception {
        var settings = new Configuration();
        settings.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofMillis(intervalMs));
        settings.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, folder.resolve("checkpoints").toUri().toString());
        settings.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
        settings.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ZERO);
        settings.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, 1);
        settings.set(RestOptions.BIND_PORT, "0");
        settings.set(WebOptions.CHECKPOINTS_HISTORY_SIZE, 1000);
        settings.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(32));
        settings.set(TaskManagerOptions.NETWORK_MEMORY_MAX, MemorySize.ofMebiBytes(64));
        var env = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        env.setParallelism(parallelism);
        env.setMaxParallelism(128);
        env.getConfig().enableObjectReuse();
        var sink = FileSink.forRowFormat(new org.apache.flink.core.fs.Path(folder.resolve("out").toUri()), new Lines())
            .withRollingPolicy(OnCheckpointRollingPolicy.build()).build();
        env.fromSequence(0, records - 1).map(new Word(keys)).returns(Types.STRING)
            .keyBy(word -> word).process(new Count(records / parallelism / 2))
            .returns(Types.TUPLE(Types.STRING, Types.LONG)).sinkTo(sink);
        firstNs = lastNs = failedNs = recoveredNs = 0;
        FAILS.set(fails);
        try (var cluster = new MiniCluster(new MiniClusterConfiguration.Builder().setConfiguration(settings)
                .setNumTaskManagers(1).setNumSlotsPerTaskManager(parallelism).withRandomPorts().build())) {
            cluster.start();
            long cpuNs = cpuNs();
            var job = cluster.submitJob(env.getStreamGraph()).get(60, TimeUnit.SECONDS).getJobID();
            cluster.requestJobResult(job).get(600, TimeUnit.SECONDS).toJobExecutionResult(Counting.class.getClassLoader());
            cpuNs = cpuNs() - cpuNs;
            String checkpoints = cluster.getExecutionGraph(job).get(60, TimeUnit.SECONDS).getCheckpointStatsSnapshot()
                .getHistory().getCheckpoints().stream().filter(c -> c.getStatus().isCompleted())
                .map(c -> String.valueOf(c.getEndToEndDuration())).collect(Collectors.joining(", "));
            return String.format("{\"seconds\": %f, \"cpu_s\": %f, \"recovery_ms\": %f, \"checkpoints_ms\": [%s]}",
                (lastNs - firstNs) / 1e9, cpuNs / 1e9, (recoveredNs - failedNs) / 1e6, checkpoints);
        }
    }

    private static long cpuNs() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    /** A number's word, out of a block of words in a scattered order. */
    private static final class Word extends RichMapFunction<Long, String> {
        private static final int BLOCK = 1_000_000;
        private final int keys;
        private transient String[] block;

        Word(int keys) {
            this.keys = keys;
        }

        @Override
        public void open(OpenContext context) {
            var chance = new Random(7);
            var words = new String[keys];
            for (int n = 0; n < keys; n++) {
                words[n] = String.format("key-%06d", n);
            }
            block = new String[BLOCK];
            for (int n = 0; n < BLOCK; n++) {
                block[n] = words[chance.nextInt(keys)];
            }
            firstNs = System.nanoTime();
        }

        @Override
        public String map(Long number) {
            return block[(int) (number % BLOCK)];
        }
    }

    /** A rolling count. One subtask of the first attempt fails after so many records, if it is to. */
    private static final class Count extends KeyedProcessFunction<String, String, Tuple2<String, Long>> {
        private final long failsAfter;
        private transient ValueState<Long> state;
        private transient long seen;
        private transient boolean isRestored;

        Count(long failsAfter) {
            this.failsAfter = failsAfter;
        }

        @Override
        public void open(OpenContext context) {
            state = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
            isRestored = getRuntimeContext().getTaskInfo().getAttemptNumber() > 0;
        }

        @Override
        public void processElement(String word, Context context, Collector<Tuple2<String, Long>> out) throws Exception {
            Long before = state.value();
            long now = before == null ? 1 : before + 1;
            state.update(now);
            out.collect(Tuple2.of(word, now));
            seen++;
            if (isRestored && recoveredNs == 0) {
                recoveredNs = System.nanoTime();
            }
            if (seen == failsAfter && FAILS.compareAndSet(true, false)) {
                failedNs = System.nanoTime();
                throw new IllegalStateException("the failure that was planned");
            }
            if ((seen & 255) == 0) {
                lastNs = System.nanoTime();
            }
        }
    }

    /** A line of JSON. */
    private static final class Lines implements Encoder<Tuple2<String, Long>> {
        @Override
        public void encode(Tuple2<String, Long> row, OutputStream out) throws IOException {
            String line = "{\"word\": \"" + row.f0 + "\", \"n\": " + row.f1 + "}\n";
            out.write(line.getBytes(StandardCharsets.US_ASCII));
        }
    }
}
