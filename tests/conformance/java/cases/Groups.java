package cases;

import io.pravega.client.admin.ReaderGroupManager;
import io.pravega.client.stream.Checkpoint;
import io.pravega.client.stream.EventPointer;
import io.pravega.client.stream.EventRead;
import io.pravega.client.stream.EventStreamReader;
import io.pravega.client.stream.EventStreamWriter;
import io.pravega.client.stream.Position;
import io.pravega.client.stream.ReaderConfig;
import io.pravega.client.stream.ReaderGroup;
import io.pravega.client.stream.ReaderGroupConfig;
import io.pravega.client.stream.ReaderGroupConfig.StreamDataRetention;
import io.pravega.client.stream.ReinitializationRequiredException;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.StreamCut;
import io.pravega.client.stream.TruncatedDataException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;

/** Reader groups with Java's readers alone. Together with readers in Python: ../test_reader_groups.py. */
class Groups {
    private static final int REFRESH_MS = 200;

    /** A group of one stream and its readers, which are read in turn by the thread that asks. */
    private static class Box {
        final Case c;
        final Stream stream;
        final ReaderGroupManager manager;
        final ReaderGroup group;
        final EventStreamWriter<String> writer;
        final Map<String, EventStreamReader<String>> readers = new TreeMap<>();
        final List<String> events = new ArrayList<>();
        final List<String> checkpoints = new ArrayList<>();
        final Map<String, Position> positions = new TreeMap<>();
        EventPointer pointer;
        boolean completed;
        int truncated;

        Box(Case c, int segments, ReaderGroupConfig.ReaderGroupConfigBuilder settings) {
            this.c = c;
            stream = c.stream("x", segments);
            manager = c.groups();
            manager.createReaderGroup("g", settings.stream(stream).groupRefreshTimeMillis(REFRESH_MS).build());
            group = c.closing(manager.getReaderGroup("g"));
            writer = c.writer("x");
        }

        void write(int begin, int end) {
            List<CompletableFuture<Void>> written = new ArrayList<>();
            for (int n = begin; n < end; n++) {
                written.add(writer.writeEvent("key-" + n % 10, "key-" + n % 10 + ":" + n));
            }
            CompletableFuture.allOf(written.toArray(new CompletableFuture[0])).join();
        }

        void reader(String name) {
            readers.put(name, c.events().createReader(name, "g", Case.TEXT, ReaderConfig.builder().build()));
        }

        void turn() {
            for (String name : List.copyOf(readers.keySet())) {
                EventRead<String> found;
                try {
                    found = readers.get(name).readNextEvent(10);
                } catch (TruncatedDataException error) {
                    truncated++;
                    continue;
                }
                positions.put(name, found.getPosition());
                if (found.getEvent() != null) {
                    events.add(found.getEvent());
                    pointer = found.getEventPointer();
                } else if (found.isCheckpoint()) {
                    checkpoints.add(found.getCheckpointName() + "@" + name);
                }
                completed = completed || found.isReadCompleted();
            }
        }

        void read(int count) throws Exception {
            Case.until(count + " events", () -> {
                turn();
                return events.size() >= count;
            });
        }

        /** Until each of the readers holds so many segments. */
        void share(Integer... counts) throws Exception {
            Case.until("shares", () -> {
                turn();
                var distribution = group.getReaderSegmentDistribution();
                var held = new ArrayList<>(distribution.getReaderSegmentDistribution().values());
                held.sort(null);
                return held.equals(List.of(counts));
            });
        }

        <T> T wait(CompletableFuture<T> future) throws Exception {
            Case.until("an answer", () -> {
                turn();
                return future.isDone();
            });
            return future.get();
        }

        String checkpoint(String name) throws Exception {
            return places(wait(group.initiateCheckpoint(name, c.executor)));
        }

        String places(Checkpoint checkpoint) {
            return Case.places(checkpoint.asImpl().getPositions().get(stream));
        }

        void sayEvents() {
            c.say(events.size(), "events, each once:", new TreeSet<>(events).size() == events.size(),
                "in order:", Writers.areInOrder(events));
        }

        void close() {
            readers.values().forEach(EventStreamReader::close);
            readers.clear();
        }
    }

    private static ReaderGroupConfig.ReaderGroupConfigBuilder manual() {
        return ReaderGroupConfig.builder().disableAutomaticCheckpoints();
    }

