package cases;

import io.pravega.client.KeyValueTableFactory;
import io.pravega.client.admin.KeyValueTableManager;
import io.pravega.client.tables.Insert;
import io.pravega.client.tables.IteratorItem;
import io.pravega.client.tables.KeyValueTable;
import io.pravega.client.tables.KeyValueTableClientConfiguration;
import io.pravega.client.tables.KeyValueTableConfiguration;
import io.pravega.client.tables.Put;
import io.pravega.client.tables.Remove;
import io.pravega.client.tables.TableEntry;
import io.pravega.client.tables.TableKey;
import io.pravega.client.tables.TableModification;
import io.pravega.client.tables.Version;
import io.pravega.common.util.AsyncIterator;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Key-value tables: their life, conditional updates, batches of one primary key, and iterations in order. */
class Tables {
    static void life(Case c) throws Exception {
        c.streams.createScope(c.scope);
        KeyValueTableManager tables = manager(c);
        c.streams.createStream(c.scope, "s", Case.freeToScale(1));
        c.say("made", tables.createKeyValueTable(c.scope, "t", configuration(2, 4, 2)),
            "again", tables.createKeyValueTable(c.scope, "t", configuration(2, 4, 2)),
            "otherwise", tables.createKeyValueTable(c.scope, "t", configuration(3, 4, 0)));
        c.say("is", c.controller.getKeyValueTableConfiguration(c.scope, "t").get());
        c.fails("no scope", () -> tables.createKeyValueTable("nowhere", "t", configuration(1, 4, 0)));
        c.fails("bad name", () -> tables.createKeyValueTable(c.scope, "a_b", configuration(1, 4, 0)));
        c.fails("configuration of none",
            () -> c.controller.getKeyValueTableConfiguration(c.scope, "none").get());
        tables.createKeyValueTable(c.scope, "u", configuration(1, 8, 0));
        c.say("listed", names(c, tables));
        c.say("segments", ids(c, "t"), ids(c, "u"));
        c.fails("scope that is not empty", () -> c.streams.deleteScope(c.scope));
        c.say("deleted", tables.deleteKeyValueTable(c.scope, "t"), tables.deleteKeyValueTable(c.scope, "t"));
        c.fails("segments of a deleted one", () -> ids(c, "t"));
        c.say("made again", tables.createKeyValueTable(c.scope, "t", configuration(3, 4, 2)), ids(c, "t"));
        c.say("scope deleted with all", c.streams.deleteScopeRecursive(c.scope));
        c.fails("tables of no scope", () -> names(c, tables));
    }

    static void conditions(Case c) throws Exception {
        KeyValueTable table = table(c, 1, 4, 2);
        TableKey one = key("pk-1", "01");
        Version first = table.update(new Insert(one, value("a"))).join();
        c.say("inserted", first);
        c.fails("inserted again", () -> table.update(new Insert(one, value("b"))).join());
        Version second = table.update(new Put(one, value("bb"), first)).join();
        c.say("replaced", second);
        c.fails("replaced by an old version", () -> table.update(new Put(one, value("c"), first)).join());
        c.say("put", table.update(new Put(one, value("ccc"))).join(), show(table.get(one).join()));
        c.fails("removed by an old version", () -> table.update(new Remove(one, second)).join());
        Version third = table.get(one).join().getVersion();
        c.say("removed", table.update(new Remove(one, third)).join(), table.get(one).join());
        c.fails("version of what was removed", () -> table.update(new Put(one, value("d"), third)).join());
        c.fails("removed once more", () -> table.update(new Remove(one, third)).join());
        c.say("removed unconditionally", table.update(new Remove(one)).join());
        TableKey never = key("pk-2", "00");
        c.fails("version of a key that never was", () -> table.update(new Put(never, value("e"), third)).join());
        c.fails("removal of it by version", () -> table.update(new Remove(never, third)).join());
        c.say("exists", table.exists(one).join(), table.exists(never).join());
        c.say("inserted after the removal", table.update(new Insert(one, value("f"))).join());
        c.say("exists", table.exists(one).join(), Version.fromString(third.toString()).equals(third));
    }

