package cases;

import io.pravega.client.stream.EventWriterConfig;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.impl.ByteArraySerializer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** EventStreamWriter: keys, lists, sizes, connections, and what scaling and sealing do to it. */
class Writers {
    private static final int MIB = 1 << 20;

    static void keys(Case c) throws Exception {
        Stream x = c.stream("x", 3);
        var writer = c.writer("x");
        for (int n = 0; n < 200; n++) {
            writer.writeEvent("key-" + n % 20, "key-" + n % 20 + ":" + n);
        }
        writer.flush();
        var found = c.read(x);
        c.say(found.size(), "events, in order per key:", areInOrder(found));
        c.say("tail", Case.places(c.tail("x")));
        for (int n = 0; n < 50; n++) {
            writer.writeEvent("without-key:" + n);
        }
        writer.flush();
        c.say(c.read(x).stream().filter(e -> e.startsWith("without")).distinct().count(), "without a key");
    }

    static void keysBeyondAscii(Case c) throws Exception {
        c.stream("x", 7);
        var writer = c.writer("x");
        for (String key : List.of("", "a", "\u65e5\u672c\u8a9e", "\ud83d\ude00", "\u0000", "key".repeat(100))) {
            writer.writeEvent(key, "1").join();
            c.say(Case.places(c.tail("x")));
        }
    }

    static void lists(Case c) throws Exception {
        Stream x = c.stream("x", 2);
        var writer = c.writer("x");
        writer.writeEvents("k", List.of("a", "b", "c")).join();
        writer.writeEvents("k", IntStream.range(0, 1000).mapToObj(n -> "n" + n).collect(Collectors.toList())).join();
        var found = c.read(x);
        c.say(found.size(), found.subList(0, 5), found.get(1002));
        var tooLarge = List.of("x".repeat(8 * MIB), "y".repeat(8 * MIB), "z");
        c.fails("too large a list", () -> writer.writeEvents("k", tooLarge).join());
    }

    static void sizes(Case c) throws Exception {
        Stream x = c.stream("x", 1);
        var settings = EventWriterConfig.builder().build();
        var writer = c.closing(c.events().createEventWriter("x", new ByteArraySerializer(), settings));
        for (int size : new int[] {0, 1, MIB, 8 * MIB}) {
            writer.writeEvent("k", new byte[size]).join();
        }
        writer.writeEvent("k", new byte[3]).join();
        c.fails("one byte too many", () -> writer.writeEvent("k", new byte[8 * MIB + 1]).join());
        c.say(lengths(c, x));
    }

    static void largeEvents(Case c) throws Exception {
        Stream x = c.stream("x", 2);
        var settings = EventWriterConfig.builder().enableLargeEvents(true).build();
        var writer = c.closing(c.events().createEventWriter("x", new ByteArraySerializer(), settings));
        writer.writeEvent("k", new byte[10]).join();
        writer.writeEvent("k", filled(20 * MIB)).join();
        writer.writeEvent("k", new byte[11]).join();
        c.scale(x, c.active(x).stream().map(s -> s.getSegmentId()).collect(Collectors.toList()), 0.0, 1.0);
        writer.writeEvent("k", filled(9 * MIB)).join();
        writer.writeEvents("k", List.of(new byte[1], filled(8 * MIB), filled(8 * MIB))).join();
        c.say(lengths(c, x));
        c.say("tail", Case.places(c.tail("x")));
    }

    private static byte[] filled(int size) {
        byte[] data = new byte[size];
        for (int i = 0; i < size; i++) {
            data[i] = (byte) (i % 251);
        }
        return data;
    }

    private static List<String> lengths(Case c, Stream stream) {
        List<String> found = new ArrayList<>();
        var batches = c.batches();
        for (var range : c.ranges(batches, stream, null, null)) {
            try (var events = batches.readSegment(range, new ByteArraySerializer())) {
                events.forEachRemaining(e -> found.add(e.length + (isFilled(e) ? "f" : "")));
            }
        }
        return found;
    }

    private static boolean isFilled(byte[] data) {
        for (int i = 0; i < data.length; i++) {
            if (data[i] != (byte) (i % 251)) {
                return false;
            }
        }
        return data.length > 1;
    }

    static void pooledConnections(Case c) throws Exception {
        Stream x = c.stream("x", 2);
        Stream y = c.stream("y", 2);
        var settings = EventWriterConfig.builder().enableConnectionPooling(true).build();
        var writers = List.of(c.writer("x", settings), c.writer("x", settings), c.writer("y", settings));
        List<CompletableFuture<Void>> written = new ArrayList<>();
        for (int n = 0; n < 3000; n++) {
            written.add(writers.get(n % 3).writeEvent("key-" + n % 10, "w" + n % 3 + "-key-" + n % 10 + ":" + n));
        }
        writers.forEach(w -> w.flush());
        CompletableFuture.allOf(written.toArray(new CompletableFuture[0])).join(); // a moment after the flush
        c.say(written.size(), "acknowledged");
        c.say(c.read(x).size(), areInOrder(c.read(x)), c.read(y).size(), areInOrder(c.read(y)));
    }

    static void throughScaling(Case c) throws Exception {
        Stream x = c.stream("x", 1);
        var writer = c.writer("x");
        List<CompletableFuture<Void>> written = new ArrayList<>();
        for (int n = 0; n < 900; n++) {
            if (n == 300) {
                c.scale(x, List.of(0L), 0.0, 0.3, 1.0);
            }
            if (n == 600) {
                var all = c.active(x).stream().map(s -> s.getSegmentId()).collect(Collectors.toList());
                c.scale(x, all, 0.0, 0.5, 1.0);
            }
            written.add(writer.writeEvent("key-" + n % 10, "key-" + n % 10 + ":" + n));
        }
        writer.flush();
        CompletableFuture.allOf(written.toArray(new CompletableFuture[0])).join();
        var found = c.read(x);
        c.say(found.size(), "events, each once:", found.stream().distinct().count() == 900,
            "in order:", areInOrder(found));
        c.say("active", Case.shortNames(c.active(x)));
    }

    static void sealed(Case c) throws Exception {
        Stream x = c.stream("x", 2);
        var writer = c.writer("x");
        writer.writeEvent("k", "in").join();
        c.streams.sealStream(c.scope, "x");
        c.fails("write", () -> writer.writeEvent("k", "out").join());
        c.say(c.read(x));
        c.fails("another writer", () -> c.writer("x").writeEvent("k", "out").join());
    }

    static boolean areInOrder(List<String> events) {
        Map<String, Integer> last = new TreeMap<>();
        for (String event : events) {
            int colon = event.lastIndexOf(':');
            int number = Integer.parseInt(event.substring(colon + 1));
            if (last.getOrDefault(event.substring(0, colon), -1) >= number) {
                return false;
            }
            last.put(event.substring(0, colon), number);
        }
        return true;
    }
}
