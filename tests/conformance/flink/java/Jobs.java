import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** The jobs that are run on both engines; `jobs.py` has them in our words, row by row the same. */
final class Jobs {
    static final long FAR_MS = 1_000_000;

    private final StreamExecutionEnvironment env;
    private final int parallelism;

    Jobs(StreamExecutionEnvironment env, int parallelism) {
        this.env = env;
        this.parallelism = parallelism;
    }

    void build(String job) {
        switch (job) {
            case "chain" -> chain("a1 b1 |1 c1", true);
            case "endless" -> chain("a1 b1 |1 c1", false);
            case "failing" -> chain("a1 |1 b1 |2 boom c1", false);
            case "lines" -> lines();
            case "tasks" -> tasks(true);
            case "endless-tasks" -> tasks(false);
            case "mixed" -> mixed(Kept.SPLIT);
            case "mixed-union" -> mixed(Kept.UNION);
            case "mixed-late-union" -> mixed(Kept.LATE_UNION);
            case "mixed-broadcast" -> mixed(Kept.BROADCAST);
            case "mixed-chained", "mixed-in-front", "mixed-behind" -> grown(job);
            case "inputs" -> inputs();
            case "windows" -> windows();
            case "spread" -> spread();
            case "copies" -> copies();
            case "clocks", "clocks-of-one-input" ->
                clocks(job, "a3 |2 ~ |3 a4 |5 a9 |6 ~ |8 a10", "b5 |1 b7 |4 ~ |7 b8 ~");
            case "last-idle", "last-idle-of-one-input" -> clocks(job, "a9 |1 ~ |3 a12", "b5 |2 ~ |4 b20");
            case "late-idle", "late-idle-of-one-input" ->
                clocks(job, "a3 |1 ~ |3 a4 |6 ~ |7 a20", "b5 |2 b7 |4 b10 |5 ~ |8 b30");
            case "some-split" -> some(Kept.SPLIT, "a3 |2 b3");
            case "some-broadcast" -> some(Kept.BROADCAST, "a3 |2 b3");
            case "some-equal" -> some(Kept.BROADCAST, "a2 |2 b2");
            case "committing" -> source("chain", true, "a1 b1 |1 c1").sinkTo(new Committing("chain")).uid("sink");
            case "endless-committing" ->
                source("chain", false, "a1 b1 |1 c1").sinkTo(new Committing("chain")).uid("sink");
            default -> throw new IllegalArgumentException(job);
        }
    }

    private DataStream<String> source(String task, boolean ends, String... pieces) {
        return source(task, ends, WatermarkStrategy.forMonotonousTimestamps(), pieces);
    }

    private DataStream<String> source(String task, boolean ends, WatermarkStrategy<String> marks, String... pieces) {
        WatermarkStrategy<String> times =
            marks.withTimestampAssigner((row, old) -> Long.parseLong(row.replaceAll("\\D", "0")));
        return env.fromSource(new Pieces(task, ends, pieces), times, task)
            .uid(task + ".source").setParallelism(pieces.length);
    }

    private static SingleOutputStreamOperator<String> traced(DataStream<String> input, String task, String name) {
        return traced(input, task, name, Kept.SPLIT);
    }

    private static SingleOutputStreamOperator<String> traced(
            DataStream<String> input, String task, String name, Kept kept) {
        return input.transform(name, Types.STRING, new Traced.One(task, name, kept)).uid(name);
    }

    private static void sink(DataStream<String> input, String task, int parallelism) {
        input.addSink(new TwoPhase(task)).uid("sink").setParallelism(parallelism);
    }

    /** One task: source, two operators, sink. */
    private void chain(String rows, boolean ends) {
        DataStream<String> source = source("chain", ends, rows);
        sink(traced(traced(source, "chain", "a"), "chain", "b"), "chain", 1);
    }

    /** Two subtasks without a channel between them: source, operator, sink. */
    private void lines() {
        DataStream<String> source = source("lines", false, "a1 |1 b1", "a2 |2 boom b2");
        sink(traced(source, "lines", "a").setParallelism(2), "lines", 2);
    }

    /** Three tasks, of parallelism 2, 2 and 1. */
    private void tasks(boolean ends) {
        DataStream<String> source = source("src", ends, "a1 |1 b1", "a2 |1 b2");
        sink(traced(source, "map", "a").setParallelism(2).disableChaining().global(), "end", 1);
    }

    /** A bounded source of two pieces beside one without end. */
    private void mixed(Kept kept) {
        DataStream<String> some = source("some", true, "a1 |1 b1", "a2 |2 b2");
        DataStream<String> endless = source("endless", false, "x1 |3 y1");
        DataStream<String> mapped = traced(some, "some", "a", kept).setParallelism(2);
        DataStream<String> other = traced(endless, "endless", "b").setParallelism(1);
        sink(mapped.union(other).global(), "end", 1);
    }

