package cases;

import io.pravega.client.BatchClientFactory;
import io.pravega.client.batch.SegmentRange;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.StreamCut;
import io.pravega.client.stream.TruncatedDataException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** The batch client: segments between two cuts, read one by one. */
class Batches {
    static void betweenCuts(Case c) throws Exception {
        Stream x = c.stream("x", 2);
        var writer = c.writer("x");
        StreamCut begin = c.tail("x");
        write(writer, 0, 40);
        StreamCut one = c.tail("x");
        c.scale(x, List.of(0L, 1L), 0.0, 0.4, 1.0);
        write(writer, 40, 80);
        StreamCut two = c.tail("x");
        c.scale(x, c.active(x).stream().map(s -> s.getSegmentId()).collect(Collectors.toList()), 0.0, 1.0);
        write(writer, 80, 120);
        StreamCut three = c.tail("x");
        StreamCut[] cuts = {begin, one, two, three};
        for (int from = 0; from < 4; from++) {
            for (int to = from; to < 4; to++) {
                about(c, x, cuts[from], cuts[to]);
            }
        }
        about(c, x, StreamCut.UNBOUNDED, StreamCut.UNBOUNDED);
        about(c, x, two, StreamCut.UNBOUNDED);
        about(c, x, StreamCut.UNBOUNDED, two);
        var all = c.batches().getSegments(x, null, null);
        c.say("from", Case.places(all.getStartStreamCut()), "to", Case.places(all.getEndStreamCut()));
    }

    private static void write(io.pravega.client.stream.EventStreamWriter<String> writer, int begin, int end) {
        for (int n = begin; n < end; n++) {
            writer.writeEvent("key-" + n % 10, "key-" + n % 10 + ":" + n).join();
        }
    }

    private static void about(Case c, Stream stream, StreamCut from, StreamCut to) {
        BatchClientFactory batches = c.batches();
        List<String> events = new ArrayList<>();
        List<String> ranges = new ArrayList<>();
        for (SegmentRange range : c.ranges(batches, stream, from, to)) {
            String name = Case.shortName(range.getSegmentId());
            ranges.add(name + "[" + range.getStartOffset() + "," + range.getEndOffset() + ")");
            try (var found = batches.readSegment(range, Case.TEXT)) {
                found.forEachRemaining(events::add);
                ranges.add("@" + found.getOffset());
            }
        }
        c.say(ranges, events.size(), Writers.areInOrder(events));
    }

    static void truncated(Case c) throws Exception {
        Stream x = c.stream("x", 1);
        var writer = c.writer("x");
        write(writer, 0, 20);
        StreamCut middle = c.tail("x");
        write(writer, 20, 40);
        BatchClientFactory batches = c.batches();
        SegmentRange whole = c.ranges(batches, x, null, null).get(0);
        c.streams.truncateStream(c.scope, "x", middle);
        List<String> found = new ArrayList<>();
        try (var events = batches.readSegment(whole, Case.TEXT)) {
            try {
                events.forEachRemaining(found::add);
                c.say("nothing said");
            } catch (TruncatedDataException error) {
                c.say("told, after", found.size());
            }
        }
        about(c, x, null, null);
    }

    static void sealed(Case c) throws Exception {
        Stream x = c.stream("x", 2);
        var writer = c.writer("x");
        write(writer, 0, 20);
        c.streams.sealStream(c.scope, "x");
        about(c, x, null, null);
        c.stream("empty", 2);
        about(c, c.named("empty"), null, null);
        c.fails("no stream", () -> c.ranges(c.batches(), c.named("none"), null, null));
    }
}
