import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** A FLIP-27 source of rows at hand: piece n for subtask n. A row {@code |n} is a gate that the script opens; with {@code ~} the reader says that it is idle. */
final class Pieces implements Source<String, Pieces.Piece, List<Pieces.Piece>> {
    private final String task;
    private final Boundedness boundedness;
    private final String[][] rows;

    Pieces(String task, boolean ends, String... pieces) {
        this.task = task;
        boundedness = ends ? Boundedness.BOUNDED : Boundedness.CONTINUOUS_UNBOUNDED;
        rows = Arrays.stream(pieces).map(p -> p.split(" ")).toArray(String[][]::new);
    }

    record Piece(int number, int position) implements SourceSplit, Serializable {
        @Override
        public String splitId() {
            return "piece-" + number;
        }

        String text() {
            return number + "@" + position;
        }

        static Piece of(String text) {
            String[] parts = text.split("@");
            return new Piece(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]));
        }
    }

    static final class Enumerator implements SplitEnumerator<Piece, List<Piece>> {
        private final String task;
        private final SplitEnumeratorContext<Piece> context;
        private final Map<Integer, Piece> left = new TreeMap<>();

        Enumerator(String task, SplitEnumeratorContext<Piece> context, List<Piece> left) {
            this.task = task;
            this.context = context;
            left.forEach(p -> this.left.put(p.number(), p));
        }

        @Override
        public void start() {}

        @Override
        public void handleSplitRequest(int subtask, String host) {}

        @Override
        public void addSplitsBack(List<Piece> splits, int subtask) {
            splits.forEach(p -> left.put(p.number(), p));
        }

        @Override
        public void addReader(int subtask) {
            Piece piece = left.remove(subtask);
            if (piece != null) {
                context.assignSplit(piece, subtask);
            }
            context.signalNoMoreSplits(subtask);
        }

        @Override
        public List<Piece> snapshotState(long checkpoint) {
            Journal.check(task, "enumerator.snapshot " + checkpoint);
            return new ArrayList<>(left.values());
        }

        @Override
        public void close() {}
    }

    final class Reader implements SourceReader<String, Piece> {
        private final String where;
        private final Deque<Piece> pieces = new ArrayDeque<>();
        private CompletableFuture<Void> news = new CompletableFuture<>();
        private boolean noMore;

        Reader(SourceReaderContext context) {
            int subtask = context.getIndexOfSubtask();
            where = Journal.where(task, subtask, Journal.attemptOfReader(task, subtask));
        }

        private void tell(String what) {
            Journal.tell(where, "source." + what);
        }

        @Override
        public void start() {
            tell("start");
        }

        @Override
        public InputStatus pollNext(ReaderOutput<String> output) {
            while (!pieces.isEmpty()) {
                Piece piece = pieces.peek();
                String[] all = rows[piece.number()];
                if (piece.position() == all.length) {
                    if (boundedness == Boundedness.CONTINUOUS_UNBOUNDED) {
                        return InputStatus.NOTHING_AVAILABLE;
                    }
                    pieces.pop();
                    continue;
                }
                String row = all[piece.position()];
                boolean isGate = row.startsWith("|");
                if (isGate && !Journal.gate(Integer.parseInt(row.substring(1))).isDone()) {
                    return InputStatus.NOTHING_AVAILABLE;
                }
                pieces.pop();
                pieces.push(new Piece(piece.number(), piece.position() + 1));
                if (row.equals("~")) {
                    tell("idle");
                    output.markIdle();
                } else if (!isGate) {
                    tell("element " + row);
                    output.collect(row);
                    return InputStatus.MORE_AVAILABLE;
                }
            }
            boolean ends = noMore && boundedness == Boundedness.BOUNDED;
            return ends ? InputStatus.END_OF_INPUT : InputStatus.NOTHING_AVAILABLE;
        }

        @Override
        public synchronized CompletableFuture<Void> isAvailable() {
            if (!pieces.isEmpty()) {
                Piece piece = pieces.peek();
                String[] all = rows[piece.number()];
                String row = piece.position() < all.length ? all[piece.position()] : "|0";
                if (row.startsWith("|")) {
                    return Journal.gate(Integer.parseInt(row.substring(1)));
                }
                return CompletableFuture.completedFuture(null);
            }
            return news;
        }

        @Override
        public List<Piece> snapshotState(long checkpoint) {
            tell("snapshot " + checkpoint);
            return new ArrayList<>(pieces);
        }

        @Override
        public void addSplits(List<Piece> splits) {
            tell("splits " + splits.stream().map(Piece::text).collect(Collectors.toList()));
            pieces.addAll(splits);
            newsCame();
        }

        @Override
        public void notifyNoMoreSplits() {
            noMore = true;
            newsCame();
        }

        private synchronized void newsCame() {
            news.complete(null);
            if (boundedness == Boundedness.CONTINUOUS_UNBOUNDED || !noMore) {
                news = new CompletableFuture<>();
            }
        }

        @Override
        public void notifyCheckpointComplete(long checkpoint) throws Exception {
            Lab.keep(checkpoint);
            tell("complete " + checkpoint);
        }

        @Override
        public void notifyCheckpointAborted(long checkpoint) {
            tell("aborted " + checkpoint);
        }

        @Override
        public void close() {
            tell("close");
        }
    }

    @Override
    public Boundedness getBoundedness() {
        return boundedness;
    }

    @Override
    public SplitEnumerator<Piece, List<Piece>> createEnumerator(SplitEnumeratorContext<Piece> context) {
        List<Piece> all = new ArrayList<>();
        for (int n = 0; n < rows.length; n++) {
            all.add(new Piece(n, 0));
        }
        return new Enumerator(task, context, all);
    }

    @Override
    public SplitEnumerator<Piece, List<Piece>> restoreEnumerator(
            SplitEnumeratorContext<Piece> context, List<Piece> left) {
        return new Enumerator(task, context, left);
    }

    @Override
    public SourceReader<String, Piece> createReader(SourceReaderContext context) {
        return new Reader(context);
    }

    @Override
    public SimpleVersionedSerializer<Piece> getSplitSerializer() {
        return new Texts<>() {
            @Override
            String text(Piece piece) {
                return piece.text();
            }

            @Override
            Piece of(String text) {
                return Piece.of(text);
            }
        };
    }

    @Override
    public SimpleVersionedSerializer<List<Piece>> getEnumeratorCheckpointSerializer() {
        return new Texts<>() {
            @Override
            String text(List<Piece> pieces) {
                return pieces.stream().map(Piece::text).collect(Collectors.joining(" "));
            }

            @Override
            List<Piece> of(String text) {
                return Arrays.stream(text.split(" ")).filter(t -> !t.isEmpty()).map(Piece::of).toList();
            }
        };
    }

    /** Values as text. */
    abstract static class Texts<T> implements SimpleVersionedSerializer<T> {
        abstract String text(T value);

        abstract T of(String text);

        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(T value) {
            return text(value).getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public T deserialize(int version, byte[] data) {
            return of(new String(data, StandardCharsets.UTF_8));
        }
    }
}