    static void batches(Case c) throws Exception {
        KeyValueTable table = table(c, 4, 4, 2);
        List<TableModification> inserts = new ArrayList<>();
        for (int n = 0; n < 3; n++) {
            inserts.add(new Insert(key("pk-1", "0" + n), value("v" + n)));
        }
        List<Version> versions = table.update(inserts).join();
        c.say("inserted", versions(versions));
        List<TableModification> mixed = List.of(
            new Put(key("pk-1", "00"), value("x0"), versions.get(0)), new Put(key("pk-1", "01"), value("x1")),
            new Insert(key("pk-1", "09"), value("x9")));
        c.say("updated", versions(table.update(mixed).join()));
        c.fails("one of them refused", () -> table.update(mixed).join());
        c.say("all or none", all(table));
        TableKey same = key("pk-1", "05");
        c.say("a key twice", versions(table.update(List.of(
            new Insert(same, value("first")), new Insert(same, value("second")))).join()));
        c.say("the last wins", show(table.get(same).join()));
        c.fails("two primary keys", () -> table.update(List.of(
            new Put(key("pk-1", "00"), value("y")), new Put(key("pk-2", "00"), value("y")))).join());
        c.fails("a removal among updates", () -> table.update(List.of(
            new Put(key("pk-1", "00"), value("y")), new Remove(key("pk-1", "01")))).join());
        c.fails("a short key", () -> table.update(new Put(key("pk", "00"), value("y"))).join());
        c.fails("a missing and a changed one", () -> table.update(List.of(
            new Remove(key("pk-1", "00"), versions.get(0)), new Remove(key("pk-1", "07"), versions.get(1)))).join());
        c.fails("the same in the other order", () -> table.update(List.of(
            new Remove(key("pk-1", "07"), versions.get(1)), new Remove(key("pk-1", "00"), versions.get(0)))).join());
        c.say("removed", table.update(List.of(
            new Remove(key("pk-1", "00")), new Remove(key("pk-1", "01")))).join().size(), all(table));
        List<TableEntry> found = table.getAll(List.of(key("pk-2", "00"), same, key("pk-1", "02"))).join();
        c.say("all of them", found.stream().map(Tables::show).collect(Collectors.toList()));
        c.fails("a value too long", () -> table.update(
            new Put(same, ByteBuffer.allocate(KeyValueTable.MAXIMUM_VALUE_LENGTH + 1))).join());
        ByteBuffer longest = ByteBuffer.allocate(KeyValueTable.MAXIMUM_VALUE_LENGTH);
        table.update(new Put(same, longest)).join();
        c.say("the longest value", table.get(same).join().getValue().remaining());
    }

    static void iterations(Case c) throws Exception {
        KeyValueTable table = table(c, 3, 4, 2);
        c.say("empty", all(table));
        for (int pk = 0; pk < 12; pk++) {
            List<TableModification> entries = new ArrayList<>();
            for (int sk = 24; sk-- > 0; ) {
                entries.add(new Put(key(String.format("k-%02d", pk), String.format("%02d", sk)), value(pk + ":" + sk)));
            }
            table.update(entries).join();
        }
        for (int sk = 0; sk < 24; sk += 5) {
            table.update(new Remove(key("k-03", String.format("%02d", sk)))).join();
        }
        for (int size : new int[] {1, 7, 1000}) {
            var keys = flat(table.iterator().maxIterationSize(size).all().keys());
            c.say("all, at most", size, keys.size(), keys.stream().map(Tables::text).sorted()
                .collect(Collectors.toList()).equals(keys.stream().map(Tables::text).collect(Collectors.toList())));
        }
        c.say("a primary key", show(flat(table.iterator().forPrimaryKey(bytes("k-03")).entries())));
        c.say("from 04 to 08", show(flat(
            table.iterator().forPrimaryKey(bytes("k-03"), bytes("04"), bytes("08")).entries())));
        c.say("prefix 1", show(flat(table.iterator().forPrimaryKey(bytes("k-03"), bytes("1")).entries())));
        var range = flat(table.iterator().forRange(bytes("k-02"), bytes("k-04")).keys());
        c.say("a range", range.size(), text(range.get(0)), text(range.get(range.size() - 1)));
        c.say("a prefix", flat(table.iterator().forPrefix(bytes("k-1")).keys()).size(),
            flat(table.iterator().forPrefix(bytes("x")).keys()).size());
        c.say("no such key", flat(table.iterator().forPrimaryKey(bytes("k-99")).keys()).size());
        c.fails("a short bound", () -> table.iterator().forRange(bytes("k"), null));
    }

