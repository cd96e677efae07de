package pravega_lab;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.catalog.TruncatableTable;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScanBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonWriteBuilder;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Scopes as databases and streams as tables. Every operation is a command to the Python data source, whose
 * answer is in the metadata of the one column of its schema. Spark's compiler Janino compiles this file: no
 * lambdas, no diamonds, raw types.
 */
public class PravegaCatalog implements TableCatalog, SupportsNamespaces {
  private static final String FORMAT = "pravega";
  private static final ObjectMapper JSON = new ObjectMapper();
  private String name;

  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
  }

  public String name() {
    return name;
  }

  public String[] defaultNamespace() {
    String given = (String) settings().get("default-database");
    return given == null ? new String[0] : new String[] {given};
  }

  // ---- databases

  public String[][] listNamespaces() {
    List found = texts(ask(command("list_databases")).get("names"));
    String[][] names = new String[found.size()][];
    for (int i = 0; i < names.length; i++) names[i] = new String[] {(String) found.get(i)};
    return names;
  }

  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    if (namespace.length == 0) return listNamespaces();
    loadNamespaceMetadata(namespace);
    return new String[0][];
  }

  public boolean namespaceExists(String[] namespace) {
    try {
      loadNamespaceMetadata(namespace);
      return true;
    } catch (NoSuchNamespaceException missing) {
      return false;
    }
  }

  public Map loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
    if (namespace.length != 1) throw new NoSuchNamespaceException(namespace);
    JsonNode answer = ask(in("load_database", namespace));
    if (failed(answer, "no_database")) throw new NoSuchNamespaceException(namespace);
    return map(part(answer, "properties"));
  }

  public void createNamespace(String[] namespace, Map metadata) throws NamespaceAlreadyExistsException {
    JsonNode answer = ask(in("create_database", namespace));
    if (failed(answer, "database_exists")) throw new NamespaceAlreadyExistsException(namespace);
  }

  public void alterNamespace(String[] namespace, NamespaceChange[] changes) {
    throw new UnsupportedOperationException("a scope has no properties. Nothing can be altered");
  }

  public boolean dropNamespace(String[] namespace, boolean cascade)
      throws NoSuchNamespaceException, NonEmptyNamespaceException {
    JsonNode answer = ask(in("drop_database", namespace).put("cascade", cascade));
    if (failed(answer, "no_database")) throw new NoSuchNamespaceException(namespace);
    if (failed(answer, "not_empty")) throw new NonEmptyNamespaceException(namespace);
    return true;
  }

  // ---- tables

  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    if (namespace.length != 1) throw new NoSuchNamespaceException(namespace);
    JsonNode answer = ask(in("list_tables", namespace));
    if (failed(answer, "no_database")) throw new NoSuchNamespaceException(namespace);
    List found = texts(part(answer, "names"));
    Identifier[] tables = new Identifier[found.size()];
    for (int i = 0; i < tables.length; i++) tables[i] = Identifier.of(namespace, (String) found.get(i));
    return tables;
  }

  /** Asked before a table is dropped, which works for a table that cannot be loaded too. */
  public boolean tableExists(Identifier table) {
    return table.namespace().length == 1 && part(ask(of("table_exists", table)), "exists").asBoolean();
  }

  public Table loadTable(Identifier table) throws NoSuchTableException {
    if (table.namespace().length != 1) throw new NoSuchTableException(table);
    JsonNode answer = ask(of("load_table", table));
    if (failed(answer, "no_table")) throw new NoSuchTableException(table);
    return new StreamTable(name + "." + table.namespace()[0] + "." + table.name(), answer);
  }

  /**
   * Loads a table for a statement that changes it. Spark has not resolved the columns of the statement, which would
   * fail for a stream without a description, because it takes any rows.
   */
  public Table loadTable(Identifier table, Set privileges) throws NoSuchTableException {
    Table found = loadTable(table);
    if (privileges.contains(TableWritePrivilege.UPDATE)) throw notUpdated();
    if (!privileges.contains(TableWritePrivilege.DELETE)) return found;
    if (!privileges.contains(TableWritePrivilege.INSERT)) throw notDeleted();
    throw new UnsupportedOperationException(
        "a stream is only appended to, so rows are not replaced (INSERT OVERWRITE, mode 'overwrite', MERGE). Append "
            + "by INSERT INTO or mode 'append'");
  }

  private static UnsupportedOperationException notUpdated() {
    return new UnsupportedOperationException(
        "a stream is only appended to, so rows are not updated (UPDATE, MERGE). Append the new row by INSERT and "
            + "read the newest of each key, or write a change with kinds -U and +U in a format of changes");
  }

  private static UnsupportedOperationException notDeleted() {
    return new UnsupportedOperationException(
        "a stream is only appended to, so rows are not deleted (DELETE, MERGE, TRUNCATE). Write a change with kind -D "
            + "in a format of changes, truncate the oldest events with stream.truncate(cut), or use DROP TABLE");
  }

  public Table loadTable(Identifier table, String version) throws NoSuchTableException {
    loadTable(table);
    throw new UnsupportedOperationException(
        "a stream has no versions (VERSION AS OF, TIMESTAMP AS OF). Read between two stream cuts: "
            + "SELECT … FROM " + table.name() + " WITH (start_stream_cut '…', end_stream_cut '…')");
  }

  public Table loadTable(Identifier table, long timestamp) throws NoSuchTableException {
    return loadTable(table, "");
  }

  public Table createTable(Identifier table, StructType schema, Transform[] partitions, Map properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    for (int i = 0; i < schema.length(); i++) {
      StructField field = schema.fields()[i];
      if (!field.nullable()) {
        throw new IllegalArgumentException(
            "column '" + field.name() + "' is NOT NULL, and an event may lack every column. Leave NOT NULL out");
      }
    }
    return create(table, schema, partitions, properties, null);
  }

  /** CREATE TABLE … LIKE. Spark passes the columns of the source, and only the properties of the statement. */
  public Table createTableLike(Identifier table, TableInfo info, Table source)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    Map like = source instanceof StreamTable ? source.properties() : null;
    return create(table, info.schema(), info.partitions(), info.properties(), like);
  }

  /** With the properties of the table that the new one is like, if that table is a stream. */
  private Table create(Identifier table, StructType schema, Transform[] partitions, Map properties, Map like)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    if (table.namespace().length != 1) throw new NoSuchNamespaceException(table.namespace());
    ObjectNode command = of("create_table", table).put("partitioned", partitions.length > 0);
    command.put("columns", columns(schema));
    put(command.putObject("properties"), properties);
    if (like != null) put(command.putObject("like"), like);
    JsonNode answer = ask(command);
    if (failed(answer, "no_database")) throw new NoSuchNamespaceException(table.namespace());
    if (failed(answer, "table_exists")) throw new TableAlreadyExistsException(table);
    return new StreamTable(name + "." + table.namespace()[0] + "." + table.name(), answer);
  }

  public Table alterTable(Identifier table, TableChange[] changes) throws NoSuchTableException {
    ObjectNode command = of("alter_table", table);
    ObjectNode set = command.putObject("set");
    for (int i = 0; i < changes.length; i++) {
      if (changes[i] instanceof TableChange.SetProperty) {
        TableChange.SetProperty change = (TableChange.SetProperty) changes[i];
        set.put(change.property(), change.value());
      } else if (changes[i] instanceof TableChange.RemoveProperty) {
        set.putNull(((TableChange.RemoveProperty) changes[i]).property());
      } else {
        throw new UnsupportedOperationException(
            "only properties of a stream can be altered. Columns are a property too: "
                + "ALTER TABLE … SET TBLPROPERTIES (columns 'id bigint, name string')");
      }
    }
    JsonNode answer = ask(command);
    if (failed(answer, "no_table")) throw new NoSuchTableException(table);
    return new StreamTable(name + "." + table.namespace()[0] + "." + table.name(), answer);
  }

  public boolean dropTable(Identifier table) {
    if (table.namespace().length != 1) return false;
    refuseReplacement();
    return !failed(ask(of("drop_table", table)), "no_table");
  }

  /** Spark replaces a table by dropping it first: the events would be gone, also if what follows fails. */
  private static void refuseReplacement() {
    StackTraceElement[] callers = Thread.currentThread().getStackTrace();
    for (int i = 0; i < callers.length; i++) {
      if (callers[i].getClassName().startsWith("org.apache.spark.sql.execution.datasources.v2.ReplaceTable")) {
        throw new UnsupportedOperationException(
            "a stream is only appended to, so a table is not replaced (mode 'overwrite', REPLACE TABLE). "
                + "Append to it, or delete the stream with its events by DROP TABLE first");
      }
    }
  }

  public void renameTable(Identifier from, Identifier to) {
    throw new UnsupportedOperationException("a stream cannot be renamed. Create another one and copy its rows");
  }

  // ---- commands

  /** The settings of this catalog as they are now: a session may change them after the first use. */
  private Map settings() {
    String prefix = "spark.sql.catalog." + name + ".";
    Map found = new HashMap();
    Map all = scala.jdk.javaapi.CollectionConverters.asJava(SQLConf.get().getAllConfs());
    for (Object key : all.keySet()) {
      if (((String) key).startsWith(prefix)) found.put(((String) key).substring(prefix.length()), all.get(key));
    }
    return found;
  }

  private ObjectNode command(String what) {
    return JSON.createObjectNode().put("do", what);
  }

  private ObjectNode in(String what, String[] namespace) {
    return command(what).put("scope", String.join(".", namespace));
  }

  private ObjectNode of(String what, Identifier table) {
    return in(what, table.namespace()).put("stream", table.name());
  }

  private JsonNode ask(ObjectNode command) {
    Map options = settings();
    options.put("catalog.command", command.toString());
    StructType schema = source().inferSchema(new CaseInsensitiveStringMap(options));
    try {
      JsonNode answer = JSON.readTree(schema.apply(0).metadata().getString("answer"));
      if (failed(answer, "refused")) throw new IllegalArgumentException(part(answer, "message").asText());
      return answer;
    } catch (java.io.IOException wrong) {
      throw new RuntimeException(wrong);
    }
  }

  /** Janino takes the method of the supertype TreeNode, which returns less. */
  private static JsonNode part(JsonNode object, String key) {
    return (JsonNode) object.get(key);
  }

  private static boolean failed(JsonNode answer, String why) {
    return answer.has("error") && part(answer, "error").asText().equals(why);
  }

  /** Spark's own text of a type does not quote the names of fields. */
  private static String columns(StructType schema) {
    StringBuilder text = new StringBuilder();
    StructField[] fields = schema.fields();
    for (int i = 0; i < fields.length; i++) {
      String quoted = "`" + fields[i].name().replace("`", "``") + "`";
      text.append(i == 0 ? "" : ", ").append(quoted).append(" ").append(type(fields[i].dataType()));
    }
    return text.toString();
  }

  private static String type(DataType type) {
    if (type instanceof StructType) return "struct<" + columns((StructType) type) + ">";
    if (type instanceof ArrayType) return "array<" + type(((ArrayType) type).elementType()) + ">";
    if (type instanceof MapType) {
      MapType map = (MapType) type;
      return "map<" + type(map.keyType()) + "," + type(map.valueType()) + ">";
    }
    return type.catalogString();
  }

  private static List texts(JsonNode list) {
    List found = new ArrayList();
    for (int i = 0; i < list.size(); i++) found.add(((JsonNode) list.get(i)).asText());
    return found;
  }

  private static void put(ObjectNode object, Map texts) {
    for (Object entry : texts.entrySet()) {
      object.put((String) ((Map.Entry) entry).getKey(), (String) ((Map.Entry) entry).getValue());
    }
  }

  private static Map map(JsonNode object) {
    Map found = new HashMap();
    for (Iterator names = object.fieldNames(); names.hasNext(); ) {
      String key = (String) names.next();
      found.put(key, part(object, key).asText());
    }
    return found;
  }

  /** A new one for every scan: it keeps options and plan. */
  private static PythonDataSourceV2 source() {
    PythonDataSourceV2 source = new PythonDataSourceV2();
    source.setShortName(FORMAT);
    return source;
  }

  private static CaseInsensitiveStringMap with(Map stored, CaseInsensitiveStringMap given) {
    Map all = new HashMap(stored);
    for (Object key : given.keySet()) all.put(key, given.get(key));
    return new CaseInsensitiveStringMap(all);
  }

  /**
   * A stream, whose rows the Python data source reads and writes. It refuses TRUNCATE in words.
   */
  static class StreamTable
      implements SupportsRead, SupportsWrite, SupportsMetadataColumns, TruncatableTable, SupportsRowLevelOperations {
    private final String name;
    private final StructType schema;
    private final MetadataColumn[] hidden;
    private final Map options;
    private final Map properties;
    private final boolean anySchema;
    private final boolean unnamed;

    /** CHAR and VARCHAR are strings with a length in their metadata, because Spark streams no other. */
    StreamTable(String name, JsonNode answer) {
      this.name = name;
      StructType columns = StructType.fromDDL(part(answer, "columns").asText());
      this.schema = CharVarcharUtils.replaceCharVarcharWithStringInSchema(columns);
      this.options = map(part(answer, "options"));
      this.properties = map(part(answer, "properties"));
      this.anySchema = part(answer, "any_schema").asBoolean();
      this.unnamed = part(answer, "unnamed_values").asBoolean();
      String listed = part(answer, "hidden").asText();
      StructField[] fields = listed.isEmpty() ? new StructField[0] : StructType.fromDDL(listed).fields();
      this.hidden = new MetadataColumn[fields.length];
      for (int i = 0; i < fields.length; i++) hidden[i] = new Hidden(fields[i].name(), fields[i].dataType());
    }

    public String name() {
      return name;
    }

    public StructType schema() {
      return schema;
    }

    public Map properties() {
      return properties;
    }

    public MetadataColumn[] metadataColumns() {
      return hidden;
    }

    public Set capabilities() {
      Set found = EnumSet.of(
          TableCapability.BATCH_READ,
          TableCapability.MICRO_BATCH_READ,
          TableCapability.BATCH_WRITE,
          TableCapability.STREAMING_WRITE,
          TableCapability.TRUNCATE);
      if (anySchema) found.add(TableCapability.ACCEPT_ANY_SCHEMA);
      return found;
    }

    public boolean truncateTable() {
      throw notDeleted();
    }

    /** Not asked: a MERGE that only inserts becomes an append, and `loadTable` refuses any other. */
    public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
      throw notUpdated();
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap given) {
      return new Pruned(schema, unnamed, with(options, given));
    }

    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      return new PythonWriteBuilder(source(), FORMAT, new WithOptions(info, with(options, info.options())));
    }
  }

  /**
   * Asks Python only for the columns that a batch query needs, and passes on its filters on position.
   * Spark's own builder can only do the latter, and before it knows the columns: it is made at the end. Spark
   * evaluates all filters again, so the columns in them are needed too. Values without names are found by the
   * columns before them, and any column may be what an event does not fit. All columns are asked for then.
   */
  static class Pruned implements ScanBuilder, SupportsPushDownRequiredColumns, SupportsPushDownFilters {
    private static final List POSITIONS = Arrays.asList(
        "segment_id", "offset", "event_pointer", "_segment_id", "_offset", "_event_pointer");
    private Filter[] narrowing = new Filter[0];
    private final CaseInsensitiveStringMap options;
    private final StructType whole;
    private final boolean unnamed;
    private StructType required;

    Pruned(StructType whole, boolean unnamed, CaseInsensitiveStringMap options) {
      this.whole = whole;
      this.unnamed = unnamed;
      this.required = whole;
      this.options = options;
    }

    public void pruneColumns(StructType required) {
      StructField[] one = new StructField[] {whole.fields()[whole.length() - 1]};
      boolean all = unnamed || Arrays.asList(required.fieldNames()).contains("_corrupt");
      this.required = all ? withWhole(required) : required.isEmpty() ? new StructType(one) : required;
    }

    /** All columns of the table, and those of ``required`` that are hidden. */
    private StructType withWhole(StructType required) {
      List names = Arrays.asList(whole.fieldNames());
      StructType found = whole;
      for (int i = 0; i < required.length(); i++) {
        if (!names.contains(required.fields()[i].name())) found = found.add(required.fields()[i]);
      }
      return found;
    }

    public Filter[] pushFilters(Filter[] filters) {
      List found = new ArrayList();
      for (int i = 0; i < filters.length; i++) {
        String[] names = filters[i].references();
        if (names.length == 1 && POSITIONS.contains(names[0])) found.add(filters[i]);
      }
      narrowing = (Filter[]) found.toArray(new Filter[0]);
      return filters;
    }

    public Filter[] pushedFilters() {
      return narrowing;
    }

    public Scan build() {
      PythonScanBuilder builder = new PythonScanBuilder(source(), FORMAT, required, options);
      if (narrowing.length > 0) builder.pushFilters(narrowing);
      return builder.build();
    }
  }

  /** The options of a write, with those of the table. */
  static class WithOptions implements LogicalWriteInfo {
    private final LogicalWriteInfo info;
    private final CaseInsensitiveStringMap options;

    WithOptions(LogicalWriteInfo info, CaseInsensitiveStringMap options) {
      this.info = info;
      this.options = options;
    }

    public CaseInsensitiveStringMap options() {
      return options;
    }

    public String queryId() {
      return info.queryId();
    }

    public StructType schema() {
      return info.schema();
    }
  }

  /** A column that a query may name and that SELECT * leaves out. */
  static class Hidden implements MetadataColumn {
    private final String name;
    private final DataType type;

    Hidden(String name, DataType type) {
      this.name = name;
      this.type = type;
    }

    public String name() {
      return name;
    }

    public DataType dataType() {
      return type;
    }
  }
}
