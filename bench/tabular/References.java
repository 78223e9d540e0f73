// The references for tabular models: JPMML-Evaluator and MLeap's runtime, in one thread of a warm
// JVM. Rows are read, and numbers parsed, before the clock starts. Run from its source:
//   java -cp JARS References.java pmml MODEL.pmml ROWS ANSWERS OUTPUT  one call scores all of ROWS
//     (tab-separated doubles below a header of field names), one by one
//   java -cp JARS References.java mleap BUNDLE.zip FRAME ANSWERS OUTPUT  one call is transform() of
//     a LeapFrame
// Warms up, writes the column OUTPUT to ANSWERS, one number per line, and prints
// {"event": "ready"}. Then, for each line of stdin with a number of seconds, makes calls for that
// time and prints {"usPerRequest", "perSecond", "cpuUs", "requests"}.
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import ml.combust.mleap.runtime.frame.DefaultLeapFrame;
import ml.combust.mleap.runtime.frame.Row;
import ml.combust.mleap.runtime.frame.Transformer;
import ml.combust.mleap.runtime.javadsl.BundleBuilder;
import ml.combust.mleap.runtime.javadsl.ContextBuilder;
import ml.combust.mleap.runtime.javadsl.LeapFrameSupport;
import ml.combust.mleap.runtime.serialization.FrameReader;
import org.jpmml.evaluator.Evaluator;
import org.jpmml.evaluator.EvaluatorUtil;
import org.jpmml.evaluator.InputField;
import org.jpmml.evaluator.LoadingModelEvaluatorBuilder;
import scala.Option;

public class References {
  private static final double WARM_SECONDS = 5;

  /** Makes one measured call; returns the column OUTPUT. */
  interface Call {
    List<Double> answer() throws Exception;
  }

  // Receives the results, so that the JVM cannot remove a call.
  static List<Double> last;

  public static void main(String[] arguments) throws Exception {
    File model = new File(arguments[1]);
    Path rows = Path.of(arguments[2]);
    String output = arguments[4];
    boolean isPmml = arguments[0].equals("pmml");
    Call call = isPmml ? pmml(model, rows, output) : mleap(model, rows, output);
    measure(call, WARM_SECONDS);
    String lines = last.stream().map(String::valueOf).collect(Collectors.joining("\n"));
    Files.writeString(Path.of(arguments[3]), lines + "\n", StandardCharsets.UTF_8);
    System.out.println("{\"event\": \"ready\"}");
    BufferedReader asked =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = asked.readLine(); line != null; line = asked.readLine()) {
      System.out.println(measure(call, Double.parseDouble(line)));
    }
  }

  static String measure(Call call, double seconds) throws Exception {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long cpuBegan = threads.getCurrentThreadCpuTime();
    long began = System.nanoTime();
    long count = 0;
    long elapsed = 0;
    while (elapsed < seconds * 1e9) {
      last = call.answer();
      count++;
      elapsed = System.nanoTime() - began;
    }
    double cpu = threads.getCurrentThreadCpuTime() - cpuBegan;
    return String.format(
        Locale.ROOT, "{\"usPerRequest\": %f, \"perSecond\": %f, \"cpuUs\": %f, \"requests\": %d}",
        elapsed / 1e3 / count, count * 1e9 / elapsed, cpu / 1e3 / count, count);
  }

  static Call pmml(File model, Path file, String output) throws Exception {
    Evaluator evaluator = new LoadingModelEvaluatorBuilder().load(model).build();
    List<String> lines = Files.readAllLines(file, StandardCharsets.UTF_8);
    String[] names = lines.get(0).split("\t", -1);
    List<Map<String, Object>> rows = new ArrayList<>();
    for (String line : lines.subList(1, lines.size())) {
      String[] cells = line.split("\t", -1);
      Map<String, Object> row = new LinkedHashMap<>();
      for (int i = 0; i < names.length; i++) row.put(names[i], Double.valueOf(cells[i]));
      rows.add(row);
    }
    List<InputField> fields = evaluator.getInputFields();
    return () -> {
      List<Double> answers = new ArrayList<>(rows.size());
      for (Map<String, Object> row : rows) {
        Map<String, Object> prepared = new LinkedHashMap<>();
        for (InputField field : fields) {
          prepared.put(field.getName(), field.prepare(row.get(field.getName())));
        }
        Object value = EvaluatorUtil.decode(evaluator.evaluate(prepared).get(output));
        answers.add(((Number) value).doubleValue());
      }
      return answers;
    };
  }

  static Call mleap(File bundle, Path file, String output) throws Exception {
    Transformer pipeline =
        new BundleBuilder().load(bundle, new ContextBuilder().createMleapContext()).root();
    DefaultLeapFrame frame =
        FrameReader.apply("ml.combust.mleap.json", Option.empty()).read(file.toFile()).get();
    LeapFrameSupport support = new LeapFrameSupport();
    return () -> {
      DefaultLeapFrame answered = pipeline.transform(frame).get();
      int column = (Integer) answered.schema().indexOf(output).get();
      List<Double> answers = new ArrayList<>();
      for (Row row : support.collect(answered)) answers.add(row.getDouble(column));
      return answers;
    };
  }
}
