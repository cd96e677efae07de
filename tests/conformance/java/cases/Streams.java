package cases;

import io.pravega.client.admin.StreamInfo;
import io.pravega.client.segment.impl.Segment;
import io.pravega.client.stream.ReaderGroupConfig;
import io.pravega.client.stream.RetentionPolicy;
import io.pravega.client.stream.ScalingPolicy;
import io.pravega.client.stream.Stream;
import io.pravega.client.stream.StreamConfiguration;
import io.pravega.client.stream.StreamCut;
import io.pravega.client.stream.impl.StreamCutImpl;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Scopes and streams: made, listed, changed, scaled, truncated, sealed, deleted. */
class Streams {
    static void lifecycle(Case c) throws Exception {
        var streams = c.streams;
        c.say("scope", streams.checkScopeExists(c.scope), streams.createScope(c.scope), streams.createScope(c.scope),
            streams.checkScopeExists(c.scope));
        var two = StreamConfiguration.builder().scalingPolicy(ScalingPolicy.fixed(2)).tag("red").tag("blue").build();
        c.say("stream", streams.checkStreamExists(c.scope, "x"), streams.createStream(c.scope, "x", two),
            streams.createStream(c.scope, "x", two), streams.checkStreamExists(c.scope, "x"));
        c.say("tags", new TreeSet<>(streams.getStreamTags(c.scope, "x")));
        about(c, "x");
        c.fails("delete", () -> streams.deleteStream(c.scope, "x"));
        c.fails("delete scope", () -> streams.deleteScope(c.scope));
        c.say("seal", streams.sealStream(c.scope, "x"), streams.sealStream(c.scope, "x"));
        about(c, "x");
        c.fails("update", () -> streams.updateStream(c.scope, "x", Case.freeToScale(1)));
        c.fails("truncate", () -> streams.truncateStream(c.scope, "x", c.tail("x")));
        c.say("delete", streams.deleteStream(c.scope, "x"), streams.deleteStream(c.scope, "x"));
        c.say("stream", streams.checkStreamExists(c.scope, "x"));
        c.fails("seal", () -> streams.sealStream(c.scope, "x"));
        c.fails("info", () -> streams.fetchStreamInfo(c.scope, "x").get());
        c.say("delete scope", streams.deleteScope(c.scope), streams.deleteScope(c.scope));
    }

    static void configurations(Case c) {
        c.streams.createScope(c.scope);
        var configurations = List.of(
            StreamConfiguration.builder().scalingPolicy(ScalingPolicy.byDataRate(100, 3, 2)).build(),
            StreamConfiguration.builder().scalingPolicy(ScalingPolicy.byEventRate(50, 2, 3))
                .retentionPolicy(RetentionPolicy.bySizeBytes(1000, 5000)).timestampAggregationTimeout(12_345).build(),
            StreamConfiguration.builder().scalingPolicy(ScalingPolicy.fixed(3))
                .retentionPolicy(RetentionPolicy.byTime(Duration.ofHours(2)))
                .tag("t").rolloverSizeBytes(1 << 20).build());
        c.streams.createStream(c.scope, "x", configurations.get(0));
        about(c, "x");
        for (var configuration : configurations) {
            c.say("update", c.streams.updateStream(c.scope, "x", configuration));
            about(c, "x");
        }
        c.fails("update a stream that is not", () -> c.streams.updateStream(c.scope, "y", configurations.get(0)));
    }

    static void resized(Case c) throws Exception {
        c.streams.createScope(c.scope);
        Stream x = c.named("x");
        var policies = List.of(ScalingPolicy.fixed(2), ScalingPolicy.fixed(3), ScalingPolicy.byEventRate(50, 2, 1),
            ScalingPolicy.byEventRate(50, 2, 3), ScalingPolicy.byEventRate(50, 2, 5), ScalingPolicy.fixed(1),
            ScalingPolicy.fixed(7));
        c.streams.createStream(c.scope, "x", StreamConfiguration.builder().scalingPolicy(policies.get(0)).build());
        for (ScalingPolicy policy : policies) {
            var configuration = StreamConfiguration.builder().scalingPolicy(policy).build();
            c.say("update", c.streams.updateStream(c.scope, "x", configuration), keys(c, x));
        }
    }

