package cases;

import io.pravega.client.segment.impl.Segment;
import io.pravega.client.stream.EventWriterConfig;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.Transaction;
import io.pravega.client.stream.TransactionalEventStreamWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;

/** Transactions: committed, aborted, left alone, over a scale and a seal. */
class Transactions {
    private static TransactionalEventStreamWriter<String> writer(Case c, String name) {
        return writer(c, name, EventWriterConfig.builder().build());
    }

    private static TransactionalEventStreamWriter<String> writer(Case c, String name, EventWriterConfig settings) {
        return c.closing(c.events().createTransactionalEventWriter("w", name, Case.TEXT, settings));
    }

    private static void untilIs(Transaction<String> txn, Transaction.Status status) throws Exception {
        Case.until(status.name(), () -> txn.checkStatus() == status);
    }

    static void committed(Case c) throws Exception {
        Stream x = c.stream("x", 2);
        var writer = writer(c, "x");
        Transaction<String> txn = writer.beginTxn();
        c.say("id", txn.getTxnId().getMostSignificantBits(), txn.checkStatus());
        for (int n = 0; n < 100; n++) {
            txn.writeEvent("key-" + n % 10, "key-" + n % 10 + ":" + n);
        }
        txn.flush();
        c.say("before", c.read(x), txn.checkStatus());
        txn.commit();
        untilIs(txn, Transaction.Status.COMMITTED);
        c.say("after", c.read(x).size(), Writers.areInOrder(c.read(x)), Case.places(c.tail("x")));
        c.fails("write", () -> {
            txn.writeEvent("k", "late");
            return null;
        });
        Transaction<String> again = writer.getTxn(txn.getTxnId());
        c.say("again", again.checkStatus());
        c.fails("commit again", () -> {
            again.commit();
            return again.checkStatus();
        });
        again.abort();
        c.say("after abort", again.checkStatus());
    }

    static void aborted(Case c) throws Exception {
        Stream x = c.stream("x", 2);
        var writer = writer(c, "x");
        Transaction<String> txn = writer.beginTxn();
        txn.writeEvent("k", "never");
        txn.flush();
        txn.abort();
        untilIs(txn, Transaction.Status.ABORTED);
        c.say(c.read(x), Case.places(c.tail("x")));
        Transaction<String> again = writer.getTxn(txn.getTxnId());
        c.fails("commit", () -> {
            again.commit();
            return again.checkStatus();
        });
    }

    static void inOrder(Case c) throws Exception {
        Stream x = c.stream("x", 1);
        var writer = writer(c, "x");
        List<Transaction<String>> txns = new ArrayList<>();
        for (int n = 0; n < 5; n++) {
            txns.add(writer.beginTxn());
            txns.get(n).writeEvent("k", "txn-" + n + "-a");
            txns.get(n).writeEvent("k", "txn-" + n + "-b");
        }
        c.writer("x").writeEvent("k", "plain").join();
        for (int n : new int[] {3, 1, 4}) {
            txns.get(n).commit();
        }
        txns.get(0).abort();
        for (int n : new int[] {3, 1, 4}) {
            untilIs(txns.get(n), Transaction.Status.COMMITTED);
        }
        txns.get(2).commit();
        untilIs(txns.get(2), Transaction.Status.COMMITTED);
        c.say(c.read(x));
    }

    static void overAScale(Case c) throws Exception {
        Stream x = c.stream("x", 2);
        var writer = writer(c, "x");
        var plain = c.writer("x");
        plain.writeEvent("k", "first").join();
        Transaction<String> txn = writer.beginTxn();
        txn.writeEvent("k", "within-a");
        c.scale(x, List.of(0L, 1L), 0.0, 0.3, 0.6, 1.0);
        txn.writeEvent("k", "within-b");
        plain.writeEvent("k", "second").join();
        txn.commit();
        untilIs(txn, Transaction.Status.COMMITTED);
        plain.writeEvent("k", "third").join();
        c.say(c.read(x));
        c.say("active", Case.shortNames(c.active(x)));
        for (int epoch = 0; epoch < 4; epoch++) {
            var found = c.controller.getEpochSegments(c.scope, "x", epoch).get().getSegments();
            c.say("epoch", epoch, Case.shortNames(found.stream().sorted().collect(Collectors.toList())));
        }
    }

    static void ofASealedStream(Case c) throws Exception {
        Stream x = c.stream("x", 1);
        var writer = writer(c, "x");
        Transaction<String> open = writer.beginTxn();
        open.writeEvent("k", "never");
        Transaction<String> done = writer.beginTxn();
        done.writeEvent("k", "there");
        done.commit();
        c.say("seal", c.streams.sealStream(c.scope, "x"));
        untilIs(open, Transaction.Status.ABORTED);
        c.say(done.checkStatus(), c.read(x));
        c.fails("commit", () -> {
            open.commit();
            return open.checkStatus();
        });
    }

    static void leases(Case c) throws Exception {
        Stream x = c.stream("x", 1);
        c.fails("of no stream", () -> c.controller.createTransaction(c.named("y"), 10_000).get());
        UUID alone = c.controller.createTransaction(x, 10_000).get().getTxnId();
        UUID kept = c.controller.createTransaction(x, 60_000).get().getTxnId();
        c.say("ping", c.controller.pingTransaction(x, kept, 20_000).get());
        c.fails("ping too long", () -> c.controller.pingTransaction(x, kept, 600_001).get());
        Case.until("the end of the lease",
            () -> c.controller.checkTransactionStatus(x, alone).get() == Transaction.Status.ABORTED);
        c.say("ping", c.controller.pingTransaction(x, alone, 10_000).get(),
            c.controller.checkTransactionStatus(x, kept).get());
        c.controller.commitTransaction(x, "w", null, kept).get();
        Case.until("the commit",
            () -> c.controller.checkTransactionStatus(x, kept).get() == Transaction.Status.COMMITTED);
        c.say("ping", c.controller.pingTransaction(x, kept, 10_000).get());
        c.fails("unknown", () -> c.controller.checkTransactionStatus(x, new UUID(0, 4711)).get());
        c.fails("ping unknown", () -> c.controller.pingTransaction(x, new UUID(0, 4711), 10_000).get());
    }

    static void pinged(Case c) throws Exception {
        Stream x = c.stream("x", 1);
        var settings = EventWriterConfig.builder().transactionTimeoutTime(10_000).build();
        Transaction<String> txn = writer(c, "x", settings).beginTxn();
        txn.writeEvent("k", "kept");
        Thread.sleep(13_000); // the client renews the lease of 10 s meanwhile
        c.say(txn.checkStatus());
        txn.commit();
        untilIs(txn, Transaction.Status.COMMITTED);
        c.say(c.read(x));
    }
}
