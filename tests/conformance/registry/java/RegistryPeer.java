import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.util.JsonFormat;
import io.pravega.client.stream.Serializer;
import io.pravega.schemaregistry.client.SchemaRegistryClient;
import io.pravega.schemaregistry.client.SchemaRegistryClientConfig;
import io.pravega.schemaregistry.client.SchemaRegistryClientFactory;
import io.pravega.schemaregistry.contract.data.Compatibility;
import io.pravega.schemaregistry.contract.data.SerializationFormat;
import io.pravega.schemaregistry.serializer.avro.impl.AvroSerializerFactory;
import io.pravega.schemaregistry.serializer.avro.schemas.AvroSchema;
import io.pravega.schemaregistry.serializer.json.impl.JsonSerializerFactory;
import io.pravega.schemaregistry.serializer.json.schemas.JSONSchema;
import io.pravega.schemaregistry.serializer.protobuf.impl.ProtobufSerializerFactory;
import io.pravega.schemaregistry.serializer.protobuf.schemas.ProtobufSchema;
import io.pravega.schemaregistry.serializer.shared.codec.Codec;
import io.pravega.schemaregistry.serializer.shared.codec.Codecs;
import io.pravega.schemaregistry.serializer.shared.impl.SerializerConfig;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.TreeMap;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;

/**
 * The released registry client and serializers. Arguments: URI, namespace, and user and password if there are
 * any. Lines of input: {@code write FORMAT GROUP CODEC}, {@code read FORMAT GROUP HEX}, {@code groups},
 * {@code history GROUP}. One line of output for each.
 */
public class RegistryPeer {
    static final String AVRO =
        "{\"type\":\"record\",\"name\":\"User\",\"namespace\":\"demo\",\"fields\":["
        + "{\"name\":\"id\",\"type\":\"long\"},{\"name\":\"name\",\"type\":\"string\"},"
        + "{\"name\":\"mail\",\"type\":[\"null\",\"string\"],\"default\":null}]}";

    public static class Person {
        public long id;
        public String name;
    }

    static SchemaRegistryClientConfig registry;
    static String namespace;

    public static void main(String[] args) throws Exception {
        var builder = SchemaRegistryClientConfig.builder().schemaRegistryUri(URI.create(args[0]));
        if (args.length > 2) {
            String token = java.util.Base64.getEncoder().encodeToString((args[2] + ":" + args[3]).getBytes());
            builder.authentication("Basic", token);
        }
        registry = builder.build();
        namespace = args[1];
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String answer;
            try {
                answer = answer(line.split(" ", -1));
            } catch (Exception e) {
                Throwable cause = e;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                answer = "ERROR " + cause.getClass().getSimpleName() + ": " + cause.getMessage();
            }
            System.out.println(answer.replace("\n", " "));
            System.out.flush();
        }
    }

    static String answer(String[] words) throws Exception {
        try (SchemaRegistryClient client = SchemaRegistryClientFactory.withNamespace(namespace, registry)) {
            switch (words[0]) {
                case "write":
                    ByteBuffer event = write(words[1], config(words[2], words[1], codec(words[3])));
                    byte[] bytes = new byte[event.remaining()];
                    event.get(bytes);
                    return HexFormat.of().formatHex(bytes);
                case "read":
                    ByteBuffer given = ByteBuffer.wrap(HexFormat.of().parseHex(words[3]));
                    return read(words[1], config(words[2], words[1], Codecs.None.getCodec()), given);
                case "groups":
                    var names = new TreeMap<String, String>();
                    client.listGroups().forEachRemaining(
                        e -> names.put(e.getKey(), e.getValue().getSerializationFormat().name()));
                    return names.toString();
                case "history":
                    var text = new StringBuilder();
                    client.getGroupHistory(words[1]).forEach(r -> text.append(r.getVersionInfo().getId())
                        .append(" ").append(r.getSchemaInfo().getType()).append(" ")
                        .append(r.getCompatibility().getType()).append(";"));
                    return text.toString();
                default:
                    throw new IllegalArgumentException(words[0]);
            }
        }
    }

    static Codec codec(String name) {
        return switch (name) {
            case "gzip" -> Codecs.GzipCompressor.getCodec();
            case "snappy" -> Codecs.SnappyCompressor.getCodec();
            default -> Codecs.None.getCodec();
        };
    }

    static SerializerConfig config(String group, String format, Codec codec) {
        SerializationFormat kind = SerializationFormat.valueOf(format);
        return SerializerConfig.builder().groupId(group).namespace(namespace).registryConfig(registry)
            .createGroup(kind, Compatibility.allowAny(), false).registerSchema(true).registerCodec(true)
            .encoder(codec).build();
    }

    static ByteBuffer write(String format, SerializerConfig config) throws Exception {
        switch (format) {
            case "Avro":
                Schema schema = new Schema.Parser().parse(AVRO);
                GenericRecord record = new GenericData.Record(schema);
                record.put("id", 150L);
                record.put("name", "Ann");
                record.put("mail", "a@b");
                Serializer<GenericRecord> avro = AvroSerializerFactory.serializer(config, AvroSchema.ofRecord(schema));
                return avro.serialize(record);
            case "Json":
                Person person = new Person();
                person.id = 150;
                person.name = "Ann";
                return JsonSerializerFactory.serializer(config, JSONSchema.of(Person.class)).serialize(person);
            default:
                FileDescriptorSet set = descriptors();
                Descriptor type = FileDescriptor.buildFrom(set.getFile(0), new FileDescriptor[0])
                    .findMessageTypeByName("User");
                DynamicMessage message = DynamicMessage.newBuilder(type)
                    .setField(type.findFieldByName("id"), 150L)
                    .setField(type.findFieldByName("name"), "Ann").build();
                return ProtobufSerializerFactory.serializer(config, ProtobufSchema.of("demo.User", set))
                    .serialize(message);
        }
    }

    static String read(String format, SerializerConfig config, ByteBuffer event) throws Exception {
        switch (format) {
            case "Avro":
                return AvroSerializerFactory.genericDeserializer(config, null).deserialize(event).toString();
            case "Json":
                Serializer<JsonNode> json = JsonSerializerFactory.genericDeserializer(config);
                return json.deserialize(event).toString();
            default:
                DynamicMessage message = ProtobufSerializerFactory.genericDeserializer(config, null).deserialize(event);
                return JsonFormat.printer().omittingInsignificantWhitespace().print(message);
        }
    }

    static FileDescriptorSet descriptors() {
        FieldDescriptorProto id = field("id", 1, FieldDescriptorProto.Type.TYPE_INT64);
        FieldDescriptorProto name = field("name", 2, FieldDescriptorProto.Type.TYPE_STRING);
        DescriptorProto user = DescriptorProto.newBuilder().setName("User").addField(id).addField(name).build();
        return FileDescriptorSet.newBuilder().addFile(FileDescriptorProto.newBuilder().setName("demo.proto")
            .setPackage("demo").setSyntax("proto3").addMessageType(user)).build();
    }

    static FieldDescriptorProto field(String name, int number, FieldDescriptorProto.Type type) {
        return FieldDescriptorProto.newBuilder().setName(name).setNumber(number).setType(type)
            .setLabel(FieldDescriptorProto.Label.LABEL_OPTIONAL).build();
    }
}
