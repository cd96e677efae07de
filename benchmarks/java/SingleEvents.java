import io.pravega.client.ClientConfig;
import io.pravega.client.EventStreamClientFactory;
import io.pravega.client.admin.ReaderGroupManager;
import io.pravega.client.stream.EventStreamReader;
import io.pravega.client.stream.EventStreamWriter;
import io.pravega.client.stream.EventWriterConfig;
import io.pravega.client.stream.ReaderConfig;
import io.pravega.client.stream.ReaderGroupConfig;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.impl.ByteArraySerializer;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Writes single events with keys, flushes once, and reads them by reader groups, with the released Java client.
 * Arguments: controller URI, scope, number of events, size of an event in bytes, number of keys, streams.
 * For each stream, which exists and is empty, prints one line: seconds to write, seconds to read them with one
 * reader, and with eight. The first lines are those of a JVM that has just started.
 */
public class SingleEvents {
    private static final int READERS = 8;
    private final ClientConfig config;
    private final String scope;
    private final EventStreamClientFactory factory;

    SingleEvents(String uri, String scope) {
        config = ClientConfig.builder().controllerURI(URI.create(uri)).build();
        this.scope = scope;
        factory = EventStreamClientFactory.withScope(scope, config);
    }

    public static void main(String[] args) throws Exception {
        SingleEvents program = new SingleEvents(args[0], args[1]);
        int events = Integer.parseInt(args[2]);
        for (int i = 5; i < args.length; i++) {
            double written = program.write(args[i], events, Integer.parseInt(args[3]), Integer.parseInt(args[4]));
            double one = program.read(args[i], events, 1);
            System.out.println(written + " " + one + " " + program.read(args[i], events, READERS));
        }
        System.exit(0);
    }

    private double write(String stream, int events, int bytes, int keys) {
        byte[][] payloads = new byte[events][];
        String[] routingKeys = new String[events];
        for (int i = 0; i < events; i++) {
            payloads[i] = String.format("%0" + bytes + "d", i).getBytes();
            routingKeys[i] = "key-" + i % keys;
        }
        EventWriterConfig settings = EventWriterConfig.builder().build();
        try (EventStreamWriter<byte[]> writer =
                factory.createEventWriter(stream, new ByteArraySerializer(), settings)) {
            long begin = System.nanoTime();
            for (int i = 0; i < events; i++) {
                writer.writeEvent(routingKeys[i], payloads[i]);
            }
            writer.flush();
            return seconds(begin, System.nanoTime());
        }
    }

    private double read(String stream, int events, int readers) throws Exception {
        String group = UUID.randomUUID().toString().replace("-", "");
        try (ReaderGroupManager manager = ReaderGroupManager.withScope(scope, config)) {
            manager.createReaderGroup(
                group, ReaderGroupConfig.builder().stream(Stream.of(scope, stream)).build());
        }
        AtomicLong found = new AtomicLong();
        AtomicLong first = new AtomicLong(Long.MAX_VALUE);
        AtomicLong last = new AtomicLong();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < readers; i++) {
            String name = "reader" + i;
            threads.add(new Thread(() -> loop(group, name, events, found, first, last)));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return seconds(first.get(), last.get());
    }

    private void loop(
            String group, String name, int events, AtomicLong found, AtomicLong first, AtomicLong last) {
        try (EventStreamReader<byte[]> reader =
                factory.createReader(name, group, new ByteArraySerializer(), ReaderConfig.builder().build())) {
            while (found.get() < events) {
                if (reader.readNextEvent(100).getEvent() != null) {
                    long now = System.nanoTime();
                    first.accumulateAndGet(now, Math::min);
                    last.accumulateAndGet(now, Math::max);
                    found.incrementAndGet();
                }
            }
        }
    }

    private static double seconds(long begin, long end) {
        return (end - begin) / 1e9;
    }
}