    static void being(Case c) {
        Stream x = c.stream("x", 2);
        ReaderGroupManager manager = c.groups();
        var config = manual().stream(x).build();
        c.say("create", manager.createReaderGroup("g", config), manager.createReaderGroup("g", config));
        c.fails("with another configuration",
            () -> manager.createReaderGroup("g", manual().stream(x).maxOutstandingCheckpointRequest(7).build()));
        ReaderGroup group = manager.getReaderGroup("g");
        c.say(group.getScope().equals(c.scope), group.getGroupName(), group.getOnlineReaders(),
            group.getStreamNames().size(), Case.places(group.getStreamCuts().get(x)));
        var distribution = group.getReaderSegmentDistribution();
        c.say("unassigned", distribution.getUnassignedSegments(), distribution.getReaderSegmentDistribution());
        manager.deleteReaderGroup("g");
        c.fails("a deleted group", () -> manager.getReaderGroup("g"));
        c.fails("a reader of it", () -> c.events().createReader("r", "g", Case.TEXT, ReaderConfig.builder().build()));
        c.say("create", manager.createReaderGroup("g", manual().stream(x).maxOutstandingCheckpointRequest(7).build()));
        c.fails("of no scope",
            () -> ReaderGroupManager.withScope(c.scope + "-none", c.config).createReaderGroup("g", config));
    }

    static void sharing(Case c) throws Exception {
        Box box = new Box(c, 4, ReaderGroupConfig.builder().automaticCheckpointIntervalMillis(1000));
        box.write(0, 200);
        box.reader("r1");
        box.reader("r2");
        box.share(2, 2);
        box.read(200);
        box.reader("r3");
        box.share(1, 1, 2);
        c.say("online", new TreeSet<>(box.group.getOnlineReaders()));
        c.fails("a second r1", () -> c.events().createReader("r1", "g", Case.TEXT, ReaderConfig.builder().build()));
        box.readers.remove("r2").close();
        box.write(200, 400);
        box.read(400);
        box.sayEvents();
        box.close();
        c.say("online", box.group.getOnlineReaders());
    }

    static void checkpoints(Case c) throws Exception {
        Box box = new Box(c, 2, manual().maxOutstandingCheckpointRequest(1));
        box.write(0, 50);
        box.reader("r1");
        box.reader("r2");
        box.share(1, 1);
        box.read(50);
        c.say("one", box.checkpoint("one"), "tail", Case.places(c.tail("x")));
        box.write(50, 60);
        box.read(60);
        c.say("silent", Case.places(box.wait(box.group.generateStreamCuts(c.executor)).get(box.stream)));
        c.say("stored", Case.places(box.group.getStreamCuts().get(box.stream)),
            "unread", box.group.getMetrics().unreadBytes());
        Checkpoint two = box.wait(box.group.initiateCheckpoint("two", c.executor));
        c.say("two", box.places(two), "unread", box.group.getMetrics().unreadBytes());
        c.say("again from bytes", Checkpoint.fromBytes(two.toBytes()).equals(two));
        var cancelled = box.group.initiateCheckpoint("cancelled", c.executor);
        c.fails("one too many", () -> box.group.initiateCheckpoint("second", c.executor).get());
        box.group.cancelOutstandingCheckpoints();
        c.fails("cancelled", () -> box.wait(cancelled).getName());
        c.say("three", box.checkpoint("three"));
        c.say(box.checkpoints.stream().filter(name -> !name.startsWith("cancelled")).sorted()
            .collect(Collectors.toList()));
        box.close();
        c.say("nobody online", box.places(box.group.initiateCheckpoint("four", c.executor).get()));
    }

    static void automaticCheckpoints(Case c) throws Exception {
        Box box = new Box(c, 1, ReaderGroupConfig.builder().automaticCheckpointIntervalMillis(500));
        box.write(0, 30);
        box.reader("r1");
        box.read(30);
        int seen = box.checkpoints.size();
        Case.until("three checkpoints", () -> {
            box.turn();
            return box.checkpoints.size() >= seen + 3;
        });
        Case.until("nothing unread", () -> {
            box.turn();
            return box.group.getMetrics().unreadBytes() == 0;
        });
        c.say("stored", Case.places(box.group.getStreamCuts().get(box.stream)));
        box.close();
    }

