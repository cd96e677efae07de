package pravega_lab;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Writes the checkpoints of a query as Spark's manager for file systems does, with the same files. In a local
 * folder, Hadoop starts the program chmod for every file that it creates, four times in a micro-batch. Here the
 * permissions are set by a call of the system.
 */
public class LocalCheckpoints extends FileSystemBasedCheckpointFileManager {
  public LocalCheckpoints(Path path, Configuration settings) {
    super(path, withLocalFiles(settings));
  }

  private static Configuration withLocalFiles(Configuration settings) {
    Configuration found = new Configuration(settings);
    found.setClassLoader(LocalCheckpoints.class.getClassLoader());
    found.set("fs.file.impl", LocalFiles.class.getName());
    found.set("fs.file.impl.disable.cache", "true");
    return found;
  }

  /** Local files with checksums, as Hadoop's own. */
  public static class LocalFiles extends LocalFileSystem {
    public LocalFiles() {
      super(new RawFiles());
    }
  }

  /** Local files whose permissions are set without another process. */
  public static class RawFiles extends RawLocalFileSystem {
    public void setPermission(Path path, FsPermission wanted) throws IOException {
      String symbols =
          wanted.getUserAction().SYMBOL + wanted.getGroupAction().SYMBOL + wanted.getOtherAction().SYMBOL;
      try {
        Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(symbols));
      } catch (UnsupportedOperationException e) {
        super.setPermission(path, wanted); // a file system without such permissions
      }
    }
  }
}
