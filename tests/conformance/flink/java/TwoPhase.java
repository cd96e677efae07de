import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.common.typeutils.base.VoidSerializer;
import org.apache.flink.streaming.api.functions.sink.legacy.TwoPhaseCommitSinkFunction;

/** Tells every call, with the rows of the transaction that it is about. */
final class TwoPhase extends TwoPhaseCommitSinkFunction<String, String, Void> {
    private final String task;

    TwoPhase(String task) {
        super(StringSerializer.INSTANCE, VoidSerializer.INSTANCE);
        this.task = task;
    }

    private void tell(String what) {
        var info = getRuntimeContext().getTaskInfo();
        Journal.tell(Journal.where(task, info.getIndexOfThisSubtask(), info.getAttemptNumber()), "sink." + what);
    }

    private static String rows(String transaction) {
        List<String> rows = new ArrayList<>(Journal.TRANSACTIONS.get(transaction));
        Collections.sort(rows);
        return " " + rows;
    }

    @Override
    protected String beginTransaction() {
        tell("begin");
        String transaction = UUID.randomUUID().toString();
        Journal.TRANSACTIONS.put(transaction, Collections.synchronizedList(new ArrayList<>()));
        return transaction;
    }

    @Override
    protected void invoke(String transaction, String value, Context context) {
        tell("element " + value);
        Journal.TRANSACTIONS.get(transaction).add(value);
    }

    @Override
    protected void finishProcessing(String transaction) {
        tell("finish");
    }

    @Override
    protected void preCommit(String transaction) {
        tell("pre-commit" + rows(transaction));
    }

    @Override
    protected void commit(String transaction) {
        tell("commit" + rows(transaction));
    }

    @Override
    protected void abort(String transaction) {
        tell("abort" + rows(transaction));
    }

    @Override
    protected void recoverAndCommit(String transaction) {
        tell("recover-and-commit" + rows(transaction));
    }

    @Override
    protected void recoverAndAbort(String transaction) {
        tell("recover-and-abort" + rows(transaction));
    }

    @Override
    public void close() throws Exception {
        super.close();
        tell("close");
    }
}