    static void scaling(Case c) throws Exception {
        Box box = new Box(c, 2, ReaderGroupConfig.builder().automaticCheckpointIntervalMillis(500));
        box.reader("r1");
        box.reader("r2");
        box.write(0, 100);
        c.scale(box.stream, List.of(0L), 0.0, 0.2, 0.5);
        box.write(100, 200);
        List<Long> all = c.active(box.stream).stream().map(s -> s.getSegmentId()).collect(Collectors.toList());
        c.scale(box.stream, all, 0.0, 1.0);
        box.write(200, 300);
        box.read(300);
        box.sayEvents();
        c.streams.sealStream(c.scope, "x");
        Case.until("the end", () -> {
            box.turn();
            return box.completed;
        });
        c.say("completed with", box.events.size());  // what is unread depends on the last automatic checkpoint
        box.close();
    }

    static void offline(Case c) throws Exception {
        Box box = new Box(c, 1, manual());
        box.write(0, 1000);
        box.reader("dies");
        box.read(10);
        box.checkpoint("one");
        int behind = box.events.size();
        box.read(behind + 10);
        Position at = box.positions.get("dies");
        box.read(behind + 15);
        EventStreamReader<String> dead = box.readers.remove("dies");
        box.group.readerOffline("dies", at);
        c.say("from bytes", Position.fromBytes(at.toBytes()).equals(at));
        c.fails("the dead", () -> {
            for (int n = 0; n < 1000; n++) {
                dead.readNextEvent(100);
            }
            return "still reads";
        });
        box.reader("next");
        box.events.clear();
        box.read(20);
        c.say("goes on with", box.events.get(0).equals("key-" + (behind + 10) % 10 + ":" + (behind + 10)));
        box.readers.remove("next");
        box.group.readerOffline("next", null);
        box.reader("last");
        box.events.clear();
        box.read(20);
        c.say("and again", box.events.get(0).equals("key-" + (behind + 10) % 10 + ":" + (behind + 10)));
        box.readers.remove("last").closeAt(at);
        box.reader("closed-at");
        box.events.clear();
        box.read(20);
        c.say("and again", box.events.get(0).equals("key-" + (behind + 10) % 10 + ":" + (behind + 10)));
        box.close();
    }

    static void reset(Case c) throws Exception {
        Box box = new Box(c, 2, manual());
        box.write(0, 60);
        box.reader("r1");
        box.reader("r2");
        box.share(1, 1);
        box.read(60);
        Checkpoint one = box.wait(box.group.initiateCheckpoint("one", c.executor));
        box.write(60, 100);
        box.read(100);
        box.group.resetReaderGroup();
        again(box, 40);
        var from = manual().groupRefreshTimeMillis(REFRESH_MS).startFromCheckpoint(one).build();
        box.group.resetReaderGroup(from);
        again(box, 40);
        var head = manual().groupRefreshTimeMillis(REFRESH_MS).stream(box.stream).build();
        box.group.resetReaderGroup(head);
        again(box, 100);
        var part = manual().groupRefreshTimeMillis(REFRESH_MS)
            .stream(box.stream, StreamCut.UNBOUNDED, one.asImpl().getPositions().get(box.stream)).build();
        box.group.resetReaderGroup(part);
        again(box, 60);
        c.say("end", box.checkpoint("end"), "unread", box.group.getMetrics().unreadBytes());
        box.close();
    }

    /** After a reset: the readers are told; new ones read so many events. */
    private static void again(Box box, int count) throws Exception {
        int told = 0;
        for (EventStreamReader<String> reader : box.readers.values()) {
            try {
                while (true) {
                    reader.readNextEvent(50);
                }
            } catch (ReinitializationRequiredException error) {
                told++;
            }
        }
        box.readers.clear();
        box.events.clear();
        box.reader("r1");
        box.reader("r2");
        box.read(count);
        box.c.say("told", told, "then", box.events.size(), "events, in order:", Writers.areInOrder(box.events));
    }

