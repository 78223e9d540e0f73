// Writes Java's character properties, which its regular expressions use, into
// native/tabular/java/generated/. Needs a JDK 17 (Unicode 13), which Spark 4 runs on:
//   java --add-opens java.base/java.util.regex=ALL-UNNAMED --add-opens java.base/java.lang=ALL-UNNAMED
//     scripts/tabular/JavaUnicode.java native/tabular/java/generated
// Run by hand. Every set is stored as the general categories that it contains completely, and
// ranges for the rest.
import java.lang.Character.UnicodeBlock;
import java.lang.Character.UnicodeScript;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

public class JavaUnicode {
  static final int CHARACTERS = 0x110000;
  static final String SPACE = "namespace serval::tabular::regex {\n\n";
  static final StringBuilder ranges = new StringBuilder();
  static final StringBuilder names = new StringBuilder();
  static int rangeCount = 0, nameCount = 0;
  static final BitSet[] categories = new BitSet[31];

  static void number(StringBuilder out, String text) {
    int line = out.length() - out.lastIndexOf("\n") - 1;
    out.append(line + text.length() > 98 ? "\n    " : line > 4 ? " " : "").append(text);
  }

  static BitSet of(String property) {
    BitSet made = new BitSet(CHARACTERS);
    Pattern pattern = Pattern.compile(property);
    for (int c = 0; c < CHARACTERS; c++) {
      if (pattern.matcher(new String(Character.toChars(c))).matches()) made.set(c);
    }
    return made;
  }

  // A row of the table of names.
  static void add(String name, BitSet set) {
    int whole = 0;
    BitSet rest = (BitSet) set.clone();
    for (int i = 0; i < categories.length; i++) {
      if (categories[i] == null || categories[i].isEmpty()) continue;
      BitSet outside = (BitSet) categories[i].clone();
      outside.andNot(set);
      if (!outside.isEmpty()) continue;
      whole |= 1 << i;
      rest.andNot(categories[i]);
    }
    int first = rangeCount;
    for (int at = rest.nextSetBit(0); at >= 0; ) {
      int end = rest.nextClearBit(at);
      number(ranges, String.format("{0x%X,0x%X},", at, end - 1));
      rangeCount++;
      at = rest.nextSetBit(end);
    }
    names.append(String.format("    {\"%s\", 0x%X, %d, %d},\n", name, whole, first, rangeCount - first));
    nameCount++;
  }

  static void alias(String name, BitSet set, Map<BitSet, String> known) {
    String row = known.get(set);
    if (row == null) {
      int begin = names.length();
      add(name, set);
      known.put(set, names.substring(names.indexOf(",", begin)));
    } else {
      names.append("    {\"").append(name).append('"').append(row);
      nameCount++;
    }
  }

  static String cased(String name, int from, BitSet lower) {
    StringBuilder out = new StringBuilder();
    int count = 0;
    for (int c = 0; c < CHARACTERS; ) {
      int to = from == 0 ? Character.toUpperCase(c) : Character.toLowerCase(c);
      if (to == c) {
        c++;
        continue;
      }
      int stride = 1, end = c;
      for (int step : new int[] {1, 2}) {
        int last = c;
        while (last + step < CHARACTERS) {
          int next = last + step;
          int mapped = from == 0 ? Character.toUpperCase(next) : Character.toLowerCase(next);
          if (mapped - next != to - c) break;
          last = next;
        }
        if (last > end && (last - c) / step >= (end - c) / stride) {
          end = last;
          stride = step;
        }
      }
      // A stride of 2 is valid only if the characters in between have no mapping.
      if (stride == 2) {
        for (int between = c + 1; between < end; between += 2) {
          int mapped = from == 0 ? Character.toUpperCase(between) : Character.toLowerCase(between);
          if (mapped != between) {
            end = c;
            stride = 1;
          }
        }
      }
      number(out, String.format("{0x%X,0x%X,%d,%d},", c, end, stride, to - c));
      count++;
      c = end + 1;
    }
    return "const CaseRange " + name + "[" + count + "] = {\n    " + out + "\n};\n";
  }

  static final String HEAD =
      "// Written by scripts/tabular/JavaUnicode.java with Java %s; do not edit.\n"
          + "#include \"tabular/java/regex/unicode.h\"\n\n";

  static void write(String folder, String file, String text) throws Exception {
    String head = String.format(HEAD, Runtime.version().feature());
    Files.writeString(Path.of(folder, file), head + SPACE + text + "\n}  // namespace serval::tabular::regex\n");
  }

  static String runs(String name, java.util.function.IntUnaryOperator of) {
    StringBuilder out = new StringBuilder();
    int count = 0, last = -1;
    for (int c = 0; c < CHARACTERS; c++) {
      int value = of.applyAsInt(c);
      if (value == last) continue;
      number(out, String.format("0x%X,", c << 5 | value));
      last = value;
      count++;
    }
    return "const uint32_t " + name + "[" + count + "] = {\n    " + out + "\n};\nconst size_t " + name + "Count = " + count + ";\n";
  }

