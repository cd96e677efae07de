import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.CommittingSinkWriter;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** A sink of writer and committer (V2) that tells every call. */
final class Committing implements Sink<String>, SupportsCommitter<String> {
    private final String task;

    Committing(String task) {
        this.task = task;
    }

    @Override
    public Writer createWriter(WriterInitContext context) {
        return new Writer(place(context.getTaskInfo().getIndexOfThisSubtask()));
    }

    @Override
    public Committer<String> createCommitter(CommitterInitContext context) {
        String where = place(context.getTaskInfo().getIndexOfThisSubtask());
        return new Committer<>() {
            @Override
            public void commit(Collection<CommitRequest<String>> requests) {
                List<String> all = requests.stream().map(CommitRequest::getCommittable).sorted().toList();
                Journal.tell(where, "committer.commit " + all);
            }

            @Override
            public void close() {
                Journal.tell(where, "committer.close");
            }
        };
    }

    private String place(int subtask) {
        return Journal.where(task, subtask, 0);
    }

    @Override
    public SimpleVersionedSerializer<String> getCommittableSerializer() {
        return new Pieces.Texts<>() {
            @Override
            String text(String value) {
                return value;
            }

            @Override
            String of(String text) {
                return text;
            }
        };
    }

    static final class Writer implements CommittingSinkWriter<String, String> {
        private final String where;
        private final List<String> rows = new ArrayList<>();

        Writer(String where) {
            this.where = where;
        }

        @Override
        public void write(String row, Context context) {
            Journal.tell(where, "writer.element " + row);
            rows.add(row);
        }

        @Override
        public void flush(boolean atEnd) {
            Journal.tell(where, "writer.flush" + (atEnd ? " at end" : ""));
        }

        @Override
        public Collection<String> prepareCommit() {
            Journal.tell(where, "writer.prepare-commit " + rows);
            List<String> prepared = rows.isEmpty() ? List.of() : List.of(String.join("+", rows));
            rows.clear();
            return prepared;
        }

        @Override
        public void close() {
            Journal.tell(where, "writer.close");
        }
    }
}