    static void resizedAfterAScale(Case c) throws Exception {
        c.streams.createScope(c.scope);
        Stream x = c.named("x");
        var two = StreamConfiguration.builder().scalingPolicy(ScalingPolicy.fixed(2));
        c.streams.createStream(c.scope, "x", two.build());
        c.say("scale", c.scale(x, List.of(0L), 0.0, 0.2, 0.5), keys(c, x));
        c.say("update", c.streams.updateStream(c.scope, "x", two.tag("t").build()), keys(c, x));
    }

    /** The active segments with their keys, which only the text of the client's class tells. */
    private static String keys(Case c, Stream stream) throws Exception {
        var found = c.controller.getCurrentSegments(stream.getScope(), stream.getStreamName()).get();
        var ranges = Pattern.compile("([0-9]+)\\.#epoch\\.([0-9]+).*?low=([^,]*), high=([^)]*)")
            .matcher(found.toString());
        return ranges.results().map(r -> r.group(1) + "." + r.group(2) + ":" + r.group(3) + ".." + r.group(4))
            .sorted().collect(Collectors.joining(" "));
    }

    private static void about(Case c, String name) {
        StreamInfo info = c.streams.fetchStreamInfo(c.scope, name).join();
        var made = info.getStreamConfiguration();
        c.say(made.getScalingPolicy(), made.getRetentionPolicy(), new TreeSet<>(made.getTags()),
            made.getTimestampAggregationTimeout(), made.getRolloverSizeBytes());
        c.say(info.isSealed() ? "sealed" : "open", "head", Case.places(info.getHeadStreamCut()),
            "tail", Case.places(info.getTailStreamCut()));
    }

    static void lists(Case c) {
        c.streams.createScope(c.scope);
        for (int n = 0; n < 5; n++) {
            c.streams.createStream(c.scope, "x" + n,
                StreamConfiguration.builder().scalingPolicy(ScalingPolicy.fixed(1)).tag("n" + n % 2).build());
        }
        c.groups().createReaderGroup("g", ReaderGroupConfig.builder().stream(c.named("x0")).build());
        c.say("all", names(c.streams.listStreams(c.scope)));
        c.say("tagged", names(c.streams.listStreams(c.scope, "n1")), names(c.streams.listStreams(c.scope, "none")));
        List<String> scopes = new ArrayList<>();
        c.streams.listScopes().forEachRemaining(scopes::add);
        c.say("listed", scopes.contains(c.scope), scopes.contains("_system"));
        c.fails("of no scope", () -> names(c.streams.listStreams(c.scope + "-none")));
    }

    private static List<String> names(java.util.Iterator<Stream> found) {
        List<String> names = new ArrayList<>();
        found.forEachRemaining(stream -> names.add(stream.getStreamName()));
        names.removeIf(name -> name.startsWith("_MARK_RG")); // a real one marks the states of groups too
        names.sort(null);
        return names;
    }

    static void recursive(Case c) throws Exception {
        Stream stream = c.stream("x", 2);
        c.stream("y", 1);
        c.groups().createReaderGroup("g", ReaderGroupConfig.builder().stream(stream).build());
        c.say("deleted", c.streams.deleteScopeRecursive(c.scope), c.streams.checkScopeExists(c.scope));
        c.say("again", c.streams.createScope(c.scope), names(c.streams.listStreams(c.scope)));
    }

    static void names(Case c) {
        c.streams.createScope(c.scope);
        var one = StreamConfiguration.builder().scalingPolicy(ScalingPolicy.fixed(1)).build();
        for (String name : List.of("under_score", "sl/ash", "", "with space", "a.b-C9")) {
            c.fails("scope '" + name + "'", () -> !name.equals("a.b-C9") && c.streams.createScope(name));
            c.fails("stream '" + name + "'", () -> c.streams.createStream(c.scope, name, one));
            c.fails("group '" + name + "'", () -> c.groups().createReaderGroup(name,
                ReaderGroupConfig.builder().stream(c.named("a.b-C9")).build()));
        }
        c.fails("in no scope", () -> c.streams.createStream(c.scope + "-none", "x", one));
        c.fails("no segments", () -> c.streams.createStream(c.scope, "x",
            StreamConfiguration.builder().scalingPolicy(ScalingPolicy.fixed(0)).build()));
    }

