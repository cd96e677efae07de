package cases;

import io.pravega.client.byteStream.ByteStreamReader;
import io.pravega.client.byteStream.ByteStreamWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Byte streams: the whole segment as one sequence of bytes. */
class Bytes {
    static void writtenAndRead(Case c) throws Exception {
        c.stream("x", 1);
        var factory = c.bytes();
        ByteStreamWriter writer = factory.createByteStreamWriter("x");
        writer.write("hello ".getBytes(StandardCharsets.UTF_8));
        writer.write("world, again".getBytes(StandardCharsets.UTF_8), 0, 5);
        writer.flush();
        c.say("head", writer.fetchHeadOffset(), "tail", writer.fetchTailOffset());
        ByteStreamReader reader = factory.createByteStreamReader("x");
        c.say(text(read(reader, 11)), reader.getOffset(), reader.available());
        reader.seekToOffset(6);
        c.say((char) reader.read(), text(read(reader, 4)));
        writer.write('!');
        writer.flush();
        c.say((char) reader.read(), "skipped", seek(reader, 0).skip(4), text(read(reader, 3)));
        writer.truncateDataBefore(6);
        c.say("head", reader.fetchHeadOffset(), "tail", reader.fetchTailOffset());
        c.fails("truncated", () -> seek(factory.createByteStreamReader("x"), 0).read());
        c.say(text(read(seek(reader, 6), 6)));
        writer.close();
        ByteStreamWriter second = factory.createByteStreamWriter("x");
        second.write("more".getBytes(StandardCharsets.UTF_8));
        second.closeAndSeal();
        c.say(text(seek(reader, 11).readAllBytes()), reader.read());
        c.fails("after the seal", () -> {
            ByteStreamWriter late = factory.createByteStreamWriter("x");
            late.write(1);
            late.flush();
            return late.fetchTailOffset();
        });
        reader.close();
    }

    private static ByteStreamReader seek(ByteStreamReader reader, long offset) {
        reader.seekToOffset(offset);
        return reader;
    }

    /** So many bytes: InputStream.readNBytes would ask for none at the end, and wait for them. */
    private static byte[] read(ByteStreamReader reader, int length) throws IOException {
        byte[] data = new byte[length];
        for (int at = 0; at < length; ) {
            at += reader.read(data, at, length - at);
        }
        return data;
    }

    private static String text(byte[] data) {
        return "'" + new String(data, StandardCharsets.UTF_8) + "'";
    }

    static void large(Case c) throws Exception {
        c.stream("x", 1);
        byte[] data = new byte[20 << 20];
        for (int i = 0; i < data.length; i++) {
            data[i] = (byte) (i * 31 >> 3);
        }
        var factory = c.bytes();
        try (ByteStreamWriter writer = factory.createByteStreamWriter("x")) {
            for (int at = 0; at < data.length; at += 300_000) {
                writer.write(data, at, Math.min(300_000, data.length - at));
            }
            writer.flush();
            c.say("tail", writer.fetchTailOffset());
        }
        try (ByteStreamReader reader = factory.createByteStreamReader("x")) {
            c.say("same", Arrays.equals(data, read(reader, data.length)), reader.getOffset());
        }
    }

    static void ofManySegments(Case c) {
        c.stream("x", 2);
        c.fails("writer", () -> c.bytes().createByteStreamWriter("x").fetchTailOffset());
        c.fails("reader", () -> c.bytes().createByteStreamReader("x").fetchTailOffset());
        c.fails("of no stream", () -> c.bytes().createByteStreamWriter("none"));
    }
}