  @SuppressWarnings("unchecked")
  public static void main(String[] args) throws Exception {
    String folder = args[0];
    Files.createDirectories(Path.of(folder));
    for (int c = 0; c < CHARACTERS; c++) {
      int type = Character.getType(c);
      if (categories[type] == null) categories[type] = new BitSet(CHARACTERS);
      categories[type].set(c);
    }
    write(folder, "categories.cc", runs("kCategories", Character::getType));
    Map<BitSet, String> known = new java.util.HashMap<>();
    // \p{...}: Java's own names, and Is... with the properties' names in upper case.
    String[] plain =
        ("Cn Lu Ll Lt Lm Lo Mn Me Mc Nd Nl No Zs Zl Zp Cc Cf Co Cs Pd Ps Pe Pc Po Sm Sc Sk So Pi Pf L M N Z C P S "
                + "LC LD L1 all ASCII Alnum Alpha Blank Cntrl Digit Graph Lower Print Punct Space Upper XDigit "
                + "javaLowerCase javaUpperCase javaAlphabetic javaIdeographic javaTitleCase javaDigit javaDefined "
                + "javaLetter javaLetterOrDigit javaJavaIdentifierStart javaJavaIdentifierPart "
                + "javaUnicodeIdentifierStart javaUnicodeIdentifierPart javaIdentifierIgnorable javaSpaceChar "
                + "javaWhitespace javaISOControl javaMirrored")
            .split(" ");
    TreeMap<String, BitSet> rows = new TreeMap<>();
    for (String name : plain) {
      rows.put(name, of("\\p{" + name + "}"));
      rows.put("i:" + name, of("(?i)\\p{" + name + "}"));
    }
    String[] properties =
        ("ALPHABETIC ASSIGNED CONTROL HEXDIGIT HEX_DIGIT IDEOGRAPHIC JOINCONTROL JOIN_CONTROL LETTER LOWERCASE "
                + "NONCHARACTERCODEPOINT NONCHARACTER_CODE_POINT TITLECASE PUNCTUATION UPPERCASE WHITESPACE "
                + "WHITE_SPACE WORD")
            .split(" ");
    for (String name : properties) {
      rows.put("Is:" + name, of("\\p{Is" + name + "}"));
      rows.put("iIs:" + name, of("(?i)\\p{Is" + name + "}"));
    }
    for (String name : "ALPHA LOWER UPPER SPACE PUNCT XDIGIT ALNUM CNTRL DIGIT BLANK GRAPH PRINT".split(" ")) {
      String as = name.equals("XDIGIT") ? "XDigit" : name.charAt(0) + name.substring(1).toLowerCase(Locale.ROOT);
      rows.put("U:" + name, of("(?U)\\p{" + as + "}"));
      rows.put("iU:" + name, of("(?iU)\\p{" + as + "}"));
    }
    rows.put("U:s", of("(?U)\\s"));
    rows.put("U:w", of("(?U)\\w"));
    rows.put("U:d", of("(?U)\\d"));
    Field aliases = UnicodeScript.class.getDeclaredField("aliases");
    aliases.setAccessible(true);
    TreeMap<String, UnicodeScript> scripts = new TreeMap<>((Map<String, UnicodeScript>) aliases.get(null));
    for (UnicodeScript script : UnicodeScript.values()) scripts.put(script.name(), script);
    Map<UnicodeScript, BitSet> ofScript = new TreeMap<>();
    for (int c = 0; c < CHARACTERS; c++) {
      ofScript.computeIfAbsent(UnicodeScript.of(c), s -> new BitSet()).set(c);
    }
    for (var entry : scripts.entrySet()) {
      rows.put("sc:" + entry.getKey(), ofScript.getOrDefault(entry.getValue(), new BitSet()));
    }
    Field map = UnicodeBlock.class.getDeclaredField("map");
    map.setAccessible(true);
    TreeMap<String, UnicodeBlock> blocks = new TreeMap<>((Map<String, UnicodeBlock>) map.get(null));
    Map<UnicodeBlock, BitSet> ofBlock = new java.util.HashMap<>();
    for (int c = 0; c < CHARACTERS; c++) {
      UnicodeBlock block = UnicodeBlock.of(c);
      if (block != null) ofBlock.computeIfAbsent(block, b -> new BitSet()).set(c);
    }
    for (var entry : blocks.entrySet()) {
      rows.put("blk:" + entry.getKey(), ofBlock.getOrDefault(entry.getValue(), new BitSet()));
    }
    for (var entry : rows.entrySet()) alias(entry.getKey(), entry.getValue(), known);
    write(folder, "named_sets.cc",
        "const Range kNamedRanges[" + rangeCount + "] = {\n    " + ranges + "\n};\n\n"
            + "const NamedSet kNamedSets[" + nameCount + "] = {\n" + names + "};\n"
            + "const size_t kNamedSetCount = " + nameCount + ";\n");
    String upper = cased("kUpper", 0, null), lower = cased("kLower", 1, null);
    write(folder, "case_ranges.cc",
        upper + "const size_t kUpperCount = std::size(kUpper);\n" + lower
            + "const size_t kLowerCount = std::size(kLower);\n");
    Class<?> grapheme = Class.forName("java.util.regex.Grapheme");
    Method type = grapheme.getDeclaredMethod("getType", int.class);
    type.setAccessible(true);
    StringBuilder constants = new StringBuilder();
    for (Field field : grapheme.getDeclaredFields()) {
      if (field.getType() != int.class) continue;
      field.setAccessible(true);
      constants.append("//   ").append(field.getName()).append(" = ").append(field.getInt(null)).append("\n");
    }
    write(folder, "graphemes.cc", constants + runs("kGraphemes", c -> {
      try {
        return (int) type.invoke(null, c);
      } catch (ReflectiveOperationException failed) {
        throw new IllegalStateException(failed);
      }
    }));
  }
}
