import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExternalizedCheckpointRetention;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** A mini cluster that is told one command a line, and answers each; events of the jobs come in between. */
final class Lab {
    private static final long WAIT_S = 60;
    private static final Set<ExecutionState> LIVE = Set.of(ExecutionState.RUNNING, ExecutionState.FINISHED);

    private final MiniCluster cluster;
    private final Configuration settings = new Configuration();
    private final Path folder;
    private static volatile Path checkpointsOfJob;
    private JobID job;
    private int savepoints;

    private Lab(Path folder) throws Exception {
        this.folder = folder;
        settings.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, folder.resolve("checkpoints").toUri().toString());
        settings.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofDays(1000)); // the script triggers them
        settings.set(CheckpointingOptions.MAX_RETAINED_CHECKPOINTS, 100);
        settings.set(CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION,
            ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION);
        settings.set(CheckpointingOptions.TOLERABLE_FAILURE_NUMBER, 100);
        settings.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
        settings.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ofMillis(10));
        settings.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, 3);
        settings.set(RestOptions.BIND_PORT, "0");
        settings.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(32));
        settings.set(TaskManagerOptions.NETWORK_MEMORY_MAX, MemorySize.ofMebiBytes(64));
        cluster = new MiniCluster(new MiniClusterConfiguration.Builder().setConfiguration(settings)
            .setNumTaskManagers(1).setNumSlotsPerTaskManager(4).withRandomPorts().build());
        cluster.start();
    }

    public static void main(String[] args) throws Exception {
        Lab lab = new Lab(Path.of(args[0]));
        Journal.say("answer", "ready");
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                Journal.say("answer", lab.obey(line.split(" ")));
            } catch (Throwable error) {
                Journal.say("error", messages(error));
            }
        }
        System.exit(0);
    }

    private static String messages(Throwable error) {
        String here = error.getClass().getSimpleName() + ": " + error.getMessage();
        return error.getCause() == null ? here : here + " <- " + messages(error.getCause());
    }

    private String obey(String[] words) throws Throwable {
        switch (words[0]) {
            case "case":
                Journal.newCase();
                return "";
            case "start":
                return start(words[1], Integer.parseInt(words[2]), words[3]);
            case "open":
                Journal.gate(Integer.parseInt(words[1])).complete(null);
                return "";
            case "checkpoint":
                return done(cluster.triggerCheckpoint(job));
            case "savepoint":
                return done(cluster.triggerSavepoint(job, target(), false, SavepointFormatType.CANONICAL));
            case "stop":
                return stop(words[1].equals("drain"), words[2]);
            case "fail":
                Journal.failAt(String.join(" ", Arrays.asList(words).subList(1, words.length)));
                return "";
            case "left":
                return left();
            case "cancel":
                done(cluster.cancelJob(job));
                return wait(job);
            case "id":
                return String.valueOf(read(words[1]).getCheckpointId());
            case "latest":
                return latest();
            case "finished":
                return String.valueOf(finished());
            case "wait":
                return wait(job);
            case "metadata":
                return metadata(words[1]);
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static <T> T done(CompletableFuture<T> future) throws Exception {
        return future.get(WAIT_S, TimeUnit.SECONDS);
    }

    /** Keeps what a checkpoint says: Flink deletes the checkpoints of a job that finishes. */
    static synchronized void keep(long checkpoint) throws Exception {
        Path from = checkpointsOfJob.resolve("chk-" + checkpoint).resolve("_metadata");
        Path to = kept(checkpointsOfJob).resolve("chk-" + checkpoint);
        if (Files.exists(from) && Files.notExists(to)) {
            Files.createDirectories(to);
            Files.copy(from, to.resolve("_metadata"));
        }
    }

    private static Path kept(Path checkpoints) {
        return checkpoints.resolveSibling("kept-" + checkpoints.getFileName());
    }

    /** The folder of the job's last checkpoint. */
    private String latest() throws Exception {
        try (var found = Files.list(kept(checkpointsOfJob))) {
            return found.max(Comparator.comparingInt(path -> Integer.parseInt(path.getFileName().toString().substring(4))))
                .orElseThrow().toUri().toString();
        }
    }

    private String target() {
        return folder.resolve("savepoints-" + savepoints++).toUri().toString();
    }

    /** Savepoints cannot be written into the folder "forbidden". */
    private String stop(boolean drain, String kind) throws Exception {
        String path = target();
        if (kind.equals("forbidden")) {
            Files.createFile(Path.of(URI.create(path)));
            path = path + "/below-a-file";
        }
        String made = done(cluster.stopWithSavepoint(job, path, drain, SavepointFormatType.CANONICAL));
        done(cluster.requestJobResult(job));
        return made;
    }

    /** The savepoint that the last command for one has left, or "-". */
    private String left() throws Exception {
        Path last = folder.resolve("savepoints-" + (savepoints - 1));
        try (var found = Files.exists(last) ? Files.walk(last) : Stream.<Path>empty()) {
            return found.filter(path -> path.endsWith("_metadata"))
                .map(path -> path.getParent().toUri().toString()).findFirst().orElse("-");
        }
    }

    private String wait(JobID job) throws Exception {
        done(cluster.requestJobResult(job));
        return done(cluster.getJobStatus(job)).name().toLowerCase();
    }

    private String start(String name, int parallelism, String restore) throws Throwable {
        Journal.newRun();
        var env = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        env.setParallelism(1);
        env.setMaxParallelism(128);
        env.getConfig().setAutoWatermarkInterval(10);
        new Jobs(env, parallelism).build(name);
        var graph = env.getStreamGraph();
        if (!restore.equals("-")) {
            graph.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(restore));
        }
        checkpointsOfJob = folder.resolve("checkpoints").resolve(graph.getJobID().toString());
        job = done(cluster.submitJob(graph)).getJobID();
        long end = System.currentTimeMillis() + WAIT_S * 1000;
        while (!allRun()) {
            if (done(cluster.getJobStatus(job)).isGloballyTerminalState()) {
                throw done(cluster.requestJobResult(job)).getSerializedThrowable().orElseThrow()
                    .deserializeError(Lab.class.getClassLoader());
            }
            if (System.currentTimeMillis() > end) {
                throw new IllegalStateException("not all tasks run");
            }
            Thread.sleep(5);
        }
        return "";
    }

    private boolean allRun() throws Exception {
        var graph = done(cluster.getExecutionGraph(job));
        var states = StreamSupport.stream(graph.getAllExecutionVertices().spliterator(), false)
            .map(v -> v.getExecutionState()).toList();
        return !states.isEmpty() && states.stream().allMatch(LIVE::contains);
    }

    private long finished() throws Exception {
        var graph = done(cluster.getExecutionGraph(job));
        return StreamSupport.stream(graph.getAllExecutionVertices().spliterator(), false)
            .filter(v -> v.getExecutionState() == ExecutionState.FINISHED).count();
    }

    /** Operators by uid: parallelism, whether finished, and of each subtask whether it has state or finished. */
    private static String metadata(String path) throws Exception {
        return read(path).getOperatorStates().stream().map(Lab::describe).collect(Collectors.joining("; "));
    }

    private static CheckpointMetadata read(String path) throws Exception {
        Path found = Path.of(path.contains(":") ? URI.create(path) : Path.of(path).toUri()).resolve("_metadata");
        Path kept = kept(found.getParent().getParent()).resolve(found.getParent().getFileName()).resolve("_metadata");
        try (var in = new DataInputStream(new FileInputStream((Files.exists(found) ? found : kept).toFile()))) {
            return Checkpoints.loadCheckpointMetadata(in, Lab.class.getClassLoader(), path);
        }
    }

    private static String describe(OperatorState state) {
        Map<Integer, String> subtasks = new TreeMap<>();
        state.getSubtaskStates().forEach((n, s) -> {
            if (s.isFinished()) {
                subtasks.put(n, "finished");
            } else if (s.hasState()) {
                subtasks.put(n, "state");
            }
        });
        String finished = state.isFullyFinished() ? " fully finished" : "";
        String name = state.getOperatorUid().orElse(state.getOperatorID().toString());
        return name + " of " + state.getParallelism() + finished + " " + subtasks;
    }
}
