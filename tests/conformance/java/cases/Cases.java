package cases;

import io.pravega.client.ClientConfig;
import io.pravega.client.control.impl.Controller;
import io.pravega.client.control.impl.ControllerImpl;
import io.pravega.client.control.impl.ControllerImplConfig;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.net.URI;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

/**
 * Runs cases, one a line of the input: {@code Class.method scope}. A case is a program of its own, written with the
 * client's public interface, in an empty scope; what it says goes to standard output, then a line {@code .} ends it.
 * Arguments: controller URI, and for tls:// the certificate of its authority; credentials come from the client's own
 * variables (pravega_client_auth_method and _token). The same case says the same on every Pravega, so nothing it says may depend on time.
 */
public class Cases {
    public static void main(String[] args) throws Exception {
        ScheduledExecutorService executor = Executors.newScheduledThreadPool(4, work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        });
        var settings = ClientConfig.builder().controllerURI(URI.create(args[0]));
        ClientConfig config = (args.length > 1 ? settings.trustStore(args[1]) : settings).build();
        Controller controller =
            new ControllerImpl(ControllerImplConfig.builder().clientConfig(config).build(), executor);
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            try (Case one = new Case(config, controller, executor, words[1])) {
                run(words[0], one);
            } catch (Throwable error) {
                error.printStackTrace();
                System.out.println("error " + Case.cause(error));
            }
            System.out.println(".");
            System.out.flush();
        }
        System.exit(0);
    }

    private static void run(String name, Case one) throws Throwable {
        int dot = name.indexOf('.');
        var method = Class.forName("cases." + name.substring(0, dot))
            .getDeclaredMethod(name.substring(dot + 1), Case.class);
        try {
            method.invoke(null, one);
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
    }
}
