import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.FileInputStream;
import java.io.PrintStream;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Prints the message of each change, one a line, until standard input ends. Argument: a file of properties. */
public class Recorder {
  public static void main(String[] args) throws Exception {
    Properties settings = new Properties();
    try (FileInputStream file = new FileInputStream(args[0])) {
      settings.load(file);
    }
    PrintStream out = System.out;
    DebeziumEngine<ChangeEvent<String, String>> engine =
        DebeziumEngine.create(Json.class)
            .using(settings)
            .using((success, message, error) -> System.err.println("ended: " + message + " " + error))
            .notifying(change -> {
              out.println(change.value());
              out.flush();
            })
            .build();
    ExecutorService executor = Executors.newSingleThreadExecutor();
    executor.execute(engine);
    while (System.in.read() >= 0) {}
    engine.close();
    executor.shutdown();
  }
}
