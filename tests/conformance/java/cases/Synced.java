package cases;

import io.pravega.client.SynchronizerClientFactory;
import io.pravega.client.state.InitialUpdate;
import io.pravega.client.state.Revision;
import io.pravega.client.state.RevisionedStreamClient;
import io.pravega.client.state.Revisioned;
import io.pravega.client.state.StateSynchronizer;
import io.pravega.client.state.SynchronizerConfig;
import io.pravega.client.state.Update;
import io.pravega.client.stream.impl.JavaSerializer;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** Revisioned streams and state synchronizers: a log with conditional appends, a mark and truncation. */
class Synced {
    private static final SynchronizerConfig CONFIG = SynchronizerConfig.builder().build();

    static void revisions(Case c) throws Exception {
        c.stream("x", 1);
        RevisionedStreamClient<String> log =
            c.closing(c.synchronizers().createRevisionedStreamClient("x", Case.TEXT, CONFIG));
        Revision begin = log.fetchLatestRevision();
        c.say("begin", at(begin), begin.equals(log.fetchOldestRevision()), log.getMark());
        Revision one = log.writeConditionally(begin, "one");
        c.say("one", at(one), "again", log.writeConditionally(begin, "not"));
        log.writeUnconditionally("two");
        Case.until("two", () -> at(log.fetchLatestRevision()) == 22);
        Revision two = log.fetchLatestRevision();
        Revision three = log.writeConditionally(two, "three");
        c.say("all", read(log.readFrom(begin)), "behind one", read(log.readFrom(one)),
            "between", read(log.readRange(one, three)));
        c.say("mark", log.compareAndSetMark(null, one), log.compareAndSetMark(null, two),
            log.compareAndSetMark(one, two), at(log.getMark()));
        c.say("mark away", log.compareAndSetMark(two, null), log.getMark());
        log.truncateToRevision(one);
        c.say("oldest", at(log.fetchOldestRevision()));
        c.fails("truncated", () -> read(log.readFrom(begin)));
        c.say("left", read(log.readFrom(one)), Revision.fromString(one.toString()).equals(one));
    }

    private static long at(Revision revision) {
        return Long.parseLong(revision.toString().split(":")[1]);
    }

    private static List<String> read(Iterator<Map.Entry<Revision, String>> entries) {
        List<String> found = new ArrayList<>();
        entries.forEachRemaining(entry -> found.add(entry.getValue() + "@" + at(entry.getKey())));
        return found;
    }

    /** The state: texts in the order of their updates. */
    record Texts(String stream, Revision revision, List<String> texts) implements Revisioned {
        @Override
        public String getScopedStreamName() {
            return stream;
        }

        @Override
        public Revision getRevision() {
            return revision;
        }
    }

    record Add(String text) implements Update<Texts>, Serializable {
        @Override
        public Texts applyTo(Texts old, Revision revision) {
            List<String> texts = new ArrayList<>(old.texts());
            texts.add(text);
            return new Texts(old.stream(), revision, texts);
        }
    }

    record Whole(ArrayList<String> texts) implements InitialUpdate<Texts>, Serializable {
        @Override
        public Texts create(String stream, Revision revision) {
            return new Texts(stream, revision, List.copyOf(texts));
        }
    }

    private static StateSynchronizer<Texts> synchronizer(Case c, SynchronizerClientFactory factory) {
        var updates = new JavaSerializer<Add>();
        return c.closing(factory.createStateSynchronizer("x", updates, new JavaSerializer<Whole>(), CONFIG));
    }

    static void states(Case c) {
        c.stream("x", 1);
        var factory = c.synchronizers();
        List<StateSynchronizer<Texts>> both = new ArrayList<>();
        for (int n = 0; n < 2; n++) {
            both.add(synchronizer(c, factory));
        }
        var first = both.get(0);
        var second = both.get(1);
        first.initialize(new Whole(new ArrayList<>(List.of("first"))));
        second.initialize(new Whole(new ArrayList<>(List.of("second"))));
        both.forEach(StateSynchronizer::fetchUpdates);
        c.say(first.getState().texts(), second.getState().texts());
        for (int n = 0; n < 10; n++) {
            String text = "u" + n;
            both.get(n % 2).updateState((state, updates) -> {
                updates.add(new Add(text + "-of-" + state.texts().size()));
            });
        }
        first.fetchUpdates();
        c.say(first.getState().texts());
        first.updateStateUnconditionally(List.of(new Add("a"), new Add("b")));
        second.fetchUpdates();
        c.say(second.getState().texts().size());
        second.compact(state -> new Whole(new ArrayList<>(List.of("compacted-" + state.texts().size()))));
        second.compact(state -> new Whole(new ArrayList<>(List.of("twice", state.texts().get(0)))));
        first.fetchUpdates();
        c.say(first.getState().texts(), first.bytesWrittenSinceCompaction() == second.bytesWrittenSinceCompaction());
        var late = synchronizer(c, factory);
        late.fetchUpdates();
        c.say(late.getState().texts());
    }
}
