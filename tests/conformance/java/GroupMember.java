import io.pravega.client.ClientConfig;
import io.pravega.client.EventStreamClientFactory;
import io.pravega.client.admin.ReaderGroupManager;
import io.pravega.client.admin.StreamManager;
import io.pravega.client.stream.Checkpoint;
import io.pravega.client.stream.EventRead;
import io.pravega.client.stream.EventStreamReader;
import io.pravega.client.stream.Position;
import io.pravega.client.stream.ReaderConfig;
import io.pravega.client.stream.ReaderGroup;
import io.pravega.client.stream.ReaderGroupConfig;
import io.pravega.client.stream.ReinitializationRequiredException;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.StreamCut;
import io.pravega.client.stream.TimeWindow;
import io.pravega.client.stream.TruncatedDataException;
import io.pravega.client.stream.impl.UTF8StringSerializer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

/**
 * A member of a reader group that does as it is told: one command a line, one answer a line.
 * Arguments: controller URI, scope, stream, group.
 *
 *   create REFRESH_MS CHECKPOINT_MS     -> ok true|false  (-1: no automatic checkpoints)
 *   reader NAME                         -> ok
 *   read NAME TIMEOUT_MS                -> event TEXT | checkpoint NAME | none | completed | reinit | truncated
 *   close NAME                          -> ok
 *   offline NAME                        -> ok
 *   offline-at NAME POSITION            -> ok             (a position's bytes in hex)
 *   position NAME                       -> ok POSITION    (of its last read)
 *   window NAME                         -> ok LOWER UPPER (null: unknown)
 *   online                              -> ok NAME,NAME,...
 *   begin CHECKPOINT                    -> ok             (initiates; "done" asks for its result)
 *   done CHECKPOINT                     -> waiting | failed TEXT | cut TEXT
 *   silent                              -> ok             (asked for by "done silent")
 *   reset CUT REFRESH_MS CHECKPOINT_MS  -> ok
 *   reset-to CHECKPOINT REFRESH_MS      -> ok             (a checkpoint's bytes in hex)
 *   unread                              -> ok BYTES
 *   cuts                                -> cut TEXT
 */
public class GroupMember {
    private static final HexFormat HEX = HexFormat.of();
    private final String scope;
    private final Stream stream;
    private final String groupName;
    private final ReaderGroupManager manager;
    private final EventStreamClientFactory factory;
    private final Map<String, EventStreamReader<String>> readers = new HashMap<>();
    private final Map<String, ByteBuffer> positions = new HashMap<>();
    private final Map<String, CompletableFuture<StreamCut>> pending = new HashMap<>();
    private final ScheduledExecutorService executor = Executors.newScheduledThreadPool(2, work -> {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    });
    private ReaderGroup group;

    GroupMember(String uri, String scope, String stream, String groupName) {
        ClientConfig config = ClientConfig.builder().controllerURI(URI.create(uri)).build();
        this.scope = scope;
        this.stream = Stream.of(scope, stream);
        this.groupName = groupName;
        manager = ReaderGroupManager.withScope(scope, config);
        factory = EventStreamClientFactory.withScope(scope, config);
    }

    public static void main(String[] args) throws Exception {
        GroupMember member = new GroupMember(args[0], args[1], args[2], args[3]);
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String answer;
            try {
                answer = member.act(line.split(" "));
            } catch (Exception error) {
                error.printStackTrace();
                answer = "error " + error;
            }
            System.out.println(answer.replace('\n', ' '));
            System.out.flush();
        }
        System.exit(0);
    }

    private ReaderGroup group() {
        if (group == null) {
            group = manager.getReaderGroup(groupName);
        }
        return group;
    }

    private String act(String[] words) throws Exception {
        switch (words[0]) {
            case "create":
                return "ok " + manager.createReaderGroup(groupName,
                    config(ReaderGroupConfig.builder().stream(stream), words[1], words[2]));
            case "reader":
                readers.put(words[1], factory.createReader(words[1], groupName, new UTF8StringSerializer(),
                    ReaderConfig.builder().build()));
                return "ok";
            case "read":
                return read(words[1], Long.parseLong(words[2]));
            case "close":
                readers.remove(words[1]).close();
                return "ok";
            case "offline":
                group().readerOffline(words[1], null);
                return "ok";
            case "offline-at":
                group().readerOffline(words[1], Position.fromBytes(ByteBuffer.wrap(HEX.parseHex(words[2]))));
                return "ok";
            case "position":
                byte[] data = new byte[positions.get(words[1]).remaining()];
                positions.get(words[1]).duplicate().get(data);
                return "ok " + HEX.formatHex(data);
            case "window":
                TimeWindow window = readers.get(words[1]).getCurrentTimeWindow(stream);
                return "ok " + window.getLowerTimeBound() + " " + window.getUpperTimeBound();
            case "online":
                return "ok " + String.join(",", group().getOnlineReaders());
            case "begin":
                pending.put(words[1], group().initiateCheckpoint(words[1], executor).thenApply(this::cut));
                return "ok";
            case "silent":
                pending.put("silent", group().generateStreamCuts(executor).thenApply(cuts -> cuts.get(stream)));
                return "ok";
            case "done":
                return done(pending.get(words[1]));
            case "reset":
                group().resetReaderGroup(
                    config(ReaderGroupConfig.builder().stream(stream, StreamCut.from(words[1])), words[2], words[3]));
                return "ok";
            case "reset-to":
                var from = Checkpoint.fromBytes(ByteBuffer.wrap(HEX.parseHex(words[1])));
                group().resetReaderGroup(config(ReaderGroupConfig.builder().startFromCheckpoint(from), words[2], "-1"));
                return "ok";
            case "unread":
                return "ok " + group().getMetrics().unreadBytes();
            case "cuts":
                return "cut " + group().getStreamCuts().get(stream).asText();
            default:
                return "error unknown command";
        }
    }

    private static ReaderGroupConfig config(
            ReaderGroupConfig.ReaderGroupConfigBuilder builder, String refreshMs, String checkpointMs) {
        builder.groupRefreshTimeMillis(Long.parseLong(refreshMs));
        if (checkpointMs.equals("-1")) {
            return builder.disableAutomaticCheckpoints().build();
        }
        return builder.automaticCheckpointIntervalMillis(Long.parseLong(checkpointMs)).build();
    }

    private StreamCut cut(Checkpoint checkpoint) {
        return checkpoint.asImpl().getPositions().get(stream);
    }

    private String done(CompletableFuture<StreamCut> future) throws Exception {
        if (!future.isDone()) {
            return "waiting";
        }
        try {
            return "cut " + future.get().asText();
        } catch (java.util.concurrent.ExecutionException error) {
            return "failed " + error.getCause();
        }
    }

    private String read(String name, long timeoutMs) {
        try {
            EventRead<String> found = readers.get(name).readNextEvent(timeoutMs);
            positions.put(name, found.getPosition().toBytes());
            if (found.getEvent() != null) {
                return "event " + found.getEvent();
            }
            if (found.isCheckpoint()) {
                return "checkpoint " + found.getCheckpointName();
            }
            return found.isReadCompleted() ? "completed" : "none";
        } catch (ReinitializationRequiredException error) {
            return "reinit";
        } catch (TruncatedDataException error) {
            return "truncated";
        }
    }
}
