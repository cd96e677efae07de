import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.flink.api.common.state.BroadcastState;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.OperatorStateStore;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.BoundedMultiInput;
import org.apache.flink.streaming.api.operators.BoundedOneInput;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.TwoInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;

/** Tells every call; keeps what it got in list state; adds a row at the end of its input and when it finishes. */
abstract class Traced extends AbstractStreamOperator<String> {
    private final String task;
    private final String name;
    private final Kept kept;
    private final List<String> seen = new ArrayList<>();
    private transient OperatorStateStore store;
    private transient ListState<String> state;
    private transient BroadcastState<String, String> copies;

    Traced(String task, String name, Kept kept) {
        this.task = task;
        this.name = name;
        this.kept = kept;
    }

    static class One extends Traced implements OneInputStreamOperator<String, String>, BoundedOneInput {
        One(String task, String name, Kept kept) {
            super(task, name, kept);
        }

        @Override
        public void processElement(StreamRecord<String> element) {
            take(element);
        }

        @Override
        public void endInput() {
            ended("");
        }
    }

    /** Tells of every watermark, and of idleness. */
    static final class Clock extends One {
        Clock(String task, String name) {
            super(task, name, Kept.SPLIT);
        }

        @Override
        public void processWatermark(Watermark mark) throws Exception {
            if (mark.getTimestamp() != Long.MAX_VALUE) {
                tell("watermark " + mark.getTimestamp());
            }
            super.processWatermark(mark);
        }

        @Override
        public void processWatermarkStatus(WatermarkStatus status) throws Exception {
            tell(status.isIdle() ? "idle" : "active");
            super.processWatermarkStatus(status);
        }
    }

    static final class Two extends Traced
            implements TwoInputStreamOperator<String, String, String>, BoundedMultiInput {
        Two(String task, String name) {
            super(task, name, Kept.SPLIT);
        }

        @Override
        public void processElement1(StreamRecord<String> element) {
            take(element);
        }

        @Override
        public void processElement2(StreamRecord<String> element) {
            take(element);
        }

        @Override
        public void endInput(int input) {
            ended(" " + input);
        }
    }

    void tell(String what) {
        var info = getRuntimeContext().getTaskInfo();
        String where = Journal.where(task, info.getIndexOfThisSubtask(), info.getAttemptNumber());
        Journal.tell(where, name + "." + what);
    }

    private void add(String row) {
        output.collect(new StreamRecord<>(row + "-of-" + name));
    }

    void take(StreamRecord<String> element) {
        tell("element " + element.getValue());
        if (element.getValue().equals("boom") && Journal.takeFailure()) {
            throw new IllegalStateException("boom");
        }
        seen.add(element.getValue());
        if (kept == Kept.LATE_UNION && element.getValue().equals("b2")) {
            registerUnion();
        }
        output.collect(element);
    }

    void ended(String input) {
        tell("end-input" + input);
        add("end" + input.trim());
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        store = context.getOperatorStateStore();
        if (kept == Kept.BROADCAST) {
            copies = store.getBroadcastState(new MapStateDescriptor<>("seen", Types.STRING, Types.STRING));
            copies.immutableEntries().forEach(entry -> seen.add(entry.getKey()));
            Collections.sort(seen);
        } else {
            var descriptor = new ListStateDescriptor<>("seen", new Fragile(name));
            state = kept == Kept.UNION ? store.getUnionListState(descriptor) : store.getListState(descriptor);
            state.get().forEach(seen::add);
        }
        tell(context.isRestored() ? "restored " + seen : "initialize");
    }

    private void registerUnion() {
        try {
            store.getUnionListState(new ListStateDescriptor<>("late", Types.STRING)).add("late");
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public void open() throws Exception {
        super.open();
        tell("open");
    }

    @Override
    public void processWatermark(Watermark mark) throws Exception {
        if (mark.getTimestamp() == Long.MAX_VALUE) {
            tell("watermark max");
        }
        super.processWatermark(mark);
    }

    @Override
    public void finish() throws Exception {
        tell("finish");
        add("finish");
        super.finish();
    }

    @Override
    public void prepareSnapshotPreBarrier(long checkpoint) throws Exception {
        super.prepareSnapshotPreBarrier(checkpoint);
        tell("prepare " + checkpoint);
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        tell("snapshot " + context.getCheckpointId());
        if (kept == Kept.BROADCAST) {
            for (String row : seen) {
                copies.put(row, row);
            }
        } else {
            state.update(seen);
        }
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) throws Exception {
        super.notifyCheckpointComplete(checkpoint);
        tell("complete " + checkpoint);
    }

    @Override
    public void notifyCheckpointAborted(long checkpoint) throws Exception {
        super.notifyCheckpointAborted(checkpoint);
        tell("aborted " + checkpoint);
    }

    @Override
    public void close() throws Exception {
        tell("close");
        super.close();
    }
}
