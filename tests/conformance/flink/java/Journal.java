import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What happened, told line by line; and what the script holds back or has set off. One JVM runs everything. */
final class Journal {
    /** Rows of each transaction of a sink, as the outside system would keep them. */
    static final Map<String, List<String>> TRANSACTIONS = new ConcurrentHashMap<>();

    private static final Map<Integer, CompletableFuture<Void>> GATES = new HashMap<>();
    private static final Map<String, Integer> READERS = new HashMap<>();
    private static boolean mayFail = true;
    private static final List<Pattern> TO_FAIL = new ArrayList<>();

    private Journal() {}

    /** {@code where}: task[subtask]#attempt, without the attempt if it is the first. May fail: {@link #check}. */
    static void tell(String where, String what) {
        say("event", where, what);
        check(where, what);
    }

    /** Fails if the script asked for it: once. */
    static synchronized void check(String where, String what) {
        for (Pattern pattern : TO_FAIL) {
            if (pattern.matcher(where + " " + what).find()) {
                TO_FAIL.remove(pattern);
                throw new IllegalStateException("planted");
            }
        }
    }

    static synchronized void failAt(String pattern) {
        TO_FAIL.add(Pattern.compile(pattern));
    }

    static synchronized void say(String kind, String... parts) {
        String words = Arrays.stream(parts).map(Journal::quoted).collect(Collectors.joining(", "));
        System.out.println("[\"" + kind + "\", " + words + "]");
        System.out.flush();
    }

    static String where(String task, int subtask, int attempt) {
        return task + "[" + subtask + "]" + (attempt == 0 ? "" : "#" + attempt);
    }

    /** How many readers of this subtask there were before in this run of the job. */
    static synchronized int attemptOfReader(String task, int subtask) {
        return READERS.merge(task + subtask, 1, Integer::sum) - 1;
    }

    static synchronized void newRun() {
        READERS.clear();
    }

    static synchronized void newCase() {
        GATES.clear();
        mayFail = true;
        TO_FAIL.clear();
    }

    static synchronized CompletableFuture<Void> gate(int number) {
        return GATES.computeIfAbsent(number, n -> new CompletableFuture<>());
    }

    /** True once in a case. */
    static synchronized boolean takeFailure() {
        boolean taken = mayFail;
        mayFail = false;
        return taken;
    }

    private static String quoted(String text) {
        String escaped = text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n").replace("\r", "");
        return "\"" + escaped.replace("\t", " ") + "\"";
    }
}
