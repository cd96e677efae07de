package cases;

import io.pravega.client.control.impl.Controller;
import io.pravega.client.segment.impl.Segment;
import io.pravega.client.stream.EventStreamReader;
import io.pravega.client.stream.EventStreamWriter;
import io.pravega.client.stream.EventWriterConfig;
import io.pravega.client.stream.ReaderConfig;
import io.pravega.client.stream.ReaderGroupConfig;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.TimeWindow;
import io.pravega.client.stream.Transaction;
import io.pravega.client.stream.impl.WriterPosition;
import java.util.Map;

/** Times that writers note, and the windows in which readers see them. */
class Times {
    private static EventStreamReader<String> reader(Case c, Stream stream, ReaderConfig settings) {
        c.groups().createReaderGroup("g", ReaderGroupConfig.builder().disableAutomaticCheckpoints()
            .groupRefreshTimeMillis(200).stream(stream).build());
        return c.events().createReader("r", "g", Case.TEXT, settings);
    }

    private static String window(EventStreamReader<String> reader, Stream stream) {
        TimeWindow window = reader.getCurrentTimeWindow(stream);
        return window.getLowerTimeBound() + ".." + window.getUpperTimeBound();
    }

    private static void untilWindowIs(EventStreamReader<String> reader, Stream stream, String wanted) throws Exception {
        Case.until("a window of " + wanted, () -> {
            reader.readNextEvent(100);
            return window(reader, stream).equals(wanted);
        });
    }

    static void windows(Case c) throws Exception {
        Stream x = c.stream("x", 2);
        EventStreamWriter<String> writer = c.writer("x");
        write(writer, 0, 10);
        writer.noteTime(1000);
        EventStreamReader<String> reader = reader(c, x, ReaderConfig.builder().build());
        c.say("at first", window(reader, x));
        untilWindowIs(reader, x, "1000..null");
        write(writer, 10, 20);
        writer.noteTime(2000);
        untilWindowIs(reader, x, "2000..null");
        c.say("of a reader that has read everything", window(reader, x));
        c.fails("of another stream", () -> reader.getCurrentTimeWindow(c.named("y")));
        reader.close();
        c.groups().createReaderGroup("late", ReaderGroupConfig.builder().disableAutomaticCheckpoints()
            .groupRefreshTimeMillis(200).stream(x).build());
        var late = c.events().createReader("r", "late", Case.TEXT, ReaderConfig.builder().build());
        Case.until("the first event", () -> late.readNextEvent(100).getEvent() != null);
        Case.until("the first window", () -> {
            late.readNextEvent(0);
            return late.getCurrentTimeWindow(x).getLowerTimeBound() != null;
        });
        untilWindowIs(late, x, "2000..null");
        late.close();
    }

    private static void write(EventStreamWriter<String> writer, int begin, int end) {
        for (int n = begin; n < end; n++) {
            writer.writeEvent("key-" + n % 5, "key-" + n % 5 + ":" + n).join();
        }
    }

    static void slowestWriter(Case c) throws Exception {
        Stream x = c.stream("x", 1);
        EventStreamWriter<String> fast = c.writer("x");
        EventStreamWriter<String> slow = c.writer("x");
        write(fast, 0, 5);
        write(slow, 5, 10);
        fast.noteTime(5000);
        slow.noteTime(3000);
        EventStreamReader<String> reader = reader(c, x, ReaderConfig.builder().build());
        untilWindowIs(reader, x, "3000..null");
        fast.noteTime(6000);
        slow.noteTime(4000);
        untilWindowIs(reader, x, "4000..null");
        reader.close();
    }

    static void disabled(Case c) throws Exception {
        Stream x = c.stream("x", 1);
        EventStreamReader<String> reader = reader(c, x, ReaderConfig.builder().disableTimeWindows(true).build());
        reader.readNextEvent(10);
        c.say(window(reader, x));
        reader.close();
    }

    static void automatic(Case c) throws Exception {
        Stream x = c.stream("x", 1);
        var writer = c.writer("x", EventWriterConfig.builder().automaticallyNoteTime(true).build());
        long before = System.currentTimeMillis();
        write(writer, 0, 5);
        c.fails("by hand", () -> {
            writer.noteTime(1);
            return null;
        });
        EventStreamReader<String> reader = reader(c, x, ReaderConfig.builder().build());
        Case.until("a window of now", () -> {
            reader.readNextEvent(100);
            Long lower = reader.getCurrentTimeWindow(x).getLowerTimeBound();
            return lower != null && lower >= before;
        });
        reader.close();
    }

    static void ofTransactions(Case c) throws Exception {
        Stream x = c.stream("x", 2);
        var settings = EventWriterConfig.builder().build();
        var writer = c.closing(c.events().createTransactionalEventWriter("w", "x", Case.TEXT, settings));
        Transaction<String> txn = writer.beginTxn();
        for (int n = 0; n < 10; n++) {
            txn.writeEvent("key-" + n % 5, "key-" + n % 5 + ":" + n);
        }
        txn.commit(7000);
        EventStreamReader<String> reader = reader(c, x, ReaderConfig.builder().build());
        untilWindowIs(reader, x, "7000..null");
        reader.close();
    }

    static void refused(Case c) throws Exception {
        Stream x = c.stream("x", 1);
        Controller controller = c.controller;
        Segment segment = new Segment(c.scope, "x", 0);
        note(c, x, 100, Map.of(segment, 10L));
        note(c, x, 99, Map.of(segment, 20L));
        note(c, x, 100, Map.of(segment, 20L));
        note(c, x, 101, Map.of(segment, 19L));
        note(c, x, 102, Map.of(segment, 20L));
        c.fails("remove", () -> controller.removeWriter("w", x).get());
        c.fails("remove a stranger", () -> controller.removeWriter("v", x).get());
    }

    private static void note(Case c, Stream stream, long time, Map<Segment, Long> position) {
        var at = new WriterPosition(position);
        c.fails("note " + time, () -> c.controller.noteTimestampFromWriter("w", stream, time, at).get());
    }
}