    static void streamCuts(Case c) throws Exception {
        Box box = new Box(c, 1, manual());
        box.write(0, 20);
        StreamCut from = c.tail("x");
        box.write(20, 40);
        StreamCut to = c.tail("x");
        box.write(40, 60);
        box.manager.createReaderGroup("part",
            ReaderGroupConfig.builder().automaticCheckpointIntervalMillis(500).groupRefreshTimeMillis(REFRESH_MS)
                .stream(box.stream, StreamCut.from(from.asText()), to).build());
        var reader = c.events().createReader("r", "part", Case.TEXT, ReaderConfig.builder().build());
        List<String> found = new ArrayList<>();
        Case.until("20 events", () -> {
            String event = reader.readNextEvent(1000).getEvent();
            return event != null && found.add(event) && found.size() == 20;
        });
        c.say(found.get(0), found.get(19));
        for (int n = 0; n < 5; n++) {
            c.say("then", reader.readNextEvent(100).getEvent());
        }
        c.fails("backwards", () -> ReaderGroupConfig.builder().stream(box.stream, to, from).build());
        reader.close();
    }

    static void truncated(Case c) throws Exception {
        Box box = new Box(c, 1, manual());
        box.write(0, 20);
        box.reader("early");
        box.read(1);
        EventPointer first = box.pointer;
        box.close();
        c.streams.truncateStream(c.scope, "x", c.tail("x"));
        box.write(20, 30);
        box.reader("r1");
        box.events.clear();
        box.read(10);
        c.say("told", box.truncated > 0, "then", box.events.get(0), box.events.size());
        c.fails("gone", () -> box.readers.get("r1").fetchEvent(EventPointer.fromBytes(first.toBytes())));
        c.say("there", box.readers.get("r1").fetchEvent(EventPointer.fromBytes(box.pointer.toBytes())),
            c.streams.fetchEvent(box.pointer, Case.TEXT).get());
        box.close();
    }

    static void retention(Case c) throws Exception {
        Box box = new Box(c, 1, manual().retentionType(StreamDataRetention.AUTOMATIC_RELEASE_AT_LAST_CHECKPOINT));
        c.say("subscribers", c.controller.listSubscribers(c.scope, "x").get().size());
        box.write(0, 20);
        box.reader("r1");
        box.read(20);
        box.checkpoint("one");
        c.say("checkpoint", Case.places(c.tail("x")));
        c.fails("by hand", () -> {
            box.group.updateRetentionStreamCut(Map.of(box.stream, c.tail("x")));
            return null;
        });
        var byHand = manual().retentionType(StreamDataRetention.MANUAL_RELEASE_AT_USER_STREAMCUT)
            .stream(box.stream).build();
        box.manager.createReaderGroup("by-hand", byHand);
        c.say("subscribers", c.controller.listSubscribers(c.scope, "x").get().stream()
            .map(name -> name.substring(name.indexOf('/'))).sorted().collect(Collectors.toList()));
        var group = c.closing(box.manager.getReaderGroup("by-hand"));
        group.updateRetentionStreamCut(Map.of(box.stream, c.tail("x")));
        c.fails("back", () -> {
            group.updateRetentionStreamCut(Map.of(box.stream, c.head("x")));
            return null;
        });
        group.resetReaderGroup(manual().stream(box.stream).build());
        c.say("subscribers", c.controller.listSubscribers(c.scope, "x").get().size());
        box.close();
        box.manager.deleteReaderGroup("g");
        c.say("subscribers", c.controller.listSubscribers(c.scope, "x").get().size());
    }

    static void twoStreams(Case c) throws Exception {
        Stream x = c.stream("x", 2);
        Stream y = c.stream("y", 1);
        c.groups().createReaderGroup("g", manual().groupRefreshTimeMillis(REFRESH_MS).stream(x).stream(y).build());
        for (int n = 0; n < 30; n++) {
            c.writer(n % 3 == 0 ? "y" : "x").writeEvent("key-" + n % 3, "key-" + n % 3 + ":" + n).join();
        }
        var reader = c.events().createReader("r", "g", Case.TEXT, ReaderConfig.builder().build());
        List<String> found = new ArrayList<>();
        Case.until("30 events", () -> {
            String event = reader.readNextEvent(1000).getEvent();
            return event != null && found.add(event) && found.size() == 30;
        });
        c.say(found.size(), Writers.areInOrder(found));
        var group = c.closing(c.groups().getReaderGroup("g"));
        var checkpoint = group.initiateCheckpoint("c", c.executor);
        Case.until("the checkpoint", () -> reader.readNextEvent(100).getEvent() == null && checkpoint.isDone());
        var positions = checkpoint.get().asImpl().getPositions();
        c.say(Case.places(positions.get(x)), Case.places(positions.get(y)));
        reader.close();
    }
}