    static void scaled(Case c) throws Exception {
        Stream x = c.stream("x", 2);
        c.say("active", Case.shortNames(c.active(x)));
        c.say("split", c.scale(x, List.of(0L), 0.0, 0.25, 0.5));
        c.say("active", Case.shortNames(c.active(x)));
        followers(c, new Segment(c.scope, "x", 0));
        List<Long> all = c.active(x).stream().map(Segment::getSegmentId).collect(Collectors.toList());
        c.say("merge", c.scale(x, all, 0.0, 1.0));
        c.say("active", Case.shortNames(c.active(x)));
        for (long id : all) {
            followers(c, new Segment(c.scope, "x", id));
        }
        for (int epoch = 0; epoch < 3; epoch++) {
            var found = c.controller.getEpochSegments(c.scope, "x", epoch).get().getSegments();
            c.say("epoch", epoch, Case.shortNames(found.stream().sorted().collect(Collectors.toList())));
        }
        c.say("open", c.controller.isSegmentOpen(new Segment(c.scope, "x", 0)).get(),
            c.controller.isSegmentOpen(c.active(x).get(0)).get());
        long last = c.active(x).get(0).getSegmentId();
        c.fails("of a sealed segment", () -> c.scale(x, List.of(0L), 0.0, 0.25, 0.5));
        c.fails("other keys", () -> c.scale(x, List.of(last), 0.0, 0.9));
        c.say("status", c.controller.checkScaleStatus(x, 0).get(), c.controller.checkScaleStatus(x, 1).get());
        c.streams.updateStream(c.scope, "x", Case.freeToScale(1));
        c.streams.sealStream(c.scope, "x");
        c.say("active", Case.shortNames(c.active(x)));
        c.fails("of a sealed stream", () -> c.scale(x, List.of(last), 0.0, 0.5, 1.0));
    }

    private static void followers(Case c, Segment segment) throws Exception {
        Map<String, String> found = new TreeMap<>();
        c.controller.getSuccessors(segment).get().getSegmentToPredecessor().forEach((successor, before) ->
            found.put(Case.shortName(successor.getSegment().getSegmentId()),
                successor.getRange().getLow() + ".." + successor.getRange().getHigh() + " after "
                    + before.stream().sorted().map(Case::shortName).collect(Collectors.toList())));
        c.say("after", Case.shortName(segment.getSegmentId()), found);
    }

    static void truncated(Case c) throws Exception {
        Stream x = c.stream("x", 1);
        var writer = c.writer("x");
        for (int n = 0; n < 10; n++) {
            writer.writeEvent("k", "event-" + n).join();
        }
        StreamCut middle = c.tail("x");
        for (int n = 10; n < 20; n++) {
            writer.writeEvent("k", "event-" + n).join();
        }
        c.say("truncate", c.streams.truncateStream(c.scope, "x", middle), Case.places(c.head("x")));
        c.say("left", c.read(x));
        StreamCut before = new StreamCutImpl(x, Map.of(new Segment(c.scope, "x", 0), 15L));
        c.fails("back", () -> c.streams.truncateStream(c.scope, "x", before));
        c.say("head", Case.places(c.head("x")));
        c.scale(x, List.of(0L), 0.0, 0.5, 1.0);
        writer.writeEvent("k", "event-20").join();
        c.say("truncate", c.streams.truncateStream(c.scope, "x", c.tail("x")), Case.places(c.head("x")));
        c.say("left", c.read(x));
        var gone = c.controller.getSegments(middle, c.tail("x"));
        c.say("between", Case.shortNames(gone.get().getSegments().stream().sorted().collect(Collectors.toList())));
    }
}
