package cases;

import io.pravega.client.BatchClientFactory;
import io.pravega.client.ByteStreamClientFactory;
import io.pravega.client.ClientConfig;
import io.pravega.client.EventStreamClientFactory;
import io.pravega.client.SynchronizerClientFactory;
import io.pravega.client.admin.ReaderGroupManager;
import io.pravega.client.admin.StreamManager;
import io.pravega.client.batch.SegmentRange;
import io.pravega.client.control.impl.Controller;
import io.pravega.client.segment.impl.Segment;
import io.pravega.client.stream.EventStreamWriter;
import io.pravega.client.stream.EventWriterConfig;
import io.pravega.client.stream.ScalingPolicy;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.StreamConfiguration;
import io.pravega.client.stream.StreamCut;
import io.pravega.client.stream.impl.UTF8StringSerializer;
import io.pravega.shared.NameUtils;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.Collectors;

/** What every case needs: the client's factories on its scope, and a way to say what it saw. */
final class Case implements AutoCloseable {
    static final UTF8StringSerializer TEXT = new UTF8StringSerializer();
    static final long WAIT_MS = 60_000;

    final ClientConfig config;
    final Controller controller;
    final ScheduledExecutorService executor;
    final String scope;
    final StreamManager streams;
    private final Deque<AutoCloseable> open = new ArrayDeque<>();

    Case(ClientConfig config, Controller controller, ScheduledExecutorService executor, String scope) {
        this.config = config;
        this.controller = controller;
        this.executor = executor;
        this.scope = scope;
        streams = closing(StreamManager.create(config));
    }

    // what the case says

    void say(Object... parts) {
        System.out.println(Arrays.stream(parts).map(String::valueOf).collect(Collectors.joining(" ")));
    }

    /** Says which kind of error a call ends with. */
    void fails(String what, Callable<?> call) {
        try {
            say(what, "gives", String.valueOf(call.call()));
        } catch (Throwable error) {
            say(what, "fails:", cause(error).getClass().getSimpleName());
        }
    }

    static Throwable cause(Throwable error) {
        boolean wraps = error instanceof CompletionException || error instanceof ExecutionException;
        return wraps && error.getCause() != null ? cause(error.getCause()) : error;
    }

    /** Waits for what must come true, however long the machine takes. */
    static void until(String what, Callable<Boolean> isTrue) throws Exception {
        long end = System.currentTimeMillis() + WAIT_MS;
        while (!isTrue.call()) {
            if (System.currentTimeMillis() > end) {
                throw new IllegalStateException("not yet: " + what);
            }
            Thread.sleep(20);
        }
    }

    // the client's parts, closed with the case

    <T extends AutoCloseable> T closing(T part) {
        open.push(part);
        return part;
    }

    EventStreamClientFactory events() {
        return closing(EventStreamClientFactory.withScope(scope, config));
    }

    BatchClientFactory batches() {
        return closing(BatchClientFactory.withScope(scope, config));
    }

    ByteStreamClientFactory bytes() {
        return closing(ByteStreamClientFactory.withScope(scope, config));
    }

    SynchronizerClientFactory synchronizers() {
        return closing(SynchronizerClientFactory.withScope(scope, config));
    }

    ReaderGroupManager groups() {
        return closing(ReaderGroupManager.withScope(scope, config));
    }

    EventStreamWriter<String> writer(String name) {
        return writer(name, EventWriterConfig.builder().build());
    }

    EventStreamWriter<String> writer(String name, EventWriterConfig settings) {
        return closing(events().createEventWriter(name, TEXT, settings));
    }

    @Override
    public void close() throws Exception {
        while (!open.isEmpty()) {
            open.pop().close();
        }
    }

    // streams

    Stream named(String name) {
        return Stream.of(scope, name);
    }

    /** A new stream of so many segments that may be scaled to any number, and does not scale by itself. */
    Stream stream(String name, int segments) {
        streams.createScope(scope);
        streams.createStream(scope, name, freeToScale(segments));
        if (segments > 1) {
            streams.updateStream(scope, name, freeToScale(1));
        }
        return named(name);
    }

    static StreamConfiguration freeToScale(int minimum) {
        ScalingPolicy policy = ScalingPolicy.byEventRate(1_000_000_000, 2, minimum);
        return StreamConfiguration.builder().scalingPolicy(policy).build();
    }

    /** Seals segments, by their ids, and begins one for each range of keys. */
    boolean scale(Stream stream, List<Long> sealed, double... bounds) throws Exception {
        Map<Double, Double> ranges = new TreeMap<>();
        for (int i = 0; i + 1 < bounds.length; i++) {
            ranges.put(bounds[i], bounds[i + 1]);
        }
        return controller.scaleStream(stream, sealed, ranges, executor).getFuture().get();
    }

    List<Segment> active(Stream stream) throws Exception {
        var found = controller.getCurrentSegments(stream.getScope(), stream.getStreamName()).get().getSegments();
        return found.stream().sorted().collect(Collectors.toList());
    }

    /** {@code number.epoch} of a segment. */
    static String shortName(long segmentId) {
        return NameUtils.getSegmentNumber(segmentId) + "." + NameUtils.getEpoch(segmentId);
    }

    static String shortNames(List<Segment> segments) {
        return segments.stream().map(s -> shortName(s.getSegmentId())).collect(Collectors.joining(","));
    }

    /** The segments of a cut with their offsets, in the order of ids. */
    static String places(StreamCut cut) {
        return new TreeMap<>(cut.asImpl().getPositions()).entrySet().stream()
            .map(e -> shortName(e.getKey().getSegmentId()) + "@" + e.getValue()).collect(Collectors.joining(","));
    }

    StreamCut tail(String name) {
        return streams.fetchStreamInfo(scope, name).join().getTailStreamCut();
    }

    StreamCut head(String name) {
        return streams.fetchStreamInfo(scope, name).join().getHeadStreamCut();
    }

    // reading what there is, segment by segment

    List<SegmentRange> ranges(BatchClientFactory batches, Stream stream, StreamCut from, StreamCut to) {
        List<SegmentRange> found = new ArrayList<>();
        batches.getSegments(stream, from, to).getIterator().forEachRemaining(found::add);
        found.sort(Comparator.comparing(SegmentRange::getSegmentId));
        return found;
    }

    List<String> read(Stream stream) {
        List<String> found = new ArrayList<>();
        BatchClientFactory batches = batches();
        for (SegmentRange range : ranges(batches, stream, StreamCut.UNBOUNDED, StreamCut.UNBOUNDED)) {
            try (var events = batches.readSegment(range, TEXT)) {
                events.forEachRemaining(found::add);
            }
        }
        return found;
    }
}