    /** The mixed job with one more operator: chained to one that had finished, in front of it, or behind it. */
    private void grown(String job) {
        DataStream<String> some = source("some", true, "a1 |1 b1", "a2 |2 b2");
        DataStream<String> endless = source("endless", false, "x1 |3 y1");
        DataStream<String> other = traced(endless, "endless", "b").setParallelism(1);
        SingleOutputStreamOperator<String> mapped;
        if (job.equals("mixed-behind")) {
            mapped = traced(some, "some", "a").setParallelism(2);
            mapped = traced(mapped, "new", "n").setParallelism(2).disableChaining();
        } else {
            var added = traced(some, "new", "n").setParallelism(2);
            if (job.equals("mixed-in-front")) {
                added.disableChaining();
            }
            mapped = traced(added, "some", "a").setParallelism(2);
        }
        sink(mapped.union(other).global(), "end", 1);
    }

    /** Two inputs that end one after the other. */
    private void inputs() {
        DataStream<String> first = source("one", true, "a1 |1 b1");
        DataStream<String> second = source("two", true, "x1 |2 y1");
        var both = first.connect(second).transform("co", Types.STRING, new Traced.Two("co", "co")).uid("co");
        sink(both.setParallelism(1), "co", 1);
    }

    /** Windows of 10 s and timers, of event time and of processing time, that are due at the end or never. */
    private void windows() {
        DataStream<String> source = source("src", false, "a1000 b2000 a3000 |1 a12000 b13000 |2 a14000");
        KeyedStream<String, String> keyed = source.keyBy(row -> row.substring(0, 1));
        var counts = keyed.window(TumblingEventTimeWindows.of(java.time.Duration.ofSeconds(10)))
            .process(new CountOfWindow()).uid("window").setParallelism(1);
        var timers = keyed.process(new Timers()).uid("timers").setParallelism(1);
        sink(counts.union(timers).global(), "end", 1);
    }

    static final class CountOfWindow extends ProcessWindowFunction<String, String, String, TimeWindow> {
        @Override
        public void process(String key, Context context, Iterable<String> rows, Collector<String> out) {
            int count = 0;
            for (String ignored : rows) {
                count++;
            }
            out.collect("window-" + key + "-" + context.window().getStart() + "-" + count);
        }
    }

    static final class Timers extends KeyedProcessFunction<String, String, String> {
        @Override
        public void processElement(String row, Context context, Collector<String> out) {
            context.timerService().registerEventTimeTimer(context.timestamp() + FAR_MS);
            context.timerService().registerProcessingTimeTimer(Long.MAX_VALUE / 2);
        }

        @Override
        public void onTimer(long atMs, OnTimerContext context, Collector<String> out) {
            out.collect("timer-" + context.getCurrentKey() + "-" + atMs);
        }
    }

    /** State of every kind, to be given to another parallelism. */
    private void spread() {
        String[] rows = {"a1 b1 c1 |1 a2", "a3 d1 |1 b2 d2"};
        DataStream<String> source = source("src", false, rows).rescale();
        DataStream<String> split = traced(source, "map", "split").setParallelism(parallelism);
        DataStream<String> union = traced(split, "map", "union", Kept.UNION).setParallelism(parallelism);
        var counts = union.keyBy(row -> row.substring(0, 1)).process(new Counts()).uid("counts");
        sink(counts.setParallelism(parallelism).global(), "end", 1);
    }

    /** Broadcast state, in which (against the rules) each subtask has something else: so one sees whose it gets. */
    private void copies() {
        DataStream<String> source = source("src", false, "a1 b1 |1 a2", "a3 |1 b2").rescale();
        sink(traced(source, "map", "copies", Kept.BROADCAST).setParallelism(parallelism).global(), "end", 1);
    }

    /** Three pieces that end, one before the others. */
    private void some(Kept kept, String third) {
        DataStream<String> source = source("src", true, "a1 |1 b1", "a2 |2 b2", third).rescale();
        sink(traced(source, "map", "a", kept).setParallelism(parallelism).global(), "end", 1);
    }

    /** Event time of two sources, as two inputs of an operator or as channels of one input. */
    private void clocks(String job, String first, String second) {
        WatermarkStrategy<String> marks = WatermarkStrategy.forGenerator(context -> new MarkAfterEach());
        DataStream<String> one = source("one", false, marks, first);
        DataStream<String> two = source("two", false, marks, second);
        DataStream<String> both = job.endsWith("-of-one-input") ? one.union(two)
            : one.connect(two).transform("co", Types.STRING, new Traced.Two("co", "co")).uid("co").setParallelism(1);
        both.transform("clock", Types.STRING, new Traced.Clock("clock", "clock")).uid("clock").setParallelism(1);
    }

    static final class MarkAfterEach implements WatermarkGenerator<String> {
        @Override
        public void onEvent(String row, long timestamp, WatermarkOutput output) {
            output.emitWatermark(new Watermark(timestamp - 1));
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {}
    }

    static final class Counts extends KeyedProcessFunction<String, String, String> {
        private transient ValueState<Integer> count;

        @Override
        public void open(OpenContext context) {
            count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.INT));
        }

        @Override
        public void processElement(String row, Context context, Collector<String> out) throws Exception {
            int now = count.value() == null ? 1 : count.value() + 1;
            count.update(now);
            out.collect(context.getCurrentKey() + "=" + now);
        }
    }
}
