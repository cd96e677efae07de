import java.io.IOException;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.common.typeutils.base.TypeSerializerSingleton;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** Strings; writing one may fail, which happens beside the task, after it has passed the barrier on. */
final class Fragile extends TypeSerializerSingleton<String> {
    private static final StringSerializer STRINGS = StringSerializer.INSTANCE;

    private final String operator;

    Fragile(String operator) {
        this.operator = operator;
    }

    @Override
    public void serialize(String row, DataOutputView target) throws IOException {
        Journal.check("", operator + ".write");
        STRINGS.serialize(row, target);
    }

    @Override
    public String deserialize(DataInputView source) throws IOException {
        return STRINGS.deserialize(source);
    }

    @Override
    public String deserialize(String reuse, DataInputView source) throws IOException {
        return deserialize(source);
    }

    @Override
    public void copy(DataInputView source, DataOutputView target) throws IOException {
        STRINGS.copy(source, target);
    }

    @Override
    public String copy(String row) {
        return row;
    }

    @Override
    public String copy(String row, String reuse) {
        return row;
    }

    @Override
    public String createInstance() {
        return "";
    }

    @Override
    public int getLength() {
        return -1;
    }

    @Override
    public boolean isImmutableType() {
        return true;
    }

    @Override
    public TypeSerializerSnapshot<String> snapshotConfiguration() {
        return new Snapshot();
    }

    public static final class Snapshot extends SimpleTypeSerializerSnapshot<String> {
        public Snapshot() {
            super(() -> new Fragile("restored"));
        }
    }
}
