package io.pravega.client.stream.impl;

import io.pravega.client.state.InitialUpdate;
import io.pravega.client.state.Revision;
import io.pravega.client.state.Update;
import io.pravega.client.state.impl.RevisionImpl;
import io.pravega.common.util.ByteArraySegment;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HexFormat;

/**
 * Folds state logs as upstream's own classes do. A line of the input is one update in hex, an initial one
 * begins a log; an empty line ends it, and the state, compacted, is printed in hex.
 */
public class FoldLogs {
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] args) throws Exception {
        var initials = new ReaderGroupState.ReaderGroupInitSerializer();
        var updates = new ReaderGroupState.ReaderGroupUpdateSerializer();
        Revision revision = RevisionImpl.fromString("s/_RGg/0.#epoch.0:0:0");
        ReaderGroupState state = null;
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            if (line.isEmpty()) {
                var compact = new ReaderGroupState.CompactReaderGroupState(state);
                System.out.println(HEX.formatHex(initials.serialize(compact).getCopy()));
                state = null;
                continue;
            }
            var data = new ByteArraySegment(HEX.parseHex(line));
            if (state == null) {
                InitialUpdate<ReaderGroupState> initial = initials.deserialize(data);
                state = initial.create("s/_RGg", revision);
            } else {
                Update<ReaderGroupState> update = updates.deserialize(data);
                state = update.applyTo(state, revision);
            }
        }
    }
}