    static void withoutSecondaryKeys(Case c) throws Exception {
        KeyValueTable table = table(c, 2, 8, 0);
        for (int n = 20; n-- > 0; ) {
            table.update(new Put(new TableKey(bytes(String.format("key-%04d", n))), value("v" + n))).join();
        }
        c.say(show(flat(table.iterator().forRange(bytes("key-0003"), bytes("key-0006")).entries())));
        c.say(show(table.get(new TableKey(bytes("key-0007"))).join()));
        c.fails("a secondary key", () -> table.update(new Put(key("key-0003", "00"), value("y"))).join());
        c.fails("a table deleted meanwhile", () -> {
            manager(c).deleteKeyValueTable(c.scope, "t");
            return factory(c).forKeyValueTable("t", KeyValueTableClientConfiguration.builder().build());
        });
    }

    private static KeyValueTableManager manager(Case c) {
        return c.closing(KeyValueTableManager.create(c.config));
    }

    private static KeyValueTableFactory factory(Case c) {
        return c.closing(KeyValueTableFactory.withScope(c.scope, c.config));
    }

    private static KeyValueTableConfiguration configuration(int partitions, int primary, int secondary) {
        return KeyValueTableConfiguration.builder().partitionCount(partitions)
            .primaryKeyLength(primary).secondaryKeyLength(secondary).build();
    }

    private static KeyValueTable table(Case c, int partitions, int primary, int secondary) {
        c.streams.createScope(c.scope);
        manager(c).createKeyValueTable(c.scope, "t", configuration(partitions, primary, secondary));
        var settings = KeyValueTableClientConfiguration.builder().retryAttempts(3).initialBackoffMillis(10).build();
        return c.closing(factory(c).forKeyValueTable("t", settings));
    }

    private static List<String> names(Case c, KeyValueTableManager tables) {
        var found = new TreeSet<String>();
        tables.listKeyValueTables(c.scope).forEachRemaining(table -> found.add(table.getKeyValueTableName()));
        return List.copyOf(found);
    }

    private static String ids(Case c, String table) throws Exception {
        return c.controller.getCurrentSegmentsForKeyValueTable(c.scope, table).get().getSegments().stream()
            .sorted().map(s -> Case.shortName(s.getSegmentId())).collect(Collectors.joining(","));
    }

    private static TableKey key(String primary, String secondary) {
        return new TableKey(bytes(primary), bytes(secondary));
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    private static ByteBuffer value(String text) {
        return bytes(text);
    }

    private static String text(ByteBuffer bytes) {
        return StandardCharsets.UTF_8.decode(bytes.duplicate()).toString();
    }

    private static String text(TableKey key) {
        return text(key.getPrimaryKey()) + "/" + text(key.getSecondaryKey());
    }

    private static String show(TableEntry entry) {
        return entry == null ? "none" : text(entry.getKey()) + "=" + text(entry.getValue());
    }

    private static List<String> show(List<TableEntry> entries) {
        return entries.stream().map(Tables::show).collect(Collectors.toList());
    }

    private static List<String> all(KeyValueTable table) {
        return show(flat(table.iterator().all().entries()));
    }

    private static List<String> versions(List<Version> versions) {
        return versions.stream().map(Version::toString).collect(Collectors.toList());
    }

    private static <T> List<T> flat(AsyncIterator<IteratorItem<T>> items) {
        List<T> found = new ArrayList<>();
        for (var item = items.getNext().join(); item != null; item = items.getNext().join()) {
            found.addAll(item.getItems());
        }
        return found;
    }
}
